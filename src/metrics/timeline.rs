//! The equity of one combination at every close, from its trades alone: returns, their powers, and drawdowns.
//!
//! Additive equity starts at 1 (the stake) and moves by each trade's PnL; compounded equity is multiplied by it. The
//! entry's leg is paid on the bar of the entry, the exit's on the bar of the exit, and in between the position is marked
//! at each close. A bar on which one trade ends and the next begins has one return, made of both.
//!
//! Between those bars an additive return is the close's move times a constant, so their powers come from [`Moves`].
//! A compounded short has no such constant: its bars are walked, eight side by side.
// A kernel has the instructions of the function it is inlined into: these must be, or they run without SIMD.
#![allow(clippy::inline_always)]

use std::ops::Range;

use super::batch::{self, total};
use super::drawdown::Drawdown;
use super::moves::{Moves, Powers, extremes};
use super::returns::{LANES, Lanes};
use crate::crossover::Side;
use crate::rules::{Compounding, Rules};
use crate::trade::{Costs, Trade};

/// Sums of powers of the per-bar returns; bars without a position add 0.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Returns {
    pub(super) sum: f64,
    pub(super) squares: f64,
    /// Squares of the negative ones.
    pub(super) downside: f64,
    pub(super) cubes: f64,
    pub(super) fourths: f64,
}

impl Returns {
    #[inline]
    pub(super) fn push(&mut self, value: f64) {
        let square = value * value;
        self.sum += value;
        self.squares += square;
        self.downside += value.min(0.0) * value;
        self.cubes += square * value;
        self.fourths += square * square;
    }

    /// Adds the bars of a position whose return is `slope` times the move of the close.
    #[inline]
    pub(super) fn add_powers(&mut self, powers: &Powers, slope: f64) {
        let square = slope * slope;
        let against = if slope > 0.0 { powers.down } else { powers.up };
        self.squares += square * (powers.up + powers.down);
        self.downside += square * against;
        self.cubes += square * slope * powers.cubes;
        self.fourths += square * square * powers.fourths;
    }
}

/// The bar of the last fill, whose return is not complete before the next fill is known.
#[derive(Debug, Clone, Copy)]
struct Pending {
    bar: u32,
    /// What closed trades added to the equity on it.
    gained: f64,
    /// Equity on the bar before.
    before: f64,
}

/// Follows the equity of one combination, trade by trade.
#[derive(Debug)]
pub(super) struct Timeline<'a> {
    moves: &'a Moves<'a>,
    costs: Costs,
    compounds: bool,
    settled: f64,
    pending: Option<Pending>,
    pub(super) returns: Returns,
    /// Those of the bars that are walked, one a lane: sum, squares, squares of the negative ones, cubes, fourths.
    walked: [Lanes; 5],
    pub(super) drawdown: Drawdown,
    pub(super) closed: Drawdown,
    arch: pulp::Arch,
}

impl<'a> Timeline<'a> {
    pub(super) fn new(moves: &'a Moves<'a>, rules: &Rules) -> Self {
        Self {
            moves,
            costs: Costs::new(rules),
            compounds: rules.compounding() == Compounding::Compounded,
            settled: 1.0,
            pending: None,
            returns: Returns::default(),
            walked: [[0.0; LANES]; 5],
            drawdown: Drawdown::new(1.0),
            closed: Drawdown::new(1.0),
            arch: pulp::Arch::new(),
        }
    }

    /// Takes the next trade.
    #[inline]
    pub(super) fn record(&mut self, trade: &Trade) {
        let gained = self.open(trade);
        let pnl = trade.pnl_pct / 100.0;
        if trade.exit_bar == trade.entry_bar {
            self.pending = Some(Pending {
                gained: gained.gained + pnl,
                ..gained
            });
        } else {
            self.hold(trade, gained);
            let last = self.mark(trade, self.moves.closes()[trade.exit_bar as usize - 1]);
            let before = self.equity(last);
            self.pending = Some(Pending {
                bar: trade.exit_bar,
                gained: pnl - last,
                before,
            });
        }
        self.settle(trade);
    }

    /// Takes the next trade into the closed equity alone.
    pub(super) fn settle(&mut self, trade: &Trade) {
        self.settled = self.equity(trade.pnl_pct / 100.0);
        self.closed.push(self.settled);
    }

    /// Completes the last bar; call it once, after the last trade.
    pub(super) fn finish(&mut self, pnl: f64) {
        if let Some(pending) = self.pending.take() {
            self.complete(pending, 0.0, self.settled);
        }
        let [sum, squares, downside, cubes, fourths] = self.walked.map(|lanes| total(&lanes));
        self.returns.sum += sum;
        self.returns.squares += squares;
        self.returns.downside += downside;
        self.returns.cubes += cubes;
        self.returns.fourths += fourths;
        if !self.compounds {
            // additive returns telescope: the bars in between were never added up
            self.returns.sum = pnl;
        }
    }

    /// The bar of the entry, which an exit may share.
    fn open(&mut self, trade: &Trade) -> Pending {
        match self.pending.take() {
            Some(pending) if pending.bar == trade.entry_bar => return pending,
            Some(pending) => self.complete(pending, 0.0, self.settled),
            None => {}
        }
        Pending {
            bar: trade.entry_bar,
            gained: 0.0,
            before: self.settled,
        }
    }

    /// The bars from the entry to the one before the exit.
    #[inline]
    fn hold(&mut self, trade: &Trade, entry: Pending) {
        let bars = trade.entry_bar as usize..trade.exit_bar as usize;
        let mark = self.mark(trade, self.moves.closes()[bars.start]);
        let inner = bars.start + 1..bars.end;
        if self.compounds {
            self.complete(entry, mark, self.equity(mark));
            self.walk(trade, inner);
            return;
        }
        self.returns.push(entry.gained + mark);
        let sign = trade.side.sign();
        let slope = sign * self.costs.exposed_share() / (trade.entry_price * self.moves.per_unit());
        self.returns.add_powers(&self.moves.powers(inner), slope);
        self.fall(trade, bars);
    }

    /// The drawdown over held bars. A mark never moves against `sign * close`, rounding included, so the extremes of
    /// the closes bound the equity, and most ranges show at a glance that they hold neither a peak nor a deeper fall.
    #[inline]
    fn fall(&mut self, trade: &Trade, bars: Range<usize>) {
        let (lowest, highest) = self.moves.around(&bars);
        let (worst, best) = self.worst_and_best(trade, lowest, highest);
        if best > self.drawdown.peak || worst < self.drawdown.trough {
            self.fall_exactly(trade, bars);
        }
    }

    fn fall_exactly(&mut self, trade: &Trade, bars: Range<usize>) {
        let closes = &self.moves.closes()[bars];
        let (lowest, highest) = extremes(closes);
        let (worst, best) = self.worst_and_best(trade, lowest, highest);
        let mut drawdown = self.drawdown;
        drawdown.push_range(worst, best, |drawdown| {
            for &close in closes {
                drawdown.push(self.equity(self.mark(trade, close)));
            }
        });
        self.drawdown = drawdown;
    }

    fn worst_and_best(&self, trade: &Trade, lowest: f64, highest: f64) -> (f64, f64) {
        let (low, high) = (
            self.equity(self.mark(trade, lowest)),
            self.equity(self.mark(trade, highest)),
        );
        if trade.side == Side::Long {
            (low, high)
        } else {
            (high, low)
        }
    }

    /// The bars of a range, which is not at the start, from their closes and the one before them.
    fn walk(&mut self, trade: &Trade, bars: Range<usize>) {
        let closes = &self.moves.closes()[bars.start - 1..bars.end];
        self.arch.dispatch(Walk {
            timeline: self,
            trade,
            closes,
        });
    }

    fn complete(&mut self, pending: Pending, mark: f64, equity: f64) {
        let gained = match self.compounds {
            true if pending.before > 0.0 => equity / pending.before - 1.0,
            true => 0.0,
            false => pending.gained + mark,
        };
        self.returns.push(gained);
        self.drawdown.push(equity);
    }

    /// Return of the open trade at a price, as a fraction of its stake.
    #[inline]
    fn mark(&self, trade: &Trade, price: f64) -> f64 {
        self.costs
            .marked_pct(trade.side.sign(), trade.entry_price, price)
            / 100.0
    }

    /// Equity after a return on what is settled.
    #[inline]
    fn equity(&self, pnl: f64) -> f64 {
        if self.compounds {
            (self.settled * (1.0 + pnl)).max(0.0)
        } else {
            self.settled + pnl
        }
    }
}

/// Bars of a trade that are walked side by side.
const WALK: usize = 8 * LANES;

/// The bars of a compounding position, whose returns depend on how far each is from the entry.
struct Walk<'w, 'a> {
    timeline: &'w mut Timeline<'a>,
    trade: &'w Trade,
    /// Of the bars, and the one before them.
    closes: &'w [f64],
}

impl pulp::NullaryFnOnce for Walk<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let mut closes = self.closes;
        while closes.len() > 1 {
            let count = (closes.len() - 1).min(WALK);
            self.timeline.walk_some(self.trade, &closes[..=count]);
            closes = &closes[count..];
        }
    }
}

impl Timeline<'_> {
    /// Walks up to [`WALK`] bars.
    #[inline(always)]
    fn walk_some(&mut self, trade: &Trade, closes: &[f64]) {
        let count = closes.len() - 1;
        // the slots up to a whole vector repeat the last close: returns of 0
        let slots = count.next_multiple_of(LANES) + 1;
        let mut equity = [closes[count]; WALK + 1];
        equity[..=count].copy_from_slice(closes);
        let equity = &mut equity[..slots];
        let (sign, settled) = (trade.side.sign(), self.settled);
        self.costs.mark_each(sign, trade.entry_price, equity);
        for equity in &mut *equity {
            let grown = settled * (1.0 + *equity / 100.0);
            *equity = if grown > 0.0 { grown } else { 0.0 };
        }
        let mut sums = self.walked;
        let (before, after) = (
            equity.as_chunks::<LANES>().0,
            equity[1..].as_chunks::<LANES>().0,
        );
        for (before, after) in before.iter().zip(after) {
            for lane in 0..LANES {
                let value = after[lane] / before[lane] - 1.0;
                let square = value * value;
                sums[0][lane] += value;
                sums[1][lane] += square;
                sums[2][lane] += if value < 0.0 { square } else { 0.0 };
                sums[3][lane] += square * value;
                sums[4][lane] += square * square;
            }
        }
        self.walked = sums;
        let (lowest, highest) = batch::extremes(&equity[1..]);
        self.drawdown.push_range(lowest, highest, |drawdown| {
            for &equity in &equity[1..] {
                drawdown.push(equity);
            }
        });
    }
}
