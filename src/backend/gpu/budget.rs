//! How much goes into one chunk and one submission: the device's limits, its memory, and 50 ms.

use super::GpuOptions;
use super::device::Device;
use super::error::{DeviceError, Result};
use super::plan::{BLOCK, Plan};

/// Most bytes of `f64` filter values held for settling one chunk: they are looked up at random, from a cache at best.
const HOST_BYTES: u64 = 32 << 20;

/// Sizes that keep a submission within the limits, and under some 50 ms on a slow device of its kind.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    /// Bytes of one binding.
    pub(super) binding: u64,
    /// Bytes of one submission's output.
    pub(super) slot: u64,
    /// Multiply-adds of one submission.
    pub(super) products: u64,
    /// Bars times combinations of one submission.
    pub(super) comparisons: u64,
    /// Workgroups in one dimension.
    pub(super) workgroups: u64,
}

impl Budget {
    pub(super) fn new(device: &Device, options: &GpuOptions) -> Self {
        let (products, comparisons, slot) = if device.is_cpu {
            (100_000_000, 20_000_000, 4 << 20)
        } else {
            (10_000_000_000, 2_000_000_000, 32 << 20)
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
            slot: binding.min(slot),
            products,
            comparisons,
            workgroups: options
                .max_workgroups
                .map_or(workgroups, |max| workgroups.min(max)),
        }
    }

    /// Tiles of one chunk of bars: all buffers fit, and one job's output fits a slot.
    pub(super) fn tiles(&self, plan: &Plan, bars: usize, has_values: bool) -> Result<usize> {
        let positions = plan.positions() as u64;
        let own = plan.tile_bars as u64;
        let widest = [
            4 * positions,
            4 * positions * plan.inner_rows as u64,
            4 * own * plan.values() as u64,
        ];
        let needed = widest.into_iter().max().unwrap_or(0);
        let mut tiles = self.binding / needed.max(1);
        if has_values {
            tiles = tiles.min((HOST_BYTES / (8 * own * plan.values() as u64)).max(1));
        }
        // a job's rows are 8 words of 8 bytes for 32 bars, and its stamp
        let job = own / BLOCK as u64 * 64 + 8;
        tiles = tiles.min(self.slot / job).min(self.workgroups);
        if tiles == 0 {
            return Err(DeviceError::Limit {
                what: "one tile of all filters, in bytes,",
                needed: needed.max(job),
                limit: self.binding.min(self.slot),
            });
        }
        Ok((tiles as usize).min(bars.div_ceil(plan.tile_bars)))
    }

    /// Groups of windows of one submission of kernel (a), or rows of kernel (b).
    pub(super) fn groups(&self, steps: u64, tiles: usize, positions: usize) -> usize {
        let products = 16 * steps.max(1) * (tiles * positions) as u64;
        (self.products / products.max(1)).clamp(1, self.workgroups) as usize
    }

    /// Jobs of one submission of kernel (c).
    pub(super) fn jobs(&self, blocks: usize) -> usize {
        let bytes = self.slot / (64 * blocks as u64 + 8);
        let comparisons = self.comparisons / (256 * blocks as u64);
        bytes.min(comparisons).clamp(1, self.workgroups) as usize
    }
}
