//! From the device's lists of changes to crossovers: what it proved passes through, what it left open is settled.

use std::ops::Range;
use std::time::Instant;

use super::error::DeviceError;
use super::lists::{RUN_BARS, Runs, Stamp, State, bar, plain};
use super::settle::{Settler, Way};
use crate::crossover::{Side, SideWriter};
use crate::diagnostics::Diagnostics;

/// Crossovers handed on at once: enough for the ledger to be at its pace, few enough for the nearest cache.
const BATCH: usize = 4096;

/// Of so many combinations one has its settling timed, and stands for all: to look at the clock takes as long.
const SAMPLE: usize = 16;

/// What decoding a part of the rows did, and its scratch.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) diagnostics: Diagnostics,
    /// Seconds spent settling, where they are measured.
    pub(super) settle: f64,
    is_timed: bool,
    found: Vec<u32>,
}

impl Counts {
    pub(super) fn new(is_timed: bool) -> Self {
        Self {
            is_timed,
            found: Vec::with_capacity(BATCH + RUN_BARS),
            ..Self::default()
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.diagnostics.merge(&other.diagnostics);
        self.settle += other.settle;
    }
}

/// Where a list breaks off, and what stands there: 0 for nothing, the stamp of another submission, or a bar that was
/// never computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Break {
    pub(super) combination: usize,
    pub(super) bar: usize,
    pub(super) found: u32,
}

impl Break {
    pub(super) fn error(self, stamp: Stamp) -> DeviceError {
        let (combination, bar) = (self.combination, self.bar);
        if self.found >> 16 == 0 || (self.found ^ stamp.upper()) >> 16 == 0 {
            return DeviceError::Unfinished { combination, bar };
        }
        stamp.stale(self.found)
    }
}

/// Decodes the lists of one row, settles what they leave open, and hands the crossovers on.
///
/// `bars` are those of the chunk, from a multiple of 64; they can end behind the series.
///
/// # Errors
/// The first place where the list is not what a finished submission leaves.
pub(super) fn decode(
    words: &[u32],
    stamp: Stamp,
    bars: Range<usize>,
    writer: &mut SideWriter<'_>,
    settler: &Settler<'_>,
    counts: &mut Counts,
) -> Result<(), Break> {
    let combination = writer.combination();
    let valid = bars.start.max(writer.first_bar())..bars.end.min(writer.bars());
    counts.diagnostics.decisions += valid.len() as u64;
    let mut runs = Runs::new(words, stamp);
    let mut row = Row {
        is_timed: counts.is_timed && combination.is_multiple_of(SAMPLE),
        way: settler.way(combination),
        side: writer.side(),
        armed: None,
        written: bars.start,
        valid,
        writer,
        counts,
    };
    for first in bars.clone().step_by(RUN_BARS) {
        let broken = |found| Break {
            combination,
            bar: first.max(row.valid.start),
            found,
        };
        let (state, changes) = runs.next().map_err(broken)?;
        let last = (first + RUN_BARS).min(bars.end);
        let done = row.run(first..last, state, changes);
        let done = done.and_then(|()| row.hand_on(last, BATCH));
        let found = stamp.upper();
        done.map_err(|bar| Break {
            combination,
            bar,
            found,
        })?;
    }
    let is_whole = runs.is_done() && row.hand_on(bars.end, 0).is_ok();
    is_whole.then_some(()).ok_or(Break {
        combination,
        bar: bars.start,
        found: 0,
    })
}

/// One combination on its way through the runs of a chunk.
struct Row<'r, 'w> {
    way: Way<'r>,
    is_timed: bool,
    writer: &'r mut SideWriter<'w>,
    counts: &'r mut Counts,
    /// Bars that are decided here.
    valid: Range<usize>,
    /// The side of the last decided bar.
    side: Option<Side>,
    /// The first side, until it is handed on.
    armed: Option<(u32, Side)>,
    /// Bars below are handed on.
    written: usize,
}

impl Row<'_, '_> {
    /// Takes a run: the state of its first bar, and each change after it.
    ///
    /// # Errors
    /// The first bar that was never computed.
    fn run(&mut self, bars: Range<usize>, first: State, changes: &[u16]) -> Result<(), usize> {
        let valid = bars.start.max(self.valid.start)..bars.end.min(self.valid.end);
        if valid.is_empty() {
            return Ok(());
        }
        let (mut known, mut asked) = (0, changes.len());
        if valid != bars {
            // changes before the first valid bar tell its state, those after the last are not asked for
            known = changes.partition_point(|&c| bars.start + bar(c) <= valid.start);
            asked = changes.partition_point(|&c| bars.start + bar(c) < valid.end);
        }
        let mut state = changes[..known].last().map_or(first, |&c| State::of(c));
        let mut from = valid.start;
        let mut left = &changes[known..asked];
        loop {
            let until = left.first().map_or(valid.end, |&c| bars.start + bar(c));
            self.stretch(state, from..until)?;
            // behind an open stretch the next side can be the one it ended with
            let is_open = state == State::Undecided;
            let count = if is_open { 0 } else { plain(left) };
            let (these, others) = left.split_at(count.max(left.len().min(1)));
            let Some((&last, earlier)) = these.split_last() else {
                return Ok(());
            };
            if count > 1 {
                let base = bars.start as u32;
                self.counts
                    .found
                    .extend(earlier.iter().map(|&c| base + bar(c) as u32));
                self.side = earlier.last().map_or(self.side, |&c| side(State::of(c)));
            }
            (state, from, left) = (State::of(last), bars.start + bar(last), others);
        }
    }

    /// Takes a stretch of bars in one state.
    fn stretch(&mut self, state: State, bars: Range<usize>) -> Result<(), usize> {
        match state {
            State::Above => self.turn(bars.start, Side::Long),
            State::Below => self.turn(bars.start, Side::Short),
            State::Missing => return Err(bars.start),
            State::Undecided => {
                let start = self.is_timed.then(Instant::now);
                self.settle(bars);
                if let Some(start) = start {
                    self.counts.settle += SAMPLE as f64 * start.elapsed().as_secs_f64();
                }
            }
        }
        Ok(())
    }

    /// Takes the side of a bar.
    fn turn(&mut self, bar: usize, side: Side) {
        match self.side {
            Some(before) if before == side => return,
            Some(_) => self.counts.found.push(bar as u32),
            None => self.armed = Some((bar as u32, side)),
        }
        self.side = Some(side);
    }

    /// Decides bars one by one; 64 at a time where no close changed in any of their windows.
    fn settle(&mut self, bars: Range<usize>) {
        let mut from = bars.start;
        while from < bars.end {
            let until = bars.end.min((from / 64 + 1) * 64);
            if until - from > 1 && self.way.is_flat(from, until - 1) {
                self.counts.diagnostics.record_flat((until - from) as u64);
                from = until;
                continue;
            }
            for bar in from..until {
                let decision = self.way.decide(bar);
                self.counts.diagnostics.record(decision);
                if decision.ordering.is_ne() {
                    self.turn(bar, Side::of(decision.ordering.is_gt()));
                }
            }
            from = until;
        }
    }

    /// Hands the crossovers below a bar on, if there are more than so many.
    ///
    /// # Errors
    /// The first bar of a list that is not in order.
    fn hand_on(&mut self, until: usize, most: usize) -> Result<(), usize> {
        if most > 0 && self.counts.found.len() <= most {
            return Ok(());
        }
        let until = until.min(self.writer.bars());
        let bars = self.written..until;
        let side = self
            .writer
            .write_crossovers(bars, self.armed.take(), &self.counts.found);
        self.counts.found.clear();
        if side != Some(self.side) {
            return Err(self.written);
        }
        self.written = until;
        Ok(())
    }
}

fn side(state: State) -> Option<Side> {
    match state {
        State::Above => Some(Side::Long),
        State::Below => Some(Side::Short),
        State::Undecided | State::Missing => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::twin::lists;
    use super::*;
    use crate::{Grid, Question, random_walk};

    const STAMP: Stamp = Stamp { epoch: 3 };
    const BARS: usize = 10_000;

    /// The lists of bars that are above, below, undecided or missing, as a device leaves them.
    fn listed(bars: Range<usize>, code: impl Fn(usize) -> [bool; 2]) -> Vec<u32> {
        let word = |first: usize, which: usize| {
            (0..32).fold(0_u32, |word, bit| {
                word | u32::from(code(first + bit)[which]) << bit
            })
        };
        let blocks = bars.step_by(32);
        let words: Vec<_> = blocks
            .map(|first| [word(first, 0), word(first, 1)])
            .collect();
        lists(&words, STAMP)
    }

    fn decoded(
        question: &Question<'_>,
        combination: usize,
        parts: &[(Range<usize>, Vec<u32>)],
    ) -> Result<(Vec<u32>, Diagnostics), Break> {
        let mut found = vec![Vec::new(); question.grid().combinations()];
        let mut writers = question.writers(&mut found);
        let mut counts = Counts::new(false);
        for (bars, words) in parts {
            let last = bars.end.min(BARS);
            let settler = Settler::new(question, bars.start, last, combination == 0);
            let writer = &mut writers[combination];
            decode(words, STAMP, bars.clone(), writer, &settler, &mut counts)?;
        }
        drop(writers);
        Ok((found.swap_remove(combination), counts.diagnostics))
    }

    /// Every bar open, every third, few, and none; whole and in two chunks, of which the second is longer than the series.
    #[test]
    fn open_bars_are_settled_where_they_are() {
        let walk = random_walk(BARS, 3).unwrap();
        let ticks: Vec<i64> = walk.closes().iter().map(|p| (p / 50.0) as i64).collect();
        let coarse = crate::Series::from_ticks(&ticks, 0.01).unwrap();
        let grid = Grid::parse("sma:3,5", "wma:70").unwrap();
        let mut ties = 0;
        for series in [&walk, &coarse] {
            let question = Question::new(series, &grid).unwrap();
            for combination in 0..2 {
                let sides: Vec<_> = (0..BARS)
                    .map(|bar| {
                        (bar >= 69).then(|| question.predicate(combination).decide_exactly(bar))
                    })
                    .collect();
                let mut before = None;
                let expected: Vec<u32> = (69..BARS)
                    .filter(|&bar| {
                        let side = sides[bar].filter(|side| side.is_ne());
                        let is_turn = before.is_some() && side.is_some() && side != before;
                        before = side.or(before);
                        is_turn
                    })
                    .map(|bar| bar as u32)
                    .collect();
                assert!(expected.len() > 200);
                for share in [1, 3, 50, BARS] {
                    let code = |bar: usize| match sides.get(bar).copied().flatten() {
                        Some(side) if side.is_ne() && bar % share != 1 % share => {
                            [side.is_gt(), side.is_lt()]
                        }
                        _ => [true, true],
                    };
                    let part = |bars: Range<usize>| (bars.clone(), listed(bars, code));
                    let whole = decoded(&question, combination, &[part(0..12_288)]).unwrap();
                    let halves = [part(0..4_352), part(4_352..12_800)];
                    let parts = decoded(&question, combination, &halves).unwrap();
                    assert_eq!(whole.0, expected, "one in {share}");
                    assert_eq!(parts.0, expected, "one in {share}, in two chunks");
                    for diagnostics in [whole.1, parts.1] {
                        let open = (69..BARS).filter(|&bar| code(bar) == [true; 2]).count();
                        assert_eq!(diagnostics.decisions, (BARS - 69) as u64);
                        assert_eq!(diagnostics.undecided, open as u64);
                        ties += diagnostics.ties;
                    }
                }
            }
        }
        assert!(ties > 0, "{ties}");
    }

    #[test]
    fn a_bar_that_was_never_computed_is_named() {
        let walk = random_walk(BARS, 3).unwrap();
        let grid = Grid::parse("sma:3", "wma:70").unwrap();
        let question = Question::new(&walk, &grid).unwrap();
        for (missing, told) in [
            (68, None),
            (69, Some(69)),
            (4_095, Some(4_095)),
            (9_999, Some(9_999)),
            (10_000, None),
        ] {
            let words = listed(0..10_240, |bar| [bar != missing, false]);
            let done = decoded(&question, 0, &[(0..10_240, words)]);
            let error = done.err().map(|broken| broken.error(STAMP));
            let expected = told.map(|bar| DeviceError::Unfinished {
                combination: 0,
                bar,
            });
            assert_eq!(error, expected);
        }
    }

    /// Words that were never written, of another submission, cut off, and out of order.
    #[test]
    fn broken_lists_are_errors() {
        let walk = random_walk(BARS, 3).unwrap();
        let grid = Grid::parse("sma:3", "wma:70").unwrap();
        let question = Question::new(&walk, &grid).unwrap();
        let bars = 0..10_240;
        let right = listed(bars.clone(), |bar| [bar % 64 < 32, bar % 64 >= 32]);
        let error = |change: &dyn Fn(&mut Vec<u32>)| {
            let mut words = right.clone();
            change(&mut words);
            let done = decoded(&question, 0, &[(bars.clone(), words)]);
            done.err().map(|broken| broken.error(STAMP))
        };
        assert_eq!(error(&|_| {}), None);
        let unfinished = |found| matches!(found, Some(DeviceError::Unfinished { .. }));
        assert!(unfinished(error(&|words| words[0] = 0)));
        assert!(unfinished(error(&|words| words[40] = 0)));
        assert!(unfinished(error(&|words| words.truncate(words.len() - 1))));
        assert!(unfinished(error(&|words| words.push(words[0]))));
        assert!(unfinished(error(&|words| words.swap(5, 6))));
        let stale = error(&|words| words[0] += 1 << 16);
        assert!(matches!(
            stale,
            Some(DeviceError::Stale {
                expected: 4,
                found: 5
            })
        ));
    }
}
