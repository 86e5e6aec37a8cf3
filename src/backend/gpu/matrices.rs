//! The uncertified mode: the `f32` values themselves, for the parity report to judge.

use ndarray::{Array2, Axis};

use super::Gpu;
use super::budget::Budget;
use super::buffers::Buffers;
use super::chunk::{Context, convolve, upload_plan};
use super::error::Result;
use super::plan::{BLOCK, Plan};
use super::ranges::Sizes;
use super::read;
use super::tiles::Tiles;
use super::timings::Profile;
use crate::backend::{Backend, FilterMatrix};
use crate::filter::Filter;
use crate::question::Question;

/// Most bytes of values read at once.
const BYTES: u64 = 64 << 20;

/// The values of every filter as the device's `f32` sums make them, of closes that are scaled but not centred.
pub(super) fn read(
    gpu: &Gpu,
    question: &Question<'_>,
    buffers: &mut Buffers,
) -> Result<Array2<f32>> {
    let filters = question.filters();
    // prices, not ticks: what goes in decides the unit of what comes out
    let series = &question.series().clone().into_binary();
    let plan = Plan::new(filters, gpu.options.summation.unwrap_or_default(), false);
    let mut budget = Budget::new(&gpu.device, &gpu.options);
    budget.binding = budget.binding.min(BYTES);
    let context = Context {
        device: &gpu.device,
        pipelines: &gpu.pipelines,
        budget: &budget,
        plan: &plan,
    };
    let mut values = Array2::from_elem((filters.len(), series.bars()), f32::NAN);
    upload_plan(&gpu.device, &plan, buffers)?;
    let tiles = budget.tiles(&plan, series.bars())?;
    for first_bar in (0..series.bars()).step_by(tiles * plan.tile_bars) {
        let count = tiles.min((series.bars() - first_bar).div_ceil(plan.tile_bars));
        let packed = Tiles::new(series, &plan, first_bar, count);
        let sizes = Sizes::new(&plan, count);
        let mut profile = Profile::new(&gpu.device, false)?;
        convolve(&context, buffers, &packed, &sizes, &mut profile)?;
        let bytes = 4 * sizes.values as u64;
        let source = buffers.values.at_least(&gpu.device, bytes)?;
        let part: Vec<f32> = read::once(&gpu.device, bytes, |encoder, staging| {
            encoder.copy_buffer_to_buffer(&source, 0, staging, 0, bytes);
        })?;
        place(filters, &plan, &packed, &part, first_bar, &mut values);
    }
    fill_from_host(question, &plan, &mut values);
    Ok(values)
}

/// Puts a chunk's values, scaled back, where they belong; the warm-up stays NaN.
fn place(
    filters: &[Filter],
    plan: &Plan,
    packed: &Tiles,
    part: &[f32],
    first_bar: usize,
    values: &mut Array2<f32>,
) {
    let bars = values.ncols();
    for ((filter, row), mut out) in filters
        .iter()
        .zip(&plan.device_row)
        .zip(values.axis_iter_mut(Axis(0)))
    {
        let Some(row) = *row else { continue };
        let last = (first_bar + BLOCK * packed.blocks).min(bars);
        for bar in first_bar.max(filter.warm_up())..last {
            let own = bar - first_bar;
            let at = (row as usize * BLOCK + own % BLOCK) * packed.blocks + own / BLOCK;
            let scale = packed.inverse_scales[own / plan.tile_bars];
            out[bar] = (f64::from(part[at]) * scale.0 * scale.1) as f32;
        }
    }
}

/// Filters beyond the device's limits are rounded from the host's `f64`.
fn fill_from_host(question: &Question<'_>, plan: &Plan, values: &mut Array2<f32>) {
    let closes = question.series().closes();
    for (index, row) in plan.device_row.iter().enumerate() {
        if row.is_some() {
            continue;
        }
        let mut wide = vec![0.0; closes.len()];
        // the lengths are equal, which is the only thing that can be wrong
        let _ = question.filters()[index].evaluate_into(closes, &mut wide);
        for (out, value) in values.row_mut(index).iter_mut().zip(wide) {
            *out = value as f32;
        }
    }
}

/// The GPU engine without its bound: sides are what `f32` rounding says, and only the parity report may judge them.
///
/// This is what a plain port of a sweep to a GPU does: convolve prices in single precision, compare the results.
#[derive(Debug)]
pub struct UncertifiedGpu(Gpu);

impl UncertifiedGpu {
    /// Takes the bound off an engine.
    pub fn new(gpu: Gpu) -> Self {
        Self(gpu)
    }
}

impl Backend for UncertifiedGpu {
    #[allow(clippy::unnecessary_literal_bound)] // the trait's signature
    fn name(&self) -> &str {
        "m5-raw"
    }

    fn filters(&self, question: &Question<'_>) -> crate::error::Result<FilterMatrix> {
        Ok(FilterMatrix {
            values: self.0.matrices(question)?.mapv(f64::from),
            relative_bounds: None,
        })
    }
}
