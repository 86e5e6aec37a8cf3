//! From checked rows to a `Series`: order, duplicates, and the ticks that all closes share.

use std::path::Path;

use super::decimal::Decimal;
use super::options::{Duplicates, ReadOptions};
use super::row::Row;
use super::source::Source;
use super::time::utc;
use crate::error::{Error, FileError, Result, SizeError};
use crate::room;
use crate::series::{Reading, Series};

/// Rows that a table has room for at first.
const LEAST_ROOM: usize = 1 << 12;

/// Bytes of a row with every column.
const OF_A_ROW: usize = 6 * size_of::<f64>() + size_of::<Decimal>();

/// Bytes a bar that are needed at once when all rows are there: its ticks, and its step in the median.
pub(super) const AT_THE_END: usize = 2 * size_of::<i64>();

/// Reads all rows and stops at the first fault.
pub(super) fn series(source: Source<'_>, path: &Path, options: &ReadOptions) -> Result<Series> {
    let (unit, reading) = (source.unit, source.reading);
    let mut table = Table::default();
    for row in source.rows {
        let row = row.map_err(|fault| fault.into_error(path, unit))?;
        table.make_room(&row)?;
        table
            .push(&row, options.duplicates)
            .map_err(|misplaced| misplaced.into_error(path, unit))?;
    }
    if options.drops_last_bar {
        table.pop();
    }
    let refuse = |TickTrouble { line, price, tick }| FileError::TickRange {
        path: path.to_path_buf(),
        unit,
        line,
        price,
        tick,
    };
    let series = table.finish(reading, options.falls_back_to_binary, refuse)?;
    check_asked(&series, path, options)?;
    Ok(series)
}

/// Refuses a series that is not as the options declare it.
pub(super) fn check_asked(series: &Series, path: &Path, options: &ReadOptions) -> Result<()> {
    if let Some(declared) = options.bar_length {
        check_bar_length(series, declared, path)?;
    }
    if options.refuses_gaps {
        check_gaps(series, path)?;
    }
    Ok(())
}

/// A row at, or before, the time of the row before it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Misplaced {
    pub(super) line: u64,
    timestamp: i64,
    line_before: u64,
    before: i64,
}

impl Misplaced {
    pub(super) fn is_duplicate(&self) -> bool {
        self.timestamp == self.before
    }

    pub(super) fn reason(&self, unit: &str) -> String {
        let (time, before) = (utc(self.timestamp), utc(self.before));
        if self.is_duplicate() {
            format!("has the time {time} of {unit} {}", self.line_before)
        } else {
            format!(
                "has the time {time}, earlier than {before} of {unit} {}",
                self.line_before
            )
        }
    }

    fn into_error(self, path: &Path, unit: &'static str) -> Error {
        let path = path.to_path_buf();
        let Self {
            line,
            timestamp,
            line_before,
            before,
        } = self;
        let error = if self.is_duplicate() {
            FileError::Duplicate {
                path,
                unit,
                first_line: line_before,
                line,
                timestamp,
            }
        } else {
            FileError::Unsorted {
                path,
                unit,
                line,
                timestamp,
                before,
            }
        };
        error.into()
    }
}

/// Closes that 64-bit ticks cannot hold: the line of the finest step, the step, and a close that does not fit.
#[derive(Debug, Clone)]
pub(super) struct TickTrouble {
    pub(super) line: u64,
    pub(super) price: f64,
    pub(super) tick: String,
}

/// The columns so far.
#[derive(Debug, Default)]
pub(super) struct Table {
    closes: Vec<f64>,
    decimals: Vec<Decimal>,
    times: Vec<i64>,
    opens: Vec<f64>,
    highs: Vec<f64>,
    lows: Vec<f64>,
    volumes: Vec<f64>,
    last: Option<(u64, i64)>,
    /// Line and exponent of the smallest decimal step.
    finest: Option<(u64, i32)>,
    trouble: Option<TickTrouble>,
}

impl Table {
    /// Adds a row after the others, or settles it with the row of the same time.
    pub(super) fn push(
        &mut self,
        row: &Row,
        duplicates: Duplicates,
    ) -> std::result::Result<(), Misplaced> {
        if let (Some((timestamp, _)), Some((line_before, before))) = (row.time, self.last)
            && timestamp <= before
        {
            match duplicates {
                Duplicates::KeepFirst if timestamp == before => return Ok(()),
                Duplicates::KeepLast if timestamp == before => self.pop(),
                _ => {
                    return Err(Misplaced {
                        line: row.line,
                        timestamp,
                        line_before,
                        before,
                    });
                }
            }
        }
        self.append(row);
        Ok(())
    }

    /// Makes room for the row: as many rows again, where there is none left.
    pub(super) fn make_room(&mut self, row: &Row) -> std::result::Result<(), SizeError> {
        if self.closes.len() < self.closes.capacity() {
            return Ok(());
        }
        let more = self.closes.len().max(LEAST_ROOM);
        let has = [
            row.open.is_some(),
            row.high_low.is_some(),
            row.high_low.is_some(),
            row.volume.is_some(),
        ];
        let optional = [
            &mut self.opens,
            &mut self.highs,
            &mut self.lows,
            &mut self.volumes,
        ];
        let reserved = self.closes.try_reserve_exact(more);
        let reserved = reserved
            .and_then(|()| self.decimals.try_reserve_exact(more))
            .and_then(|()| {
                self.times
                    .try_reserve_exact(more * usize::from(row.time.is_some()))
            })
            .and_then(|()| {
                let mut columns = optional.into_iter().zip(has);
                columns
                    .try_for_each(|(column, has)| column.try_reserve_exact(more * usize::from(has)))
            });
        reserved.map_err(|_| {
            let (count, noun) = (self.closes.len() + more, "bar");
            let bytes = count.saturating_mul(OF_A_ROW);
            SizeError::OutOfMemory { count, noun, bytes }
        })
    }

    fn append(&mut self, row: &Row) {
        self.closes.push(row.close.value);
        if let Some((time, _)) = row.time {
            self.times.push(time);
            self.last = Some((row.line, time));
        }
        self.opens.extend(row.open);
        if let Some((high, low)) = row.high_low {
            self.highs.push(high);
            self.lows.push(low);
        }
        self.volumes.extend(row.volume);
        let Some(decimal) = row.close.exact else {
            self.trouble.get_or_insert(TickTrouble {
                line: row.line,
                price: row.close.value,
                tick: "its last digit".to_owned(),
            });
            return;
        };
        if self
            .finest
            .is_none_or(|(_, exponent)| decimal.exponent < exponent)
        {
            self.finest = Some((row.line, decimal.exponent));
        }
        self.decimals.push(decimal);
    }

    pub(super) fn pop(&mut self) {
        if self.decimals.len() == self.closes.len() {
            self.decimals.pop();
        }
        self.closes.pop();
        self.times.pop();
        self.opens.pop();
        self.highs.pop();
        self.lows.pop();
        self.volumes.pop();
    }

    /// Returns the number of bars.
    pub(super) fn bars(&self) -> usize {
        self.closes.len()
    }

    /// Returns the closes as integers of the smallest step.
    pub(super) fn ticks(&self) -> std::result::Result<Vec<i64>, TickTrouble> {
        if let Some(trouble) = &self.trouble {
            return Err(trouble.clone());
        }
        let (line, finest) = self.finest.unwrap_or_default();
        let tick = |decimal: &Decimal| {
            let shift = decimal.exponent.checked_sub(finest)?.unsigned_abs();
            decimal.mantissa.checked_mul(10_i64.checked_pow(shift)?)
        };
        let fit = |(decimal, &price): (&Decimal, &f64)| {
            let tick_text = || format!("1e{finest}");
            tick(decimal).ok_or_else(|| TickTrouble {
                line,
                price,
                tick: tick_text(),
            })
        };
        self.decimals.iter().zip(&self.closes).map(fit).collect()
    }

    /// Makes the series.
    pub(super) fn finish(
        self,
        reading: Reading,
        falls_back_to_binary: bool,
        refuse: impl Fn(TickTrouble) -> FileError,
    ) -> Result<Series> {
        room::check(self.closes.len(), "bar", AT_THE_END)?;
        let ticks = match reading {
            Reading::Binary => None,
            Reading::Ticks => match self.ticks() {
                Ok(ticks) => Some(ticks),
                Err(_) if falls_back_to_binary => None,
                Err(trouble) => return Err(refuse(trouble).into()),
            },
        };
        let mut series = Series::from_parts(self.closes, ticks)?;
        if !self.times.is_empty() {
            series = series.with_timestamps(self.times)?;
        }
        if !self.highs.is_empty() {
            series = series.with_ohl(self.opens, self.highs, self.lows)?;
        } else if !self.opens.is_empty() {
            series = series.with_opens(self.opens)?;
        }
        if !self.volumes.is_empty() {
            series = series.with_volumes(self.volumes)?;
        }
        Ok(series)
    }
}

fn check_bar_length(series: &Series, declared: i64, path: &Path) -> Result<()> {
    let median = series.bar_length().ok_or(Error::NoTimestamps {
        purpose: "to check the length of a bar",
    })?;
    if median == declared {
        return Ok(());
    }
    let path = path.to_path_buf();
    let error = FileError::BarLength {
        path,
        declared,
        median,
    };
    Err(error.into())
}

fn check_gaps(series: &Series, path: &Path) -> Result<()> {
    let report = series.report();
    let Some(largest) = report.largest_gap else {
        return Ok(());
    };
    let error = FileError::Gap {
        path: path.to_path_buf(),
        gaps: report.gaps,
        missing: report.missing_bars,
        bar: largest.bar,
        largest: largest.missing_bars,
    };
    Err(error.into())
}
