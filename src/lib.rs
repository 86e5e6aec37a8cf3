//! Moving-average-crossover parameter sweeps on which every engine returns exactly the same trades.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![warn(clippy::print_stdout)]

mod backend;
mod crossover;
mod diagnostics;
pub mod equivalence;
mod error;
mod filter;
mod grid;
mod question;
mod rules;
mod series;
mod sweep;
mod trade;

pub use backend::{
    Backend, Evaluation, FilterMatrix, Formula, Naive, Pool, Precision, Sequential, Uncertified,
    decide_row,
};
pub use crossover::{CrossoverSink, Decision, Predicate, Side, SideWriter, Stage};
pub use diagnostics::Diagnostics;
pub use error::{Error, Result};
pub use filter::{
    ExactWeights, Expr, Filter, MAX_PERIOD, RootRounding, UNIT_ROUNDOFF, gamma, parse_filters,
};
pub use grid::Grid;
pub use question::Question;
pub use rules::{Compounding, Direction, FeeFormula, Fill, FirstSide, OpenTrade, Rules};
pub use series::{MAX_BARS, Reading, Series, random_walk};
pub use sweep::{Sweep, SweepRow};
pub use trade::{Totals, Trade};
