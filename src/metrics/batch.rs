//! Sixteen trades of an always-in combination side by side: prices and bounds are looked up, all arithmetic is on columns,
//! and each slot has sums of its own, so that nothing but the sum of the PnL waits for the trade before.
// A kernel has the instructions of the function it is inlined into: these must be, or they run without SIMD.
#![allow(clippy::inline_always)]

use super::steps::Steps;
use crate::trade::pnl_pct;

/// Trades at a time; even, so that a slot always faces the same side.
pub(super) const BATCH: usize = 16;
pub(super) type Column = [f64; BATCH];
/// The entry of the first trade, and the exits: each the entry of the next.
pub(super) type Bars = [u32; BATCH + 1];

/// The prices of a batch of trades: trade `i` is from fill `i` to fill `i + 1`.
#[derive(Debug)]
pub(super) struct Prices<'a> {
    fills: [f64; BATCH + 1],
    /// Sides, as signs.
    signs: &'a Column,
    fee_pct: f64,
}

impl<'a> Prices<'a> {
    /// Gathers the prices of the trades between some bars.
    #[inline(always)]
    pub(super) fn new(closes: &[f64], bars: &Bars, signs: &'a Column, fee_pct: f64) -> Self {
        let mut fills = [0.0; BATCH + 1];
        for i in 0..=BATCH {
            fills[i] = closes[bars[i] as usize];
        }
        Self {
            fills,
            signs,
            fee_pct,
        }
    }

    #[inline(always)]
    pub(super) fn pnl(&self) -> Column {
        let mut pnl = [0.0; BATCH];
        for (i, pnl) in pnl.iter_mut().enumerate() {
            let (entry, exit) = (self.fills[i], self.fills[i + 1]);
            *pnl = pnl_pct(self.signs[i], entry, exit, self.fee_pct);
        }
        pnl
    }
}

/// PnL after some trades, and the equity before each and after the last.
#[inline(always)]
pub(super) fn settle(pnl: &Column, before: f64, count: usize) -> (f64, [f64; BATCH + 1]) {
    let (mut sum, mut settled) = (before, [0.0; BATCH + 1]);
    settled[0] = 100.0 + sum;
    for i in 0..BATCH {
        // the ledger's sum, trade after trade: every engine's PnL is the same
        if i < count {
            sum += pnl[i];
        }
        settled[i + 1] = 100.0 + sum;
    }
    (sum, settled)
}

/// The entries of a batch in the scaled prices of the tables.
#[derive(Debug)]
pub(super) struct Scaled {
    /// What a scaled price is in entry prices.
    scales: Column,
    /// Return of each position when the close moves by one scaled unit.
    pub(super) slopes: Column,
}

impl Scaled {
    #[inline(always)]
    pub(super) fn new(steps: &Steps<'_>, prices: &Prices<'_>) -> Self {
        let unit = 1.0 / steps.moves.per_unit();
        let mut scaled = Self {
            scales: [0.0; BATCH],
            slopes: [0.0; BATCH],
        };
        for i in 0..BATCH {
            scaled.scales[i] = unit / prices.fills[i];
            scaled.slopes[i] = prices.signs[i] * scaled.scales[i];
        }
        scaled
    }
}

/// Sums and extremes over the trades.
#[derive(Debug, Clone)]
pub(super) struct TradeSums {
    wins: Column,
    gains: Column,
    losses: Column,
    best: Column,
    worst: Column,
    ratios: Column,
}

impl TradeSums {
    pub(super) fn new() -> Self {
        Self {
            wins: [0.0; BATCH],
            gains: [0.0; BATCH],
            losses: [0.0; BATCH],
            best: [f64::NEG_INFINITY; BATCH],
            worst: [f64::INFINITY; BATCH],
            ratios: [0.0; BATCH],
        }
    }

    #[inline(always)]
    pub(super) fn add(&mut self, prices: &Prices<'_>, pnl: &Column, count: usize) {
        let mut ratios = [0.0; BATCH];
        for i in 0..BATCH {
            ratios[i] = prices.fills[i + 1] / prices.fills[i];
        }
        if count < BATCH {
            return (0..count).for_each(|i| self.add_one(i, pnl[i], ratios[i]));
        }
        for i in 0..BATCH {
            self.add_one(i, pnl[i], ratios[i]);
        }
    }

    #[inline(always)]
    fn add_one(&mut self, slot: usize, pnl: f64, ratio: f64) {
        self.wins[slot] += if pnl > 0.0 { 1.0 } else { 0.0 };
        self.gains[slot] += if pnl > 0.0 { pnl } else { 0.0 };
        self.losses[slot] -= if pnl < 0.0 { pnl } else { 0.0 };
        self.best[slot] = higher(pnl, self.best[slot]);
        self.worst[slot] = lower(pnl, self.worst[slot]);
        self.ratios[slot] += ratio;
    }

    pub(super) fn wins(&self) -> u64 {
        // exact: a count of trades is far below 2^53
        total(&self.wins) as u64
    }

    pub(super) fn gains(&self) -> f64 {
        total(&self.gains)
    }

    pub(super) fn losses(&self) -> f64 {
        total(&self.losses)
    }

    pub(super) fn best(&self) -> f64 {
        self.best.into_iter().fold(f64::NEG_INFINITY, higher)
    }

    pub(super) fn worst(&self) -> f64 {
        self.worst.into_iter().fold(f64::INFINITY, lower)
    }

    /// Sum of `exit / entry`.
    pub(super) fn ratios(&self) -> f64 {
        total(&self.ratios)
    }
}

/// Bounds on the return of each position at the closes from its entry to before its exit, in percent.
#[derive(Debug)]
pub(super) struct Marks {
    pub(super) worst: Column,
    pub(super) best: Column,
}

impl Marks {
    /// Looks the bounds up.
    #[inline(always)]
    pub(super) fn new(
        steps: &Steps<'_>,
        prices: &Prices<'_>,
        scaled: &Scaled,
        bars: &Bars,
    ) -> Self {
        let (lowest, highest) = steps.around(bars);
        let mut marks = Self {
            worst: [0.0; BATCH],
            best: [0.0; BATCH],
        };
        let half = 0.5 * prices.fee_pct;
        for i in 0..BATCH {
            let (sign, scale) = (prices.signs[i], scaled.scales[i]);
            let low = sign * (f64::from(lowest[i]) * scale - 1.0) * 100.0 - half;
            let high = sign * (f64::from(highest[i]) * scale - 1.0) * 100.0 - half;
            marks.worst[i] = lower(low, high);
            marks.best[i] = higher(low, high);
        }
        marks
    }
}

pub(super) fn total(lanes: &[f64]) -> f64 {
    lanes.iter().sum()
}

/// Without the care for NaN that `f64::min` takes.
#[inline(always)]
pub(super) fn lower(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

#[inline(always)]
pub(super) fn higher(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}
