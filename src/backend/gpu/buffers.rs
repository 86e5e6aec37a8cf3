//! Buffers that live as long as the engine and only grow: a fresh staging buffer copies at a fortieth of the speed of
//! a used one (measured on an H200: 1.3 against 50 GB/s).

use wgpu::BufferUsages as Usage;

use super::device::Device;
use super::error::Result;
use super::exact::ExactInputs;
use super::lists::Stamp;

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

/// Words of sides, which stay on the device until their lists are made, and their counts, which come back.
#[derive(Debug)]
pub(super) struct WordSlot {
    pub(super) bits_params: Growing,
    pub(super) exact_params: Growing,
    pub(super) count_params: Growing,
    pub(super) words: Growing,
    pub(super) counts: Growing,
    pub(super) staging: Growing,
}

/// Lists on their way back.
#[derive(Debug)]
pub(super) struct ListSlot {
    pub(super) params: Growing,
    pub(super) offsets: Growing,
    pub(super) lists: Growing,
    pub(super) staging: Growing,
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
    pub(super) exact: ExactInputs,
    pub(super) words: [WordSlot; WORD_SLOTS],
    pub(super) lists: [ListSlot; LIST_SLOTS],
    /// Number of the last submission that compared; 0 stands for none.
    epoch: u32,
}

/// Submissions whose words are on the device: the next is compared before the lists of the last are asked for.
pub(super) const WORD_SLOTS: usize = 2;
/// Submissions of lists in flight, and one being decoded.
pub(super) const LIST_SLOTS: usize = 3;

impl Buffers {
    pub(super) fn new() -> Self {
        let input = |label| Growing::new(label, Usage::STORAGE | Usage::COPY_DST);
        let uniform = |label| Growing::new(label, Usage::UNIFORM | Usage::COPY_DST);
        let staging = |label| Growing::new(label, Usage::MAP_READ | Usage::COPY_DST);
        let output =
            |label| Growing::new(label, Usage::STORAGE | Usage::COPY_SRC | Usage::COPY_DST);
        let word_slot = |_| WordSlot {
            bits_params: uniform("bits params"),
            exact_params: uniform("exact params"),
            count_params: uniform("count params"),
            words: output("words"),
            counts: output("counts"),
            staging: staging("staged counts"),
        };
        let list_slot = |_| ListSlot {
            params: uniform("list params"),
            offsets: input("offsets"),
            lists: output("lists"),
            staging: staging("staged lists"),
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
            exact: ExactInputs {
                rows: input("rows of words"),
                filters: input("exact filters"),
                taps: input("exact taps"),
                sums: input("sums"),
                closes: input("whole closes"),
            },
            words: std::array::from_fn(word_slot),
            lists: std::array::from_fn(list_slot),
            epoch: 0,
        }
    }

    /// The stamp of the next submission.
    pub(super) fn next_stamp(&mut self) -> Stamp {
        self.epoch = self.epoch.checked_add(1).unwrap_or(1);
        Stamp { epoch: self.epoch }
    }

    /// Forgets all buffers; the count of submissions goes on.
    pub(super) fn renew(&mut self) {
        let epoch = self.epoch;
        *self = Self::new();
        self.epoch = epoch;
    }
}
