//! From crossovers to trades under any rules: a state machine that holds one open trade and no list.
//!
//! It stands apart from the ledger, which covers trades always in the market alone and is the sweep's hot path. Whoever wants
//! trades, totals or metrics implements [`Recorder`] and sees the same trades, one by one.

use super::Trade;
use super::costs::Costs;
use crate::crossover::{CrossoverSink, Side};
use crate::rules::{Compounding, Fill, FirstSide, OpenTrade, Rules};
use crate::series::Series;

/// The prices that trades are made of, up to the last bar that may be seen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Market<'a> {
    pub(crate) closes: &'a [f64],
    /// The prices at which orders are filled.
    fills: &'a [f64],
    lowest: f64,
    highest: f64,
}

impl<'a> Market<'a> {
    /// The bars below `end`; the rules were checked against the series.
    pub(crate) fn new(series: &'a Series, rules: &Rules, end: usize) -> Self {
        let closes = &series.closes()[..end];
        let opens = series.opens().map_or(closes, |opens| &opens[..end]);
        let (mut lowest, mut highest) = (f64::INFINITY, 0.0);
        if rules.compounding() == Compounding::Compounded {
            for &close in closes {
                lowest = close.min(lowest);
                highest = close.max(highest);
            }
        }
        let fills = if rules.fill() == Fill::NextOpen {
            opens
        } else {
            closes
        };
        Self {
            closes,
            fills,
            lowest,
            highest,
        }
    }

    /// Closes alone, filled at closes, for rules that do not compound.
    #[cfg(test)]
    pub(crate) fn of_closes(closes: &'a [f64]) -> Self {
        Self {
            closes,
            fills: closes,
            lowest: f64::INFINITY,
            highest: 0.0,
        }
    }

    pub(crate) fn last_bar(&self) -> u32 {
        self.closes.len() as u32 - 1
    }
}

/// What sees each trade as it closes, in the order of the entries.
pub(crate) trait Recorder: Send {
    /// Takes a trade; one that does not count is listed, and enters no total.
    fn record(&mut self, trade: &Trade, counts: bool);
}

impl Recorder for Vec<Trade> {
    fn record(&mut self, trade: &Trade, _: bool) {
        self.push(*trade);
    }
}

/// What the trades alone do not tell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Outcome {
    /// Signals whose fill would be after the last bar.
    pub(crate) unfilled: u64,
    /// Equity over the starting one, where PnL compounds.
    pub(crate) equity: f64,
    /// Bar on which the equity reached 0, which ended the trading.
    pub(crate) ruined_at: Option<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    bar: u32,
    side: Side,
    price: f64,
}

/// Turns signals into trades.
#[derive(Debug)]
pub(crate) struct TradeBuilder<'a, R> {
    market: Market<'a>,
    rules: Rules,
    costs: Costs,
    signal: Option<Side>,
    open: Option<Entry>,
    outcome: Outcome,
    recorder: R,
}

impl<'a, R: Recorder> TradeBuilder<'a, R> {
    pub(crate) fn new(market: Market<'a>, rules: &Rules, recorder: R) -> Self {
        Self {
            market,
            rules: *rules,
            costs: Costs::new(rules),
            signal: None,
            open: None,
            outcome: Outcome {
                unfilled: 0,
                equity: 1.0,
                ruined_at: None,
            },
            recorder,
        }
    }

    /// Settles the trade that is still open.
    pub(crate) fn finish(mut self) -> (R, Outcome) {
        if let Some(entry) = self.open.take() {
            let bar = self.market.last_bar();
            if self.ruin(entry, bar).is_none() {
                self.settle(entry, bar);
            }
        }
        (self.recorder, self.outcome)
    }

    /// Acts on the side that the signal has from `bar` on.
    fn signal(&mut self, bar: u32, side: Side) {
        self.signal = Some(side);
        let target = self.rules.direction().position(side);
        let held = self.open.map(|entry| entry.side);
        if target == held || self.outcome.ruined_at.is_some() {
            return;
        }
        let bar = bar + self.rules.fill().delay();
        let last = self.market.last_bar();
        if bar > last {
            // whoever is ruined by then has no order to fill
            let is_ruined = self
                .open
                .is_some_and(|entry| self.ruin(entry, last).is_some());
            if is_ruined {
                self.open = None;
            } else {
                self.outcome.unfilled += 1;
            }
            return;
        }
        let price = self.market.fills[bar as usize];
        if let Some(entry) = self.open.take() {
            if self.ruin(entry, bar).is_some() {
                return;
            }
            let exit = self.costs.fill(price, -entry.side.sign());
            self.close(entry, bar, exit, false);
        }
        if self.outcome.ruined_at.is_none() {
            self.open = target.map(|side| Entry {
                bar,
                side,
                price: self.costs.fill(price, side.sign()),
            });
        }
    }

    /// Ends the trading at the first close before `exit_bar` on which a compounding account is worth nothing.
    fn ruin(&mut self, entry: Entry, exit_bar: u32) -> Option<u32> {
        if self.rules.compounding() == Compounding::Additive {
            return None;
        }
        let sign = entry.side.sign();
        let is_ruin = |price: f64| self.costs.marked_pct(sign, entry.price, price) <= -100.0;
        let worst = if entry.side == Side::Long {
            self.market.lowest
        } else {
            self.market.highest
        };
        if !is_ruin(worst) {
            return None;
        }
        let bar = (entry.bar..exit_bar).find(|&bar| is_ruin(self.market.closes[bar as usize]))?;
        let exit = self.costs.fill(self.market.closes[bar as usize], -sign);
        self.close(entry, bar, exit, false);
        Some(bar)
    }

    fn close(&mut self, entry: Entry, bar: u32, exit: f64, is_open: bool) {
        let sign = entry.side.sign();
        let pnl_pct = self.costs.closed_pct(sign, entry.price, exit);
        let fees_pct = self.costs.fees_pct(sign, entry.price, exit, true);
        let trade = entry.into_trade(bar, exit, pnl_pct, fees_pct, is_open);
        self.recorder.record(&trade, true);
        self.compound(&trade);
    }

    /// Closes, marks or excludes the trade that is open at the last bar.
    fn settle(&mut self, entry: Entry, bar: u32) {
        let sign = entry.side.sign();
        let close = self.market.closes[bar as usize];
        if self.rules.open_trade() == OpenTrade::Close {
            return self.close(entry, bar, self.costs.fill(close, -sign), true);
        }
        let pnl_pct = self.costs.marked_pct(sign, entry.price, close);
        let fees_pct = self.costs.fees_pct(sign, entry.price, close, false);
        let trade = entry.into_trade(bar, close, pnl_pct, fees_pct, true);
        let counts = self.rules.open_trade() == OpenTrade::Mark;
        self.recorder.record(&trade, counts);
        if counts {
            self.compound(&trade);
        }
    }

    fn compound(&mut self, trade: &Trade) {
        if self.rules.compounding() == Compounding::Additive {
            return;
        }
        self.outcome.equity *= (1.0 + trade.pnl_pct / 100.0).max(0.0);
        if self.outcome.equity <= 0.0 {
            self.outcome.ruined_at = Some(trade.exit_bar);
        }
    }
}

impl Entry {
    fn into_trade(self, bar: u32, exit: f64, pnl_pct: f64, fees_pct: f64, is_open: bool) -> Trade {
        Trade {
            entry_bar: self.bar,
            exit_bar: bar,
            side: self.side,
            entry_price: self.price,
            exit_price: exit,
            pnl_pct,
            fees_pct,
            is_open,
        }
    }
}

impl<R: Recorder> CrossoverSink for TradeBuilder<'_, R> {
    fn arm(&mut self, bar: u32, side: Side) {
        self.signal = Some(side);
        if self.rules.first_side() == FirstSide::Enter {
            self.signal(bar, side);
        }
    }

    fn crossovers(&mut self, bars: &[u32]) {
        for &bar in bars {
            if let Some(side) = self.signal {
                self.signal(bar, side.opposite());
            }
        }
    }
}
