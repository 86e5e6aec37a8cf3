//! The bars that `f32` leaves undecided: settled by `f64` filter values, and by the exact predicate where those are not
//! enough either.
//!
//! Values of every filter cost O(filters x bars) once; asking the predicate's own direct sum costs O(window) an
//! undecided bar. With few combinations a filter the latter is cheaper, and no values are made.

use std::cmp::Ordering;

use rayon::prelude::*;

use crate::crossover::Decision;
use crate::diagnostics::Diagnostics;
use crate::filter::{Filter, UNIT_ROUNDOFF};
use crate::question::Question;
use crate::series::Reading;

/// Combinations a filter from which values pay: one in two thousand bars is undecided and costs the predicate some
/// 200 ns, a filter's value on a bar 3 to 10 ns.
const COMBINATIONS_A_FILTER: usize = 60;

/// Settles undecided bars of one chunk.
#[derive(Debug)]
pub(super) struct Settler<'q> {
    question: &'q Question<'q>,
    /// First bar and values of each filter; empty where the predicate is asked at once.
    values: Vec<(usize, Vec<f64>)>,
    /// Error of each filter's value, relative to the largest close of the window.
    margins: Vec<f64>,
}

/// What was decided on an undecided bar, and how.
#[derive(Debug, Clone, Copy)]
pub(super) enum Settled {
    ByValue(bool),
    ByPredicate(Decision),
}

impl Settled {
    pub(super) fn ordering(self) -> Ordering {
        match self {
            Self::ByValue(true) => Ordering::Greater,
            Self::ByValue(false) => Ordering::Less,
            Self::ByPredicate(decision) => decision.ordering,
        }
    }

    pub(super) fn count(self, diagnostics: &mut Diagnostics) {
        match self {
            Self::ByValue(_) => {
                diagnostics.undecided += 1;
                diagnostics.by_values += 1;
            }
            Self::ByPredicate(decision) => diagnostics.record(decision),
        }
    }
}

impl<'q> Settler<'q> {
    pub(super) fn wants_values(question: &Question<'_>) -> bool {
        let uses = 2 * question.grid().combinations();
        uses > COMBINATIONS_A_FILTER * question.filters().len()
    }

    /// Prepares for bars `first..last`.
    pub(super) fn new(
        question: &'q Question<'q>,
        first: usize,
        last: usize,
        has_values: bool,
    ) -> Self {
        let filters = question.filters();
        let evaluate = |filter: &Filter| {
            let start = first.saturating_sub(filter.warm_up());
            let closes = &question.series().closes()[start..last];
            let mut values = vec![0.0; closes.len()];
            // the lengths are equal, which is the only thing that can be wrong
            let _ = filter.evaluate_into(closes, &mut values);
            (start, values)
        };
        let values = if has_values {
            filters.par_iter().map(evaluate).collect()
        } else {
            Vec::new()
        };
        let margins = filters.iter().map(|f| margin(question, f)).collect();
        Self {
            question,
            values,
            margins,
        }
    }

    /// Decides one bar of one combination.
    pub(super) fn settle(&self, combination: usize, bar: usize) -> Settled {
        self.by_value(combination, bar).map_or_else(
            || Settled::ByPredicate(self.question.predicate(combination).decide(bar)),
            Settled::ByValue,
        )
    }

    /// The sign of the difference of the values where it is beyond their bound; `None` where it is not, or NaN.
    fn by_value(&self, combination: usize, bar: usize) -> Option<bool> {
        let (fast, slow) = self.question.grid().pairs()[combination];
        let (fast, slow) = (fast as usize, slow as usize);
        let ((fast_start, fast_values), (slow_start, slow_values)) =
            (self.values.get(fast)?, self.values.get(slow)?);
        let difference = fast_values[bar - fast_start] - slow_values[bar - slow_start];
        let window = self.question.first_bar(combination);
        let largest = self.question.largest_close(bar - window, bar);
        let margin = self.margins[fast] + self.margins[slow];
        let bound = margin * largest + window as f64 * 8.0 * f64::from_bits(1);
        if difference > bound {
            Some(true)
        } else if difference < -bound {
            Some(false)
        } else {
            None
        }
    }
}

/// The bound of a value, and the error of the closes themselves: none in the binary reading, in ticks two roundings
/// from the price that each stands for. The difference's own rounding is the one besides.
fn margin(question: &Question<'_>, filter: &Filter) -> f64 {
    let roundings = if question.series().reading() == Reading::Ticks {
        4.0
    } else {
        1.0
    };
    filter.relative_error_bound() + roundings * UNIT_ROUNDOFF * filter.magnification_bound()
}
