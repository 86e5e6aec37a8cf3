//! The reference for trades and equity: the rules spelled out bar by bar, with nothing shared with the crate.
//!
//! It first says, for each bar, what is to be held at its close; trades are the runs of one held side, and equity
//! is marked on every bar. The crate goes from event to event instead.

use crosscheck::{
    Compounding, Direction, FeeFormula, Fill, FirstSide, OpenTrade, Rules, Series, Side,
};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlainTrade {
    pub entry_bar: usize,
    pub exit_bar: usize,
    pub side: Side,
    pub entry_price: f64,
    pub exit_price: f64,
    pub pnl: f64,
    pub is_open: bool,
    pub counts: bool,
}

#[derive(Debug, Clone, Default)]
pub struct PlainBook {
    pub trades: Vec<PlainTrade>,
    /// Equity at each close, over the starting one.
    pub equity: Vec<f64>,
    /// Equity after each counted trade.
    pub closed_equity: Vec<f64>,
    pub unfilled: u64,
    pub ruined_at: Option<usize>,
}

/// What is wanted at the close of each bar, if it could be had at once.
fn wanted(sides: &[i8], rules: &Rules) -> Vec<Option<Side>> {
    let (mut signal, mut first, mut has_crossed) = (0_i8, 0_i8, false);
    let map = |&side: &i8| {
        if side != 0 {
            signal = side;
        }
        if first == 0 {
            first = signal;
        }
        has_crossed |= signal != first;
        let may_hold = has_crossed || rules.first_side() == FirstSide::Enter;
        match (signal, rules.direction()) {
            (1, Direction::LongShort | Direction::LongOnly) if may_hold => Some(Side::Long),
            (-1, Direction::LongShort | Direction::ShortOnly) if may_hold => Some(Side::Short),
            _ => None,
        }
    };
    sides.iter().map(map).collect()
}

/// Return of a position, as a fraction of its stake; one leg paid, or both.
fn pnl(rules: &Rules, side: Side, entry: f64, exit: f64, both_legs: bool) -> f64 {
    let f = rules.fee_per_side_pct() / 100.0;
    let fixed = rules.fixed_fee_pct() / 100.0 * if both_legs { 2.0 } else { 1.0 };
    let gross = match side {
        Side::Long => (exit - entry) / entry,
        Side::Short => (entry - exit) / entry,
    };
    let exit_fee = |fee: f64| if both_legs { fee } else { 0.0 };
    let net = match rules.fee_formula() {
        FeeFormula::Additive => gross - f - exit_fee(f),
        FeeFormula::Notional => gross - f - exit_fee(f * exit / entry),
        FeeFormula::Multiplicative => (1.0 - f) * (1.0 + gross) * (1.0 - exit_fee(f)) - 1.0,
        FeeFormula::AllCash => (gross - f - exit_fee(f * exit / entry)) / (1.0 + f),
    };
    net - fixed
}

pub fn book(series: &Series, sides: &[i8], rules: &Rules) -> PlainBook {
    let bars = series.bars();
    let closes = series.closes();
    let fills = if rules.fill() == Fill::NextOpen {
        series.opens().unwrap()
    } else {
        closes
    };
    let delay = usize::from(rules.fill() != Fill::SignalClose);
    let compounds = rules.compounding() == Compounding::Compounded;
    let slip = rules.slippage_bps() / 10_000.0;
    let wanted = wanted(sides, rules);
    let mut book = PlainBook::default();
    let (mut settled, mut open): (f64, Option<(usize, Side, f64)>) = (1.0, None);
    let grow = |settled: f64, pnl: f64| {
        if compounds {
            (settled * (1.0 + pnl)).max(0.0)
        } else {
            settled + pnl
        }
    };
    for bar in 0..bars {
        let want = if bar < delay {
            None
        } else {
            wanted[bar - delay]
        };
        let held = open.map(|(_, side, _)| side);
        if want != held && book.ruined_at.is_none() {
            if let Some((entry_bar, side, entry)) = open.take() {
                let exit = fills[bar]
                    * if side == Side::Long {
                        1.0 - slip
                    } else {
                        1.0 + slip
                    };
                let pnl = pnl(rules, side, entry, exit, true);
                settled = grow(settled, pnl);
                book.push(entry_bar, bar, side, entry, exit, pnl, false, true, settled);
                if compounds && settled == 0.0 {
                    book.ruined_at = Some(bar);
                }
            }
            if let (Some(side), None) = (want, book.ruined_at) {
                let price = fills[bar]
                    * if side == Side::Long {
                        1.0 + slip
                    } else {
                        1.0 - slip
                    };
                open = Some((bar, side, price));
            }
        }
        let mut equity = settled;
        if let Some((entry_bar, side, entry)) = open {
            let mark = pnl(rules, side, entry, closes[bar], false);
            equity = grow(settled, mark);
            let is_last = bar + 1 == bars;
            if compounds && equity <= 0.0 && !is_last {
                let exit = closes[bar]
                    * if side == Side::Long {
                        1.0 - slip
                    } else {
                        1.0 + slip
                    };
                let pnl = pnl(rules, side, entry, exit, true);
                settled = 0.0;
                book.push(entry_bar, bar, side, entry, exit, pnl, false, true, settled);
                book.ruined_at = Some(bar);
                open = None;
                equity = 0.0;
            }
        }
        book.equity.push(equity);
    }
    book.finish(series, rules, open, settled, grow);
    let before = if bars > 1 { wanted[bars - 2] } else { None };
    let is_trading = book.ruined_at.is_none_or(|bar| bar + 1 == bars);
    if delay == 1 && is_trading && wanted[bars - 1] != before {
        book.unfilled = 1;
    }
    book
}

impl PlainBook {
    #[allow(clippy::too_many_arguments)]
    fn push(
        &mut self,
        entry_bar: usize,
        exit_bar: usize,
        side: Side,
        entry_price: f64,
        exit_price: f64,
        pnl: f64,
        is_open: bool,
        counts: bool,
        settled: f64,
    ) {
        self.trades.push(PlainTrade {
            entry_bar,
            exit_bar,
            side,
            entry_price,
            exit_price,
            pnl,
            is_open,
            counts,
        });
        if counts {
            self.closed_equity.push(settled);
        }
    }

    fn finish(
        &mut self,
        series: &Series,
        rules: &Rules,
        open: Option<(usize, Side, f64)>,
        settled: f64,
        grow: impl Fn(f64, f64) -> f64,
    ) {
        let Some((entry_bar, side, entry)) = open else {
            return;
        };
        let last = series.bars() - 1;
        let close = series.closes()[last];
        let slip = rules.slippage_bps() / 10_000.0;
        let policy = rules.open_trade();
        let closes = policy == OpenTrade::Close;
        let exit = match (closes, side) {
            (false, _) => close,
            (true, Side::Long) => close * (1.0 - slip),
            (true, Side::Short) => close * (1.0 + slip),
        };
        let counts = policy != OpenTrade::Exclude;
        let pnl = pnl(rules, side, entry, exit, closes);
        let end = if counts { grow(settled, pnl) } else { settled };
        self.push(entry_bar, last, side, entry, exit, pnl, true, counts, end);
        if counts {
            self.equity[last] = end;
            if rules.compounding() == Compounding::Compounded && end == 0.0 {
                self.ruined_at = Some(last);
            }
        } else {
            // an excluded trade is as if it had never been entered
            self.equity[entry_bar..].fill(settled);
        }
    }
}
