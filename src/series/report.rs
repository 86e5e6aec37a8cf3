//! What a series looks like before anything runs on it: gaps, stale prices, jumps that no market makes.

use std::fmt;

use super::Series;
use crate::error::{grouped, missing_bars, plain};

/// A move of one bar beyond this log-return is reported: a gain of 65 % or a loss of 39 %.
const LARGE_MOVE: f64 = 0.5;

/// A ratio of highest to lowest close beyond this within a year is reported: no large market has moved so far.
const LARGE_RATIO: f64 = 50.0;

const YEAR_MS: i64 = 366 * 86_400_000;

const MONTH_MS: i64 = 31 * 86_400_000;

/// The facts of a series that show a fault in its data.
///
/// # Examples
/// ```
/// use crosscheck::Series;
/// let minute = 60_000;
/// let series = Series::from_closes(&[1.00, 1.01, 10.9])?.with_timestamps(vec![0, minute, 120 * minute])?;
/// let report = series.report();
/// assert_eq!((report.gaps, report.missing_bars), (1, 118));
/// assert_eq!(report.largest_gap.unwrap().bar, 2);
/// assert!(report.warnings()[0].contains("118 bars are missing"));
/// # Ok::<(), crosscheck::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct SeriesReport {
    /// Bars.
    pub bars: usize,
    /// Timestamps of the first and the last bar, Unix milliseconds.
    pub span: Option<(i64, i64)>,
    /// Median step between bars, milliseconds.
    pub bar_length: Option<i64>,
    /// Steps longer than a bar.
    pub gaps: usize,
    /// Bars missing in all gaps.
    pub missing_bars: u64,
    /// The largest gap.
    pub largest_gap: Option<LargestGap>,
    /// Steps that are no multiple of the bar length.
    pub irregular_steps: usize,
    /// Bars whose close equals the close before.
    pub unchanged_closes: usize,
    /// Bars of the longest stretch of equal closes.
    pub longest_flat: usize,
    /// Bars with a volume of 0; `None` without volumes.
    pub zero_volumes: Option<usize>,
    /// The lowest close.
    pub min_close: f64,
    /// The highest close.
    pub max_close: f64,
    /// The bar of the largest move from one close to the next, where there are two.
    pub largest_move: Option<LargestMove>,
}

/// Where most bars are missing in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct LargestGap {
    /// The bar after the gap.
    pub bar: usize,
    /// Bars missing before it.
    pub missing_bars: u64,
}

/// The largest change from one close to the next, by the size of its logarithm.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct LargestMove {
    /// The bar after the move.
    pub bar: usize,
    /// `close / close before`.
    pub ratio: f64,
}

impl Series {
    /// Returns the length of a bar in milliseconds: the median step between timestamps, the lower one of two.
    ///
    /// `None` with fewer than two timestamps.
    pub fn bar_length(&self) -> Option<i64> {
        let timestamps = self.timestamps()?;
        let mut steps: Vec<i64> = timestamps
            .windows(2)
            .map(|pair| pair[1].saturating_sub(pair[0]))
            .collect();
        let middle = steps.len().checked_sub(1)? / 2;
        Some(*steps.select_nth_unstable(middle).1)
    }

    /// Returns when the close of a bar is known: its timestamp, which labels the open, plus the length of a bar.
    ///
    /// *Unit*: Unix milliseconds. `None` where the series has fewer than two timestamps or no such bar.
    ///
    /// # Examples
    /// ```
    /// use crosscheck::Series;
    /// let opened = vec![1_747_699_200_000, 1_747_699_260_000];
    /// let series = Series::from_closes(&[1.0, 2.0])?.with_timestamps(opened)?;
    /// assert_eq!(series.known_at(0), Some(1_747_699_260_000));
    /// # Ok::<(), crosscheck::Error>(())
    /// ```
    pub fn known_at(&self, bar: usize) -> Option<i64> {
        let opened = *self.timestamps()?.get(bar)?;
        opened.checked_add(self.bar_length()?)
    }

    /// Reports what a series looks like.
    pub fn report(&self) -> SeriesReport {
        let closes = self.closes();
        let since = self.flat_since();
        let flat = since
            .iter()
            .enumerate()
            .map(|(bar, &first)| bar + 1 - first as usize);
        let volumes = self.volumes();
        let mut report = SeriesReport {
            bars: self.bars(),
            span: self
                .timestamps()
                .map(|times| (times[0], times[times.len() - 1])),
            bar_length: self.bar_length(),
            gaps: 0,
            missing_bars: 0,
            largest_gap: None,
            irregular_steps: 0,
            unchanged_closes: since
                .iter()
                .enumerate()
                .filter(|&(bar, &first)| bar > first as usize)
                .count(),
            longest_flat: flat.max().unwrap_or(0),
            zero_volumes: volumes
                .map(|volumes| volumes.iter().filter(|&&volume| volume <= 0.0).count()),
            min_close: closes.iter().copied().fold(f64::INFINITY, f64::min),
            max_close: closes.iter().copied().fold(0.0, f64::max),
            largest_move: largest_move(closes),
        };
        if let (Some(times), Some(length)) = (self.timestamps(), report.bar_length) {
            report.count_gaps(times, length);
        }
        report
    }
}

impl SeriesReport {
    fn count_gaps(&mut self, times: &[i64], length: i64) {
        for bar in 1..times.len() {
            let step = times[bar].saturating_sub(times[bar - 1]);
            self.irregular_steps += usize::from(step % length != 0);
            let missing = ((step - 1) / length) as u64;
            if missing == 0 {
                continue;
            }
            self.gaps += 1;
            self.missing_bars += missing;
            if self
                .largest_gap
                .is_none_or(|gap| gap.missing_bars < missing)
            {
                self.largest_gap = Some(LargestGap {
                    bar,
                    missing_bars: missing,
                });
            }
        }
    }

    /// Returns the highest close over the lowest.
    pub fn max_min_ratio(&self) -> f64 {
        self.max_close / self.min_close
    }

    /// Returns what makes the series doubtful, one sentence each; empty where nothing does.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Some(gap) = self.largest_gap {
            warnings.push(format!(
                "{}, the largest of {} before bar {}: trades across them are doubtful",
                missing_bars(self.missing_bars, self.gaps),
                grouped(gap.missing_bars),
                grouped(gap.bar as u64)
            ));
        }
        if self.irregular_steps > 0 {
            warnings.push(format!(
                "{} no multiple of the bar length: rows may be of other time frames",
                match self.irregular_steps {
                    1 => "1 of the steps between bars is".to_owned(),
                    steps => format!("{} of the steps between bars are", grouped(steps as u64)),
                }
            ));
        }
        // A second of 1970 read as a millisecond: stamps of this century then fall into January 1970.
        if let (Some((first, last)), Some(length)) = (self.span, self.bar_length)
            && length < 1_000
            && first > 0
            && last < MONTH_MS
        {
            warnings.push(format!(
                "bars of {length} ms in January 1970: the timestamps may count a longer unit than they were read in"
            ));
        }
        let is_short = self
            .span
            .is_none_or(|(first, last)| last.saturating_sub(first) <= YEAR_MS);
        if is_short && self.max_min_ratio() > LARGE_RATIO {
            warnings.push(format!(
                "closes reach from {} to {}, a ratio of {}: check that this is one market in one unit",
                plain(self.min_close),
                plain(self.max_close),
                plain_ratio(self.max_min_ratio())
            ));
        }
        if let Some(found) = self.largest_move
            && found.ratio.ln().abs() > LARGE_MOVE
        {
            warnings.push(format!(
                "the close of bar {} moves by {found} in one bar: check it",
                grouped(found.bar as u64)
            ));
        }
        warnings
    }
}

impl fmt::Display for LargestMove {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = (self.ratio - 1.0) * 100.0;
        if percent < 1e9 {
            write!(f, "{percent:+.2} %")
        } else {
            write!(f, "{percent:+.2e} %")
        }
    }
}

fn plain_ratio(ratio: f64) -> String {
    if ratio < 1e9 {
        format!("{ratio:.1}")
    } else {
        format!("{ratio:.1e}")
    }
}

fn largest_move(closes: &[f64]) -> Option<LargestMove> {
    let moves = closes
        .windows(2)
        .enumerate()
        .map(|(before, pair)| LargestMove {
            bar: before + 1,
            ratio: pair[1] / pair[0],
        });
    moves.max_by(|a, b| a.ratio.ln().abs().total_cmp(&b.ratio.ln().abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stale_prices_and_jumps_are_found() {
        let series = Series::from_closes(&[5.0, 5.0, 5.0, 500.0, 500.0]).unwrap();
        let series = series.with_volumes(vec![0.0, 1.0, 0.0, 2.0, 0.0]).unwrap();
        let report = series.report();
        assert_eq!((report.unchanged_closes, report.longest_flat), (3, 3));
        assert_eq!(report.zero_volumes, Some(3));
        assert_eq!(report.largest_move.map(|found| found.bar), Some(3));
        assert_eq!(report.warnings().len(), 2, "{:?}", report.warnings());
    }

    #[test]
    fn an_ordinary_series_has_no_warnings() {
        let walk = crate::random_walk(1_000, 5).unwrap();
        let times = (0..1_000).map(|bar| bar * 60_000).collect();
        let report = walk.with_timestamps(times).unwrap().report();
        assert_eq!((report.gaps, report.irregular_steps), (0, 0));
        assert_eq!(report.bar_length, Some(60_000));
        assert!(report.warnings().is_empty(), "{:?}", report.warnings());
    }

    #[test]
    fn seconds_read_as_milliseconds_are_found() {
        let closes = Series::from_closes(&[1.0, 1.01, 1.0]).unwrap();
        let warnings = |times: [i64; 3]| {
            let series = closes.clone().with_timestamps(times.to_vec()).unwrap();
            series.report().warnings()
        };
        let found = warnings([1_735_689_600, 1_735_689_660, 1_735_689_720]);
        assert!(
            found[0].contains("bars of 60 ms in January 1970"),
            "{found:?}"
        );
        assert!(warnings([60_000, 120_000, 180_000]).is_empty());
        assert!(warnings([1_735_689_600_000, 1_735_689_600_100, 1_735_689_600_200]).is_empty());
    }

    #[test]
    fn times_at_the_ends_of_64_bits_overflow_nothing() {
        let closes = Series::from_closes(&[1.0, 1.01, 1.0, 1.01]).unwrap();
        let times = vec![i64::MIN, i64::MIN + 60_000, i64::MAX - 60_000, i64::MAX];
        let series = closes.with_timestamps(times).unwrap();
        assert_eq!(series.bar_length(), Some(60_000));
        assert_eq!(series.report().gaps, 1);
        assert!(series.report().warnings()[0].contains("missing"));
        let long = series.resample(300_000);
        assert!(long.is_ok_and(|long| long.bars() <= 2));
    }

    #[test]
    fn a_single_bar_has_no_length() {
        let series = Series::from_closes(&[1.0])
            .unwrap()
            .with_timestamps(vec![7])
            .unwrap();
        assert_eq!((series.bar_length(), series.known_at(0)), (None, None));
        assert_eq!(series.report().largest_move, None);
    }
}
