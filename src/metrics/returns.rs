//! The per-bar returns of an always-in combination: bar by bar around each fill, by running sums in between.
#![allow(clippy::inline_always)]

use super::batch::{BATCH, Bars, Column, Scaled, lower, total};
use super::moves::Powers;
use super::steps::{Closes, GROUP, Steps};
use super::timeline::Returns;
use crate::crossover::Side;

/// Bars of a group, one a lane.
pub(super) const LANES: usize = 8;
type Lanes = [f64; LANES];

/// The fill before some others: the entry of the trade that ends at the first of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Before {
    pub(super) bar: u32,
    /// Return of the trade when the close moves by 1.
    pub(super) slope: f64,
    /// What is paid at the fill after it, as a fraction of the stake.
    pub(super) fee: f64,
}

/// The bars of a fill's group, one a lane: up to the fill those of the trade that ends there, then those of the trade that
/// begins there, unless the next fill is in the same group and adds them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fill {
    /// Lane after that of the fill before, if it is in the same group.
    pub(super) first: u32,
    pub(super) lane: u32,
    /// Return of the trade that ends when the close moves by 1.
    pub(super) before: f64,
    /// That of the trade that begins; 0 where the next fill adds it.
    pub(super) after: f64,
    /// What the fill costs, as a fraction of the stake.
    pub(super) fee: f64,
}

impl Fill {
    /// The last exit, after which there is no position.
    pub(super) fn exit(bar: u32, before: Before) -> Self {
        let is_alone = before.bar / GROUP != bar / GROUP;
        Self {
            first: if is_alone { 0 } else { before.bar % GROUP + 1 },
            lane: bar % GROUP,
            before: before.slope,
            after: 0.0,
            fee: before.fee,
        }
    }
}

/// The lane after that of an earlier bar, if it is in the group.
#[inline(always)]
fn lane_after(earlier: u32, group: u32) -> u32 {
    if earlier / GROUP == group {
        earlier % GROUP + 1
    } else {
        0
    }
}

/// What each fill costs, that of an exit and an entry being `fee`.
#[inline(always)]
fn fees(bars: &Bars, before: Before, fee: f64) -> Column {
    let mut fees = [0.0; BATCH];
    for i in 0..BATCH {
        // a trade that opens on the last bar closes there too
        let exit = if bars[i] == bars[i + 1] { 0.5 } else { 0.0 };
        fees[i] = (1.0 + exit) * fee;
    }
    fees[0] += before.fee - fee;
    fees
}

/// 1 in the lanes from the index on.
static FROM: [Lanes; LANES + 1] = {
    let mut from = [[0.0; LANES]; LANES + 1];
    let mut at = 0;
    while at < LANES * LANES {
        let (first, lane) = (at / LANES, at % LANES);
        from[first][lane] = if lane >= first { 1.0 } else { 0.0 };
        at += 1;
    }
    from
};

/// Powers of the per-bar returns: bar by bar in the groups of eight around each fill, by sums over whole groups between.
#[derive(Debug, Clone, Default)]
pub(super) struct ReturnSums {
    /// Of whole groups, by the number of the trade modulo 4.
    groups: [Powers; 4],
    squares: Lanes,
    downside: Lanes,
    cubes: Lanes,
    fourths: Lanes,
}

impl ReturnSums {
    /// Adds the bars of a fill's group.
    #[inline(always)]
    pub(super) fn add_fill(&mut self, closes: &Closes, fill: &Fill) {
        let (from, at, upto) = (
            &FROM[fill.first as usize % (LANES + 1)],
            &FROM[fill.lane as usize % LANES],
            &FROM[fill.lane as usize % LANES + 1],
        );
        // weights of 0 and 1: masks that are put together bit by bit take longer than all the rest
        for i in 0..LANES {
            let slope = (from[i] - upto[i]) * fill.before + upto[i] * fill.after;
            let value = slope * (closes[i + 1] - closes[i]) - (at[i] - upto[i]) * fill.fee;
            let square = value * value;
            self.squares[i] += square;
            self.downside[i] += lower(value, 0.0) * value;
            self.cubes[i] += square * value;
            self.fourths[i] += square * square;
        }
    }

    /// Adds the bars from each entry on, but for the group of the last exit; hands back what that needs.
    #[inline(always)]
    pub(super) fn add(
        &mut self,
        steps: &Steps<'_>,
        scaled: &Scaled,
        bars: &Bars,
        before: Before,
        fee_pct: f64,
        count: usize,
    ) -> Before {
        let per_unit = steps.moves.per_unit();
        let (mut earlier, mut slopes) = ([before.bar; BATCH], [before.slope; BATCH + 1]);
        earlier[1..].copy_from_slice(&bars[..BATCH - 1]);
        for i in 0..BATCH {
            slopes[i + 1] = scaled.slopes[i] * per_unit;
        }
        let (mut lanes, mut firsts) = ([0; BATCH], [0; BATCH]);
        let mut afters = [0.0; BATCH];
        for i in 0..BATCH {
            let (group, next) = (bars[i] / GROUP, bars[i + 1] / GROUP);
            lanes[i] = bars[i] % GROUP;
            firsts[i] = lane_after(earlier[i], group);
            afters[i] = if next == group { 0.0 } else { slopes[i + 1] };
        }
        let fees = fees(bars, before, fee_pct / 100.0);
        for i in 0..count {
            let fill = Fill {
                first: firsts[i],
                lane: lanes[i],
                before: slopes[i],
                after: afters[i],
                fee: fees[i],
            };
            self.add_fill(steps.closes_of(bars[i] / GROUP), &fill);
        }
        self.add_groups(steps, &scaled.slopes, bars, count);
        Before {
            bar: bars[count - 1],
            slope: slopes[count],
            fee: fee_pct / 100.0,
        }
    }

    /// Adds the whole groups between the fills.
    #[inline(always)]
    fn add_groups(&mut self, steps: &Steps<'_>, slopes: &Column, bars: &Bars, count: usize) {
        let (mut firsts, mut lasts) = ([0; BATCH], [0; BATCH]);
        for i in 0..BATCH {
            firsts[i] = bars[i] / GROUP;
            lasts[i] = (bars[i + 1] / GROUP).max(firsts[i] + 1) - 1;
        }
        let sums = steps.block_of(firsts[0], lasts[BATCH - 1]);
        for i in 0..count {
            let sum = match sums {
                Some(sums) => sums.between(firsts[i], lasts[i]),
                None => steps.groups_between(firsts[i] as usize, lasts[i] as usize),
            };
            let square = slopes[i] * slopes[i];
            let weights = Powers {
                up: square,
                down: square,
                cubes: square * slopes[i],
                fourths: square * square,
            };
            self.groups[i % 4].add_product(&weights, &sum);
        }
    }

    /// The sums; trades of even number face `first`.
    pub(super) fn total(&self, first: Side) -> Returns {
        let [mut even, mut odd, even_too, odd_too] = self.groups;
        even.add(&even_too);
        odd.add(&odd_too);
        let against = match first {
            Side::Long => even.down + odd.up,
            Side::Short => even.up + odd.down,
        };
        Returns {
            sum: 0.0,
            squares: even.up + even.down + odd.up + odd.down + total(&self.squares),
            downside: against + total(&self.downside),
            cubes: even.cubes + odd.cubes + total(&self.cubes),
            fourths: even.fourths + odd.fourths + total(&self.fourths),
        }
    }
}
