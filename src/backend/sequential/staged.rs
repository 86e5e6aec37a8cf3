//! Filters that have no short form of taps: long windows, custom kernels, deep trees, stage by stage over a tile.
// A kernel has the instructions of the function it is inlined into: these must be, or they run without SIMD.
#![allow(clippy::inline_always)]

use super::blocks::Row;
use super::load::{Centre, load};
use super::plan::{BLOCK, CELL, Plan};
use super::rows::{SIZES, Tile};
use crate::question::Question;

impl Tile {
    /// Evaluates the staged filters on the tile's bars, relative to a centre of the tile and its run-up.
    pub(super) fn fill_staged(&mut self, plan: &Plan, question: &Question<'_>) {
        if plan.staged.is_empty() {
            return;
        }
        let run_up = plan.staged_run_up.min(self.first_bar);
        let mut closes = vec![0.0; run_up + self.bars];
        let first = self.first_bar - run_up;
        let (centre, scale) = load(question, plan.is_centred, first, &mut closes);
        self.staged_centre = centre;
        let is_sound = scale == 0.0 || SIZES.contains(&scale);
        self.staged_scale = if is_sound { scale } else { f64::INFINITY };
        let mut values = vec![0.0; closes.len()];
        for &filter in &plan.staged {
            let evaluated = question.filters()[filter].evaluate_into(&closes, &mut values);
            evaluated.expect("both slices are equally long");
            let cells = self.values_mut(filter);
            cells.fill([Row::default(); BLOCK]);
            for (bar, value) in values[run_up..].iter().enumerate() {
                // no NaN of the warm-up may spread to other rows through the reference row
                if !value.is_nan() {
                    let row = &mut cells[bar / CELL][bar % BLOCK];
                    row.0[bar % CELL / BLOCK] = *value;
                }
            }
        }
    }

    /// Moves the staged values of a cell from the tile's centre to the cell's.
    #[inline(always)]
    pub(super) fn recentre_staged(&mut self, plan: &Plan, cell: usize, centre: Centre) {
        let offset = centre.minus(self.staged_centre);
        for &filter in &plan.staged {
            for row in &mut self.values_mut(filter)[cell] {
                row.0.iter_mut().for_each(|value| *value -= offset);
            }
        }
    }
}
