//! Drawdowns of an always-in combination, in percent of the stake: of the equity after each trade, and at every close.
//!
//! A mark never moves against `sign * close`, rounding included, so bounds on the closes of a batch bound its equity. A
//! batch whose bounds stay below the peak can only deepen the fall from it, and what its trades reach in between counts
//! only if the equity at no entry is lower: such batches are put off, since where fees eat a strategy up the next trades
//! fall lower still. Only batches that may set a new peak are looked at trade by trade.
#![allow(clippy::inline_always)]

use super::batch::{BATCH, Bars, Column, Settled, extremes, fills, higher, lower, pnl, vectors};
use super::drawdown::Drawdown;
use super::ranges::Ranges;
use super::returns::LANES;
use crate::crossover::Side;
use crate::trade::pnl_pct;

/// Vectors of a batch.
const VECTORS: usize = BATCH / LANES;

/// Most batches put off before they are looked at.
const LOWS: usize = 16;

/// Some trades, one after the other.
#[derive(Debug)]
pub(super) struct Batch<'b> {
    /// PnL before the first trade.
    pub(super) pnl_pct: f64,
    pub(super) bars: &'b Bars,
    /// Trades that hold a position at some close.
    pub(super) count: usize,
}

/// A batch that may hold the lowest equity since the peak.
#[derive(Debug, Clone, Copy)]
struct Low {
    /// The equity is nowhere lower.
    bound: f64,
    pnl_pct: f64,
    bars: Bars,
    count: usize,
}

/// The equity of one combination, as far as its falls go.
#[derive(Debug)]
pub(super) struct Falls<'a> {
    closes: &'a [f64],
    fee_pct: f64,
    pub(super) closed: Drawdown,
    bars: Drawdown,
    /// Batches put off.
    lows: Vec<Low>,
    arch: pulp::Arch,
}

impl<'a> Falls<'a> {
    pub(super) fn new(closes: &'a [f64], fee_pct: f64, arch: pulp::Arch) -> Self {
        Self {
            closes,
            fee_pct,
            closed: Drawdown::new(100.0),
            bars: Drawdown::new(100.0),
            lows: Vec::new(),
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

    /// Takes the closes of some trades, the equity before each given, which slots that are not used repeat.
    #[inline(always)]
    pub(super) fn hold(
        &mut self,
        ranges: &Ranges,
        first: Side,
        batch: &Batch<'_>,
        settled: &Column,
    ) {
        let half = 0.5 * self.fee_pct;
        let (lowest, highest) = extremes(settled);
        let (first_bar, end) = (batch.bars[0], batch.bars[batch.count]);
        let ([largest], peak) = (
            largest_moves(ranges, [first_bar], [end - 1]),
            self.bars.peak,
        );
        let mut bound = lowest + (-largest - half);
        if !(highest + (largest - half) <= peak) {
            // eight trades at a time
            let largest = largest_moves_of_each(ranges, batch.bars);
            let best;
            (bound, best) = bounds(settled, &largest, half);
            if !(best <= peak) {
                return self.look_at(ranges, first, Some((batch, settled)));
            }
        }
        // on an entry's bar the mark is the fee alone
        self.bars.trough = lower(lowest - half, self.bars.trough);
        if bound < self.bars.trough {
            self.put_off(ranges, first, batch, bound);
        }
    }

    #[inline(never)]
    fn put_off(&mut self, ranges: &Ranges, first: Side, batch: &Batch<'_>, bound: f64) {
        self.lows.push(Low {
            bound,
            pnl_pct: batch.pnl_pct,
            bars: *batch.bars,
            count: batch.count,
        });
        if self.lows.len() == LOWS {
            // most of them have been undercut since
            let trough = self.bars.trough;
            self.lows.retain(|low| low.bound < trough);
            if self.lows.len() == LOWS {
                self.look_at(ranges, first, None);
            }
        }
    }

    /// Settles the batches put off, then looks at the trades of another.
    #[inline(never)]
    fn look_at(&mut self, ranges: &Ranges, first: Side, batch: Option<(&Batch<'_>, &Column)>) {
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
    /// With the equity before each trade.
    batch: Option<(&'l Batch<'l>, &'l Column)>,
}

impl pulp::NullaryFnOnce for Look<'_, '_> {
    type Output = ();

    /// No batch put off rose above the peak, so their order does not matter; the last is most likely the lowest.
    #[inline(always)]
    fn call(self) {
        while let Some(low) = self.falls.lows.pop() {
            if low.bound < self.falls.bars.trough {
                let batch = Batch {
                    pnl_pct: low.pnl_pct,
                    bars: &low.bars,
                    count: low.count,
                };
                let settled = self.falls.settled(self.first, &batch);
                self.falls
                    .look_at_each(self.ranges, self.first, &batch, &settled);
            }
        }
        if let Some((batch, settled)) = self.batch {
            self.falls
                .look_at_each(self.ranges, self.first, batch, settled);
        }
    }
}

impl Falls<'_> {
    /// The equity before each trade of a batch that was put off.
    #[inline(always)]
    fn settled(&self, first: Side, batch: &Batch<'_>) -> Column {
        let fills = fills(self.closes, batch.bars);
        let (_, pnl) = pnl(&fills, first, self.fee_pct);
        let mut settled = Settled::new(batch.pnl_pct);
        settled.add(0, &pnl[..batch.count]);
        *settled.before(batch.count)
    }

    /// Looks at the trades in order as far as they may rise above the peak; then at the others from the last to the first,
    /// since the last are the likeliest to set the trough. Where no fall can be deeper, only a new peak is looked for.
    #[inline(always)]
    fn look_at_each(&mut self, ranges: &Ranges, first: Side, batch: &Batch<'_>, settled: &Column) {
        let count = batch.count;
        let largest = largest_moves_of_each(ranges, batch.bars);
        let half = 0.5 * self.fee_pct;
        let (worst, best) = bounds(settled, &largest, half);
        let each = (0..count).map(|i| Held {
            bars: (batch.bars[i], batch.bars[i + 1]),
            sign: if i % 2 == 0 {
                first.sign()
            } else {
                -first.sign()
            },
            settled: settled[i],
            largest: largest[i / LANES],
        });
        if self.bars.is_no_deeper(worst, best) {
            return self.find_peak(ranges, extremes(settled).1, each);
        }
        let peak = self.bars.peak;
        let below = each.clone().rev();
        let below = below
            .take_while(|held| held.settled + (held.largest - half) <= peak)
            .count();
        let rising = each.clone().take(count - below);
        for held in rising.chain(each.rev().take(below)) {
            self.bars.push(held.settled - half);
            let is_within = (held.settled + (-held.largest - half) >= self.bars.trough)
                & (held.settled + (held.largest - half) <= self.bars.peak);
            if !is_within {
                self.look(ranges, &held);
            }
        }
    }

    /// Takes trades in which no fall is deeper than those before: of them, the highest equity alone counts. That at the
    /// entries, where the mark is the fee alone, is known, and leaves few trades to look at.
    #[inline(always)]
    fn find_peak(&mut self, ranges: &Ranges, highest: f64, each: impl Iterator<Item = Held>) {
        let half = 0.5 * self.fee_pct;
        let mut peak = higher(highest - half, self.bars.peak);
        for held in each {
            if held.settled + (held.largest - half) <= peak {
                continue;
            }
            let closes = held.closes(self.closes);
            let equity = |(lowest, highest)| {
                let best = if held.sign > 0.0 { highest } else { lowest };
                held.settled + pnl_pct(held.sign, closes[0], best, half)
            };
            if equity(ranges.around(held.bars.0, held.bars.1 - 1)) > peak {
                peak = higher(equity(extremes(closes)), peak);
            }
        }
        if peak > self.bars.peak {
            self.bars.rise(peak);
        }
    }

    /// Takes the closes of one trade, bar by bar where it must.
    #[inline(always)]
    fn look(&mut self, ranges: &Ranges, held: &Held) {
        let (closes, half) = (held.closes(self.closes), 0.5 * self.fee_pct);
        let entry = closes[0];
        let equity = |close| held.settled + pnl_pct(held.sign, entry, close, half);
        let (lowest, highest) = ranges.around(held.bars.0, held.bars.1 - 1);
        let (a, b) = (equity(lowest), equity(highest));
        if (lower(a, b) >= self.bars.trough) & (higher(a, b) <= self.bars.peak) {
            return;
        }
        let (lowest, highest) = extremes(closes);
        let (a, b) = (equity(lowest), equity(highest));
        self.bars.push_range(lower(a, b), higher(a, b), |bars| {
            for &close in closes {
                bars.push(equity(close));
            }
        });
    }
}

/// One trade that holds a position at some close.
#[derive(Debug, Clone, Copy)]
struct Held {
    /// Of the entry and the exit.
    bars: (u32, u32),
    sign: f64,
    /// Equity before it.
    settled: f64,
    /// Bound on its return.
    largest: f64,
}

impl Held {
    /// The closes at which it is held.
    #[inline(always)]
    fn closes<'a>(&self, closes: &'a [f64]) -> &'a [f64] {
        &closes[self.bars.0 as usize..self.bars.1 as usize]
    }
}

/// Bounds on the equity at any close of some trades, the equity before each and the bounds on their returns given.
#[inline(always)]
fn bounds(settled: &Column, largest: &[f64; VECTORS], half: f64) -> (f64, f64) {
    let (mut lowest, mut highest) = ([f64::INFINITY; LANES], [f64::NEG_INFINITY; LANES]);
    for (settled, largest) in settled.as_chunks::<LANES>().0.iter().zip(largest) {
        let (down, up) = (-largest - half, largest - half);
        for lane in 0..LANES {
            lowest[lane] = lower(settled[lane] + down, lowest[lane]);
            highest[lane] = higher(settled[lane] + up, highest[lane]);
        }
    }
    (extremes(&lowest).0, extremes(&highest).1)
}

/// Bounds, for each vector of trades, on the return of any of them at any close while one is held.
#[inline(always)]
fn largest_moves_of_each(ranges: &Ranges, bars: &Bars) -> [f64; VECTORS] {
    let (mut first, mut last) = ([0; VECTORS], [0; VECTORS]);
    for (vector, at) in vectors().enumerate() {
        first[vector] = bars[at];
        // an unused slot has no bars
        last[vector] = bars[at + LANES].max(bars[at] + 1) - 1;
    }
    largest_moves(ranges, first, last)
}

/// Bounds on the return of any position that is entered and held at closes of some runs of bars, in percent and before
/// fees.
#[inline(always)]
fn largest_moves<const N: usize>(ranges: &Ranges, first: [u32; N], last: [u32; N]) -> [f64; N] {
    let (lowest, highest) = ranges.around_each(&first, &last);
    let mut largest = [0.0; N];
    for i in 0..N {
        // the quotients and all that follows are as the marks compute them, so rounding cannot break the bound
        let (lowest, highest) = (lowest[i], highest[i]);
        largest[i] = higher(highest / lowest - 1.0, 1.0 - lowest / highest) * 100.0;
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
            let largest = largest_moves_of_each(&ranges, &bars);
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
        // half of the bound would be too little
        assert!(nearest > 0.5, "{nearest}");
    }
}
