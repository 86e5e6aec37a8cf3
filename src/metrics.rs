//! Metrics of a combination, all in `f64`, each with one documented formula (`docs/conventions.md` has them side by side).

mod always_in;
mod batch;
mod drawdown;
mod equity;
mod falls;
mod kind;
mod meter;
mod moves;
mod ranges;
mod rank;
mod returns;
mod steps;
mod tally;
mod timeline;
mod walk;

pub(crate) use always_in::AlwaysIn;
pub use equity::equity;
pub use kind::{Metric, Undefined};
pub(crate) use meter::Meter;
pub(crate) use moves::Moves;
pub use rank::rank;
pub(crate) use steps::Steps;

use crate::error::{Error, Result};

/// Which metrics a sweep computes beside its totals.
///
/// # Examples
/// ```
/// use crosscheck::{Backend, Grid, Metric, MetricSet, Rules, Sequential, random_walk};
/// let walk = random_walk(5_000, 42)?;
/// let grid = Grid::parse("hma:20..=60:20", "hma3:24..=72:24")?;
/// let minutes_a_year = MetricSet::all(525_600.0)?;
/// let sweep = Sequential::new().sweep_with(&walk, &grid, &Rules::published(), &minutes_a_year)?;
/// let best = sweep.best(Metric::Sharpe).expect("some combination has a Sharpe ratio");
/// assert!(sweep.rows[best].metrics.expect("asked for").sharpe.is_some());
/// # Ok::<(), crosscheck::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct MetricSet {
    periods_per_year: Option<f64>,
}

impl MetricSet {
    /// Returns the metrics that need the trades alone.
    pub fn trades() -> Self {
        Self {
            periods_per_year: None,
        }
    }

    /// Returns every metric; those of the bar-by-bar equity are annualised with so many bars a year: 525,600 for
    /// minutes around the clock, 252 for trading days.
    ///
    /// # Errors
    /// [`Error::InvalidMetrics`] where it is not finite and above 0.
    pub fn all(periods_per_year: f64) -> Result<Self> {
        if periods_per_year.is_finite() && periods_per_year > 0.0 {
            return Ok(Self {
                periods_per_year: Some(periods_per_year),
            });
        }
        let reason = format!("{periods_per_year} bars a year; give a finite number above 0");
        Err(Error::InvalidMetrics { reason })
    }

    /// Returns the bars a year by which bar-by-bar metrics are annualised, if those are asked for.
    pub fn periods_per_year(&self) -> Option<f64> {
        self.periods_per_year
    }
}

/// The metrics of one combination; a value that is not defined is `None`, and [`Metrics::cause`] says why.
///
/// *Unit*: fields ending in `_pct` are in percent of the stake (the entry's notional; the starting equity for
/// `compounded_pct`), drawdowns are positive fractions of the running peak, the others are plain numbers. Trades that
/// the rules exclude are in none of them.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Metrics {
    /// Trades.
    pub trades: u64,
    /// Share of trades with a PnL above 0: `wins / trades`.
    pub win_rate: Option<f64>,
    /// Sum of every PnL above 0 over the size of the sum of those below.
    pub profit_factor: Option<f64>,
    /// Mean PnL of a trade.
    pub average_trade_pct: Option<f64>,
    /// Largest PnL of a trade.
    pub best_trade_pct: Option<f64>,
    /// Smallest PnL of a trade.
    pub worst_trade_pct: Option<f64>,
    /// Sum of every PnL.
    pub pnl_pct: f64,
    /// `(product of (1 + PnL/100) - 1) * 100`, not below -100.
    pub compounded_pct: Option<f64>,
    /// Share of bars at whose close a position is held: sum of `exit_bar - entry_bar` over bars.
    pub exposure: f64,
    /// Mean of `exit_bar - entry_bar`.
    pub average_bars: Option<f64>,
    /// Notional of all fills over the stake: for each trade its share in the market, times 1 for the entry and times
    /// `exit/entry` for an exit that was paid for.
    pub turnover: f64,
    /// Sum of the fees.
    pub fees_pct: f64,
    /// Deepest fall of the equity after each trade below its peak so far; the equity starts at 1.
    pub closed_drawdown: f64,
    /// Deepest fall of the equity at each close below its peak so far. Above 1 where an additive equity fell below 0.
    pub max_drawdown: Option<f64>,
    /// `mean / deviation * sqrt(periods_per_year)` over the returns of all bars, flat ones included, with the sample's
    /// deviation (one less than the bars). Sharpe, *J. Portfolio Management* 21(1), 1994, at a risk-free rate of 0.
    pub sharpe: Option<f64>,
    /// `mean / sqrt(sum of squared negative returns / bars) * sqrt(periods_per_year)`. Sortino and Price, *J. Investing*
    /// 3(3), 1994, with a target of 0.
    pub sortino: Option<f64>,
    /// Yearly return over `max_drawdown`: `mean * periods_per_year`, or `equity^(periods_per_year / bars) - 1` where PnL
    /// compounds. Young, *Futures* 20, 1991.
    pub calmar: Option<f64>,
    /// Moments of the per-bar returns.
    pub returns: Option<ReturnMoments>,
    /// Metrics whose value is beyond the range of `f64`, a bit for each.
    #[cfg_attr(feature = "serde", serde(skip))]
    out_of_range: u32,
}

/// Moments of the returns of all bars, per bar and not annualised.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ReturnMoments {
    /// Bars, each with one return: the change of an additive equity, in stakes, or of a compounded one relative to itself.
    pub bars: u64,
    /// Their mean.
    pub mean: f64,
    /// Their sample standard deviation; 0 where no variation is beyond rounding.
    pub deviation: f64,
    /// Third standardised moment; `None` where they do not vary, or it is beyond the range of `f64`.
    pub skewness: Option<f64>,
    /// Fourth standardised moment, 3 for a normal distribution; `None` as the third.
    pub kurtosis: Option<f64>,
}

impl ReturnMoments {
    /// Returns the Sharpe ratio per bar, `None` where the returns do not vary.
    pub fn sharpe(&self) -> Option<f64> {
        (self.deviation > 0.0).then(|| self.mean / self.deviation)
    }
}
