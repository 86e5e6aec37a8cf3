//! Why no longer bars can be made. Apart from [`Error`](crate::Error) because each variant sets two lengths of bars
//! against each other.

/// Why bars of a time frame cannot be made of a series' bars: both lengths, the place, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TimeframeError {
    /// A time frame that is no multiple of the bars' length.
    #[error(
        "bars of {timeframe} ms cannot be made of bars of {bar_length} ms: give a multiple that is larger"
    )]
    NotMultiple {
        /// The time frame asked for, milliseconds.
        timeframe: i64,
        /// Length of the series' bars, milliseconds.
        bar_length: i64,
    },

    /// A bar that is still open when the long bar in which it starts closes, as bars of 4 h from 02:00 are at midnight.
    #[error(
        "bar {bar}, of {bar_length} ms from {timestamp}, ends after the bar of {timeframe} ms that it starts in, which \
         ends at {end}: its close would be seen too early; take bars that start at whole multiples of their length, or \
         a time frame at whose ends no bar is open"
    )]
    OffGrid {
        /// Index of the first such bar.
        bar: usize,
        /// Its timestamp, Unix milliseconds.
        timestamp: i64,
        /// Length of the series' bars, milliseconds.
        bar_length: i64,
        /// When the long bar ends in which it starts, Unix milliseconds.
        end: i64,
        /// The time frame asked for, milliseconds.
        timeframe: i64,
    },

    /// A time frame of which no bar is closed within the series.
    #[error(
        "no bar of {timeframe} ms is closed within {bars} bars of {bar_length} ms: give a shorter time frame, or a \
         longer series"
    )]
    TooLong {
        /// The time frame asked for, milliseconds.
        timeframe: i64,
        /// Bars of the series.
        bars: usize,
        /// Length of the series' bars, milliseconds.
        bar_length: i64,
    },
}
