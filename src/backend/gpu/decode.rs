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
mod tests;
