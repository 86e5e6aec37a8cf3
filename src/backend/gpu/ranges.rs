//! What the kernels' index ranges rest on, verified before each upload; the licence to switch their own checks off.

use super::jobs::Jobs;
use super::plan::{BLOCK, INNER, NOWHERE, Plan};

/// Sizes of one chunk's buffers, in the kernels' elements.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    pub(super) tiles: usize,
    pub(super) blocks: usize,
    /// vec4s of closes.
    pub(super) closes: usize,
    /// vec4s of the second stage's input.
    pub(super) inner: usize,
    /// Floats of filter values.
    pub(super) values: usize,
    /// Floats of largest closes.
    pub(super) largest: usize,
}

impl Sizes {
    pub(super) fn new(plan: &Plan, tiles: usize) -> Self {
        let blocks = tiles * plan.tile_bars / BLOCK;
        Self {
            tiles,
            blocks,
            closes: tiles * plan.positions() / 4,
            inner: tiles * plan.inner_rows * plan.positions() / 4,
            values: plan.values() * BLOCK * blocks,
            largest: plan.reaches.len() * blocks,
        }
    }
}

/// Whether every index that a kernel can form is inside its buffer, and fits the kernels' 32 bits.
pub(super) fn check(plan: &Plan, jobs: &Jobs, sizes: &Sizes) -> bool {
    let is_small = [sizes.closes, sizes.inner, sizes.values, sizes.largest]
        .iter()
        .all(|&size| size < i32::MAX as usize);
    let has_shape = plan.halo.is_multiple_of(BLOCK)
        && plan.tile_bars.is_multiple_of(4 * BLOCK)
        && plan.reaches.iter().all(|&reach| reach * BLOCK <= plan.halo);
    let has_weights =
        |first: u32, vectors: u32| first as usize + vectors as usize <= plan.weights.len();
    let is_output = |output: u32| {
        output == NOWHERE
            || if output & INNER == 0 {
                (output as usize) < plan.values()
            } else {
                ((output & !INNER) as usize) < plan.inner_rows
            }
    };
    let has_groups = plan.groups.iter().all(|group| {
        has_weights(group.first_weight, 4 * group.steps) && group.outputs.into_iter().all(is_output)
    });
    let has_rows = plan.rows.iter().all(|row| {
        has_weights(row.first_weight, row.steps)
            && (row.output as usize) < plan.values()
            && row.rows.iter().all(|&r| (r as usize) < plan.inner_rows)
    });
    let has_bounds = plan
        .bounds
        .iter()
        .all(|bound| (bound.reach as usize) < plan.reaches.len());
    let is_filter = |row: u32| (row as usize) < plan.values();
    let has_jobs = jobs
        .list
        .iter()
        .all(|job| is_filter(job.fast) && job.slow.into_iter().all(is_filter));
    is_small && has_shape && has_groups && has_rows && has_bounds && has_jobs
}
