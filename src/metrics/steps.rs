//! The moves of a series as running sums, restarted every 256 bars: the sums over a trade are two look-ups.
//!
//! What [`Moves`] adds up without a subtraction, this takes as a difference, for the always-in rules whose sweeps must
//! cost little. A running sum is within `gamma(BLOCK + 4)` of its block's sum, relatively, so a trade's sum is within
//! `2 * gamma(BLOCK + 4)` times the sums of the blocks that it begins and ends in. In a block whose closes differ by less
//! than a factor of two that is nothing beside the block's own returns, at most 1e-13 of them a trade; any other block is
//! marked as rough, and its trades are added up by [`Moves`].

use std::ops::Range;

use super::moves::{Moves, Powers, extremes};

/// Bars between restarts.
const BLOCK: usize = 256;
/// Bars whose extremes are kept as one pair.
const WORD: usize = 16;

/// Running sums and extremes of one series.
#[derive(Debug)]
pub(crate) struct Steps<'a> {
    pub(super) moves: &'a Moves<'a>,
    /// Sums over the moves into the bars of the block up to and with each bar.
    sums: Vec<Powers>,
    is_rough: Vec<bool>,
    /// Lowest and highest close of runs of `2^level` words.
    bounds: Vec<Vec<(f64, f64)>>,
}

impl<'a> Steps<'a> {
    pub(crate) fn new(moves: &'a Moves<'a>) -> Self {
        let closes = moves.closes();
        let mut sums = Vec::with_capacity(closes.len());
        let mut is_rough = Vec::with_capacity(closes.len() / BLOCK + 1);
        for first in (0..closes.len()).step_by(BLOCK) {
            let last = (first + BLOCK).min(closes.len());
            // the move into a block's first bar begins before it
            let (lowest, highest) = extremes(&closes[first.saturating_sub(1)..last]);
            is_rough.push(highest > 2.0 * lowest);
            let mut sum = Powers::default();
            for bar in first..last {
                moves.add_loose(bar..bar + 1, &mut sum);
                sums.push(sum);
            }
        }
        Self {
            moves,
            sums,
            is_rough,
            bounds: runs(closes),
        }
    }

    /// Sums over the moves into the bars after `first` up to and with `last`.
    #[inline]
    pub(super) fn powers(&self, first: usize, last: usize) -> Powers {
        let (block, end) = (first / BLOCK, last / BLOCK);
        if self.is_rough[block] || self.is_rough[end] {
            return self.moves.powers(first + 1..last + 1);
        }
        let (before, upto) = (&self.sums[first], &self.sums[last]);
        if block == end {
            return upto.minus(before);
        }
        let mut sum = self.sums[(block + 1) * BLOCK - 1].minus(before);
        for block in block + 1..end {
            sum.add(&self.sums[(block + 1) * BLOCK - 1]);
        }
        sum.add(upto);
        sum
    }

    /// Bounds on the closes of a range that is not empty.
    #[inline]
    pub(super) fn around(&self, bars: &Range<usize>) -> (f64, f64) {
        let (first, last) = (bars.start / WORD, (bars.end - 1) / WORD);
        let level = (last + 1 - first).ilog2() as usize;
        let runs = &self.bounds[level];
        let (a, b) = (runs[first], runs[last + 1 - (1 << level)]);
        wider(a, b)
    }
}

/// Any range of words is two runs that overlap.
fn runs(closes: &[f64]) -> Vec<Vec<(f64, f64)>> {
    let mut levels = vec![closes.chunks(WORD).map(extremes).collect::<Vec<_>>()];
    let mut run = 1;
    while 2 * run <= levels[0].len() {
        let below = &levels[levels.len() - 1];
        let pairs = below.iter().zip(&below[run..]);
        levels.push(pairs.map(|(&a, &b)| wider(a, b)).collect());
        run *= 2;
    }
    levels
}

#[inline]
fn wider(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    (
        if a.0 < b.0 { a.0 } else { b.0 },
        if a.1 > b.1 { a.1 } else { b.1 },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::gamma;

    #[test]
    fn differences_are_within_their_bound_and_rough_blocks_are_added_up() {
        let mut closes = crate::random_walk(3_000, 9).unwrap().closes().to_vec();
        for close in &mut closes[1_500..] {
            *close *= 1e-9;
        }
        let moves = Moves::new(&closes);
        let steps = Steps::new(&moves);
        assert_eq!(steps.is_rough.iter().filter(|rough| **rough).count(), 1);
        let (mut differ, mut equal) = (0, 0);
        for first in (0..2_990).step_by(7) {
            for last in [
                first,
                first + 1,
                first + 9,
                first + 60,
                first + 300,
                first + 1_200,
            ] {
                if last >= closes.len() {
                    continue;
                }
                let (found, plain) = (steps.powers(first, last), moves.powers(first + 1..last + 1));
                let block = |bar: usize| {
                    let bars = bar / BLOCK * BLOCK..((bar / BLOCK + 1) * BLOCK).min(closes.len());
                    moves.powers(bars)
                };
                let (a, b) = (block(first), block(last));
                let bound = 2.0 * gamma(BLOCK + 4);
                let near = |found: f64, plain: f64, a: f64, b: f64| {
                    // the plain sum is itself within gamma of exact
                    assert!(
                        (found - plain).abs() <= bound * (a + b) + gamma(last - first + 4) * plain
                    );
                };
                near(found.up, plain.up, a.up, b.up);
                near(found.down, plain.down, a.down, b.down);
                near(found.fourths, plain.fourths, a.fourths, b.fourths);
                differ += usize::from(found.up != plain.up);
                equal += usize::from(found.up == plain.up);
            }
        }
        assert!(differ > 500 && equal > 300, "{differ} {equal}");
        // without the mark, a difference after the gap would be off by 1e-16 of the gap's own square
        let after = steps.powers(1_520, 1_530);
        assert_eq!(after.up, moves.powers(1_521..1_531).up);
        assert!(after.up > 0.0);
    }

    #[test]
    fn bounds_cover_every_range() {
        let walk = crate::random_walk(1_000, 4).unwrap();
        let moves = Moves::new(walk.closes());
        let steps = Steps::new(&moves);
        for (from, to) in [
            (0, 1),
            (0, 1_000),
            (15, 17),
            (16, 32),
            (100, 900),
            (999, 1_000),
        ] {
            let (lowest, highest) = steps.around(&(from..to));
            let (low, high) = extremes(&walk.closes()[from..to]);
            assert!(lowest <= low && highest >= high);
        }
        assert_eq!(steps.around(&(16..64)), extremes(&walk.closes()[16..64]));
    }
}
