//! The largest intermediate of a formula, and the error it predicts, before anything runs.
//!
//! It stands apart from the filters' own bounds because those cover direct windows in `f64` only; here every formula is
//! judged in both precisions, from no more than the scale and the length of a series.

mod growth;
mod window;

use std::fmt;

use crate::backend::{Formula, Precision};
use crate::filter::Filter;
use crate::series::Series;

/// From which typical relative error on a formula is called unusable: 1e-5, a hundredth of an ordinary one-minute move.
///
/// Below it, an error turns only those crossovers that are close calls anyway; above it, the averages themselves are wrong.
pub const USABLE_RELATIVE_ERROR: f64 = 1e-5;

/// What an audit needs to know of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Scale {
    /// Number of bars.
    pub bars: usize,
    /// The smallest close.
    pub smallest: f64,
    /// The largest close.
    pub largest: f64,
}

impl Scale {
    /// Reads the scale off a series.
    pub fn of(series: &Series) -> Self {
        let closes = series.closes();
        Self {
            bars: closes.len(),
            smallest: closes.iter().copied().fold(f64::INFINITY, f64::min),
            largest: closes.iter().copied().fold(0.0, f64::max),
        }
    }
}

/// What one precision makes of a formula.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Prediction {
    /// The precision.
    pub precision: Precision,
    /// The sum that grows largest, in words.
    pub sum: &'static str,
    /// Bounds the size of every sum and product on the way, in the unit of the closes.
    pub largest_intermediate: f64,
    /// The distance between neighbouring numbers of the precision at that size.
    pub spacing: f64,
    /// Bounds the error of every value, in the unit of the closes: proven, for any closes within the scale.
    pub worst_error: f64,
    /// That bound over the smallest close; infinite where a sum may overflow.
    pub worst_relative_error: f64,
    /// The largest relative error to expect where roundings fall independently, as on an ordinary series: an
    /// estimate, never above the bound. Sliding sums come nowhere near their bound by chance.
    pub typical_relative_error: f64,
    /// Whether to use it.
    pub advice: Advice,
}

/// Whether a formula is fit for use at a precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Advice {
    /// The typical relative error is below [`USABLE_RELATIVE_ERROR`].
    Usable,
    /// It is not: use direct windows, or centred tiles.
    Unusable,
}

/// The audit of one formula for one filter: what it does to numbers of a scale, before it runs.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Audit {
    /// Name of the filter.
    pub filter: String,
    /// The formula.
    pub formula: Formula,
    /// The scale and length it was judged for.
    pub scale: Scale,
    /// In 32 bits.
    pub single: Prediction,
    /// In 64 bits.
    pub double: Prediction,
}

/// Predicts the largest intermediate and the error of a formula, in each precision, without running it.
///
/// # Examples
/// ```
/// use crosscheck::equivalence::{Advice, Scale, audit};
/// use crosscheck::{Filter, Formula};
/// let scale = Scale { bars: 150_000, smallest: 30_000.0, largest: 30_000.0 };
/// let prefix = audit(&Filter::wma(14)?, Formula::PrefixSums, scale);
/// assert_eq!(
///     prefix.single.to_string(),
///     "f32: S2 reaches 3.4e14, f32 steps there by 3.4e7: unusable (typical relative error 150, at worst 270); \
///      use direct windows"
/// );
/// let direct = audit(&Filter::wma(14)?, Formula::DirectWindows, scale);
/// assert_eq!(direct.single.advice, Advice::Usable);
/// # Ok::<(), crosscheck::Error>(())
/// ```
pub fn audit(filter: &Filter, formula: Formula, scale: Scale) -> Audit {
    let predict = |precision| growth::predict(filter.expr(), formula, scale, precision);
    Audit {
        filter: filter.name().to_owned(),
        formula,
        scale,
        single: predict(Precision::Single),
        double: predict(Precision::Double),
    }
}

impl Prediction {
    fn new(
        precision: Precision,
        sum: &'static str,
        scale: Scale,
        (largest, worst, typical): (f64, f64, f64),
    ) -> Self {
        let overflows = largest.is_nan() || largest >= precision.largest();
        let worst_error = if overflows || worst.is_nan() {
            f64::INFINITY
        } else {
            worst
        };
        let worst_relative_error = worst_error / scale.smallest;
        let typical = if overflows {
            f64::INFINITY
        } else {
            typical / scale.smallest
        };
        let typical_relative_error = typical.min(worst_relative_error);
        Self {
            precision,
            sum,
            largest_intermediate: largest,
            spacing: precision.spacing(largest),
            worst_error,
            worst_relative_error,
            typical_relative_error,
            advice: if typical_relative_error < USABLE_RELATIVE_ERROR {
                Advice::Usable
            } else {
                Advice::Unusable
            },
        }
    }
}

impl fmt::Display for Prediction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (precision, largest) = (self.precision, Short(self.largest_intermediate));
        write!(f, "{precision}: {} reaches {largest}, ", self.sum)?;
        write!(f, "{precision} steps there by {}: ", Short(self.spacing))?;
        let (typical, worst) = (
            Short(self.typical_relative_error),
            Short(self.worst_relative_error),
        );
        let (verdict, remedy) = match self.advice {
            Advice::Usable => ("usable", ""),
            Advice::Unusable => ("unusable", "; use direct windows"),
        };
        write!(
            f,
            "{verdict} (typical relative error {typical}, at worst {worst}){remedy}"
        )
    }
}

impl fmt::Display for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Scale {
            bars,
            smallest,
            largest,
        } = self.scale;
        let (filter, formula) = (&self.filter, self.formula);
        writeln!(
            f,
            "{filter} by {formula}, {bars} bars from {smallest} to {largest}:"
        )?;
        write!(f, "{}\n{}", self.single, self.double)
    }
}

/// A positive number in two digits: as it is where that is short, else as a power of ten.
pub(crate) struct Short(pub(crate) f64);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.0.abs();
        let exponent = size.log10().floor() as i32;
        let text = if size == 0.0 || !size.is_finite() {
            format!("{}", self.0)
        } else if !(0.01..1000.0).contains(&size) {
            format!("{:.1e}", self.0)
        } else if exponent > 1 {
            format!("{:.0}", (self.0 / 10.0).round() * 10.0)
        } else {
            let digits = (1 - exponent) as usize;
            let text = format!("{:.digits$}", self.0);
            text.trim_end_matches(".0").to_owned()
        };
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shortened_to_two_digits() {
        for (number, text) in [
            (0.0, "0"),
            (0.1204, "0.12"),
            (0.0123, "0.012"),
            (0.00123, "1.2e-3"),
            (1.0, "1"),
            (7.26, "7.3"),
            (72.6, "73"),
            (726.0, "730"),
            (7260.0, "7.3e3"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(Short(number).to_string(), text);
        }
    }
}
