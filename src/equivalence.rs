//! Proofs and reports that two engines agree: strict for certified engines, parity for the others.

mod audit;
mod parity;
mod strict;
