//! Buffers that live as long as the engine and only grow: a fresh staging buffer copies at a fortieth of the speed of
//! a used one (measured on an H200: 1.3 against 50 GB/s).

use wgpu::BufferUsages as Usage;

use super::device::Device;
use super::error::Result;

/// A buffer that grows on demand.
#[derive(Debug)]
pub(super) struct Growing {
    label: &'static str,
    usage: Usage,
    buffer: Option<wgpu::Buffer>,
}

impl Growing {
    fn new(label: &'static str, usage: Usage) -> Self {
        Self {
            label,
            usage,
            buffer: None,
        }
    }

    /// Returns a buffer of at least so many bytes; a larger one than before where it must grow.
    pub(super) fn at_least(&mut self, device: &Device, bytes: u64) -> Result<wgpu::Buffer> {
        if let Some(buffer) = self.buffer.as_ref().filter(|b| b.size() >= bytes) {
            return Ok(buffer.clone());
        }
        self.buffer = None;
        let buffer = device.buffer(self.label, bytes, self.usage)?;
        self.buffer = Some(buffer.clone());
        Ok(buffer)
    }

    /// Fills the buffer with data, growing it first.
    pub(super) fn upload<T: bytemuck::NoUninit>(
        &mut self,
        device: &Device,
        data: &[T],
    ) -> Result<wgpu::Buffer> {
        let bytes: &[u8] = bytemuck::cast_slice(data);
        let buffer = self.at_least(device, bytes.len() as u64)?;
        if !bytes.is_empty() {
            device.scoped(super::fault::Step::Upload, 0, || {
                device.queue.write_buffer(&buffer, 0, bytes);
            })?;
        }
        Ok(buffer)
    }
}

/// One submission's output in flight.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) output: Growing,
    pub(super) staging: Growing,
    pub(super) params: Growing,
}

/// All buffers of an engine.
#[derive(Debug)]
pub(super) struct Buffers {
    pub(super) closes: Growing,
    pub(super) weights: Growing,
    pub(super) groups: Growing,
    pub(super) rows: Growing,
    pub(super) inner: Growing,
    pub(super) values: Growing,
    pub(super) largest: Growing,
    pub(super) bounds: Growing,
    pub(super) jobs: Growing,
    pub(super) conv_params: Growing,
    pub(super) stage2_params: Growing,
    pub(super) slots: Vec<Slot>,
    /// Number of the last submission that wrote sides; 0 stands for none.
    pub(super) epoch: u32,
    /// Memory of the last chunk's `f64` values, on the host.
    pub(super) host_values: Vec<(usize, Vec<f64>)>,
}

impl Buffers {
    pub(super) fn new(slots: usize) -> Self {
        let input = |label| Growing::new(label, Usage::STORAGE | Usage::COPY_DST);
        let uniform = |label| Growing::new(label, Usage::UNIFORM | Usage::COPY_DST);
        let output =
            |label| Growing::new(label, Usage::STORAGE | Usage::COPY_SRC | Usage::COPY_DST);
        let slot = |_| Slot {
            output: output("sides"),
            staging: Growing::new("staging", Usage::MAP_READ | Usage::COPY_DST),
            params: uniform("bits params"),
        };
        Self {
            closes: input("closes"),
            weights: input("weights"),
            groups: input("groups"),
            rows: input("rows"),
            inner: output("inner"),
            values: output("values"),
            largest: input("largest"),
            bounds: input("bounds"),
            jobs: input("jobs"),
            conv_params: uniform("conv params"),
            stage2_params: uniform("stage2 params"),
            slots: (0..slots).map(slot).collect(),
            epoch: 0,
            host_values: Vec::new(),
        }
    }
    /// Forgets all buffers.
    pub(super) fn renew(&mut self) {
        let epoch = self.epoch;
        *self = Self::new(self.slots.len());
        self.epoch = epoch;
    }
}
