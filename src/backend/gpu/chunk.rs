//! One chunk of bars on the device: closes in, filter values made and kept there.

use super::budget::Budget;
use super::buffers::Buffers;
use super::device::Device;
use super::error::{DeviceError, Result};
use super::fault::Step;
use super::pipelines::Pipelines;
use super::plan::Plan;
use super::ranges::Sizes;
use super::selftest::bind;
use super::tiles::Tiles;
use super::timings::{Kernel, Profile};

/// Parameters of kernels (a) and (b), as they read them.
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct Params {
    pub(super) row_length: u32,
    pub(super) first: u32,
    pub(super) halo: u32,
    pub(super) tile_blocks: u32,
    pub(super) blocks: u32,
    pub(super) inner_rows: u32,
    pub(super) first_group: u32,
    pub(super) positions: u32,
}

impl Params {
    pub(super) fn new(plan: &Plan, blocks: usize, first: u32, first_group: usize) -> Self {
        Self {
            row_length: (plan.positions() / 4) as u32,
            first,
            halo: plan.halo as u32,
            tile_blocks: (plan.tile_bars / 32) as u32,
            blocks: blocks as u32,
            inner_rows: plan.inner_rows as u32,
            first_group: first_group as u32,
            positions: plan.positions() as u32,
        }
    }
}

/// What a stage needs to run.
pub(super) struct Context<'a> {
    pub(super) device: &'a Device,
    pub(super) pipelines: &'a Pipelines,
    pub(super) budget: &'a Budget,
    pub(super) plan: &'a Plan,
}

/// Sends what depends on the filters alone.
pub(super) fn upload_plan(device: &Device, plan: &Plan, buffers: &mut Buffers) -> Result<()> {
    buffers.weights.upload(device, &plan.weights)?;
    buffers.groups.upload(device, &plan.groups)?;
    buffers.rows.upload(device, &plan.rows)?;
    buffers.bounds.upload(device, &plan.bounds)?;
    Ok(())
}

/// Sends a chunk's closes and submits kernels (a) and (b) over them.
pub(super) fn convolve(
    context: &Context<'_>,
    buffers: &mut Buffers,
    tiles: &Tiles,
    sizes: &Sizes,
    profile: &mut Profile,
) -> Result<()> {
    let device = context.device;
    buffers.closes.upload(device, &tiles.closes)?;
    buffers.largest.upload(device, &tiles.largest)?;
    conv(context, buffers, sizes, profile)?;
    stage2(context, buffers, sizes, profile)
}

fn conv(
    context: &Context<'_>,
    buffers: &mut Buffers,
    sizes: &Sizes,
    profile: &mut Profile,
) -> Result<()> {
    let (device, plan) = (context.device, context.plan);
    let pipeline = &context.pipelines.conv;
    let bound = [
        buffers.conv_params.at_least(device, 32)?,
        buffers.closes.at_least(device, 0)?,
        buffers.weights.at_least(device, 0)?,
        buffers.groups.at_least(device, 0)?,
        buffers.inner.at_least(device, 16 * sizes.inner as u64)?,
        buffers.values.at_least(device, 4 * sizes.values as u64)?,
    ];
    let first = plan.groups.iter().map(|g| g.first).min().unwrap_or(0);
    let threads = (plan.positions() - first as usize).div_ceil(8);
    let mut start = 0;
    while start < plan.groups.len() {
        // windows are sorted by length, so the last of a batch is its longest
        let steps = u64::from(plan.groups[plan.groups.len() - 1].steps);
        let count = context
            .budget
            .groups(steps, sizes.tiles, plan.positions() - first as usize)
            .min(plan.groups.len() - start);
        let params = Params::new(plan, sizes.blocks, first, start);
        let extent = Extent([threads.div_ceil(32), count, sizes.tiles]);
        dispatch(
            device,
            pipeline,
            &bound,
            &params,
            extent,
            profile.next(Kernel::Conv),
        )?;
        start += count;
    }
    Ok(())
}

fn stage2(
    context: &Context<'_>,
    buffers: &mut Buffers,
    sizes: &Sizes,
    profile: &mut Profile,
) -> Result<()> {
    let (device, plan) = (context.device, context.plan);
    let bound = [
        buffers.stage2_params.at_least(device, 32)?,
        buffers.inner.at_least(device, 0)?,
        buffers.weights.at_least(device, 0)?,
        buffers.rows.at_least(device, 0)?,
        buffers.values.at_least(device, 0)?,
    ];
    let longest = plan.rows.iter().map(|row| row.steps).max().unwrap_or(0);
    let threads = plan.tile_bars.div_ceil(16);
    let mut start = 0;
    while start < plan.rows.len() {
        let count = context
            .budget
            .groups(u64::from(longest), sizes.tiles, plan.tile_bars)
            .min(plan.rows.len() - start);
        let params = Params::new(plan, sizes.blocks, plan.halo as u32, start);
        let extent = Extent([threads.div_ceil(32), count, sizes.tiles]);
        let timestamps = profile.next(Kernel::Stage2);
        dispatch(
            device,
            &context.pipelines.stage2,
            &bound,
            &params,
            extent,
            timestamps,
        )?;
        start += count;
    }
    Ok(())
}

/// Submits one dispatch; `bound[0]` takes the parameters.
fn dispatch(
    device: &Device,
    pipeline: &wgpu::ComputePipeline,
    bound: &[wgpu::Buffer],
    params: &Params,
    extent: Extent,
    timestamps: Option<wgpu::ComputePassTimestampWrites<'_>>,
) -> Result<()> {
    extent.check(device)?;
    device.scoped(Step::Convolve, 0, || {
        let params = bytemuck::bytes_of(params);
        device.queue.write_buffer(&bound[0], 0, params);
        let mut encoder = device.encoder();
        let buffers: Vec<_> = bound.iter().collect();
        let pass = Pass {
            pipeline,
            buffers: &buffers,
            extent,
        };
        pass.encode(device, &mut encoder, timestamps);
        device.queue.submit([encoder.finish()]);
    })
}

/// Workgroups in each dimension.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent(pub(super) [usize; 3]);

impl Extent {
    /// Fails where a dimension is beyond the device's limit.
    pub(super) fn check(&self, device: &Device) -> Result<()> {
        let limit = device.limits.max_compute_workgroups_per_dimension as usize;
        let beyond = self.0.iter().find(|&&needed| needed > limit);
        beyond.map_or(Ok(()), |&needed| {
            Err(DeviceError::Limit {
                what: "a dispatch, in workgroups of one dimension,",
                needed: needed as u64,
                limit: limit as u64,
            })
        })
    }

    /// No workgroups, if it is to be dropped.
    pub(super) fn unless(self, is_dropped: bool) -> Self {
        if is_dropped { Self([0; 3]) } else { self }
    }
}

/// One dispatch, to be put into a command buffer.
pub(super) struct Pass<'p> {
    pub(super) pipeline: &'p wgpu::ComputePipeline,
    /// In the order of their bindings.
    pub(super) buffers: &'p [&'p wgpu::Buffer],
    pub(super) extent: Extent,
}

impl Pass<'_> {
    pub(super) fn encode(
        &self,
        device: &Device,
        encoder: &mut wgpu::CommandEncoder,
        timestamps: Option<wgpu::ComputePassTimestampWrites<'_>>,
    ) {
        let binding = bind(device, self.pipeline, self.buffers);
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
            label: None,
            timestamp_writes: timestamps,
        });
        pass.set_pipeline(self.pipeline);
        pass.set_bind_group(0, &binding, &[]);
        let [x, y, z] = self.extent.0.map(|groups| groups as u32);
        pass.dispatch_workgroups(x, y, z);
    }
}
