//! The parity report: how far an uncertified engine is from the reference, and why.
