//! The lists of kernel (d) as they cross the bus: where each row's lies, and how its words are read.

use std::ops::Range;

use super::error::{DeviceError, Result};
use crate::crossover::Side;

/// Bars of a run: its changes are counted in 14 bits of 32, and a thread has 128 blocks of 32 bars to read.
pub(super) const RUN_BARS: usize = 4096;
/// Bits of a bar within a run, and of a run's number of changes.
const LOW: u32 = 0x3fff;
/// The bit of a state that is not a proven side.
const OPEN: u16 = 0x8000;
/// The bit of the side above.
const ABOVE: u16 = 0x4000;

/// What the words of a submission bear: its number whole once, and folded into each header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) epoch: u32,
}

impl Stamp {
    /// The upper half of every header; never 0, which is what no thread has written.
    pub(super) fn upper(self) -> u32 {
        (self.epoch % 0xffff + 1) << 16
    }

    /// Checks the number that a submission leaves behind its counts, or before its lists.
    pub(super) fn check(self, found: u32) -> Result<()> {
        if found == self.epoch {
            return Ok(());
        }
        Err(DeviceError::Stale {
            expected: self.epoch,
            found,
        })
    }

    /// The error where a header bears another stamp.
    pub(super) fn stale(self, header: u32) -> DeviceError {
        DeviceError::Stale {
            expected: self.upper() >> 16,
            found: header >> 16,
        }
    }
}

/// Words of a run's list: its header, and two changes a word.
fn words(header: u32) -> usize {
    1 + (header & LOW).div_ceil(2) as usize
}

/// Most words that the lists of one row can take: every bar of every run but its first a change.
pub(super) fn most_words(bars: usize) -> usize {
    bars / 2 + bars.div_ceil(RUN_BARS)
}

/// Words of each row's lists, from the counts of (runs, rows).
///
/// # Errors
/// The first row and run whose header lacks the stamp.
pub(super) fn row_words(
    counts: &[u32],
    rows: usize,
    stamp: Stamp,
) -> std::result::Result<Vec<u32>, Broken> {
    let mut sums = vec![0; rows];
    for (run, headers) in counts.chunks_exact(rows).enumerate() {
        let mut wrong = 0;
        for (sum, &header) in sums.iter_mut().zip(headers) {
            *sum += words(header) as u32;
            wrong |= (header ^ stamp.upper()) >> 16;
        }
        if wrong != 0 {
            let is_wrong = |header: &u32| (header ^ stamp.upper()) >> 16 != 0;
            let row = headers.iter().position(is_wrong).unwrap_or(0);
            let found = headers[row];
            return Err(Broken { row, run, found });
        }
    }
    Ok(sums)
}

/// A run whose header is not of the submission that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Broken {
    pub(super) row: usize,
    pub(super) run: usize,
    /// What stands in its place: 0 where no thread wrote.
    pub(super) found: u32,
}

/// Rows whose lists go into one buffer of so many words together, and where each begins; behind the epoch, word 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) rows: Range<usize>,
    /// One more than rows.
    pub(super) offsets: Vec<u32>,
}

impl Page {
    /// The next rows from `first` on that fit; at least one, which the budget makes room for.
    pub(super) fn next(first: usize, row_words: &[u32], most: usize) -> Self {
        let mut offsets = vec![1];
        let mut end = 1;
        for &words in &row_words[first..] {
            let next = end + words;
            if offsets.len() > 1 && next as usize > most {
                break;
            }
            end = next;
            offsets.push(end);
        }
        Self {
            rows: first..first + offsets.len() - 1,
            offsets,
        }
    }

    pub(super) fn words(&self) -> usize {
        self.offsets[self.offsets.len() - 1] as usize
    }

    /// Where a row of the page lies, counted from its first.
    pub(super) fn row(&self, index: usize) -> Range<usize> {
        self.offsets[index] as usize..self.offsets[index + 1] as usize
    }
}

/// The state of a bar as a device says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Below,
    Above,
    Undecided,
    Missing,
}

impl State {
    /// Of the upper two bits of a change, or of the same bits of a header's lower half.
    pub(super) fn of(change: u16) -> Self {
        match (change & OPEN != 0, change & ABOVE != 0) {
            (false, false) => Self::Below,
            (false, true) => Self::Above,
            (true, false) => Self::Undecided,
            (true, true) => Self::Missing,
        }
    }
}

impl State {
    /// The side, where it is proven.
    pub(super) fn side(self) -> Option<Side> {
        match self {
            Self::Above => Some(Side::Long),
            Self::Below => Some(Side::Short),
            Self::Undecided | Self::Missing => None,
        }
    }
}

/// The bar of a change, counted from the run's first.
pub(super) fn bar(change: u16) -> usize {
    usize::from(change) & LOW as usize
}

/// How many of the first changes are to a proven side.
pub(super) fn plain(changes: &[u16]) -> usize {
    let (wholes, _) = changes.as_chunks::<16>();
    let is_plain =
        |chunk: &&[u16; 16]| chunk.iter().fold(0, |all, change| all | change) & OPEN == 0;
    let count = 16 * wholes.iter().take_while(is_plain).count();
    let rest = changes[count..].iter().take(16);
    count + rest.take_while(|&change| change & OPEN == 0).count()
}

/// The runs of one row's lists.
#[derive(Debug)]
pub(super) struct Runs<'a> {
    words: &'a [u32],
    stamp: u32,
}

/// One run: the state of its first bar, and the changes after it.
pub(super) type Run<'a> = (State, &'a [u16]);

impl<'a> Runs<'a> {
    pub(super) fn new(words: &'a [u32], stamp: Stamp) -> Self {
        let stamp = stamp.upper();
        Self { words, stamp }
    }

    /// The next run; an error holds what stands where its header should be, or a header that the row's end cuts off.
    pub(super) fn next(&mut self) -> std::result::Result<Run<'a>, u32> {
        let &header = self.words.first().ok_or(0_u32)?;
        let words = words(header);
        if (header ^ self.stamp) >> 16 != 0 {
            return Err(header);
        }
        if words > self.words.len() {
            return Err(0);
        }
        let (run, rest) = self.words.split_at(words);
        self.words = rest;
        let changes: &[u16] = bytemuck::cast_slice(&run[1..]);
        Ok((
            State::of(header as u16),
            &changes[..(header & LOW) as usize],
        ))
    }

    /// Whether nothing is left.
    pub(super) fn is_done(&self) -> bool {
        self.words.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMP: Stamp = Stamp { epoch: 7 };

    #[test]
    fn a_stamp_is_never_nothing() {
        for epoch in [1, 0xfffe, 0xffff, 0x1_0000, u32::MAX] {
            assert_ne!(Stamp { epoch }.upper() >> 16, 0, "{epoch}");
        }
        assert!(STAMP.check(7).is_ok());
        assert!(STAMP.check(6).is_err());
    }

    #[test]
    fn pages_hold_whole_rows_in_order() {
        let rows = [3, 4, 1, 9, 2, 2];
        let (mut first, mut pages) = (0, Vec::new());
        while first < rows.len() {
            let page = Page::next(first, &rows, 8);
            first = page.rows.end;
            pages.push(page);
        }
        let ranges: Vec<_> = pages.iter().map(|page| page.rows.clone()).collect();
        // the fourth row is too long for any page, and comes alone
        assert_eq!(ranges, [0..2, 2..3, 3..4, 4..6]);
        assert_eq!(pages[0].offsets, [1, 4, 8]);
        assert_eq!(pages[3].row(1), 3..5);
        assert_eq!(pages[2].words(), 10);
    }

    #[test]
    fn counts_without_the_stamp_are_found() {
        let up = STAMP.upper();
        let counts = [up | 3, up, up | (2 << 14) | 4, up | 1];
        assert_eq!(row_words(&counts, 2, STAMP), Ok(vec![3 + 3, 1 + 2]));
        for found in [0, (up + (1 << 16)) | 4] {
            let mut counts = counts;
            counts[3] = found;
            let (row, run) = (1, 1);
            assert_eq!(
                row_words(&counts, 2, STAMP),
                Err(Broken { row, run, found })
            );
        }
    }

    #[test]
    fn runs_are_read_to_the_last_change_and_no_further() {
        let up = STAMP.upper();
        let words = [up | (1 << 14) | 3, 0x4005_0003, 0xffff_c009, up | (2 << 14)];
        let mut runs = Runs::new(&words, STAMP);
        assert_eq!(runs.next(), Ok((State::Above, &[3, 0x4005, 0xc009][..])));
        assert_eq!(runs.next(), Ok((State::Undecided, &[][..])));
        assert!(runs.is_done());
        assert_eq!(runs.next(), Err(0));
        assert_eq!(Runs::new(&words[..2], STAMP).next(), Err(0));
        assert_eq!(Runs::new(&words, Stamp { epoch: 8 }).next(), Err(words[0]));
        assert_eq!(State::of(0xc009), State::Missing);
    }

    #[test]
    fn plain_changes_end_at_the_first_open_one() {
        for open in [0, 1, 15, 16, 17, 40, 49] {
            let mut changes = vec![0x4001_u16; 50];
            changes[open] = 0x8001;
            assert_eq!(plain(&changes), open);
        }
        assert_eq!(plain(&[0x4001; 50]), 50);
    }
}
