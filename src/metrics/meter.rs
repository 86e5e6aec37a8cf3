//! Measures one combination while its trades come in.

use super::moves::Moves;
use super::timeline::{Returns, Timeline};
use super::{MetricSet, Metrics, ReturnMoments};
use crate::filter::gamma;
use crate::rules::Rules;
use crate::trade::{Costs, Recorder, Totals, Trade, TradeBuilder};

/// The totals of one combination, and what its metrics need beside them.
#[derive(Debug)]
pub(crate) struct Meter<'a> {
    pub(super) totals: Totals,
    share: f64,
    pub(super) bars: u64,
    pub(super) periods_per_year: Option<f64>,
    pub(super) gains: f64,
    pub(super) losses: f64,
    pub(super) best: f64,
    pub(super) worst: f64,
    pub(super) held: u64,
    pub(super) turnover: f64,
    pays_last_leg: bool,
    pub(super) timeline: Timeline<'a>,
}

impl<'a> Meter<'a> {
    /// A meter over so many bars; trades are on bars of the whole series that `moves` was made of.
    pub(crate) fn new(moves: &'a Moves<'a>, rules: &Rules, set: &MetricSet, bars: usize) -> Self {
        Self {
            totals: Totals::default(),
            share: Costs::new(rules).exposed_share(),
            bars: bars as u64,
            periods_per_year: set.periods_per_year,
            gains: 0.0,
            losses: 0.0,
            best: f64::NEG_INFINITY,
            worst: f64::INFINITY,
            held: 0,
            turnover: 0.0,
            pays_last_leg: rules.open_trade() == crate::rules::OpenTrade::Close,
            timeline: Timeline::new(moves, rules),
        }
    }

    /// Totals and metrics of a finished builder.
    pub(crate) fn finish(builder: TradeBuilder<'_, Self>, rules: &Rules) -> (Totals, Metrics) {
        let (meter, outcome) = builder.finish();
        let totals = meter.totals.with_outcome(&outcome, rules);
        meter.measure(totals, outcome.equity)
    }

    /// The metrics of what was recorded.
    pub(super) fn measure(mut self, totals: Totals, equity: f64) -> (Totals, Metrics) {
        self.timeline.finish(totals.pnl_pct / 100.0);
        let mut metrics = self.of_trades(&totals);
        if let Some(periods_per_year) = self.periods_per_year {
            self.add_timeline(&mut metrics, equity, periods_per_year);
        }
        (totals, metrics)
    }

    fn of_trades(&self, totals: &Totals) -> Metrics {
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
            turnover: self.turnover * self.share,
            fees_pct: totals.fees_pct,
            closed_drawdown: self.timeline.closed.deepest(),
            max_drawdown: None,
            sharpe: None,
            sortino: None,
            calmar: None,
            returns: None,
        }
    }

    fn add_timeline(&self, metrics: &mut Metrics, equity: f64, periods_per_year: f64) {
        let returns = &self.timeline.returns;
        let moments = moments(returns, self.bars);
        let year = periods_per_year.sqrt();
        let downside = (returns.downside / self.bars as f64).sqrt();
        let drawdown = self.timeline.drawdown.deepest();
        let yearly = if metrics.compounded_pct.is_some() {
            equity.powf(periods_per_year / self.bars as f64) - 1.0
        } else {
            moments.mean * periods_per_year
        };
        metrics.max_drawdown = Some(drawdown);
        metrics.sharpe = moments.sharpe().map(|sharpe| sharpe * year);
        metrics.sortino = (downside > 0.0).then(|| moments.mean / downside * year);
        metrics.calmar = (drawdown > 0.0).then(|| yearly / drawdown);
        metrics.returns = Some(moments);
    }
}

impl Recorder for Meter<'_> {
    #[inline]
    fn record(&mut self, trade: &Trade, counts: bool) {
        self.totals.record(trade, counts);
        if !counts {
            return;
        }
        self.gains += trade.pnl_pct.max(0.0);
        self.losses -= trade.pnl_pct.min(0.0);
        self.best = self.best.max(trade.pnl_pct);
        self.worst = self.worst.min(trade.pnl_pct);
        self.held += u64::from(trade.bars());
        let is_paid = self.pays_last_leg || !trade.is_open;
        self.turnover += 1.0
            + if is_paid {
                trade.exit_price / trade.entry_price
            } else {
                0.0
            };
        if self.periods_per_year.is_some() {
            self.timeline.record(trade);
        } else {
            self.timeline.settle(trade);
        }
    }
}

/// Moments about the mean from the sums of powers.
///
/// The sum of squares is within `gamma(bars + 16)` of exact, relatively: at most one addition a bar, and fewer than 16
/// roundings in a term. A variation below that is rounding, and counts as none.
fn moments(returns: &Returns, bars: u64) -> ReturnMoments {
    let count = bars as f64;
    let mean = returns.sum / count;
    let about_mean = returns.squares - count * mean * mean;
    let is_varied = bars > 1 && about_mean > gamma(bars as usize + 16) * returns.squares;
    let standardised = |power: i32, sum: f64| {
        is_varied.then(|| sum / count / (about_mean / count).sqrt().powi(power))
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
