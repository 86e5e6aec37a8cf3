//! One tile of every filter: `f64` values, and the same in 16-bit fixed point for the bulk of the comparisons.
// A kernel has the instructions of the function it is inlined into: these must be, or they run without SIMD.
#![allow(clippy::inline_always)]

use std::cell::Cell;

use super::lanes::{Lanes, WithLanes};
use super::load::{Centre, load};
use super::plan::{CELL, Class, Plan, TapRow};
use super::taps::{MAX_LEVEL, Tap};
use crate::question::Question;

/// Steps of the quantum in the sampled spread; some are left for the bars between the samples.
const STEPS: f64 = 24_000.0;
/// Values beyond are cut; two that are cut alike compare as too close to call.
const LARGEST_STEP: f64 = 32_767.0;
/// Added to a size below 2^51 it rounds to a whole number, which then stands in the low bits.
const ROUNDER: f64 = 6_755_399_441_055_744.0;

/// Centred closes of sizes outside this range (but 0) might overflow in the sums or vanish in the products.
pub(super) const SIZES: std::ops::RangeInclusive<f64> = 1e-200..=1e200;

/// A thread keeps its tile up to this size for the next question: fresh memory costs a page fault per 4 KB.
const KEPT_BYTES: usize = 8 << 20;

thread_local! {
    static SPARE: Cell<Option<Box<Tile>>> = const { Cell::new(None) };
}

/// The filters' values on the bars of one tile.
#[derive(Debug, Default)]
pub(super) struct Tile {
    pub(super) first_bar: usize,
    stride: usize,
    values: Vec<f64>,
    quick: Vec<i16>,
    /// Largest centred close that each cell's blocks read; infinite where nothing is proven.
    scales: Vec<f64>,
    pub(super) staged_scale: f64,
    pub(super) staged_centre: Centre,
    closes: Vec<f64>,
    sums: Sums,
}

/// Prefix sums of two blocks side by side.
type Sums = [[Vec<f64>; MAX_LEVEL]; 2];

impl Tile {
    /// The thread's tile, with room for the plan's rows; what an earlier question left in them is overwritten.
    pub(super) fn take(plan: &Plan) -> Box<Self> {
        let mut tile = SPARE.take().unwrap_or_default();
        let filters = plan.bounds.len();
        let longest = plan
            .classes
            .iter()
            .map(|class| class.block + class.run_up)
            .max();
        tile.stride = plan.tile;
        tile.values.resize(filters * plan.tile, 0.0);
        tile.quick.resize(filters * plan.tile, 0);
        tile.scales.resize(plan.tile / CELL, 0.0);
        tile.closes.resize(plan.run_up + CELL, 0.0);
        for level in tile.sums.iter_mut().flatten() {
            level.resize(longest.unwrap_or(0), 0.0);
        }
        tile
    }

    /// Gives the tile back to the thread.
    pub(super) fn keep(self: Box<Self>) {
        SPARE.set(Some(self));
    }

    /// Whether a tile of this plan may stay when the question is answered.
    pub(super) fn is_kept(plan: &Plan) -> bool {
        let per_bar = plan.bounds.len() * (size_of::<f64>() + size_of::<i16>());
        per_bar * plan.tile <= KEPT_BYTES
    }

    /// Frees the thread's tile.
    pub(super) fn forget() {
        SPARE.set(None);
    }

    pub(super) fn values(&self, filter: usize) -> &[f64] {
        &self.values[filter * self.stride..][..self.stride]
    }

    pub(super) fn values_mut(&mut self, filter: usize) -> &mut [f64] {
        &mut self.values[filter * self.stride..][..self.stride]
    }

    pub(super) fn quick(&self, filter: usize) -> &[i16] {
        &self.quick[filter * self.stride..][..self.stride]
    }

    /// Bounds the error of a filter's value on the bars of a word, counted from the tile's first bar.
    pub(super) fn bound(&self, plan: &Plan, filter: usize, word: usize) -> f64 {
        let scale = if plan.is_staged[filter] {
            self.staged_scale
        } else {
            self.scales[word * 64 / CELL]
        };
        plan.bounds[filter] * scale
    }
}

/// Fills a tile from `first_bar` on.
pub(super) struct Fill<'a> {
    pub(super) plan: &'a Plan,
    pub(super) question: &'a Question<'a>,
    pub(super) first_bar: usize,
    pub(super) tile: &'a mut Tile,
}

impl WithLanes for Fill<'_> {
    type Output = ();

    #[inline(always)]
    fn with_lanes<L: Lanes>(self, lanes: L) {
        let Self {
            plan,
            question,
            first_bar,
            tile,
        } = self;
        tile.first_bar = first_bar;
        let bars = (question.series().bars() - first_bar).min(plan.tile);
        tile.fill_staged(plan, question);
        for cell in 0..bars.div_ceil(CELL) {
            let bar = first_bar + cell * CELL;
            let missing = plan.run_up.saturating_sub(bar);
            let (before, closes) = tile.closes.split_at_mut(missing);
            before.fill(0.0);
            let (centre, scale) = load(
                question,
                plan.is_centred,
                bar + missing - plan.run_up,
                closes,
            );
            tile.recentre_staged(plan, cell * CELL..(cell + 1) * CELL, centre);
            let is_sound = scale == 0.0 || SIZES.contains(&scale);
            tile.scales[cell] = if is_sound { scale } else { f64::INFINITY };
            for class in &plan.classes {
                blocks(lanes, class, cell, tile);
            }
            quantise(plan, cell, tile);
        }
    }
}

/// Evaluates the filters of one class on one cell.
#[inline(always)]
fn blocks<L: Lanes>(lanes: L, class: &Class, cell: usize, tile: &mut Tile) {
    let length = class.block + class.run_up;
    let run_up = tile.closes.len() - CELL;
    let input = |block: usize| {
        let first = run_up - class.run_up + block * class.block;
        &tile.closes[first..first + length]
    };
    let count = CELL / class.block;
    let mut block = 0;
    while block < count {
        let pair = if block + 1 < count {
            [input(block), input(block + 1)]
        } else {
            [input(block); 2]
        };
        if class.levels <= 2 {
            scan::<2>(pair, &mut tile.sums);
        } else {
            scan::<MAX_LEVEL>(pair, &mut tile.sums);
        }
        for (which, input) in pair.into_iter().enumerate().take(count - block) {
            let first = cell * CELL + (block + which) * class.block;
            for row in &class.rows {
                let out = &mut tile.values[row.filter * tile.stride + first..][..class.block];
                dot(lanes, row, input, &tile.sums[which], class.run_up, out);
            }
        }
        block += 2;
    }
}

/// Prefix sums of prefix sums of two blocks at once: each is one chain of additions, and two hide their latency.
#[inline(always)]
fn scan<const LEVELS: usize>(inputs: [&[f64]; 2], sums: &mut Sums) {
    let length = inputs[0].len();
    let [first, second] = sums;
    let first: [&mut [f64]; MAX_LEVEL] = first.each_mut().map(|level| &mut level[..length]);
    let second: [&mut [f64]; MAX_LEVEL] = second.each_mut().map(|level| &mut level[..length]);
    let (mut a, mut b) = ([0.0; LEVELS], [0.0; LEVELS]);
    let inputs = [&inputs[0][..length], &inputs[1][..length]];
    for bar in 0..length {
        let (mut below_a, mut below_b) = (inputs[0][bar], inputs[1][bar]);
        for level in 0..LEVELS {
            a[level] += below_a;
            b[level] += below_b;
            (below_a, below_b) = (a[level], b[level]);
            first[level][bar] = below_a;
            second[level][bar] = below_b;
        }
    }
}

/// Adds up the taps of one filter over a block, eight vectors at a time.
#[inline(always)]
fn dot<L: Lanes>(
    lanes: L,
    row: &TapRow,
    closes: &[f64],
    sums: &[Vec<f64>; MAX_LEVEL],
    run_up: usize,
    out: &mut [f64],
) {
    let block = out.len();
    let (out, _) = L::as_mut_simd_f64s(out);
    let (out, _) = out.as_chunks_mut::<8>();
    for (group, out) in out.iter_mut().enumerate() {
        let mut sum = [lanes.splat_f64s(0.0); 8];
        for &Tap {
            level,
            lag,
            coefficient,
        } in &row.taps
        {
            let source = if level == 0 {
                closes
            } else {
                &sums[level - 1][..]
            };
            let (source, _) = L::as_simd_f64s(&source[run_up - lag..][..block]);
            let (source, _) = source.as_chunks::<8>();
            let coefficient = lanes.splat_f64s(coefficient);
            for (sum, &value) in sum.iter_mut().zip(&source[group]) {
                *sum = lanes.mul_add_e_f64s(coefficient, value, *sum);
            }
        }
        *out = sum;
    }
}

/// Rounds a cell of every row to whole quanta, relative to a row of middling speed: averages follow the price together,
/// and what sets them apart is a fraction of how far they move. A quantum is at least four times the largest bound, so
/// that rows two steps apart, which are one quantum apart at the least, are apart in truth.
#[inline(always)]
fn quantise(plan: &Plan, cell: usize, tile: &mut Tile) {
    let largest = |filter| tile.bound(plan, filter, cell * CELL / 64);
    let bound = (0..plan.bounds.len()).map(largest).fold(0.0, f64::max);
    let row = |filter: usize| filter * tile.stride + cell * CELL;
    let (values, quick) = (&tile.values, &mut tile.quick);
    let reference = &values[row(plan.reference)..][..CELL];
    let mut spread = [0.0; 8];
    for filter in 0..plan.bounds.len() {
        widen(&mut spread, &values[row(filter)..][..CELL], reference);
    }
    let spread = spread.into_iter().fold(0.0, f64::max);
    let quantum = (spread / STEPS).max(4.000_01 * bound);
    let inverse = if quantum > 0.0 { 1.0 / quantum } else { 0.0 };
    for filter in 0..plan.bounds.len() {
        let values = &values[row(filter)..][..CELL];
        let quick = &mut quick[row(filter)..][..CELL];
        for ((value, reference), step) in values.iter().zip(reference).zip(quick) {
            let mut steps = (value - reference) * inverse;
            steps = if steps < -LARGEST_STEP {
                -LARGEST_STEP
            } else {
                steps
            };
            steps = if steps > LARGEST_STEP {
                LARGEST_STEP
            } else {
                steps
            };
            *step = (steps + ROUNDER).to_bits() as i16;
        }
    }
}

/// Widens the spread to a sample of a row: every eighth group of eight bars.
#[inline(always)]
fn widen(spread: &mut [f64; 8], values: &[f64], reference: &[f64]) {
    let (values, _) = values.as_chunks::<8>();
    let (reference, _) = reference.as_chunks::<8>();
    for (values, reference) in values.iter().zip(reference).step_by(8) {
        for lane in 0..8 {
            let distance = (values[lane] - reference[lane]).abs();
            spread[lane] = if distance > spread[lane] {
                distance
            } else {
                spread[lane]
            };
        }
    }
}
