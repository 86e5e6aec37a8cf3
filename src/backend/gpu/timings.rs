//! Where the time of a sweep goes: passes on the device by timestamps, steps on the host by its clock.

use super::device::Device;
use super::error::Result;
use super::fault::Step;

/// Passes that are timed in one sweep; later ones go untimed.
const MAX_PASSES: u32 = 1024;

/// Seconds that the last sweep of a [`Gpu`](super::Gpu) took, part by part.
///
/// Device times need an engine made with [`GpuOptions::with_profile`](super::GpuOptions::with_profile) and a device
/// with timestamps; they are 0 otherwise. Host and device overlap, so the parts sum to more than the total.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct GpuTimings {
    /// Plan, jobs and their checks, on the host.
    pub plan: f64,
    /// Centring and packing of the closes, on the host.
    pub pack: f64,
    /// Sending closes, plan and jobs, as seen by the host.
    pub upload: f64,
    /// Kernel (a) on the device.
    pub conv: f64,
    /// Kernel (b) on the device.
    pub stage2: f64,
    /// Kernel (c) on the device.
    pub bits: f64,
    /// Kernel (e) on the device.
    pub exact: f64,
    /// Kernel (d) on the device, both halves.
    pub lists: f64,
    /// Passes that were timed, and passes in all.
    pub passes: (u32, u32),
    /// Encoding and submitting kernels (c) to (e), on the host.
    pub submit: f64,
    /// Waiting for the device and its copies: what the host could not hide.
    pub wait: f64,
    /// Prefix sums for settling, on the host.
    pub sums: f64,
    /// Decoding, settling and counting the trades, on the host.
    pub decode: f64,
    /// Thread-seconds of settling undecided bars, a part of `decode`; measured with a profile only.
    pub settle: f64,
    /// The whole sweep.
    pub total: f64,
    /// Bytes read back.
    pub bytes_back: u64,
    /// Submissions that brought lists back.
    pub chunks: u32,
}

/// Which kernel a pass ran.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kernel {
    Conv,
    Stage2,
    Bits,
    Exact,
    Lists,
}

/// Timestamps of the passes of one sweep.
#[derive(Debug)]
pub(super) struct Profile {
    queries: Option<wgpu::QuerySet>,
    kernels: Vec<Kernel>,
    passes: u32,
    pub(super) is_wanted: bool,
}

impl Profile {
    pub(super) fn new(device: &Device, is_wanted: bool) -> Result<Self> {
        let queries = if is_wanted && device.has_timestamps {
            let descriptor = wgpu::QuerySetDescriptor {
                label: Some("passes"),
                ty: wgpu::QueryType::Timestamp,
                count: 2 * MAX_PASSES,
            };
            Some(device.scoped(Step::Allocate, 0, || {
                device.handle.create_query_set(&descriptor)
            })?)
        } else {
            None
        };
        Ok(Self {
            queries,
            kernels: Vec::new(),
            passes: 0,
            is_wanted,
        })
    }

    /// Timestamps around the next pass.
    pub(super) fn next(&mut self, kernel: Kernel) -> Option<wgpu::ComputePassTimestampWrites<'_>> {
        self.passes += 1;
        let pass = self.kernels.len() as u32;
        let query_set = self.queries.as_ref().filter(|_| pass < MAX_PASSES)?;
        self.kernels.push(kernel);
        Some(wgpu::ComputePassTimestampWrites {
            query_set,
            beginning_of_pass_write_index: Some(2 * pass),
            end_of_pass_write_index: Some(2 * pass + 1),
        })
    }

    /// Reads the timestamps and adds the passes up.
    pub(super) fn finish(self, device: &Device, timings: &mut GpuTimings) -> Result<()> {
        timings.passes = (self.kernels.len() as u32, self.passes);
        let Some(queries) = self.queries.filter(|_| !self.kernels.is_empty()) else {
            return Ok(());
        };
        let count = 2 * self.kernels.len() as u32;
        let bytes = u64::from(count) * 8;
        let resolved = device.buffer(
            "timestamps",
            bytes,
            wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
        )?;
        let ticks: Vec<u64> = super::read::once(device, bytes, |encoder, staging| {
            encoder.resolve_query_set(&queries, 0..count, &resolved, 0);
            encoder.copy_buffer_to_buffer(&resolved, 0, staging, 0, bytes);
        })?;
        let period = f64::from(device.queue.get_timestamp_period()) * 1e-9;
        for (kernel, pass) in self.kernels.iter().zip(ticks.chunks(2)) {
            let seconds = pass[1].saturating_sub(pass[0]) as f64 * period;
            match kernel {
                Kernel::Conv => timings.conv += seconds,
                Kernel::Stage2 => timings.stage2 += seconds,
                Kernel::Bits => timings.bits += seconds,
                Kernel::Exact => timings.exact += seconds,
                Kernel::Lists => timings.lists += seconds,
            }
        }
        Ok(())
    }
}
