//! The whole file looked at, faults and all: what `Series::from_csv` would refuse, counted by kind.

use std::collections::BTreeMap;
use std::path::Path;

use super::assemble::{Table, TickTrouble};
use super::open;
use super::options::{CsvOptions, Duplicates};
use super::rows::Rows;
use super::time::TimeFormat;
use crate::error::Result;
use crate::series::{Reading, SeriesReport};

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
    /// Line of the first.
    pub first_line: u64,
    /// What is wrong with the first, and what to do.
    pub first_reason: String,
}

/// What is in a price file, and what is wrong with it.
///
/// # Examples
/// ```
/// use crosscheck::{CsvOptions, CsvReport, FaultKind};
/// let text = "timestamp,close\n60,1\n120,nan\n180,2\n180,2\n120,2\n";
/// let report = CsvReport::from_reader(text.as_bytes(), &CsvOptions::default())?;
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
pub struct CsvReport {
    /// Rows, without the header and blank lines.
    pub rows: usize,
    /// The columns that were found, in words.
    pub columns: String,
    /// How the timestamps are written, and how many are written so.
    pub time_formats: BTreeMap<TimeFormat, usize>,
    /// Faults by kind; empty where [`Series::from_csv_with`](crate::Series::from_csv_with) takes the file.
    pub faults: Vec<Fault>,
    /// The rows without a fault, taken as a series; `None` where there are none.
    pub series: Option<SeriesReport>,
}

impl CsvReport {
    /// Reads a whole file, whatever is wrong with its rows.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io), or [`Error::Parse`](crate::Error::Parse) where no columns are found.
    pub fn from_file(path: impl AsRef<Path>, options: &CsvOptions) -> Result<Self> {
        let path = path.as_ref();
        Ok(survey(
            Rows::new(open::file(path)?, path, options)?,
            path,
            options,
        ))
    }

    /// Reads all of a text, whatever is wrong with its rows.
    ///
    /// # Errors
    /// Those of [`CsvReport::from_file`].
    pub fn from_reader(reader: impl std::io::Read, options: &CsvOptions) -> Result<Self> {
        let path = Path::new(super::READER);
        Ok(survey(
            Rows::new(open::reader(reader, path)?, path, options)?,
            path,
            options,
        ))
    }
}

fn survey(mut rows: Rows<'_>, path: &Path, options: &CsvOptions) -> CsvReport {
    let mut report = CsvReport {
        rows: 0,
        columns: rows.columns().describe(),
        time_formats: BTreeMap::new(),
        faults: Vec::new(),
        series: None,
    };
    let mut table = Table::default();
    for row in &mut rows {
        report.rows += 1;
        let row = match row {
            Ok(row) => row,
            Err(fault) => {
                report.add(fault.kind, fault.line, fault.reason);
                continue;
            }
        };
        if let Some((_, format)) = row.time {
            *report.time_formats.entry(format).or_default() += 1;
        }
        if let Err(misplaced) = table.push(&row, Duplicates::Refuse) {
            let is_duplicate = misplaced.is_duplicate();
            let kind = if is_duplicate {
                FaultKind::Duplicate
            } else {
                FaultKind::Unsorted
            };
            report.add(kind, misplaced.line, misplaced.reason());
        }
    }
    if options.reading == Reading::Ticks
        && let Err(TickTrouble { line, price, tick }) = table.ticks()
    {
        let reason = format!(
            "close {price} in ticks of {tick} does not fit 64 bits: use the binary reading"
        );
        report.add(FaultKind::NotInTicks, line, reason);
    }
    // What does not fit ticks has been said, and must not hide the rest.
    let lenient = options.clone().with_binary_fallback();
    report.series = table
        .finish(path, &lenient)
        .ok()
        .map(|series| series.report());
    report.faults.sort_by_key(|fault| fault.kind);
    report
}

impl CsvReport {
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
