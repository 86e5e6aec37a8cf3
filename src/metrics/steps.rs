//! Tables of one series for the always-in rules: the sums over a trade are two look-ups, and so are bounds on its closes.
//!
//! What [`Moves`] adds up without a subtraction, this takes as a difference of running sums over groups of eight bars,
//! restarted every 512 groups; the bars around the fills are looked at one by one. Each addition to a running sum rounds by
//! at most `u` times the sum `S` of the block, and what was rounded before the entry cancels in the difference, so the
//! sum over `k` whole groups is within `(k + 1) * u * S` of exact, beside `gamma(12)` of itself for the sums of the
//! groups. All trades within a block together are off by at most `1,024 * u * S = 1.2e-13 S`: nothing beside the block's
//! own returns where its closes differ by less than a factor of two. Any other block is marked as rough, and its trades
//! are added up by [`Moves`].
// A kernel has the instructions of the function it is inlined into: these must be, or they run without SIMD.
#![allow(clippy::inline_always)]

use super::batch::{BATCH, Bars};
use super::moves::{Moves, Powers, extremes};
use super::returns::LANES;

/// Bars whose moves are looked at one by one around a fill: one vector.
pub(super) const GROUP: u32 = LANES as u32;
/// Groups between restarts: few trades cross one.
const BLOCK: usize = 512;
/// Bars whose extremes are kept as one pair.
const WORD: u32 = 16;
/// Lengths of runs of words, 1 to 128: one cache line a word.
const LEVELS: usize = 8;

/// The closes of a group and the one before them.
pub(super) type Closes = [f64; LANES + 1];

/// Lower and upper bounds, one a trade.
pub(super) type Bounds = ([f32; BATCH], [f32; BATCH]);

/// Running sums and extremes of one series.
#[derive(Debug)]
pub(crate) struct Steps<'a> {
    pub(super) moves: &'a Moves<'a>,
    /// The closes of the first group, and of the last: without a move where there is no bar.
    ends: [Closes; 2],
    /// Sums over the moves of the block's groups up to and with each.
    sums: Vec<Powers>,
    is_rough: Vec<bool>,
    /// Bounds on the scaled closes of runs of `2^level` words: those of word `w` from `LEVELS * w` on.
    runs: Vec<[f32; 2]>,
}

impl<'a> Steps<'a> {
    pub(crate) fn new(moves: &'a Moves<'a>) -> Self {
        let closes = moves.closes();
        let mut sums = Vec::with_capacity(closes.len() / LANES + 1);
        let mut is_rough = Vec::new();
        let mut previous = closes[0];
        for block in closes.chunks(BLOCK * LANES) {
            // the move into a block's first bar begins before it
            let (lowest, highest) = extremes(block);
            is_rough.push(highest.max(previous) > 2.0 * lowest.min(previous));
            let mut sum = Powers::default();
            for closes in block.chunks(LANES) {
                let mut group = Powers::default();
                for &close in closes {
                    group.add_move((close - previous) * moves.per_unit());
                    previous = close;
                }
                sum.add(&group);
                sums.push(sum);
            }
        }
        let last = (closes.len() - 1) / LANES * LANES;
        let closes_from = |first: usize| {
            let bar = |i: usize| (first + i).saturating_sub(1).min(closes.len() - 1);
            std::array::from_fn(|i| closes[bar(i)])
        };
        Self {
            moves,
            ends: [closes_from(0), closes_from(last)],
            sums,
            is_rough,
            runs: runs(moves),
        }
    }

    /// The closes of a group and the one before them.
    #[inline(always)]
    pub(super) fn closes_of(&self, group: u32) -> &Closes {
        let first = (group * GROUP) as usize;
        let closes = self.moves.closes().get(first.wrapping_sub(1)..);
        match closes.and_then(|closes| closes.first_chunk()) {
            Some(closes) => closes,
            None => &self.ends[usize::from(group > 0)],
        }
    }

    /// The sums of the block that holds both groups, if it is one and not rough.
    #[inline(always)]
    pub(super) fn block_of(&self, first: u32, last: u32) -> Option<Block<'_>> {
        let block = first as usize / BLOCK;
        let is_one = block == last as usize / BLOCK && !self.is_rough[block];
        is_one.then(|| Block(&self.sums[block * BLOCK..]))
    }

    /// Sums over the moves into the bars of the groups after `first` up to and with `last`.
    #[inline(never)]
    pub(super) fn groups_between(&self, first: usize, last: usize) -> Powers {
        let block = first / BLOCK;
        if block == last / BLOCK && !self.is_rough[block] {
            return self.sums[last].minus(&self.sums[first]);
        }
        self.groups_across(first, last)
    }

    fn groups_across(&self, first: usize, last: usize) -> Powers {
        let (block, end) = (first / BLOCK, last / BLOCK);
        if self.is_rough[block] || self.is_rough[end] {
            return self.moves.powers((first + 1) * LANES..(last + 1) * LANES);
        }
        let mut sum = self.sums[(block + 1) * BLOCK - 1].minus(&self.sums[first]);
        for block in block + 1..end {
            sum.add(&self.sums[(block + 1) * BLOCK - 1]);
        }
        sum.add(&self.sums[last]);
        sum
    }

    /// Bounds on the closes of each trade, its exit left out, scaled by [`Moves::per_unit`]: every close is strictly
    /// within, by at least `2^-25` of it.
    #[inline(always)]
    pub(super) fn around(&self, bars: &Bars) -> Bounds {
        let (mut starts, mut ends, mut is_short) = ([0; BATCH], [0; BATCH], true);
        for i in 0..BATCH {
            let (word, end) = (bars[i] / WORD, (bars[i + 1] - 1) / WORD);
            // two runs of the longest length within cover the words; an unused slot has no bars
            let level = ((end + 1 - word) | 1).ilog2();
            is_short &= level < LEVELS as u32;
            starts[i] = word * LEVELS as u32 + level;
            ends[i] = (end + 1 - (1 << level)) * LEVELS as u32 + level;
        }
        if !is_short {
            return self.around_many(bars);
        }
        let (mut lowest, mut highest) = ([0.0; BATCH], [0.0; BATCH]);
        for i in 0..BATCH {
            let (a, b) = (starts[i] as usize, ends[i] as usize);
            [lowest[i], highest[i]] = wider(self.runs[a], self.runs[b]);
        }
        (lowest, highest)
    }

    /// The same from the closes themselves.
    #[inline(never)]
    fn around_many(&self, bars: &Bars) -> Bounds {
        let (mut lowest, mut highest) = ([0.0; BATCH], [0.0; BATCH]);
        for i in 0..BATCH {
            let closes = &self.moves.closes()[bars[i] as usize..bars[i + 1] as usize];
            [lowest[i], highest[i]] = outward(extremes(closes), self.moves.per_unit());
        }
        (lowest, highest)
    }
}

/// The sums of one block, and of those after it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block<'a>(&'a [Powers]);

impl Block<'_> {
    /// Sums over the moves into the bars of the groups after `first` up to and with `last`.
    #[inline(always)]
    pub(super) fn between(&self, first: u32, last: u32) -> Powers {
        let (first, last) = (first as usize % BLOCK, last as usize % BLOCK);
        self.0[last].minus(&self.0[first])
    }
}

/// Any range of words is two runs that overlap.
fn runs(moves: &Moves<'_>) -> Vec<[f32; 2]> {
    let words = moves.closes().chunks(WORD as usize);
    let word = |closes| [outward(extremes(closes), moves.per_unit()); LEVELS];
    let mut runs: Vec<[f32; 2]> = words.flat_map(word).collect();
    for level in 1..LEVELS {
        let half = LEVELS << (level - 1);
        for at in (level - 1..runs.len().saturating_sub(half)).step_by(LEVELS) {
            runs[at + 1] = wider(runs[at], runs[at + half]);
        }
    }
    runs
}

/// The next `f32` beyond each: a margin wider than the roundings of the `f64` that are compared with it.
fn outward((lowest, highest): (f64, f64), scale: f64) -> [f32; 2] {
    let (lowest, highest) = ((lowest * scale) as f32, (highest * scale) as f32);
    [lowest.next_down(), highest.next_up()]
}

#[inline(always)]
fn wider(a: [f32; 2], b: [f32; 2]) -> [f32; 2] {
    [
        if a[0] < b[0] { a[0] } else { b[0] },
        if a[1] > b[1] { a[1] } else { b[1] },
    ]
}
#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::gamma;

    const U: f64 = f64::EPSILON / 2.0;

    fn near(steps: &Steps<'_>, first: usize, last: usize) -> bool {
        let found = steps.groups_between(first, last);
        let bars = (first + 1) * LANES..(last + 1) * LANES;
        let plain = steps.moves.powers(bars.clone());
        let whole = |group: usize| {
            let block = group / BLOCK * BLOCK * LANES;
            let bars = block..(block + BLOCK * LANES).min(steps.moves.closes().len());
            steps.moves.powers(bars)
        };
        let (a, b) = (whole(first), whole(last));
        let near = |found: f64, plain: f64, a: f64, b: f64| {
            // the plain sum is itself within gamma of exact
            let bound = (last - first + 1) as f64 * U * (a + b)
                + (gamma(bars.len() + 4) + gamma(12)) * plain;
            assert!((found - plain).abs() <= bound, "{found} {plain} {bound}");
        };
        near(found.up, plain.up, a.up, b.up);
        near(found.down, plain.down, a.down, b.down);
        near(found.fourths, plain.fourths, a.fourths, b.fourths);
        found != plain
    }

    #[test]
    fn differences_are_within_their_bound_and_rough_blocks_are_added_up() {
        let mut closes = crate::random_walk(20_000, 9).unwrap().closes().to_vec();
        for close in &mut closes[10_000..] {
            *close *= 1e-9;
        }
        let moves = Moves::new(&closes);
        let steps = Steps::new(&moves);
        assert_eq!(steps.is_rough, [false, false, true, false, false]);
        let (mut differ, mut equal) = (0, 0);
        for first in (0..1_400).step_by(7) {
            for last in [
                first,
                first + 1,
                first + 9,
                first + 60,
                first + 300,
                first + 1_000,
            ] {
                let differs = near(&steps, first, last);
                differ += usize::from(differs);
                equal += usize::from(!differs);
            }
        }
        assert!(differ > 400 && equal > 300, "{differ} {equal}");
        // without the mark, a difference after the gap would be off by 1e-16 of the gap's own square
        let after = steps.groups_between(1_300, 1_310);
        assert_eq!(after, moves.powers(10_408..10_488));
        assert!(after.up > 0.0);
    }

    /// One large move, then moves whose squares all round up to the next float of the running sum: the error is nearly
    /// all that the bound allows, so a smaller bound would be wrong.
    #[test]
    fn the_bound_is_reached() {
        let mut close = 1_000.0;
        let closes: Vec<f64> = (0..4_000)
            .map(|bar| {
                close += match bar {
                    1 => 512.5,
                    _ if bar >= 8 && bar % 8 == 0 => 1_024.0 * 1.005 * (-27.5_f64).exp2(),
                    _ => 0.0,
                };
                close
            })
            .collect();
        let moves = Moves::new(&closes);
        let steps = Steps::new(&moves);
        assert!(near(&steps, 0, 400));
        let (found, plain) = (steps.groups_between(0, 400), moves.powers(8..3_208));
        let bound = 401.0 * U * moves.powers(0..4_000).up;
        assert!((found.up - plain.up).abs() > 0.9 * bound);
    }

    #[test]
    fn groups_of_closes_have_no_move_where_there_is_no_bar() {
        let closes: Vec<f64> = (1..=21).map(f64::from).collect();
        let moves = Moves::new(&closes);
        let steps = Steps::new(&moves);
        assert_eq!(
            steps.closes_of(0),
            &[1.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
        );
        assert_eq!(
            steps.closes_of(1),
            closes[7..16].first_chunk::<9>().unwrap()
        );
        let last = [16.0, 17.0, 18.0, 19.0, 20.0, 21.0, 21.0, 21.0, 21.0];
        assert_eq!(steps.closes_of(2), &last);
    }

    #[test]
    fn bounds_cover_every_trade_strictly() {
        let walk = crate::random_walk(9_000, 4).unwrap();
        let moves = Moves::new(walk.closes());
        let steps = Steps::new(&moves);
        for longest in [2, 40, 500, 6_000_u32] {
            let mut bars = [1; BATCH + 1];
            for i in 0..BATCH {
                let step = 1 + (i as u32 * 7_919) % longest;
                bars[i + 1] = (bars[i] + step).min(8_983 + i as u32);
            }
            let (lowest, highest) = steps.around(&bars);
            for i in 0..BATCH {
                let range = bars[i] as usize..bars[i + 1] as usize;
                let (low, high) = extremes(&walk.closes()[range]);
                let margin = (-25.0_f64).exp2();
                let scale = moves.per_unit();
                assert!(f64::from(lowest[i]) <= low * scale * (1.0 - margin));
                assert!(f64::from(highest[i]) >= high * scale * (1.0 + margin));
            }
        }
    }
}
