//! Proofs and reports that two engines agree: strict for certified engines, parity for the others.

mod audit;
pub mod conformance;
mod measure;
mod parity;
mod strict;

pub use audit::{Advice, Audit, Prediction, Scale, USABLE_RELATIVE_ERROR, audit};
pub use measure::{FilterError, measure};
pub use parity::{
    CombinationParity, Disagreement, ParityReport, TripLimits, Verdict, WorstValue, report,
    report_fp32,
};
pub use strict::{Difference, PNL_TOLERANCE, Strict, StrictReport, assert_strict, compare_strict};
