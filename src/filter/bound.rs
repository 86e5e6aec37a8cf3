//! Rigorous bounds on the rounding error of a filter, derived from its tree (`docs/numerics.md`, section 3).

use super::{Expr, Filter};

/// Unit round-off of `f64`: half the distance from 1 to the next number, `2^-53`.
pub const UNIT_ROUNDOFF: f64 = f64::EPSILON / 2.0;

/// Bounds the relative error of `roundings` successive roundings: `k*u / (1 - k*u)`, `u = 2^-53`.
///
/// # Source
/// Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., SIAM 2002, lemma 3.1.
pub fn gamma(roundings: usize) -> f64 {
    let ku = roundings as f64 * UNIT_ROUNDOFF;
    ku / (1.0 - ku)
}

/// Lifts a bound above the few roundings made while it was computed.
pub(crate) const SLACK: f64 = 1.0 + 1e-9;

/// Magnitude and error of a node, both in units of the largest close of the window.
#[derive(Debug, Clone, Copy)]
struct Growth {
    magnitude: f64,
    error: f64,
}

impl Filter {
    /// Bounds the error of evaluating this filter window by window in `f64`, relative to the largest
    /// size of a close in the window.
    ///
    /// It holds for any order of the sums, fused or not, that adds only values of the window, each term
    /// through at most `period + 4` roundings: [`Filter::evaluate`], a plain loop and a matrix product all do.
    ///
    /// # Examples
    /// ```
    /// use crosscheck::Filter;
    /// let bound = Filter::wma(10)?.relative_error_bound();
    /// assert!(bound > 1e-16 && bound < 1e-14);
    /// # Ok::<(), crosscheck::Error>(())
    /// ```
    pub fn relative_error_bound(&self) -> f64 {
        growth(self.expr()).error * SLACK
    }

    /// Bounds [`Filter::magnification`] from above without deriving the weights: the product over the tree.
    pub fn magnification_bound(&self) -> f64 {
        growth(self.expr()).magnitude * SLACK
    }
}

/// Bounds the sum of the sizes of a tree's weights: the product over its nodes.
pub(super) fn magnitude(expr: &Expr) -> f64 {
    growth(expr).magnitude
}

/// Bounds the bits of the common denominator of a tree's weights, as if no factor were shared.
pub(super) fn denominator_bits(expr: &Expr) -> f64 {
    match expr {
        Expr::Close => 0.0,
        Expr::Sma { period, of } => (*period as f64).log2() + denominator_bits(of),
        Expr::Wma { period, of } => {
            let p = *period as f64;
            (p * (p + 1.0) / 2.0).log2() + denominator_bits(of)
        }
        // a weight of size s is a whole number over at most 2^(52 - log2 s)
        Expr::Fir { weights, of } => {
            let sizes = weights.iter().map(|w| w.abs()).filter(|&w| w > 0.0);
            let least = sizes.fold(1.0, f64::min);
            54.0 - least.log2() + denominator_bits(of)
        }
        Expr::Combination(terms) => terms.iter().map(|(_, of)| denominator_bits(of)).sum(),
    }
}

/// A windowed sum of `period` terms: each term meets one product, at most `period + 1` additions, and one
/// division or one product with a rounded weight (two roundings): `period + 4` roundings in all. The
/// error of the input passes with gain `sum of |weights|`, 1 for the averages.
fn growth(expr: &Expr) -> Growth {
    match expr {
        Expr::Close => Growth {
            magnitude: 1.0,
            error: 0.0,
        },
        Expr::Sma { period, of } | Expr::Wma { period, of } => window(*period, 1.0, growth(of)),
        Expr::Fir { weights, of } => {
            let gain = weights.iter().map(|w| w.abs()).sum::<f64>() * SLACK;
            window(weights.len(), gain, growth(of))
        }
        Expr::Combination(terms) => {
            let mut sum = Growth {
                magnitude: 0.0,
                error: 0.0,
            };
            for (coefficient, of) in terms {
                let term = growth(of);
                let size = f64::from(*coefficient).abs();
                sum.magnitude += size * term.magnitude;
                sum.error += size * term.error;
            }
            let rounding = gamma(terms.len() + 1) * (sum.magnitude + sum.error);
            Growth {
                magnitude: sum.magnitude,
                error: sum.error + rounding,
            }
        }
    }
}

fn window(terms: usize, gain: f64, input: Growth) -> Growth {
    let rounding = gamma(terms + 4) * gain * (input.magnitude + input.error);
    Growth {
        magnitude: gain * input.magnitude,
        error: gain * input.error + rounding,
    }
}
