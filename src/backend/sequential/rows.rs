//! One tile of every filter: `f64` values, and the same in 16-bit fixed point for the bulk of the comparisons.
// A kernel has the instructions of the function it is inlined into: these must be, or they run without SIMD.
#![allow(clippy::inline_always)]

use std::cell::Cell;

use super::blocks::{BLOCKS, Blocks, Row};
use super::lanes::{Lanes, WithLanes};
use super::load::{Centre, load};
use super::plan::{BLOCK, CELL, Class, Plan};
use super::steps::{Rows, Spread, Steps, round};
use crate::question::Question;

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
    pub(super) bars: usize,
    cells: usize,
    /// Every filter's values, cell by cell: bar `b` of block `j` of a cell is in its row `b`, lane `j`.
    values: Vec<Rows>,
    /// The same in fixed point, bar by bar.
    quick: Vec<[Steps; BLOCKS]>,
    /// Largest centred close that each cell's blocks read; infinite where nothing is proven.
    scales: Vec<f64>,
    pub(super) staged_scale: f64,
    pub(super) staged_centre: Centre,
    closes: Vec<f64>,
    blocks: Blocks,
}

impl Tile {
    /// The thread's tile, with room for the plan's rows; what an earlier question left in them is overwritten.
    pub(super) fn take(plan: &Plan) -> Box<Self> {
        let mut tile = SPARE.take().unwrap_or_default();
        tile.cells = plan.tile / CELL;
        let cells = plan.bounds.len() * tile.cells;
        tile.values.resize(cells, [Row::default(); BLOCK]);
        tile.quick.resize(cells, [Steps([0; BLOCK]); BLOCKS]);
        tile.scales.resize(tile.cells, 0.0);
        tile.closes.resize(plan.run_up + CELL, 0.0);
        tile.blocks.fit(plan.run_up);
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

    /// The values of a filter on the bars of a word: the lane to read in each row.
    #[inline(always)]
    pub(super) fn values(&self, filter: usize, word: usize) -> (&Rows, usize) {
        let cell = &self.values[filter * self.cells + word / BLOCKS];
        (cell, word % BLOCKS)
    }

    pub(super) fn values_mut(&mut self, filter: usize) -> &mut [Rows] {
        &mut self.values[filter * self.cells..][..self.cells]
    }

    /// The words of a filter in fixed point.
    #[inline(always)]
    pub(super) fn quick(&self, filter: usize) -> &[Steps] {
        self.quick[filter * self.cells..][..self.cells].as_flattened()
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

/// Fills a tile with some bars of the series, no more than the plan's tile.
pub(super) struct Fill<'a> {
    pub(super) plan: &'a Plan,
    pub(super) question: &'a Question<'a>,
    pub(super) first_bar: usize,
    pub(super) bars: usize,
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
            bars,
            tile,
        } = self;
        (tile.first_bar, tile.bars) = (first_bar, bars);
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
            tile.recentre_staged(plan, cell, centre);
            let is_sound = scale == 0.0 || SIZES.contains(&scale);
            tile.scales[cell] = if is_sound { scale } else { f64::INFINITY };
            tile.blocks.lay_out(&tile.closes);
            for class in &plan.classes {
                tile.evaluate(lanes, class, cell);
            }
            tile.quantise(lanes, plan, cell);
        }
    }
}

impl Tile {
    /// Evaluates the filters of one class on one cell.
    #[inline(always)]
    fn evaluate<L: Lanes>(&mut self, lanes: L, class: &Class, cell: usize) {
        self.blocks.scan(class);
        for row in &class.rows {
            let out = &mut self.values[row.filter * self.cells + cell];
            self.blocks.dot(lanes, class, row, out);
        }
    }

    /// Rounds a cell of every filter to whole quanta, relative to a row of middling speed: averages follow the price
    /// together, and what sets them apart is a fraction of how far they move.
    #[inline(always)]
    fn quantise<L: Lanes>(&mut self, lanes: L, plan: &Plan, cell: usize) {
        let filters = 0..plan.bounds.len();
        let largest = |filter| self.bound(plan, filter, cell * BLOCKS);
        let bound = filters.clone().map(largest).fold(0.0, f64::max);
        let place = |filter: usize| filter * self.cells + cell;
        let reference = &self.values[place(plan.reference)];
        let mut spread = Spread::default();
        for filter in filters.clone() {
            spread.widen(&self.values[place(filter)], reference);
        }
        let scale = spread.scale(bound);
        for filter in filters {
            let out = &mut self.quick[place(filter)];
            match scale {
                Some(scale) => round(lanes, &self.values[place(filter)], reference, scale, out),
                // all alike: every bar is open
                None => *out = [Steps([0; BLOCK]); BLOCKS],
            }
        }
    }
}
