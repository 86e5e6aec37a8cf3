//! From the device's two words for 32 bars to decided sides, 64 bars a word.
//!
//! A few combinations are decoded together, because their undecided bars are looked up together: the values are out of
//! the cache, and only then do the misses overlap (one look-up at a time took 300 ns on an H200's host).

use std::time::Instant;

use super::settle::{Settler, Way};
use crate::crossover::SideWriter;
use crate::diagnostics::Diagnostics;

/// Words of 64 bars decoded at once.
const BATCH: usize = 64;
/// Most combinations decoded together.
pub(super) const GROUP: usize = 16;

/// A bar that was never computed, and its combination.
pub(super) type Missing = (usize, usize);

/// What decoding a part of the rows did, and its scratch.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) diagnostics: Diagnostics,
    /// Seconds spent settling, where they are measured.
    pub(super) settle: f64,
    is_timed: bool,
    words: Vec<Words>,
    open: Vec<Open>,
    differences: Vec<f64>,
}

/// A batch of one combination's words.
#[derive(Debug, Clone, Copy)]
struct Words {
    above: [u64; BATCH],
    ties: [u64; BATCH],
    has_ties: bool,
}

impl Words {
    const NONE: Self = Self {
        above: [0; BATCH],
        ties: [0; BATCH],
        has_ties: false,
    };
}

/// Undecided bars of one word of one row.
#[derive(Debug, Clone, Copy)]
struct Open {
    row: u32,
    word: u32,
    bars: u64,
}

impl Counts {
    pub(super) fn new(is_timed: bool) -> Self {
        Self {
            is_timed,
            ..Self::default()
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.diagnostics.merge(&other.diagnostics);
        self.settle += other.settle;
    }
}

/// Decodes some combinations' rows, settles what they leave open, and writes them.
///
/// `pairs` holds the rows one after the other, for each 32 bars a word of bars with fast perhaps above in the low half,
/// and one of bars perhaps below; `first_bar` is the bar of the first bit, a multiple of 64.
///
/// # Errors
/// The first bar found whose code says that the device never computed it.
pub(super) fn decode(
    pairs: &[[u64; 2]],
    first_bar: usize,
    writers: &mut [&mut SideWriter<'_>],
    settler: &Settler<'_>,
    counts: &mut Counts,
) -> Result<(), Missing> {
    let stride = pairs.len() / writers.len();
    let bars = settler.bars();
    let words = (bars - first_bar).div_ceil(64).min(stride);
    counts.words.resize(GROUP.max(writers.len()), Words::NONE);
    for batch in (0..words).step_by(BATCH) {
        let count = BATCH.min(words - batch);
        let base = first_bar + 64 * batch;
        counts.open.clear();
        for (row, writer) in writers.iter().enumerate() {
            let at = row * stride + batch;
            let valid = writer.first_bar()..bars;
            unpack_row(&pairs[at..at + count], base, &valid, row, counts)
                .map_err(|bar| (writer.combination(), bar))?;
        }
        if !counts.open.is_empty() {
            settle(base, count, writers, settler, counts);
        }
        for (writer, words) in writers.iter_mut().zip(&counts.words) {
            let ties = words.has_ties.then_some(&words.ties[..count]);
            writer.write(base / 64, &words.above[..count], ties);
        }
    }
    for writer in writers.iter() {
        let last = (first_bar + 64 * words).min(bars);
        counts.diagnostics.decisions +=
            last.saturating_sub(first_bar.max(writer.first_bar())) as u64;
    }
    Ok(())
}

/// Splits a batch of one row into decided sides and open words.
fn unpack_row(
    pairs: &[[u64; 2]],
    base: usize,
    valid: &std::ops::Range<usize>,
    row: usize,
    counts: &mut Counts,
) -> Result<(), usize> {
    let words = &mut counts.words[row];
    words.has_ties = false;
    let (mut any_open, mut missing) = (0, 0);
    for (pair, side) in pairs.iter().zip(&mut words.above) {
        let [above, below] = unpack(*pair);
        *side = above & !below;
        any_open |= above & below;
        missing |= !(above | below);
    }
    if (any_open | missing) == 0 {
        return Ok(());
    }
    look_closer(pairs, base, valid, row as u32, &mut counts.open)
}

/// Lists the open words of a batch of one row, and finds bars that were never computed.
fn look_closer(
    pairs: &[[u64; 2]],
    base: usize,
    valid: &std::ops::Range<usize>,
    row: u32,
    open: &mut Vec<Open>,
) -> Result<(), usize> {
    for (index, pair) in pairs.iter().enumerate() {
        let [above, below] = unpack(*pair);
        if (above ^ below) == u64::MAX {
            continue;
        }
        let first = base + 64 * index;
        let valid = valid_bits(first, valid);
        let missing = !(above | below) & valid;
        if missing != 0 {
            return Err(first + missing.trailing_zeros() as usize);
        }
        let bars = above & below & valid;
        let word = index as u32;
        if bars != 0 {
            open.push(Open { row, word, bars });
        }
    }
    Ok(())
}

/// The 64 bars perhaps above, and the 64 perhaps below.
#[inline(always)]
fn unpack([low, high]: [u64; 2]) -> [u64; 2] {
    const HALF: u64 = 0xffff_ffff;
    [(low & HALF) | (high << 32), (low >> 32) | (high & !HALF)]
}

/// Settles the open words of all rows: first every look-up, then every decision.
#[inline(never)]
fn settle(
    base: usize,
    count: usize,
    writers: &[&mut SideWriter<'_>],
    settler: &Settler<'_>,
    counts: &mut Counts,
) {
    let start = counts.is_timed.then(Instant::now);
    let last = (base + 64 * count).min(settler.bars()) - 1;
    let mut ways: [Option<Way<'_>>; GROUP] = [None; GROUP];
    let mut opened = std::mem::take(&mut counts.open);
    for open in &mut opened {
        let (row, writer) = (open.row as usize, &writers[open.row as usize]);
        let way = ways[row].get_or_insert_with(|| {
            counts.words[row].ties = [0; BATCH];
            settler.way(writer.combination(), base.max(writer.first_bar()), last)
        });
        let first = base + 64 * open.word as usize;
        if open.bars == u64::MAX && way.predicate.is_flat(first, first + 63) {
            counts.words[row].ties[open.word as usize] = u64::MAX;
            counts.words[row].has_ties = true;
            counts.diagnostics.record_flat(64);
            open.bars = 0;
        }
    }
    look_up(base, &opened, &ways, &mut counts.differences);
    let mut left = counts.differences.as_slice();
    for open in &opened {
        let Some(way) = &ways[open.row as usize] else {
            continue;
        };
        let (these, others) = left.split_at(open.bars.count_ones() as usize);
        left = others;
        let words = &mut counts.words[open.row as usize];
        decide(open, these, base, way, words, &mut counts.diagnostics);
    }
    counts.open = opened;
    if let Some(start) = start {
        counts.settle += start.elapsed().as_secs_f64();
    }
}

/// Looks up the differences of all open bars, so that their misses of the cache overlap.
fn look_up(
    base: usize,
    opened: &[Open],
    ways: &[Option<Way<'_>>; GROUP],
    differences: &mut Vec<f64>,
) {
    differences.clear();
    for open in opened {
        if let Some(way) = &ways[open.row as usize] {
            let first = base + 64 * open.word as usize;
            each(open.bars, |bit| {
                differences.push(way.difference(first + bit as usize));
            });
        }
    }
}

/// Decides the open bars of one word: by their values, else by the predicate.
fn decide(
    open: &Open,
    differences: &[f64],
    base: usize,
    way: &Way<'_>,
    words: &mut Words,
    diagnostics: &mut Diagnostics,
) {
    let word = open.word as usize;
    let first = base + 64 * word;
    let mut differences = differences.iter();
    each(open.bars, |bit| {
        let difference = differences.next().copied().unwrap_or(f64::NAN);
        if way.is_sure(difference) {
            words.above[word] |= u64::from(difference > 0.0) << bit;
            diagnostics.undecided += 1;
            diagnostics.by_values += 1;
            return;
        }
        let decision = way.predicate.decide(first + bit as usize);
        diagnostics.record(decision);
        words.above[word] |= u64::from(decision.ordering.is_gt()) << bit;
        if decision.ordering.is_eq() {
            words.ties[word] |= 1 << bit;
            words.has_ties = true;
        }
    });
}

/// Calls for each set bit, the lowest first.
#[inline(always)]
fn each(mut bits: u64, mut call: impl FnMut(u32)) {
    while bits != 0 {
        call(bits.trailing_zeros());
        bits &= bits - 1;
    }
}

/// Bits of the bars `base..base + 64` that are valid.
fn valid_bits(base: usize, valid: &std::ops::Range<usize>) -> u64 {
    let below = |bar: usize| match bar.saturating_sub(base) {
        0 => 0,
        bits @ 1..64 => (1_u64 << bits) - 1,
        _ => u64::MAX,
    };
    below(valid.end) & !below(valid.start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Grid, Question, random_walk};

    /// The words of bars that are above, below, undecided or missing, as a device lays them out.
    fn words(bars: usize, code: impl Fn(usize) -> [bool; 2]) -> Vec<[u64; 2]> {
        let half = |first: usize| {
            (0..32).fold(0_u64, |word, bit| {
                let [above, below] = code(first + bit);
                word | u64::from(above) << bit | u64::from(below) << (32 + bit)
            })
        };
        (0..bars.div_ceil(64))
            .map(|word| [half(64 * word), half(64 * word + 32)])
            .collect()
    }

    #[test]
    fn open_bars_are_settled_and_missing_ones_named() {
        let walk = random_walk(10_000, 3).unwrap();
        let grid = Grid::parse("sma:3,5", "wma:70").unwrap();
        let question = Question::new(&walk, &grid).unwrap();
        let code = |combination: usize, bar: usize, share: usize| {
            if !(69..10_000).contains(&bar) || bar.is_multiple_of(share) {
                return [true, true];
            }
            let ordering = question.predicate(combination).decide_exactly(bar);
            [ordering.is_gt(), ordering.is_lt()]
        };
        let mut exact: Option<Vec<Vec<u32>>> = None;
        for (has_values, share) in [(true, 1), (true, 3), (false, 3), (true, 50), (false, 1)] {
            let rows = [0, 1].map(|c| words(10_048, |bar| code(c, bar, share)));
            let settler = Settler::new(&question, 0, 10_000, Vec::new(), has_values);
            let mut counts = Counts::new(false);
            let mut found: Vec<Vec<u32>> = vec![Vec::new(); 2];
            let mut writers = question.writers(&mut found);
            let mut writers: Vec<_> = writers.iter_mut().collect();
            decode(&rows.concat(), 0, &mut writers, &settler, &mut counts).unwrap();
            drop(writers);
            assert_eq!(counts.diagnostics.decisions, 2 * (10_000 - 69));
            let expected = 2 * (69..10_000).filter(|bar| bar % share == 0).count() as u64;
            assert_eq!(counts.diagnostics.undecided, expected);
            assert_eq!(counts.diagnostics.by_values > 0, has_values);
            assert!(found[0].len() > 200 && found[0] != found[1]);
            assert_eq!(&found, exact.get_or_insert_with(|| found.clone()));
        }
    }

    #[test]
    fn a_bar_that_was_never_computed_is_named() {
        let walk = random_walk(10_000, 3).unwrap();
        let grid = Grid::parse("sma:3", "wma:70").unwrap();
        let question = Question::new(&walk, &grid).unwrap();
        let settler = Settler::new(&question, 0, 10_000, Vec::new(), false);
        for (missing, told) in [
            (68, None),
            (69, Some(69)),
            (4_095, Some(4_095)),
            (9_999, Some(9_999)),
            (10_000, None),
        ] {
            let lost = words(10_048, |bar| [bar != missing, false]);
            let mut found: Vec<Vec<u32>> = vec![Vec::new()];
            let mut writers = question.writers(&mut found);
            let mut writers: Vec<_> = writers.iter_mut().collect();
            let done = decode(&lost, 0, &mut writers, &settler, &mut Counts::new(false));
            assert_eq!(done.err(), told.map(|bar| (0, bar)));
        }
    }

    #[test]
    fn valid_bits_are_those_of_the_range() {
        assert_eq!(valid_bits(64, &(70..1_000)), u64::MAX << 6);
        assert_eq!(valid_bits(960, &(70..1_000)), (1 << 40) - 1);
        assert_eq!(valid_bits(0, &(70..1_000)), 0);
        assert_eq!(valid_bits(128, &(70..1_000)), u64::MAX);
        assert_eq!(valid_bits(1_024, &(70..1_000)), 0);
    }
}
