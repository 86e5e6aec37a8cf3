//! The sign of a difference in a few look-ups: filters as taps on prefix sums of the ticks, in integers that wrap.
//!
//! The predicate sums a window, which costs its length; millions of undecided bars of a large grid would take longer than
//! all trades. Sums of sums over the whole chunk, modulo 2^64, cost the same for every window: a filter's numerator is
//! a difference of a dozen of them, and exact wherever its true value fits.

use std::cmp::Ordering;
use std::sync::OnceLock;

use rayon::prelude::*;

use super::bound::has_unit_gain;
use crate::backend::sequential::taps::{ExactTaps, MAX_LEVEL, compile_exact};
use crate::filter::Filter;
use crate::question::Question;

/// Bars that share a bound on how far prices move in any of their windows.
const CELL: usize = 512;
/// Numerators below this, by their bound in `f64`, fit an `i64` with bits to spare for the bound's rounding.
const FITS: f64 = (1_u64 << 62) as f64;

/// Prefix sums of the ticks of one chunk, and the filters of a question as taps on them.
#[derive(Debug)]
pub(super) struct Sums<'q> {
    filters: &'q [Filter],
    ticks: &'q [i64],
    /// First bar that is summed.
    first: usize,
    /// For each bar its sums of levels 1 to 4, behind as many zeros as the longest lag.
    levels: Vec<[i64; MAX_LEVEL]>,
    lead: usize,
    /// For each cell of the chunk, the distance between the lowest and the highest tick of its windows.
    ranges: Vec<f64>,
    forms: Vec<OnceLock<Option<Form>>>,
}

/// One filter: its numerator over ticks, and the largest it can be a tick of range.
#[derive(Debug)]
struct Form {
    taps: ExactTaps,
    size: f64,
}

impl Form {
    fn of(filter: &Filter) -> Option<Self> {
        let taps = compile_exact(filter.expr())?;
        // a constant can be taken off the ticks only where the weights sum to 1
        has_unit_gain(filter).then(|| Self {
            size: filter.magnification_bound() * taps.denominator as f64,
            taps,
        })
    }
}

impl<'q> Sums<'q> {
    /// Sums the ticks for decisions on bars `first..last`; `None` for closes that are not in ticks.
    pub(super) fn new(question: &Question<'q>, first: usize, last: usize) -> Option<Self> {
        let ticks = question.series().ticks()?;
        let filters = question.filters();
        let halo = filters.iter().map(Filter::warm_up).max().unwrap_or(0);
        // a tap's lag is at most the window and as many bars as its level
        let lead = halo + 1 + MAX_LEVEL;
        let first = first.saturating_sub(halo) / CELL * CELL;
        let ticks = &ticks[..last];
        let mut levels = vec![[0; MAX_LEVEL]; lead + last - first];
        let mut sums = [0_i64; MAX_LEVEL];
        for (tick, out) in ticks[first..].iter().zip(&mut levels[lead..]) {
            let mut below = *tick;
            for sum in &mut sums {
                *sum = sum.wrapping_add(below);
                below = *sum;
            }
            *out = sums;
        }
        Some(Self {
            filters,
            ticks,
            first,
            levels,
            lead,
            ranges: ranges(&ticks[first..], halo.div_ceil(CELL)),
            forms: filters.iter().map(|_| OnceLock::new()).collect(),
        })
    }

    /// The sign of fast - slow on a bar; `None` where a filter has no taps, or a numerator may not fit.
    pub(super) fn decide(&self, fast: usize, slow: usize, bar: usize) -> Option<Ordering> {
        let form = |filter: usize| {
            let form = || Form::of(&self.filters[filter]);
            self.forms[filter].get_or_init(form).as_ref()
        };
        let (fast, slow) = (form(fast)?, form(slow)?);
        let range = self.ranges[(bar - self.first) / CELL];
        if !(fast.size.max(slow.size) * range < FITS) {
            return None;
        }
        let left = i128::from(self.numerator(fast, bar)) * i128::from(slow.taps.denominator);
        let right = i128::from(self.numerator(slow, bar)) * i128::from(fast.taps.denominator);
        Some(left.cmp(&right))
    }

    /// The numerator over ticks counted from the newest. Ticks before the first sum count as 0: no weight is theirs.
    fn numerator(&self, form: &Form, bar: usize) -> i64 {
        let at = self.lead + bar - self.first;
        let term = |&(level, lag, numerator): &(usize, usize, i64)| {
            let sum = if level == 0 {
                self.ticks[bar - lag]
            } else {
                self.levels[at - lag][level - 1]
            };
            sum.wrapping_mul(numerator)
        };
        let sum = form
            .taps
            .taps
            .iter()
            .map(term)
            .fold(0_i64, i64::wrapping_add);
        sum.wrapping_sub(form.taps.denominator.wrapping_mul(self.ticks[bar]))
    }
}

/// For each cell, the highest less the lowest tick of it and of so many cells before it.
fn ranges(ticks: &[i64], reach: usize) -> Vec<f64> {
    let ends: Vec<(i64, i64)> = ticks
        .par_chunks(CELL)
        .map(|cell| {
            let start = (i64::MAX, i64::MIN);
            cell.iter()
                .fold(start, |(low, high), &t| (low.min(t), high.max(t)))
        })
        .collect();
    let range = |cell: usize| {
        let cells = &ends[cell.saturating_sub(reach)..=cell];
        let low = cells.iter().map(|ends| ends.0).min().unwrap_or(0);
        let high = cells.iter().map(|ends| ends.1).max().unwrap_or(0);
        (high - low) as f64
    };
    (0..ends.len()).into_par_iter().map(range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Grid, Series, random_walk};

    /// Coarse ticks make ties; a chunk that starts in the middle must not differ from one that starts with the series.
    #[test]
    fn sums_agree_with_the_exact_predicate() {
        let walk = random_walk(3_000, 5).unwrap();
        let coarse: Vec<i64> = walk.closes().iter().map(|p| (p / 7.0) as i64).collect();
        let series = [walk, Series::from_ticks(&coarse, 0.01).unwrap()];
        let grid = Grid::parse("hma:2,20,200", "hma3:6,192").unwrap();
        let mixed = Grid::parse("sma:1,4,33", "wma:7,300").unwrap();
        let (mut met, mut ties) = (0, 0);
        for (series, grid) in series.iter().flat_map(|s| [(s, &grid), (s, &mixed)]) {
            let question = Question::new(series, grid).unwrap();
            for start in [0, 1_500] {
                let sums = Sums::new(&question, start, 3_000).unwrap();
                for (combination, &(fast, slow)) in grid.pairs().iter().enumerate() {
                    let first = question.first_bar(combination).max(start);
                    for bar in (first..first + 40).chain((first + 40..3_000).step_by(31)) {
                        let found = sums.decide(fast as usize, slow as usize, bar);
                        let expected = question.predicate(combination).decide_exactly(bar);
                        assert_eq!(found, Some(expected), "{combination} {bar}");
                        met += 1;
                        ties += usize::from(expected == Ordering::Equal);
                    }
                }
            }
        }
        assert!(met > 2_000 && ties > 20, "{met} {ties}");
    }

    /// Twice the largest move that fits: the bound must hand it on, and half of the bound would not.
    #[test]
    fn numerators_that_may_not_fit_are_handed_on() {
        let grid = Grid::parse("sma:3", "wma:100").unwrap();
        // the numerators of wma:100 sum to 5,050, so that 2^62 / 5,050 is the largest range
        for (range, fits) in [
            (1 << 49, true),
            (913_202_000_000_000, true),
            (913_300_000_000_000, false),
        ] {
            let ticks: Vec<i64> = (0..300)
                .map(|bar| 1 + i64::from(bar > 150) * range)
                .collect();
            let series = Series::from_ticks(&ticks, 1e-9).unwrap();
            let question = Question::new(&series, &grid).unwrap();
            let sums = Sums::new(&question, 0, 300).unwrap();
            let found = sums.decide(0, 1, 200);
            assert_eq!(found.is_some(), fits, "{range}");
            let expected = question.predicate(0).decide_exactly(200);
            assert!(found.is_none_or(|found| found == expected));
        }
    }

    #[test]
    fn ranges_cover_the_windows() {
        let ticks: Vec<i64> = (0..2_000).collect();
        assert_eq!(ranges(&ticks, 1), [511.0, 1_023.0, 1_023.0, 975.0]);
        assert_eq!(ranges(&ticks, 0), [511.0, 511.0, 511.0, 463.0]);
    }
}
