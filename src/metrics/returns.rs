//! The per-bar returns of an always-in combination: the pairs of bars that hold a fill one by one, running sums in between.
//!
//! The bar of a fill has the move of the trade that ends there, and what the fill costs. The other bar of its pair belongs
//! to the trade that ends, if it comes before the fill, or else to the one that begins, unless it is a fill itself.
#![allow(clippy::inline_always)]

use super::batch::{BATCH, Bars, Column, Fills, Trades, total};
use super::moves::Powers;
use super::steps::{NONE, PAIR, Steps};
use super::timeline::Returns;
use crate::crossover::Side;

/// Values side by side: as many as the widest registers hold.
pub(super) const LANES: usize = 8;
pub(super) type Lanes = [f64; LANES];

/// The fill before some others: the entry of the trade that ends at the first of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Before {
    pub(super) bar: u32,
    /// Return of the trade when the close moves by one scaled unit.
    pub(super) slope: f64,
    /// What is paid at the fill after it, as a fraction of the stake.
    pub(super) fee: f64,
}

/// What fills pay, as fractions of the stake.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fees {
    /// One between two trades.
    pub(super) fill: f64,
    /// The exit of the last trade.
    pub(super) exit: f64,
}

/// Closes around the fills of a batch.
#[derive(Debug)]
pub(super) struct Around {
    pub(super) fills: Fills,
    /// Before the fill.
    before: Fills,
    /// At the other end of the pair's other move.
    other: Fills,
}

impl Around {
    #[inline(always)]
    pub(super) fn new(closes: &[f64], bars: &Bars) -> Self {
        let mut around = Self {
            fills: [0.0; BATCH + 1],
            before: [0.0; BATCH + 1],
            other: [0.0; BATCH + 1],
        };
        for (i, &bar) in bars.iter().enumerate() {
            let first = bar.wrapping_sub(2) as usize;
            let near = closes.get(first..first + 4);
            let near: &[f64; 4] = match near.and_then(|closes| closes.first_chunk()) {
                Some(near) => near,
                None => &near_end(closes, bar as usize),
            };
            around.fills[i] = near[2];
            around.before[i] = near[1];
            // the pair is this bar and the next, or the one before and this: by arithmetic, since a branch would be
            // mispredicted for every second fill
            around.other[i] = near[3 * (1 - bar as usize % PAIR)];
        }
        around
    }
}

/// The two closes before a bar, its own, and the one after: without a move where there is no bar.
#[cold]
#[inline(never)]
fn near_end(closes: &[f64], bar: usize) -> [f64; 4] {
    std::array::from_fn(|i| closes[(bar + i).saturating_sub(2).min(closes.len() - 1)])
}

/// Returns on the bars of a pair.
#[derive(Debug)]
struct Pairs {
    fills: Column,
    others: Column,
}

/// Sums of powers of returns, one a lane.
#[derive(Debug, Clone, Copy, Default)]
struct LaneSums {
    squares: Lanes,
    downside: Lanes,
    cubes: Lanes,
    fourths: Lanes,
}

impl LaneSums {
    #[inline(always)]
    fn add(&mut self, values: &Lanes) {
        for lane in 0..LANES {
            let value = values[lane];
            let square = value * value;
            self.squares[lane] += square;
            self.downside[lane] += if value < 0.0 { square } else { 0.0 };
            self.cubes[lane] += square * value;
            self.fourths[lane] += square * square;
        }
    }
}

/// Powers of the per-bar returns.
#[derive(Debug, Clone)]
pub(super) struct ReturnSums {
    /// The block of the first trade, where differences of its sums would not do.
    outweighed: usize,
    /// Of whole pairs, by the number of the trade modulo 4.
    pairs: [Powers; 4],
    lanes: LaneSums,
}

impl ReturnSums {
    pub(super) fn new() -> Self {
        Self {
            outweighed: NONE,
            pairs: Default::default(),
            lanes: LaneSums::default(),
        }
    }

    /// Learns where the first trade begins.
    pub(super) fn begin(&mut self, steps: &Steps<'_>, bar: u32) {
        self.outweighed = steps.outweighed(bar);
    }

    /// Adds the bars from each entry on, but for the pair of the last exit; hands back what that needs. Does a vector of
    /// something else beside each vector of look-ups: what waits for itself there costs no time of its own.
    #[inline(always)]
    pub(super) fn add(
        &mut self,
        steps: &Steps<'_>,
        trades: &Trades<'_>,
        around: &Around,
        (before, fee): (Before, Fees),
        beside: impl FnMut(usize),
    ) -> Before {
        let (bars, count) = (trades.bars, trades.count);
        let mut slopes = [before.slope; BATCH + 1];
        trades.slopes(1.0 / steps.moves.per_unit(), &mut slopes);
        let mut fees = [fee.fill; BATCH];
        fees[0] = before.fee;
        if bars[count - 1] == bars[count] {
            // a trade that opens on the last bar closes there too
            fees[count - 1] += fee.exit;
        }
        let mut pairs = around.pairs(trades, before.bar, &slopes, steps.moves.per_unit(), &fees);
        pairs.fills[count..].fill(0.0);
        pairs.others[count..].fill(0.0);
        let mut lanes = self.lanes;
        let (fills, others) = (pairs.fills.as_chunks().0, pairs.others.as_chunks().0);
        for (fills, others) in fills.iter().zip(others) {
            lanes.add(fills);
            lanes.add(others);
        }
        self.lanes = lanes;
        self.add_between(steps, trades, &slopes, beside);
        Before {
            bar: bars[count - 1],
            slope: slopes[count],
            fee: fee.fill,
        }
    }

    /// Adds the pair of the last exit, after which there is no position.
    pub(super) fn add_exit(&mut self, steps: &Steps<'_>, bar: u32, before: Before) {
        let (closes, slope) = (steps.moves.closes(), before.slope * steps.moves.per_unit());
        let close = |bar: u32| closes[bar as usize];
        let mut values = [0.0; LANES];
        values[0] = slope * (close(bar) - close(bar - 1)) - before.fee;
        if bar % 2 == 1 && before.bar < bar - 1 {
            values[1] = slope * (close(bar - 1) - close(bar - 2));
        }
        self.lanes.add(&values);
    }

    /// Adds the whole pairs between the fills.
    #[inline(always)]
    fn add_between(
        &mut self,
        steps: &Steps<'_>,
        trades: &Trades<'_>,
        slopes: &Fills,
        mut beside: impl FnMut(usize),
    ) {
        let mut sums = self.pairs;
        for at in (0..trades.count).step_by(LANES) {
            beside(at);
            let (bars, count) = (trades.bars, trades.count - at);
            let bars: &[u32; LANES + 1] = bars[at..].first_chunk().expect("one more than slots");
            let slopes: &Lanes = slopes[at + 1..].first_chunk().expect("whole vectors");
            match steps.smooth_block(bars[0], bars[LANES], self.outweighed) {
                Some(block) if LANES <= count => {
                    for i in 0..LANES {
                        add_one(
                            &mut sums[i % 4],
                            &block.between(bars[i], bars[i + 1]),
                            slopes[i],
                        );
                    }
                }
                // in several blocks, or in a rough one, or fewer than a vector
                _ => {
                    for i in 0..count.min(LANES) {
                        let (first, last) = (bars[i], bars[i + 1]);
                        let between = match steps.smooth_block(first, last, self.outweighed) {
                            Some(block) => block.between(first, last),
                            None => steps.between(first, last, self.outweighed),
                        };
                        add_one(&mut sums[i % 4], &between, slopes[i]);
                    }
                }
            }
        }
        self.pairs = sums;
    }

    /// The sums; trades of even number face `first`.
    pub(super) fn total(&self, first: Side) -> Returns {
        let [mut even, mut odd, even_too, odd_too] = self.pairs;
        even.add(&even_too);
        odd.add(&odd_too);
        let against = match first {
            Side::Long => even.down + odd.up,
            Side::Short => even.up + odd.down,
        };
        let lanes = &self.lanes;
        Returns {
            sum: 0.0,
            squares: even.up + even.down + odd.up + odd.down + total(&lanes.squares),
            downside: against + total(&lanes.downside),
            cubes: even.cubes + odd.cubes + total(&lanes.cubes),
            fourths: even.fourths + odd.fourths + total(&lanes.fourths),
        }
    }
}

impl Around {
    /// The returns on the bars of the fills' pairs.
    #[inline(always)]
    fn pairs(
        &self,
        trades: &Trades<'_>,
        earlier: u32,
        slopes: &Fills,
        per_unit: f64,
        fees: &Column,
    ) -> Pairs {
        let (mut fills, mut others) = ([0.0; BATCH], [0.0; BATCH]);
        let mut bars = [earlier; BATCH + 2];
        bars[1..].copy_from_slice(trades.bars);
        for i in 0..BATCH {
            let (earlier, bar, next) = (bars[i], bars[i + 1], bars[i + 2]);
            let (before, after) = (slopes[i] * per_unit, slopes[i + 1] * per_unit);
            let close = trades.fills[i];
            fills[i] = before * (close - self.before[i]) - fees[i];
            let is_second = bar % 2 == 1;
            let (neighbour, slope) = if is_second {
                (earlier, before)
            } else {
                (next, after)
            };
            let step = if is_second {
                self.before[i] - self.other[i]
            } else {
                self.other[i] - close
            };
            others[i] = if neighbour == (bar ^ 1) {
                0.0
            } else {
                slope * step
            };
        }
        Pairs { fills, others }
    }
}

/// Adds the whole pairs of one trade.
#[inline(always)]
fn add_one(sums: &mut Powers, between: &Powers, slope: f64) {
    let square = slope * slope;
    let weights = Powers {
        up: square,
        down: square,
        cubes: square * slope,
        fourths: square * square,
    };
    sums.add_product(&weights, between);
}
