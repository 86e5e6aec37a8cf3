//! Trades of a window from crossovers that were found once for the whole series.

use std::ops::Range;

use super::Measured;
use crate::crossover::{CrossoverSink, Side};
use crate::metrics::{Meter, MetricSet, Moves};
use crate::rules::{FirstSide, Rules};
use crate::series::Series;
use crate::trade::{Market, Recorder, TradeBuilder};

/// Everything that a combination's sides say: the first decided one, and where they change.
#[derive(Debug, Clone, Default)]
pub(crate) struct Signals {
    armed: Option<(u32, Side)>,
    crossovers: Vec<u32>,
}

impl CrossoverSink for Signals {
    fn arm(&mut self, bar: u32, side: Side) {
        self.armed = Some((bar, side));
    }

    fn crossovers(&mut self, bars: &[u32]) {
        self.crossovers.extend_from_slice(bars);
    }
}

impl Signals {
    /// Shows a builder what happens on some bars, the side before them known.
    pub(crate) fn replay<R: Recorder>(
        &self,
        bars: &Range<usize>,
        first_side: FirstSide,
        builder: &mut TradeBuilder<'_, R>,
    ) {
        let (start, end) = (bars.start as u32, bars.end as u32);
        let Some((armed_at, armed)) = self.armed.filter(|&(bar, _)| bar < end) else {
            return;
        };
        let mut next = self.crossovers.partition_point(|&bar| bar < start);
        let after = self.crossovers.partition_point(|&bar| bar < end);
        if first_side == FirstSide::Enter && next < after && self.crossovers[next] == start {
            next += 1;
        }
        let side = if next % 2 == 0 {
            armed
        } else {
            armed.opposite()
        };
        builder.arm(armed_at.max(start), side);
        builder.crossovers(&self.crossovers[next..after]);
    }
}

/// Some bars of a series under some rules, nothing after them in sight.
#[derive(Debug)]
pub(super) struct Window<'a> {
    market: Market<'a>,
    moves: &'a Moves<'a>,
    rules: &'a Rules,
    set: &'a MetricSet,
    bars: Range<usize>,
}

impl<'a> Window<'a> {
    pub(super) fn new(
        series: &'a Series,
        rules: &'a Rules,
        set: &'a MetricSet,
        moves: &'a Moves<'a>,
        bars: Range<usize>,
    ) -> Self {
        Self {
            market: Market::new(series, rules, bars.end),
            moves,
            rules,
            set,
            bars,
        }
    }

    pub(super) fn measure(&self, signals: &Signals) -> Measured {
        let meter = Meter::new(self.moves, self.rules, self.set, self.bars.len());
        let mut builder = TradeBuilder::new(self.market, self.rules, meter);
        signals.replay(&self.bars, self.rules.first_side(), &mut builder);
        let (totals, metrics) = Meter::finish(builder, self.rules);
        Measured { totals, metrics }
    }
}
