//! One bar as a file gives it, checked by itself: the rules that text and tables share.

use std::path::Path;

use super::check::FaultKind;
use super::columns::Columns;
use super::decimal::Number;
use super::time::TimeFormat;
use crate::error::{Error, FileError, plain};

/// One bar as a row gives it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    /// The line of a text, the row of a table; from 1.
    pub(super) line: u64,
    pub(super) time: Option<(i64, TimeFormat)>,
    pub(super) open: Option<f64>,
    pub(super) high_low: Option<(f64, f64)>,
    pub(super) close: Number,
    pub(super) volume: Option<f64>,
}

/// What is wrong with a row.
#[derive(Debug)]
pub(super) struct RowFault {
    pub(super) line: u64,
    pub(super) kind: FaultKind,
    pub(super) reason: String,
}

impl RowFault {
    pub(super) fn into_error(self, path: &Path, unit: &'static str) -> Error {
        let path = path.to_path_buf();
        let Self { line, reason, .. } = self;
        let error = FileError::Row {
            path,
            unit,
            line,
            reason,
        };
        error.into()
    }
}

/// The cells of one row, by the index of their column; a refusal says what the cell is and what to do.
pub(super) trait Cells {
    /// Reads a number.
    fn number(&self, column: usize) -> Result<Number, String>;

    /// Reads a time as Unix milliseconds.
    fn time(&self, column: usize) -> Result<(i64, TimeFormat), String>;
}

/// Reads a row of the columns that were found.
pub(super) fn read(
    cells: &impl Cells,
    columns: &Columns,
    line: u64,
) -> Result<Row, (FaultKind, String)> {
    let time = columns.timestamp.map(|at| cells.time(at)).transpose();
    let price = |name, at: Option<usize>| at.map(|at| positive(cells, name, at)).transpose();
    let time = time.map_err(|reason| (FaultKind::Unreadable, reason))?;
    let open = price("open", columns.open)?;
    let (high, low) = (price("high", columns.high)?, price("low", columns.low)?);
    let row = Row {
        line,
        time,
        open: open.map(|open| open.value),
        high_low: high.zip(low).map(|(high, low)| (high.value, low.value)),
        close: positive(cells, "close", columns.close)?,
        volume: columns.volume.map(|at| volume(cells, at)).transpose()?,
    };
    check_bar(&row)?;
    Ok(row)
}

fn number(cells: &impl Cells, name: &str, at: usize) -> Result<Number, (FaultKind, String)> {
    let refuse = |reason| (FaultKind::Unreadable, format!("{name} {reason}"));
    cells.number(at).map_err(refuse)
}

fn positive(cells: &impl Cells, name: &str, at: usize) -> Result<Number, (FaultKind, String)> {
    let number = number(cells, name, at)?;
    if number.value > 0.0 {
        return Ok(number);
    }
    let reason = format!(
        "{name} is {}: prices must be above 0; drop the row or repair the file",
        plain(number.value)
    );
    Err((FaultKind::NotPositive, reason))
}

fn volume(cells: &impl Cells, at: usize) -> Result<f64, (FaultKind, String)> {
    let number = number(cells, "volume", at)?;
    if number.value >= 0.0 {
        return Ok(number.value);
    }
    let reason = format!(
        "volume is {}: volumes must be 0 or more",
        plain(number.value)
    );
    Err((FaultKind::NotPositive, reason))
}

/// A high below the open or close is most often a file in another order of columns.
fn check_bar(row: &Row) -> Result<(), (FaultKind, String)> {
    let (Some(open), Some((high, low))) = (row.open, row.high_low) else {
        return Ok(());
    };
    let close = row.close.value;
    if high >= open.max(close) && low <= open.min(close) {
        return Ok(());
    }
    let [open, high, low, close] = [open, high, low, close].map(plain);
    let reason = format!(
        "open {open}, high {high}, low {low}, close {close} make no bar: the high must be the largest and the low \
         the smallest; check the order of the columns"
    );
    Err((FaultKind::ImpossibleBar, reason))
}
