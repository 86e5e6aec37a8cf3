//! Constructors of `Series`, and every check that a price passes.

use std::ops::Range;

use ndarray::ArrayView1;

use super::{COLUMNS, Flat, MAX_BARS, Series};
use crate::error::{Error, Result};
use crate::room;

impl Series {
    /// Makes a series from closes, each read as the exact value of its `f64`.
    ///
    /// # Errors
    /// [`Error::EmptySeries`], [`Error::TooManyBars`], [`Error::NonFinitePrice`] or
    /// [`Error::NonPositivePrice`], naming the bar; [`SizeError::OutOfMemory`](crate::SizeError::OutOfMemory).
    ///
    /// # Examples
    /// ```
    /// use crosscheck::{Error, Series};
    /// assert!(Series::from_closes(&[1.0, 2.0]).is_ok());
    /// let refused = Series::from_closes(&[1.0, f64::NAN]).unwrap_err();
    /// assert!(matches!(refused, Error::NonFinitePrice { bar: 1, .. }));
    /// ```
    pub fn from_closes(closes: &[f64]) -> Result<Self> {
        room::check(closes.len(), "bar", size_of::<f64>())?;
        Self::from_parts(closes.to_vec(), None)
    }

    /// Makes a series from a one-dimensional `ndarray` view of closes, of any stride.
    ///
    /// # Errors
    /// Those of [`Series::from_closes`].
    pub fn from_array(closes: ArrayView1<'_, f64>) -> Result<Self> {
        room::check(closes.len(), "bar", size_of::<f64>())?;
        Self::from_parts(closes.to_vec(), None)
    }

    /// Makes a series from integer prices in units of `tick`; close calls are then decided on the integers.
    ///
    /// A tick that is a power of ten (0.01, 1e-8) gives closes equal to the parsed decimal text.
    ///
    /// # Errors
    /// [`Error::InvalidTick`], and those of [`Series::from_closes`].
    pub fn from_ticks(ticks: &[i64], tick: f64) -> Result<Self> {
        if !(tick.is_finite() && tick > 0.0) {
            return Err(Error::InvalidTick { tick });
        }
        room::check(ticks.len(), "bar", size_of::<f64>() + size_of::<i64>())?;
        let closes = ticks.iter().map(|&t| price(t, tick)).collect();
        Self::from_parts(closes, Some(ticks.to_vec()))
    }

    /// Makes a series from closes and, where given, the same closes as integers of one tick.
    pub(crate) fn from_parts(closes: Vec<f64>, ticks: Option<Vec<i64>>) -> Result<Self> {
        if closes.is_empty() {
            return Err(Error::EmptySeries);
        }
        if closes.len() > MAX_BARS {
            return Err(Error::TooManyBars {
                bars: closes.len(),
                limit: MAX_BARS,
            });
        }
        check_prices("close", &closes)?;
        Ok(Self {
            closes,
            ticks,
            timestamps: None,
            opens: None,
            highs: None,
            lows: None,
            volumes: None,
            flat: Flat::default(),
        })
    }

    /// Adds the bars' timestamps, Unix milliseconds (UTC) of the bars' open.
    ///
    /// # Errors
    /// [`Error::UnequalLengths`], [`Error::UnsortedTimestamp`] or [`Error::DuplicateTimestamp`].
    pub fn with_timestamps(mut self, timestamps: Vec<i64>) -> Result<Self> {
        self.check_length("timestamp", timestamps.len())?;
        for bar in 1..timestamps.len() {
            let (before, timestamp) = (timestamps[bar - 1], timestamps[bar]);
            if timestamp == before {
                return Err(Error::DuplicateTimestamp {
                    first: bar - 1,
                    bar,
                    timestamp,
                });
            }
            if timestamp < before {
                return Err(Error::UnsortedTimestamp {
                    bar,
                    timestamp,
                    before,
                });
            }
        }
        self.timestamps = Some(timestamps);
        Ok(self)
    }

    /// Adds the opens, which fills at the next bar's open need.
    ///
    /// # Errors
    /// [`Error::UnequalLengths`], [`Error::NonFinitePrice`] or [`Error::NonPositivePrice`].
    pub fn with_opens(mut self, opens: Vec<f64>) -> Result<Self> {
        self.check_length("open", opens.len())?;
        check_prices("open", &opens)?;
        self.opens = Some(opens);
        Ok(self)
    }

    /// Adds opens, highs and lows, and checks that each bar's high and low contain its open and close.
    ///
    /// # Errors
    /// Those of [`Series::with_opens`] for each column, and [`Error::ImpossibleBar`].
    pub fn with_ohl(self, opens: Vec<f64>, highs: Vec<f64>, lows: Vec<f64>) -> Result<Self> {
        let mut series = self.with_opens(opens)?;
        for (column, prices) in [("high", &highs), ("low", &lows)] {
            series.check_length(column, prices.len())?;
            check_prices(column, prices)?;
        }
        let opens = series.opens.as_deref().unwrap_or_default();
        for (bar, (&high, &low)) in highs.iter().zip(&lows).enumerate() {
            let (open, close) = (opens[bar], series.closes[bar]);
            if high < open.max(close) || low > open.min(close) {
                return Err(Error::ImpossibleBar {
                    bar,
                    open,
                    high,
                    low,
                    close,
                });
            }
        }
        series.highs = Some(highs);
        series.lows = Some(lows);
        Ok(series)
    }

    /// Adds the volumes; a volume of 0 is legal, and no trade depends on it.
    ///
    /// # Errors
    /// [`Error::UnequalLengths`], [`Error::NonFinitePrice`] or [`Error::NegativeVolume`].
    pub fn with_volumes(mut self, volumes: Vec<f64>) -> Result<Self> {
        self.check_length("volume", volumes.len())?;
        for (bar, &value) in volumes.iter().enumerate() {
            if !value.is_finite() {
                return Err(Error::NonFinitePrice {
                    column: "volume",
                    bar,
                    value,
                });
            }
            if value < 0.0 {
                return Err(Error::NegativeVolume { bar, value });
            }
        }
        self.volumes = Some(volumes);
        Ok(self)
    }

    /// Forgets the ticks: close calls are then decided on the exact value of each `f64` close.
    pub fn into_binary(mut self) -> Self {
        self.ticks = None;
        self.flat = Flat::default();
        self
    }

    /// Copies the bars of a range, in every column; a range past the end is cut there.
    ///
    /// # Errors
    /// [`Error::EmptySeries`] where the range holds no bar of the series.
    pub fn slice(&self, range: Range<usize>) -> Result<Self> {
        let range = range.start..range.end.min(self.bars());
        if range.is_empty() {
            return Err(Error::EmptySeries);
        }
        room::check(range.len(), "bar", COLUMNS * size_of::<f64>())?;
        Ok(Self {
            closes: self.closes[range.clone()].to_vec(),
            ticks: cut(self.ticks.as_ref(), &range),
            timestamps: cut(self.timestamps.as_ref(), &range),
            opens: cut(self.opens.as_ref(), &range),
            highs: cut(self.highs.as_ref(), &range),
            lows: cut(self.lows.as_ref(), &range),
            volumes: cut(self.volumes.as_ref(), &range),
            flat: Flat::default(),
        })
    }

    fn check_length(&self, column: &'static str, length: usize) -> Result<()> {
        if length == self.bars() {
            return Ok(());
        }
        Err(Error::UnequalLengths {
            column,
            length,
            bars: self.bars(),
        })
    }
}

fn cut<T: Copy>(column: Option<&Vec<T>>, range: &Range<usize>) -> Option<Vec<T>> {
    column.map(|values| values[range.clone()].to_vec())
}

fn check_prices(column: &'static str, prices: &[f64]) -> Result<()> {
    for (bar, &value) in prices.iter().enumerate() {
        if !value.is_finite() {
            return Err(Error::NonFinitePrice { column, bar, value });
        }
        if value <= 0.0 {
            return Err(Error::NonPositivePrice { column, bar, value });
        }
    }
    Ok(())
}

/// The `f64` price nearest to `ticks * tick` where the tick is a power of ten down to 1e-22: then the divisor
/// is exact and one division rounds once, as parsing the decimal text does.
#[expect(clippy::float_cmp, reason = "asks whether the division is exact")]
fn price(ticks: i64, tick: f64) -> f64 {
    let inverse = (1.0 / tick).round();
    let digits = inverse.log10().round();
    let is_decimal = (0.0..=22.0).contains(&digits)
        && power_of_ten(digits as i32) == inverse
        && 1.0 / inverse == tick;
    if is_decimal {
        ticks as f64 / inverse
    } else {
        ticks as f64 * tick
    }
}

/// Powers up to 1e22 are exact in `f64`.
fn power_of_ten(digits: i32) -> f64 {
    (0..digits).fold(1.0, |product, _| product * 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_ticks_give_the_parsed_price() {
        for (ticks, tick, text) in [
            (777, 1e-8, "0.00000777"),
            (10_555_432, 0.01, "105554.32"),
            (3, 0.1, "0.3"),
            (5, 0.5, "2.5"),
        ] {
            assert_eq!(price(ticks, tick), text.parse::<f64>().unwrap());
        }
    }

    #[test]
    fn each_fault_names_its_bar() {
        assert!(matches!(Series::from_closes(&[]), Err(Error::EmptySeries)));
        assert!(matches!(
            Series::from_closes(&[1.0, f64::INFINITY]),
            Err(Error::NonFinitePrice { bar: 1, .. })
        ));
        assert!(matches!(
            Series::from_closes(&[1.0, 2.0, 0.0]),
            Err(Error::NonPositivePrice { bar: 2, .. })
        ));
        assert!(matches!(
            Series::from_ticks(&[1, -1], 0.01),
            Err(Error::NonPositivePrice { bar: 1, .. })
        ));
        assert!(matches!(
            Series::from_ticks(&[1], f64::NAN),
            Err(Error::InvalidTick { .. })
        ));
        let series = Series::from_closes(&[1.0, 2.0, 3.0]).unwrap();
        assert!(matches!(
            series.clone().with_timestamps(vec![0, 60, 60]),
            Err(Error::DuplicateTimestamp {
                first: 1,
                bar: 2,
                ..
            })
        ));
        assert!(matches!(
            series.clone().with_timestamps(vec![0, 60, 59]),
            Err(Error::UnsortedTimestamp { bar: 2, .. })
        ));
        assert!(matches!(
            series.with_opens(vec![1.0]),
            Err(Error::UnequalLengths { .. })
        ));
    }
}
