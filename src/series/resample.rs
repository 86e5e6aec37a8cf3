//! Longer bars from shorter ones, closed bars only.

use super::{COLUMNS, Series};
use crate::error::{Error, Result, TimeframeError};
use crate::room;

impl Series {
    /// Makes bars of `timeframe` milliseconds: first open, highest high, lowest low, last close, summed volume.
    ///
    /// A long bar starts at a whole multiple of the time frame (weeks on Monday) in UTC and bears its open time. Only bars that are closed
    /// and seen from their start are made: a first one that the series enters after its start is left out, and a last
    /// one whose last short bar is missing too. Short bars missing inside make no difference. The reading stays.
    ///
    /// A short bar lasts from its timestamp to [`Series::known_at`], and that may not be after the end of the long bar
    /// in which it starts: at that end nobody knows its close yet. Bars of 4 h that start at 02:00 make no days from
    /// midnight.
    ///
    /// # Errors
    /// [`Error::NoTimestamps`]; [`TimeframeError::NotMultiple`] unless the time frame is a multiple of
    /// [`Series::bar_length`]; [`TimeframeError::OffGrid`] where a short bar reaches past the end of the long bar in
    /// which it starts; [`TimeframeError::TooLong`] where no long bar is closed.
    ///
    /// # Examples
    /// ```
    /// use crosscheck::Series;
    /// let minutes: Vec<i64> = (4..16).map(|minute| minute * 60_000).collect();
    /// let closes: Vec<f64> = (4..16).map(f64::from).collect();
    /// let series = Series::from_closes(&closes)?.with_timestamps(minutes)?;
    /// let five = series.resample(5 * 60_000)?;
    /// assert_eq!(five.timestamps(), Some(&[300_000, 600_000][..]));
    /// assert_eq!(five.closes(), [9.0, 14.0]);
    /// # Ok::<(), crosscheck::Error>(())
    /// ```
    pub fn resample(&self, timeframe: i64) -> Result<Self> {
        let (Some(times), Some(bar_length)) = (self.timestamps(), self.bar_length()) else {
            return Err(Error::NoTimestamps {
                purpose: "to make longer bars",
            });
        };
        if timeframe < bar_length || timeframe % bar_length != 0 {
            return Err(TimeframeError::NotMultiple {
                timeframe,
                bar_length,
            }
            .into());
        }
        // The short bars of each long bar, and its columns, of which there can be as many as of the short ones.
        let longest = self.bars() / (timeframe / bar_length).max(1) as usize + 2;
        let each = size_of::<Bucket>() * 2 + COLUMNS * size_of::<f64>();
        room::check(longest.min(self.bars()), "bar", each)?;
        let buckets = closed_buckets(times, bar_length, timeframe)?;
        if buckets.is_empty() {
            return Err(TimeframeError::TooLong {
                timeframe,
                bars: self.bars(),
                bar_length,
            }
            .into());
        }
        let last = |values: &[f64]| buckets.iter().map(|b| values[b.end - 1]).collect();
        let first = |values: &[f64]| buckets.iter().map(|b| values[b.start]).collect();
        let fold = |values: &[f64], start: f64, of: fn(f64, f64) -> f64| -> Vec<f64> {
            let bucket = |b: &Bucket| values[b.start..b.end].iter().copied().fold(start, of);
            buckets.iter().map(bucket).collect()
        };
        let ticks = self
            .ticks()
            .map(|ticks| buckets.iter().map(|b| ticks[b.end - 1]).collect());
        let mut long = Self::from_parts(last(self.closes()), ticks)?
            .with_timestamps(buckets.iter().map(|b| b.time).collect())?;
        long = match (self.opens(), self.highs(), self.lows()) {
            (Some(opens), Some(highs), Some(lows)) => {
                let highs = fold(highs, f64::NEG_INFINITY, f64::max);
                long.with_ohl(first(opens), highs, fold(lows, f64::INFINITY, f64::min))?
            }
            (Some(opens), ..) => long.with_opens(first(opens))?,
            _ => long,
        };
        match self.volumes() {
            Some(volumes) => long.with_volumes(fold(volumes, 0.0, |sum, volume| sum + volume)),
            None => Ok(long),
        }
    }
}

/// The short bars `start..end` of the long bar that opens at `time`.
struct Bucket {
    time: i64,
    start: usize,
    end: usize,
}

fn closed_buckets(
    times: &[i64],
    bar_length: i64,
    timeframe: i64,
) -> std::result::Result<Vec<Bucket>, TimeframeError> {
    const WEEK: i64 = 7 * 86_400_000;
    // Unix time starts on a Thursday; weeks start on the Monday before it.
    let shift = if timeframe % WEEK == 0 {
        3 * 86_400_000
    } else {
        0
    };
    // At the ends of 64 bits a long bar is cut short, rather than its time lost.
    let open_of = |time: i64| {
        let count = time.saturating_add(shift).div_euclid(timeframe);
        count.saturating_mul(timeframe).saturating_sub(shift)
    };
    let mut buckets: Vec<Bucket> = Vec::new();
    for (bar, &timestamp) in times.iter().enumerate() {
        let time = open_of(timestamp);
        let end = time.saturating_add(timeframe);
        if timestamp.saturating_add(bar_length) > end {
            return Err(TimeframeError::OffGrid {
                bar,
                timestamp,
                bar_length,
                end,
                timeframe,
            });
        }
        match buckets.last_mut() {
            Some(bucket) if bucket.time == time => bucket.end = bar + 1,
            _ => buckets.push(Bucket {
                time,
                start: bar,
                end: bar + 1,
            }),
        }
    }
    let is_open = |bucket: &Bucket| {
        let closed = times[bucket.end - 1].saturating_add(bar_length);
        closed < bucket.time.saturating_add(timeframe)
    };
    if buckets.last().is_some_and(is_open) {
        buckets.pop();
    }
    if buckets.first().is_some_and(|bucket| bucket.time < times[0]) {
        buckets.remove(0);
    }
    Ok(buckets)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: i64 = 60_000;

    #[test]
    fn bars_follow_the_ohlcv_rules_in_ticks() {
        let minutes = [0, 1, 2, 3, 4, 5, 6, 8, 9, 10];
        let ticks: Vec<i64> = (0..10).map(|k| 100 + k * k % 7).collect();
        let series = Series::from_ticks(&ticks, 0.01).unwrap();
        let closes = series.closes().to_vec();
        let series = series
            .with_timestamps(minutes.iter().map(|minute| minute * MINUTE).collect())
            .unwrap()
            .with_ohl(
                closes.clone(),
                closes.iter().map(|c| c + 1.0).collect(),
                closes.clone(),
            )
            .unwrap()
            .with_volumes(vec![1.0; 10])
            .unwrap();
        let five = series.resample(5 * MINUTE).unwrap();
        assert_eq!(five.timestamps(), Some(&[0, 5 * MINUTE][..]));
        assert_eq!(five.ticks(), Some(&[ticks[4], ticks[8]][..]));
        assert_eq!(five.volumes(), Some(&[5.0, 4.0][..]));
        assert_eq!(five.opens(), Some(&[closes[0], closes[5]][..]));
        let high = |bars: std::ops::Range<usize>| closes[bars].iter().copied().fold(0.0, f64::max);
        assert_eq!(
            five.highs(),
            Some(&[high(0..5) + 1.0, high(5..9) + 1.0][..])
        );
    }

    #[test]
    fn weeks_start_on_monday() {
        let days: Vec<i64> = (0..30).map(|day| day * 86_400_000).collect();
        let series = Series::from_closes(&[1.0; 30])
            .unwrap()
            .with_timestamps(days)
            .unwrap();
        let weeks = series.resample(7 * 86_400_000).unwrap();
        assert_eq!(weeks.timestamps().unwrap()[0], 4 * 86_400_000);
    }

    #[test]
    fn other_time_frames_are_refused() {
        let series = Series::from_closes(&[1.0; 3]).unwrap();
        assert!(matches!(
            series.resample(MINUTE),
            Err(Error::NoTimestamps { .. })
        ));
        let series = series
            .with_timestamps(vec![0, 2 * MINUTE, 4 * MINUTE])
            .unwrap();
        for timeframe in [-MINUTE, 0, MINUTE, 3 * MINUTE] {
            assert!(matches!(
                series.resample(timeframe),
                Err(Error::Timeframe(TimeframeError::NotMultiple { .. }))
            ));
        }
        assert!(matches!(
            series.resample(8 * MINUTE),
            Err(Error::Timeframe(TimeframeError::TooLong { bars: 3, .. }))
        ));
    }

    /// Sixty bars from `offset` minutes, `step` apart, less some.
    fn hours(offset: i64, step: i64, left_out: impl Fn(i64) -> bool) -> Series {
        let times = (0..60).map(|bar| (offset + bar * step) * MINUTE);
        let times: Vec<i64> = times.filter(|time| !left_out(*time)).collect();
        let closes = vec![1.0; times.len()];
        let series = Series::from_closes(&closes).unwrap();
        series.with_timestamps(times).unwrap()
    }

    #[test]
    fn no_long_bar_takes_a_close_that_is_known_after_its_end() {
        let (mut made, mut refused) = (0, 0);
        for (offset, frame) in (0..240)
            .step_by(10)
            .flat_map(|offset| [60, 120, 240, 1_440].map(|frame| (offset, frame)))
        {
            let series = hours(offset, 60, |time| time / MINUTE % 7 == 3);
            assert_eq!(series.bar_length(), Some(60 * MINUTE));
            let times = series.timestamps().unwrap();
            let end = |time: i64| (time.div_euclid(frame * MINUTE) + 1) * frame * MINUTE;
            let first = (0..times.len())
                .find(|&bar| series.known_at(bar).is_some_and(|at| at > end(times[bar])));
            match series.resample(frame * MINUTE) {
                Ok(_) => made += usize::from(first.is_none()),
                Err(Error::Timeframe(TimeframeError::OffGrid { bar, .. })) => {
                    assert_eq!(Some(bar), first, "{offset} {frame}");
                    refused += 1;
                }
                Err(error) => panic!("{error}"),
            }
        }
        assert_eq!((made, refused), (16, 80));
    }

    #[test]
    fn bars_off_the_grid_fit_where_their_gaps_are() {
        // Seven bars a day from 09:30, as of an exchange: a day's end is in the gap, and every other two hours' is not.
        let session = |time: i64| !(570..=930).contains(&(time / MINUTE % 1_440));
        let series = hours(30, 60, session);
        let days = series.resample(1_440 * MINUTE);
        assert!(days.is_ok_and(|days| days.bars() >= 1));
        let error = series.resample(120 * MINUTE).unwrap_err();
        for part in ["bar 0", "3600000 ms from 34200000", "ends at 36000000"] {
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}
