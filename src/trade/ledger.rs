//! Adds up the trades of one combination while its crossovers stream in; the sweep's hot path for money.
// A kernel has the instructions of the function it is inlined into: these must be, or they run without SIMD.
#![allow(clippy::inline_always)]

use pulp::{Simd, WithSimd};

use super::{Position, Trade, pnl_pct};
use crate::crossover::{CrossoverSink, Side};
use crate::rules::{FirstSide, OpenTrade, Rules};

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
    first_side: FirstSide,
    open_trade: OpenTrade,
    totals: Totals,
    arch: pulp::Arch,
}

impl<'a> Ledger<'a> {
    /// A ledger over the closes of a series. It knows them by the bars of the signals that they fill.
    pub(crate) fn new(closes: &'a [f64], rules: &Rules) -> Self {
        Self {
            position: Position::new(rules.filled(closes), rules),
            first_side: rules.first_side(),
            open_trade: rules.open_trade(),
            totals: Totals::default(),
            arch: pulp::Arch::new(),
        }
    }

    /// Closes, marks or excludes the open trade at the last close.
    pub(crate) fn finish(mut self) -> Totals {
        let (last, fee_pct) = (self.position.last_bar(), self.position.fee_pct);
        if self.open_trade == OpenTrade::Mark {
            // the entry's leg alone
            self.position.fee_pct *= 0.5;
        }
        if let Some(trade) = self.position.turn(last, true) {
            self.totals.has_open_trade = true;
            if self.open_trade != OpenTrade::Exclude {
                self.add(&trade);
            }
        }
        self.totals.fees_pct = fees_pct(&self.totals, self.open_trade, fee_pct);
        self.totals
    }

    fn add(&mut self, trade: &Trade) {
        self.totals.trades += 1;
        self.totals.pnl_pct += trade.pnl_pct;
        self.totals.wins += u64::from(trade.pnl_pct > 0.0);
    }
}

/// The signals that can be filled at some closes, and the number of the others: a last one at most.
#[inline]
pub(crate) fn fillable<'b>(bars: &'b [u32], closes: &[f64]) -> (&'b [u32], u64) {
    match bars.split_last() {
        Some((&last, rest)) if last as usize >= closes.len() => (rest, 1),
        _ => (bars, 0),
    }
}

/// The fees of trades that all pay the same, but for the last one where it is marked.
pub(crate) fn fees_pct(totals: &Totals, open_trade: OpenTrade, fee_pct: f64) -> f64 {
    let is_marked = totals.has_open_trade && open_trade == OpenTrade::Mark;
    let unpaid = if is_marked { 0.5 } else { 0.0 };
    (totals.trades as f64 - unpaid) * fee_pct
}

impl CrossoverSink for Ledger<'_> {
    fn arm(&mut self, bar: u32, side: Side) {
        self.position.side = Some(side);
        if self.first_side == FirstSide::Enter {
            self.position.side = Some(side.opposite());
            self.crossovers(&[bar]);
        }
    }

    /// The trades of a batch side by side, then added up in the order of their entries: the sum is the same for
    /// every engine, however the batches fall.
    fn crossovers(&mut self, bars: &[u32]) {
        let (mut bars, unfilled) = fillable(bars, self.position.closes);
        self.totals.unfilled += unfilled;
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
        self.arch.dispatch(Turns {
            closes: self.position.closes,
            fee_pct: self.position.fee_pct,
            entry_bar: self.position.entry_bar.unwrap_or(last),
            sign: side.sign(),
            bars,
            totals: &mut self.totals,
        });
        self.position.entry_bar = Some(last);
        if bars.len() % 2 == 1 {
            self.position.side = Some(side.opposite());
        }
    }
}

/// Trades whose divisions are done side by side.
const BATCH: usize = 8;

/// A run of trades, each of which begins where the one before ends.
struct Turns<'t> {
    closes: &'t [f64],
    fee_pct: f64,
    entry_bar: u32,
    /// The side of the first.
    sign: f64,
    /// Where they end.
    bars: &'t [u32],
    totals: &'t mut Totals,
}

impl WithSimd for Turns<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let price = |bar: u32| self.closes[bar as usize];
        let mut entry = price(self.entry_bar);
        let (batches, rest) = self.bars.as_chunks::<BATCH>();
        let (mut sum, mut wins) = (self.totals.pnl_pct, 0);
        let signs: [f64; BATCH] =
            std::array::from_fn(|i| if i % 2 == 0 { self.sign } else { -self.sign });
        for bars in batches {
            // loops over the batch, not `map`: that may stay a call, without the instructions and through memory
            let mut prices = [entry; BATCH + 1];
            for (price, &bar) in prices[1..].iter_mut().zip(bars) {
                *price = self.closes[bar as usize];
            }
            entry = prices[BATCH];
            let mut pnl = [0.0; BATCH];
            for i in 0..BATCH {
                pnl[i] = pnl_pct(signs[i], prices[i], prices[i + 1], self.fee_pct);
            }
            wins += pnl.iter().map(|&pnl| u64::from(pnl > 0.0)).sum::<u64>();
            for pnl in pnl {
                sum += pnl;
            }
        }
        for (sign, &bar) in signs.iter().zip(rest) {
            let exit = price(bar);
            let pnl = pnl_pct(*sign, entry, exit, self.fee_pct);
            wins += u64::from(pnl > 0.0);
            sum += pnl;
            entry = exit;
        }
        self.totals.pnl_pct = sum;
        self.totals.wins += wins;
        self.totals.trades += self.bars.len() as u64;
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
