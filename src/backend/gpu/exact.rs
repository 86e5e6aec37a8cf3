//! Kernel (e) on the device: what it reads of the sums, and how it is submitted.

use rayon::prelude::*;

use super::buffers::Growing;
use super::compare::runs;
use super::device::Device;
use super::error::Result;
use super::jobs::Jobs;
use super::lists::RUN_BARS;
use super::plan::BLOCK;
use super::run::Chunk;
use super::sums::Sums;
use crate::question::Question;

/// Parameters of kernel (e), as it reads them.
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct ExactParams {
    blocks: u32,
    run: u32,
    rows: u32,
    first_row: u32,
    bars: u32,
    sums_at: u32,
    closes_at: u32,
    settled_at: u32,
}

/// One row of words: its filters, and the first bar that may be settled.
#[derive(Debug, Clone, Copy, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct ExactRow {
    fast: u32,
    slow: u32,
    first: u32,
    unused: u32,
}

/// One filter, as the kernel reads it.
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct ExactFilter {
    pub(super) first_tap: u32,
    pub(super) taps: u32,
    pub(super) denominator: [u32; 2],
}

/// One tap, as the kernel reads it.
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct ExactTap {
    pub(super) lag: u32,
    pub(super) is_negative: u32,
    pub(super) size: [u32; 2],
}

/// What kernel (e) reads besides the words.
#[derive(Debug)]
pub(super) struct ExactInputs {
    pub(super) rows: Growing,
    pub(super) filters: Growing,
    pub(super) taps: Growing,
    pub(super) sums: Growing,
    pub(super) closes: Growing,
}

/// Sends the sums of a chunk, and which rows may use them.
pub(super) fn upload(
    device: &Device,
    inputs: &mut ExactInputs,
    question: &Question<'_>,
    (jobs, chunk, sums): (&Jobs, Chunk, &Sums<'_>),
) -> Result<()> {
    // first, because it makes the forms of all filters side by side
    let (filters, taps) = sums.device_forms();
    let rows: Vec<_> = jobs
        .combinations
        .par_iter()
        .map(|&combination| row(question, combination as usize, chunk, sums))
        .collect();
    inputs.rows.upload(device, &rows)?;
    inputs.filters.upload(device, &filters)?;
    inputs.taps.upload(device, &taps)?;
    inputs.sums.upload(device, sums.words())?;
    inputs.closes.upload(device, sums.closes())?;
    Ok(())
}

/// A row that may not use the sums has no first bar, and filters that exist.
fn row(question: &Question<'_>, combination: usize, chunk: Chunk, sums: &Sums<'_>) -> ExactRow {
    let (fast, slow) = question.grid().pairs()[combination];
    if !sums.fits(fast as usize, slow as usize) {
        let first = u32::MAX;
        return ExactRow {
            fast: 0,
            slow: 0,
            first,
            unused: 0,
        };
    }
    let first = question
        .first_bar(combination)
        .saturating_sub(chunk.first_bar) as u32;
    ExactRow {
        fast,
        slow,
        first,
        unused: 0,
    }
}

impl ExactParams {
    pub(super) fn new(
        question: &Question<'_>,
        rows: &std::ops::Range<usize>,
        chunk: Chunk,
        sums: &Sums<'_>,
    ) -> Self {
        let blocks = chunk.sizes.blocks;
        let bars = question.series().bars() - chunk.first_bar;
        let (sums_at, closes_at) = sums.place(chunk.first_bar);
        Self {
            blocks: blocks as u32,
            run: (RUN_BARS / BLOCK) as u32,
            rows: rows.len() as u32,
            first_row: rows.start as u32,
            bars: bars.min(blocks * BLOCK) as u32,
            sums_at: sums_at as u32,
            closes_at: closes_at as u32,
            settled_at: (rows.len() * runs(blocks)) as u32,
        }
    }
}
