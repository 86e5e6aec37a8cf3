//! The certified sweep: chunks of bars outside, chunks of combinations inside, two submissions in flight while the
//! host decodes a third.

use std::collections::VecDeque;
use std::ops::Range;
use std::rc::Rc;
use std::sync::OnceLock;
use std::time::Instant;

use rayon::prelude::*;

use super::GpuOptions;
use super::budget::Budget;
use super::buffers::Buffers;
use super::chunk::{Context, convolve, upload_plan};
use super::compare::{InFlight, check_stamps, compare};
use super::decode::{Counts, GROUP, decode};
use super::device::Device;
use super::error::{DeviceError, Result};
use super::fault::Step;
use super::jobs::Jobs;
use super::pipelines::Pipelines;
use super::plan::Plan;
use super::ranges::{self, Sizes};
use super::settle::Settler;
use super::tiles::Tiles;
use super::timings::{GpuTimings, Kernel, Profile};
use crate::crossover::SideWriter;
use crate::diagnostics::Diagnostics;
use crate::question::Question;

/// Submissions in flight, and one being decoded.
pub(super) const SLOTS: usize = 3;

/// One sweep on the device.
pub(super) struct Run<'a> {
    pub(super) device: &'a Device,
    pipelines: &'a Pipelines,
    pub(super) buffers: &'a mut Buffers,
    pub(super) question: &'a Question<'a>,
    pub(super) plan: Plan,
    pub(super) jobs: Jobs,
    pub(super) budget: Budget,
    has_values: bool,
    profile: Profile,
    timings: GpuTimings,
    diagnostics: Diagnostics,
    submitted: usize,
}

/// A chunk of bars whose filter values are on the device.
pub(super) struct Chunk<'a> {
    pub(super) first_bar: usize,
    last_bar: usize,
    pub(super) sizes: Sizes,
    settler: OnceLock<Settler<'a>>,
}

/// What a sweep on the device leaves: counts, timings, and the combinations that the host must do.
pub(super) type Swept = (Diagnostics, GpuTimings, Vec<u32>);

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
            diagnostics: Diagnostics::new("m5", true),
            submitted: 0,
        })
    }

    /// Writes the sides of every combination that the device takes.
    pub(super) fn sides(mut self, writers: &mut [SideWriter<'_>]) -> Result<Swept> {
        let start = Instant::now();
        let on_host = std::mem::take(&mut self.jobs.on_host);
        if !self.jobs.list.is_empty() {
            let mut by_row = in_row_order(writers, &self.jobs.combinations);
            self.upload()?;
            self.chunks(&mut by_row)?;
            let profile = std::mem::replace(&mut self.profile, Profile::new(self.device, false)?);
            profile.finish(self.device, &mut self.timings)?;
        }
        self.timings.total = self.timings.plan + start.elapsed().as_secs_f64();
        Ok((self.diagnostics, self.timings, on_host))
    }

    pub(super) fn upload(&mut self) -> Result<()> {
        let start = Instant::now();
        upload_plan(self.device, &self.plan, self.buffers)?;
        self.buffers.jobs.upload(self.device, &self.jobs.list)?;
        self.timings.upload += start.elapsed().as_secs_f64();
        Ok(())
    }

    /// All chunks of bars, all combinations of each; the device always has the next submission before the host waits.
    fn chunks(&mut self, by_row: &mut [&mut SideWriter<'_>]) -> Result<()> {
        let bars = self.question.series().bars();
        let tiles = self.budget.tiles(&self.plan, bars, self.has_values)?;
        let mut in_flight = VecDeque::with_capacity(SLOTS);
        for first_bar in (0..bars).step_by(tiles * self.plan.tile_bars) {
            let tiles = tiles.min((bars - first_bar).div_ceil(self.plan.tile_bars));
            let chunk = Rc::new(self.chunk(first_bar, tiles)?);
            let step = self.budget.jobs(chunk.sizes.blocks);
            for first in (0..self.jobs.list.len()).step_by(step) {
                if in_flight.len() == SLOTS
                    && let Some(done) = in_flight.pop_front()
                {
                    self.finish(done, by_row)?;
                }
                let jobs = first..(first + step).min(self.jobs.list.len());
                in_flight.push_back(self.compare(&chunk, jobs)?);
            }
        }
        while let Some(done) = in_flight.pop_front() {
            self.finish(done, by_row)?;
        }
        Ok(())
    }

    /// Sends a chunk's closes and makes its filter values on the device.
    pub(super) fn chunk(&mut self, first_bar: usize, tiles: usize) -> Result<Chunk<'a>> {
        let start = Instant::now();
        let sizes = Sizes::new(&self.plan, tiles);
        if !ranges::check(&self.plan, &self.jobs, &sizes) {
            return Err(DeviceError::Refused {
                step: Step::Upload,
                reason: "an index of the plan is out of range; please report this".to_owned(),
            });
        }
        let series = self.question.series();
        let packed = Tiles::new(series, &self.plan, first_bar, tiles);
        let sent = Instant::now();
        let context = Context {
            device: self.device,
            pipelines: self.pipelines,
            budget: &self.budget,
            plan: &self.plan,
        };
        convolve(&context, self.buffers, &packed, &sizes, &mut self.profile)?;
        self.timings.pack += (sent - start).as_secs_f64();
        self.timings.upload += sent.elapsed().as_secs_f64();
        Ok(Chunk {
            first_bar,
            last_bar: (first_bar + tiles * self.plan.tile_bars).min(series.bars()),
            sizes,
            settler: OnceLock::new(),
        })
    }

    /// Submits kernel (c) for a range of jobs.
    pub(super) fn compare(
        &mut self,
        chunk: &Rc<Chunk<'a>>,
        jobs: Range<usize>,
    ) -> Result<InFlight<'a>> {
        let start = Instant::now();
        let slot = self.submitted % SLOTS;
        self.submitted += 1;
        let rows = self.jobs.rows(&jobs);
        let submitted = compare(
            self.device,
            &self.pipelines.bits,
            self.buffers,
            slot,
            (chunk, jobs, rows),
            self.profile.next(Kernel::Bits),
        );
        self.timings.submit += start.elapsed().as_secs_f64();
        submitted
    }

    /// Waits for a submission, checks its stamps, and decodes its rows in parallel.
    fn finish(&mut self, done: InFlight<'a>, by_row: &mut [&mut SideWriter<'_>]) -> Result<()> {
        let start = Instant::now();
        let chunk = Rc::clone(&done.chunk);
        let settler = chunk.settler.get_or_init(|| {
            let spare = std::mem::take(&mut self.buffers.host_values);
            let (first, last) = (chunk.first_bar, chunk.last_bar);
            Settler::new(self.question, first, last, spare, self.has_values)
        });
        self.timings.values += start.elapsed().as_secs_f64();
        let waited = Instant::now();
        let mut decode_seconds = 0.0;
        let (jobs, is_timed) = (&self.jobs, self.profile.is_wanted);
        let counts = done.mapping.read(
            self.device,
            done.submission.clone(),
            &done.staging,
            done.bytes,
            |view| {
                let started = Instant::now();
                let sides = 8 * done.rows.len() * chunk.sizes.blocks;
                check_stamps(bytemuck::cast_slice(&view[sides..]), &done, jobs)?;
                let pairs = bytemuck::cast_slice(&view[..sides]);
                let writers = &mut by_row[done.rows.clone()];
                let counts = decode_rows(pairs, &chunk, settler, writers, is_timed);
                decode_seconds = started.elapsed().as_secs_f64();
                counts
            },
        )??;
        self.diagnostics.merge(&counts.diagnostics);
        self.timings.settle += counts.settle;
        self.timings.decode += decode_seconds;
        self.timings.wait += waited.elapsed().as_secs_f64() - decode_seconds;
        self.timings.bytes_back += done.bytes;
        self.timings.chunks += 1;
        drop((counts, done.chunk));
        if let Some(settler) = Rc::into_inner(chunk).and_then(|chunk| chunk.settler.into_inner()) {
            self.buffers.host_values = settler.into_values();
        }
        Ok(())
    }
}

/// Decodes rows in parallel, a few a task, and enough tasks for every thread.
fn decode_rows(
    pairs: &[[u64; 2]],
    chunk: &Chunk<'_>,
    settler: &Settler<'_>,
    writers: &mut [&mut SideWriter<'_>],
    is_timed: bool,
) -> Result<Counts> {
    let stride = chunk.sizes.blocks / 2;
    let group = writers
        .len()
        .div_ceil(4 * rayon::current_num_threads())
        .clamp(1, GROUP);
    let new = || Counts::new(is_timed);
    writers
        .par_chunks_mut(group)
        .zip(pairs.par_chunks(group * stride))
        .try_fold(new, |mut counts, (writers, rows)| {
            decode(rows, chunk.first_bar, writers, settler, &mut counts)
                .map_err(|(combination, bar)| DeviceError::Unfinished { combination, bar })?;
            Ok(counts)
        })
        .try_reduce(new, |mut sum, part| {
            sum.merge(&part);
            Ok(sum)
        })
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
