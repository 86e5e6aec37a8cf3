//! Tables of one series for the always-in rules: powers of the moves of the closes, as running sums over pairs of bars.
//!
//! What [`Moves`] adds up without a subtraction, this takes as a difference of running sums over pairs of bars, restarted
//! every 2,048 pairs; the pairs that hold a fill are looked at one by one. Each addition to a running sum rounds by at most
//! `u` times the sum `S` of the block, and what was rounded before the entry cancels in the difference, so the sum over `k`
//! whole pairs is within `(k + 1) * u * S` of exact, beside `gamma(8)` of itself for the sums of the pairs (a
//! fourth power has the rounding of its move four times, and three of its own; one for the addition). All trades
//! within a block together are off by at most `4,096 * u * S = 4.6e-13 S`. That is nothing beside the block's own returns as
//! long as these are most of `S`, and the sizes of the trades much alike. So a block is marked as rough, and its trades are
//! added up by [`Moves`], where its closes differ by a factor of two or more, or where one move has more than an eighth of
//! the squares of its direction; and so is the block of a combination's first trade where the moves before it outweigh
//! the others.
//!
//! A block is made when the first trade needs it: the other combinations then find it in the cache.
// A kernel has the instructions of the function it is inlined into: these must be, or they run without SIMD.
#![allow(clippy::inline_always)]

use std::sync::{Mutex, OnceLock, PoisonError};

use super::batch::{extremes, higher};
use super::moves::{Moves, Powers};

/// Bars of a pair.
pub(super) const PAIR: usize = 2;
/// Pairs between restarts: few trades cross one.
const BLOCK: usize = 2_048;
/// Bars of a block.
const BARS: usize = BLOCK * PAIR;
/// Largest share that one move may have of the squares of its direction in a block: a single jump, which the trades may
/// all have in their favour, would leave its rounding in the sums of what goes against them.
const LARGEST_SHARE: f64 = 0.125;
/// No block.
pub(super) const NONE: usize = usize::MAX;
/// Blocks that are kept for the next series: fresh memory costs a page fault per 4 KB.
const KEPT: usize = 128;

type Sums = [Powers; BLOCK];

static SPARE: Mutex<Vec<Box<Sums>>> = Mutex::new(Vec::new());

/// Tables of one series.
#[derive(Debug)]
pub(crate) struct Steps<'a> {
    pub(super) moves: Moves<'a>,
    blocks: Vec<OnceLock<Block>>,
}

/// Sums of the powers of the moves, scaled by [`Moves::per_unit`], over the block's pairs up to and with each.
#[derive(Debug)]
pub(super) struct Block {
    sums: Box<Sums>,
    is_rough: bool,
}

impl<'a> Steps<'a> {
    pub(crate) fn new(closes: &'a [f64]) -> Self {
        let blocks = closes.len().div_ceil(BARS);
        Self {
            moves: Moves::new(closes),
            blocks: (0..blocks).map(|_| OnceLock::new()).collect(),
        }
    }

    #[inline(always)]
    fn block(&self, index: usize) -> &Block {
        match self.blocks[index].get() {
            Some(block) => block,
            None => self.make(index),
        }
    }

    #[cold]
    #[inline(never)]
    fn make(&self, index: usize) -> &Block {
        let (closes, per_unit) = (self.moves.closes(), self.moves.per_unit());
        let make = Make {
            closes,
            first: index * BARS,
            per_unit,
        };
        self.blocks[index].get_or_init(|| pulp::Arch::new().dispatch(make))
    }

    /// The block of all fills from one to another, if it is one, and the sums between them are differences.
    #[inline(always)]
    pub(super) fn smooth_block(&self, first: u32, last: u32, outweighed: usize) -> Option<&Block> {
        let index = first as usize / BARS;
        let block = self.block(index);
        let is_one = index == last as usize / BARS && index != outweighed;
        (is_one && !block.is_rough).then_some(block)
    }

    /// The block of a first fill, if the moves up to it outweigh those behind it, or [`NONE`]: the rounding of the former
    /// is in its running sums, and would stand out in the differences.
    pub(super) fn outweighed(&self, first: u32) -> usize {
        let index = first as usize / BARS;
        let block = self.block(index);
        let last = (self.moves.closes().len() - 1).min((index + 1) * BARS - 1);
        let before = &block.sums[first as usize / PAIR % BLOCK];
        let behind = block.sums[last / PAIR % BLOCK].minus(before);
        let is_heavier =
            before.fourths > behind.fourths || before.up + before.down > behind.up + behind.down;
        if is_heavier { index } else { NONE }
    }

    /// Sums over the moves into the bars of the whole pairs between two fills.
    #[inline(never)]
    pub(super) fn between(&self, first: u32, last: u32, outweighed: usize) -> Powers {
        if let Some(block) = self.smooth_block(first, last, outweighed) {
            return block.between(first, last);
        }
        let (first, last) = (first as usize / PAIR, last as usize / PAIR);
        if last <= first + 1 {
            return Powers::default();
        }
        self.pairs_across(first, last - 1, outweighed)
    }

    /// Sums over the pairs after `first` up to and with `last`, of any blocks.
    fn pairs_across(&self, first: usize, last: usize, outweighed: usize) -> Powers {
        let (index, end) = (first / BLOCK, last / BLOCK);
        let (before, after) = (self.block(index), self.block(end));
        if before.is_rough || after.is_rough || index == outweighed {
            return self.moves.powers((first + 1) * PAIR..(last + 1) * PAIR);
        }
        if index == end {
            return after.sums[last % BLOCK].minus(&before.sums[first % BLOCK]);
        }
        let mut sum = before.sums[BLOCK - 1].minus(&before.sums[first % BLOCK]);
        for index in index + 1..end {
            sum.add(&self.block(index).sums[BLOCK - 1]);
        }
        sum.add(&after.sums[last % BLOCK]);
        sum
    }
}

impl Drop for Steps<'_> {
    fn drop(&mut self) {
        let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
        let blocks = self.blocks.drain(..).filter_map(OnceLock::into_inner);
        for block in blocks {
            if spare.len() < KEPT {
                spare.push(block.sums);
            }
        }
    }
}

impl Block {
    /// Sums over the moves into the bars of the whole pairs between two fills of this block.
    #[inline(always)]
    pub(super) fn between(&self, first: u32, last: u32) -> Powers {
        let (first, last) = (first as usize / PAIR, last as usize / PAIR);
        // none where they share a pair
        let last = (first + 1).max(last) - 1;
        self.sums[last % BLOCK].minus(&self.sums[first % BLOCK])
    }
}

/// Bars whose powers are made side by side.
const CHUNK: usize = 64;

/// The sums of one block.
struct Make<'a> {
    closes: &'a [f64],
    first: usize,
    per_unit: f64,
}

impl pulp::NullaryFnOnce for Make<'_> {
    type Output = Block;

    #[inline(always)]
    fn call(self) -> Block {
        let spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut sums = spare.unwrap_or_else(empty);
        let last = self.closes.len().min(self.first + BARS);
        let (mut sum, mut largest) = (Powers::default(), [0.0; 2]);
        let (chunks, _) = sums.as_chunks_mut::<{ CHUNK / PAIR }>();
        for (out, first) in chunks.iter_mut().zip((self.first..last).step_by(CHUNK)) {
            let closes = self.closes.get(first.wrapping_sub(1)..);
            let around = match closes.and_then(|closes| closes.first_chunk()) {
                Some(closes) => closes,
                None => &around_end(self.closes, first),
            };
            sum = add_chunk(out, around, self.per_unit, sum, &mut largest);
        }
        // the move into the first bar begins before it
        let (lowest, highest) = extremes(&self.closes[self.first.saturating_sub(1)..last]);
        Block {
            sums,
            is_rough: highest > 2.0 * lowest
                || largest[0] > sum.up * LARGEST_SHARE
                || largest[1] > sum.down * LARGEST_SHARE,
        }
    }
}

/// Closes at an end of the series: without a move where there is no bar.
#[cold]
#[inline(never)]
fn around_end(closes: &[f64], first: usize) -> [f64; CHUNK + 1] {
    std::array::from_fn(|i| closes[(first + i).saturating_sub(1).min(closes.len() - 1)])
}

/// Adds the pairs of a chunk; returns the sum after them.
#[inline(always)]
fn add_chunk(
    out: &mut [Powers; CHUNK / PAIR],
    closes: &[f64; CHUNK + 1],
    per_unit: f64,
    before: Powers,
    largest: &mut [f64; 2],
) -> Powers {
    let (mut up, mut down) = ([0.0; CHUNK], [0.0; CHUNK]);
    let (mut cubes, mut fourths) = ([0.0; CHUNK], [0.0; CHUNK]);
    for i in 0..CHUNK {
        let step = (closes[i + 1] - closes[i]) * per_unit;
        let square = step * step;
        up[i] = if step > 0.0 { square } else { 0.0 };
        down[i] = if step < 0.0 { square } else { 0.0 };
        cubes[i] = square * step;
        fourths[i] = square * square;
    }
    for (largest, squares) in largest.iter_mut().zip([&up, &down]) {
        *largest = higher(extremes(squares).1, *largest);
    }
    let mut sum = before;
    for (pair, out) in out.iter_mut().enumerate() {
        let (first, second) = (PAIR * pair, PAIR * pair + 1);
        sum.add(&Powers {
            up: up[first] + up[second],
            down: down[first] + down[second],
            cubes: cubes[first] + cubes[second],
            fourths: fourths[first] + fourths[second],
        });
        *out = sum;
    }
    sum
}

fn empty() -> Box<Sums> {
    let sums = vec![Powers::default(); BLOCK].into_boxed_slice();
    sums.try_into().expect("a block has all its pairs")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::gamma;

    const U: f64 = f64::EPSILON / 2.0;

    /// Sums over the pairs after `first` up to and with `last`: those between a fill in the one and a fill after the other.
    fn pairs(steps: &Steps<'_>, first: usize, last: usize) -> Powers {
        steps.between((first * PAIR) as u32, ((last + 1) * PAIR) as u32, NONE)
    }

    fn near(steps: &Steps<'_>, first: usize, last: usize) -> bool {
        let found = pairs(steps, first, last);
        let bars = (first + 1) * PAIR..(last + 1) * PAIR;
        let plain = steps.moves.powers(bars.clone());
        let whole = |pair: usize| {
            let block = pair / BLOCK * BARS;
            let bars = block..(block + BARS).min(steps.moves.closes().len());
            steps.moves.powers(bars)
        };
        let (a, b) = (whole(first), whole(last));
        let near = |found: f64, plain: f64, a: f64, b: f64| {
            // the plain sum is itself within gamma of exact
            let bound = (last - first + 1) as f64 * U * (a + b)
                + (gamma(bars.len() + 8) + gamma(8)) * plain;
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
        let steps = Steps::new(&closes);
        let is_rough = |block| steps.block(block).is_rough;
        assert_eq!(
            [0, 1, 2, 3, 4].map(is_rough),
            [false, false, true, false, false]
        );
        let (mut differ, mut equal) = (0, 0);
        for first in (0..5_600).step_by(28) {
            for many in [0, 1, 9, 60, 300, 1_200, 4_000] {
                let differs = near(&steps, first, first + many);
                differ += usize::from(differs);
                equal += usize::from(!differs);
            }
        }
        assert!(differ > 400 && equal > 300, "{differ} {equal}");
        // without the mark, a difference after the gap would be off by 1e-16 of the gap's own square
        let after = pairs(&steps, 5_200, 5_240);
        assert_eq!(after, moves.powers(10_402..10_482));
        assert!(after.up > 0.0);
    }

    /// Some large moves, then moves whose squares all round up to the next float of the running sum: the error is nearly
    /// all that the bound allows, so a smaller bound would be wrong.
    #[test]
    fn the_bound_is_reached() {
        let mut close = 1_000.0;
        let closes: Vec<f64> = (0..4_000)
            .map(|bar| {
                close += match bar {
                    1..=32 if bar % 2 == 1 => 128.125,
                    1..=32 => -128.125,
                    _ if bar % 2 == 0 && bar > 0 => 1_024.0 * 1.005 * (-27.5_f64).exp2(),
                    _ => 0.0,
                };
                close
            })
            .collect();
        let moves = Moves::new(&closes);
        let steps = Steps::new(&closes);
        assert!(near(&steps, 16, 1_600));
        let (found, plain) = (pairs(&steps, 16, 1_600), moves.powers(34..3_202));
        let bound = 1_585.0 * U * moves.powers(0..4_000).up;
        assert!((found.up - plain.up).abs() > 0.9 * bound);
    }

    /// One move that is most of its block's squares makes the block rough, whichever its direction.
    #[test]
    fn a_jump_makes_its_block_rough() {
        let walk = crate::random_walk(3 * BARS, 4).unwrap();
        for (factor, expected) in [(1.3, true), (0.8, true), (1.001, false)] {
            let mut closes = walk.closes().to_vec();
            closes[BARS + 100..]
                .iter_mut()
                .for_each(|close| *close *= factor);
            let steps = Steps::new(&closes);
            let is_rough = [0, 1, 2].map(|block| steps.block(block).is_rough);
            assert_eq!(is_rough, [false, expected, false], "{factor}");
        }
    }

    #[test]
    fn a_last_pair_of_one_bar_has_its_sums() {
        for bars in [4_095, 4_096, 4_097, 4_099] {
            let walk = crate::random_walk(bars, 3).unwrap();
            let moves = Moves::new(walk.closes());
            let steps = Steps::new(walk.closes());
            let last = (bars - 1) / PAIR;
            let block = steps.block(last / BLOCK);
            let sum = block.sums[last % BLOCK].up + block.sums[last % BLOCK].down;
            let plain = moves.powers(last / BLOCK * BARS..bars);
            let plain = plain.up + plain.down;
            assert!((sum - plain).abs() <= gamma(bars + 8) * plain && plain > 0.0);
        }
    }
}
