//! The sides of one combination on one tile: fixed point first, then `f64` beyond the bound, then the predicate.

use super::lanes::{Lanes, WithLanes};
use super::plan::Plan;
use super::rows::Tile;
use crate::crossover::SideWriter;
use crate::diagnostics::Diagnostics;
use crate::question::Question;

/// Sides of the words of a tile, and where an exact tie keeps the side before it.
#[derive(Debug)]
pub(super) struct Words {
    pub(super) above: Vec<u64>,
    pub(super) ties: Vec<u64>,
    pub(super) has_ties: bool,
}

impl Words {
    pub(super) fn new(plan: &Plan) -> Self {
        let words = plan.tile / 64;
        Self {
            above: vec![0; words],
            ties: vec![0; words],
            has_ties: false,
        }
    }
}

/// What the decisions of a tile need.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) plan: &'a Plan,
    pub(super) question: &'a Question<'a>,
    pub(super) tile: &'a Tile,
}

/// Decides a tile for every combination, and writes it.
pub(super) struct Decide<'a, 'w, 's> {
    pub(super) context: Context<'a>,
    pub(super) order: &'a [usize],
    pub(super) words: &'a mut Words,
    pub(super) writers: &'w mut [SideWriter<'s>],
    pub(super) diagnostics: &'a mut Diagnostics,
}

impl WithLanes for Decide<'_, '_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_lanes<L: Lanes>(self, lanes: L) {
        let tile = self.context.tile;
        let last_bar = self.context.question.series().bars();
        let count = (last_bar - tile.first_bar)
            .min(self.context.plan.tile)
            .div_ceil(64);
        for &index in self.order {
            let writer = &mut self.writers[index];
            let combination = writer.combination();
            self.context
                .decide(lanes, combination, count, self.words, self.diagnostics);
            let ties = self.words.has_ties.then_some(&self.words.ties[..count]);
            writer.write(tile.first_bar / 64, &self.words.above[..count], ties);
        }
    }
}

impl Context<'_> {
    #[inline(always)]
    fn decide<L: Lanes>(
        self,
        lanes: L,
        combination: usize,
        count: usize,
        words: &mut Words,
        diagnostics: &mut Diagnostics,
    ) {
        let (fast, slow) = self.question.grid().pairs()[combination];
        let fast = self.tile.quick(fast as usize).as_chunks::<64>().0;
        let slow = self.tile.quick(slow as usize).as_chunks::<64>().0;
        if words.has_ties {
            words.ties.fill(0);
            words.has_ties = false;
        }
        for (word, (fast, slow)) in fast.iter().zip(slow).enumerate().take(count) {
            let (above, is_open) = lanes.quick_word(fast, slow);
            words.above[word] = above;
            if is_open {
                self.look_closer(lanes, combination, word, words, diagnostics);
            }
        }
    }

    /// Decides one word in `f64`, and asks the predicate for the bars that stay open.
    #[inline(always)]
    fn look_closer<L: Lanes>(
        self,
        lanes: L,
        combination: usize,
        word: usize,
        words: &mut Words,
        diagnostics: &mut Diagnostics,
    ) {
        let (fast, slow) = self.question.grid().pairs()[combination];
        let (fast, slow) = (fast as usize, slow as usize);
        let bound = |filter| self.tile.bound(self.plan, filter, word);
        let row = |filter| &self.tile.values(filter).as_chunks::<64>().0[word];
        let (above, below) = lanes.sure_word(row(fast), row(slow), bound(fast) + bound(slow));
        words.above[word] = above;
        if above | below != u64::MAX {
            self.settle(combination, word, !(above | below), words, diagnostics);
        }
    }

    #[cold]
    #[inline(never)]
    fn settle(
        self,
        combination: usize,
        word: usize,
        open: u64,
        words: &mut Words,
        diagnostics: &mut Diagnostics,
    ) {
        let base = self.tile.first_bar + word * 64;
        let first_bar = self.question.first_bar(combination);
        let bars = self.question.series().bars();
        let predicate = self.question.predicate(combination);
        let mut rest = open;
        while rest != 0 {
            let bit = rest.trailing_zeros();
            rest &= rest - 1;
            let bar = base + bit as usize;
            if bar < first_bar || bar >= bars {
                continue;
            }
            let decision = predicate.decide(bar);
            diagnostics.record(decision);
            words.above[word] |= u64::from(decision.ordering.is_gt()) << bit;
            if decision.ordering.is_eq() {
                words.ties[word] |= 1 << bit;
                words.has_ties = true;
            }
        }
    }
}
