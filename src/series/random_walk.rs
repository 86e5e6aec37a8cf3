//! The built-in random walk: the same bits on every platform, because it uses no libm.

use super::{MAX_BARS, Series};
use crate::error::{Error, Result};
use crate::room;

/// Makes the random walk of the benchmarks: log-returns of mean 0 and standard deviation 0.001 from 30,000.
///
/// SplitMix64 from state `seed`; a bar's log-return is `r = 0.001 * (sum of 12 uniforms - 6)`, and
/// `close[t] = close[t-1] * exp(r)` with `exp` as its Taylor polynomial of degree 6 by Horner, each operation
/// rounded to `f64`, none fused. A longer walk of the same seed only appends bars.
///
/// # Errors
/// [`Error::EmptySeries`] for 0 bars, [`Error::TooManyBars`] above [`MAX_BARS`], [`SizeError::OutOfMemory`](crate::SizeError::OutOfMemory) where the
/// machine cannot hold them.
///
/// # Examples
/// ```
/// let walk = crosscheck::random_walk(150_000, 42)?;
/// assert_eq!(walk.closes()[1], 29973.187985250028);
/// # Ok::<(), crosscheck::Error>(())
/// ```
///
/// # Source
/// Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014,
/// <https://doi.org/10.1145/2660193.2660195>.
pub fn random_walk(bars: usize, seed: u64) -> Result<Series> {
    if bars > MAX_BARS {
        return Err(Error::TooManyBars {
            bars,
            limit: MAX_BARS,
        });
    }
    let mut generator = SplitMix64(seed);
    // The flat stretches, four bytes a bar, are what every engine asks for next: refused here, not there.
    room::check(bars, "bar", size_of::<f64>() + size_of::<u32>())?;
    let mut closes = Vec::with_capacity(bars);
    let mut close = 30_000.0;
    for bar in 0..bars {
        if bar > 0 {
            let sum = (0..12).fold(0.0, |sum, _| sum + generator.uniform());
            close *= exp(0.001 * (sum - 6.0));
        }
        closes.push(close);
    }
    Series::from_parts(closes, None)
}

fn exp(r: f64) -> f64 {
    let inner = 1.0 / 120.0 + r * (1.0 / 720.0);
    1.0 + r * (1.0 + r * (0.5 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * inner))))
}

struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 * (0.5 * f64::EPSILON)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walk_has_the_published_bits() {
        let walk = random_walk(150_000, 42).unwrap();
        let closes = walk.closes();
        let found = [closes[0], closes[1], closes[75_000], closes[149_999]];
        assert_eq!(
            found,
            [
                30_000.0,
                29973.187985250028,
                34753.84253455112,
                47452.15988547755
            ]
        );
        let longer = random_walk(150_010, 42).unwrap();
        assert_eq!(&longer.closes()[..150_000], closes);
    }
}
