//! The exact sign in machine integers, where prices are close to each other: the usual case of the exact stage.
//!
//! Filters of unit gain do not change their difference when a constant is taken off all prices, so prices are counted
//! from the newest one, exactly: as integers of the tick, or of half the unit in the last place of the newest close.
//! What is left is small, and the window's sum of weight times price mostly fits 64 bits, or 128.

use std::cmp::Ordering;

use num_integer::Integer;

use crate::filter::{ExactWeights, Form};
use crate::series::Series;

/// Sums below this fit an `i64`, and comparisons below its square an `i128`, with bits to spare for the bound's rounding.
const FITS: f64 = (1_u64 << 62) as f64;

/// Integer weights that fit 64 bits, oldest first.
#[derive(Debug)]
pub(super) struct Narrow {
    weights: Vec<i64>,
    denominator: i128,
    /// Sum of the weights' sizes.
    size: f64,
}

impl Narrow {
    pub(super) fn of(exact: &ExactWeights) -> Option<Self> {
        let Form::Small(integers) = &exact.0 else {
            return None;
        };
        let narrow = |&w: &i128| i64::try_from(w).ok();
        let weights: Vec<i64> = integers.weights.iter().map(narrow).collect::<Option<_>>()?;
        let size = weights.iter().map(|&w| (w as f64).abs()).sum();
        Some(Self {
            weights,
            denominator: integers.denominator,
            size,
        })
    }

    /// The numerator of the filter over prices whose newest is last, none larger in size than `largest`.
    fn numerator(&self, prices: &[i64], largest: f64) -> Option<i128> {
        let prices = &prices[prices.len() - self.weights.len()..];
        let terms = self.weights.iter().zip(prices);
        if self.size * largest < FITS {
            let sum = terms.fold(0_i64, |sum, (w, x)| sum.wrapping_add(w.wrapping_mul(*x)));
            return Some(sum.into());
        }
        // a product of two i64 always fits; the sum does where the bound says so
        let fits = self.size * largest < FITS * FITS;
        fits.then(|| terms.map(|(&w, &x)| i128::from(w) * i128::from(x)).sum())
    }
}

/// The sign of fast - slow on a bar, both filters of unit gain; `None` where something does not fit.
pub(super) fn decide(
    series: &Series,
    fast: &Narrow,
    slow: &Narrow,
    bar: usize,
) -> Option<Ordering> {
    let window = fast.weights.len().max(slow.weights.len());
    let mut buffer = [0; 512];
    let mut long = Vec::new();
    let prices = if window <= buffer.len() {
        &mut buffer[..window]
    } else {
        long.resize(window, 0);
        &mut long[..]
    };
    let largest = centre(series, bar, prices)?;
    let fits = |fast_scale: i128, slow_scale: i128| {
        let sizes = fast.size * fast_scale as f64 + slow.size * slow_scale as f64;
        sizes * largest < FITS * FITS
    };
    let (mut fast_scale, mut slow_scale) = (slow.denominator, fast.denominator);
    // a common divisor takes longer than the sums, and is seldom needed
    if !fits(fast_scale, slow_scale) {
        let common = fast_scale.gcd(&slow_scale);
        (fast_scale, slow_scale) = (fast_scale / common, slow_scale / common);
        if !fits(fast_scale, slow_scale) {
            return None;
        }
    }
    let fast = fast.numerator(prices, largest)? * fast_scale;
    let slow = slow.numerator(prices, largest)? * slow_scale;
    Some(fast.cmp(&slow))
}

/// Writes the window's prices as integers counted from the newest; returns a bound on their size.
fn centre(series: &Series, bar: usize, out: &mut [i64]) -> Option<f64> {
    let range = bar + 1 - out.len()..=bar;
    if let Some(ticks) = series.ticks() {
        let newest = ticks[bar];
        let mut size = 0;
        for (slot, &tick) in out.iter_mut().zip(&ticks[range]) {
            *slot = tick - newest; // prices are positive: no overflow
            size |= slot.unsigned_abs();
        }
        return Some(size as f64); // no size is larger than the union of all their bits
    }
    binary(&series.closes()[range], out)
}

/// Centred `f64` prices in units of half the last place of the newest close `c`.
///
/// With `c` in `[2^e, 2^(e+1))` the unit is `2^(e-53)`. If every `|close - c|`, as computed, is below `2^51` units,
/// which is a quarter of `2^e`, then every close is above `2^(e-1)`, so it is a whole number of units; so is the exact
/// difference, and being below `2^53` units it is an `f64`, which the subtraction returned. Scaling by a power of two
/// is exact, and adding `1.5 * 2^52` leaves the integer in the low bits of the sum.
fn binary(closes: &[f64], out: &mut [i64]) -> Option<f64> {
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    const LIMIT: f64 = (1_u64 << 51) as f64;
    let newest = *closes.last()?;
    let exponent = ((newest.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    if !(-900..=900).contains(&exponent) {
        return None;
    }
    let per_unit = f64::from_bits(((53 - exponent + 1023) as u64) << 52);
    let mut largest = 0.0_f64;
    for (slot, close) in out.iter_mut().zip(closes) {
        let units = (close - newest) * per_unit;
        let size = units.abs();
        largest = if size > largest { size } else { largest };
        *slot = ((units + SHIFT).to_bits() as i64).wrapping_sub(SHIFT.to_bits() as i64);
    }
    (largest < LIMIT).then_some(largest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Filter, Grid, Question, random_walk};

    /// The slow integers are the reference; both readings, and a price level where half units matter.
    #[test]
    fn machine_integers_agree_with_the_wide_ones() {
        let walk = random_walk(3_000, 5).unwrap();
        let ticks: Vec<i64> = walk.closes().iter().map(|p| (p / 7.0) as i64).collect();
        let near_power: Vec<f64> = walk.closes().iter().map(|p| p / 30_000.0 * 1.01).collect();
        let series = [
            walk.clone(),
            Series::from_ticks(&ticks, 0.01).unwrap(),
            Series::from_closes(&near_power).unwrap(),
        ];
        let filters = |specs: [&str; 3]| {
            specs
                .map(|spec| crate::parse_filters(spec).unwrap())
                .concat()
        };
        let fast = filters(["hma:20", "sma:4", "hma:200"]);
        let slow = filters(["hma3:48", "wma:7", "hma3:192"]);
        let grid = Grid::cross(&fast, &slow).unwrap();
        let narrow = |filter: &Filter| Narrow::of(&filter.exact_weights()).unwrap();
        let (mut met, mut ties) = (0, 0);
        for series in &series {
            let question = Question::new(series, &grid).unwrap();
            for combination in 0..grid.combinations() {
                let (fast, slow) = grid.combination(combination);
                let (fast, slow) = (narrow(fast), narrow(slow));
                for bar in (question.first_bar(combination)..series.bars()).step_by(37) {
                    let expected = question.predicate(combination).decide_exactly(bar);
                    let found = decide(series, &fast, &slow, bar);
                    assert!(
                        found.is_none_or(|found| found == expected),
                        "{combination} {bar}"
                    );
                    met += usize::from(found.is_some());
                    ties += usize::from(found == Some(Ordering::Equal));
                }
            }
        }
        assert!(met > 1_500 && ties > 0, "{met} {ties}");
    }

    #[test]
    fn prices_far_apart_are_handed_on() {
        let mut out = [0; 3];
        assert!(binary(&[1.0, 1.2, 1.25], &mut out).is_none());
        assert_eq!(
            binary(&[1.0, 1.1, 1.15], &mut out).map(|size| size > 0.0),
            Some(true)
        );
        assert!(binary(&[f64::MIN_POSITIVE; 3], &mut out).is_none());
    }

    /// A weight of so many in a window of two, the rest at the newest price, which counts as 0.
    fn by_hand(weight: i64, denominator: i128) -> Narrow {
        Narrow {
            weights: vec![weight, 0],
            denominator,
            size: weight as f64,
        }
    }

    /// Sums of 62 bits and more take 128, and those of 124 and more are handed on: each side of both limits, exactly.
    #[test]
    fn numerators_are_exact_or_handed_on() {
        let sum = |weight: i64, count: usize, price: i64| {
            let narrow = Narrow {
                weights: vec![weight; count],
                denominator: 1,
                size: weight as f64 * count as f64,
            };
            let found = narrow.numerator(&vec![price; count], price as f64);
            let exact = num_bigint::BigInt::from(weight) * price * count;
            assert!(found.is_none_or(|found| exact == found.into()));
            found.is_some()
        };
        // 2^61, 2^62, 2^63.6 (beyond an i64), 2^123.6, 2^124, 2^128
        assert!(sum(1 << 30, 2, 1 << 30) && sum(1 << 31, 2, 1 << 30) && sum(1 << 31, 3, 1 << 31));
        assert!(sum(1 << 61, 3, 1 << 61) && !sum(1 << 61, 4, 1 << 61));
        assert!(!sum(i64::MAX, 4, i64::MAX));
    }

    /// Denominators without a common divisor: `2^60 * 3^38 = 2^120.2`, and the two products sum to twice that.
    #[test]
    fn comparisons_that_may_not_fit_are_handed_on() {
        let (binary, ternary) = (1_i64 << 60, 3_i64.pow(38));
        let [fast, slow] = [binary, ternary].map(|weight| by_hand(weight, weight.into()));
        let decided = |range: i64| {
            let series = Series::from_ticks(&[10, 10 + range], 1.0).unwrap();
            decide(&series, &fast, &slow, 1)
        };
        // 2^123.2 fits, 2^124.2 does not
        assert_eq!(decided(4), Some(Ordering::Equal));
        assert_eq!(decided(8), None);
        // with a common divisor of 2^60 nearly everything fits
        let same = by_hand(binary / 2, binary.into());
        let series = Series::from_ticks(&[10, 1 << 40], 1.0).unwrap();
        assert_eq!(decide(&series, &fast, &same, 1), Some(Ordering::Less));
    }

    #[test]
    fn closes_far_from_1_are_counted_too() {
        let mut out = [0; 2];
        for scale in [1e-250, 1e250] {
            assert!(binary(&[scale, 1.1 * scale], &mut out).is_some());
        }
    }
}
