//! The kernels against their twins, on the device in use.

use std::rc::Rc;

use super::error::Result;
use super::plan::{BLOCK, Plan};
use super::ranges::Sizes;
use super::read;
use super::run::Run;
use super::tiles::Tiles;
use super::twin::{self, Nearest, Rows};

/// What [`Gpu::check_kernels`](super::Gpu::check_kernels) found.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct KernelCheck {
    /// Filter values compared with the twin's.
    pub values: usize,
    /// Largest difference from the twin, in units of the filter's bound: at most 2 where both keep it.
    pub largest_difference: f64,
    /// Bits of sides compared with the twin's over the same values.
    pub bits: usize,
    /// Bits of a turned side, and bits never computed.
    pub wrong_bits: usize,
    /// Bits that differ at all: differences so near the bound that one rounding decides.
    pub rounded_bits: usize,
    /// Bits proven above or below.
    pub decided: usize,
}

impl Run<'_> {
    /// Runs all kernels over the first chunk of bars, reads everything back, and compares.
    pub(super) fn check(mut self) -> Result<KernelCheck> {
        let mut found = KernelCheck::default();
        self.upload()?;
        let series = self.question.series();
        let count = self.budget.tiles(&self.plan, series.bars(), false)?;
        let chunk = Rc::new(self.chunk(0, count)?);
        let sizes = chunk.sizes;
        let tiles = Tiles::new(series, &self.plan, 0, count);
        let bytes = 4 * sizes.values as u64;
        let values = self.buffers.values.at_least(self.device, bytes)?;
        let values: Vec<f32> = read::once(self.device, bytes, |encoder, staging| {
            encoder.copy_buffer_to_buffer(&values, 0, staging, 0, bytes);
        })?;
        let twin = twin::convolve::<Nearest>(&self.plan, &tiles, &sizes);
        compare_values(&self.plan, &tiles, &values, &twin, &mut found);
        let step = self.budget.jobs(sizes.blocks);
        for first in (0..self.jobs.list.len()).step_by(step) {
            let jobs = first..(first + step).min(self.jobs.list.len());
            let done = self.compare(&chunk, jobs.clone())?;
            let words: Vec<[u32; 2]> = done.mapping.read(
                self.device,
                done.submission,
                &done.staging,
                done.bytes,
                bytemuck::pod_collect_to_vec,
            )?;
            self.compare_bits(&tiles, &sizes, &values, jobs, &words, &mut found);
        }
        Ok(found)
    }

    fn compare_bits(
        &self,
        tiles: &Tiles,
        sizes: &Sizes,
        values: &[f32],
        jobs: std::ops::Range<usize>,
        words: &[[u32; 2]],
        found: &mut KernelCheck,
    ) {
        let first_row = self.jobs.rows(&jobs).start;
        for job in &self.jobs.list[jobs] {
            for block in 0..sizes.blocks {
                let twin = twin::bits(job, block, values, tiles, &self.plan.bounds);
                for (place, twin) in twin.into_iter().enumerate() {
                    let row = job.first_row as usize - first_row + place;
                    let words = words[row * sizes.blocks + block];
                    found.bits += BLOCK;
                    found.decided += (words[0] ^ words[1]).count_ones() as usize;
                    let differing = (words[0] ^ twin[0]) | (words[1] ^ twin[1]);
                    // a device may round the difference or the bound to the other neighbour; a side must not turn
                    let turned = (words[0] & !words[1] & twin[1] & !twin[0])
                        | (words[1] & !words[0] & twin[0] & !twin[1]);
                    let missing = !(words[0] | words[1]);
                    found.wrong_bits += (turned | missing).count_ones() as usize;
                    found.rounded_bits += differing.count_ones() as usize;
                }
            }
        }
    }
}

fn compare_values(
    plan: &Plan,
    tiles: &Tiles,
    values: &[f32],
    twin: &Rows,
    found: &mut KernelCheck,
) {
    for (row, bound) in plan.bounds.iter().enumerate() {
        for step in 0..BLOCK {
            for block in 0..tiles.blocks {
                let at = (row * BLOCK + step) * tiles.blocks + block;
                let largest = tiles.largest[bound.reach as usize * tiles.blocks + block];
                let bound = f64::from(bound.factor) * f64::from(largest);
                let difference = (f64::from(values[at]) - f64::from(twin.values[at])).abs();
                found.values += 1;
                let ratio = difference / bound;
                // not `max`, which would lose a NaN
                if ratio.is_nan() || ratio > found.largest_difference {
                    found.largest_difference = ratio;
                }
            }
        }
    }
}
