//! Adds up the trades of one combination while its crossovers stream in; the sweep's hot path for money.
// A kernel has the instructions of the function it is inlined into: these must be, or they run without SIMD.
#![allow(clippy::inline_always)]

use super::{Position, Trade, pnl_pct};
use crate::crossover::{CrossoverSink, Side};
use crate::rules::Rules;

/// The result of one combination.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Totals {
    /// Trades, the open one included unless the rules exclude it.
    pub trades: u64,
    /// Sum of the trades' PnL, in the order of their entries: percent of the entry price, not compounded.
    pub pnl_pct: f64,
    /// Trades with a PnL above 0.
    pub wins: u64,
    /// Whether the last trade was still open at the last bar.
    pub has_open_trade: bool,
    /// Fees of the counted trades, in percent of the stake.
    pub fees_pct: f64,
    /// Signals whose fill would be after the last bar.
    pub unfilled: u64,
    /// PnL multiplied up, in percent of the starting equity, never below -100; `None` unless the rules compound.
    pub compounded_pct: Option<f64>,
    /// Bar on which a compounding account reached 0, which ended its trading.
    pub ruined_at: Option<u32>,
}

/// Adds up the trades of one combination as its crossovers come in; holds no list.
#[derive(Debug)]
pub(crate) struct Ledger<'a> {
    position: Position<'a>,
    totals: Totals,
}

impl<'a> Ledger<'a> {
    pub(crate) fn new(closes: &'a [f64], rules: &Rules) -> Self {
        Self {
            position: Position::new(closes, rules),
            totals: Totals::default(),
        }
    }

    /// Closes the open trade at the last close.
    pub(crate) fn finish(mut self) -> Totals {
        let last = self.position.last_bar();
        if let Some(trade) = self.position.turn(last, true) {
            self.add(&trade);
            self.totals.has_open_trade = true;
        }
        self.totals.fees_pct = self.totals.trades as f64 * self.position.fee_pct;
        self.totals
    }

    fn add(&mut self, trade: &Trade) {
        self.totals.trades += 1;
        self.totals.pnl_pct += trade.pnl_pct;
        self.totals.wins += u64::from(trade.pnl_pct > 0.0);
    }
}

impl CrossoverSink for Ledger<'_> {
    fn arm(&mut self, _: u32, side: Side) {
        self.position.side = Some(side);
    }

    /// The trades of a batch side by side, then added up in the order of their entries: the sum is the same for
    /// every engine, however the batches fall.
    fn crossovers(&mut self, bars: &[u32]) {
        let mut bars = bars;
        if self.position.entry_bar.is_none() {
            let Some((&first, rest)) = bars.split_first() else {
                return;
            };
            self.position.turn(first, false);
            bars = rest;
        }
        let (Some(&last), Some(side)) = (bars.last(), self.position.side) else {
            return;
        };
        let mut sign = side.sign();
        for batch in bars.chunks(BATCH) {
            self.add_batch(batch, sign);
            self.position.entry_bar = batch.last().copied();
            sign = if batch.len() % 2 == 0 { sign } else { -sign };
        }
        self.position.entry_bar = Some(last);
        self.position.side = Some(if sign > 0.0 { Side::Long } else { Side::Short });
    }
}

/// Trades whose divisions are done side by side.
const BATCH: usize = 16;

impl Ledger<'_> {
    #[inline(always)]
    fn add_batch(&mut self, bars: &[u32], sign: f64) {
        let closes = self.position.closes;
        let price = |bar: &u32| closes[*bar as usize];
        let (entry, last) = (self.position.entry_bar.as_ref(), bars.last());
        // an unused slot is a trade without a move, which is no win
        let mut prices = [last.map_or(1.0, price); BATCH + 1];
        prices[0] = entry.map_or(1.0, price);
        for (slot, bar) in prices[1..].iter_mut().zip(bars) {
            *slot = price(bar);
        }
        let fee = self.position.fee_pct;
        let mut pnl = [0.0; BATCH];
        for pair in 0..BATCH / 2 {
            let (first, second) = (2 * pair, 2 * pair + 1);
            pnl[first] = pnl_pct(sign, prices[first], prices[first + 1], fee);
            pnl[second] = pnl_pct(-sign, prices[second], prices[second + 1], fee);
        }
        let wins = pnl.iter().map(|&pnl| u64::from(pnl > 0.0));
        self.totals.wins += wins.sum::<u64>();
        for pnl in &pnl[..bars.len()] {
            self.totals.pnl_pct += pnl;
        }
        self.totals.trades += bars.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::super::TradeList;
    use super::*;

    #[test]
    fn ledger_and_list_agree_bit_for_bit() {
        let walk = crate::random_walk(500, 1).unwrap();
        let rules = Rules::published();
        let bars: Vec<u32> = (3..499).step_by(7).collect();
        let mut ledger = Ledger::new(walk.closes(), &rules);
        let mut list = TradeList::new(walk.closes(), &rules);
        for sink in [&mut ledger as &mut dyn CrossoverSink, &mut list] {
            sink.arm(1, Side::Long);
            sink.crossovers(&bars[..10]);
            sink.crossovers(&bars[10..]);
        }
        let (totals, trades) = (ledger.finish(), list.finish());
        assert_eq!(totals.trades, trades.len() as u64);
        assert_eq!(
            totals.pnl_pct,
            trades.iter().map(|t| t.pnl_pct).sum::<f64>()
        );
        assert_eq!(
            totals.wins,
            trades.iter().filter(|t| t.pnl_pct > 0.0).count() as u64
        );
    }
}
