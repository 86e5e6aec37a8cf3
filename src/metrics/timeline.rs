//! The equity of one combination at every close, from its trades alone: returns, their powers, and drawdowns.
//!
//! Additive equity starts at 1 (the stake) and moves by each trade's PnL; compounded equity is multiplied by it. The
//! entry's leg is paid on the bar of the entry, the exit's on the bar of the exit, and in between the position is marked
//! at each close. A bar on which one trade ends and the next begins has one return, made of both.
//!
//! Between those bars an additive return is the close's move times a constant, so their powers come from [`Moves`].
//! A compounded short has no such constant: its bars are walked, eight side by side.

use std::ops::Range;

use super::batch::{extremes, higher, lower, total};
use super::drawdown::Drawdown;
use super::moves::{Moves, Powers};
use super::walk::{Account, Walk, Walked};
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
    /// Of a long and of a short account.
    bases: [f64; 2],
    pending: Option<Pending>,
    pub(super) returns: Returns,
    /// Those of the bars that are walked.
    walked: Walked,
    pub(super) drawdown: Drawdown,
    pub(super) closed: Drawdown,
    arch: pulp::Arch,
}

impl<'a> Timeline<'a> {
    pub(super) fn new(moves: &'a Moves<'a>, rules: &Rules) -> Self {
        let costs = Costs::new(rules);
        // a mark at a price of 0 is the same for every entry
        let bases = [1.0, -1.0].map(|sign| 1.0 + costs.marked_pct(sign, 1.0, 0.0) / 100.0);
        Self {
            moves,
            costs,
            bases,
            compounds: rules.compounding() == Compounding::Compounded,
            settled: 1.0,
            pending: None,
            returns: Returns::default(),
            walked: Walked::default(),
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
        let [sum, squares, downside, cubes, fourths] = self.walked.0.map(|lanes| total(&lanes));
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
            if !inner.is_empty() {
                self.walk(trade, inner);
            }
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
        let (lowest, highest) = self.around(&bars);
        let (worst, best) = self.worst_and_best(trade, lowest, highest);
        if best > self.drawdown.peak || worst < self.drawdown.trough {
            self.fall_exactly(trade, bars);
        }
    }

    /// Bounds on the closes of a range that is not empty.
    #[inline]
    fn around(&self, bars: &Range<usize>) -> (f64, f64) {
        let (first, last) = (bars.start as u32, bars.end as u32 - 1);
        match self.moves.ranges.around(first, last) {
            (_, f64::INFINITY) => extremes(&self.moves.closes()[bars.clone()]),
            bounds => bounds,
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

    /// The bars of a compounding position after its entry.
    fn walk(&mut self, trade: &Trade, bars: Range<usize>) {
        let account = Account {
            base: self.bases[usize::from(trade.side == Side::Short)],
            slope: trade.side.sign() * self.costs.exposed_share() / trade.entry_price,
        };
        let of = |(lowest, highest)| {
            let (a, b) = (account.at(lowest), account.at(highest));
            (lower(a, b), higher(a, b))
        };
        let (worst, best) = of(self.around(&bars));
        // closes around the position are among those, and the last digits must not depend on them
        let is_sure = account.is_sure(worst, best) || {
            let (worst, best) = of(extremes(&self.moves.closes()[bars.clone()]));
            account.is_sure(worst, best)
        };
        let is_within = (self.settled * worst * (1.0 - Account::ERROR) >= self.drawdown.trough)
            & (self.settled * best * (1.0 + Account::ERROR) <= self.drawdown.peak);
        if !(is_sure & is_within) {
            self.fall_exactly(trade, bars.clone());
        }
        if !is_sure {
            return self.walk_marks(trade, bars);
        }
        self.arch.dispatch(Walk {
            sums: &mut self.walked,
            account,
            closes: self.moves.closes(),
            bars,
        });
    }

    #[cold]
    #[inline(never)]
    fn walk_marks(&mut self, trade: &Trade, bars: Range<usize>) {
        let equity = |close| self.equity(self.mark(trade, close));
        let mut sums = self.returns;
        for pair in self.moves.closes()[bars.start - 1..bars.end].windows(2) {
            sums.push(equity(pair[1]) / equity(pair[0]) - 1.0);
        }
        self.returns = sums;
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
