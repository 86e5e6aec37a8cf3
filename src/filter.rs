//! Filters: causal linear averages of the closes, each a small tree of windowed sums and linear combinations.
//!
//! Warm-up, exact integer weights, magnification and error bound are derived from the tree, never written twice.

mod blocks;
mod bound;
mod check;
mod evaluate;
mod group;
mod kernel;
mod lanes;
mod plan;
#[cfg(test)]
mod roundings;
mod scratch;
mod segments;
mod spec;
mod weights;
mod whole;
mod window;
mod window_sum;

use std::fmt;
use std::sync::Arc;

pub(crate) use bound::SLACK;
pub use bound::{UNIT_ROUNDOFF, gamma};
pub(crate) use check::MAX_REGROWTH;
pub use spec::parse_filters;
pub use weights::ExactWeights;
pub(crate) use weights::{Form, IntegerWeights, split};

use self::check::{check_expr, check_kernel, check_period, check_range};
#[cfg(doc)]
use crate::error::Error;
use crate::error::Result;

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
    /// [`Error::ZeroPeriod`](crate::Error::ZeroPeriod), or [`Error::PeriodTooLarge`](crate::Error::PeriodTooLarge) above [`MAX_PERIOD`].
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
    /// [`Error::ZeroPeriod`](crate::Error::ZeroPeriod), or [`Error::PeriodTooLarge`](crate::Error::PeriodTooLarge) above [`MAX_PERIOD`].
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
    /// [`Error::ZeroPeriod`](crate::Error::ZeroPeriod), or [`Error::PeriodTooLarge`](crate::Error::PeriodTooLarge) above [`MAX_PERIOD`].
    ///
    /// # Source
    /// Alan Hull, "The Hull Moving Average", 2005, <https://alanhull.com/hull-moving-average>.
    pub fn hma(period: usize) -> Result<Self> {
        Self::hma_rounded(period, RootRounding::Floor)
    }

    /// Makes the Hull moving average with a chosen rounding of the root.
    ///
    /// # Errors
    /// [`Error::ZeroPeriod`](crate::Error::ZeroPeriod), or [`Error::PeriodTooLarge`](crate::Error::PeriodTooLarge) above [`MAX_PERIOD`].
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
    /// [`Error::ZeroPeriod`](crate::Error::ZeroPeriod), or [`Error::PeriodTooLarge`](crate::Error::PeriodTooLarge) above [`MAX_PERIOD`].
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
    /// [`Error::ZeroPeriod`](crate::Error::ZeroPeriod), or [`Error::PeriodTooLarge`](crate::Error::PeriodTooLarge) where `2p` is above [`MAX_PERIOD`].
    pub fn hma3_from_half(p: usize) -> Result<Self> {
        Self::hma3(p.saturating_mul(2))
    }

    /// Makes a custom kernel: `sum of weights[k] * close[t-len+1+k]`, oldest first, not normalised.
    ///
    /// # Errors
    /// [`Error::EmptyKernel`](crate::Error::EmptyKernel), [`Error::InvalidWeight`](crate::Error::InvalidWeight) or [`Error::PeriodTooLarge`](crate::Error::PeriodTooLarge).
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
    /// [`Error::ZeroPeriod`](crate::Error::ZeroPeriod), [`Error::EmptyKernel`](crate::Error::EmptyKernel), [`Error::InvalidWeight`](crate::Error::InvalidWeight) or [`Error::PeriodTooLarge`](crate::Error::PeriodTooLarge)
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
