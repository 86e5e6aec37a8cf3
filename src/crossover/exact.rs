//! The last stage: the sign of fast - slow as the sign of one integer.
//!
//! With fast = F/D and slow = S/E over integer prices, `fast - slow` has the sign of `F*E/g - S*D/g`, `g = gcd(D, E)`.
//! Prices are integers already (ticks), or become so by the smallest binary exponent of the window. The 128-bit form
//! lets its sums wrap: they are right modulo 2^128, and a bound on the final value, checked first, says that it fits.

use std::cmp::Ordering;

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::Zero;

use super::{Decision, Stage};
use crate::filter::{ExactWeights, Form, IntegerWeights, split};
use crate::series::Series;

/// Bits that the final integer may use, one below the sign bit for the rounding of the bound itself.
const BITS: f64 = 126.0;

pub(super) fn decide(
    series: &Series,
    fast: &ExactWeights,
    slow: &ExactWeights,
    bar: usize,
) -> Decision {
    if let (Form::Small(fast), Form::Small(slow)) = (&fast.0, &slow.0)
        && let Some(ordering) = decide_small(series, fast, slow, bar)
    {
        return Decision {
            ordering,
            stage: Stage::Integer,
        };
    }
    let ordering = decide_big(series, &fast.to_big(), &slow.to_big(), bar);
    Decision {
        ordering,
        stage: Stage::BigInteger,
    }
}

fn decide_small(
    series: &Series,
    fast: &IntegerWeights<i128>,
    slow: &IntegerWeights<i128>,
    bar: usize,
) -> Option<Ordering> {
    let window = fast.weights.len().max(slow.weights.len());
    let common = fast.denominator.gcd(&slow.denominator);
    let (fast_scale, slow_scale) = (slow.denominator / common, fast.denominator / common);
    let prices = Prices::of(series, bar, window);
    let size = |weights: &IntegerWeights<i128>, scale: i128| {
        weights
            .weights
            .iter()
            .map(|&w| w as f64)
            .map(f64::abs)
            .sum::<f64>()
            * scale as f64
    };
    let weights = size(fast, fast_scale) + size(slow, slow_scale);
    if weights.log2() + prices.bits() >= BITS {
        return None;
    }
    let sum = |form: &IntegerWeights<i128>| {
        let first = window - form.weights.len();
        let terms = form.weights.iter().enumerate();
        terms.fold(0_i128, |sum, (k, &w)| {
            sum.wrapping_add(w.wrapping_mul(prices.small(first + k)))
        })
    };
    let fast = sum(fast).wrapping_mul(fast_scale);
    let slow = sum(slow).wrapping_mul(slow_scale);
    Some(fast.wrapping_sub(slow).cmp(&0))
}

fn decide_big(
    series: &Series,
    fast: &IntegerWeights<BigInt>,
    slow: &IntegerWeights<BigInt>,
    bar: usize,
) -> Ordering {
    let window = fast.weights.len().max(slow.weights.len());
    let prices = Prices::of(series, bar, window);
    let sum = |form: &IntegerWeights<BigInt>| {
        let first = window - form.weights.len();
        let terms = form.weights.iter().enumerate();
        terms.fold(BigInt::zero(), |sum, (k, w)| {
            sum + w * prices.big(first + k)
        })
    };
    (sum(fast) * &slow.denominator).cmp(&(sum(slow) * &fast.denominator))
}

/// The prices of one window as integers of a common unit.
enum Prices<'a> {
    Ticks(&'a [i64]),
    Binary {
        closes: &'a [f64],
        unit: i32,
        bits: f64,
    },
}

impl<'a> Prices<'a> {
    fn of(series: &'a Series, bar: usize, window: usize) -> Self {
        let range = bar + 1 - window..=bar;
        if let Some(ticks) = series.ticks() {
            return Self::Ticks(&ticks[range]);
        }
        let closes = &series.closes()[range];
        let unit = closes
            .iter()
            .map(|&close| split(close).1)
            .min()
            .unwrap_or(0);
        let largest = closes
            .iter()
            .fold(0.0_f64, |largest, &close| largest.max(close));
        Self::Binary {
            closes,
            unit,
            bits: largest.log2() - f64::from(unit) + 0.01,
        }
    }

    /// Bits of the largest price.
    fn bits(&self) -> f64 {
        match self {
            Self::Ticks(ticks) => ticks
                .iter()
                .fold(1.0_f64, |largest, &tick| largest.max(tick as f64))
                .log2(),
            Self::Binary { bits, .. } => *bits,
        }
    }

    /// A price known to fit because the bound on the final value does.
    fn small(&self, index: usize) -> i128 {
        match self {
            Self::Ticks(ticks) => ticks[index].into(),
            Self::Binary { closes, unit, .. } => {
                let (mantissa, exponent) = split(closes[index]);
                i128::from(mantissa) << (exponent - unit)
            }
        }
    }

    fn big(&self, index: usize) -> BigInt {
        match self {
            Self::Ticks(ticks) => ticks[index].into(),
            Self::Binary { closes, unit, .. } => {
                let (mantissa, exponent) = split(closes[index]);
                BigInt::from(mantissa) << (exponent - unit)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Weights of `2^64 + 1` over `2^64` beside a weight of 1: their sizes sum to `2^65` and a little, so that prices of 61
    /// bits reach the limit.
    fn is_decided(series: &Series) -> bool {
        let fast = IntegerWeights {
            weights: vec![1, 1 << 64],
            denominator: 1 << 64,
        };
        let slow = IntegerWeights {
            weights: vec![1],
            denominator: 1,
        };
        let found = decide_small(series, &fast, &slow, 1);
        assert!(found.is_none_or(Ordering::is_gt));
        found.is_some()
    }

    #[test]
    fn sums_that_may_not_fit_are_handed_on() {
        let ticks = |tick: i64| Series::from_ticks(&[tick, tick], 1e-9).unwrap();
        assert!(is_decided(&ticks((1 << 61) - (1 << 40))));
        assert!(!is_decided(&ticks(1 << 61)));
        // units of 2^-52: 510 takes 60.994 bits, and the bound adds a hundredth for its own roundings
        let closes = |close: f64| Series::from_closes(&[1.0 + f64::EPSILON, close]).unwrap();
        assert!(is_decided(&closes(505.0)));
        assert!(!is_decided(&closes(510.0)));
    }
}
