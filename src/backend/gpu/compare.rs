//! Kernels (c) and (d) on the device: words of sides, which stay there, and how often each run of them changes.

use std::ops::Range;

use super::buffers::{Buffers, WordSlot};
use super::chunk::{Extent, Pass};
use super::device::Device;
use super::error::{DeviceError, Result};
use super::exact::{ExactInputs, ExactParams};
use super::fault::{Fault, Step};
use super::jobs::Jobs;
use super::lists::{Broken, RUN_BARS, Stamp, row_words};
use super::pipelines::Pipelines;
use super::plan::BLOCK;
use super::read::Mapping;
use super::run::Chunk;
use super::timings::{Kernel, Profile};

/// Parameters of kernel (c), as it reads them.
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct BitsParams {
    blocks: u32,
    first_job: u32,
    first_row: u32,
    rows: u32,
    unused: [u32; 4],
}

/// Parameters of kernel (d), as it reads them.
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct ListParams {
    pub(super) blocks: u32,
    pub(super) run: u32,
    pub(super) rows: u32,
    pub(super) first_row: u32,
    pub(super) last_row: u32,
    pub(super) stamp: u32,
    pub(super) epoch: u32,
    pub(super) stamp_at: u32,
}

impl ListParams {
    /// For rows `list` of so many that lie in the words.
    pub(super) fn new(blocks: usize, rows: usize, list: &Range<usize>, stamp: Stamp) -> Self {
        Self {
            blocks: blocks as u32,
            run: (RUN_BARS / BLOCK) as u32,
            rows: rows as u32,
            first_row: list.start as u32,
            last_row: list.end as u32,
            stamp: stamp.upper(),
            epoch: stamp.epoch,
            stamp_at: (2 * rows * runs(blocks)) as u32,
        }
    }
}

/// Runs of so many blocks.
pub(super) fn runs(blocks: usize) -> usize {
    (blocks * BLOCK).div_ceil(RUN_BARS)
}

/// A submission whose words are made, and whose counts are on their way back.
pub(super) struct Compared {
    pub(super) chunk: Chunk,
    pub(super) rows: Range<usize>,
    pub(super) stamp: Stamp,
    /// Which slot holds its words and counts.
    pub(super) slot: usize,
    bytes: u64,
    staging: wgpu::Buffer,
    submission: wgpu::SubmissionIndex,
    mapping: Mapping,
}

/// A range of jobs of a chunk, their rows, and what kernel (e) is told, if it is to run.
pub(super) type Work = (Chunk, Range<usize>, Range<usize>, Option<ExactParams>);

/// Submits a range of jobs into a slot.
pub(super) fn compare(
    device: &Device,
    pipelines: &Pipelines,
    buffers: &mut Buffers,
    slot: usize,
    (chunk, jobs, rows, exact): Work,
    profile: &mut Profile,
) -> Result<Compared> {
    let blocks = chunk.sizes.blocks;
    let stamp = buffers.next_stamp();
    // a count and a number of settled bars a run, and the epoch
    let bytes = 4 * (2 * rows.len() * runs(blocks) + 1) as u64;
    let words = 8 * (rows.len() * blocks) as u64;
    let inputs = [
        buffers.values.at_least(device, 0)?,
        buffers.largest.at_least(device, 0)?,
        buffers.bounds.at_least(device, 0)?,
        buffers.jobs.at_least(device, 0)?,
    ];
    let WordSlot {
        bits_params,
        exact_params,
        count_params,
        words: sides,
        counts,
        staging,
    } = &mut buffers.words[slot];
    let sides = sides.at_least(device, words)?;
    let counts = counts.at_least(device, bytes)?;
    let staging = staging.at_least(device, bytes)?;
    let bits_params = bits_params.at_least(device, 32)?;
    let count_params = count_params.at_least(device, 32)?;
    let exact_params = exact_params.at_least(device, 32)?;
    let ExactInputs {
        rows: exact_rows,
        filters,
        taps,
        sums,
        closes,
    } = &mut buffers.exact;
    let exact_inputs = [exact_rows, filters, taps, sums, closes];
    let exact_inputs = exact_inputs.map(|buffer| buffer.at_least(device, 0));
    let exact_inputs: Vec<_> = exact_inputs.into_iter().collect::<Result<_>>()?;
    let bits = BitsParams {
        blocks: blocks as u32,
        first_job: jobs.start as u32,
        first_row: rows.start as u32,
        rows: rows.len() as u32,
        unused: [0; 4],
    };
    let count = ListParams::new(blocks, rows.len(), &(0..rows.len()), stamp);
    let extents = [
        Extent([jobs.len(), blocks.div_ceil(64), 1]),
        Extent([rows.len().div_ceil(64), runs(blocks), 1]),
    ];
    extents.iter().try_for_each(|extent| extent.check(device))?;
    let fault = Fault::take_dropped(device, Step::Compare);
    let (submission, mapping) = device.scoped(Step::Compare, 0, || {
        device
            .queue
            .write_buffer(&bits_params, 0, bytemuck::bytes_of(&bits));
        device
            .queue
            .write_buffer(&count_params, 0, bytemuck::bytes_of(&count));
        let mut encoder = device.encoder();
        // cleared to the code of what was never computed
        encoder.clear_buffer(&sides, 0, Some(words));
        encoder.clear_buffer(&counts, 0, Some(bytes));
        let [values, largest, bounds, jobs] = &inputs;
        Pass {
            pipeline: &pipelines.bits,
            buffers: &[&bits_params, values, largest, bounds, jobs, &sides],
            extent: extents[0].unless(fault == Some(Fault::Killed)),
        }
        .encode(device, &mut encoder, profile.next(Kernel::Bits));
        if let Some(params) = &exact {
            let params = bytemuck::bytes_of(params);
            device.queue.write_buffer(&exact_params, 0, params);
            let mut buffers = vec![&exact_params, &sides, &counts];
            buffers.extend(&exact_inputs);
            Pass {
                pipeline: &pipelines.exact,
                buffers: &buffers,
                extent: extents[1],
            }
            .encode(device, &mut encoder, profile.next(Kernel::Exact));
        }
        Pass {
            pipeline: &pipelines.count,
            buffers: &[&count_params, &sides, &counts],
            extent: extents[1],
        }
        .encode(device, &mut encoder, profile.next(Kernel::Lists));
        encoder.copy_buffer_to_buffer(&counts, 0, &staging, 0, bytes);
        let commands = (fault != Some(Fault::Stale)).then(|| encoder.finish());
        let submission = device.queue.submit(commands);
        (submission, Mapping::request(&staging, bytes))
    })?;
    Ok(Compared {
        chunk: chunk,
        rows,
        stamp,
        slot,
        bytes,
        staging,
        submission,
        mapping,
    })
}

/// What the counts say: how many words each row's lists will have, and how many bars kernel (e) settled.
#[derive(Debug)]
pub(super) struct Counted {
    pub(super) row_words: Vec<u32>,
    pub(super) settled: u64,
}

impl Compared {
    /// Waits for the counts.
    pub(super) fn counted(&self, device: &Device, jobs: &Jobs) -> Result<Counted> {
        let submission = self.submission.clone();
        let read = |view: &[u8]| {
            let (&epoch, both) = bytemuck::cast_slice(view).split_last().unwrap_or((&0, &[]));
            let (counts, settled) = both.split_at(both.len() / 2);
            // a header says more than the number behind them all: which bar was the first that is not there
            let row_words = row_words(counts, self.rows.len(), self.stamp);
            let row_words = row_words.map_err(|broken| self.error(broken, jobs))?;
            self.stamp.check(epoch)?;
            let settled = settled.iter().map(|&bars| u64::from(bars)).sum();
            Ok(Counted { row_words, settled })
        };
        self.mapping
            .read(device, submission, &self.staging, self.bytes, read)?
    }

    fn error(&self, broken: Broken, jobs: &Jobs) -> DeviceError {
        if broken.found >> 16 != 0 {
            return self.stamp.stale(broken.found);
        }
        DeviceError::Unfinished {
            combination: jobs.combinations[self.rows.start + broken.row] as usize,
            bar: self.chunk.first_bar + broken.run * RUN_BARS,
        }
    }
}
