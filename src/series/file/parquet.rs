//! Rows of a Parquet table: each column as the type it is of, a batch of rows at a time.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::SchemaDescriptor;

use super::cell::{Cell, CellRules};
use super::check::FaultKind;
use super::columns::Columns;
use super::decimal::Number;
use super::open::io_error;
use super::options::ReadOptions;
use super::parquet_column::{ColumnChunk, Kind};
use super::row::{self, Cells, Row, RowFault};
use super::source::Source;
use super::time::TimeFormat;
use crate::error::{FileError, Result, quoted};
use crate::series::Reading;

/// Rows decoded at once: a few hundred kilobytes.
const BATCH: usize = 8_192;

/// What pandas calls an index that has no name.
const PANDAS_INDEX: &str = "__index_level_0__";

/// Opens a table; its columns are found by name, as those of a text with a header.
pub(super) fn open<'r>(path: &Path, options: &ReadOptions) -> Result<Source<'r>> {
    let refuse = |reason: String| FileError::Unreadable {
        path: path.to_path_buf(),
        reason,
    };
    if options.columns.is_some() {
        let reason = "a Parquet file names its columns itself: leave the stated columns out, or name the close column";
        return Err(refuse(reason.to_owned()).into());
    }
    let file = File::open(path).map_err(|source| io_error(path, source))?;
    let table = SerializedFileReader::new(file).map_err(|error| refuse(damaged(&error)))?;
    let schema = table.metadata().file_metadata().schema_descr();
    let leaves = flat_columns(schema);
    let names: Vec<String> = leaves.iter().map(|leaf| leaf.name.clone()).collect();
    let columns = Columns::named(&names, options.close_column.as_deref());
    let columns = columns.map_err(|reason| refuse(reason + &nested_columns(schema)))?;
    let of_close = if leaves[columns.close].kind.is_float() {
        Reading::Binary
    } else {
        Reading::Ticks
    };
    let reading = options.reading.unwrap_or(of_close);
    let rules = CellRules {
        floats_are_decimal: reading == Reading::Ticks,
        time_format: options.time_format,
        utc_offset: options.utc_offset,
    };
    Ok(Source {
        columns: columns.describe(),
        unit: "row",
        reading,
        rows: Box::new(Rows::new(table, columns, &leaves, rules)),
    })
}

/// A column with one value a row.
#[derive(Debug, Clone)]
struct Leaf {
    name: String,
    /// Its index among all columns of the table, nested ones too.
    index: usize,
    kind: Kind,
    is_optional: bool,
}

/// The columns with one value a row; lists and structures are passed over.
fn flat_columns(schema: &SchemaDescriptor) -> Vec<Leaf> {
    let leaf = |(index, column): (usize, &parquet::schema::types::ColumnDescPtr)| {
        let [name] = column.path().parts() else {
            return None;
        };
        let kind = Kind::of(column);
        (column.max_rep_level() == 0).then(|| Leaf {
            name: plain_name(name, kind),
            index,
            kind,
            is_optional: column.max_def_level() > 0,
        })
    };
    let columns = schema.columns().iter().enumerate();
    columns.filter_map(leaf).collect()
}

/// Names the columns that were passed over, if there are any: one of them may be called as the one that is missing.
fn nested_columns(schema: &SchemaDescriptor) -> String {
    let is_nested = |name: &&str| {
        let mut columns = schema.columns().iter();
        !columns.any(|c| c.path().string() == *name && c.max_rep_level() == 0)
    };
    let fields = schema.root_schema().get_fields().iter();
    let nested: Vec<&str> = fields.map(|field| field.name()).filter(is_nested).collect();
    if nested.is_empty() {
        return String::new();
    }
    let names = quoted(&nested.join(", "));
    format!(" ({names} cannot be used: lists and structures hold more than one value a row)")
}

/// pandas keeps an index of times under a name of its own, and writes the names of yfinance as `('Close', 'AAPL')`.
fn plain_name(name: &str, kind: Kind) -> String {
    if name == PANDAS_INDEX && kind.is_time() {
        return "ts".to_owned();
    }
    let first = name
        .strip_prefix("('")
        .and_then(|rest| rest.split('\'').next());
    first.unwrap_or(name).to_owned()
}

fn damaged(error: &ParquetError) -> String {
    format!(
        "cannot be read as Parquet: {error}; write it again, compressed by snappy, zstd, gzip or lz4 if at all"
    )
}

/// The rows of a table, one at a time.
struct Rows {
    table: SerializedFileReader<File>,
    columns: Columns,
    used: Vec<(usize, Leaf)>,
    rules: CellRules,
    /// The next row group.
    group: usize,
    chunks: Vec<(usize, ColumnChunk)>,
    /// Cells of the rows decoded last, by column; empty for a column that is not used.
    batch: Vec<Vec<Cell>>,
    next: usize,
    row: u64,
    is_done: bool,
}

impl Rows {
    fn new(
        table: SerializedFileReader<File>,
        columns: Columns,
        leaves: &[Leaf],
        rules: CellRules,
    ) -> Self {
        let used = columns.used().into_iter();
        Self {
            table,
            used: used.map(|at| (at, leaves[at].clone())).collect(),
            columns,
            rules,
            group: 0,
            chunks: Vec::new(),
            batch: vec![Vec::new(); leaves.len()],
            next: 0,
            row: 0,
            is_done: false,
        }
    }

    /// The decoder asserts what only a damaged page breaks (met on 1 of 880 files with random bytes changed); nothing
    /// is read after that.
    fn advance_caught(&mut self) -> parquet::errors::Result<bool> {
        let caught = catch_unwind(AssertUnwindSafe(|| self.advance()));
        caught.unwrap_or_else(|_| {
            let reason = "a page is damaged".to_owned();
            Err(ParquetError::General(reason))
        })
    }

    /// Decodes the next rows; false at the end of the table.
    fn advance(&mut self) -> parquet::errors::Result<bool> {
        self.next = 0;
        loop {
            for (at, chunk) in &mut self.chunks {
                self.batch[*at].clear();
                chunk.read(BATCH, &mut self.batch[*at])?;
            }
            let mut lengths = self.used.iter().map(|(at, _)| self.batch[*at].len());
            let first = lengths.next().unwrap_or(0);
            if lengths.any(|length| length != first) {
                let reason = "columns of one row group differ in length";
                return Err(ParquetError::General(reason.to_owned()));
            }
            if first > 0 && !self.chunks.is_empty() {
                return Ok(true);
            }
            if self.group == self.table.num_row_groups() {
                return Ok(false);
            }
            let group = self.table.get_row_group(self.group)?;
            self.group += 1;
            self.chunks.clear();
            for (at, leaf) in &self.used {
                let reader = group.get_column_reader(leaf.index)?;
                let chunk = ColumnChunk::new(reader, leaf.kind, leaf.is_optional);
                self.chunks.push((*at, chunk));
            }
        }
    }
}

impl Iterator for Rows {
    type Item = std::result::Result<Row, RowFault>;

    fn next(&mut self) -> Option<Self::Item> {
        let filled = self.batch[self.columns.close].len();
        if self.next == filled && !self.is_done {
            match self.advance_caught() {
                Ok(has_rows) => self.is_done = !has_rows,
                Err(error) => {
                    self.is_done = true;
                    return Some(Err(RowFault {
                        line: self.row + 1,
                        kind: FaultKind::Unreadable,
                        reason: damaged(&error),
                    }));
                }
            }
        }
        if self.is_done {
            return None;
        }
        self.row += 1;
        let cells = TableRow {
            batch: &self.batch,
            at: self.next,
            rules: self.rules,
        };
        self.next += 1;
        let line = self.row;
        let row = row::read(&cells, &self.columns, line);
        Some(row.map_err(|(kind, reason)| RowFault { line, kind, reason }))
    }
}

/// One row of the batch.
struct TableRow<'a> {
    batch: &'a [Vec<Cell>],
    at: usize,
    rules: CellRules,
}

impl Cells for TableRow<'_> {
    fn number(&self, column: usize) -> std::result::Result<Number, String> {
        self.batch[column][self.at].number(self.rules)
    }

    fn time(&self, column: usize) -> std::result::Result<(i64, TimeFormat), String> {
        self.batch[column][self.at].time(self.rules)
    }
}
