//! The sign of a difference in a few look-ups: filters as taps on prefix sums of the closes, in integers that wrap.
//!
//! The predicate sums a window, which costs its length; millions of undecided bars of a large grid would take longer than
//! all trades. Closes are whole numbers of ticks, or of the last place of the lowest, and sums of sums of sums of sums of
//! them over the whole chunk, modulo 2^128, cost the same for every window: a filter's numerator is a dozen multiples of
//! them, and exact wherever its true value fits.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::OnceLock;

use rayon::prelude::*;

use super::bound::has_unit_gain;
use super::exact::{ExactFilter, ExactTap};
use crate::backend::sequential::taps::{ExactTaps, MAX_LEVEL, compile_exact};
use crate::filter::Filter;
use crate::question::Question;
use crate::series::Series;

/// Bars that share a bound on how far prices move in any of their windows.
const CELL: usize = 512;
/// Numerators over the product of two denominators that are below this fit an `i128`, with room for the rounding of
/// their bound in `f64`.
const FITS: f64 = (1_u128 << 126) as f64;

/// Most taps of a filter: an HMA has 11, and kernel (e) must not take too many steps.
const MOST_TAPS: usize = 64;

/// Prefix sums of the closes of one chunk, and the filters of a question as taps on them.
#[derive(Debug)]
pub(super) struct Sums<'q> {
    filters: &'q [Filter],
    /// First bar that is summed.
    first: usize,
    /// The closes as whole numbers.
    units: Vec<i64>,
    /// Their sums of the deepest level, behind as many zeros as the longest lag.
    sums: Vec<i128>,
    lead: usize,
    /// For each cell of the chunk, the distance between the lowest and the highest close of its windows.
    ranges: Vec<f64>,
    /// The largest of them.
    widest: f64,
    forms: Vec<OnceLock<Option<Form>>>,
}

/// One filter: its numerator over closes in units, and the largest it can be for each unit that they move.
#[derive(Debug)]
struct Form {
    taps: ExactTaps,
    size: f64,
}

impl Form {
    fn of(filter: &Filter) -> Option<Self> {
        let taps = compile_exact(filter.expr()).filter(|exact| exact.taps.len() <= MOST_TAPS)?;
        // a constant can be taken off the closes only where the weights sum to 1
        has_unit_gain(filter).then(|| Self {
            size: filter.magnification_bound() * taps.denominator as f64,
            taps,
        })
    }
}

impl<'q> Sums<'q> {
    /// Sums the closes for decisions on bars `first..last`; `None` where they are no whole numbers of 62 bits.
    pub(super) fn new(question: &Question<'q>, first: usize, last: usize) -> Option<Self> {
        let filters = question.filters();
        let halo = filters.iter().map(Filter::warm_up).max().unwrap_or(0);
        // a tap's lag is at most the window and as many bars as there are levels
        let lead = halo + 1 + MAX_LEVEL;
        let first = first.saturating_sub(halo) / CELL * CELL;
        let units = units(question.series(), first..last)?;
        let mut sums = vec![0; lead + units.len()];
        let mut levels = [0_i128; MAX_LEVEL];
        for (&close, out) in units.iter().zip(&mut sums[lead..]) {
            *out = i128::from(close);
            for level in &mut levels {
                *level = level.wrapping_add(*out);
                *out = *level;
            }
        }
        let ranges = ranges(&units, halo.div_ceil(CELL));
        Some(Self {
            filters,
            first,
            sums,
            lead,
            widest: ranges.iter().copied().fold(0.0, f64::max),
            ranges,
            units,
            forms: filters.iter().map(|_| OnceLock::new()).collect(),
        })
    }

    /// Whether a combination's numbers fit on every bar of the chunk.
    pub(super) fn fits(&self, fast: usize, slow: usize) -> bool {
        let forms = self.form(fast).zip(self.form(slow));
        forms.is_some_and(|(fast, slow)| largest(fast, slow) * self.widest < FITS)
    }

    /// The sums as they lie in memory: words of 32 bits, the lowest first.
    pub(super) fn words(&self) -> &[[u32; 4]] {
        bytemuck::cast_slice(&self.sums)
    }

    /// The closes likewise.
    pub(super) fn closes(&self) -> &[[u32; 2]] {
        bytemuck::cast_slice(&self.units)
    }

    /// Where the sum up to a bar is, and where its close.
    pub(super) fn place(&self, bar: usize) -> (usize, usize) {
        (self.lead + bar - self.first, bar - self.first)
    }

    /// The filters and their taps as kernel (e) reads them; one without taps is never asked for.
    pub(super) fn device_forms(&self) -> (Vec<ExactFilter>, Vec<ExactTap>) {
        let filters = 0..self.filters.len();
        let forms: Vec<_> = filters.into_par_iter().map(|f| self.form(f)).collect();
        let mut taps = Vec::new();
        let halves = |number: u64| [number as u32, (number >> 32) as u32];
        let mut filter = |form: Option<&Form>| {
            let first_tap = taps.len() as u32;
            let of_form = form.map_or(&[][..], |form| &form.taps.taps);
            taps.extend(of_form.iter().map(|&(lag, numerator)| ExactTap {
                lag: lag as u32,
                is_negative: u32::from(numerator < 0),
                size: halves(numerator.unsigned_abs()),
            }));
            ExactFilter {
                first_tap,
                taps: of_form.len() as u32,
                denominator: halves(form.map_or(1, |form| form.taps.denominator as u64)),
            }
        };
        let filters = forms.into_iter().map(&mut filter).collect();
        (filters, taps)
    }

    fn form(&self, filter: usize) -> Option<&Form> {
        let form = || Form::of(&self.filters[filter]);
        self.forms[filter].get_or_init(form).as_ref()
    }

    /// The sign of fast - slow on a bar; `None` where a filter has no taps, or a numerator may not fit.
    pub(super) fn decide(&self, fast: usize, slow: usize, bar: usize) -> Option<Ordering> {
        let (fast, slow) = (self.form(fast)?, self.form(slow)?);
        let range = self.ranges[(bar - self.first) / CELL];
        if !(largest(fast, slow) * range < FITS) {
            return None;
        }
        let (left, right) = (fast.taps.denominator, slow.taps.denominator);
        let fast = self.numerator(fast, bar) * i128::from(right);
        let slow = self.numerator(slow, bar) * i128::from(left);
        Some(fast.cmp(&slow))
    }

    /// The numerator over closes counted from the newest. Closes before the first sum count as 0: no weight is theirs.
    fn numerator(&self, form: &Form, bar: usize) -> i128 {
        let at = self.lead + bar - self.first;
        let newest = i128::from(self.units[bar - self.first]);
        let centre = i128::from(form.taps.denominator).wrapping_mul(newest);
        let term = |&(lag, numerator): &(usize, i64)| {
            self.sums[at - lag].wrapping_mul(i128::from(numerator))
        };
        let sum = form.taps.taps.iter().map(term);
        sum.fold(0_i128, i128::wrapping_add).wrapping_sub(centre)
    }
}

/// The largest number of a comparison, for each unit that closes move.
fn largest(fast: &Form, slow: &Form) -> f64 {
    let (left, right) = (fast.taps.denominator as f64, slow.taps.denominator as f64);
    (fast.size * right).max(slow.size * left)
}

/// The closes as whole numbers: of ticks, or of units in the last place of the lowest, of which every other is a multiple.
fn units(series: &Series, bars: Range<usize>) -> Option<Vec<i64>> {
    if let Some(ticks) = series.ticks() {
        return Some(ticks[bars].to_vec());
    }
    let closes = &series.closes()[bars];
    let (low, high) = closes
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(low, high), &close| {
            (low.min(close), high.max(close))
        });
    let exponent = ((low.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    if !(-900..=900).contains(&exponent) {
        return None;
    }
    // a power of two, so that the products are exact
    let per_unit = f64::from_bits(((52 - exponent + 1023) as u64) << 52);
    let fits = high * per_unit < (1_u64 << 62) as f64;
    fits.then(|| {
        closes
            .iter()
            .map(|close| (close * per_unit) as i64)
            .collect()
    })
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
        let coarse: Vec<i64> = walk.closes().iter().map(|p| (p / 50.0) as i64).collect();
        let coarse = Series::from_ticks(&coarse, 0.01).unwrap();
        let wide: Vec<f64> = walk.closes().iter().map(|p| (p - 29_000.0).abs()).collect();
        let wide = Series::from_closes(&wide).unwrap();
        let series = [walk, coarse.clone(), coarse.into_binary(), wide];
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
        assert!(met > 4_000 && ties > 0, "{met} {ties}");
    }

    /// Moves just within and just beyond what fits; what is handed on would wrap if it were twice as large.
    #[test]
    fn numerators_that_may_not_fit_are_handed_on() {
        let grid = Grid::parse("hma:2000", "hma3:3000").unwrap();
        let flat = Series::from_ticks(&vec![1; 6_000], 1e-9).unwrap();
        let question = Question::new(&flat, &grid).unwrap();
        let sums = Sums::new(&question, 0, 6_000).unwrap();
        let [fast, slow] = [0, 1].map(|filter| sums.form(filter).unwrap());
        let largest = largest(fast, slow);
        for (share, fits) in [(0.99, true), (1.01, false)] {
            let range = (FITS / largest * share) as i64;
            let ticks: Vec<i64> = (0..6_000)
                .map(|bar| 1 + i64::from(bar > 4_000) * range)
                .collect();
            let series = Series::from_ticks(&ticks, 1e-9).unwrap();
            let question = Question::new(&series, &grid).unwrap();
            let sums = Sums::new(&question, 0, 6_000).unwrap();
            assert_eq!(sums.fits(0, 1), fits, "{range}");
            for bar in [4_001, 4_500, 5_500] {
                let found = sums.decide(0, 1, bar);
                assert_eq!(found.is_some(), fits, "{range}");
                let expected = question.predicate(0).decide_exactly(bar);
                assert!(found.is_none_or(|found| found == expected));
            }
        }
    }

    #[test]
    fn closes_that_are_no_whole_numbers_are_handed_on() {
        let units = |closes: &[f64]| {
            let series = Series::from_closes(closes).unwrap();
            units(&series, 0..closes.len())
        };
        assert_eq!(units(&[1.0, 1.5]), Some(vec![1 << 52, 3 << 51]));
        assert_eq!(units(&[0.75, 500.0]), Some(vec![3 << 51, 500 << 53]));
        assert_eq!(units(&[1.0, 1_025.0]), None);
        assert!(units(&[1e-250, 2e-250]).is_some() && units(&[1e250, 2e250]).is_some());
        assert_eq!(units(&[f64::MIN_POSITIVE, 1e-300]), None);
    }

    #[test]
    fn ranges_cover_the_windows() {
        let ticks: Vec<i64> = (0..2_000).collect();
        assert_eq!(ranges(&ticks, 1), [511.0, 1_023.0, 1_023.0, 975.0]);
        assert_eq!(ranges(&ticks, 0), [511.0, 511.0, 511.0, 463.0]);
    }
}
