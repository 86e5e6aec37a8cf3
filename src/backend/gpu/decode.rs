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
