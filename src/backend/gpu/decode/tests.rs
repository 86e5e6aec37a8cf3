//! Decoding of lists as a device leaves them, whole and broken.

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
                .map(|bar| (bar >= 69).then(|| question.predicate(combination).decide_exactly(bar)))
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
