//! From words of sides to the bars of their changes, without a branch that each word would mispredict.
// A kernel has the instructions of the function it is inlined into: these must be, or they run without SIMD.
#![allow(clippy::inline_always)]

use super::writer::{CrossoverSink, Side};

/// Crossovers on their way to the sink, in a batch.
#[derive(Debug)]
pub(crate) struct Found {
    bars: [u32; Self::CAPACITY],
    /// So small a type that no slot is out of range, which spares a check a word.
    count: u8,
}

impl Found {
    /// The largest count, and the 64 slots that are kept free.
    const CAPACITY: usize = u8::MAX as usize + 64;
    /// A word may bring 64 more.
    const FULL: u8 = 128;

    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self {
            bars: [0; Self::CAPACITY],
            count: 0,
        }
    }

    /// Adds the crossovers of whole words; returns the side after them.
    #[inline(always)]
    pub(super) fn push_words(
        &mut self,
        base: u32,
        words: &[u64],
        before: Side,
        sink: &mut dyn CrossoverSink,
    ) -> Side {
        let mut carry = u64::from(before == Side::Long);
        // in a register: each word waits for the count of the one before
        let (mut base, mut count) = (base, self.count);
        for &word in words {
            let changes = word ^ ((word << 1) | carry);
            carry = word >> 63;
            count += self.write(count, base, changes);
            base += 64;
            if count > Self::FULL {
                self.count = count;
                self.flush(sink);
                count = 0;
            }
        }
        self.count = count;
        Side::of(carry != 0)
    }

    /// Adds the bars of the set bits.
    #[inline(always)]
    pub(super) fn push_word(&mut self, base: u32, changes: u64, sink: &mut dyn CrossoverSink) {
        self.count += self.write(self.count, base, changes);
        if self.count > Self::FULL {
            self.flush(sink);
        }
    }

    /// Writes the bars of the set bits from a slot on, and returns their number. Four are always written: a word holds
    /// two on average, and a loop that ends where they do mispredicts once a word.
    #[inline(always)]
    fn write(&mut self, first: u8, base: u32, mut changes: u64) -> u8 {
        let changed = changes.count_ones() as u8;
        let (room, _) = self.bars[usize::from(first)..]
            .split_first_chunk_mut::<64>()
            .expect("64 slots are kept free");
        for slot in room.iter_mut().take(4) {
            *slot = base + changes.trailing_zeros();
            changes &= changes.wrapping_sub(1);
        }
        if changes != 0 {
            rest(room, base, changes);
        }
        changed
    }

    #[inline(never)]
    pub(super) fn flush(&mut self, sink: &mut dyn CrossoverSink) {
        if self.count > 0 {
            sink.crossovers(&self.bars[..usize::from(self.count)]);
            self.count = 0;
        }
    }
}

/// The set bits from the fifth on.
#[inline(always)]
fn rest(room: &mut [u32; 64], base: u32, mut changes: u64) {
    for slot in &mut room[4..] {
        *slot = base + changes.trailing_zeros();
        changes &= changes - 1;
        if changes == 0 {
            return;
        }
    }
}
