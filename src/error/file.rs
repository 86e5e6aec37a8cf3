//! Why a price file was refused. Apart from [`Error`](crate::Error) because each variant names a place in a file.

use std::path::PathBuf;

use super::number::{counted, plain};

/// Why a price file was refused: which line of text or row of a table, the value there, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// A row that could not be read.
    #[error("{path}, {unit} {line}: {reason}", path = path.display())]
    Row {
        /// The file.
        path: PathBuf,
        /// What is counted: `line` in text, the header among them; `row` in a table, which has none.
        unit: &'static str,
        /// The line or row, from 1.
        line: u64,
        /// What is wrong and what to do.
        reason: String,
    },

    /// A file that is not what its reader takes: no table, a damaged one, no columns that are known.
    #[error("{path}: {reason}", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong and what to do.
        reason: String,
    },

    /// Two rows with one timestamp.
    #[error(
        "{path}: {unit}s {first_line} and {line} have the same timestamp {timestamp}: remove one, or ask to keep the \
         first or the last of such rows", path = path.display()
    )]
    Duplicate {
        /// The file.
        path: PathBuf,
        /// What is counted: `line` or `row`.
        unit: &'static str,
        /// Line of the earlier row, from 1.
        first_line: u64,
        /// Line of the later row.
        line: u64,
        /// Their timestamp, Unix milliseconds.
        timestamp: i64,
    },

    /// A row that is earlier than the row before it.
    #[error(
        "{path}, {unit} {line}: timestamp {timestamp} is earlier than {before} of the row before: sort the file by time",
        path = path.display()
    )]
    Unsorted {
        /// The file.
        path: PathBuf,
        /// What is counted: `line` or `row`.
        unit: &'static str,
        /// Line of the row, from 1.
        line: u64,
        /// Its timestamp, Unix milliseconds.
        timestamp: i64,
        /// Timestamp of the row before.
        before: i64,
    },

    /// Closes that cannot all be 64-bit integers of the file's smallest decimal step.
    #[error(
        "{path}, {unit} {line}: close {price} in ticks of {tick} does not fit 64 bits: ask for the binary reading, or \
         round the prices", path = path.display(), price = plain(*price)
    )]
    TickRange {
        /// The file.
        path: PathBuf,
        /// What is counted: `line` or `row`.
        unit: &'static str,
        /// Line of the close with the smallest step, from 1.
        line: u64,
        /// A close that does not fit.
        price: f64,
        /// The smallest step, as text.
        tick: String,
    },

    /// Bars of another length than declared.
    #[error(
        "{path}: the median step of {} s does not match the declared {} s: declare the file's own bar length, or \
         resample", *median as f64 / 1e3, *declared as f64 / 1e3, path = path.display()
    )]
    BarLength {
        /// The file.
        path: PathBuf,
        /// The length declared, milliseconds.
        declared: i64,
        /// The median step between bars, milliseconds.
        median: i64,
    },

    /// Missing bars where gaps are refused.
    #[error(
        "{path}: {}, the largest of {largest} before bar {bar}: fill them, or allow gaps",
        missing_bars(*missing, *gaps), path = path.display()
    )]
    Gap {
        /// The file.
        path: PathBuf,
        /// Gaps.
        gaps: usize,
        /// Bars missing in all of them.
        missing: u64,
        /// The bar after the largest gap.
        bar: usize,
        /// Bars missing there.
        largest: u64,
    },
}

/// Says how many bars are missing, and in how many gaps.
pub(crate) fn missing_bars(missing: u64, gaps: usize) -> String {
    let verb = if missing == 1 { "is" } else { "are" };
    let (bars, gaps) = (counted(missing, "bar"), counted(gaps as u64, "gap"));
    format!("{bars} {verb} missing in {gaps}")
}
