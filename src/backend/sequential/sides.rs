//! The sides of one combination on one tile: fixed point first, then `f64` beyond the bound, then the predicate.

use super::lanes::{Lanes, WithLanes};
use super::plan::{Job, Plan};
use super::rows::Tile;
use crate::crossover::SideWriter;
use crate::diagnostics::Diagnostics;
use crate::question::Question;

/// Decided words of one tile, one run of words a combination.
#[derive(Debug)]
pub(super) struct Words {
    stride: usize,
    above: Vec<u64>,
    ties: Vec<u64>,
    has_ties: Vec<bool>,
}

impl Words {
    pub(super) fn new(plan: &Plan, combinations: usize) -> Self {
        let stride = plan.tile / 64;
        Self {
            stride,
            above: vec![0; stride * combinations],
            ties: vec![0; stride * combinations],
            has_ties: vec![false; combinations],
        }
    }

    /// Hands the words of a combination to its writer.
    pub(super) fn write(&self, index: usize, first_bar: usize, writer: &mut SideWriter<'_>) {
        let count = (writer.bars() - first_bar).div_ceil(64).min(self.stride);
        let words = index * self.stride..index * self.stride + count;
        let ties = self.has_ties[index].then(|| &self.ties[words.clone()]);
        writer.write(first_bar / 64, &self.above[words], ties);
    }

    fn run(&mut self, index: usize) -> Run<'_> {
        let words = index * self.stride..(index + 1) * self.stride;
        let run = Run {
            above: &mut self.above[words.clone()],
            ties: &mut self.ties[words],
            has_ties: &mut self.has_ties[index],
        };
        if std::mem::take(run.has_ties) {
            run.ties.fill(0);
        }
        run
    }
}

/// The words of one combination.
struct Run<'a> {
    above: &'a mut [u64],
    ties: &'a mut [u64],
    has_ties: &'a mut bool,
}

/// What the decisions of a tile need.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) plan: &'a Plan,
    pub(super) question: &'a Question<'a>,
    pub(super) tile: &'a Tile,
}

/// Decides a tile for some combinations; `then` takes each once it is decided.
pub(super) struct Decide<'a, F> {
    pub(super) context: Context<'a>,
    pub(super) jobs: &'a [Job],
    pub(super) words: &'a mut Words,
    pub(super) diagnostics: &'a mut Diagnostics,
    /// Which run of the words a job fills.
    pub(super) index: fn(&Job) -> usize,
    pub(super) then: F,
}

impl<F: FnMut(&Job, &Words)> WithLanes for Decide<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_lanes<L: Lanes>(mut self, lanes: L) {
        for job in self.jobs {
            let mut run = self.words.run((self.index)(job));
            self.context.decide(lanes, job, &mut run, self.diagnostics);
            (self.then)(job, self.words);
        }
    }
}

impl Context<'_> {
    #[inline(always)]
    fn decide<L: Lanes>(
        self,
        lanes: L,
        job: &Job,
        run: &mut Run<'_>,
        diagnostics: &mut Diagnostics,
    ) {
        let fast = self.tile.quick(job.fast).as_chunks::<64>().0;
        let slow = self.tile.quick(job.slow).as_chunks::<64>().0;
        let count = (self.question.series().bars() - self.tile.first_bar).div_ceil(64);
        for (word, (fast, slow)) in fast.iter().zip(slow).enumerate().take(count) {
            let (above, is_open) = lanes.quick_word(fast, slow);
            run.above[word] = above;
            if is_open {
                self.look_closer(lanes, job, word, run, diagnostics);
            }
        }
    }

    /// Decides one word in `f64`, and asks the predicate for the bars that stay open.
    #[inline(always)]
    fn look_closer<L: Lanes>(
        self,
        lanes: L,
        job: &Job,
        word: usize,
        run: &mut Run<'_>,
        diagnostics: &mut Diagnostics,
    ) {
        let bound = |filter| self.tile.bound(self.plan, filter, word);
        let row = |filter| &self.tile.values(filter).as_chunks::<64>().0[word];
        let bound = bound(job.fast) + bound(job.slow);
        let (above, below) = lanes.sure_word(row(job.fast), row(job.slow), bound);
        run.above[word] = above;
        if above | below != u64::MAX {
            self.settle(job, word, !(above | below), run, diagnostics);
        }
    }

    #[cold]
    #[inline(never)]
    fn settle(
        self,
        job: &Job,
        word: usize,
        open: u64,
        run: &mut Run<'_>,
        diagnostics: &mut Diagnostics,
    ) {
        let base = self.tile.first_bar + word * 64;
        let first_bar = self.question.first_bar(job.combination);
        let bars = self.question.series().bars();
        let predicate = self.question.predicate(job.combination);
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
            run.above[word] |= u64::from(decision.ordering.is_gt()) << bit;
            if decision.ordering.is_eq() {
                run.ties[word] |= 1 << bit;
                *run.has_ties = true;
            }
        }
    }
}
