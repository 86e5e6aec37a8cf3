//! Names of the metrics, and why one can be undefined.

use super::Metrics;

/// A metric, as results are ranked by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Metric {
    /// [`Metrics::trades`].
    Trades,
    /// [`Metrics::win_rate`].
    WinRate,
    /// [`Metrics::profit_factor`].
    ProfitFactor,
    /// [`Metrics::average_trade_pct`].
    AverageTrade,
    /// [`Metrics::best_trade_pct`].
    BestTrade,
    /// [`Metrics::worst_trade_pct`].
    WorstTrade,
    /// [`Metrics::pnl_pct`].
    Pnl,
    /// [`Metrics::compounded_pct`].
    Compounded,
    /// [`Metrics::exposure`].
    Exposure,
    /// [`Metrics::average_bars`].
    AverageBars,
    /// [`Metrics::turnover`]; less is better.
    Turnover,
    /// [`Metrics::fees_pct`]; less is better.
    Fees,
    /// [`Metrics::closed_drawdown`]; less is better.
    ClosedDrawdown,
    /// [`Metrics::max_drawdown`]; less is better.
    MaxDrawdown,
    /// [`Metrics::sharpe`].
    Sharpe,
    /// [`Metrics::sortino`].
    Sortino,
    /// [`Metrics::calmar`].
    Calmar,
}

impl Metric {
    /// Says whether less is better, as of a drawdown.
    pub fn is_better_low(self) -> bool {
        matches!(
            self,
            Self::Turnover | Self::Fees | Self::ClosedDrawdown | Self::MaxDrawdown
        )
    }
}

/// Why a metric has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Undefined {
    /// The metric set leaves it out.
    NotAsked,
    /// The rules do not compound.
    NotCompounded,
    /// There are no trades.
    NoTrades,
    /// No trade lost, so a profit factor has no divisor.
    NoLosses,
    /// The returns do not vary beyond rounding.
    NoVariation,
    /// No return is negative.
    NoDownside,
    /// The equity never fell.
    NoDrawdown,
    /// The value is beyond the range of `f64`.
    OutOfRange,
}

impl Metrics {
    /// Returns a metric's value.
    pub fn value(&self, metric: Metric) -> Option<f64> {
        match metric {
            Metric::Trades => Some(self.trades as f64),
            Metric::WinRate => self.win_rate,
            Metric::ProfitFactor => self.profit_factor,
            Metric::AverageTrade => self.average_trade_pct,
            Metric::BestTrade => self.best_trade_pct,
            Metric::WorstTrade => self.worst_trade_pct,
            Metric::Pnl => Some(self.pnl_pct),
            Metric::Compounded => self.compounded_pct,
            Metric::Exposure => Some(self.exposure),
            Metric::AverageBars => self.average_bars,
            Metric::Turnover => Some(self.turnover),
            Metric::Fees => Some(self.fees_pct),
            Metric::ClosedDrawdown => Some(self.closed_drawdown),
            Metric::MaxDrawdown => self.max_drawdown,
            Metric::Sharpe => self.sharpe,
            Metric::Sortino => self.sortino,
            Metric::Calmar => self.calmar,
        }
    }

    /// Returns why a metric has no value; `None` where it has one.
    pub fn cause(&self, metric: Metric) -> Option<Undefined> {
        if self.value(metric).is_some() {
            return None;
        }
        Some(match metric {
            _ if self.out_of_range & metric.bit() != 0 => Undefined::OutOfRange,
            Metric::Compounded => Undefined::NotCompounded,
            _ if is_bar_by_bar(metric) && self.returns.is_none() => Undefined::NotAsked,
            _ if self.trades == 0 => Undefined::NoTrades,
            Metric::ProfitFactor => Undefined::NoLosses,
            Metric::Sortino => Undefined::NoDownside,
            Metric::Calmar => Undefined::NoDrawdown,
            _ => Undefined::NoVariation,
        })
    }
}

impl Metric {
    fn bit(self) -> u32 {
        1 << self as u32
    }
}

impl Metrics {
    /// Takes values that are not finite away, and notes of which metrics they were.
    pub(super) fn without_infinities(mut self) -> Self {
        // called again once the metrics of equity are there: what was found before stays
        let mut out_of_range = self.out_of_range;
        let mut check = |metric: Metric, value: &mut Option<f64>| {
            if value.is_some_and(|value| !value.is_finite()) {
                *value = None;
                out_of_range |= metric.bit();
            }
        };
        check(Metric::ProfitFactor, &mut self.profit_factor);
        check(Metric::MaxDrawdown, &mut self.max_drawdown);
        check(Metric::Sharpe, &mut self.sharpe);
        check(Metric::Sortino, &mut self.sortino);
        check(Metric::Calmar, &mut self.calmar);
        self.out_of_range = out_of_range;
        self
    }
}

fn is_bar_by_bar(metric: Metric) -> bool {
    matches!(
        metric,
        Metric::MaxDrawdown | Metric::Sharpe | Metric::Sortino | Metric::Calmar
    )
}
