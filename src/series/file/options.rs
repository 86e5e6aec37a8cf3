//! What a reader of price files may be told.

use super::TimeFormat;
use crate::series::Reading;

/// What to do with two rows of one timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Duplicates {
    /// Refuse the file, naming both lines.
    #[default]
    Refuse,
    /// Keep the row that comes first.
    KeepFirst,
    /// Keep the row that comes last.
    KeepLast,
}

/// How a price file is read; the default reads ticks, drops nothing and refuses what is doubtful.
///
/// # Examples
/// ```
/// use crosscheck::{ReadOptions, Duplicates, Series};
/// let text = "60,1.5\n120,2\n120,3\n180,4\n";
/// let refused = Series::from_csv_reader(text.as_bytes(), &ReadOptions::default());
/// assert!(refused.unwrap_err().to_string().contains("lines 2 and 3"));
/// let options = ReadOptions::default().with_duplicates(Duplicates::KeepLast);
/// let series = Series::from_csv_reader(text.as_bytes(), &options)?;
/// assert_eq!(series.closes(), [1.5, 3.0, 4.0]);
/// # Ok::<(), crosscheck::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadOptions {
    /// The reading asked for; where left out, ticks, and binary for floats.
    pub(super) reading: Option<Reading>,
    pub(super) falls_back_to_binary: bool,
    pub(super) duplicates: Duplicates,
    pub(super) drops_last_bar: bool,
    pub(super) refuses_gaps: bool,
    pub(super) bar_length: Option<i64>,
    pub(super) utc_offset: i64,
    pub(super) time_format: Option<TimeFormat>,
    pub(super) columns: Option<Vec<String>>,
    pub(super) close_column: Option<String>,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            reading: None,
            falls_back_to_binary: false,
            duplicates: Duplicates::Refuse,
            drops_last_bar: false,
            refuses_gaps: false,
            bar_length: None,
            utc_offset: 0,
            time_format: None,
            columns: None,
            close_column: None,
        }
    }
}

impl ReadOptions {
    /// Makes the default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how close calls are decided; by default ticks, and binary for a table whose closes are floats.
    pub fn with_reading(mut self, reading: Reading) -> Self {
        self.reading = Some(reading);
        self
    }

    /// Lets a file whose prices do not fit 64-bit ticks be read in the binary reading instead of being refused.
    pub fn with_binary_fallback(mut self) -> Self {
        self.falls_back_to_binary = true;
        self
    }

    /// Sets what happens to two rows of one timestamp; refused by default.
    pub fn with_duplicates(mut self, duplicates: Duplicates) -> Self {
        self.duplicates = duplicates;
        self
    }

    /// Drops the last bar, for a file that was recorded before that bar was finished.
    pub fn without_last_bar(mut self) -> Self {
        self.drops_last_bar = true;
        self
    }

    /// Refuses a file in which bars are missing.
    pub fn without_gaps(mut self) -> Self {
        self.refuses_gaps = true;
        self
    }

    /// Declares the length of a bar in milliseconds; a file whose median step differs is refused.
    pub fn with_bar_length(mut self, milliseconds: i64) -> Self {
        self.bar_length = Some(milliseconds);
        self
    }

    /// Sets the offset from UTC, in minutes east, of times that state none; 0 by default.
    ///
    /// # Examples
    /// ```
    /// use crosscheck::{ReadOptions, Series};
    /// let text = "date,close\n2026-06-17 12:26:00,65764.0\n";
    /// let tokyo = ReadOptions::new().with_utc_offset(9 * 60);
    /// let series = Series::from_csv_reader(text.as_bytes(), &tokyo)?;
    /// assert_eq!(series.timestamps(), Some(&[1_781_666_760_000][..]));
    /// # Ok::<(), crosscheck::Error>(())
    /// ```
    pub fn with_utc_offset(mut self, minutes: i32) -> Self {
        self.utc_offset = i64::from(minutes) * 60_000;
        self
    }

    /// States the format of every timestamp, where telling each by its size would be wrong (times near 1970).
    pub fn with_time_format(mut self, format: TimeFormat) -> Self {
        self.time_format = Some(format);
        self
    }

    /// States the columns of a file without a header, in their order; other names than `timestamp`, `open`, `high`,
    /// `low`, `close` and `volume` are passed over.
    ///
    /// # Examples
    /// ```
    /// use crosscheck::{ReadOptions, Series};
    /// let options = ReadOptions::new().with_columns(&["open", "close", "high", "low"]);
    /// let series = Series::from_csv_reader("322.31,322.09,322.31,322.09\n".as_bytes(), &options)?;
    /// assert_eq!((series.closes()[0], series.lows().unwrap()[0]), (322.09, 322.09));
    /// # Ok::<(), crosscheck::Error>(())
    /// ```
    pub fn with_columns(mut self, columns: &[&str]) -> Self {
        self.columns = Some(columns.iter().map(ToString::to_string).collect());
        self
    }

    /// Names the column to take as the close, such as `Adj Close`; opens, highs and lows are then left out, since
    /// they are of the other price.
    pub fn with_close_column(mut self, column: &str) -> Self {
        self.close_column = Some(column.to_owned());
        self
    }
}
