//! The strict gate: whole trade lists of two certified engines, equal or named where they first differ.
