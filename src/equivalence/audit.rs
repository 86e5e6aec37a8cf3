//! The largest intermediate of a formula, and the error it predicts, before anything runs.
