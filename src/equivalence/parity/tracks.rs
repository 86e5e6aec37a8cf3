//! The sides of both engines over time, and how their trades match.

use super::CombinationParity;
use crate::backend::{Backend, collect};
use crate::crossover::{CrossoverSink, Side};
use crate::error::Result;
use crate::question::Question;
use crate::rules::Rules;
use crate::trade::{Market, Recorder, Totals, Trade, TradeBuilder};

/// The sides of one combination: the first one, and the bars on which it turns.
#[derive(Debug, Default, Clone)]
struct Track {
    armed: Option<(u32, Side)>,
    turns: Vec<u32>,
}

impl CrossoverSink for Track {
    fn arm(&mut self, bar: u32, side: Side) {
        self.armed = Some((bar, side));
    }

    fn crossovers(&mut self, bars: &[u32]) {
        self.turns.extend_from_slice(bars);
    }
}

impl Track {
    /// Plays the sides into another sink.
    fn replay(&self, sink: &mut dyn CrossoverSink) {
        if let Some((bar, side)) = self.armed {
            sink.arm(bar, side);
            sink.crossovers(&self.turns);
        }
    }

    /// Every bar on which the side changes, the arming one too, with the side from there on.
    fn changes(&self) -> impl Iterator<Item = (u32, Option<Side>)> {
        let mut side = self.armed.map(|(_, side)| side);
        let armed = self.armed.map(|(bar, side)| (bar, Some(side)));
        let turns = self.turns.iter().map(move |&bar| {
            side = side.map(Side::opposite);
            (bar, side)
        });
        armed.into_iter().chain(turns)
    }
}

/// A stretch of bars on which two engines are on different sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) first_bar: usize,
    pub(super) bars: usize,
    pub(super) reference: Option<Side>,
    pub(super) candidate: Option<Side>,
}

/// The sides of every combination, as one engine has them.
#[derive(Debug)]
pub(super) struct Tracks(Vec<Track>);

impl Tracks {
    /// Asks an engine; also whether it is certified.
    pub(super) fn of(engine: &dyn Backend, question: &Question<'_>) -> Result<(Self, bool)> {
        let (tracks, diagnostics) = collect(engine, question, Track::default)?;
        Ok((Self(tracks), diagnostics.certified))
    }

    /// The stretches of bars on which the sides of one combination differ from those of the other engine.
    pub(super) fn disagreements(&self, other: &Self, index: usize, bars: usize) -> Vec<Run> {
        let (mut a, mut b) = (
            self.0[index].changes().peekable(),
            other.0[index].changes().peekable(),
        );
        let (mut reference, mut candidate) = (None, None);
        let mut runs: Vec<Run> = Vec::new();
        let mut open: Option<Run> = None;
        while let Some(bar) = match (a.peek(), b.peek()) {
            (Some(&(a, _)), Some(&(b, _))) => Some(a.min(b)),
            (a, b) => a.or(b).map(|&(bar, _)| bar),
        } {
            if let Some((_, side)) = a.next_if(|change| change.0 == bar) {
                reference = side;
            }
            if let Some((_, side)) = b.next_if(|change| change.0 == bar) {
                candidate = side;
            }
            let first_bar = bar as usize;
            if let Some(run) = open.take() {
                let bars = first_bar - run.first_bar;
                runs.push(Run { bars, ..run });
            }
            if reference != candidate {
                open = Some(Run {
                    first_bar,
                    bars: 0,
                    reference,
                    candidate,
                });
            }
        }
        let last = |run: Run| Run {
            bars: bars - run.first_bar,
            ..run
        };
        runs.extend(open.map(last));
        runs
    }

    fn trades(&self, index: usize, market: Market<'_>, rules: &Rules) -> Entries {
        let mut builder = TradeBuilder::new(market, rules, Entries::default());
        self.0[index].replay(&mut builder);
        builder.finish().0
    }
}

/// Where the counted trades of one combination enter, and what they add up to.
#[derive(Debug, Default)]
struct Entries {
    entries: Vec<(u32, Side)>,
    totals: Totals,
}

impl Recorder for Entries {
    fn record(&mut self, trade: &Trade, counts: bool) {
        self.totals.record(trade, counts);
        if counts {
            self.entries.push((trade.entry_bar, trade.side));
        }
    }
}

/// Matches the trades of one combination by entry bar and side.
pub(super) fn compare(
    reference: &Tracks,
    candidate: &Tracks,
    index: usize,
    question: &Question<'_>,
    rules: &Rules,
) -> CombinationParity {
    let series = question.series();
    let market = Market::new(series, rules, series.bars());
    let expected = reference.trades(index, market, rules);
    let found = candidate.trades(index, market, rules);
    let matched = matches(&expected.entries, &found.entries);
    let (fast, slow) = question.grid().combination(index);
    CombinationParity {
        fast: fast.name().to_owned(),
        slow: slow.name().to_owned(),
        reference_trades: expected.totals.trades,
        candidate_trades: found.totals.trades,
        missing: expected.totals.trades - matched,
        invented: found.totals.trades - matched,
        reference_pnl_pct: expected.totals.pnl_pct,
        candidate_pnl_pct: found.totals.pnl_pct,
        disagreements: 0,
        close_calls: 0,
    }
}

/// Counts the trades that enter on the same bar with the same side; both lists ascend by entry bar.
fn matches(a: &[(u32, Side)], b: &[(u32, Side)]) -> u64 {
    let (mut i, mut j, mut matched) = (0, 0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        match x.0.cmp(&y.0) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                matched += u64::from(x.1 == y.1);
                i += 1;
                j += 1;
            }
        }
    }
    matched
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tracks(bar: u32, side: Side, turns: &[u32]) -> Tracks {
        let turns = turns.to_vec();
        Tracks(vec![Track {
            armed: Some((bar, side)),
            turns,
        }])
    }

    #[test]
    fn disagreements_are_the_stretches_of_different_sides() {
        let reference = tracks(5, Side::Long, &[10, 20, 40]);
        let shifted = tracks(5, Side::Long, &[11, 20, 38]);
        let runs = reference.disagreements(&shifted, 0, 100);
        let stretches: Vec<_> = runs.iter().map(|run| (run.first_bar, run.bars)).collect();
        assert_eq!(stretches, [(10, 1), (38, 2)]);
        assert_eq!(runs[0].reference, Some(Side::Short));
        assert_eq!(runs[0].candidate, Some(Side::Long));
        assert!(reference.disagreements(&reference, 0, 100).is_empty());
    }

    #[test]
    fn sides_that_never_meet_again_disagree_to_the_end() {
        let reference = tracks(5, Side::Long, &[10]);
        let armed_late = tracks(7, Side::Short, &[]);
        let runs = reference.disagreements(&armed_late, 0, 100);
        let stretches: Vec<_> = runs.iter().map(|run| (run.first_bar, run.bars)).collect();
        assert_eq!(stretches, [(5, 2), (7, 3)]);
        let never = tracks(5, Side::Short, &[]);
        let runs = tracks(5, Side::Long, &[]).disagreements(&never, 0, 100);
        assert_eq!((runs[0].first_bar, runs[0].bars), (5, 95));
    }
}
