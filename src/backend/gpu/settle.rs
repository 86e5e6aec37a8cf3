//! The bars that `f32` leaves undecided: settled by `f64` filter values, and by the exact predicate where those are not
//! enough either.
//!
//! Values of every filter cost O(filters x bars) once; asking the predicate's own direct sum costs O(window) an
//! undecided bar. With few combinations a filter the latter is cheaper, and no values are made.

use rayon::prelude::*;

use crate::backend::underflow;
use crate::crossover::Predicate;
use crate::filter::{Filter, UNIT_ROUNDOFF};
use crate::question::Question;
use crate::series::Reading;

/// Combinations a filter from which values pay: one in three thousand bars is undecided and costs the predicate half a
/// microsecond (H200 host), a value 3 to 6 ns, and its look-up a miss of the cache.
const COMBINATIONS_A_FILTER: usize = 150;
/// Settles undecided bars of one chunk.
#[derive(Debug)]
pub(super) struct Settler<'q> {
    question: &'q Question<'q>,
    /// First bar and values of each filter; empty where the predicate is asked at once.
    values: Vec<(usize, Vec<f64>)>,
    /// Error of each filter's value, relative to the largest close of the window.
    margins: Vec<f64>,
}

/// How one combination's undecided bars are settled.
#[derive(Debug, Clone, Copy)]
pub(super) struct Way<'s> {
    pub(super) predicate: Predicate<'s>,
    /// First bar and values of the fast and the slow filter, and the bound of their difference.
    values: Option<([(usize, &'s [f64]); 2], f64)>,
}

impl Way<'_> {
    /// The difference of the two values; NaN, which is never beyond a bound, where there are none.
    pub(super) fn difference(&self, bar: usize) -> f64 {
        self.values.map_or(f64::NAN, |([fast, slow], _)| {
            fast.1[bar - fast.0] - slow.1[bar - slow.0]
        })
    }

    /// Whether the difference is beyond its bound, so that its sign is that of the exact one.
    pub(super) fn is_sure(&self, difference: f64) -> bool {
        self.values
            .is_some_and(|(_, bound)| difference.abs() > bound && difference.is_finite())
    }
}

impl<'q> Settler<'q> {
    pub(super) fn wants_values(question: &Question<'_>) -> bool {
        let uses = 2 * question.grid().combinations();
        uses > COMBINATIONS_A_FILTER * question.filters().len()
    }

    /// Prepares for bars `first..last`; the memory of earlier values is used again.
    pub(super) fn new(
        question: &'q Question<'q>,
        first: usize,
        last: usize,
        mut values: Vec<(usize, Vec<f64>)>,
        has_values: bool,
    ) -> Self {
        let filters = question.filters();
        values.resize_with(if has_values { filters.len() } else { 0 }, Default::default);
        values
            .par_iter_mut()
            .zip(filters)
            .for_each(|((start, values), filter)| {
                *start = first.saturating_sub(filter.warm_up());
                let closes = &question.series().closes()[*start..last];
                values.resize(closes.len(), 0.0);
                // the lengths are equal, which is the only thing that can be wrong
                let _ = filter.evaluate_into(closes, values);
            });
        Self {
            question,
            values,
            margins: filters.iter().map(|f| margin(question, f)).collect(),
        }
    }

    /// Hands back the memory of the values.
    pub(super) fn into_values(self) -> Vec<(usize, Vec<f64>)> {
        self.values
    }

    /// How a combination's bars `first..=last` are settled.
    pub(super) fn way(&self, combination: usize, first: usize, last: usize) -> Way<'_> {
        let (fast, slow) = self.question.grid().pairs()[combination];
        let (fast, slow) = (fast as usize, slow as usize);
        let row = |filter: usize| {
            self.values
                .get(filter)
                .map(|(start, v)| (*start, v.as_slice()))
        };
        let values = row(fast).zip(row(slow)).map(|(fast_row, slow_row)| {
            let window = self.question.first_bar(combination);
            let largest = self
                .question
                .largest_close(first.saturating_sub(window), last);
            let margin = self.margins[fast] + self.margins[slow];
            // each of some 8 operations a bar of the window can underflow by less than the smallest number
            let bound = margin * largest + underflow(window);
            ([fast_row, slow_row], bound)
        });
        Way {
            predicate: self.question.predicate(combination),
            values,
        }
    }

    pub(super) fn bars(&self) -> usize {
        self.question.series().bars()
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
