//! The bars that `f32` leaves undecided: settled by sums of ticks where there are any, else by the exact predicate.

use super::sums::Sums;
use crate::crossover::{Decision, Predicate, Stage};
use crate::question::Question;

/// Settles undecided bars of one chunk.
#[derive(Debug)]
pub(super) struct Settler<'q> {
    question: &'q Question<'q>,
    sums: Option<Sums<'q>>,
}

/// How one combination's undecided bars are settled.
#[derive(Debug, Clone, Copy)]
pub(super) struct Way<'s> {
    predicate: Predicate<'s>,
    sums: Option<&'s Sums<'s>>,
    fast: usize,
    slow: usize,
}

impl Way<'_> {
    /// Whether no close changed in the windows of bars `first..=last`.
    pub(super) fn is_flat(&self, first: usize, last: usize) -> bool {
        self.predicate.is_flat(first, last)
    }

    /// Decides one bar.
    pub(super) fn decide(&self, bar: usize) -> Decision {
        let sums = self
            .sums
            .and_then(|sums| sums.decide(self.fast, self.slow, bar));
        sums.map_or_else(
            || self.predicate.decide(bar),
            |ordering| Decision {
                ordering,
                stage: Stage::Integer,
            },
        )
    }
}

impl<'q> Settler<'q> {
    /// Whether sums, which cost some 7 ns a bar, take less than asking the predicate on every undecided bar: 3 in 10,000
    /// of each combination, at half a microsecond and on many threads (H200 host).
    pub(super) fn wants_sums(question: &Question<'_>) -> bool {
        question.grid().combinations() >= 2_000
    }

    /// Prepares for bars `first..last`, with sums or without.
    pub(super) fn new(question: &'q Question<'q>, first: usize, last: usize, sums: bool) -> Self {
        let sums = sums.then(|| Sums::new(question, first, last)).flatten();
        Self { question, sums }
    }

    /// The sums, where there are any.
    pub(super) fn sums(&self) -> Option<&Sums<'q>> {
        self.sums.as_ref()
    }

    /// How a combination's bars are settled.
    pub(super) fn way(&self, combination: usize) -> Way<'_> {
        let (fast, slow) = self.question.grid().pairs()[combination];
        Way {
            predicate: self.question.predicate(combination),
            sums: self.sums.as_ref(),
            fast: fast as usize,
            slow: slow as usize,
        }
    }
}
