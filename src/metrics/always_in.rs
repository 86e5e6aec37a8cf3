//! The meter of the default rules, sixteen trades at a time: the hot path of a sweep with metrics.
//!
//! Always in the market, each trade ends where the next begins, so a batch of crossovers is a batch of trades; their
//! divisions run side by side, and only sums and extremes are taken one after the other, in the order of the entries. It
//! computes what [`Meter`] computes from one trade at a time, and leaves the last, open trade to it.

use super::meter::Meter;
use super::moves::{Powers, extremes};
use super::steps::Steps;
use super::timeline::Pending;
use super::{MetricSet, Metrics};
use crate::crossover::{CrossoverSink, Side};
use crate::rules::Rules;
use crate::trade::{Recorder, Totals, Trade, pnl_pct};

/// Trades at a time.
const BATCH: usize = 16;

/// Measures one combination under the default rules, with any additive fee.
#[derive(Debug)]
pub(crate) struct AlwaysIn<'a> {
    steps: &'a Steps<'a>,
    meter: Meter<'a>,
    fee_pct: f64,
    side: Option<Side>,
    entry_bar: Option<u32>,
    lows: Vec<Low>,
}

/// Most trades put off before they are looked at.
const LOWS: usize = 64;

/// A trade that may hold the lowest equity since the peak, looked at only if nothing lower comes before the next peak:
/// where fees eat a strategy up, every other trade makes a new low, and the last of them makes the others idle.
#[derive(Debug, Clone, Copy)]
struct Low {
    /// The equity is nowhere lower.
    bound: f64,
    settled: f64,
    bars: (u32, u32),
    side: Side,
}

/// What a batch needs of each trade, worked out side by side.
#[derive(Debug, Clone, Copy, Default)]
struct Columns {
    entry: [f64; BATCH],
    exit: [f64; BATCH],
    /// Close before the exit.
    before: [f64; BATCH],
    /// Bounds on the closes that are worst and best for the side.
    worst: [f64; BATCH],
    best: [f64; BATCH],
    powers: [Powers; BATCH],
}

impl<'a> AlwaysIn<'a> {
    pub(crate) fn new(steps: &'a Steps<'a>, rules: &Rules, set: &MetricSet) -> Self {
        Self {
            steps,
            meter: Meter::new(steps.moves, rules, set, steps.moves.closes().len()),
            fee_pct: rules.fee_pct(),
            side: None,
            entry_bar: None,
            lows: Vec::with_capacity(LOWS),
        }
    }

    /// Closes the open trade at the last close.
    pub(crate) fn finish(mut self) -> (Totals, Metrics) {
        let closes = self.steps.moves.closes();
        self.look_at_lows();
        if let (Some(side), Some(entry_bar)) = (self.side, self.entry_bar) {
            let exit_bar = closes.len() as u32 - 1;
            let mut trade = self.trade(side, entry_bar, exit_bar);
            trade.is_open = true;
            self.meter.record(&trade, true);
        }
        let mut totals = self.meter.totals;
        // as the ledger does: all trades pay the same
        totals.fees_pct = totals.trades as f64 * self.fee_pct;
        self.meter.measure(totals, 1.0)
    }

    fn trade(&self, side: Side, entry_bar: u32, exit_bar: u32) -> Trade {
        let closes = self.steps.moves.closes();
        let (entry_price, exit_price) = (closes[entry_bar as usize], closes[exit_bar as usize]);
        Trade {
            entry_bar,
            exit_bar,
            side,
            entry_price,
            exit_price,
            pnl_pct: pnl_pct(side.sign(), entry_price, exit_price, self.fee_pct),
            fees_pct: self.fee_pct,
            is_open: false,
        }
    }

    /// Takes the trades from `entry_bar` over the exits in `bars`, the first of them facing `side`.
    fn add(&mut self, entry_bar: u32, bars: &[u32], side: Side) {
        let columns = self.gather(entry_bar, bars, side);
        let half = 0.5 * self.fee_pct;
        let (mut pnl, mut last) = ([0.0; BATCH], [0.0; BATCH]);
        let (mut worst, mut best) = ([0.0; BATCH], [0.0; BATCH]);
        let mut slope = [0.0; BATCH];
        let per_unit = self.steps.moves.per_unit();
        for i in 0..BATCH {
            let sign = if i % 2 == 0 {
                side.sign()
            } else {
                -side.sign()
            };
            let entry = columns.entry[i];
            pnl[i] = pnl_pct(sign, entry, columns.exit[i], self.fee_pct);
            last[i] = pnl_pct(sign, entry, columns.before[i], half) / 100.0;
            worst[i] = pnl_pct(sign, entry, columns.worst[i], half) / 100.0;
            best[i] = pnl_pct(sign, entry, columns.best[i], half) / 100.0;
            slope[i] = sign / (entry * per_unit);
        }
        let mut entry_bar = entry_bar;
        for (i, &exit_bar) in bars.iter().enumerate() {
            let is_long = (i % 2 == 0) == (side == Side::Long);
            self.add_returns(&columns.powers[i], slope[i], is_long);
            let (low, high) = (
                self.meter.timeline.settled + worst[i],
                self.meter.timeline.settled + best[i],
            );
            let side = if is_long { Side::Long } else { Side::Short };
            let drawdown = &mut self.meter.timeline.drawdown;
            if high > drawdown.peak {
                self.look_at_lows();
                let trade = self.trade(side, entry_bar, exit_bar);
                self.meter
                    .timeline
                    .fall_exactly(&trade, entry_bar as usize..exit_bar as usize);
            } else {
                // the entry's bar, whose mark is the fee alone
                drawdown.push(self.meter.timeline.settled - half / 100.0);
                if low < drawdown.trough {
                    let settled = self.meter.timeline.settled;
                    self.lows.push(Low {
                        bound: low,
                        settled,
                        bars: (entry_bar, exit_bar),
                        side,
                    });
                    if self.lows.len() == LOWS {
                        self.look_at_lows();
                    }
                }
            }
            let gained = pnl[i] / 100.0;
            self.meter.timeline.settled += gained;
            let settled = self.meter.timeline.settled;
            self.meter.timeline.closed.push(settled);
            self.meter.timeline.pending = Some(Pending {
                bar: exit_bar,
                gained: gained - last[i],
                before: settled,
            });
            self.tally(
                pnl[i],
                columns.exit[i] / columns.entry[i],
                exit_bar - entry_bar,
            );
            entry_bar = exit_bar;
        }
    }

    /// Settles the lowest equity since the peak; none of the trades put off rose above it.
    fn look_at_lows(&mut self) {
        let half = 0.5 * self.fee_pct;
        while let Some(low) = self.lows.pop() {
            if low.bound >= self.meter.timeline.drawdown.trough {
                continue;
            }
            let (entry_bar, exit_bar) = (low.bars.0 as usize, low.bars.1 as usize);
            let closes = &self.steps.moves.closes()[entry_bar..exit_bar];
            let (lowest, highest) = extremes(closes);
            let worst = if low.side == Side::Long {
                lowest
            } else {
                highest
            };
            let mark = pnl_pct(low.side.sign(), closes[0], worst, half) / 100.0;
            self.meter.timeline.drawdown.push(low.settled + mark);
        }
    }

    #[inline]
    fn gather(&self, entry_bar: u32, bars: &[u32], side: Side) -> Columns {
        let closes = self.steps.moves.closes();
        let mut columns = Columns {
            entry: [1.0; BATCH],
            ..Columns::default()
        };
        let mut entry_bar = entry_bar as usize;
        for (i, &exit_bar) in bars.iter().enumerate() {
            let exit_bar = exit_bar as usize;
            columns.entry[i] = closes[entry_bar];
            columns.exit[i] = closes[exit_bar];
            columns.before[i] = closes[exit_bar - 1];
            columns.powers[i] = self.steps.powers(entry_bar, exit_bar - 1);
            let (lowest, highest) = self.steps.around(&(entry_bar..exit_bar));
            let is_long = (i % 2 == 0) == (side == Side::Long);
            columns.worst[i] = if is_long { lowest } else { highest };
            columns.best[i] = if is_long { highest } else { lowest };
            entry_bar = exit_bar;
        }
        columns
    }

    /// The returns from the entry to the bar before the exit; the entry's bar shares its return with the exit before.
    #[inline]
    fn add_returns(&mut self, powers: &Powers, slope: f64, is_long: bool) {
        let returns = &mut self.meter.timeline.returns;
        let gained = self
            .meter
            .timeline
            .pending
            .map_or(0.0, |pending| pending.gained);
        returns.push(gained - 0.5 * self.fee_pct / 100.0);
        let square = slope * slope;
        let against = if is_long { powers.down } else { powers.up };
        returns.squares += square * (powers.up + powers.down);
        returns.downside += square * against;
        returns.cubes += square * slope * powers.cubes;
        returns.fourths += square * square * powers.fourths;
    }

    #[inline]
    fn tally(&mut self, pnl: f64, ratio: f64, bars: u32) {
        let meter = &mut self.meter;
        meter.totals.trades += 1;
        meter.totals.pnl_pct += pnl;
        meter.totals.wins += u64::from(pnl > 0.0);
        meter.gains += if pnl > 0.0 { pnl } else { 0.0 };
        meter.losses -= if pnl < 0.0 { pnl } else { 0.0 };
        meter.best = if pnl > meter.best { pnl } else { meter.best };
        meter.worst = if pnl < meter.worst { pnl } else { meter.worst };
        meter.held += u64::from(bars);
        meter.turnover += 1.0 + ratio;
    }
}

impl CrossoverSink for AlwaysIn<'_> {
    fn arm(&mut self, _: u32, side: Side) {
        self.side = Some(side);
    }

    fn crossovers(&mut self, bars: &[u32]) {
        let (Some(mut side), Some(&first)) = (self.side, bars.first()) else {
            return;
        };
        let mut rest = bars;
        let mut entry_bar = self.entry_bar.unwrap_or_else(|| {
            rest = &bars[1..];
            side = side.opposite();
            first
        });
        for batch in rest.chunks(BATCH) {
            self.add(entry_bar, batch, side);
            entry_bar = batch[batch.len() - 1];
            side = if batch.len() % 2 == 0 {
                side
            } else {
                side.opposite()
            };
        }
        self.entry_bar = Some(entry_bar);
        self.side = Some(side);
    }
}
