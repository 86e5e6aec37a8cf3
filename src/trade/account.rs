//! Totals under any rules: what the ledger does for the default ones, from the trades as they come.

use super::builder::{Outcome, Recorder, TradeBuilder};
use super::{Totals, Trade};
use crate::rules::{Compounding, Rules};

impl Recorder for Totals {
    fn record(&mut self, trade: &Trade, counts: bool) {
        self.has_open_trade |= trade.is_open;
        if !counts {
            return;
        }
        self.trades += 1;
        self.pnl_pct += trade.pnl_pct;
        self.fees_pct += trade.fees_pct;
        self.wins += u64::from(trade.pnl_pct > 0.0);
    }
}

impl Totals {
    /// Adds what the trades alone do not tell.
    pub(crate) fn with_outcome(mut self, outcome: &Outcome, rules: &Rules) -> Self {
        self.unfilled = outcome.unfilled;
        self.ruined_at = outcome.ruined_at;
        self.compounded_pct = (rules.compounding() == Compounding::Compounded)
            .then_some((outcome.equity - 1.0) * 100.0);
        self
    }
}

/// The totals of a finished builder.
pub(crate) fn totals(builder: TradeBuilder<'_, Totals>, rules: &Rules) -> Totals {
    let (totals, outcome) = builder.finish();
    totals.with_outcome(&outcome, rules)
}
