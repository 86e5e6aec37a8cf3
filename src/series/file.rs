//! Reading price files: decimal text becomes exact integer ticks, and every fault names its line.
//!
//! It stands apart from the other constructors because a file is the least trusted input of all: column order, time
//! unit, duplicates and half-written last bars are questions of the file, settled before a `Series` exists.

mod assemble;
#[cfg(feature = "parquet")]
mod cell;
mod check;
mod columns;
mod decimal;
mod open;
mod options;
#[cfg(feature = "parquet")]
mod parquet;
#[cfg(feature = "parquet")]
mod parquet_column;
mod row;
mod rows;
mod source;
mod time;

use std::io::Read;
use std::path::Path;

pub use check::{Fault, FaultKind, FileReport};
pub use options::{Duplicates, ReadOptions};
pub use time::TimeFormat;

use super::Series;
use crate::error::Result;
use open::Room;
use source::Source;

/// What errors call the file of [`Series::from_csv_reader`], which has no name.
const READER: &str = "<reader>";

impl Series {
    /// Reads a CSV file, plain or gzipped, with the default [`ReadOptions`]: closes as exact ticks, nothing dropped.
    ///
    /// Columns are found by their names (ours, Binance klines, freqtrade, backtesting.py, yfinance); without a header
    /// the order is `timestamp, open, high, low, close, volume`, as in Binance's kline files, or `timestamp, close`, or
    /// `close`. *Unit*: timestamps in seconds, milliseconds, microseconds, nanoseconds or ISO 8601, told apart for each
    /// value, become Unix milliseconds; a time without an offset is read as UTC.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io); [`Error::File`](crate::Error::File) with the line of the first cell that is
    /// missing, no number, not above 0 or impossible ([`FileError::Row`](crate::FileError::Row)), of rows that are
    /// double or out of order, or of closes that do not fit 64-bit ticks;
    /// [`Error::EmptySeries`](crate::Error::EmptySeries) without a row.
    pub fn from_csv(path: impl AsRef<Path>) -> Result<Self> {
        Self::from_csv_with(path, &ReadOptions::default())
    }

    /// Reads a CSV file, plain or gzipped.
    ///
    /// # Errors
    /// Those of [`Series::from_csv`], [`FileError::BarLength`](crate::FileError::BarLength) and
    /// [`FileError::Gap`](crate::FileError::Gap) where the options ask for it.
    pub fn from_csv_with(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Self> {
        let path = path.as_ref();
        let read = || assemble::series(Source::of_text_file(path, options)?, path, options);
        read().map_err(|error| open::blame_gzip(error, path))
    }

    /// Reads CSV text, plain or gzipped, from anything that can be read.
    ///
    /// # Errors
    /// Those of [`Series::from_csv_with`]; the path in them is `<reader>`.
    ///
    /// # Examples
    /// ```
    /// use crosscheck::{ReadOptions, Series};
    /// let text = "timestamp,close\n1735689540000,7.77e-06\n1735689600000000,.00000780\n";
    /// let series = Series::from_csv_reader(text.as_bytes(), &ReadOptions::default())?;
    /// assert_eq!(series.ticks(), Some(&[777, 780][..]));
    /// assert_eq!(series.closes(), [7.77e-06, 7.8e-06]);
    /// assert_eq!(series.timestamps(), Some(&[1735689540000, 1735689600000][..]));
    ///
    /// let comma = "timestamp,close\n0,\"1,234.5\"\n";
    /// let error = Series::from_csv_reader(comma.as_bytes(), &ReadOptions::default()).unwrap_err();
    /// assert!(error.to_string().contains("line 2"));
    /// # Ok::<(), crosscheck::Error>(())
    /// ```
    pub fn from_csv_reader(reader: impl Read, options: &ReadOptions) -> Result<Self> {
        let path = Path::new(READER);
        assemble::series(
            Source::of_text(reader, Room::ANY, path, options)?,
            path,
            options,
        )
    }

    /// Reads a price file of any form that the build knows: CSV, plain or gzipped, and with the feature `parquet` a
    /// Parquet table. The first bytes decide, not the name.
    ///
    /// # Errors
    /// Those of [`Series::from_csv_with`] and, for a table, of `Series::from_parquet`.
    pub fn from_file(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Self> {
        let path = path.as_ref();
        let read = || assemble::series(Source::of_file(path, options)?, path, options);
        read().map_err(|error| open::blame_gzip(error, path))
    }

    /// Reads a Parquet table by the column names of [`Series::from_csv`].
    ///
    /// Integers, decimals (up to 128 bits) and text are read exactly, as ticks. A float has no decimal text: the series
    /// then takes the binary reading, the exact value of each float; if
    /// [`ReadOptions::with_reading`] asks for ticks, a float stands for the shortest decimal that reads back as the same
    /// float, as if the table had been written as CSV. *Unit*: timestamps of any unit, dates, integers and text become
    /// Unix milliseconds; those that bear no time zone are read as UTC, or by [`ReadOptions::with_utc_offset`].
    /// Compression by snappy, zstd, gzip and lz4 is understood. Errors count rows from 1.
    ///
    /// # Errors
    /// [`FileError::Unreadable`](crate::FileError::Unreadable) for a file that is no Parquet, is damaged, or lacks a
    /// close; [`FileError::Row`](crate::FileError::Row) with the row of the first value that is null, NaN, infinite, no
    /// number or not above 0; and the other errors of [`Series::from_csv_with`].
    ///
    /// # Examples
    /// ```no_run
    /// use crosscheck::{Reading, ReadOptions, Series};
    /// let series = Series::from_parquet("prices.parquet", &ReadOptions::new())?;
    /// let rounded = ReadOptions::new().with_reading(Reading::Ticks);
    /// let in_ticks = Series::from_parquet("floats.parquet", &rounded)?;
    /// # Ok::<(), crosscheck::Error>(())
    /// ```
    #[cfg(feature = "parquet")]
    #[cfg_attr(docsrs, doc(cfg(feature = "parquet")))]
    pub fn from_parquet(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Self> {
        let path = path.as_ref();
        assemble::series(parquet::open(path, options)?, path, options)
    }
}
