//! Reading price files: decimal text becomes exact integer ticks, and every fault names its line.
//!
//! It stands apart from the other constructors because a file is the least trusted input of all: column order, time
//! unit, duplicates and half-written last bars are questions of the file, settled before a `Series` exists.

mod assemble;
mod check;
mod columns;
mod decimal;
mod open;
mod options;
mod rows;
mod time;

use std::io::Read;
use std::path::Path;

pub use check::{CsvReport, Fault, FaultKind};
pub use options::{CsvOptions, Duplicates};
pub use time::TimeFormat;

use super::Series;
use crate::error::Result;
use rows::Rows;

/// What errors call the file of [`Series::from_csv_reader`], which has no name.
const READER: &str = "<reader>";

impl Series {
    /// Reads a CSV file, plain or gzipped, with the default [`CsvOptions`]: closes as exact ticks, nothing dropped.
    ///
    /// Columns are found by their names (ours, Binance klines, freqtrade, backtesting.py, yfinance); without a header
    /// the order is `timestamp, open, high, low, close, volume`, as in Binance's kline files, or `timestamp, close`, or
    /// `close`. *Unit*: timestamps in seconds, milliseconds, microseconds, nanoseconds or ISO 8601, told apart for each
    /// value, become Unix milliseconds; a time without an offset is read as UTC.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io); [`Error::Parse`](crate::Error::Parse) with the line of the first cell that is
    /// missing, no number, not above 0 or impossible; [`Error::DuplicateRow`](crate::Error::DuplicateRow) and
    /// [`Error::UnsortedRow`](crate::Error::UnsortedRow); [`Error::TickRange`](crate::Error::TickRange) where the prices
    /// do not fit 64-bit ticks; [`Error::EmptySeries`](crate::Error::EmptySeries) without a row.
    pub fn from_csv(path: impl AsRef<Path>) -> Result<Self> {
        Self::from_csv_with(path, &CsvOptions::default())
    }

    /// Reads a CSV file, plain or gzipped.
    ///
    /// # Errors
    /// Those of [`Series::from_csv`], [`Error::BarLength`](crate::Error::BarLength) and
    /// [`Error::Gap`](crate::Error::Gap) where the options ask for it.
    pub fn from_csv_with(path: impl AsRef<Path>, options: &CsvOptions) -> Result<Self> {
        let path = path.as_ref();
        let rows = Rows::new(open::file(path)?, path, options)?;
        assemble::series(rows, path, options)
    }

    /// Reads CSV text, plain or gzipped, from anything that can be read.
    ///
    /// # Errors
    /// Those of [`Series::from_csv_with`]; the path in them is `<reader>`.
    ///
    /// # Examples
    /// ```
    /// use crosscheck::{CsvOptions, Series};
    /// let text = "timestamp,close\n1735689540000,7.77e-06\n1735689600000000,.00000780\n";
    /// let series = Series::from_csv_reader(text.as_bytes(), &CsvOptions::default())?;
    /// assert_eq!(series.ticks(), Some(&[777, 780][..]));
    /// assert_eq!(series.closes(), [7.77e-06, 7.8e-06]);
    /// assert_eq!(series.timestamps(), Some(&[1735689540000, 1735689600000][..]));
    ///
    /// let comma = "timestamp,close\n0,\"1,234.5\"\n";
    /// let error = Series::from_csv_reader(comma.as_bytes(), &CsvOptions::default()).unwrap_err();
    /// assert!(error.to_string().contains("line 2"));
    /// # Ok::<(), crosscheck::Error>(())
    /// ```
    pub fn from_csv_reader(reader: impl Read, options: &CsvOptions) -> Result<Self> {
        let path = Path::new(READER);
        let rows = Rows::new(open::reader(reader, path)?, path, options)?;
        assemble::series(rows, path, options)
    }
}
