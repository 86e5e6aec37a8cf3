//! How much goes into one chunk and one submission: the device's limits, its memory, and 50 ms.

use super::GpuOptions;
use super::device::Device;
use super::error::{DeviceError, Result};
use super::lists::most_words;
use super::plan::{BLOCK, Plan};

/// Lists of one submission: three such buffers are the host's memory, twenty times what they hold on ordinary prices.
const LIST_BYTES: u64 = 64 << 20;

/// Most bars of a chunk: the host holds 24 bytes of sums and closes for each.
const CHUNK_BARS: u64 = 1 << 21;

/// Sizes that keep a submission within the limits, and under some 50 ms on a slow device of its kind.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    /// Bytes of one binding.
    pub(super) binding: u64,
    /// Bytes of one submission's words of sides.
    pub(super) words: u64,
    /// Bytes of one submission's lists.
    pub(super) lists: u64,
    /// Multiply-adds of one submission.
    pub(super) products: u64,
    /// Bars times combinations of one submission.
    pub(super) comparisons: u64,
    /// Workgroups in one dimension.
    pub(super) workgroups: u64,
}

impl Budget {
    pub(super) fn new(device: &Device, options: &GpuOptions) -> Self {
        let (products, comparisons) = if device.is_cpu {
            (100_000_000, 20_000_000)
        } else {
            (10_000_000_000, 1_000_000_000)
        };
        let binding = device
            .limits
            .max_storage_buffer_binding_size
            .min(device.limits.max_buffer_size);
        let binding = options.max_bytes.map_or(binding, |max| binding.min(max));
        // a device may have less memory than its limits allow to bind: a gibibyte a buffer is plenty
        let binding = binding.min(1 << 30);
        let workgroups = u64::from(device.limits.max_compute_workgroups_per_dimension);
        Self {
            binding,
            words: binding.min(comparisons / 4),
            lists: binding.min(LIST_BYTES),
            products,
            comparisons,
            workgroups: options
                .max_workgroups
                .map_or(workgroups, |max| workgroups.min(max)),
        }
    }

    /// Whether kernel (e) can read sums of 16 bytes over a chunk and twice its longest window, and 16 bytes a combination.
    pub(super) fn has_room_for_sums(&self, bars: usize, halo: usize, combinations: usize) -> bool {
        let spare = 1024;
        let sums = CHUNK_BARS.min(bars as u64) + 2 * halo as u64 + spare;
        16 * sums.max(combinations as u64) <= self.binding
    }

    /// Tiles of one chunk of bars: all buffers fit, one job's words, and the longest lists of one row.
    pub(super) fn tiles(&self, plan: &Plan, bars: usize) -> Result<usize> {
        let positions = plan.positions() as u64;
        let own = plan.tile_bars as u64;
        let widest = [
            4 * positions,
            4 * positions * plan.inner_rows as u64,
            4 * own * plan.values() as u64,
            16 * own,
        ];
        let needed = widest.into_iter().max().unwrap_or(0);
        let mut tiles = self.binding / needed.max(1);
        // a job's rows are 8 words of 8 bytes for 32 bars; a row's lists two bytes a bar, a header a run, and the epoch
        let job = own / BLOCK as u64 * 64;
        let row = 4 * (most_words(own as usize) + 1) as u64;
        let fitting = (self.words / job).min(self.lists / row);
        let fitting = fitting.min((CHUNK_BARS / own).max(1));
        tiles = tiles.min(fitting).min(self.workgroups);
        if tiles == 0 {
            return Err(DeviceError::Limit {
                what: "one tile of all filters, in bytes,",
                needed: needed.max(job).max(row),
                limit: self.binding,
            });
        }
        Ok((tiles as usize).min(bars.div_ceil(plan.tile_bars)))
    }

    /// Groups of windows of one submission of kernel (a), or rows of kernel (b).
    pub(super) fn groups(&self, steps: u64, tiles: usize, positions: usize) -> usize {
        let products = 16 * steps.max(1) * (tiles * positions) as u64;
        (self.products / products.max(1)).clamp(1, self.workgroups) as usize
    }

    /// Jobs of one submission of kernel (c): an eighth of all, so that host and device work at the same time, unless that is
    /// so few that the submissions themselves would take longer.
    pub(super) fn jobs(&self, blocks: usize, all: usize) -> usize {
        let a_job = 256 * blocks as u64;
        let bytes = self.words / (64 * blocks as u64);
        let share = (all as u64).div_ceil(8).max(self.comparisons / 4 / a_job);
        let jobs = share.min(self.comparisons / a_job).min(bytes);
        jobs.clamp(1, self.workgroups) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_that_do_not_fit_one_binding_are_left_to_the_host() {
        let budget = Budget {
            binding: 128 << 20,
            words: 1 << 20,
            lists: 1 << 20,
            products: 1,
            comparisons: 1,
            workgroups: 1,
        };
        assert!(budget.has_room_for_sums(200_000, 500, 60_000));
        assert!(budget.has_room_for_sums(usize::MAX, 1 << 14, 8 << 20));
        assert!(!budget.has_room_for_sums(200_000, 500, (8 << 20) + 1));
        assert!(!budget.has_room_for_sums(5_000_000, 3_200_000, 2_000));
    }
}
