//! The one place where money is counted: from crossovers to trades, in `f64`, for every engine alike.

mod account;
mod builder;
mod costs;
mod ledger;

pub(crate) use account::totals;
pub(crate) use builder::{Market, Recorder, TradeBuilder};
pub(crate) use costs::{Costs, pnl_of_ratio, pnl_pct};
pub use ledger::Totals;
pub(crate) use ledger::{Ledger, fees_pct, fillable};

#[cfg(test)]
use crate::crossover::CrossoverSink;
use crate::crossover::Side;
use crate::rules::Rules;

/// A round trip, or the position still open at the end, marked at the last close.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Trade {
    /// Bar of the entry.
    pub entry_bar: u32,
    /// Bar of the exit; the last bar where the trade is still open.
    pub exit_bar: u32,
    /// Which way it faces.
    pub side: Side,
    /// Price of the entry, slippage included.
    pub entry_price: f64,
    /// Price of the exit, slippage included, or the last close where the trade is still open.
    pub exit_price: f64,
    /// `side * (exit/entry - 1) * 100`, minus the fees by the rules' [`FeeFormula`](crate::FeeFormula): percent of the
    /// stake.
    pub pnl_pct: f64,
    /// The fees paid, in percent of the stake.
    pub fees_pct: f64,
    /// Whether it was still open at the last bar.
    pub is_open: bool,
}

impl Trade {
    /// Returns how many bars it was held: from fill to fill.
    pub fn bars(&self) -> u32 {
        self.exit_bar - self.entry_bar
    }
}

/// The side after each crossover, and the entry of the trade that is open.
#[derive(Debug, Clone, Copy)]
struct Position<'a> {
    closes: &'a [f64],
    fee_pct: f64,
    side: Option<Side>,
    entry_bar: Option<u32>,
}

impl<'a> Position<'a> {
    fn new(closes: &'a [f64], rules: &Rules) -> Self {
        Self {
            closes,
            fee_pct: rules.fee_pct(),
            side: None,
            entry_bar: None,
        }
    }

    /// Turns to the other side at a crossover, or at the end; hands back the trade that closes there.
    fn turn(&mut self, bar: u32, is_open: bool) -> Option<Trade> {
        let side = self.side?;
        self.side = Some(side.opposite());
        let entry_bar = self.entry_bar.replace(bar)?;
        let (entry_price, exit_price) =
            (self.closes[entry_bar as usize], self.closes[bar as usize]);
        let pnl_pct = pnl_pct(side.sign(), entry_price, exit_price, self.fee_pct);
        Some(Trade {
            entry_bar,
            exit_bar: bar,
            side,
            entry_price,
            exit_price,
            pnl_pct,
            fees_pct: self.fee_pct,
            is_open,
        })
    }

    fn last_bar(&self) -> u32 {
        (self.closes.len() as u32).saturating_sub(1)
    }
}

/// Lists the trades of one combination under the default rules, which the ledger is tested against.
#[cfg(test)]
#[derive(Debug)]
pub(crate) struct TradeList<'a>(TradeBuilder<'a, Vec<Trade>>);

#[cfg(test)]
impl<'a> TradeList<'a> {
    pub(crate) fn new(closes: &'a [f64], rules: &Rules) -> Self {
        assert!(rules.is_plain());
        Self(TradeBuilder::new(
            Market::of_closes(closes),
            rules,
            Vec::new(),
        ))
    }

    pub(crate) fn finish(self) -> Vec<Trade> {
        self.0.finish().0
    }
}

#[cfg(test)]
impl CrossoverSink for TradeList<'_> {
    fn arm(&mut self, bar: u32, side: Side) {
        self.0.arm(bar, side);
    }

    fn crossovers(&mut self, bars: &[u32]) {
        self.0.crossovers(bars);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_side_only_arms_and_the_last_trade_is_marked() {
        let closes = [100.0, 100.0, 110.0, 120.0, 110.0, 100.0, 105.0];
        let mut list = TradeList::new(&closes, &Rules::default());
        list.arm(0, Side::Short);
        list.crossovers(&[1, 3, 5]);
        let trades = list.finish();
        let bars: Vec<_> = trades
            .iter()
            .map(|t| (t.entry_bar, t.exit_bar, t.side))
            .collect();
        assert_eq!(
            bars,
            [(1, 3, Side::Long), (3, 5, Side::Short), (5, 6, Side::Long)]
        );
        assert!((trades[0].pnl_pct - 20.0).abs() < 1e-12);
        assert!((trades[1].pnl_pct - 100.0 / 6.0).abs() < 1e-12);
        assert_eq!(
            trades.iter().map(|t| t.is_open).collect::<Vec<_>>(),
            [false, false, true]
        );
    }
}
