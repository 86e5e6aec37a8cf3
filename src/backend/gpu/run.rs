//! The certified sweep: chunks of bars outside, chunks of combinations inside. While the host decodes the lists of one
//! chunk, the device makes those of the next and compares the one after it.

use std::collections::VecDeque;
use std::ops::Range;
use std::time::Instant;

use rayon::prelude::*;

use super::budget::Budget;
use super::buffers::{Buffers, LIST_SLOTS, WORD_SLOTS};
use super::chunk::{Context, convolve, upload_plan};
use super::compare::{Compared, Counted, compare};
use super::decode::{Counts, Source, decode};
use super::device::Device;
use super::error::{DeviceError, Result};
use super::exact::{self, ExactParams};
use super::extract::{Extracted, extract};
use super::fault::Step;
use super::jobs::Jobs;
use super::lists::Page;
use super::pipelines::Pipelines;
use super::plan::{BLOCK, Plan};
use super::ranges::{self, Sizes};
use super::settle::Settler;
use super::tiles::Tiles;
use super::timings::{GpuTimings, Profile};
use super::{GpuOptions, Summation};
use crate::crossover::SideWriter;
use crate::diagnostics::Diagnostics;
use crate::filter::Filter;
use crate::question::Question;

/// Filters from which stages pay, if the device settles what their wider bound leaves open: with 500 they took 81 to 97 ms
/// where composite windows took 89 to 101, with 200 the same (H200).
const STAGED_FROM: usize = 400;

/// One sweep on the device.
pub(super) struct Run<'a> {
    pub(super) device: &'a Device,
    pipelines: &'a Pipelines,
    pub(super) buffers: &'a mut Buffers,
    pub(super) question: &'a Question<'a>,
    pub(super) plan: Plan,
    pub(super) jobs: Jobs,
    pub(super) budget: Budget,
    has_sums: bool,
    /// Of the chunk of bars at hand.
    pub(super) settler: Option<Settler<'a>>,
    profile: Profile,
    timings: GpuTimings,
    diagnostics: Diagnostics,
    /// Submissions so far of comparisons, and of lists.
    submitted: (usize, usize),
}

/// A chunk of bars whose filter values are on the device.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chunk {
    pub(super) first_bar: usize,
    pub(super) sizes: Sizes,
}

impl Chunk {
    /// Bars of the chunk; the last can be behind the series.
    fn bars(&self) -> Range<usize> {
        self.first_bar..self.first_bar + BLOCK * self.sizes.blocks
    }
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
        let budget = Budget::new(device, options);
        let wants_sums = options
            .settle_on_device
            .unwrap_or_else(|| Settler::wants_sums(question));
        let halo = question.filters().iter().map(Filter::warm_up).max();
        let combinations = question.grid().combinations();
        let bars = question.series().bars();
        let has_room = budget.has_room_for_sums(bars, halo.unwrap_or(0), combinations);
        let has_sums = wants_sums && has_room;
        let start = Instant::now();
        let usual = if has_sums && question.filters().len() >= STAGED_FROM {
            Summation::Staged
        } else {
            Summation::Composite
        };
        let summation = options.summation.unwrap_or(usual);
        let plan = Plan::new(question.filters(), summation, true);
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
            budget,
            has_sums,
            settler: None,
            profile: Profile::new(device, options.profile)?,
            timings,
            diagnostics: Diagnostics::new("m5", true),
            submitted: (0, 0),
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

    /// All chunks of bars, all combinations of each. The device always has work before the host waits: the next comparisons
    /// are submitted before the counts of the last are asked for, and its lists before those of the one before are decoded.
    fn chunks(&mut self, by_row: &mut [&mut SideWriter<'_>]) -> Result<()> {
        let bars = self.question.series().bars();
        let tiles = self.budget.tiles(&self.plan, bars)?;
        let mut flight = Flight::default();
        for first_bar in (0..bars).step_by(tiles * self.plan.tile_bars) {
            let tiles = tiles.min((bars - first_bar).div_ceil(self.plan.tile_bars));
            let chunk = self.chunk(first_bar, tiles)?;
            let step = self.budget.jobs(chunk.sizes.blocks, self.jobs.list.len());
            for first in (0..self.jobs.list.len()).step_by(step) {
                let jobs = first..(first + step).min(self.jobs.list.len());
                let compared = self.compare(chunk, jobs)?;
                if let Some(before) = flight.compared.replace(compared) {
                    self.extract(&before, &mut flight.lists, by_row)?;
                }
            }
            if let Some(last) = flight.compared.take() {
                self.extract(&last, &mut flight.lists, by_row)?;
            }
            while let Some(done) = flight.lists.pop_front() {
                self.finish(&done, by_row)?;
            }
        }
        Ok(())
    }

    /// Sends a chunk's closes and makes its filter values on the device.
    pub(super) fn chunk(&mut self, first_bar: usize, tiles: usize) -> Result<Chunk> {
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
        let chunk = Chunk { first_bar, sizes };
        self.sum(chunk)?;
        Ok(chunk)
    }

    /// Makes and sends a chunk's sums, while the device makes its filter values.
    fn sum(&mut self, chunk: Chunk) -> Result<()> {
        let start = Instant::now();
        let bars = chunk.bars();
        let last = bars.end.min(self.question.series().bars());
        let settler = Settler::new(self.question, bars.start, last, self.has_sums);
        if let Some(sums) = settler.sums() {
            let inputs = (&self.jobs, chunk, sums);
            exact::upload(self.device, &mut self.buffers.exact, self.question, inputs)?;
        }
        self.settler = Some(settler);
        self.timings.sums += start.elapsed().as_secs_f64();
        Ok(())
    }

    /// Submits kernels (c) and (e) and the counts of kernel (d) for a range of jobs.
    pub(super) fn compare(&mut self, chunk: Chunk, jobs: Range<usize>) -> Result<Compared> {
        let start = Instant::now();
        let slot = self.submitted.0 % WORD_SLOTS;
        self.submitted.0 += 1;
        let rows = self.jobs.rows(&jobs);
        let sums = self.settler.as_ref().and_then(Settler::sums);
        let exact = sums.map(|sums| ExactParams::new(self.question, &rows, chunk, sums));
        let submitted = compare(
            self.device,
            self.pipelines,
            self.buffers,
            slot,
            (chunk, jobs, rows, exact),
            &mut self.profile,
        );
        self.timings.submit += start.elapsed().as_secs_f64();
        submitted
    }

    /// Waits for the counts, and submits the lists of kernel (d), in as many pages as they take; decodes older ones where
    /// no slot is free.
    fn extract(
        &mut self,
        compared: &Compared,
        lists: &mut VecDeque<Extracted>,
        by_row: &mut [&mut SideWriter<'_>],
    ) -> Result<()> {
        let waited = Instant::now();
        let Counted { row_words, settled } = compared.counted(self.device, &self.jobs)?;
        self.timings.wait += waited.elapsed().as_secs_f64();
        self.diagnostics.undecided += settled;
        self.diagnostics.by_integer += settled;
        let mut first = 0;
        while first < row_words.len() {
            if lists.len() == LIST_SLOTS
                && let Some(done) = lists.pop_front()
            {
                self.finish(&done, by_row)?;
            }
            let page = Page::next(first, &row_words, self.budget.lists as usize / 4);
            first = page.rows.end;
            lists.push_back(self.submit_page(compared, page)?);
        }
        // one page stays in flight while the host decodes
        while lists.len() > 1
            && let Some(done) = lists.pop_front()
        {
            self.finish(&done, by_row)?;
        }
        Ok(())
    }

    pub(super) fn submit_page(&mut self, compared: &Compared, page: Page) -> Result<Extracted> {
        let start = Instant::now();
        let slot = self.submitted.1 % LIST_SLOTS;
        self.submitted.1 += 1;
        let submitted = extract(
            self.device,
            self.pipelines,
            self.buffers,
            slot,
            (compared, page),
            &mut self.profile,
        );
        self.timings.submit += start.elapsed().as_secs_f64();
        submitted
    }

    /// Waits for a page of lists, and decodes its rows in parallel.
    fn finish(&mut self, done: &Extracted, by_row: &mut [&mut SideWriter<'_>]) -> Result<()> {
        let Some(settler) = &self.settler else {
            return Ok(());
        };
        let waited = Instant::now();
        let mut decode_seconds = 0.0;
        let is_timed = self.profile.is_wanted;
        let counts = done.read(self.device, |words| {
            let started = Instant::now();
            let writers = &mut by_row[done.rows.clone()];
            let counts = decode_rows(words, done, settler, writers, is_timed);
            decode_seconds = started.elapsed().as_secs_f64();
            counts
        })??;
        self.diagnostics.merge(&counts.diagnostics);
        self.timings.settle += counts.settle;
        self.timings.decode += decode_seconds;
        self.timings.wait += waited.elapsed().as_secs_f64() - decode_seconds;
        self.timings.bytes_back += done.bytes;
        self.timings.chunks += 1;
        Ok(())
    }
}

/// What the device is at.
#[derive(Default)]
struct Flight {
    compared: Option<Compared>,
    lists: VecDeque<Extracted>,
}

/// Rows decoded together: they share the closes of a run, and the last ones to end keep the other threads waiting.
const GROUP: usize = 16;

/// Decodes rows in parallel, a few a task, and enough tasks for every thread.
fn decode_rows(
    words: &[u32],
    done: &Extracted,
    settler: &Settler<'_>,
    writers: &mut [&mut SideWriter<'_>],
    is_timed: bool,
) -> Result<Counts> {
    let source = Source {
        stamp: done.stamp,
        bars: done.chunk.bars(),
        settler,
    };
    let tasks = 4 * rayon::current_num_threads();
    let group = writers.len().div_ceil(tasks).clamp(1, GROUP);
    let new = || Counts::new(is_timed);
    let groups = writers.par_chunks_mut(group).enumerate();
    let counts = groups.try_fold(new, |mut counts, (index, writers)| {
        let rows = writers.iter_mut().enumerate();
        let words = |row: usize| &words[done.page.row(group * index + row)];
        let mut rows: Vec<_> = rows
            .map(|(row, writer)| (words(row), &mut **writer))
            .collect();
        decode(&source, &mut rows, &mut counts).map_err(|broken| broken.error(done.stamp))?;
        Ok(counts)
    });
    let counts = counts.try_reduce(new, |mut sum, part| {
        sum.merge(&part);
        Ok(sum)
    })?;
    // behind the rows, whose headers say more: the first bar that is not there
    done.stamp.check(words[0])?;
    Ok(counts)
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
