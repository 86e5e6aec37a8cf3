//! Closes taken relative to a centre, where the errors of sums are those of the local move, not of the price.
// A kernel has the instructions of the function it is inlined into: these must be, or they run without SIMD.
#![allow(clippy::inline_always)]

use crate::question::Question;

/// What is subtracted from the closes of a stretch of bars; in ticks where the series has them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Centre {
    tick: i64,
    close: f64,
}

impl Centre {
    /// The distance from another centre of the same series; within one rounding.
    pub(super) fn minus(self, other: Self) -> f64 {
        (self.tick - other.tick) as f64 + (self.close - other.close)
    }
}

/// Writes centred closes from `first_bar` on, 0 past the end, and returns their centre and largest size.
///
/// The centre is the close in the middle: half the range at best, the whole range at worst, and no search for it.
/// Prices in ticks are centred as integers, so that the result is exact below 2^53, and within one rounding above; so
/// is a centred `f64` close.
#[inline(always)]
pub(super) fn load(
    question: &Question<'_>,
    is_centred: bool,
    first_bar: usize,
    out: &mut [f64],
) -> (Centre, f64) {
    let series = question.series();
    let last = (first_bar + out.len()).min(series.bars());
    let middle = first_bar + (last - first_bar) / 2;
    let (out, past) = out.split_at_mut(last - first_bar);
    past.fill(0.0);
    let mut centre = Centre::default();
    if let Some(ticks) = series.ticks() {
        centre.tick = if is_centred { ticks[middle] } else { 0 };
        let centred = |tick: i64| (tick - centre.tick) as f64;
        (centre, write(&ticks[first_bar..last], centred, out))
    } else {
        let closes = series.closes();
        centre.close = if is_centred { closes[middle] } else { 0.0 };
        let centred = |close: f64| close - centre.close;
        (centre, write(&closes[first_bar..last], centred, out))
    }
}

/// Writes the centred prices and returns the largest size, in eight runs that the compiler keeps in a vector.
#[inline(always)]
fn write<T: Copy>(prices: &[T], centred: impl Fn(T) -> f64, out: &mut [f64]) -> f64 {
    let mut largest = [0.0; 8];
    let (chunks, rest) = prices.as_chunks::<8>();
    let (slots, last) = out.as_chunks_mut::<8>();
    for (chunk, slots) in chunks.iter().zip(slots) {
        for lane in 0..8 {
            let x: f64 = centred(chunk[lane]);
            slots[lane] = x;
            let size = x.abs();
            largest[lane] = if size > largest[lane] {
                size
            } else {
                largest[lane]
            };
        }
    }
    for (&price, slot) in rest.iter().zip(last) {
        *slot = centred(price);
        largest[0] = slot.abs().max(largest[0]);
    }
    largest.into_iter().fold(0.0, f64::max)
}
