//! Thirty-two trades of an always-in combination side by side: prices are looked up, all arithmetic is on columns, and each
//! lane has sums of its own, so that nothing but the sum of the PnL waits for the trade before.
// A kernel has the instructions of the function it is inlined into: these must be, or they run without SIMD.
#![allow(clippy::inline_always)]

use super::returns::{LANES, Lanes};
use crate::crossover::Side;
use crate::trade::pnl_of_ratio;

/// Trades at a time; even, so that a slot always faces the same side.
pub(super) const BATCH: usize = 32;
pub(super) type Column = [f64; BATCH];
/// The entry of the first trade, and the exits: each the entry of the next.
pub(super) type Bars = [u32; BATCH + 1];
/// The same of their prices.
pub(super) type Fills = [f64; BATCH + 1];

/// The first slots of each vector of a batch.
#[inline(always)]
pub(super) fn vectors() -> impl Iterator<Item = usize> {
    (0..BATCH).step_by(LANES)
}

/// Signs of the trades of one vector.
#[inline(always)]
pub(super) fn signs(first: Side) -> Lanes {
    let sign = first.sign();
    std::array::from_fn(|lane| if lane % 2 == 0 { sign } else { -sign })
}

/// Gathers the prices of the trades between some bars: trade `i` is from fill `i` to fill `i + 1`.
#[inline(always)]
pub(super) fn fills(closes: &[f64], bars: &Bars) -> Fills {
    let mut fills = [0.0; BATCH + 1];
    for (fill, &bar) in fills.iter_mut().zip(bars) {
        *fill = closes[bar as usize];
    }
    fills
}

/// The exit over the entry of each trade, and its PnL: a division takes longer than all the rest.
#[inline(always)]
pub(super) fn pnl(fills: &Fills, first: Side, fee_pct: f64) -> (Column, Column) {
    let (signs, mut ratios, mut pnl) = (signs(first), [0.0; BATCH], [0.0; BATCH]);
    for at in vectors() {
        for lane in 0..LANES {
            let i = at + lane;
            ratios[i] = fills[i + 1] / fills[i];
            pnl[i] = pnl_of_ratio(signs[lane], ratios[i], fee_pct);
        }
    }
    (ratios, pnl)
}

/// Some trades, with the prices of their fills.
#[derive(Debug)]
pub(super) struct Trades<'b> {
    pub(super) first: Side,
    pub(super) bars: &'b Bars,
    pub(super) fills: &'b Fills,
    pub(super) count: usize,
}

impl Trades<'_> {
    /// Return of each position when the close moves by so much of a unit, from the second slot on.
    #[inline(always)]
    pub(super) fn slopes(&self, unit: f64, slopes: &mut Fills) {
        let signs = signs(self.first);
        for at in vectors() {
            for lane in 0..LANES {
                slopes[at + lane + 1] = signs[lane] * (unit / self.fills[at + lane]);
            }
        }
    }
}

/// Equity before each trade and after the last, in percent of the stake.
#[derive(Debug)]
pub(super) struct Settled {
    /// PnL after the trades so far.
    pub(super) pnl_pct: f64,
    pub(super) equity: Fills,
}

impl Settled {
    #[inline(always)]
    pub(super) fn new(pnl_pct: f64) -> Self {
        Self {
            pnl_pct,
            equity: [100.0 + pnl_pct; BATCH + 1],
        }
    }

    /// Settles the next trades, the first of them given.
    #[inline(always)]
    pub(super) fn add(&mut self, first: usize, pnl: &[f64]) {
        for (equity, pnl) in self.equity[first + 1..].iter_mut().zip(pnl) {
            // the ledger's sum, trade after trade: every engine's PnL is the same
            self.pnl_pct += pnl;
            *equity = 100.0 + self.pnl_pct;
        }
    }
}

impl Settled {
    /// Equity before the first trades of a batch, the last of them repeated in the slots behind them.
    #[inline(always)]
    pub(super) fn before(&mut self, count: usize) -> &Column {
        let last = self.equity[count - 1];
        self.equity[count..].fill(last);
        self.equity.first_chunk().expect("one more than slots")
    }
}

/// Sums and extremes over the trades, one a lane.
#[derive(Debug, Clone, Copy)]
pub(super) struct TradeSums {
    wins: Lanes,
    gains: Lanes,
    losses: Lanes,
    best: Lanes,
    worst: Lanes,
    ratios: Lanes,
}

impl TradeSums {
    pub(super) fn new() -> Self {
        Self {
            wins: [0.0; LANES],
            gains: [0.0; LANES],
            losses: [0.0; LANES],
            best: [f64::NEG_INFINITY; LANES],
            worst: [f64::INFINITY; LANES],
            ratios: [0.0; LANES],
        }
    }

    /// Adds the first trades of a batch.
    #[inline(always)]
    pub(super) fn add(&mut self, ratios: &Column, pnl: &Column, count: usize) {
        // in registers: in memory each sum would wait for the one before to be stored
        let mut sums = *self;
        for at in (0..count / LANES * LANES).step_by(LANES) {
            for lane in 0..LANES {
                sums.add_one(lane, pnl[at + lane], ratios[at + lane]);
            }
        }
        for i in count / LANES * LANES..count {
            sums.add_one(i % LANES, pnl[i], ratios[i]);
        }
        *self = sums;
    }

    #[inline(always)]
    fn add_one(&mut self, lane: usize, pnl: f64, ratio: f64) {
        self.wins[lane] += if pnl > 0.0 { 1.0 } else { 0.0 };
        self.gains[lane] += if pnl > 0.0 { pnl } else { 0.0 };
        self.losses[lane] -= if pnl < 0.0 { pnl } else { 0.0 };
        self.best[lane] = higher(pnl, self.best[lane]);
        self.worst[lane] = lower(pnl, self.worst[lane]);
        self.ratios[lane] += ratio;
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

/// The lowest and the highest of some values, found side by side.
#[inline(always)]
pub(super) fn extremes(values: &[f64]) -> (f64, f64) {
    let Some(last) = values.last_chunk::<LANES>() else {
        let ends = (f64::INFINITY, f64::NEG_INFINITY);
        return values.iter().fold(ends, |(lowest, highest), &value| {
            (lower(value, lowest), higher(value, highest))
        });
    };
    // some values count twice, which changes no extreme
    let (mut lowest, mut highest) = (*last, *last);
    for values in values.as_chunks::<LANES>().0 {
        for lane in 0..LANES {
            lowest[lane] = lower(values[lane], lowest[lane]);
            highest[lane] = higher(values[lane], highest[lane]);
        }
    }
    for half in [4, 2, 1] {
        for lane in 0..half {
            lowest[lane] = lower(lowest[lane + half], lowest[lane]);
            highest[lane] = higher(highest[lane + half], highest[lane]);
        }
    }
    (lowest[0], highest[0])
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
