//! Measures one combination while its trades come in, under any rules.

use super::moves::Moves;
use super::tally::{BarByBar, Tally};
use super::timeline::Timeline;
use super::{MetricSet, Metrics};
use crate::rules::Rules;
use crate::trade::{Costs, Recorder, Totals, Trade, TradeBuilder};

/// The totals of one combination, and what its metrics need beside them.
#[derive(Debug)]
pub(crate) struct Meter<'a> {
    totals: Totals,
    tally: Tally,
    share: f64,
    periods_per_year: Option<f64>,
    pays_last_leg: bool,
    timeline: Timeline<'a>,
}

impl<'a> Meter<'a> {
    /// A meter over so many bars; trades are on bars of the whole series that `moves` was made of.
    pub(crate) fn new(moves: &'a Moves<'a>, rules: &Rules, set: &MetricSet, bars: usize) -> Self {
        Self {
            totals: Totals::default(),
            tally: Tally::new(bars),
            share: Costs::new(rules).exposed_share(),
            periods_per_year: set.periods_per_year,
            pays_last_leg: rules.open_trade() == crate::rules::OpenTrade::Close,
            timeline: Timeline::new(moves, rules),
        }
    }

    /// Totals and metrics of a finished builder.
    pub(crate) fn finish(builder: TradeBuilder<'_, Self>, rules: &Rules) -> (Totals, Metrics) {
        let (mut meter, outcome) = builder.finish();
        let totals = meter.totals.with_outcome(&outcome, rules);
        meter.tally.turnover *= meter.share;
        meter.tally.closed_drawdown = meter.timeline.closed.deepest();
        let mut metrics = meter.tally.metrics(&totals);
        if let Some(periods_per_year) = meter.periods_per_year {
            meter.timeline.finish(totals.pnl_pct / 100.0);
            let bars = BarByBar {
                returns: meter.timeline.returns,
                drawdown: meter.timeline.drawdown.deepest(),
                equity: outcome.equity,
            };
            bars.add_to(&mut metrics, meter.tally.bars, periods_per_year);
        }
        (totals, metrics)
    }
}

impl Recorder for Meter<'_> {
    #[inline]
    fn record(&mut self, trade: &Trade, counts: bool) {
        self.totals.record(trade, counts);
        if !counts {
            return;
        }
        let tally = &mut self.tally;
        tally.gains += trade.pnl_pct.max(0.0);
        tally.losses -= trade.pnl_pct.min(0.0);
        tally.best = tally.best.max(trade.pnl_pct);
        tally.worst = tally.worst.min(trade.pnl_pct);
        tally.held += u64::from(trade.bars());
        let is_paid = self.pays_last_leg || !trade.is_open;
        tally.turnover += 1.0
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
