//! Closes taken relative to a centre, where the errors of sums are those of the local move, not of the price.

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
/// Prices in ticks are centred as integers, so that the result is exact below 2^53, and within one rounding above;
/// so is a centred `f64` close. Rounding is monotone, so none is larger than the two of the range's ends.
#[inline(always)]
pub(super) fn load(
    question: &Question<'_>,
    is_centred: bool,
    first_bar: usize,
    out: &mut [f64],
) -> (Centre, f64) {
    let series = question.series();
    let last = (first_bar + out.len()).min(series.bars());
    out[last - first_bar..].fill(0.0);
    if let Some(ticks) = series.ticks() {
        let ticks = &ticks[first_bar..last];
        let (low, high) = range(ticks, i64::MAX, i64::MIN);
        let tick = if is_centred {
            low + (high - low) / 2
        } else {
            0
        };
        for (x, price) in out.iter_mut().zip(ticks) {
            *x = (price - tick) as f64;
        }
        return (
            Centre { tick, close: 0.0 },
            (high - tick).max(tick - low) as f64,
        );
    }
    let closes = &series.closes()[first_bar..last];
    let (low, high) = range(closes, f64::INFINITY, f64::NEG_INFINITY);
    let close = if is_centred {
        low + (high - low) / 2.0
    } else {
        0.0
    };
    for (x, price) in out.iter_mut().zip(closes) {
        *x = price - close;
    }
    (Centre { tick: 0, close }, (high - close).max(close - low))
}

/// Lowest and highest value, in eight independent runs that the compiler keeps in vectors.
#[inline(always)]
fn range<T: Copy + PartialOrd>(values: &[T], most: T, least: T) -> (T, T) {
    let (mut low, mut high) = ([most; 8], [least; 8]);
    let (chunks, rest) = values.as_chunks::<8>();
    for chunk in chunks {
        for lane in 0..8 {
            low[lane] = if chunk[lane] < low[lane] {
                chunk[lane]
            } else {
                low[lane]
            };
            high[lane] = if chunk[lane] > high[lane] {
                chunk[lane]
            } else {
                high[lane]
            };
        }
    }
    let (mut lowest, mut highest) = (most, least);
    for &value in low.iter().chain(&high).chain(rest) {
        lowest = if value < lowest { value } else { lowest };
        highest = if value > highest { value } else { highest };
    }
    (lowest, highest)
}
