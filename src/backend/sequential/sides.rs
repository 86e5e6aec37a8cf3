//! The sides of one combination on one tile: fixed point first, then `f64` beyond the bound, then the predicate.
// A kernel has the instructions of the function it is inlined into: these must be, or they run without SIMD.
#![allow(clippy::inline_always)]

use super::lanes::{Lanes, WithLanes, open_bars};
use super::plan::{Job, Plan};
use super::rows::Tile;
use crate::crossover::{Found, Predicate, SideWriter};
use crate::diagnostics::Diagnostics;
use crate::prefetch;
use crate::question::Question;

/// Decided words of one tile for [`GROUP`] combinations, one run of words each.
#[derive(Debug)]
pub(super) struct Words {
    stride: usize,
    above: Vec<u64>,
    ties: Vec<u64>,
    has_ties: [bool; GROUP],
    /// Words to look at once more, and crossovers on their way to a writer: empty but for their memory.
    open: Vec<Open>,
    found: Found,
}

impl Words {
    pub(super) fn new(plan: &Plan) -> Self {
        let stride = plan.tile / 64;
        Self {
            stride,
            above: vec![0; stride * GROUP],
            ties: vec![0; stride * GROUP],
            has_ties: [false; GROUP],
            open: Vec::new(),
            found: Found::new(),
        }
    }

    /// Hands the words of a combination to its writer.
    fn write(&mut self, index: usize, tile: &Tile, writer: &mut SideWriter<'_>) {
        let words = index * self.stride..index * self.stride + tile.bars.div_ceil(64);
        let ties = self.has_ties[index].then(|| &self.ties[words.clone()]);
        let first = tile.first_bar / 64;
        writer.write_through(&mut self.found, first, &self.above[words], ties);
    }

    /// The side words of a combination, to fill anew.
    fn run(&mut self, index: usize) -> &mut [u64] {
        if std::mem::take(&mut self.has_ties[index]) {
            self.ties[index * self.stride..][..self.stride].fill(0);
        }
        &mut self.above[index * self.stride..][..self.stride]
    }

    fn above(&mut self, index: usize, word: usize) -> &mut u64 {
        &mut self.above[index * self.stride + word]
    }

    fn tie(&mut self, index: usize, word: usize, bars: u64) {
        self.ties[index * self.stride + word] |= bars;
        self.has_ties[index] = true;
    }
}

/// What the decisions of a tile need.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) plan: &'a Plan,
    pub(super) question: &'a Question<'a>,
    pub(super) tile: &'a Tile,
}

/// Decides a tile for some combinations, a few at a time, and hands each to its writer.
pub(super) struct Decide<'a, 'w, 's> {
    pub(super) context: Context<'a>,
    pub(super) jobs: &'a mut [Job<'w, 's>],
    pub(super) words: &'a mut Words,
    pub(super) diagnostics: &'a mut Diagnostics,
}

/// Combinations whose open bars are looked at together: their values are out of the cache, and the misses overlap.
pub(super) const GROUP: usize = 16;

/// So many open bars of one word suggest ties throughout, as on alternating prices.
const MANY: u32 = 4;

/// A word with bars that fixed point leaves open.
#[derive(Debug, Clone, Copy)]
struct Open {
    job: usize,
    word: usize,
    bars: u64,
}

impl WithLanes for Decide<'_, '_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_lanes<L: Lanes>(self, lanes: L) {
        let mut open = std::mem::take(&mut self.words.open);
        for jobs in self.jobs.chunks_mut(GROUP) {
            open.clear();
            for job in jobs.iter() {
                prefetch::value(&*job.writer);
            }
            for (index, job) in jobs.iter().enumerate() {
                let words = self.words.run(index);
                self.context.compare(lanes, index, job, words, &mut open);
            }
            for job in jobs.iter() {
                job.writer.prefetch_sink();
            }
            for open in &open {
                let job = &jobs[open.job];
                self.context
                    .decide_open(job, open, self.words, self.diagnostics);
            }
            for (index, job) in jobs.iter_mut().enumerate() {
                self.words.write(index, self.context.tile, job.writer);
            }
        }
        self.words.open = open;
    }
}

impl Context<'_> {
    /// Compares in fixed point, and lists the words with bars that are too close to call.
    #[inline(always)]
    fn compare<L: Lanes>(
        self,
        lanes: L,
        index: usize,
        job: &Job<'_, '_>,
        words: &mut [u64],
        open: &mut Vec<Open>,
    ) {
        let (fast, slow) = (self.tile.quick(job.fast), self.tile.quick(job.slow));
        let count = self.tile.bars.div_ceil(64);
        let pairs = fast.iter().zip(slow).take(count);
        for (word, ((fast, slow), above)) in pairs.zip(words).enumerate() {
            let is_open;
            (*above, is_open) = lanes.quick_word(&fast.0, &slow.0);
            if is_open {
                let bars = open_bars(&fast.0, &slow.0);
                open.push(Open {
                    job: index,
                    word,
                    bars,
                });
            }
        }
    }

    /// Decides the open bars of a word.
    #[inline(always)]
    fn decide_open(
        self,
        job: &Job<'_, '_>,
        open: &Open,
        words: &mut Words,
        diagnostics: &mut Diagnostics,
    ) {
        if open.bars == u64::MAX && self.is_flat(job, open.word) {
            words.tie(open.job, open.word, u64::MAX);
            return diagnostics.record_flat(64);
        }
        let unsure = self.look_closer(job, open, words.above(open.job, open.word));
        if unsure != 0 {
            let open = Open {
                bars: unsure,
                ..*open
            };
            self.settle(job, &open, words, diagnostics);
        }
    }

    /// Decides the open bars of a word in `f64`, and returns those that stay open.
    #[inline(always)]
    fn look_closer(self, job: &Job<'_, '_>, open: &Open, word: &mut u64) -> u64 {
        let bound = |filter| self.tile.bound(self.plan, filter, open.word);
        let bound = bound(job.fast) + bound(job.slow);
        let (fast, lane) = self.tile.values(job.fast, open.word);
        let (slow, _) = self.tile.values(job.slow, open.word);
        let (mut above, mut unsure) = (0, 0);
        let mut rest = open.bars;
        while rest != 0 {
            let bit = rest.trailing_zeros();
            rest &= rest - 1;
            let bar = bit as usize;
            let difference = fast[bar].0[lane] - slow[bar].0[lane];
            above |= u64::from(difference > bound) << bit;
            let is_sure = (difference > bound) | (difference < -bound);
            unsure |= u64::from(!is_sure) << bit;
        }
        *word = (*word & !open.bars) | above;
        unsure
    }

    /// Whether no close changed in the windows of a whole word: 64 ties by one look-up.
    fn is_flat(self, job: &Job<'_, '_>, word: usize) -> bool {
        let first = self.tile.first_bar + word * 64;
        let is_valid =
            first >= job.writer.first_bar() && first + 64 <= self.question.series().bars();
        is_valid
            && self
                .question
                .predicate(job.writer.combination())
                .is_flat(first, first + 63)
    }

    /// Whether every open bar of a word is a tie: its difference, within twice the bound of 0, is then smaller than any
    /// difference but 0 can be.
    fn are_ties(self, job: &Job<'_, '_>, word: usize, predicate: &Predicate<'_>) -> bool {
        let bound = |filter| self.tile.bound(self.plan, filter, word);
        let most = 2.000_001 * (bound(job.fast) + bound(job.slow));
        predicate.separation().is_some_and(|least| most < least)
    }

    #[cold]
    #[inline(never)]
    fn settle(
        self,
        job: &Job<'_, '_>,
        open: &Open,
        words: &mut Words,
        diagnostics: &mut Diagnostics,
    ) {
        let base = self.tile.first_bar + open.word * 64;
        let first_bar = job.writer.first_bar();
        let bars = self.question.series().bars();
        let predicate = self.question.predicate(job.writer.combination());
        if open.bars.count_ones() >= MANY
            && first_bar <= base
            && base + 64 <= bars
            && self.are_ties(job, open.word, &predicate)
        {
            diagnostics.record_separated(open.bars.count_ones().into());
            return words.tie(open.job, open.word, open.bars);
        }
        let mut rest = open.bars;
        while rest != 0 {
            let bit = rest.trailing_zeros();
            rest &= rest - 1;
            let bar = base + bit as usize;
            if bar < first_bar || bar >= bars {
                continue;
            }
            let decision = predicate.decide(bar);
            diagnostics.record(decision);
            *words.above(open.job, open.word) |= u64::from(decision.ordering.is_gt()) << bit;
            if decision.ordering.is_eq() {
                words.tie(open.job, open.word, 1 << bit);
            }
        }
    }
}
