//! The question every engine answers: one series, one grid, checked against each other once.

use std::sync::OnceLock;

use crate::crossover::{CrossoverSink, FilterForm, Predicate, SideWriter};
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::grid::Grid;
use crate::room;
use crate::series::Series;

/// Bytes that a question keeps for each bar: where its stretch of equal closes began, and the largest closes of words.
const OF_A_BAR: usize = 8;

/// Bytes that a sweep keeps for each combination until its row is there: a writer, sums or metrics, the result and the
/// row. 1.6 KB were measured with every metric.
const OF_A_COMBINATION: usize = 2_560;

/// A series and a grid that fit each other, with what the exact predicate derives from both.
///
/// # Examples
/// ```
/// use std::cmp::Ordering;
/// use crosscheck::{Grid, Question, Series};
/// let series = Series::from_ticks(&[10, 11, 13, 12, 12, 12], 0.01)?;
/// let grid = Grid::parse("sma:1", "sma:3")?;
/// let question = Question::new(&series, &grid)?;
/// assert_eq!(question.first_bar(0), 2);
/// assert_eq!(question.predicate(0).decide(2).ordering, Ordering::Greater);
/// assert_eq!(question.predicate(0).decide(5).ordering, Ordering::Equal);
/// # Ok::<(), crosscheck::Error>(())
/// ```
#[derive(Debug)]
pub struct Question<'a> {
    series: &'a Series,
    grid: &'a Grid,
    forms: Vec<FilterForm>,
    largest: OnceLock<Largest>,
}

impl<'a> Question<'a> {
    /// Makes the question.
    ///
    /// # Errors
    /// [`Error::PeriodTooLong`] with the filter of the longest need, where one has no value on any bar;
    /// [`SizeError::OutOfMemory`](crate::SizeError::OutOfMemory) where the machine cannot hold what a sweep keeps for
    /// each bar or combination.
    pub fn new(series: &'a Series, grid: &'a Grid) -> Result<Self> {
        let longest = grid.filters().iter().max_by_key(|filter| filter.warm_up());
        if let Some(filter) = longest.filter(|filter| filter.warm_up() >= series.bars()) {
            return Err(Error::PeriodTooLong {
                filter: filter.name().to_owned(),
                needed: filter.warm_up() + 1,
                bars: series.bars(),
            });
        }
        room::check(series.bars(), "bar", OF_A_BAR)?;
        room::check(grid.combinations(), "combination", OF_A_COMBINATION)?;
        let forms = grid.filters().iter().map(FilterForm::new).collect();
        Ok(Self {
            series,
            grid,
            forms,
            largest: OnceLock::new(),
        })
    }

    /// Returns the series.
    pub fn series(&self) -> &'a Series {
        self.series
    }

    /// Returns the grid.
    pub fn grid(&self) -> &'a Grid {
        self.grid
    }

    /// Returns the distinct filters, in the order of the matrix rows that an engine computes.
    pub fn filters(&self) -> &'a [Filter] {
        self.grid.filters()
    }

    /// Returns the first bar on which both filters of a combination have a value.
    pub fn first_bar(&self, combination: usize) -> usize {
        let (fast, slow) = self.forms(combination);
        fast.window().max(slow.window()) - 1
    }

    /// Returns the exact predicate of a combination.
    pub fn predicate(&self, combination: usize) -> Predicate<'_> {
        let (fast, slow) = self.forms(combination);
        Predicate::new(self.series, fast, slow)
    }

    /// Returns the largest close of bars `first..=last`, or a larger one of the bars around them.
    pub fn largest_close(&self, first: usize, last: usize) -> f64 {
        self.largest
            .get_or_init(|| Largest::of(self.series.closes()))
            .over(first / 64, last / 64)
    }

    /// Whether every filter's weights sum to 1, so that a constant taken off all closes changes no side.
    pub(crate) fn filters_have_unit_gain(&self) -> bool {
        self.forms.iter().all(FilterForm::has_unit_gain)
    }

    /// Makes the writers of all combinations, one for each sink.
    pub(crate) fn writers<'s, S: CrossoverSink + 's>(
        &self,
        sinks: &'s mut [S],
    ) -> Vec<SideWriter<'s>> {
        let bars = self.series.bars();
        let writer = |(combination, sink): (usize, &'s mut S)| {
            SideWriter::new(combination, self.first_bar(combination), bars, sink)
        };
        sinks.iter_mut().enumerate().map(writer).collect()
    }

    fn forms(&self, combination: usize) -> (&FilterForm, &FilterForm) {
        let (fast, slow) = self.grid.pairs()[combination];
        (&self.forms[fast as usize], &self.forms[slow as usize])
    }
}

/// Maxima of the closes over runs of `2^level` words of 64 bars: any range is two overlapping runs.
#[derive(Debug)]
struct Largest(Vec<Vec<f64>>);

impl Largest {
    fn of(closes: &[f64]) -> Self {
        let word = |bars: &[f64]| bars.iter().copied().fold(0.0, f64::max);
        let mut levels = vec![closes.chunks(64).map(word).collect::<Vec<f64>>()];
        let mut run = 1;
        while 2 * run <= levels[0].len() {
            let below = &levels[levels.len() - 1];
            let level = (0..below.len() - run)
                .map(|i| below[i].max(below[i + run]))
                .collect();
            levels.push(level);
            run *= 2;
        }
        Self(levels)
    }

    fn over(&self, first_word: usize, last_word: usize) -> f64 {
        let level = (last_word + 1 - first_word).ilog2() as usize;
        let runs = &self.0[level];
        runs[first_word].max(runs[last_word + 1 - (1 << level)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_combination_has_room_for_all_that_is_kept_of_it() {
        use crate::metrics::{AlwaysIn, Meter, Metrics};
        use crate::trade::{Totals, TradeBuilder};
        let sums = size_of::<AlwaysIn<'_>>().max(size_of::<TradeBuilder<'_, Meter<'_>>>());
        let row = size_of::<crate::SweepRow>() + 64;
        let result = size_of::<(Totals, Option<Metrics>)>();
        let kept = size_of::<SideWriter<'_>>() + sums + row + result + 32;
        assert!(
            (OF_A_COMBINATION / 4 * 3..OF_A_COMBINATION).contains(&kept),
            "{kept}"
        );
    }

    #[test]
    fn largest_close_covers_its_range() {
        let walk = crate::random_walk(1_000, 3).unwrap();
        let grid = Grid::parse("sma:1", "sma:2").unwrap();
        let question = Question::new(&walk, &grid).unwrap();
        for (first, last) in [
            (0, 0),
            (0, 999),
            (63, 64),
            (100, 900),
            (640, 703),
            (999, 999),
        ] {
            let words = (first / 64 * 64)..((last / 64 + 1) * 64).min(1_000);
            let expected = walk.closes()[words].iter().copied().fold(0.0, f64::max);
            assert_eq!(question.largest_close(first, last), expected);
        }
    }
}
