//! The one error type: every variant carries the values that made it so, and says what to do.
//!
//! It stands apart because input is checked once, where it enters (`Series`, `Filter`, `Grid`, `Rules`);
//! engines return only device errors and breaches of the engine contract.

mod file;
mod number;
mod size;
mod timeframe;

use std::path::PathBuf;

pub use file::FileError;
pub(crate) use file::missing_bars;
#[cfg(feature = "plot")]
pub(crate) use number::counted;
pub(crate) use number::{grouped, plain, quoted};
pub use size::SizeError;
pub use timeframe::TimeframeError;

/// The result of anything in this crate that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an input was refused, or why an engine could not answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A series without bars.
    #[error("the series has no bars: give at least one close")]
    EmptySeries,

    /// More bars than an index of 32 bits can count.
    #[error("the series has {} bars, the limit is {}: split it", grouped(*bars as u64), grouped(*limit as u64))]
    TooManyBars {
        /// Bars given.
        bars: usize,
        /// Most bars a series can hold.
        limit: usize,
    },

    /// A question too large to be held.
    #[error(transparent)]
    Size(#[from] SizeError),

    /// A price that is NaN or infinite.
    #[error(
        "{column} of bar {bar} is {}: prices must be finite; drop the bar or repair the file",
        plain(*value)
    )]
    NonFinitePrice {
        /// Which column: `close`, `open`, `high`, `low` or `volume`.
        column: &'static str,
        /// Index of the bar.
        bar: usize,
        /// The value found.
        value: f64,
    },

    /// A price that is zero or negative.
    #[error(
        "{column} of bar {bar} is {}: prices must be above 0; drop the bar or shift the series",
        plain(*value)
    )]
    NonPositivePrice {
        /// Which column.
        column: &'static str,
        /// Index of the bar.
        bar: usize,
        /// The value found.
        value: f64,
    },

    /// A negative volume.
    #[error("volume of bar {bar} is {}: volumes must be 0 or more", plain(*value))]
    NegativeVolume {
        /// Index of the bar.
        bar: usize,
        /// The value found.
        value: f64,
    },

    /// A tick that is not a positive finite price step.
    #[error("a tick of {} is no price step: give a positive finite number, such as 0.01", plain(*tick))]
    InvalidTick {
        /// The tick given.
        tick: f64,
    },

    /// Columns of one series that differ in length.
    #[error("column {column} has {length} values, the series has {bars} bars: they must be equal")]
    UnequalLengths {
        /// Which column.
        column: &'static str,
        /// Its length.
        length: usize,
        /// Bars of the series.
        bars: usize,
    },

    /// A timestamp earlier than the one before it.
    #[error(
        "timestamp {timestamp} of bar {bar} is earlier than {before} of the bar before: sort the bars by time"
    )]
    UnsortedTimestamp {
        /// Index of the later bar.
        bar: usize,
        /// Its timestamp, Unix milliseconds.
        timestamp: i64,
        /// Timestamp of the bar before.
        before: i64,
    },

    /// Two bars with one timestamp.
    #[error("bars {first} and {bar} have the same timestamp {timestamp}: keep one of them")]
    DuplicateTimestamp {
        /// Index of the earlier bar.
        first: usize,
        /// Index of the later bar.
        bar: usize,
        /// The timestamp, Unix milliseconds.
        timestamp: i64,
    },

    /// A bar whose high or low contradicts its other prices.
    #[error(
        "bar {bar} has open {}, high {}, low {}, close {}: high must be the largest and \
         low the smallest; check the order of the columns",
        plain(*open), plain(*high), plain(*low), plain(*close)
    )]
    ImpossibleBar {
        /// Index of the bar.
        bar: usize,
        /// Open price.
        open: f64,
        /// High price.
        high: f64,
        /// Low price.
        low: f64,
        /// Close price.
        close: f64,
    },

    /// A period of zero bars.
    #[error("filter {filter} has a period of 0: periods start at 1 bar")]
    ZeroPeriod {
        /// Name of the filter.
        filter: String,
    },

    /// A period above what the crate counts without overflow.
    #[error("filter {filter} has a period of {} bars, the limit is {}", grouped(*period as u64), grouped(*limit as u64))]
    PeriodTooLarge {
        /// Name of the filter.
        filter: String,
        /// The period given.
        period: usize,
        /// The largest period.
        limit: usize,
    },

    /// A filter that has no value on any bar of the series.
    #[error("filter {filter} needs {} bars, the series has {}: shorten it or add bars", grouped(*needed as u64), grouped(*bars as u64))]
    PeriodTooLong {
        /// Name of the filter.
        filter: String,
        /// Bars until the first value.
        needed: usize,
        /// Bars of the series.
        bars: usize,
    },

    /// A custom kernel without weights.
    #[error("kernel {filter} has no weights: give at least one")]
    EmptyKernel {
        /// Name of the filter.
        filter: String,
    },

    /// A custom weight that is NaN or infinite, or too far from 1 to sum safely.
    #[error(
        "weight {index} of kernel {filter} is {}: weights must be 0 or between 1e-60 and 1e60 in size",
        plain(*value)
    )]
    InvalidWeight {
        /// Name of the filter.
        filter: String,
        /// Index of the weight, oldest first.
        index: usize,
        /// The weight found.
        value: f64,
    },

    /// A tree whose values could leave the range in which its bounds are proven.
    #[error(
        "filter {filter} has a node that {reason}: gains must be between 1e-60 and 1e60, and denominators \
         below 2^800; scale the weights, or nest less"
    )]
    FilterOutOfRange {
        /// Name of the filter.
        filter: String,
        /// What leaves the range, and its value.
        reason: String,
    },

    /// Text that names no filter.
    #[error(
        "cannot read filters from {}: {reason}; write for example hma:20..=200:20 or sma:5,10",
        quoted(text)
    )]
    InvalidSpec {
        /// The text given.
        text: String,
        /// What is wrong with it.
        reason: String,
    },

    /// A grid without combinations.
    #[error("the grid has no combinations ({refused} refused by its constraint): widen it")]
    EmptyGrid {
        /// Combinations that the constraint refused.
        refused: usize,
    },

    /// A rule that contradicts itself or the series.
    #[error("invalid rules: {reason}")]
    InvalidRules {
        /// What is wrong and what to do.
        reason: String,
    },

    /// Fills at the next bar's open, on a series without opens.
    #[error(
        "fills at the next open need opens, the series has none: add them with `with_opens`, or fill at a close"
    )]
    MissingOpens,

    /// Walk-forward windows that are empty, or too long for the series.
    #[error("invalid splits: {reason}")]
    InvalidSplits {
        /// What is wrong and what to do.
        reason: String,
    },

    /// One symbol given twice.
    #[error("symbol {symbol} is given twice: results are keyed by symbol, give each once")]
    DuplicateSymbol {
        /// The symbol.
        symbol: String,
    },

    /// A result beyond the range of `f64`: prices too far apart, or compounding without end.
    #[error(
        "the results of {fast} and {slow} are beyond the range of f64 ({}): the closes reach from {} to {}; check their \
         unit, or sweep fewer bars", size::percent(*pnl_pct), plain(*lowest), plain(*highest)
    )]
    InfiniteResult {
        /// Name of the fast filter.
        fast: String,
        /// Name of the slow filter.
        slow: String,
        /// Sum of the trades' PnL, in percent.
        pnl_pct: f64,
        /// Lowest close.
        lowest: f64,
        /// Highest close.
        highest: f64,
    },

    /// Metrics that cannot be computed as asked.
    #[error("invalid metrics: {reason}")]
    InvalidMetrics {
        /// What is wrong and what to do.
        reason: String,
    },

    /// An output slice of another length than the input.
    #[error(
        "the output has {found} values, {expected} are needed: pass a slice as long as the input"
    )]
    OutputLength {
        /// Length needed.
        expected: usize,
        /// Length given.
        found: usize,
    },

    /// An engine broke the contract of [`Backend`](crate::Backend).
    #[error("engine {engine} broke its contract at combination {combination}, bar {bar}: {reason}")]
    EngineContract {
        /// Name of the engine.
        engine: String,
        /// Index of the combination in the grid.
        combination: usize,
        /// The bar concerned.
        bar: usize,
        /// What it did.
        reason: String,
    },

    /// Certified trades asked of an engine that states no bound.
    #[error(
        "engine {engine} states no error bound, so its trades are not certified: judge it with the parity report"
    )]
    Uncertified {
        /// Name of the engine.
        engine: String,
    },

    /// A comparison of engines in which no trade occurred, so that it proves nothing.
    #[error(
        "{candidate} was compared with {reference} on {combinations} combinations of {bars} bars without one trade: \
         take a series that trades, or allow it"
    )]
    NothingCompared {
        /// Name of the engine taken as right.
        reference: String,
        /// Name of the engine that was judged.
        candidate: String,
        /// Combinations compared.
        combinations: usize,
        /// Bars of the series.
        bars: usize,
    },

    /// Engines whose trades differ, where equal trades are required.
    #[error("{report}; an engine's error bound is wrong: report it with the series and the grid")]
    EnginesDiffer {
        /// The first difference, in words.
        report: String,
    },

    /// An engine that could not be started or was lost.
    #[error("engine {engine}: {reason}")]
    Engine {
        /// Name of the engine.
        engine: String,
        /// What happened and what to do.
        reason: String,
    },

    /// A GPU that could not be opened, or failed.
    #[cfg(feature = "gpu")]
    #[error("engine m5: {0}")]
    Device(#[from] crate::gpu::DeviceError),

    /// A file that could not be read or written.
    #[error("{path}: {source}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },

    /// A picture that cannot be drawn.
    #[error("cannot draw {path}: {reason}", path = path.display())]
    Picture {
        /// The file that was to be written.
        path: PathBuf,
        /// What is wrong and what to do.
        reason: String,
    },

    /// A question of time asked of a series without timestamps.
    #[error("the series has too few timestamps {purpose}: give one for each bar")]
    NoTimestamps {
        /// What they are needed for.
        purpose: &'static str,
    },

    /// Longer bars that cannot be made of the series' bars.
    #[error(transparent)]
    Timeframe(#[from] TimeframeError),

    /// A price file that was refused.
    #[error(transparent)]
    File(#[from] FileError),
}
