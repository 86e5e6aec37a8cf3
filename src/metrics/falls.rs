//! Drawdowns of an always-in combination, in percent of the stake: of the equity after each trade, and at every close.
//!
//! A mark never moves against `sign * close`, rounding included, so bounds on the closes of a trade bound its equity. A
//! batch whose bounds stay below the peak can only deepen the fall from it, and what its trades reach in between counts
//! only if the equity at no entry is lower: such batches are put off, since where fees eat a strategy up the next trades
//! fall lower still. Only trades that may set a new peak are looked at one by one.
#![allow(clippy::inline_always)]

use super::batch::{BATCH, Bars, Column, Marks, Prices, Scaled, higher, lower, settle};
use super::drawdown::Drawdown;
use super::moves::extremes;
use super::steps::Steps;
use crate::crossover::Side;
use crate::trade::pnl_pct;

/// Most batches put off before they are looked at.
const LOWS: usize = 8;

/// A trade on some bars, and the equity before it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Held {
    pub(super) entry_bar: u32,
    pub(super) exit_bar: u32,
    pub(super) sign: f64,
    pub(super) settled: f64,
}

/// Some trades, one after the other.
#[derive(Debug)]
pub(super) struct Batch<'b> {
    pub(super) first: Side,
    pub(super) count: usize,
    /// PnL before the first trade.
    pub(super) pnl_pct: f64,
    /// Lowest equity before a trade.
    pub(super) lowest: f64,
    /// Equity before each trade, and after the last.
    pub(super) settled: &'b [f64; BATCH + 1],
    pub(super) bars: &'b Bars,
}

impl Batch<'_> {
    /// Bounds on the equity at the closes of each trade.
    #[inline(always)]
    fn bounds(&self, marks: &Marks) -> (Column, Column) {
        let (mut worst, mut best) = ([0.0; BATCH], [0.0; BATCH]);
        for i in 0..BATCH {
            worst[i] = self.settled[i] + marks.worst[i];
            best[i] = self.settled[i] + marks.best[i];
        }
        (worst, best)
    }

    fn trade(&self, i: usize) -> Held {
        let side = if i.is_multiple_of(2) {
            self.first
        } else {
            self.first.opposite()
        };
        Held {
            entry_bar: self.bars[i],
            exit_bar: self.bars[i + 1],
            sign: side.sign(),
            settled: self.settled[i],
        }
    }
}

/// A batch that may hold the lowest equity since the peak.
#[derive(Debug, Clone, Copy)]
struct Low {
    /// The equity is nowhere lower.
    bound: f64,
    /// PnL before the first trade.
    pnl_pct: f64,
    bars: Bars,
}

/// The equity of one combination, as far as its falls go.
#[derive(Debug)]
pub(super) struct Falls<'a> {
    closes: &'a [f64],
    fee_pct: f64,
    pub(super) closed: Drawdown,
    pub(super) bars: Drawdown,
    lows: [Low; LOWS],
    count: usize,
}

impl<'a> Falls<'a> {
    pub(super) fn new(closes: &'a [f64], fee_pct: f64) -> Self {
        let none = Low {
            bound: 0.0,
            pnl_pct: 0.0,
            bars: [0; BATCH + 1],
        };
        Self {
            closes,
            fee_pct,
            closed: Drawdown::new(100.0),
            bars: Drawdown::new(100.0),
            lows: [none; LOWS],
            count: 0,
        }
    }

    /// Takes the equity after each trade, the lowest of them given.
    #[inline(always)]
    pub(super) fn close(&mut self, settled: &[f64], lowest: f64) {
        let peak = self.closed.peak;
        if settled
            .iter()
            .fold(true, |all, settled| all & (*settled <= peak))
        {
            self.closed.trough = lower(lowest, self.closed.trough);
        } else {
            for &settled in settled {
                self.closed.push(settled);
            }
        }
    }

    /// Takes the closes of some trades.
    #[inline(always)]
    pub(super) fn hold(&mut self, steps: &Steps<'_>, marks: &Marks, batch: &Batch<'_>) {
        let (worst, best) = batch.bounds(marks);
        let mut is_below = batch.count == BATCH;
        for i in 0..BATCH {
            // prices that differ by a factor of 1e308 have no bounds
            is_below &= (best[i] <= self.bars.peak) & (best[i] - worst[i] < f64::INFINITY);
        }
        if !is_below {
            self.look_at_lows(steps, batch.first);
            return self.look_at_each(&worst, &best, batch);
        }
        // on an entry's bar the mark is the fee alone
        let trough = lower(batch.lowest - 0.5 * self.fee_pct, self.bars.trough);
        self.bars.trough = trough;
        let mut lanes = [f64::INFINITY; 8];
        for (i, worst) in worst.iter().enumerate() {
            lanes[i % 8] = lower(*worst, lanes[i % 8]);
        }
        let bound = lowest_lane(lanes);
        // written always and counted if needed: a branch would be mispredicted for one batch in three, and each time
        // wait for all that the bound is made of
        self.lows[self.count] = Low {
            bound,
            pnl_pct: batch.pnl_pct,
            bars: *batch.bars,
        };
        self.count += usize::from(bound < trough);
        if self.count == LOWS {
            self.look_at_lows(steps, batch.first);
        }
    }

    /// Looks at the trades one by one, the batches put off being settled.
    #[inline(never)]
    fn look_at_each(&mut self, worst: &Column, best: &Column, batch: &Batch<'_>) {
        for i in 0..batch.count {
            if batch.bars[i] == batch.bars[i + 1] {
                // opened on the last bar, where it closes too
                continue;
            }
            self.bars.push(batch.settled[i] - 0.5 * self.fee_pct);
            let is_within = (worst[i] >= self.bars.trough) & (best[i] <= self.bars.peak);
            if !is_within {
                self.look(&batch.trade(i));
            }
        }
    }

    /// Takes the closes of one trade, bar by bar where it must.
    pub(super) fn look(&mut self, trade: &Held) {
        let closes = &self.closes[trade.entry_bar as usize..trade.exit_bar as usize];
        let Some(&entry) = closes.first() else {
            return;
        };
        let half = 0.5 * self.fee_pct;
        let equity = |close| trade.settled + pnl_pct(trade.sign, entry, close, half);
        let (lowest, highest) = extremes(closes);
        let (a, b) = (equity(lowest), equity(highest));
        self.bars.push_range(lower(a, b), higher(a, b), |bars| {
            for &close in closes {
                bars.push(equity(close));
            }
        });
    }

    /// Settles the lowest equity since the peak; no batch put off rose above it.
    #[inline(never)]
    pub(super) fn look_at_lows(&mut self, steps: &Steps<'_>, first: Side) {
        for index in (0..self.count).rev() {
            let low = self.lows[index];
            if low.bound >= self.bars.trough {
                continue;
            }
            let sign = first.sign();
            let signs = std::array::from_fn(|i| if i % 2 == 0 { sign } else { -sign });
            let prices = Prices::new(self.closes, &low.bars, &signs, self.fee_pct);
            let settled = settle(&prices.pnl(), low.pnl_pct, BATCH).1;
            let batch = Batch {
                first,
                count: BATCH,
                pnl_pct: low.pnl_pct,
                lowest: low.bound,
                settled: &settled,
                bars: &low.bars,
            };
            let scaled = Scaled::new(steps, &prices);
            let marks = Marks::new(steps, &prices, &scaled, &low.bars);
            let (worst, best) = batch.bounds(&marks);
            self.look_at_each(&worst, &best, &batch);
        }
        self.count = 0;
    }

    /// The deepest fall at the closes, the equity after the last of them given.
    pub(super) fn finish(&mut self, settled: f64) -> f64 {
        self.bars.push(settled);
        self.bars.deepest()
    }
}

/// The lowest equity before a trade, found side by side.
#[inline(always)]
pub(super) fn lowest(settled: &[f64; BATCH + 1]) -> f64 {
    let mut lanes = [f64::INFINITY; 8];
    for first in (0..BATCH).step_by(8) {
        for lane in 0..8 {
            lanes[lane] = lower(settled[first + lane], lanes[lane]);
        }
    }
    lowest_lane(lanes)
}

#[inline(always)]
fn lowest_lane(mut lanes: [f64; 8]) -> f64 {
    for half in [4, 2, 1] {
        for lane in 0..half {
            lanes[lane] = lower(lanes[lane + half], lanes[lane]);
        }
    }
    lanes[0]
}
