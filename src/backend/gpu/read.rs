//! Reading device memory: mapping with every failure seen.

use std::sync::{Arc, OnceLock};

use super::device::Device;
use super::error::{DeviceError, Result};
use super::fault::Step;

/// A mapping asked for; its callback runs while the device is waited for.
#[derive(Debug)]
pub(super) struct Mapping(Arc<OnceLock<std::result::Result<(), wgpu::BufferAsyncError>>>);

impl Mapping {
    /// Asks for the first bytes of a staging buffer.
    pub(super) fn request(staging: &wgpu::Buffer, bytes: u64) -> Self {
        let outcome = Arc::new(OnceLock::new());
        let slot = Arc::clone(&outcome);
        staging.map_async(wgpu::MapMode::Read, 0..bytes, move |result| {
            let _ = slot.set(result);
        });
        Self(outcome)
    }

    /// Waits for the submission, then hands the mapped bytes to `read` and releases them.
    pub(super) fn read<T>(
        &self,
        device: &Device,
        submission: wgpu::SubmissionIndex,
        staging: &wgpu::Buffer,
        bytes: u64,
        read: impl FnOnce(&[u8]) -> T,
    ) -> Result<T> {
        device.wait(Step::Wait, submission)?;
        let refused = |reason: String| DeviceError::Refused {
            step: Step::Read,
            reason,
        };
        match self.0.get() {
            Some(Ok(())) => {}
            Some(Err(error)) => return Err(refused(error.to_string())),
            None => return Err(refused("the mapping's callback did not run".to_owned())),
        }
        let view = device.scoped(Step::Read, 0, || staging.slice(0..bytes).get_mapped_range())?;
        let view = view.map_err(|error| refused(error.to_string()))?;
        let value = read(&view);
        drop(view);
        device.scoped(Step::Read, 0, || staging.unmap())?;
        Ok(value)
    }
}

/// Runs commands that fill a fresh staging buffer, and reads it; for small and rare results.
pub(super) fn once<T: bytemuck::Pod>(
    device: &Device,
    bytes: u64,
    encode: impl FnOnce(&mut wgpu::CommandEncoder, &wgpu::Buffer),
) -> Result<Vec<T>> {
    let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
    let staging = device.buffer("read once", bytes, usage)?;
    let (submission, mapping) = device.scoped(Step::Read, 0, || {
        let mut encoder = device
            .handle
            .create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encode(&mut encoder, &staging);
        let submission = device.queue.submit([encoder.finish()]);
        (submission, Mapping::request(&staging, bytes))
    })?;
    mapping.read(device, submission, &staging, bytes, |view| {
        bytemuck::pod_collect_to_vec(view)
    })
}
