//! Rigorous bounds of the kernels' `f32` sums, and what they assume of the device: `docs/numerics-gpu.md`.
//!
//! WGSL lets an operation return either neighbour of the exact result, so its unit round-off is `u = 2^-23`, not
//! `2^-24`; it lets a compiler reorder and fuse, so only the count of roundings that a term can meet is used, in any
//! order; and it lets subnormals flush to 0, an absolute error that the floors of both factors of a bound cover.

use crate::filter::{Expr, Filter};

/// Unit round-off of WGSL's `f32`: a correctly rounded operation may return either neighbour.
const UNIT: f64 = 1.0 / (1 << 23) as f64;
/// Roundings outside the sums: the close and its weight become `f32` (1 each, the host rounds to nearest); the
/// comparison of the difference with the bound, however a compiler arranges it, rounds sums of the two values and of
/// the bound's product at most 4 times; the last 2 are room for the bound's own `f32` product and sum.
const OUTSIDE: usize = 8;
/// Smallest factor of a bound. With [`LARGEST_FLOOR`] a bound is at least `2^-100` of a tile's scale, where the flushes
/// of a sum of 2^14 products and additions make at most `2^15 * 2^-126 = 2^-111`.
const FACTOR_FLOOR: f64 = 1.0 / (1_u64 << 40) as f64;
/// Smallest value of a block's largest centred close, in units of the tile's scale.
pub(super) const LARGEST_FLOOR: f32 = 1.0 / (1_u64 << 60) as f32;
/// Largest sum of weights that the device takes: no partial sum of scaled closes can then overflow.
const MAX_GAIN: f64 = (1_u64 << 60) as f64;

/// The bound on the relative error of `roundings` operations in `f32`.
pub(super) fn gamma(roundings: usize) -> f64 {
    let ku = roundings as f64 * UNIT;
    ku / (1.0 - ku)
}

/// Bound of a composite window, relative to the largest centred close: `gamma(p + 8) * sum of |weights|`.
///
/// A term meets a product and at most `p - 1` additions (padding adds exact zeros), and the roundings outside. The
/// weights come from exact integers within three roundings of `f64`: the factor `1 + 1e-9`.
pub(super) fn composite(weights: &[f64]) -> Option<f64> {
    let gain = weights.iter().map(|w| w.abs()).sum::<f64>();
    // NaN, from integers too large to convert, is refused too
    (gain <= MAX_GAIN).then(|| gamma(weights.len() + OUTSIDE) * gain * (1.0 + 1e-9))
}

/// Bound of a filter by its tree, relative to the largest centred close.
pub(super) fn staged(filter: &Filter) -> Option<f64> {
    let growth = growth(filter.expr());
    let size = growth.magnitude + growth.error;
    (size <= MAX_GAIN && inner_gains_fit(filter.expr()))
        .then(|| (growth.error + gamma(OUTSIDE) * size) * (1.0 + 1e-9))
}

/// Whether no inner node shrinks its values so far that what flushes to 0 there could outgrow the bound on the way up. A
/// bound is at least `2^-80` of the filter's gain; flushes of a node of gain `g` grow to at most `2^-111 / g` of it.
fn inner_gains_fit(expr: &Expr) -> bool {
    let fits = |of: &Expr| {
        let least = 1.0 / f64::from(1 << 20);
        (least..=MAX_GAIN).contains(&growth(of).magnitude) && inner_gains_fit(of)
    };
    match expr {
        Expr::Close => true,
        Expr::Sma { of, .. } | Expr::Wma { of, .. } | Expr::Fir { of, .. } => fits(of),
        Expr::Combination(terms) => terms.iter().all(|(_, of)| fits(of)),
    }
}

/// Size and error of a node, in units of the largest centred close.
#[derive(Clone, Copy)]
struct Growth {
    magnitude: f64,
    error: f64,
}

/// A windowed sum rounds each term at most `period + 1` times: its weight, the product, `period - 1` additions. A
/// combination of `n` terms rounds each `n + 1` times: its coefficient, the product, `n - 1` additions. Errors of the input pass with the
/// sum of the sizes of the weights.
fn growth(expr: &Expr) -> Growth {
    let window = |period: usize, gain: f64, of: &Expr| {
        let input = growth(of);
        let size = gain * (input.magnitude + input.error);
        Growth {
            magnitude: gain * input.magnitude,
            error: gain * input.error + gamma(period + 1) * size,
        }
    };
    match expr {
        Expr::Close => Growth {
            magnitude: 1.0,
            error: 0.0,
        },
        Expr::Sma { period, of } | Expr::Wma { period, of } => window(*period, 1.0, of),
        Expr::Fir { weights, of } => {
            let gain = weights.iter().map(|w| w.abs()).sum::<f64>();
            window(weights.len(), gain, of)
        }
        Expr::Combination(terms) => {
            let (mut magnitude, mut error) = (0.0, 0.0);
            for (coefficient, of) in terms {
                let (term, size) = (growth(of), f64::from(*coefficient).abs());
                magnitude += size * term.magnitude;
                error += size * term.error;
            }
            error += gamma(terms.len() + 1) * (magnitude + error);
            Growth { magnitude, error }
        }
    }
}

/// Whether the weights sum to exactly 1, so that a constant added to all closes is added to the value.
pub(super) fn has_unit_gain(filter: &Filter) -> bool {
    fn gain(expr: &Expr) -> Option<i64> {
        match expr {
            Expr::Close => Some(1),
            Expr::Sma { of, .. } | Expr::Wma { of, .. } => gain(of),
            Expr::Fir { .. } => None,
            Expr::Combination(terms) => terms.iter().try_fold(0_i64, |sum, (coefficient, of)| {
                sum.checked_add(i64::from(*coefficient).checked_mul(gain(of)?)?)
            }),
        }
    }
    gain(filter.expr()) == Some(1)
}

/// An `f32` not below the bound, and not below the floor; the factor covers the product with the largest close.
pub(super) fn round_up(factor: f64) -> f32 {
    let raised = factor.max(FACTOR_FLOOR) * (1.0 + 8.0 * UNIT);
    (raised as f32).next_up()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    /// `k u / (1 - k u)` with `u = 2^-23`, written again.
    fn g(k: i32) -> f64 {
        let ku = f64::from(k) * (-23.0_f64).exp2();
        ku / (1.0 - ku)
    }

    /// Within a tenth of the slack of the billionth that covers the bound's own roundings.
    fn is_with_slack(found: f64, derived: f64) -> bool {
        (0.9e-9..1.1e-9).contains(&(found / derived - 1.0))
    }

    #[test]
    fn bounds_follow_the_derivation() {
        let found = composite(&[0.25, -0.75, 1.5]).unwrap();
        assert!(is_with_slack(found, 2.5 * g(3 + 8)));
        let found = staged(&Filter::sma(5).unwrap()).unwrap();
        assert!(is_with_slack(found, g(6) + g(8) * (1.0 + g(6))));
        // Wma(3) of 2*Wma(4) - Wma(9)
        let mut error = 2.0 * g(5) + g(10);
        error += g(3) * (3.0 + error);
        error += g(4) * (3.0 + error);
        let found = staged(&Filter::hma(9).unwrap()).unwrap();
        assert!(is_with_slack(found, error + g(8) * (3.0 + error)));
    }

    #[test]
    fn gains_beyond_the_range_are_refused() {
        let fir = |weights: &[f64], of| Expr::Fir {
            weights: weights.into(),
            of: Arc::new(of),
        };
        let staged_of = |expr| staged(&Filter::from_expr("edge", expr).unwrap());
        let most = 60.0_f64.exp2();
        assert!(composite(&[most]).is_some() && composite(&[1.001 * most]).is_none());
        assert!(composite(&[f64::NAN]).is_none());
        assert!(staged_of(fir(&[0.9 * most], Expr::Close)).is_some());
        assert!(staged_of(fir(&[most], Expr::Close)).is_none());
        let least = (-20.0_f64).exp2();
        assert!(staged_of(fir(&[1.0], fir(&[least], Expr::Close))).is_some());
        assert!(staged_of(fir(&[1.0], fir(&[0.75 * least], Expr::Close))).is_none());
    }

    /// Eight units for the product with the largest close, then the next number up.
    #[test]
    fn factors_are_raised() {
        let unit = (-23.0_f32).exp2();
        assert_eq!(round_up(1.0), 1.0 + 9.0 * unit);
        let floor = (-40.0_f32).exp2();
        assert_eq!(round_up(0.0), floor * (1.0 + 9.0 * unit));
    }
}
