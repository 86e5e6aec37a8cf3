//! The self-test: a driver whose plain arithmetic is wrong is refused before it decides anything.

use super::device::Device;
use super::error::{DeviceError, Result};
use super::fault::Step;
use super::pipelines::{SMOKE, pipeline};
use super::read;

/// Minuend, three spare numbers, and four subtrahends.
const GIVEN: [f32; 8] = [1.0, 0.49, 1e10, 1e-10, 0.8, 0.9, 0.95, -3.0];
/// Two factors and a summand whose sum is 0 where the product is rounded first, and `2^-24` where it is not.
const FUSED: [f32; 4] = [
    1.0 + 1.0 / 4096.0,
    1.0 + 1.0 / 4096.0,
    -1.0 - 1.0 / 2048.0,
    0.0,
];
const COUNTS: [u32; 4] = [1, 1, 1, 1];

/// What a device does with operations that WGSL leaves open; no side rests on either.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct GpuArithmetic {
    /// Whether a product and a sum are rounded once: an exact tie can then become a positive difference.
    pub fuses: bool,
    /// Whether the residual of a sum survives: compensated summation works only then.
    pub keeps_compensation: bool,
}

/// Runs the smoke kernel and compares: differences within one step (WGSL allows either neighbour), sums exactly.
pub(super) fn run(device: &Device) -> Result<GpuArithmetic> {
    let storage = wgpu::BufferUsages::STORAGE;
    let input = storage | wgpu::BufferUsages::COPY_DST;
    let output = storage | wgpu::BufferUsages::COPY_SRC;
    let given = device.buffer("given", 48, input)?;
    let counts = device.buffer("counts", 16, input)?;
    let differences = device.buffer("differences", 48, output)?;
    let sums = device.buffer("sums", 32, output)?;
    let pipeline = device.scoped(Step::Build, 0, || pipeline(device, "smoke", SMOKE, true))?;
    let binding = device.scoped(Step::Build, 0, || {
        device
            .queue
            .write_buffer(&given, 0, bytemuck::cast_slice(&GIVEN));
        device
            .queue
            .write_buffer(&given, 32, bytemuck::cast_slice(&FUSED));
        device
            .queue
            .write_buffer(&counts, 0, bytemuck::cast_slice(&COUNTS));
        bind(device, &pipeline, &[&given, &counts, &differences, &sums])
    })?;
    let found: Vec<u32> = read::once(device, 80, |encoder, staging| {
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &binding, &[]);
        pass.dispatch_workgroups(1, 1, 1);
        drop(pass);
        encoder.copy_buffer_to_buffer(&differences, 0, staging, 0, 48);
        encoder.copy_buffer_to_buffer(&sums, 0, staging, 48, 32);
    })?;
    judge(&found).map_err(|reason| DeviceError::SelfTest {
        adapter: device.adapter.name.clone(),
        reason,
    })?;
    Ok(GpuArithmetic {
        fuses: f32::from_bits(found[8]) != 0.0,
        keeps_compensation: f32::from_bits(found[10]) != 0.0,
    })
}

fn judge(found: &[u32]) -> std::result::Result<(), String> {
    let [a, b, c, d] = [GIVEN[0], GIVEN[1], GIVEN[2], GIVEN[3]];
    let expected = [
        a - GIVEN[4],
        a - GIVEN[5],
        a - GIVEN[6],
        a - GIVEN[7],
        a - b,
        c + d,
        c * d,
        b,
    ];
    for (index, (found, expected)) in found[..8].iter().zip(expected).enumerate() {
        let found = f32::from_bits(*found);
        if !(expected.next_down()..=expected.next_up()).contains(&found) {
            return Err(format!(
                "f32 result {index} is {found}, {expected} is right"
            ));
        }
    }
    let sums = &found[12..];
    if sums == [1, 2, 3, 4, 1, 2, 3, 4] {
        return Ok(());
    }
    Err(format!("running sums of four ones are {sums:?}"))
}

/// Binds buffers 0, 1, 2, ... whole.
pub(super) fn bind(
    device: &Device,
    pipeline: &wgpu::ComputePipeline,
    buffers: &[&wgpu::Buffer],
) -> wgpu::BindGroup {
    let entries: Vec<_> = buffers
        .iter()
        .enumerate()
        .map(|(binding, buffer)| wgpu::BindGroupEntry {
            binding: binding as u32,
            resource: buffer.as_entire_binding(),
        })
        .collect();
    device.handle.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &entries,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_arithmetic_is_named() {
        let right: Vec<u32> = [0.2, 0.1, 0.05, 4.0, 0.51, 1e10, 1.0, 0.49_f32]
            .map(f32::to_bits)
            .into_iter()
            .chain([0; 4])
            .chain([1, 2, 3, 4, 1, 2, 3, 4])
            .collect();
        let mut exact = right.clone();
        exact[0] = (1.0_f32 - 0.8).to_bits();
        exact[1] = (1.0_f32 - 0.9).to_bits();
        exact[2] = (1.0_f32 - 0.95).to_bits();
        exact[4] = (1.0_f32 - 0.49).to_bits();
        assert_eq!(judge(&exact), Ok(()));
        let mut wrong = exact.clone();
        wrong[4] = 0;
        assert!(judge(&wrong).unwrap_err().contains("result 4"));
        let mut wrong = exact;
        wrong[15] = 1;
        assert!(judge(&wrong).unwrap_err().contains("running sums"));
    }
}
