//! Measures the error of filter values against exact ones, which integers of 128 bits make cheap on every bar.
//!
//! Closes are whole numbers of the series' finest binary step, so each window of the tree is a sliding sum of
//! integers, which has no rounding to gather. The sums may wrap: they are right modulo `2^128`, and the size of the
//! final values, checked first, says that those fit.

use num_integer::Integer;

use crate::backend::Precision;
use crate::filter::{Expr, Filter, split};

/// The error of the values of one filter, against exact values.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct FilterError {
    /// Largest `|value - exact| / |exact|`.
    pub max_relative: f64,
    /// Largest `|value - exact|`, in the unit of the closes.
    pub max_absolute: f64,
    /// Largest `|value - exact|` in units of the last place of the exact value, in the precision asked for.
    pub max_ulp: f64,
    /// The bar of the largest relative error.
    pub bar: usize,
}

/// Measures `values` of a filter, NaN in the warm-up, against the exact filter of `closes`.
///
/// A value that is NaN or infinite counts as an infinite error. `None` where the filter has a custom kernel, where
/// the series is shorter than the window, or where the exact values need more than 128 bits (a series of very small
/// and very large prices).
///
/// # Panics
/// Where `values` and `closes` differ in length.
///
/// # Examples
/// ```
/// use crosscheck::equivalence::measure;
/// use crosscheck::{Filter, Formula, Precision, random_walk};
/// let walk = random_walk(150_000, 42)?;
/// let wma = Filter::wma(14)?;
/// let error = |formula: Formula| {
///     let values = formula.evaluate::<f32>(&wma, walk.closes()).values;
///     measure(&wma, walk.closes(), &values, Precision::Single).unwrap().max_relative
/// };
/// assert!(error(Formula::DirectWindows) < 1e-6);
/// assert!(error(Formula::PrefixSums) > 50.0);
/// # Ok::<(), crosscheck::Error>(())
/// ```
pub fn measure(
    filter: &Filter,
    closes: &[f64],
    values: &[f64],
    precision: Precision,
) -> Option<FilterError> {
    assert_eq!(values.len(), closes.len(), "one value a close");
    let exact = ExactValues::of(filter, closes)?;
    let warm_up = filter.warm_up();
    let mut found = FilterError {
        max_relative: 0.0,
        max_absolute: 0.0,
        max_ulp: 0.0,
        bar: warm_up,
    };
    for (index, &value) in values[warm_up..].iter().enumerate() {
        let (size, error) = exact.error(index, value);
        found.max_absolute = found.max_absolute.max(error);
        found.max_ulp = found.max_ulp.max(error / precision.spacing(size));
        if error / size > found.max_relative {
            found.max_relative = error / size;
            found.bar = warm_up + index;
        }
    }
    Some(found)
}

/// The valid values of a filter as `numerator / denominator * 2^unit`.
struct ExactValues {
    numerators: Vec<i128>,
    denominator: i128,
    unit: i32,
}

impl ExactValues {
    fn of(filter: &Filter, closes: &[f64]) -> Option<Self> {
        let denominator = denominator(filter.expr())?;
        let parts: Vec<_> = closes.iter().map(|&close| split(close)).collect();
        let unit = parts.iter().map(|part| part.1).min()?;
        let largest = closes.iter().copied().fold(0.0, f64::max);
        let bits = largest.log2() - f64::from(unit)
            + (filter.magnification_bound() * denominator as f64).log2();
        if filter.warm_up() >= closes.len() || bits.is_nan() || bits > 125.0 {
            return None;
        }
        // a close below 2^125 units is shifted by less than 125
        let units: Vec<i128> = parts
            .iter()
            .map(|&(mantissa, exponent)| i128::from(mantissa) << (exponent - unit))
            .collect();
        Some(Self {
            numerators: numerators(filter.expr(), &units)?,
            denominator,
            unit,
        })
    }

    /// Sizes of the exact value and of its distance to `value`; the exact value is taken as a sum of two `f64`.
    fn error(&self, index: usize, value: f64) -> (f64, f64) {
        let (whole, rest) = self.numerators[index].div_mod_floor(&self.denominator);
        let high = whole as f64;
        let low = (whole - high as i128) as f64 + rest as f64 / self.denominator as f64;
        let step = f64::powi(2.0, self.unit);
        let error = ((value / step - high) - low).abs() * step;
        let error = if error.is_nan() { f64::INFINITY } else { error };
        (((high + low) * step).abs(), error)
    }
}

/// The common denominator of a node, `None` for custom kernels and beyond 128 bits.
fn denominator(expr: &Expr) -> Option<i128> {
    match expr {
        Expr::Close => Some(1),
        Expr::Sma { period, of } => denominator(of)?.checked_mul(*period as i128),
        Expr::Wma { period, of } => {
            let period = *period as i128;
            denominator(of)?.checked_mul(period * (period + 1) / 2)
        }
        Expr::Fir { .. } => None,
        Expr::Combination(terms) => {
            let mut common = 1_i128;
            for (_, of) in terms {
                let term = denominator(of)?;
                common = common.checked_mul(term / common.gcd(&term))?;
            }
            Some(common)
        }
    }
}

fn numerators(expr: &Expr, closes: &[i128]) -> Option<Vec<i128>> {
    match expr {
        Expr::Close => Some(closes.to_vec()),
        Expr::Sma { period, of } => {
            Some(sliding(&numerators(of, closes)?, *period, |plain, _| plain))
        }
        Expr::Wma { period, of } => {
            Some(sliding(&numerators(of, closes)?, *period, |_, weighted| {
                weighted
            }))
        }
        Expr::Fir { .. } => None,
        Expr::Combination(terms) => {
            let common = denominator(expr)?;
            let valid = closes.len() - expr.warm_up();
            let mut sum = vec![0_i128; valid];
            for (coefficient, of) in terms {
                let scale = i128::from(*coefficient) * (common / denominator(of)?);
                let values = numerators(of, closes)?;
                for (sum, value) in sum.iter_mut().zip(&values[values.len() - valid..]) {
                    *sum = sum.wrapping_add(value.wrapping_mul(scale));
                }
            }
            Some(sum)
        }
    }
}

/// The plain and the linearly weighted sum of each window, of which `pick` takes one.
fn sliding(input: &[i128], period: usize, pick: impl Fn(i128, i128) -> i128) -> Vec<i128> {
    let times = period as i128;
    let (mut plain, mut weighted) = (0_i128, 0_i128);
    let mut out = Vec::with_capacity(input.len() + 1 - period);
    for (bar, &value) in input.iter().enumerate() {
        weighted = weighted
            .wrapping_sub(plain)
            .wrapping_add(value.wrapping_mul(times));
        plain = plain.wrapping_add(value);
        if bar >= period {
            plain = plain.wrapping_sub(input[bar - period]);
        }
        if bar + 1 >= period {
            out.push(pick(plain, weighted));
        }
    }
    out
}
