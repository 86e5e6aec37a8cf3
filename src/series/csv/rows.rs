//! Rows of a price file, one at a time, each checked by itself; a fault names its line and does not end the file.

use std::io::BufRead;
use std::path::Path;

use csv::{Reader, ReaderBuilder, StringRecord};

use super::CsvOptions;
use super::check::FaultKind;
use super::columns::Columns;
use super::decimal::{self, Number};
use super::open::{PlainLines, io_error};
use super::time::{self, TimeFormat};
use crate::error::{Error, Result};

/// One bar as a line gives it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) line: u64,
    pub(super) time: Option<(i64, TimeFormat)>,
    pub(super) open: Option<f64>,
    pub(super) high_low: Option<(f64, f64)>,
    pub(super) close: Number,
    pub(super) volume: Option<f64>,
}

/// What is wrong with a line.
#[derive(Debug)]
pub(super) struct RowFault {
    pub(super) line: u64,
    pub(super) kind: FaultKind,
    pub(super) reason: String,
}

impl RowFault {
    pub(super) fn into_error(self, path: &Path) -> Error {
        Error::Parse {
            path: path.to_path_buf(),
            line: self.line,
            reason: self.reason,
        }
    }
}

/// The rows of a file, after its header.
pub(super) struct Rows<'r> {
    reader: Reader<PlainLines<Box<dyn BufRead + 'r>>>,
    record: StringRecord,
    /// Whether `record` holds a row that was read while looking for the header.
    is_pending: bool,
    is_done: bool,
    columns: Columns,
    utc_offset: i64,
    time_format: Option<TimeFormat>,
}

impl<'r> Rows<'r> {
    /// Reads the header, if there is one, and finds the columns.
    pub(super) fn new(
        mut text: Box<dyn BufRead + 'r>,
        path: &Path,
        options: &CsvOptions,
    ) -> Result<Self> {
        let start = text.fill_buf().map_err(|source| io_error(path, source))?;
        let delimiter = delimiter(start);
        let mut rows = Self {
            reader: ReaderBuilder::new()
                .has_headers(false)
                .flexible(true)
                .delimiter(delimiter)
                .from_reader(PlainLines::new(text)),
            record: StringRecord::new(),
            is_pending: false,
            is_done: false,
            columns: Columns::default(),
            utc_offset: options.utc_offset,
            time_format: options.time_format,
        };
        let refuse = |reason| Error::Parse {
            path: path.to_path_buf(),
            line: 1,
            reason,
        };
        if rows.advance().map_err(|fault| fault.into_error(path))? {
            rows.columns = rows.find_columns(options).map_err(refuse)?;
        }
        Ok(rows)
    }

    /// Returns which columns were found.
    pub(super) fn columns(&self) -> &Columns {
        &self.columns
    }

    fn find_columns(&mut self, options: &CsvOptions) -> std::result::Result<Columns, String> {
        let names: Vec<String> = self.record.iter().map(str::to_owned).collect();
        self.is_pending = is_data(&self.record);
        let close = options.close_column.as_deref();
        if let Some(stated) = &options.columns {
            return Columns::named(stated, close);
        }
        if self.is_pending {
            return Columns::unnamed(names.len());
        }
        let mut columns = Columns::named(&names, close)?;
        if names[0].trim() == "Price" && self.skip_yfinance_head()? {
            columns.timestamp = Some(0);
        }
        Ok(columns)
    }

    /// yfinance writes two more lines of names: `Ticker,...` and `Date,,...`.
    fn skip_yfinance_head(&mut self) -> std::result::Result<bool, String> {
        for name in ["Ticker", "Date"] {
            let has_row = self.advance().map_err(|fault| fault.reason)?;
            let first = self.record.get(0).unwrap_or_default();
            if !has_row || !first.starts_with(name) {
                self.is_pending = has_row;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Reads the next record that is not blank; false at the end.
    fn advance(&mut self) -> std::result::Result<bool, RowFault> {
        loop {
            match self.reader.read_record(&mut self.record) {
                Ok(false) => return Ok(false),
                Ok(true) if is_passed_over(&self.record) => {}
                Ok(true) => return Ok(true),
                Err(error) => {
                    self.is_done = error.is_io_error();
                    let line = error
                        .position()
                        .map_or(self.reader.position().line(), csv::Position::line);
                    let reason = format!("cannot be read: {error}");
                    return Err(RowFault {
                        line,
                        kind: FaultKind::Unreadable,
                        reason,
                    });
                }
            }
        }
    }

    fn row(&self, line: u64) -> std::result::Result<Row, (FaultKind, String)> {
        let unreadable = |reason| (FaultKind::Unreadable, reason);
        let columns = &self.columns;
        if self.record.len() != columns.fields {
            let (found, expected) = (self.record.len(), columns.fields);
            return Err(unreadable(format!(
                "has {found} fields, {expected} are due: a comma inside a number, or a cut-off line"
            )));
        }
        let cell = |at: usize| self.record.get(at).unwrap_or_default();
        let time = columns
            .timestamp
            .map(|at| time::parse(cell(at), self.time_format, self.utc_offset))
            .transpose()
            .map_err(unreadable)?;
        let price = |name, at: Option<usize>| at.map(|at| positive(name, cell(at))).transpose();
        let open = price("open", columns.open)?;
        let (high, low) = (price("high", columns.high)?, price("low", columns.low)?);
        let close = positive("close", cell(columns.close))?;
        let row = Row {
            line,
            time,
            open: open.map(|open| open.value),
            high_low: high.zip(low).map(|(high, low)| (high.value, low.value)),
            close,
            volume: columns.volume.map(|at| volume(cell(at))).transpose()?,
        };
        check_bar(&row)?;
        Ok(row)
    }
}

impl Iterator for Rows<'_> {
    type Item = std::result::Result<Row, RowFault>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        if !std::mem::take(&mut self.is_pending) {
            match self.advance() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(fault) => return Some(Err(fault)),
            }
        }
        let line = self.record.position().map_or(0, csv::Position::line);
        let row = self.row(line);
        Some(row.map_err(|(kind, reason)| RowFault { line, kind, reason }))
    }
}

fn positive(name: &str, text: &str) -> std::result::Result<Number, (FaultKind, String)> {
    let number = decimal::parse(text)
        .map_err(|reason| (FaultKind::Unreadable, format!("{name} {reason}")))?;
    if number.value > 0.0 {
        return Ok(number);
    }
    let reason = format!(
        "{name} is {}: prices must be above 0; drop the row or repair the file",
        text.trim()
    );
    Err((FaultKind::NotPositive, reason))
}

fn volume(text: &str) -> std::result::Result<f64, (FaultKind, String)> {
    let number = decimal::parse(text)
        .map_err(|reason| (FaultKind::Unreadable, format!("volume {reason}")))?;
    if number.value >= 0.0 {
        return Ok(number.value);
    }
    let reason = format!("volume is {}: volumes must be 0 or more", text.trim());
    Err((FaultKind::NotPositive, reason))
}

/// A high below the open or close is most often a file in another order of columns.
fn check_bar(row: &Row) -> std::result::Result<(), (FaultKind, String)> {
    let (Some(open), Some((high, low))) = (row.open, row.high_low) else {
        return Ok(());
    };
    let close = row.close.value;
    if high >= open.max(close) && low <= open.min(close) {
        return Ok(());
    }
    let reason = format!(
        "open {open}, high {high}, low {low}, close {close} make no bar: the high must be the largest and the low \
         the smallest; check the order of the columns"
    );
    Err((FaultKind::ImpossibleBar, reason))
}

/// Blank lines and comments.
fn is_passed_over(record: &StringRecord) -> bool {
    let first = record.get(0).unwrap_or_default().trim();
    first.starts_with('#') || record.len() == 1 && first.is_empty()
}

/// A header has no number after its first cell; a row of data has one.
fn is_data(record: &StringRecord) -> bool {
    let first = usize::from(record.len() > 1);
    record
        .iter()
        .skip(first)
        .any(|cell| decimal::parse(cell).is_ok())
}

/// The commonest of comma, semicolon and tab in the first line that is no comment.
fn delimiter(start: &[u8]) -> u8 {
    let mut lines = start.split(|&byte| byte == b'\n');
    let line = lines
        .find(|line| !line.starts_with(b"#") && !line.trim_ascii().is_empty())
        .unwrap_or_default();
    let count = |delimiter: u8| line.split(|&byte| byte == delimiter).count();
    let found = [b'\t', b';', b',']
        .into_iter()
        .max_by_key(|&delimiter| count(delimiter));
    found.unwrap_or(b',')
}
