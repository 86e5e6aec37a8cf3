//! The certified sweep: chunks of bars outside, chunks of combinations inside, two submissions in flight while the
//! host decodes a third.

use std::collections::VecDeque;
use std::sync::OnceLock;
use std::time::Instant;

use rayon::prelude::*;

use super::GpuOptions;
use super::budget::Budget;
use super::buffers::Buffers;
use super::chunk::{Context, convolve, upload_plan};
use super::decode::{Counts, decode};
use super::device::Device;
use super::error::{DeviceError, Result};
use super::fault::{Fault, Step};
use super::jobs::Jobs;
use super::pipelines::Pipelines;
use super::plan::Plan;
use super::ranges::{self, Sizes};
use super::read::Mapping;
use super::selftest::bind;
use super::settle::Settler;
use super::tiles::Tiles;
use super::timings::{GpuTimings, Kernel, Profile};
use crate::crossover::SideWriter;
use crate::diagnostics::Diagnostics;
use crate::question::Question;

/// Submissions in flight and one being decoded.
pub(super) const SLOTS: usize = 3;

/// Parameters of kernel (c), as it reads them.
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Params {
    blocks: u32,
    first_job: u32,
    first_row: u32,
    stamps: u32,
    epoch: u32,
    unused: [u32; 3],
}

/// A submission whose sides are on their way back.
pub(super) struct InFlight {
    jobs: std::ops::Range<usize>,
    epoch: u32,
    pub(super) bytes: u64,
    pub(super) staging: wgpu::Buffer,
    pub(super) submission: wgpu::SubmissionIndex,
    pub(super) mapping: Mapping,
}

/// One sweep on the device.
pub(super) struct Run<'a> {
    pub(super) device: &'a Device,
    pipelines: &'a Pipelines,
    pub(super) buffers: &'a mut Buffers,
    question: &'a Question<'a>,
    pub(super) plan: Plan,
    pub(super) jobs: Jobs,
    pub(super) budget: Budget,
    has_values: bool,
    profile: Profile,
    timings: GpuTimings,
}

/// A chunk of bars being compared.
struct Chunk<'a> {
    first_bar: usize,
    last_bar: usize,
    sizes: Sizes,
    settler: OnceLock<Settler<'a>>,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        device: &'a Device,
        pipelines: &'a Pipelines,
        buffers: &'a mut Buffers,
        options: &GpuOptions,
        question: &'a Question<'a>,
    ) -> Result<Self> {
        let start = Instant::now();
        let plan = Plan::new(question.filters(), options.summation, true);
        let jobs = Jobs::new(question.grid(), &plan);
        let timings = GpuTimings {
            plan: start.elapsed().as_secs_f64(),
            ..GpuTimings::default()
        };
        Ok(Self {
            device,
            pipelines,
            buffers,
            question,
            plan,
            jobs,
            budget: Budget::new(device, options),
            has_values: options
                .settle_by_values
                .unwrap_or_else(|| Settler::wants_values(question)),
            profile: Profile::new(device, options.profile)?,
            timings,
        })
    }

    /// Writes the sides of every combination that the device takes, and says which it leaves to the host.
    pub(super) fn sides(
        mut self,
        writers: &mut [SideWriter<'_>],
    ) -> Result<(Diagnostics, GpuTimings, Vec<u32>)> {
        let start = Instant::now();
        let mut diagnostics = Diagnostics::new("m5", true);
        let on_host = std::mem::take(&mut self.jobs.on_host);
        if !self.jobs.list.is_empty() {
            let mut by_row = in_row_order(writers, &self.jobs.combinations);
            self.upload()?;
            let bars = self.question.series().bars();
            let tiles = self.budget.tiles(&self.plan, bars, self.has_values)?;
            let step = tiles * self.plan.tile_bars;
            for first_bar in (0..bars).step_by(step) {
                let tiles = tiles.min((bars - first_bar).div_ceil(self.plan.tile_bars));
                self.chunk(first_bar, tiles, &mut by_row, &mut diagnostics)?;
            }
            let profile = std::mem::replace(&mut self.profile, Profile::new(self.device, false)?);
            profile.finish(self.device, &mut self.timings)?;
        }
        self.timings.total = self.timings.plan + start.elapsed().as_secs_f64();
        Ok((diagnostics, self.timings, on_host))
    }

    pub(super) fn upload(&mut self) -> Result<()> {
        let start = Instant::now();
        let context = Context {
            device: self.device,
            pipelines: self.pipelines,
            budget: &self.budget,
            plan: &self.plan,
        };
        upload_plan(&context, self.buffers)?;
        self.buffers.jobs.upload(self.device, &self.jobs.list)?;
        self.timings.upload += start.elapsed().as_secs_f64();
        Ok(())
    }

    /// All combinations over one chunk of bars.
    fn chunk(
        &mut self,
        first_bar: usize,
        tiles: usize,
        by_row: &mut [&mut SideWriter<'_>],
        diagnostics: &mut Diagnostics,
    ) -> Result<()> {
        let sizes = Sizes::new(&self.plan, tiles);
        if !ranges::check(&self.plan, &self.jobs, &sizes) {
            return Err(DeviceError::Refused {
                step: Step::Upload,
                reason: "an index of the plan is out of range; please report this".to_owned(),
            });
        }
        self.convolve(first_bar, tiles, &sizes)?;
        let chunk = Chunk {
            first_bar,
            last_bar: (first_bar + tiles * self.plan.tile_bars).min(self.question.series().bars()),
            sizes,
            settler: OnceLock::new(),
        };
        let step = self.budget.jobs(sizes.blocks);
        let mut in_flight = VecDeque::with_capacity(SLOTS);
        for (index, first) in (0..self.jobs.list.len()).step_by(step).enumerate() {
            if in_flight.len() == SLOTS
                && let Some(done) = in_flight.pop_front()
            {
                self.finish(done, &chunk, by_row, diagnostics)?;
            }
            let jobs = first..(first + step).min(self.jobs.list.len());
            in_flight.push_back(self.compare(index % SLOTS, jobs, &sizes)?);
        }
        while let Some(done) = in_flight.pop_front() {
            self.finish(done, &chunk, by_row, diagnostics)?;
        }
        Ok(())
    }

    /// The first chunk of bars alone, its filter values made.
    pub(super) fn first_chunk(&mut self) -> Result<(Tiles, Sizes)> {
        let bars = self.question.series().bars();
        let tiles = self.budget.tiles(&self.plan, bars, false)?;
        let sizes = Sizes::new(&self.plan, tiles);
        self.convolve(0, tiles, &sizes)?;
        Ok((
            Tiles::new(self.question.series(), &self.plan, 0, tiles),
            sizes,
        ))
    }

    fn convolve(&mut self, first_bar: usize, tiles: usize, sizes: &Sizes) -> Result<()> {
        let start = Instant::now();
        let packed = Tiles::new(self.question.series(), &self.plan, first_bar, tiles);
        let sent = Instant::now();
        let context = Context {
            device: self.device,
            pipelines: self.pipelines,
            budget: &self.budget,
            plan: &self.plan,
        };
        convolve(&context, self.buffers, &packed, sizes, &mut self.profile)?;
        self.timings.pack += (sent - start).as_secs_f64();
        self.timings.upload += sent.elapsed().as_secs_f64();
        Ok(())
    }

    /// Submits kernel (c) for a range of jobs: clear, compare, copy, map.
    pub(super) fn compare(
        &mut self,
        slot: usize,
        jobs: std::ops::Range<usize>,
        sizes: &Sizes,
    ) -> Result<InFlight> {
        let device = self.device;
        let rows = self.jobs.rows(&jobs);
        let words = rows.len() * sizes.blocks;
        let bytes = 8 * (words + jobs.len()) as u64;
        self.buffers.epoch = self.buffers.epoch.checked_add(1).unwrap_or(1);
        let params = Params {
            blocks: sizes.blocks as u32,
            first_job: jobs.start as u32,
            first_row: rows.start as u32,
            stamps: words as u32,
            epoch: self.buffers.epoch,
            unused: [0; 3],
        };
        let inputs = [
            self.buffers.values.at_least(device, 0)?,
            self.buffers.largest.at_least(device, 0)?,
            self.buffers.bounds.at_least(device, 0)?,
            self.buffers.jobs.at_least(device, 0)?,
        ];
        let buffers = &mut self.buffers.slots[slot];
        let params_buffer = buffers.params.at_least(device, 32)?;
        let output = buffers.output.at_least(device, bytes)?;
        let staging = buffers.staging.at_least(device, bytes)?;
        let is_dropped = |fault| matches!(fault, Fault::Stale | Fault::Killed);
        let fault = device.faults.take_if(Step::Compare, is_dropped);
        let pipeline = &self.pipelines.bits;
        let timestamps = self.profile.next(Kernel::Bits);
        let (submission, mapping) = device.scoped(Step::Compare, 0, || {
            let mut encoder = device
                .handle
                .create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            if fault != Some(Fault::Stale) {
                device
                    .queue
                    .write_buffer(&params_buffer, 0, bytemuck::bytes_of(&params));
                encoder.clear_buffer(&output, 0, Some(bytes));
                if fault != Some(Fault::Killed) {
                    let [values, largest, bounds, all_jobs] = &inputs;
                    let bound = [&params_buffer, values, largest, bounds, all_jobs, &output];
                    let binding = bind(device, pipeline, &bound);
                    let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                        label: None,
                        timestamp_writes: timestamps,
                    });
                    pass.set_pipeline(pipeline);
                    pass.set_bind_group(0, &binding, &[]);
                    let across = (sizes.blocks as u32).div_ceil(64);
                    pass.dispatch_workgroups(across, jobs.len() as u32, 1);
                }
                encoder.copy_buffer_to_buffer(&output, 0, &staging, 0, bytes);
            }
            let submission = device.queue.submit([encoder.finish()]);
            (submission, Mapping::request(&staging, bytes))
        })?;
        Ok(InFlight {
            jobs,
            epoch: params.epoch,
            bytes,
            staging,
            submission,
            mapping,
        })
    }

    /// Waits for a submission, checks its stamps, and decodes its rows in parallel.
    fn finish(
        &mut self,
        done: InFlight,
        chunk: &Chunk<'a>,
        by_row: &mut [&mut SideWriter<'_>],
        diagnostics: &mut Diagnostics,
    ) -> Result<()> {
        let start = Instant::now();
        let question = self.question;
        let settler = chunk.settler.get_or_init(|| {
            Settler::new(question, chunk.first_bar, chunk.last_bar, self.has_values)
        });
        let settled = Instant::now();
        self.timings.values += (settled - start).as_secs_f64();
        let rows = self.jobs.rows(&done.jobs);
        let jobs = &self.jobs;
        let blocks = chunk.sizes.blocks;
        let is_timed = self.profile.is_wanted;
        let mut decode_seconds = 0.0;
        let part = done.mapping.read(
            self.device,
            done.submission,
            &done.staging,
            done.bytes,
            |view| {
                let started = Instant::now();
                let words: &[[u32; 2]] = bytemuck::cast_slice(view);
                let (sides, stamps) = words.split_at(rows.len() * blocks);
                check_stamps(stamps, done.epoch, jobs, &done.jobs, chunk.first_bar)?;
                let writers = &mut by_row[rows.clone()];
                let part = decode_rows(sides, blocks, chunk, question, settler, writers, is_timed);
                decode_seconds = started.elapsed().as_secs_f64();
                part
            },
        )??;
        diagnostics.merge(&part.diagnostics);
        self.timings.settle += part.settle;
        self.timings.decode += decode_seconds;
        self.timings.wait += settled.elapsed().as_secs_f64() - decode_seconds;
        self.timings.bytes_back += done.bytes;
        self.timings.chunks += 1;
        Ok(())
    }
}

fn decode_rows(
    sides: &[[u32; 2]],
    blocks: usize,
    chunk: &Chunk<'_>,
    question: &Question<'_>,
    settler: &Settler<'_>,
    writers: &mut [&mut SideWriter<'_>],
    is_timed: bool,
) -> Result<Counts> {
    let bars = question.series().bars();
    let empty = || Counts {
        is_timed,
        ..Counts::default()
    };
    writers
        .par_iter_mut()
        .zip(sides.par_chunks(blocks))
        .try_fold(empty, |mut counts, (writer, row)| {
            decode(row, chunk.first_bar, bars, writer, settler, &mut counts).map_err(|bar| {
                DeviceError::Unfinished {
                    combination: writer.combination(),
                    bar,
                }
            })?;
            Ok(counts)
        })
        .try_reduce(empty, |mut sum, part| {
            sum.merge(&part);
            Ok(sum)
        })
}

/// Every job stamps its epoch when its last block is done.
fn check_stamps(
    stamps: &[[u32; 2]],
    epoch: u32,
    jobs: &Jobs,
    range: &std::ops::Range<usize>,
    first_bar: usize,
) -> Result<()> {
    for (job, stamp) in range.clone().zip(stamps) {
        if *stamp == [epoch, job as u32] {
            continue;
        }
        if stamp[0] == 0 {
            let row = jobs.list[job].first_row as usize;
            return Err(DeviceError::Unfinished {
                combination: jobs.combinations[row] as usize,
                bar: first_bar,
            });
        }
        return Err(DeviceError::Stale {
            expected: epoch,
            found: stamp[0],
        });
    }
    Ok(())
}

/// The writers in the order of the output's rows.
fn in_row_order<'w, 's>(
    writers: &'w mut [SideWriter<'s>],
    combinations: &[u32],
) -> Vec<&'w mut SideWriter<'s>> {
    let mut waiting: Vec<_> = writers.iter_mut().map(Some).collect();
    combinations
        .iter()
        .filter_map(|&combination| waiting[combination as usize].take())
        .collect()
}
