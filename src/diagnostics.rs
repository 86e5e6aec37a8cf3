//! What an engine did to be certain: how many decisions its bound left open, and which stage settled them.

use std::cmp::Ordering;

use crate::crossover::{Decision, Stage};

/// Counts of a sweep's decisions; a decision is one bar of one combination.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Diagnostics {
    /// Name of the engine that answered.
    pub engine: String,
    /// Whether the engine stated an error bound, so that every side is proven.
    pub certified: bool,
    /// Decisions made: valid bars, summed over the combinations.
    pub decisions: u64,
    /// Decisions that the engine's bound left open.
    pub undecided: u64,
    /// Settled because no close changed in the window.
    pub by_flat: u64,
    /// Settled in `f64`: by a direct sum over the window, or as ties because the difference is too small not to be 0.
    pub by_float: u64,
    /// Settled in integers of 64 or 128 bits.
    pub by_integer: u64,
    /// Settled in integers of any size.
    pub by_big_integer: u64,
    /// Exact ties among the undecided: the side before them stays.
    pub ties: u64,
    /// What the engine has to say, such as why it fell back to another.
    pub notes: Vec<String>,
}

impl Diagnostics {
    /// Makes an empty count for an engine.
    pub fn new(engine: &str, certified: bool) -> Self {
        Self {
            engine: engine.to_owned(),
            certified,
            ..Self::default()
        }
    }

    /// Counts a decision that the predicate made for the engine.
    pub fn record(&mut self, decision: Decision) {
        self.undecided += 1;
        self.ties += u64::from(decision.ordering == Ordering::Equal);
        match decision.stage {
            Stage::Flat => self.by_flat += 1,
            Stage::Float => self.by_float += 1,
            Stage::Integer => self.by_integer += 1,
            Stage::BigInteger => self.by_big_integer += 1,
        }
    }

    /// Counts decisions that one look at a flat stretch settled, all of them ties.
    pub(crate) fn record_flat(&mut self, decisions: u64) {
        self.undecided += decisions;
        self.by_flat += decisions;
        self.ties += decisions;
    }

    /// Counts ties that follow from a bound: a difference that is too small not to be 0.
    pub(crate) fn record_separated(&mut self, ties: u64) {
        self.undecided += ties;
        self.by_float += ties;
        self.ties += ties;
    }

    /// Adds the counts and notes of another part of the same sweep.
    pub fn merge(&mut self, other: &Self) {
        self.decisions += other.decisions;
        self.undecided += other.undecided;
        self.by_flat += other.by_flat;
        self.by_float += other.by_float;
        self.by_integer += other.by_integer;
        self.by_big_integer += other.by_big_integer;
        self.ties += other.ties;
        self.notes.extend(other.notes.iter().cloned());
    }

    /// Returns the share of decisions that the engine's bound left open, 0 without decisions.
    pub fn undecided_share(&self) -> f64 {
        self.undecided as f64 / (self.decisions.max(1)) as f64
    }
}
