//! Kernels (c) and (d) on the device: words of sides, which stay there, and how often each run of them changes.

use std::ops::Range;

use super::buffers::Buffers;
use super::chunk::{Extent, Pass};
use super::device::Device;
use super::error::{DeviceError, Result};
use super::exact::ExactParams;
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
    let (blocks, stamp) = (chunk.sizes.blocks, buffers.next_stamp());
    // a count and a number of settled bars a run, and the epoch
    let bytes = 4 * (2 * rows.len() * runs(blocks) + 1) as u64;
    let words = 8 * (rows.len() * blocks) as u64;
    let bound = Bound::new(device, buffers, slot, (words, bytes))?;
    let mut calls = Calls::new(blocks, &jobs, &rows, exact, stamp);
    calls.by_jobs.check(device)?;
    calls.by_rows.check(device)?;
    let fault = Fault::take_dropped(device, Step::Compare);
    calls.by_jobs = calls.by_jobs.unless(fault == Some(Fault::Killed));
    let (submission, mapping) = device.scoped(Step::Compare, 0, || {
        let mut encoder = device.encoder();
        // cleared to the code of what was never computed
        encoder.clear_buffer(&bound.sides, 0, Some(words));
        encoder.clear_buffer(&bound.counts, 0, Some(bytes));
        calls.encode(device, pipelines, &bound, &mut encoder, profile);
        encoder.copy_buffer_to_buffer(&bound.counts, 0, &bound.staging, 0, bytes);
        let commands = (fault != Some(Fault::Stale)).then(|| encoder.finish());
        let submission = device.queue.submit(commands);
        (submission, Mapping::request(&bound.staging, bytes))
    })?;
    Ok(Compared {
        chunk,
        rows,
        stamp,
        slot,
        bytes,
        staging: bound.staging,
        submission,
        mapping,
    })
}

/// The buffers of one submission.
struct Bound {
    bits_params: wgpu::Buffer,
    exact_params: wgpu::Buffer,
    count_params: wgpu::Buffer,
    /// Values, largest closes, bounds, jobs.
    inputs: [wgpu::Buffer; 4],
    /// Rows, filters, taps, sums, closes.
    exact_inputs: [wgpu::Buffer; 5],
    sides: wgpu::Buffer,
    counts: wgpu::Buffer,
    staging: wgpu::Buffer,
}

impl Bound {
    /// So many bytes of sides and of counts in a slot, and what was sent before.
    fn new(
        device: &Device,
        buffers: &mut Buffers,
        slot: usize,
        (sides, counts): (u64, u64),
    ) -> Result<Self> {
        let (exact, slot) = (&mut buffers.exact, &mut buffers.words[slot]);
        Ok(Self {
            bits_params: slot.bits_params.at_least(device, 32)?,
            exact_params: slot.exact_params.at_least(device, 32)?,
            count_params: slot.count_params.at_least(device, 32)?,
            inputs: [
                buffers.values.at_least(device, 0)?,
                buffers.largest.at_least(device, 0)?,
                buffers.bounds.at_least(device, 0)?,
                buffers.jobs.at_least(device, 0)?,
            ],
            exact_inputs: [
                exact.rows.at_least(device, 0)?,
                exact.filters.at_least(device, 0)?,
                exact.taps.at_least(device, 0)?,
                exact.sums.at_least(device, 0)?,
                exact.closes.at_least(device, 0)?,
            ],
            sides: slot.words.at_least(device, sides)?,
            counts: slot.counts.at_least(device, counts)?,
            staging: slot.staging.at_least(device, counts)?,
        })
    }
}

/// What the kernels are told, and over how many workgroups they run.
struct Calls {
    bits: BitsParams,
    exact: Option<ExactParams>,
    count: ListParams,
    by_jobs: Extent,
    by_rows: Extent,
}

impl Calls {
    fn new(
        blocks: usize,
        jobs: &Range<usize>,
        rows: &Range<usize>,
        exact: Option<ExactParams>,
        stamp: Stamp,
    ) -> Self {
        Self {
            bits: BitsParams {
                blocks: blocks as u32,
                first_job: jobs.start as u32,
                first_row: rows.start as u32,
                rows: rows.len() as u32,
                unused: [0; 4],
            },
            exact,
            count: ListParams::new(blocks, rows.len(), &(0..rows.len()), stamp),
            by_jobs: Extent([jobs.len(), blocks.div_ceil(64), 1]),
            by_rows: Extent([rows.len().div_ceil(64), runs(blocks), 1]),
        }
    }

    fn encode(
        &self,
        device: &Device,
        pipelines: &Pipelines,
        bound: &Bound,
        encoder: &mut wgpu::CommandEncoder,
        profile: &mut Profile,
    ) {
        let send = |to, params| device.queue.write_buffer(to, 0, params);
        send(&bound.bits_params, bytemuck::bytes_of(&self.bits));
        send(&bound.count_params, bytemuck::bytes_of(&self.count));
        let [values, largest, bounds, jobs] = &bound.inputs;
        let (sides, counts) = (&bound.sides, &bound.counts);
        Pass {
            pipeline: &pipelines.bits,
            buffers: &[&bound.bits_params, values, largest, bounds, jobs, sides],
            extent: self.by_jobs,
        }
        .encode(device, encoder, profile.next(Kernel::Bits));
        if let Some(params) = &self.exact {
            send(&bound.exact_params, bytemuck::bytes_of(params));
            let mut buffers = vec![&bound.exact_params, sides, counts];
            buffers.extend(&bound.exact_inputs);
            Pass {
                pipeline: &pipelines.exact,
                buffers: &buffers,
                extent: self.by_rows,
            }
            .encode(device, encoder, profile.next(Kernel::Exact));
        }
        Pass {
            pipeline: &pipelines.count,
            buffers: &[&bound.count_params, sides, counts],
            extent: self.by_rows,
        }
        .encode(device, encoder, profile.next(Kernel::Lists));
    }
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
