//! The kernels, compiled once a device.

use super::device::Device;
use super::error::Result;
use super::fault::Step;

pub(super) const CONV: &str = include_str!("../../../kernels/conv.wgsl");
pub(super) const STAGE2: &str = include_str!("../../../kernels/stage2.wgsl");
pub(super) const BITS: &str = include_str!("../../../kernels/bits.wgsl");
pub(super) const CROSSINGS: &str = include_str!("../../../kernels/crossings.wgsl");
pub(super) const EXACT: &str = include_str!("../../../kernels/exact.wgsl");
pub(super) const SMOKE: &str = include_str!("../../../kernels/smoke.wgsl");

/// The compiled kernels.
#[derive(Debug)]
pub(super) struct Pipelines {
    pub(super) conv: wgpu::ComputePipeline,
    pub(super) stage2: wgpu::ComputePipeline,
    pub(super) bits: wgpu::ComputePipeline,
    pub(super) exact: wgpu::ComputePipeline,
    pub(super) count: wgpu::ComputePipeline,
    pub(super) list: wgpu::ComputePipeline,
}

impl Pipelines {
    pub(super) fn new(device: &Device, has_checks: bool) -> Result<Self> {
        device.scoped(Step::Build, 0, || Self {
            conv: pipeline(device, "conv", CONV, has_checks),
            stage2: pipeline(device, "stage2", STAGE2, has_checks),
            bits: pipeline(device, "bits", BITS, has_checks),
            exact: pipeline(device, "exact", EXACT, has_checks),
            count: pipeline(device, "count", CROSSINGS, has_checks),
            list: pipeline(device, "list", CROSSINGS, has_checks),
        })
    }
}

/// Compiles one kernel; the entry point bears the given name.
pub(super) fn pipeline(
    device: &Device,
    name: &str,
    source: &str,
    has_checks: bool,
) -> wgpu::ComputePipeline {
    let descriptor = wgpu::ShaderModuleDescriptor {
        label: Some(name),
        source: wgpu::ShaderSource::Wgsl(source.into()),
    };
    let module = if has_checks {
        device.handle.create_shader_module(descriptor)
    } else {
        let checks = wgpu::ShaderRuntimeChecks::unchecked();
        // SAFETY: every index that the kernels form is in range, and every loop ends. `docs/numerics-gpu.md`, section
        // 5, proves it from what the host sends, and `ranges::check` verifies those facts before each upload.
        unsafe {
            device
                .handle
                .create_shader_module_trusted(descriptor, checks)
        }
    };
    device
        .handle
        .create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(name),
            layout: None,
            module: &module,
            entry_point: Some(name),
            compilation_options: wgpu::PipelineCompilationOptions {
                zero_initialize_workgroup_memory: false,
                ..Default::default()
            },
            cache: None,
        })
}
