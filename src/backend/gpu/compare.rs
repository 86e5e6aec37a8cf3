//! Kernel (c) on the device: clear, compare, copy, map; and the check that what came back is of this submission.

use std::ops::Range;
use std::rc::Rc;

use super::buffers::Buffers;
use super::device::Device;
use super::error::{DeviceError, Result};
use super::fault::{Fault, Step};
use super::jobs::Jobs;
use super::read::Mapping;
use super::run::Chunk;
use super::selftest::bind;

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

impl Params {
    fn new(blocks: usize, jobs: &Range<usize>, rows: &Range<usize>, epoch: u32) -> Self {
        Self {
            blocks: blocks as u32,
            first_job: jobs.start as u32,
            first_row: rows.start as u32,
            stamps: (rows.len() * blocks) as u32,
            epoch,
            unused: [0; 3],
        }
    }
}

/// A submission whose sides are on their way back.
pub(super) struct InFlight<'a> {
    pub(super) chunk: Rc<Chunk<'a>>,
    pub(super) jobs: Range<usize>,
    pub(super) rows: Range<usize>,
    pub(super) epoch: u32,
    pub(super) bytes: u64,
    pub(super) staging: wgpu::Buffer,
    pub(super) submission: wgpu::SubmissionIndex,
    pub(super) mapping: Mapping,
}

/// Submits a range of jobs into a slot.
pub(super) fn compare<'a>(
    device: &Device,
    pipeline: &wgpu::ComputePipeline,
    buffers: &mut Buffers,
    slot: usize,
    (chunk, jobs, rows): (&Rc<Chunk<'a>>, Range<usize>, Range<usize>),
    timestamps: Option<wgpu::ComputePassTimestampWrites<'_>>,
) -> Result<InFlight<'a>> {
    let blocks = chunk.sizes.blocks;
    let words = rows.len() * blocks;
    let bytes = 8 * (words + jobs.len()) as u64;
    buffers.epoch = buffers.epoch.checked_add(1).unwrap_or(1);
    let params = Params::new(blocks, &jobs, &rows, buffers.epoch);
    let slot = &mut buffers.slots[slot];
    let bound = [
        slot.params.at_least(device, 32)?,
        buffers.values.at_least(device, 0)?,
        buffers.largest.at_least(device, 0)?,
        buffers.bounds.at_least(device, 0)?,
        buffers.jobs.at_least(device, 0)?,
        slot.output.at_least(device, bytes)?,
    ];
    let staging = slot.staging.at_least(device, bytes)?;
    let call = Call {
        bound: &bound,
        params: &params,
        grid: [blocks.div_ceil(64) as u32, jobs.len() as u32],
        timestamps,
    };
    let (submission, mapping) = submit(device, pipeline, call, &staging, bytes)?;
    Ok(InFlight {
        chunk: Rc::clone(chunk),
        jobs,
        rows,
        epoch: params.epoch,
        bytes,
        staging,
        submission,
        mapping,
    })
}

/// One dispatch of kernel (c).
struct Call<'c> {
    bound: &'c [wgpu::Buffer; 6],
    params: &'c Params,
    grid: [u32; 2],
    timestamps: Option<wgpu::ComputePassTimestampWrites<'c>>,
}

/// Submits the dispatch and the copy of its output, and asks for the mapping.
fn submit(
    device: &Device,
    pipeline: &wgpu::ComputePipeline,
    mut call: Call<'_>,
    staging: &wgpu::Buffer,
    bytes: u64,
) -> Result<(wgpu::SubmissionIndex, Mapping)> {
    let is_dropped = |fault| matches!(fault, Fault::Stale | Fault::Killed);
    let fault = device.faults.take_if(Step::Compare, is_dropped);
    if fault == Some(Fault::Killed) {
        (call.grid[0], call.timestamps) = (0, None);
    }
    let output = &call.bound[5];
    device.scoped(Step::Compare, 0, || {
        let commands = (fault != Some(Fault::Stale)).then(|| {
            let mut encoder = encode(device, pipeline, call);
            encoder.copy_buffer_to_buffer(output, 0, staging, 0, bytes);
            encoder.finish()
        });
        let submission = device.queue.submit(commands);
        (submission, Mapping::request(staging, bytes))
    })
}

/// Clears the output to the code of what was never computed, and runs the kernel over it.
fn encode(
    device: &Device,
    pipeline: &wgpu::ComputePipeline,
    call: Call<'_>,
) -> wgpu::CommandEncoder {
    let descriptor = wgpu::CommandEncoderDescriptor::default();
    let mut encoder = device.handle.create_command_encoder(&descriptor);
    let params = bytemuck::bytes_of(call.params);
    device.queue.write_buffer(&call.bound[0], 0, params);
    let words = u64::from(call.params.stamps) + u64::from(call.grid[1]);
    encoder.clear_buffer(&call.bound[5], 0, Some(8 * words));
    let binding = bind(device, pipeline, &call.bound.each_ref());
    let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
        label: None,
        timestamp_writes: call.timestamps,
    });
    pass.set_pipeline(pipeline);
    pass.set_bind_group(0, &binding, &[]);
    pass.dispatch_workgroups(call.grid[0], call.grid[1], 1);
    drop(pass);
    encoder
}

/// Every job stamps its epoch when its last block is done.
pub(super) fn check_stamps(stamps: &[[u32; 2]], done: &InFlight<'_>, jobs: &Jobs) -> Result<()> {
    for (job, stamp) in done.jobs.clone().zip(stamps) {
        if *stamp == [done.epoch, job as u32] {
            continue;
        }
        if stamp[0] == 0 {
            let row = jobs.list[job].first_row as usize;
            return Err(DeviceError::Unfinished {
                combination: jobs.combinations[row] as usize,
                bar: done.chunk.first_bar,
            });
        }
        return Err(DeviceError::Stale {
            expected: done.epoch,
            found: stamp[0],
        });
    }
    Ok(())
}
