//! Rows of a price file, one at a time, each checked by itself; a fault names its line and does not end the file.

use std::io::BufRead;
use std::path::Path;

use csv::{Reader, ReaderBuilder, StringRecord};

use super::ReadOptions;
use super::check::FaultKind;
use super::columns::Columns;
use super::decimal::{self, Number};
use super::open::{PlainLines, Room, io_error, line_end};
use super::row::{self, Cells, Row, RowFault};
use super::time::{self, TimeFormat};
use crate::error::{FileError, Result};

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
        room: Room,
        path: &Path,
        options: &ReadOptions,
    ) -> Result<Self> {
        let start = text.fill_buf().map_err(|source| io_error(path, source))?;
        let (delimiter, end) = (delimiter(start), line_end(start));
        let mut rows = Self {
            reader: ReaderBuilder::new()
                .has_headers(false)
                .flexible(true)
                .delimiter(delimiter)
                .from_reader(PlainLines::new(text, end, room)),
            record: StringRecord::new(),
            is_pending: false,
            is_done: false,
            columns: Columns::default(),
            utc_offset: options.utc_offset,
            time_format: options.time_format,
        };
        let refuse = |reason| FileError::Row {
            path: path.to_path_buf(),
            unit: "line",
            line: 1,
            reason,
        };
        if rows
            .advance()
            .map_err(|fault| fault.into_error(path, "line"))?
        {
            rows.columns = rows.find_columns(options).map_err(refuse)?;
        }
        Ok(rows)
    }

    /// Returns which columns were found.
    pub(super) fn columns(&self) -> &Columns {
        &self.columns
    }

    fn find_columns(&mut self, options: &ReadOptions) -> std::result::Result<Columns, String> {
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
                    let kind = if self.is_done {
                        FaultKind::BrokenOff
                    } else {
                        FaultKind::Unreadable
                    };
                    let reason = format!("cannot be read: {error}");
                    return Err(RowFault { line, kind, reason });
                }
            }
        }
    }

    fn row(&self, line: u64) -> std::result::Result<Row, (FaultKind, String)> {
        let columns = &self.columns;
        if self.record.len() != columns.fields {
            let (found, expected) = (self.record.len(), columns.fields);
            let reason = format!(
                "has {found} fields, {expected} are due: a comma inside a number, or a cut-off line"
            );
            return Err((FaultKind::Unreadable, reason));
        }
        row::read(self, columns, line)
    }
}

impl Cells for Rows<'_> {
    fn number(&self, column: usize) -> std::result::Result<Number, String> {
        decimal::parse(self.record.get(column).unwrap_or_default())
    }

    fn time(&self, column: usize) -> std::result::Result<(i64, TimeFormat), String> {
        let text = self.record.get(column).unwrap_or_default();
        time::parse(text, self.time_format, self.utc_offset)
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
