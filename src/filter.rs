//! Filters: causal linear averages of the closes, each a small tree of windowed sums and linear combinations.
//!
//! Warm-up, exact integer weights, magnification and error bound are derived from the tree, never written twice.

mod bound;
mod evaluate;
mod group;
mod kernel;
mod lanes;
mod plan;
mod spec;
mod tile;
mod weights;
mod window;
mod window_sum;

use std::fmt;
use std::sync::Arc;

pub(crate) use bound::SLACK;
pub use bound::{UNIT_ROUNDOFF, gamma};
pub use spec::parse_filters;
pub use weights::ExactWeights;
pub(crate) use weights::{Form, IntegerWeights, split};

use crate::error::{Error, Result};

/// Largest period of a filter, in bars: far beyond any use, and `period^2` stays within 64 bits.
pub const MAX_PERIOD: usize = 1 << 24;

/// Which whole number of bars stands for the square root of a Hull average's period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum RootRounding {
    /// `floor(sqrt(period))`, as TA-Lib and Tulip do.
    #[default]
    Floor,
    /// The nearest whole number, as several published Pine scripts do.
    Nearest,
}

/// One node of a filter: a function of the closes, or of another node, that looks back only.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Expr {
    /// The close itself.
    Close,
    /// The mean of the last `period` values.
    Sma {
        /// Length of the window in bars.
        period: usize,
        /// What is averaged.
        of: Arc<Expr>,
    },
    /// The linearly weighted mean of the last `period` values: weight `k` on the `k`-th oldest.
    Wma {
        /// Length of the window in bars.
        period: usize,
        /// What is averaged.
        of: Arc<Expr>,
    },
    /// The sum of the last values times `weights`, oldest first; not normalised.
    Fir {
        /// One weight a bar of the window, oldest first.
        weights: Arc<[f64]>,
        /// What is weighted.
        of: Arc<Expr>,
    },
    /// A linear combination with whole coefficients.
    Combination(Vec<(i32, Arc<Expr>)>),
}

impl Expr {
    /// Returns the count of leading bars without a value.
    pub fn warm_up(&self) -> usize {
        match self {
            Self::Close => 0,
            Self::Sma { period, of } | Self::Wma { period, of } => period - 1 + of.warm_up(),
            Self::Fir { weights, of } => weights.len() - 1 + of.warm_up(),
            Self::Combination(terms) => terms.iter().map(|(_, of)| of.warm_up()).max().unwrap_or(0),
        }
    }
}

/// A causal linear average of the closes, with the name that the grid and the results show.
///
/// `value[t] = sum of weight[k] * close[t-k]`; *unit*: that of the closes; *warm-up*: [`Filter::warm_up`] bars.
///
/// # Examples
/// ```
/// use crosscheck::Filter;
/// let hull = Filter::hma(9)?;
/// assert_eq!((hull.name(), hull.warm_up()), ("hma:9", 10));
/// let values = hull.evaluate(&(0..20).map(f64::from).collect::<Vec<_>>())?;
/// assert!(values[9].is_nan());
/// assert!((values[10] - 10.0).abs() < 1e-14);
/// # Ok::<(), crosscheck::Error>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct Filter {
    name: String,
    expr: Arc<Expr>,
}

impl Filter {
    /// Makes the simple moving average: the mean of the last `period` closes.
    ///
    /// # Errors
    /// [`Error::ZeroPeriod`], or [`Error::PeriodTooLarge`] above [`MAX_PERIOD`].
    pub fn sma(period: usize) -> Result<Self> {
        let name = format!("sma:{period}");
        check_period(&name, period)?;
        Ok(Self {
            name,
            expr: Arc::new(Expr::Sma {
                period,
                of: Arc::new(Expr::Close),
            }),
        })
    }

    /// Makes the linearly weighted moving average:
    /// `sum of k * close[t-period+k], k = 1..=period, over period*(period+1)/2`.
    ///
    /// # Errors
    /// [`Error::ZeroPeriod`], or [`Error::PeriodTooLarge`] above [`MAX_PERIOD`].
    pub fn wma(period: usize) -> Result<Self> {
        let name = format!("wma:{period}");
        check_period(&name, period)?;
        Ok(Self {
            name,
            expr: wma_of(period, &Arc::new(Expr::Close)),
        })
    }

    /// Makes the Hull moving average, its root rounded down:
    /// `Wma(sqrt(period)) of (2*Wma(period/2) - Wma(period))`, divisions floored, windows at least 1.
    ///
    /// *Warm-up*: `period + floor(sqrt(period)) - 2`.
    ///
    /// # Errors
    /// [`Error::ZeroPeriod`], or [`Error::PeriodTooLarge`] above [`MAX_PERIOD`].
    ///
    /// # Source
    /// Alan Hull, "The Hull Moving Average", 2005, <https://alanhull.com/hull-moving-average>.
    pub fn hma(period: usize) -> Result<Self> {
        Self::hma_rounded(period, RootRounding::Floor)
    }

    /// Makes the Hull moving average with a chosen rounding of the root.
    ///
    /// # Errors
    /// [`Error::ZeroPeriod`], or [`Error::PeriodTooLarge`] above [`MAX_PERIOD`].
    pub fn hma_rounded(period: usize, rounding: RootRounding) -> Result<Self> {
        let (name, root) = match rounding {
            RootRounding::Floor => (format!("hma:{period}"), period.isqrt()),
            RootRounding::Nearest => (format!("hma-nearest:{period}"), nearest_root(period)),
        };
        check_period(&name, period)?;
        let close = Arc::new(Expr::Close);
        let inner = Expr::Combination(vec![
            (2, wma_of((period / 2).max(1), &close)),
            (-1, wma_of(period, &close)),
        ]);
        Ok(Self {
            name,
            expr: wma_of(root, &Arc::new(inner)),
        })
    }

    /// Makes the three-window Hull average of `period`, with `p = period/2`:
    /// `Wma(p) of (3*Wma(p/3) - Wma(p/2) - Wma(p))`, divisions floored, windows at least 1.
    ///
    /// An even period and the odd one above it give the same filter. *Warm-up*: `2p - 2`.
    ///
    /// # Errors
    /// [`Error::ZeroPeriod`], or [`Error::PeriodTooLarge`] above [`MAX_PERIOD`].
    pub fn hma3(period: usize) -> Result<Self> {
        let name = format!("hma3:{period}");
        check_period(&name, period)?;
        Ok(Self {
            name,
            expr: hma3_expr((period / 2).max(1)),
        })
    }

    /// Makes the three-window Hull average from its inner length `p`; it equals `hma3(2p)`.
    ///
    /// # Errors
    /// [`Error::ZeroPeriod`], or [`Error::PeriodTooLarge`] where `2p` is above [`MAX_PERIOD`].
    pub fn hma3_from_half(p: usize) -> Result<Self> {
        Self::hma3(p.saturating_mul(2))
    }

    /// Makes a custom kernel: `sum of weights[k] * close[t-len+1+k]`, oldest first, not normalised.
    ///
    /// # Errors
    /// [`Error::EmptyKernel`], [`Error::InvalidWeight`] or [`Error::PeriodTooLarge`].
    pub fn fir(name: &str, weights: &[f64]) -> Result<Self> {
        let expr = fir_of(name, weights, &Arc::new(Expr::Close))?;
        Ok(Self {
            name: name.to_owned(),
            expr,
        })
    }

    /// Makes a filter from a tree built by hand.
    ///
    /// # Errors
    /// [`Error::ZeroPeriod`], [`Error::EmptyKernel`], [`Error::InvalidWeight`] or [`Error::PeriodTooLarge`]
    /// for the first node that breaks a limit (its windows taken together, too).
    pub fn from_expr(name: &str, expr: Expr) -> Result<Self> {
        check_expr(name, &expr)?;
        Ok(Self {
            name: name.to_owned(),
            expr: Arc::new(expr),
        })
    }

    /// Returns the name, such as `hma:20`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the tree.
    pub fn expr(&self) -> &Expr {
        &self.expr
    }

    /// Returns the count of leading bars without a value; the window is one bar longer.
    pub fn warm_up(&self) -> usize {
        self.expr.warm_up()
    }

    /// Returns the sum of the sizes of the composite weights: how far an error in the closes can grow.
    pub fn magnification(&self) -> f64 {
        self.exact_weights().magnification()
    }

    /// Returns the exact weights on the closes, as integers over a common denominator.
    ///
    /// *Shape*: one a bar of the window, the oldest bar first.
    pub fn exact_weights(&self) -> ExactWeights {
        ExactWeights::of(&self.expr)
    }
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Filter({})", self.name)
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name)
    }
}

fn wma_of(period: usize, of: &Arc<Expr>) -> Arc<Expr> {
    Arc::new(Expr::Wma {
        period,
        of: Arc::clone(of),
    })
}

fn hma3_expr(p: usize) -> Arc<Expr> {
    let close = Arc::new(Expr::Close);
    let inner = Expr::Combination(vec![
        (3, wma_of((p / 3).max(1), &close)),
        (-1, wma_of((p / 2).max(1), &close)),
        (-1, wma_of(p, &close)),
    ]);
    wma_of(p, &Arc::new(inner))
}

fn fir_of(name: &str, weights: &[f64], of: &Arc<Expr>) -> Result<Arc<Expr>> {
    check_kernel(name, weights)?;
    let expr = Expr::Fir {
        weights: weights.into(),
        of: Arc::clone(of),
    };
    check_range(name, &expr)?;
    Ok(Arc::new(expr))
}

/// `sqrt(period)` to the nearest whole number; a half never occurs, since `(r + 1/2)^2` is no integer.
fn nearest_root(period: usize) -> usize {
    let root = period.isqrt();
    if period - root * root > root {
        root + 1
    } else {
        root
    }
}

fn check_period(name: &str, period: usize) -> Result<()> {
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

fn check_kernel(name: &str, weights: &[f64]) -> Result<()> {
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

fn check_expr(name: &str, expr: &Expr) -> Result<()> {
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
fn check_range(name: &str, expr: &Expr) -> Result<()> {
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
    use super::*;

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

    /// In 64 bits this gain wraps to 1; taken for 1, closes would be centred and every side below the centre turned.
    #[test]
    fn a_gain_beyond_64_bits_is_no_unit_gain() {
        use crate::{Backend, Grid, Naive, Sequential};
        let times = |factor: i32, of: Expr| Expr::Combination(vec![(factor, Arc::new(of))]);
        let large = times(1 << 30, times(1 << 30, times(16, Expr::Close)));
        let sum = Expr::Combination(vec![(1, Arc::new(large)), (1, Arc::new(Expr::Close))]);
        let fast = Filter::from_expr("2^64 + 1", sum).unwrap();
        let grid = Grid::from_pairs(&[(fast, Filter::sma(2).unwrap())]).unwrap();
        let walk = crate::random_walk(500, 3).unwrap();
        let always_long = vec![Vec::<u32>::new()];
        assert_eq!(Naive::new().crossovers(&walk, &grid).unwrap(), always_long);
        assert_eq!(
            Sequential::new().crossovers(&walk, &grid).unwrap(),
            always_long
        );
    }

    #[test]
    fn warm_up_follows_the_published_formulas() {
        for period in 1..400 {
            let p = (period / 2).max(1);
            assert_eq!(Filter::wma(period).unwrap().warm_up(), period - 1);
            assert_eq!(
                Filter::hma(period).unwrap().warm_up(),
                period + period.isqrt() - 2
            );
            assert_eq!(Filter::hma3(period).unwrap().warm_up(), 2 * p - 2);
        }
    }

    #[test]
    fn roots_round_as_named() {
        for period in 1..70_000_usize {
            let exact = (period as f64).sqrt();
            assert_eq!(nearest_root(period) as f64, exact.round(), "{period}");
        }
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
