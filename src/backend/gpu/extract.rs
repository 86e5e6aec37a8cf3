//! The second half of kernel (d) on the device: lists of changes, packed, on their way back.

use super::buffers::Buffers;
use super::chunk::{Extent, Pass};
use super::compare::{Compared, ListParams, runs};
use super::device::Device;
use super::error::Result;
use super::fault::{Fault, Step};
use super::lists::{Page, Stamp};
use super::pipelines::Pipelines;
use super::read::Mapping;
use super::run::Chunk;
use super::timings::{Kernel, Profile};

/// A submission whose lists are on their way back.
pub(super) struct Extracted {
    pub(super) chunk: Chunk,
    /// Rows of the whole output.
    pub(super) rows: std::ops::Range<usize>,
    pub(super) page: Page,
    pub(super) stamp: Stamp,
    pub(super) bytes: u64,
    staging: wgpu::Buffer,
    submission: wgpu::SubmissionIndex,
    mapping: Mapping,
}

/// Submits a page of rows of words that are still in their slot.
pub(super) fn extract(
    device: &Device,
    pipelines: &Pipelines,
    buffers: &mut Buffers,
    slot: usize,
    (compared, page): (&Compared, Page),
    profile: &mut Profile,
) -> Result<Extracted> {
    let blocks = compared.chunk.sizes.blocks;
    let bytes = 4 * page.words() as u64;
    let stamp = compared.stamp;
    let params = ListParams::new(blocks, compared.rows.len(), &page.rows, stamp);
    let extent = Extent([page.rows.len().div_ceil(64), runs(blocks), 1]);
    extent.check(device)?;
    let from = &mut buffers.words[compared.slot];
    let (sides, counts) = (
        from.words.at_least(device, 0)?,
        from.counts.at_least(device, 0)?,
    );
    let to = &mut buffers.lists[slot];
    let offsets = to.offsets.upload(device, &page.offsets)?;
    let lists = to.lists.at_least(device, bytes)?;
    let staging = to.staging.at_least(device, bytes)?;
    let uniform = to.params.at_least(device, 32)?;
    let fault = Fault::take_dropped(device, Step::Extract);
    let (submission, mapping) = device.scoped(Step::Extract, 0, || {
        device
            .queue
            .write_buffer(&uniform, 0, bytemuck::bytes_of(&params));
        let mut encoder = device.encoder();
        encoder.clear_buffer(&lists, 0, Some(bytes));
        Pass {
            pipeline: &pipelines.list,
            buffers: &[&uniform, &sides, &counts, &offsets, &lists],
            extent: extent.unless(fault == Some(Fault::Killed)),
        }
        .encode(device, &mut encoder, profile.next(Kernel::Lists));
        encoder.copy_buffer_to_buffer(&lists, 0, &staging, 0, bytes);
        let commands = (fault != Some(Fault::Stale)).then(|| encoder.finish());
        let submission = device.queue.submit(commands);
        (submission, Mapping::request(&staging, bytes))
    })?;
    let first = compared.rows.start;
    Ok(Extracted {
        chunk: compared.chunk,
        rows: first + page.rows.start..first + page.rows.end,
        page,
        stamp,
        bytes,
        staging,
        submission,
        mapping,
    })
}

impl Extracted {
    /// Waits for the lists, and hands their words to `read`.
    pub(super) fn read<T>(&self, device: &Device, read: impl FnOnce(&[u32]) -> T) -> Result<T> {
        let submission = self.submission.clone();
        self.mapping
            .read(device, submission, &self.staging, self.bytes, |view| {
                read(bytemuck::cast_slice(view))
            })
    }
}
