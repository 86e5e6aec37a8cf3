//! From what was added up over the trades of one combination to its metrics.

use super::timeline::Returns;
use super::{Metrics, ReturnMoments};
use crate::filter::gamma;
use crate::trade::Totals;

/// What the trades of one combination add up to, beside the totals.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tally {
    /// Bars that the metrics are over.
    pub(super) bars: u64,
    pub(super) gains: f64,
    pub(super) losses: f64,
    pub(super) best: f64,
    pub(super) worst: f64,
    pub(super) held: u64,
    pub(super) turnover: f64,
    pub(super) closed_drawdown: f64,
}

impl Tally {
    pub(super) fn new(bars: usize) -> Self {
        Self {
            bars: bars as u64,
            gains: 0.0,
            losses: 0.0,
            best: f64::NEG_INFINITY,
            worst: f64::INFINITY,
            held: 0,
            turnover: 0.0,
            closed_drawdown: 0.0,
        }
    }

    /// The metrics that need the trades alone.
    pub(super) fn metrics(&self, totals: &Totals) -> Metrics {
        let trades = totals.trades as f64;
        let each = |sum: f64| (totals.trades > 0).then(|| sum / trades);
        Metrics {
            trades: totals.trades,
            win_rate: each(totals.wins as f64),
            profit_factor: (self.losses > 0.0).then(|| self.gains / self.losses),
            average_trade_pct: each(totals.pnl_pct),
            best_trade_pct: (totals.trades > 0).then_some(self.best),
            worst_trade_pct: (totals.trades > 0).then_some(self.worst),
            pnl_pct: totals.pnl_pct,
            compounded_pct: totals.compounded_pct,
            exposure: self.held as f64 / self.bars as f64,
            average_bars: each(self.held as f64),
            turnover: self.turnover,
            fees_pct: totals.fees_pct,
            closed_drawdown: self.closed_drawdown,
            max_drawdown: None,
            sharpe: None,
            sortino: None,
            calmar: None,
            returns: None,
            out_of_range: 0,
        }
        .without_infinities()
    }
}

/// What the equity at every close adds up to.
#[derive(Debug, Clone, Copy)]
pub(super) struct BarByBar {
    pub(super) returns: Returns,
    pub(super) drawdown: f64,
    /// The equity at the end.
    pub(super) equity: f64,
}

impl BarByBar {
    pub(super) fn add_to(&self, metrics: &mut Metrics, bars: u64, periods_per_year: f64) {
        let moments = moments(&self.returns, bars);
        let year = periods_per_year.sqrt();
        let downside = (self.returns.downside / bars as f64).sqrt();
        let yearly = if metrics.compounded_pct.is_some() {
            self.equity.powf(periods_per_year / bars as f64) - 1.0
        } else {
            moments.mean * periods_per_year
        };
        metrics.max_drawdown = Some(self.drawdown);
        metrics.sharpe = moments.sharpe().map(|sharpe| sharpe * year);
        metrics.sortino = (downside > 0.0).then(|| moments.mean / downside * year);
        if !self.returns.squares.is_finite() {
            (metrics.sharpe, metrics.sortino) = (Some(f64::NAN), Some(f64::NAN));
        }
        metrics.calmar = (self.drawdown != 0.0).then(|| yearly / self.drawdown);
        metrics.returns = Some(moments);
        *metrics = metrics.without_infinities();
    }
}

/// Moments about the mean from the sums of powers.
///
/// The sum of squares is within `gamma(2 * bars + 48)` of exact, relatively: fewer than 16 roundings in a term, or 47 where
/// an account compounds (twice the 23 of a return, and one more), and one addition a bar; in differences of running sums each is relative to the block's sum, which is at most twice that of the
/// trades. A variation below that is rounding, and counts as none.
fn moments(returns: &Returns, bars: u64) -> ReturnMoments {
    let count = bars as f64;
    let mean = returns.sum / count;
    let about_mean = returns.squares - count * mean * mean;
    let is_varied = bars > 1 && about_mean > gamma(2 * bars as usize + 48) * returns.squares;
    let standardised = |power: i32, sum: f64| {
        let moment = sum / count / (about_mean / count).sqrt().powi(power);
        (is_varied && moment.is_finite()).then_some(moment)
    };
    let cubes = returns.cubes - 3.0 * mean * returns.squares + 2.0 * count * mean.powi(3);
    let fourths = returns.fourths - 4.0 * mean * returns.cubes
        + 6.0 * mean * mean * returns.squares
        - 3.0 * count * mean.powi(4);
    ReturnMoments {
        bars,
        mean,
        deviation: if is_varied {
            (about_mean / (count - 1.0)).sqrt()
        } else {
            0.0
        },
        skewness: standardised(3, cubes),
        kurtosis: standardised(4, fourths),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A variation of three quarters of the bound may be rounding; one of a little more than the bound is not.
    #[test]
    fn variation_counts_from_the_bound_on() {
        for bars in [4, 100, 10_000] {
            let bound = gamma(2 * bars + 48);
            let varies = |share: f64| {
                let squares = 1.0;
                let mean = ((squares - share * bound) / bars as f64).sqrt();
                let returns = Returns {
                    sum: mean * bars as f64,
                    squares,
                    ..Returns::default()
                };
                moments(&returns, bars as u64).deviation > 0.0
            };
            assert!(!varies(0.0) && !varies(0.75) && varies(1.25), "{bars}");
        }
    }
}
