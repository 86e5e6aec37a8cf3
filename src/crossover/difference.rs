//! The exact size of fast - slow on one bar, for reports: decisions need its sign only, people want to see how close it was.

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{Signed, ToPrimitive, Zero};

use crate::filter::{ExactWeights, IntegerWeights, split};
use crate::series::Series;

/// `fast - slow` in the unit of the closes, from integers of any size, rounded once to `f64` (to one of its two
/// neighbours); in ticks also by the two roundings of the tick's own size.
pub(super) fn difference(
    series: &Series,
    fast: &ExactWeights,
    slow: &ExactWeights,
    bar: usize,
) -> f64 {
    let (fast, slow) = (fast.to_big(), slow.to_big());
    let window = fast.weights.len().max(slow.weights.len());
    let (prices, unit) = prices(series, bar, window);
    let numerator =
        sum(&fast, &prices) * &slow.denominator - sum(&slow, &prices) * &fast.denominator;
    let denominator = fast.denominator * slow.denominator;
    match series.ticks() {
        // the size of a tick is that of any close over its count of ticks
        Some(ticks) => {
            ratio(&numerator, &denominator, 0) * (series.closes()[bar] / ticks[bar] as f64)
        }
        None => ratio(&numerator, &denominator, unit),
    }
}

/// The closes of the window as integers of `2^unit`, or as ticks.
fn prices(series: &Series, bar: usize, window: usize) -> (Vec<BigInt>, i32) {
    let range = bar + 1 - window..=bar;
    if let Some(ticks) = series.ticks() {
        return (ticks[range].iter().map(|&tick| tick.into()).collect(), 0);
    }
    let parts: Vec<_> = series.closes()[range].iter().map(|&x| split(x)).collect();
    let unit = parts.iter().map(|part| part.1).min().unwrap_or(0);
    let scaled = |&(mantissa, exponent): &(i64, i32)| BigInt::from(mantissa) << (exponent - unit);
    (parts.iter().map(scaled).collect(), unit)
}

fn sum(form: &IntegerWeights<BigInt>, prices: &[BigInt]) -> BigInt {
    let newest = &prices[prices.len() - form.weights.len()..];
    let terms = form.weights.iter().zip(newest);
    terms.fold(BigInt::zero(), |sum, (weight, price)| sum + weight * price)
}

/// `numerator / denominator * 2^exponent`: the quotient is taken to at least 64 bits before it is rounded.
fn ratio(numerator: &BigInt, denominator: &BigInt, exponent: i32) -> f64 {
    let missing = 64 + denominator.bits() as i64 - numerator.abs().bits() as i64;
    let shift = missing.max(0) as i32;
    let quotient = (numerator << shift).div_floor(denominator);
    scale(quotient.to_f64().unwrap_or(f64::NAN), exponent - shift)
}

/// `value * 2^exponent` in steps that neither overflow nor round before the last.
fn scale(mut value: f64, mut exponent: i32) -> f64 {
    while exponent > 1000 {
        value *= f64::powi(2.0, 1000);
        exponent -= 1000;
    }
    while exponent < -900 && value.abs() > 1.0 {
        value *= f64::powi(2.0, -60);
        exponent += 60;
    }
    value * f64::powi(2.0, exponent.max(-1022)) * f64::powi(2.0, (exponent + 1022).min(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_correctly_scaled() {
        let (three, seven) = (BigInt::from(3), BigInt::from(7));
        assert!((ratio(&three, &seven, 0) - 3.0 / 7.0).abs() <= f64::EPSILON / 4.0);
        assert!((ratio(&-three, &seven, 10) + 3.0 * 1024.0 / 7.0).abs() < 1e-13);
        let tiny = ratio(&BigInt::from(5), &BigInt::from(1), -1060);
        assert_eq!(tiny, 5.0 * f64::powi(2.0, -1000) * f64::powi(2.0, -60));
        assert_eq!(ratio(&BigInt::zero(), &seven, 3), 0.0);
    }
}
