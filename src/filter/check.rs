//! What a filter may be: checked where it is made, so that every engine can trust its sums.

use super::{Expr, MAX_PERIOD, bound};
use crate::error::{Error, Result};

pub(super) fn check_period(name: &str, period: usize) -> Result<()> {
    if period == 0 {
        return Err(Error::ZeroPeriod {
            filter: name.to_owned(),
        });
    }
    if period > MAX_PERIOD {
        return Err(Error::PeriodTooLarge {
            filter: name.to_owned(),
            period,
            limit: MAX_PERIOD,
        });
    }
    Ok(())
}

pub(super) fn check_kernel(name: &str, weights: &[f64]) -> Result<()> {
    if weights.is_empty() {
        return Err(Error::EmptyKernel {
            filter: name.to_owned(),
        });
    }
    check_period(name, weights.len())?;
    for (index, &value) in weights.iter().enumerate() {
        let size = value.abs();
        if value != 0.0 && !(1e-60..=1e60).contains(&size) {
            return Err(Error::InvalidWeight {
                filter: name.to_owned(),
                index,
                value,
            });
        }
    }
    Ok(())
}

pub(super) fn check_expr(name: &str, expr: &Expr) -> Result<()> {
    match expr {
        Expr::Close => Ok(()),
        Expr::Sma { period, of } | Expr::Wma { period, of } => {
            check_period(name, *period)?;
            check_expr(name, of)
        }
        Expr::Fir { weights, of } => {
            check_kernel(name, weights)?;
            check_expr(name, of)
        }
        Expr::Combination(terms) if terms.is_empty() => Err(Error::EmptyKernel {
            filter: name.to_owned(),
        }),
        Expr::Combination(terms) => terms.iter().try_for_each(|(_, of)| check_expr(name, of)),
    }?;
    check_period(name, expr.warm_up() + 1)?;
    check_range(name, expr)
}

/// Keeps every node's values near the size of the closes: no sum of closes up to 1e230 overflows on the way, what
/// underflows grows by less than [`MAX_REGROWTH`] further up, and the exact weights convert to `f64`.
pub(super) fn check_range(name: &str, expr: &Expr) -> Result<()> {
    let gain = bound::magnitude(expr);
    let bits = bound::denominator_bits(expr);
    let reason = if !GAINS.contains(&gain) {
        format!("may multiply closes by {gain:e}")
    } else if bits > MAX_DENOMINATOR_BITS {
        format!("has weights over a denominator of up to {bits:.0} bits")
    } else {
        return Ok(());
    };
    Err(Error::FilterOutOfRange {
        filter: name.to_owned(),
        reason,
    })
}

/// Sum of the sizes of a node's weights, as the product over its tree.
const GAINS: std::ops::RangeInclusive<f64> = 1e-60..=1e60;

/// Most that the error of an inner node can be multiplied by on its way to the root: the largest gain over the least.
pub(crate) const MAX_REGROWTH: f64 = 1e120;

/// With gains up to 1e60 the numerators stay below `2^1000`, within `f64`.
const MAX_DENOMINATOR_BITS: f64 = 800.0;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::Filter;

    /// Each of these made two engines disagree, or an intermediate infinite or zero, before the range was checked.
    #[test]
    fn trees_that_leave_the_proven_range_are_refused() {
        let close = Arc::new(Expr::Close);
        let fir = |weights: &[f64], of: &Arc<Expr>| {
            Arc::new(Expr::Fir {
                weights: weights.into(),
                of: Arc::clone(of),
            })
        };
        let halves = (0..1025).fold(Arc::clone(&close), |of, _| {
            Arc::new(Expr::Sma { period: 2, of })
        });
        let large = fir(&[1e60], &close);
        let small = fir(&[1e60], &fir(&[1e-58], &fir(&[1e-58], &close)));
        for expr in [
            Expr::Combination(vec![(1, halves)]),
            (*large).clone(),
            (*small).clone(),
        ] {
            let refused = Filter::from_expr("wild", expr);
            assert!(
                matches!(refused, Err(Error::FilterOutOfRange { .. })),
                "{refused:?}"
            );
        }
        assert!(matches!(
            Filter::fir("none", &[0.0]),
            Err(Error::FilterOutOfRange { .. })
        ));
        let tail = [1e-40, 0.5, 0.5];
        assert!(Filter::fir("a tap of a Gaussian's tail", &tail).is_ok());
    }

    #[test]
    fn periods_out_of_range_are_refused() {
        assert!(matches!(Filter::wma(0), Err(Error::ZeroPeriod { .. })));
        assert!(matches!(Filter::hma(0), Err(Error::ZeroPeriod { .. })));
        assert!(matches!(
            Filter::hma3(usize::MAX),
            Err(Error::PeriodTooLarge { .. })
        ));
        assert!(matches!(
            Filter::hma3_from_half(usize::MAX),
            Err(Error::PeriodTooLarge { .. })
        ));
        assert!(matches!(
            Filter::fir("none", &[]),
            Err(Error::EmptyKernel { .. })
        ));
        assert!(matches!(
            Filter::fir("bad", &[1.0, f64::NAN]),
            Err(Error::InvalidWeight { index: 1, .. })
        ));
    }
}
