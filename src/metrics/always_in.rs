//! The meter of the always-in rules, thirty-two trades at a time: the hot path of a sweep with metrics.
//!
//! Always in the market, each trade ends where the next begins, so a batch of crossovers is a batch of trades. Crossovers
//! wait until a batch is full: the results depend on the number of a trade alone, not on how an engine hands them over.
#![allow(clippy::inline_always)]

use super::batch::{BATCH, Bars, Column, Fills, Settled, TradeSums, Trades, fills, pnl};
use super::falls::{Batch, Falls, held};
use super::returns::{Around, Before, Fees, LANES, ReturnSums};
use super::steps::Steps;
use super::tally::{BarByBar, Tally};
use super::{MetricSet, Metrics};
use crate::crossover::{CrossoverSink, Side};
use crate::rules::{FirstSide, OpenTrade, Rules};
use crate::trade::{Totals, fees_pct, fillable, pnl_of_ratio};

/// Measures one combination that is always in the market and filled at closes, with any additive fee, first side and end.
#[derive(Debug)]
pub(crate) struct AlwaysIn<'a> {
    /// By the bars of the signals that they fill.
    closes: &'a [f64],
    /// Bars that the metrics are over.
    series_bars: usize,
    /// Tables, where bar-by-bar metrics are asked for.
    steps: Option<&'a Steps<'a>>,
    periods_per_year: Option<f64>,
    fee_pct: f64,
    first_side: FirstSide,
    open_trade: OpenTrade,
    /// Whether the last trade being added is the open one, which pays no exit.
    marks: bool,
    /// The side of the first trade, and of every second one after it.
    first: Option<Side>,
    first_bar: u32,
    /// The entry of the first trade that waits, and the exits so far.
    bars: Bars,
    waiting: usize,
    trades: u64,
    pnl_pct: f64,
    unfilled: u64,
    sums: TradeSums,
    returns: ReturnSums,
    falls: Falls<'a>,
    before: Before,
    arch: pulp::Arch,
}

impl<'a> AlwaysIn<'a> {
    /// A meter over the closes of a series; the tables are of those at which the rules fill.
    pub(crate) fn new(
        closes: &'a [f64],
        steps: Option<&'a Steps<'a>>,
        rules: &Rules,
        set: &MetricSet,
    ) -> Self {
        Self::with_arch(closes, steps, rules, set, pulp::Arch::new())
    }

    /// On an instruction set of choice; every one gives the same bits.
    fn with_arch(
        closes: &'a [f64],
        steps: Option<&'a Steps<'a>>,
        rules: &Rules,
        set: &MetricSet,
        arch: pulp::Arch,
    ) -> Self {
        let series_bars = closes.len();
        let closes = rules.filled(closes);
        Self {
            closes,
            series_bars,
            steps,
            periods_per_year: set.periods_per_year,
            fee_pct: rules.fee_pct(),
            first_side: rules.first_side(),
            open_trade: rules.open_trade(),
            marks: false,
            first: None,
            first_bar: 0,
            bars: [0; BATCH + 1],
            waiting: 0,
            trades: 0,
            pnl_pct: 0.0,
            unfilled: 0,
            sums: TradeSums::new(),
            returns: ReturnSums::new(),
            falls: Falls::new(closes, rules.fee_pct(), arch),
            // the first fill pays an entry, and no exit
            before: Before {
                bar: u32::MAX,
                slope: 0.0,
                fee: 0.5 * rules.fee_pct() / 100.0,
            },
            arch,
        }
    }

    /// Takes the first `count` trades that wait.
    #[inline(always)]
    fn add(&mut self, count: usize, first: Side) {
        let mut settled = Settled::new(self.pnl_pct);
        if let Some(steps) = self.steps {
            self.add_all(steps, count, first, &mut settled);
        } else {
            let fills = fills(self.closes, &self.bars);
            let pnl = self.add_trades(&fills, count, first);
            settled.add(0, &pnl[..count]);
            self.falls.close(&settled.equity[1..=count]);
        }
        self.pnl_pct = settled.pnl_pct;
        self.trades += count as u64;
        self.bars[0] = self.bars[count];
        self.waiting = 1;
    }

    /// Adds what the prices of the fills alone tell; hands back the PnL.
    #[inline(always)]
    fn add_trades(&mut self, fills: &Fills, count: usize, first: Side) -> Column {
        let (mut ratios, mut pnl) = pnl(fills, first, self.fee_pct);
        if self.marks {
            let last = count - 1;
            let side = if last.is_multiple_of(2) {
                first
            } else {
                first.opposite()
            };
            pnl[last] = pnl_of_ratio(side.sign(), ratios[last], 0.5 * self.fee_pct);
            // no notional leaves the market
            ratios[last] = 0.0;
        }
        self.sums.add(&ratios, &pnl, count);
        pnl
    }

    /// The same with all metrics.
    #[inline(always)]
    fn add_all(&mut self, steps: &Steps<'_>, count: usize, first: Side, settled: &mut Settled) {
        let around = Around::new(self.closes, &self.bars);
        let pnl = self.add_trades(&around.fills, count, first);
        let trades = Trades {
            first,
            bars: &self.bars,
            fills: &around.fills,
            count,
        };
        let fees = Fees {
            fill: self.fee_pct / 100.0,
            exit: self.exit_fee(),
        };
        let before = (self.before, fees);
        self.before = self.returns.add(steps, &trades, &around, before, |at| {
            settled.add(at, &pnl[at..count.min(at + LANES)]);
        });
        self.falls.close(&settled.equity[1..=count]);
        let held = held(&self.bars, count);
        if held > 0 {
            let batch = Batch {
                pnl_pct: self.pnl_pct,
                bars: &self.bars,
                count: held,
            };
            let before = settled.before(held);
            self.falls.hold(&steps.moves.ranges, first, &batch, before);
        }
    }

    #[inline(always)]
    fn take(&mut self, bars: &[u32], first: Side) {
        let mut bars = bars;
        while !bars.is_empty() {
            let room = (BATCH + 1 - self.waiting).min(bars.len());
            let (next, rest) = bars.split_at(room);
            self.bars[self.waiting..self.waiting + room].copy_from_slice(next);
            self.waiting += room;
            bars = rest;
            if self.waiting == BATCH + 1 {
                self.add(BATCH, first);
            }
        }
    }

    /// The fee of the last exit, as a fraction of the stake.
    fn exit_fee(&self) -> f64 {
        if self.marks {
            0.0
        } else {
            0.5 * self.fee_pct / 100.0
        }
    }

    /// Takes the trades that still wait, and the one that is open at the last bar, if it counts.
    #[inline(never)]
    fn add_rest(&mut self, first: Side) {
        let last = self.closes.len() as u32 - 1;
        if self.open_trade != OpenTrade::Exclude {
            self.marks = self.open_trade == OpenTrade::Mark;
            self.take(&[last], first);
        }
        if self.waiting > 1 {
            let end = self.bars[self.waiting - 1];
            self.bars[self.waiting..].fill(end);
            self.add(self.waiting - 1, first);
        }
        let end = self.bars[0];
        if let (Some(steps), true) = (self.steps, self.before.bar < end) {
            let exit = Before {
                fee: self.exit_fee(),
                ..self.before
            };
            self.returns.add_exit(steps, end, exit);
        }
    }

    /// Closes, marks or excludes the open trade at the last close.
    pub(crate) fn finish(mut self) -> (Totals, Metrics) {
        let traded = self.first.filter(|_| self.waiting > 0);
        if let Some(first) = traded {
            self.add_rest(first);
        }
        let totals = Totals {
            trades: self.trades,
            pnl_pct: self.pnl_pct,
            wins: self.sums.wins(),
            has_open_trade: traded.is_some(),
            unfilled: self.unfilled,
            ..Totals::default()
        };
        let totals = Totals {
            fees_pct: fees_pct(&totals, self.open_trade, self.fee_pct),
            ..totals
        };
        let mut metrics = self.tally(traded.is_some()).metrics(&totals);
        if let (Some(steps), Some(periods_per_year)) = (self.steps, self.periods_per_year) {
            let ranges = &steps.moves.ranges;
            let first = self.first.unwrap_or(Side::Long);
            let mut returns = self.returns.total(first);
            // additive returns telescope
            returns.sum = self.pnl_pct / 100.0;
            let bars = BarByBar {
                returns,
                drawdown: self.falls.finish(ranges, first, 100.0 + self.pnl_pct),
                equity: 1.0,
            };
            bars.add_to(&mut metrics, self.series_bars as u64, periods_per_year);
        }
        (totals, metrics)
    }

    fn tally(&self, has_traded: bool) -> Tally {
        let mut tally = Tally::new(self.series_bars);
        tally.gains = self.sums.gains();
        tally.losses = self.sums.losses();
        tally.best = self.sums.best();
        tally.worst = self.sums.worst();
        tally.turnover = self.trades as f64 + self.sums.ratios();
        if has_traded {
            // up to the last exit
            tally.held = u64::from(self.bars[0] - self.first_bar);
        }
        tally.closed_drawdown = self.falls.closed.deepest();
        tally
    }
}

/// The columns are vectors only with the instructions that a dispatch switches on; a closure would not be inlined.
struct Take<'t, 'a> {
    meter: &'t mut AlwaysIn<'a>,
    bars: &'t [u32],
    first: Side,
}

impl pulp::NullaryFnOnce for Take<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        self.meter.take(self.bars, self.first);
    }
}

impl CrossoverSink for AlwaysIn<'_> {
    fn arm(&mut self, bar: u32, side: Side) {
        self.first = Some(side.opposite());
        if self.first_side == FirstSide::Enter {
            self.first = Some(side);
            self.crossovers(&[bar]);
        }
    }

    fn crossovers(&mut self, bars: &[u32]) {
        let (bars, unfilled) = fillable(bars, self.closes);
        self.unfilled += unfilled;
        let (Some(first), Some(&first_bar)) = (self.first, bars.first()) else {
            return;
        };
        if self.trades == 0 && self.waiting == 0 {
            self.first_bar = first_bar;
            if let Some(steps) = self.steps {
                self.returns.begin(steps, first_bar);
            }
        }
        self.arch.dispatch(Take {
            meter: self,
            bars,
            first,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_do_not_depend_on_how_crossovers_are_handed_over() {
        let walk = crate::random_walk(6_000, 5).unwrap();
        let steps = Steps::new(walk.closes());
        let marked = Rules::published().with_open_trade(OpenTrade::Mark);
        let set = MetricSet::all(252.0).unwrap();
        let mut state = 3_u64;
        let mut bars: Vec<u32> = (1..6_000)
            .filter(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                (state >> 33).is_multiple_of(9)
            })
            .collect();
        for round in 0..40 {
            let rules = [Rules::published(), marked][round % 2];
            let measure = |at_once: usize| {
                let mut meter = AlwaysIn::new(walk.closes(), Some(&steps), &rules, &set);
                meter.arm(0, Side::Short);
                bars.chunks(at_once).for_each(|bars| meter.crossovers(bars));
                meter.finish()
            };
            let one = measure(1);
            assert_eq!(one.0.trades, bars.len() as u64);
            for at_once in [2, 63, 64, 65, 100, 10_000] {
                assert_eq!(measure(at_once), one);
            }
            // every length of the rest, with and without a crossover on the last bar
            bars.remove(bars.len() / 2);
            if bars.last() == Some(&5_999) {
                bars.pop();
            } else {
                bars.push(5_999);
            }
        }
    }

    /// Every instruction set gives the same bits.
    #[test]
    fn results_do_not_depend_on_the_instructions() {
        let walk = crate::random_walk(30_000, 8).unwrap();
        let steps = Steps::new(walk.closes());
        let set = MetricSet::all(252.0).unwrap();
        let mut archs = vec![pulp::Arch::Scalar];
        #[cfg(target_arch = "x86_64")]
        {
            archs.extend(pulp::x86::V3::try_new().map(pulp::Arch::V3));
            archs.extend(pulp::x86::V4::try_new().map(pulp::Arch::V4));
        }
        #[cfg(target_arch = "aarch64")]
        archs.extend(pulp::aarch64::Neon::try_new().map(pulp::Arch::Neon));
        for rules in [Rules::default(), Rules::published()] {
            for step in [1, 3, 10, 90, 3_000] {
                let bars: Vec<u32> = (5..30_000).step_by(step).collect();
                let results = archs.iter().map(|&arch| {
                    let closes = walk.closes();
                    let mut meter = AlwaysIn::with_arch(closes, Some(&steps), &rules, &set, arch);
                    meter.arm(2, Side::Long);
                    meter.crossovers(&bars);
                    meter.finish()
                });
                let results: Vec<_> = results.collect();
                assert_eq!(results[0].0.trades, bars.len() as u64);
                assert!(results.iter().all(|result| *result == results[0]));
            }
        }
    }
}
