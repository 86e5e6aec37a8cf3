//! Drawdowns of an always-in combination, in percent of the stake: of the equity after each trade, and at every close.
//!
//! A mark never moves against `sign * close`, rounding included, so bounds on the closes of a batch bound its equity. A
//! batch whose bounds stay below the peak can only deepen the fall from it, and what its trades reach in between counts
//! only if the equity at no entry is lower: such batches are put off, since where fees eat a strategy up the next trades
//! fall lower still. Only batches that may set a new peak are looked at trade by trade.
#![allow(clippy::inline_always)]

use super::batch::{BATCH, Bars, Fills, extremes, fills, higher, lower, pnl, settle, vectors};
use super::drawdown::Drawdown;
use super::ranges::Ranges;
use super::returns::LANES;
use crate::crossover::Side;
use crate::trade::pnl_pct;

/// Vectors of a batch.
const VECTORS: usize = BATCH / LANES;

/// Most batches put off before they are looked at.
const LOWS: usize = 4;

/// Some trades, one after the other.
#[derive(Debug, Clone, Copy)]
pub(super) struct Batch {
    /// PnL before the first trade.
    pub(super) pnl_pct: f64,
    pub(super) bars: Bars,
    /// Trades that hold a position at some close.
    pub(super) count: u8,
}

/// A batch that may hold the lowest equity since the peak.
#[derive(Debug, Clone, Copy)]
struct Low {
    /// The equity is nowhere lower.
    bound: f64,
    batch: Batch,
}

/// The equity of one combination, as far as its falls go.
#[derive(Debug)]
pub(super) struct Falls<'a> {
    closes: &'a [f64],
    fee_pct: f64,
    pub(super) closed: Drawdown,
    bars: Drawdown,
    lows: [Low; LOWS],
    count: usize,
    arch: pulp::Arch,
}

impl<'a> Falls<'a> {
    pub(super) fn new(closes: &'a [f64], fee_pct: f64, arch: pulp::Arch) -> Self {
        let none = Low {
            bound: 0.0,
            batch: Batch {
                pnl_pct: 0.0,
                bars: [0; BATCH + 1],
                count: 0,
            },
        };
        Self {
            closes,
            fee_pct,
            closed: Drawdown::new(100.0),
            bars: Drawdown::new(100.0),
            lows: [none; LOWS],
            count: 0,
            arch,
        }
    }

    /// Takes the equity after each trade.
    #[inline(always)]
    pub(super) fn close(&mut self, settled: &[f64]) {
        let (lowest, highest) = extremes(settled);
        if highest <= self.closed.peak {
            self.closed.trough = lower(lowest, self.closed.trough);
        } else {
            for &settled in settled {
                self.closed.push(settled);
            }
        }
    }

    /// Takes the closes of some trades, the equity before each given.
    #[inline(always)]
    pub(super) fn hold(&mut self, ranges: &Ranges, first: Side, batch: &Batch, settled: &Fills) {
        if batch.count == 0 {
            return;
        }
        let half = 0.5 * self.fee_pct;
        let count = usize::from(batch.count);
        let largest = largest_moves(ranges, &batch.bars, count);
        let (mut lowest, mut bound) = ([f64::INFINITY; LANES], [f64::INFINITY; LANES]);
        let mut best = [0.0; LANES];
        for (vector, settled) in settled[..BATCH].as_chunks::<LANES>().0.iter().enumerate() {
            let largest = largest[vector];
            for lane in 0..LANES {
                let is_held = vector * LANES + lane < count;
                let (low, high) = if is_held {
                    (settled[lane], settled[lane])
                } else {
                    (f64::INFINITY, 0.0)
                };
                lowest[lane] = lower(low, lowest[lane]);
                bound[lane] = lower(low + (-largest - half), bound[lane]);
                best[lane] = higher(high + (largest - half), best[lane]);
            }
        }
        let (lowest, bound) = (extremes(&lowest).0, extremes(&bound).0);
        if !(extremes(&best).1 <= self.bars.peak) {
            return self.look_at(ranges, first, Some(batch));
        }
        // on an entry's bar the mark is the fee alone
        self.bars.trough = lower(lowest - half, self.bars.trough);
        if bound < self.bars.trough {
            self.put_off(
                ranges,
                first,
                Low {
                    bound,
                    batch: *batch,
                },
            );
        }
    }

    #[inline(never)]
    fn put_off(&mut self, ranges: &Ranges, first: Side, low: Low) {
        self.lows[self.count] = low;
        self.count += 1;
        if self.count < LOWS {
            return;
        }
        // most of them have been undercut since
        let (trough, mut kept) = (self.bars.trough, 0);
        for index in 0..LOWS {
            if self.lows[index].bound < trough {
                self.lows[kept] = self.lows[index];
                kept += 1;
            }
        }
        self.count = kept;
        if kept == LOWS {
            self.look_at(ranges, first, None);
        }
    }

    /// Settles the batches put off, then looks at the trades of another.
    #[inline(never)]
    pub(super) fn look_at(&mut self, ranges: &Ranges, first: Side, batch: Option<&Batch>) {
        self.arch.dispatch(Look {
            falls: self,
            ranges,
            first,
            batch,
        });
    }

    /// The deepest fall at the closes, the equity after the last of them given.
    pub(super) fn finish(&mut self, ranges: &Ranges, first: Side, settled: f64) -> f64 {
        self.look_at(ranges, first, None);
        self.bars.push(settled);
        self.bars.deepest()
    }
}

/// Looks at the closes of trades one by one.
struct Look<'l, 'a> {
    falls: &'l mut Falls<'a>,
    ranges: &'l Ranges,
    first: Side,
    batch: Option<&'l Batch>,
}

impl pulp::NullaryFnOnce for Look<'_, '_> {
    type Output = ();

    /// No batch put off rose above the peak, so their order does not matter; the last is most likely the lowest.
    #[inline(always)]
    fn call(self) {
        for index in (0..self.falls.count).rev() {
            let low = self.falls.lows[index];
            if low.bound < self.falls.bars.trough {
                self.falls.look_at_each(self.ranges, self.first, &low.batch);
            }
        }
        self.falls.count = 0;
        if let Some(batch) = self.batch {
            self.falls.look_at_each(self.ranges, self.first, batch);
        }
    }
}

impl Falls<'_> {
    #[inline(always)]
    fn look_at_each(&mut self, ranges: &Ranges, first: Side, batch: &Batch) {
        let fills = fills(self.closes, &batch.bars);
        let pnl = pnl(&fills, first, self.fee_pct);
        let count = usize::from(batch.count);
        let (_, settled) = settle(&pnl, batch.pnl_pct, count);
        let largest = largest_moves(ranges, &batch.bars, count);
        let (half, mut sign) = (0.5 * self.fee_pct, first.sign());
        for i in 0..count {
            let (settled, largest) = (settled[i], largest[i / LANES]);
            self.bars.push(settled - half);
            let is_within = (settled + (-largest - half) >= self.bars.trough)
                & (settled + (largest - half) <= self.bars.peak);
            if !is_within {
                let bars = batch.bars[i] as usize..batch.bars[i + 1] as usize;
                self.look(&self.closes[bars], sign, settled);
            }
            sign = -sign;
        }
    }

    /// Takes the closes of one trade, bar by bar where it must.
    #[inline(always)]
    fn look(&mut self, closes: &[f64], sign: f64, settled: f64) {
        let Some(&entry) = closes.first() else {
            return;
        };
        let half = 0.5 * self.fee_pct;
        let equity = |close| settled + pnl_pct(sign, entry, close, half);
        let (lowest, highest) = extremes(closes);
        let (a, b) = (equity(lowest), equity(highest));
        self.bars.push_range(lower(a, b), higher(a, b), |bars| {
            for &close in closes {
                bars.push(equity(close));
            }
        });
    }
}

/// Bounds, for each vector of trades, on the return of any of them at any close while one is held, in percent and before
/// fees: the entries' prices are closes of those bars too.
#[inline(always)]
fn largest_moves(ranges: &Ranges, bars: &Bars, count: usize) -> [f64; VECTORS] {
    let (mut lowest, mut highest) = ([1.0; VECTORS], [1.0; VECTORS]);
    for (vector, at) in vectors().enumerate() {
        if at < count {
            let end = (at + LANES).min(count);
            (lowest[vector], highest[vector]) = ranges.around(bars[at], bars[end] - 1);
        }
    }
    let mut largest = [0.0; VECTORS];
    for vector in 0..VECTORS {
        // the quotients and all that follows are as the marks compute them, so rounding cannot break the bound
        let (lowest, highest) = (lowest[vector], highest[vector]);
        largest[vector] = higher(highest / lowest - 1.0, 1.0 - lowest / highest) * 100.0;
    }
    largest
}

/// How many of the first trades hold a position at some close: one that is opened on the last bar closes there.
#[inline(always)]
pub(super) fn held(bars: &Bars, count: usize) -> usize {
    count - usize::from(bars[count - 1] == bars[count])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No mark is beyond the bound, and some reach more than half of it.
    #[test]
    fn moves_of_held_positions_are_bounded_and_come_close() {
        let walk = crate::random_walk(40_000, 4).unwrap();
        let ranges = Ranges::new(walk.closes());
        let mut nearest = 0.0_f64;
        for longest in [2, 40, 500, 4_000_u32] {
            let mut bars = [1; BATCH + 1];
            for i in 0..BATCH {
                let step = 1 + (i as u32 * 7_919) % longest;
                bars[i + 1] = (bars[i] + step).min(39_935 + i as u32);
            }
            let largest = largest_moves(&ranges, &bars, BATCH);
            for i in 0..BATCH {
                let closes = &walk.closes()[bars[i] as usize..bars[i + 1] as usize];
                for (sign, &close) in [1.0, -1.0]
                    .iter()
                    .flat_map(|s| closes.iter().map(move |c| (s, c)))
                {
                    let mark = pnl_pct(*sign, closes[0], close, 0.0);
                    assert!(mark.abs() <= largest[i / LANES], "{mark} {largest:?}");
                    nearest = nearest.max(mark / largest[i / LANES]);
                }
            }
        }
        assert!(nearest > 0.6, "{nearest}");
    }
}
