//! The whole file looked at, faults and all: what `Series::from_csv` would refuse, counted by kind.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::assemble::{AT_THE_END, Table, TickTrouble, check_asked};
use super::open::Room;
use super::options::ReadOptions;
use super::row::{Row, RowFault};
use super::source::Source;
use super::time::TimeFormat;
use crate::error::{FileError, Result, plain};
use crate::room;
use crate::series::{Reading, Series, SeriesReport};

/// Kinds of faults for which a file is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum FaultKind {
    /// A cell that is missing or no number, a time that is none, a line with another count of fields.
    Unreadable,
    /// A price of 0 or below, or a negative volume.
    NotPositive,
    /// A high that is not the largest or a low that is not the smallest price of its bar.
    ImpossibleBar,
    /// A row with the timestamp of the row before.
    Duplicate,
    /// A row earlier than the row before.
    Unsorted,
    /// A place from which on nothing can be read: a damaged gzip file, a pipe that does not end.
    BrokenOff,
    /// Closes whose digits do not fit 64-bit ticks; the binary reading takes them.
    NotInTicks,
}

impl FaultKind {
    /// Returns the kind in words.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable rows",
            Self::NotPositive => "prices of 0 or below",
            Self::ImpossibleBar => "impossible bars",
            Self::Duplicate => "duplicate timestamps",
            Self::Unsorted => "unsorted rows",
            Self::BrokenOff => "file broken off",
            Self::NotInTicks => "closes outside 64-bit ticks",
        }
    }
}

/// One kind of fault: how often, and where first.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Fault {
    /// The kind.
    pub kind: FaultKind,
    /// Rows of that kind.
    pub count: usize,
    /// Line or row of the first.
    pub first_line: u64,
    /// What is wrong with the first, and what to do.
    pub first_reason: String,
}

/// What is in a price file, and what is wrong with it.
///
/// # Examples
/// ```
/// use crosscheck::{ReadOptions, FileReport, FaultKind};
/// let text = "timestamp,close\n60,1\n120,nan\n180,2\n180,2\n120,2\n";
/// let report = FileReport::from_reader(text.as_bytes(), &ReadOptions::default())?;
/// let faults: Vec<_> = report.faults.iter().map(|f| (f.kind, f.count, f.first_line)).collect();
/// let expected = [
///     (FaultKind::Unreadable, 1, 3),
///     (FaultKind::Duplicate, 1, 5),
///     (FaultKind::Unsorted, 1, 6),
/// ];
/// assert_eq!(faults, expected);
/// assert_eq!(report.series.unwrap().bars, 2);
/// # Ok::<(), crosscheck::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct FileReport {
    /// Rows, without the header and blank lines.
    pub rows: usize,
    /// What the places of faults count: `line` of a text, `row` of a table.
    pub unit: &'static str,
    /// The columns that were found, in words.
    pub columns: String,
    /// How the timestamps are written, and how many are written so.
    pub time_formats: BTreeMap<TimeFormat, usize>,
    /// Faults of rows by kind. Where there are none, and no `refusal`, [`Series::from_file`](crate::Series::from_file)
    /// takes the file by the same options, unless no rows are left.
    pub faults: Vec<Fault>,
    /// Why the options refuse the file as a whole: bars of another length than declared, or bars that are missing.
    pub refusal: Option<String>,
    /// The rows without a fault, taken as a series; `None` where there are none.
    pub series: Option<SeriesReport>,
}

impl FileReport {
    /// Reads a whole file, whatever is wrong with its rows.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io), [`Error::File`](crate::Error::File) where no columns are found, or
    /// [`SizeError::OutOfMemory`](crate::SizeError::OutOfMemory).
    pub fn from_file(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Self> {
        let path = path.as_ref();
        survey(Source::of_file(path, options)?, path, options)
    }

    /// Reads all of a text, whatever is wrong with its rows.
    ///
    /// # Errors
    /// Those of [`FileReport::from_file`].
    pub fn from_reader(reader: impl std::io::Read, options: &ReadOptions) -> Result<Self> {
        let path = Path::new(super::READER);
        let source = Source::of_text(reader, Room::ANY, path, options)?;
        survey(source, path, options)
    }
}

fn survey(source: Source<'_>, path: &Path, options: &ReadOptions) -> Result<FileReport> {
    let (unit, reading) = (source.unit, source.reading);
    let mut report = FileReport {
        rows: 0,
        unit,
        columns: source.columns,
        time_formats: BTreeMap::new(),
        faults: Vec::new(),
        refusal: None,
        series: None,
    };
    let mut table = Table::default();
    for row in source.rows {
        if let Ok(row) = &row {
            table.make_room(row)?;
        }
        report.take(row, &mut table, options);
    }
    if options.drops_last_bar {
        table.pop();
    }
    room::check(table.bars(), "bar", AT_THE_END)?;
    if reading == Reading::Ticks
        && !options.falls_back_to_binary
        && let Err(TickTrouble { line, price, tick }) = table.ticks()
    {
        let reason = format!(
            "close {} in ticks of {tick} does not fit 64 bits: use the binary reading",
            plain(price)
        );
        report.add(FaultKind::NotInTicks, line, reason);
    }
    // What does not fit ticks has been said, and must not hide the rest.
    let no_path = |TickTrouble { line, price, tick }| FileError::TickRange {
        path: PathBuf::new(),
        unit,
        line,
        price,
        tick,
    };
    let series = table.finish(reading, true, no_path).ok();
    report.refusal = series
        .as_ref()
        .and_then(|series| refusal(series, path, options));
    report.series = series.map(|series| series.report());
    report.faults.sort_by_key(|fault| fault.kind);
    Ok(report)
}

/// What is said where a series of these rows is not what the options ask for.
fn refusal(series: &Series, path: &Path, options: &ReadOptions) -> Option<String> {
    let checked = check_asked(series, path, options);
    checked.err().map(|error| error.to_string())
}

impl FileReport {
    /// Adds a row to the table, or its fault to the report.
    fn take(
        &mut self,
        row: std::result::Result<Row, RowFault>,
        table: &mut Table,
        options: &ReadOptions,
    ) {
        self.rows += 1;
        let row = match row {
            Ok(row) => row,
            Err(fault) => return self.add(fault.kind, fault.line, fault.reason),
        };
        if let Some((_, format)) = row.time {
            *self.time_formats.entry(format).or_default() += 1;
        }
        if let Err(misplaced) = table.push(&row, options.duplicates) {
            let kind = if misplaced.is_duplicate() {
                FaultKind::Duplicate
            } else {
                FaultKind::Unsorted
            };
            self.add(kind, misplaced.line, misplaced.reason(self.unit));
        }
    }

    fn add(&mut self, kind: FaultKind, line: u64, reason: String) {
        if let Some(fault) = self.faults.iter_mut().find(|fault| fault.kind == kind) {
            fault.count += 1;
            return;
        }
        self.faults.push(Fault {
            kind,
            count: 1,
            first_line: line,
            first_reason: reason,
        });
    }
}
