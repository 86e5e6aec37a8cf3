//! From the device's lists of changes to crossovers: what it proved passes through, what it left open is settled.

use std::ops::Range;
use std::time::Instant;

use super::error::DeviceError;
use super::lists::{RUN_BARS, Runs, Stamp, State, bar, plain};
use super::settle::{Settler, Way};
use crate::crossover::{Side, SideWriter};
use crate::diagnostics::Diagnostics;

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
            found: Vec::with_capacity(RUN_BARS),
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

/// What rows are decoded from.
#[derive(Debug, Clone)]
pub(super) struct Source<'s> {
    pub(super) stamp: Stamp,
    /// Bars of the chunk, from a multiple of 64; they can end behind the series.
    pub(super) bars: Range<usize>,
    pub(super) settler: &'s Settler<'s>,
}

/// Decodes the lists of some rows, settles what they leave open, and hands the crossovers on. All rows go through a run
/// together, so that its closes are near when the trades are added up.
///
/// # Errors
/// The first place where a list is not what a finished submission leaves.
pub(super) fn decode(
    source: &Source<'_>,
    rows: &mut [(&[u32], &mut SideWriter<'_>)],
    counts: &mut Counts,
) -> Result<(), Break> {
    let bars = &source.bars;
    let mut rows: Vec<_> = rows
        .iter_mut()
        .map(|(words, writer)| Row::new(words, source, writer))
        .collect();
    for first in bars.clone().step_by(RUN_BARS) {
        let run = first..(first + RUN_BARS).min(bars.end);
        for row in &mut rows {
            row.take(run.clone(), counts)?;
        }
    }
    for row in &rows {
        counts.diagnostics.decisions += row.valid.len() as u64;
        if !row.runs.is_done() {
            return Err(row.broken(bars.start, 0));
        }
    }
    Ok(())
}

/// One combination on its way through the runs of a chunk.
struct Row<'r, 'w> {
    runs: Runs<'r>,
    stamp: Stamp,
    way: Way<'r>,
    writer: &'r mut SideWriter<'w>,
    /// Bars that are decided here.
    valid: Range<usize>,
    /// The side of the last decided bar.
    side: Option<Side>,
    /// The first side, until it is handed on.
    armed: Option<(u32, Side)>,
}

impl<'r, 'w> Row<'r, 'w> {
    fn new(words: &'r [u32], source: &Source<'r>, writer: &'r mut SideWriter<'w>) -> Self {
        let bars = &source.bars;
        Self {
            runs: Runs::new(words, source.stamp),
            stamp: source.stamp,
            way: source.settler.way(writer.combination()),
            side: writer.side(),
            armed: None,
            valid: bars.start.max(writer.first_bar())..bars.end.min(writer.bars()),
            writer,
        }
    }

    fn broken(&self, bar: usize, found: u32) -> Break {
        Break {
            combination: self.writer.combination(),
            bar,
            found,
        }
    }

    /// Takes the next run, and hands its crossovers on.
    fn take(&mut self, bars: Range<usize>, counts: &mut Counts) -> Result<(), Break> {
        let next = self.runs.next();
        let first = bars.start.max(self.valid.start);
        let (state, changes) = next.map_err(|found| self.broken(first, found))?;
        let done = self.run(bars.clone(), state, changes, counts);
        let whole = self.stamp.upper();
        done.map_err(|bar| self.broken(bar, whole))?;
        let bars = bars.start.min(self.writer.bars())..bars.end.min(self.writer.bars());
        let armed = self.armed.take();
        let side = self.writer.write_crossovers(bars, armed, &counts.found);
        counts.found.clear();
        // the list is not in order where the writer, which counts the crossovers, ends on another side
        (side == Ok(self.side))
            .then_some(())
            .ok_or(self.broken(first, whole))
    }

    /// Takes a run: the state of its first bar, and each change after it.
    ///
    /// # Errors
    /// The first bar that was never computed.
    fn run(
        &mut self,
        bars: Range<usize>,
        first: State,
        changes: &[u16],
        counts: &mut Counts,
    ) -> Result<(), usize> {
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
            self.stretch(state, from..until, counts)?;
            // behind an open stretch the next side can be the one it ended with
            let is_open = state == State::Undecided;
            let count = if is_open { 0 } else { plain(left) };
            let (these, others) = left.split_at(count.max(left.len().min(1)));
            let Some((&last, earlier)) = these.split_last() else {
                return Ok(());
            };
            if count > 1 {
                let base = bars.start as u32;
                counts
                    .found
                    .extend(earlier.iter().map(|&c| base + bar(c) as u32));
                self.side = earlier.last().map_or(self.side, |&c| State::of(c).side());
            }
            (state, from, left) = (State::of(last), bars.start + bar(last), others);
        }
    }

    /// Takes a stretch of bars in one state.
    fn stretch(
        &mut self,
        state: State,
        bars: Range<usize>,
        counts: &mut Counts,
    ) -> Result<(), usize> {
        match state {
            State::Above => self.turn(bars.start, Side::Long, counts),
            State::Below => self.turn(bars.start, Side::Short, counts),
            State::Missing => return Err(bars.start),
            State::Undecided => {
                let is_timed = counts.is_timed && self.writer.combination().is_multiple_of(SAMPLE);
                let start = is_timed.then(Instant::now);
                self.settle(bars, counts);
                if let Some(start) = start {
                    counts.settle += SAMPLE as f64 * start.elapsed().as_secs_f64();
                }
            }
        }
        Ok(())
    }

    /// Takes the side of a bar.
    fn turn(&mut self, bar: usize, side: Side, counts: &mut Counts) {
        match self.side {
            Some(before) if before == side => return,
            Some(_) => counts.found.push(bar as u32),
            None => self.armed = Some((bar as u32, side)),
        }
        self.side = Some(side);
    }

    /// Decides bars one by one; 64 at a time where no close changed in any of their windows.
    fn settle(&mut self, bars: Range<usize>, counts: &mut Counts) {
        let mut from = bars.start;
        while from < bars.end {
            let until = bars.end.min((from / 64 + 1) * 64);
            if until - from > 1 && self.way.is_flat(from, until - 1) {
                counts.diagnostics.record_flat((until - from) as u64);
                from = until;
                continue;
            }
            for bar in from..until {
                let decision = self.way.decide(bar);
                counts.diagnostics.record(decision);
                if decision.ordering.is_ne() {
                    self.turn(bar, Side::of(decision.ordering.is_gt()), counts);
                }
            }
            from = until;
        }
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
            let source = Source {
                stamp: STAMP,
                bars: bars.clone(),
                settler: &settler,
            };
            let mut rows = [(&words[..], &mut writers[combination])];
            decode(&source, &mut rows, &mut counts)?;
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
