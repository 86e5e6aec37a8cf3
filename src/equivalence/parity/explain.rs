//! Why two engines disagree on a bar: the values each saw, the exact difference, and what rounding could have done to it.

use super::tracks::Run;
use crate::backend::{FilterMatrix, Formula, Precision};
use crate::crossover::Side;
use crate::equivalence::{Scale, audit};
use crate::question::Question;

/// A stretch of bars on which the engines are on different sides, explained at its first bar.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Disagreement {
    /// Name of the fast filter.
    pub fast: String,
    /// Name of the slow filter.
    pub slow: String,
    /// The first bar of the stretch.
    pub bar: usize,
    /// Bars until the engines agree again.
    pub bars: usize,
    /// The reference's side, none before its first.
    pub reference_side: Option<Side>,
    /// The candidate's side.
    pub candidate_side: Option<Side>,
    /// The reference's values of the fast and the slow filter.
    pub reference_values: [f64; 2],
    /// The candidate's values.
    pub candidate_values: [f64; 2],
    /// Fast minus slow, computed exactly and rounded at the end: 0 is a true tie.
    pub exact_difference: f64,
    /// What direct windows of the stated precision could be off by on this bar.
    pub bound: f64,
}

impl Disagreement {
    /// Returns the size of the exact difference in units of the bound.
    pub fn distance(&self) -> f64 {
        self.exact_difference.abs() / self.bound
    }

    /// Returns whether the call was close: no further than the bound. If not, rounding in direct windows cannot have
    /// turned it, and the engine's formula is at fault.
    pub fn is_close_call(&self) -> bool {
        self.exact_difference.abs() <= self.bound
    }
}

/// The filter value with the largest error.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct WorstValue {
    /// Name of the filter.
    pub filter: String,
    /// The bar.
    pub bar: usize,
    /// The reference's value.
    pub reference: f64,
    /// The candidate's value.
    pub candidate: f64,
    /// The size of the error, in the unit that the report names; infinite where the candidate has no finite value.
    pub error: f64,
}

/// Finds the largest relative error, and the largest in units of the last place.
pub(super) fn worst_values(
    question: &Question<'_>,
    exact: &FilterMatrix,
    values: &FilterMatrix,
    precision: Precision,
) -> (WorstValue, WorstValue) {
    let none = WorstValue {
        filter: question.filters()[0].name().to_owned(),
        bar: question.filters()[0].warm_up(),
        reference: f64::NAN,
        candidate: f64::NAN,
        error: -1.0,
    };
    let (mut relative, mut ulp) = (none.clone(), none);
    for (row, filter) in question.filters().iter().enumerate() {
        let rows = exact
            .values
            .row(row)
            .into_iter()
            .zip(values.values.row(row));
        for (bar, (&reference, &candidate)) in rows.enumerate().skip(filter.warm_up()) {
            let off = (candidate - reference).abs();
            let off = if off.is_nan() { f64::INFINITY } else { off };
            let measure = |worst: &mut WorstValue, unit: f64| {
                // no error is no error, whatever the unit
                let error = if off == 0.0 { 0.0 } else { off / unit };
                if error > worst.error {
                    let filter = filter.name().to_owned();
                    *worst = WorstValue {
                        filter,
                        bar,
                        reference,
                        candidate,
                        error,
                    };
                }
            };
            measure(&mut relative, reference.abs());
            measure(&mut ulp, precision.spacing(reference));
        }
    }
    (relative, ulp)
}

/// Which calls are close, for direct windows of one precision.
pub(super) struct CloseCalls<'a> {
    question: &'a Question<'a>,
    /// The error of each filter by direct windows, relative to the largest close of the window.
    bounds: Vec<f64>,
}

impl<'a> CloseCalls<'a> {
    pub(super) fn new(question: &'a Question<'a>, precision: Precision) -> Self {
        let scale = Scale {
            bars: question.series().bars(),
            smallest: 1.0,
            largest: 1.0,
        };
        let bound = |filter| {
            let audit = audit(filter, Formula::DirectWindows, scale);
            match precision {
                Precision::Single => audit.single.worst_error,
                Precision::Double => audit.double.worst_error,
            }
        };
        Self {
            question,
            bounds: question.filters().iter().map(bound).collect(),
        }
    }

    fn bound(&self, combination: usize, bar: usize) -> f64 {
        let (fast, slow) = self.question.grid().pairs()[combination];
        let first = bar - self.question.first_bar(combination);
        let largest = self.question.largest_close(first, bar);
        (self.bounds[fast as usize] + self.bounds[slow as usize]) * largest
    }

    /// Judged by the reference's values, which are far closer to exact than any bound of a lower precision.
    pub(super) fn is_close(&self, exact: &FilterMatrix, combination: usize, bar: usize) -> bool {
        let [fast, slow] = self.values(exact, combination, bar);
        (fast - slow).abs() <= self.bound(combination, bar)
    }

    pub(super) fn explain(
        &self,
        combination: usize,
        run: &Run,
        exact: &FilterMatrix,
        values: &FilterMatrix,
    ) -> Disagreement {
        let (fast, slow) = self.question.grid().combination(combination);
        let bar = run.first_bar;
        Disagreement {
            fast: fast.name().to_owned(),
            slow: slow.name().to_owned(),
            bar,
            bars: run.bars,
            reference_side: run.reference,
            candidate_side: run.candidate,
            reference_values: self.values(exact, combination, bar),
            candidate_values: self.values(values, combination, bar),
            exact_difference: self.question.predicate(combination).exact_difference(bar),
            bound: self.bound(combination, bar),
        }
    }

    fn values(&self, matrix: &FilterMatrix, combination: usize, bar: usize) -> [f64; 2] {
        let (fast, slow) = self.question.grid().pairs()[combination];
        [fast, slow].map(|filter| matrix.values[[filter as usize, bar]])
    }
}
