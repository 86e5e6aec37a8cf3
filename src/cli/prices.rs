//! The PRICES argument: a price file, or the built-in random walk.

use std::path::Path;

use crosscheck::{
    Duplicates, Error, FileError, ReadOptions, Reading, Series, TimeFormat, TimeframeError,
    random_walk,
};

use super::number::{counted, quoted};
use super::output::{is_same, lock_of, partial_of};
use super::timeframe::{Timeframe, in_words, utc};
use super::{Failure, Outcome};

/// Which prices a command runs on, and how they are read.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct PriceArgs {
    /// The prices: a CSV file (plain or .gz), a Parquet table, or `random-walk:BARS:SEED`
    pub(crate) prices: String,

    #[command(flatten)]
    file: FileArgs,

    /// Make longer bars of the file's bars, such as 5m, 1h or 1d; closed bars only. They start at whole multiples of
    /// their length in UTC, weeks on Monday; a bar that reaches past the end of the one it starts in is refused
    #[arg(long)]
    timeframe: Option<Timeframe>,
}

impl PriceArgs {
    /// Refuses to write over the price file, by whatever name or link.
    pub(crate) fn keep_from(&self, out: &Path) -> Outcome {
        if !is_same(out, Path::new(&self.prices)) {
            return Ok(());
        }
        Err(Failure::Usage(format!(
            "{} is the price file itself: write to another",
            out.display()
        )))
    }

    /// Refuses an output that, or whose lock or unfinished file, would be the price file.
    pub(crate) fn keep_from_output(&self, out: &Path) -> Outcome {
        let paths = [out.to_path_buf(), partial_of(out), lock_of(out)];
        paths.iter().try_for_each(|path| self.keep_from(path))
    }
}

/// How a price file is read.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct FileArgs {
    /// How close calls are decided: on the integer ticks of the decimal text, or on the binary value of each f64
    /// [default: ticks for files, binary for the walk and for tables of floats]
    #[arg(long, value_enum)]
    reading: Option<ReadingArg>,

    /// What to do with two rows of one timestamp
    #[arg(long, value_enum, default_value_t)]
    duplicates: DuplicatesArg,

    /// Drop the last bar, where the file was recorded before that bar was finished
    #[arg(long)]
    drop_last: bool,

    /// Refuse a file in which bars are missing
    #[arg(long)]
    refuse_gaps: bool,

    /// Length of the file's bars, such as 1m; a file of other bars is refused
    #[arg(long, value_name = "LENGTH")]
    bar: Option<Timeframe>,

    /// Offset from UTC of times that state none, such as +09:00
    #[arg(long, value_name = "OFFSET", value_parser = offset_minutes, allow_hyphen_values = true, default_value = "+00:00")]
    utc_offset: i32,

    /// Format of every timestamp, where the size of the number misleads; one that gives years before 1700 or after
    /// 2300 is refused
    #[arg(long, value_enum, value_name = "FORMAT")]
    time_format: Option<TimeFormatArg>,

    /// Columns of a file without a header, such as timestamp,open,close,high,low; - passes one over
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "NAMES",
        allow_hyphen_values = true
    )]
    columns: Option<Vec<String>>,

    /// Column to take as the close, such as "Adj Close"
    #[arg(long, value_name = "NAME")]
    close_column: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ReadingArg {
    /// Integers of the smallest price step
    Ticks,
    /// The exact value of each f64
    Binary,
    /// Ticks where they fit 64 bits, else binary
    TicksOrBinary,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum DuplicatesArg {
    /// Stop, naming both lines
    #[default]
    Refuse,
    /// Keep the row that comes first
    First,
    /// Keep the row that comes last
    Last,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum TimeFormatArg {
    /// Unix seconds
    S,
    /// Unix milliseconds
    Ms,
    /// Unix microseconds
    Us,
    /// Unix nanoseconds
    Ns,
    /// ISO 8601
    Iso,
}

impl PriceArgs {
    /// Reads or makes the series, and says on the standard error what is doubtful about a file.
    pub(crate) fn load(&self, is_quiet: bool) -> Outcome<Series> {
        let series = match self.prices.strip_prefix("random-walk:") {
            Some(walk) => self.walk(walk)?,
            None => self.read(is_quiet)?,
        };
        match self.timeframe {
            Some(timeframe) => self.resample(&series, timeframe),
            None => Ok(series),
        }
    }

    fn resample(&self, series: &Series, timeframe: Timeframe) -> Outcome<Series> {
        let long = series.resample(timeframe.milliseconds());
        long.map_err(|error| match &error {
            Error::Timeframe(cause) => match in_units(cause) {
                Some(reason) => Failure::Data(format!("{}: {reason}", self.prices)),
                None => Failure::from(error),
            },
            _ => Failure::from(error),
        })
    }

    fn walk(&self, text: &str) -> Outcome<Series> {
        if let Some(option) = self.file.of_files_only() {
            return Err(Failure::Usage(format!(
                "the random walk is made, not read: {option} is for price files, leave it out"
            )));
        }
        if self.file.reading == Some(ReadingArg::Ticks) {
            let reason = "the random walk has no ticks: leave --reading out, or say binary";
            return Err(Failure::Usage(reason.to_owned()));
        }
        let (bars, seed) = parse_walk(text)?;
        Ok(random_walk(bars, seed)?)
    }

    fn read(&self, is_quiet: bool) -> Outcome<Series> {
        let path = Path::new(&self.prices);
        let series = Series::from_file(path, &self.file.options());
        let series = series.map_err(|error| self.file.explain(&self.prices, error))?;
        if !is_quiet {
            for warning in series.report().warnings() {
                eprintln!("warning: {}: {warning}", path.display());
            }
        }
        Ok(series)
    }
}

impl FileArgs {
    /// Adds which option of the command line helps, where one does.
    pub(crate) fn explain(&self, prices: &str, error: Error) -> Failure {
        let is_stated = self.time_format.is_some();
        let help = match &error {
            Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
                "give a CSV or Parquet file, or random-walk:BARS:SEED"
            }
            Error::File(FileError::Duplicate { .. }) if is_stated => {
                "leave --time-format out, if it is of a shorter unit than the file's; else --duplicates first or last"
            }
            Error::File(FileError::Row { reason, .. })
                if is_stated && reason.starts_with("timestamp") =>
            {
                "--time-format states it"
            }
            Error::File(FileError::Row { reason, .. }) if reason.ends_with("state the columns") => {
                "--columns states them, such as --columns timestamp,open,close"
            }
            Error::File(FileError::Duplicate { .. }) => {
                "--duplicates first or last keeps one of them"
            }
            Error::File(FileError::TickRange { .. }) => "--reading binary, or ticks-or-binary",
            Error::EmptySeries => return Failure::Data(format!("{prices}: {error}")),
            _ => return Failure::from(error),
        };
        Failure::Data(format!("{error} ({help})"))
    }

    /// An option that was given and says nothing about a walk.
    fn of_files_only(&self) -> Option<&'static str> {
        let given = [
            ("--duplicates", self.duplicates != DuplicatesArg::Refuse),
            ("--drop-last", self.drop_last),
            ("--refuse-gaps", self.refuse_gaps),
            ("--bar", self.bar.is_some()),
            ("--utc-offset", self.utc_offset != 0),
            ("--time-format", self.time_format.is_some()),
            ("--columns", self.columns.is_some()),
            ("--close-column", self.close_column.is_some()),
        ];
        let found = given.into_iter().find(|(_, is_given)| *is_given);
        found.map(|(option, _)| option)
    }

    /// Says whether the bar that may be unfinished is gone.
    pub(crate) fn drops_last_bar(&self) -> bool {
        self.drop_last
    }

    /// Returns the library's options.
    pub(crate) fn options(&self) -> ReadOptions {
        let mut options = ReadOptions::new().with_utc_offset(self.utc_offset);
        options = match self.reading {
            Some(ReadingArg::Binary) => options.with_reading(Reading::Binary),
            Some(ReadingArg::TicksOrBinary) => options.with_binary_fallback(),
            Some(ReadingArg::Ticks) => options.with_reading(Reading::Ticks),
            None => options,
        };
        options = options.with_duplicates(match self.duplicates {
            DuplicatesArg::Refuse => Duplicates::Refuse,
            DuplicatesArg::First => Duplicates::KeepFirst,
            DuplicatesArg::Last => Duplicates::KeepLast,
        });
        if self.drop_last {
            options = options.without_last_bar();
        }
        if self.refuse_gaps {
            options = options.without_gaps();
        }
        if let Some(bar) = self.bar {
            options = options.with_bar_length(bar.milliseconds());
        }
        if let Some(format) = self.time_format {
            options = options.with_time_format(format.into());
        }
        if let Some(columns) = &self.columns {
            let names: Vec<&str> = columns.iter().map(String::as_str).collect();
            options = options.with_columns(&names);
        }
        if let Some(column) = &self.close_column {
            options = options.with_close_column(column);
        }
        options
    }
}

impl From<TimeFormatArg> for TimeFormat {
    fn from(format: TimeFormatArg) -> Self {
        match format {
            TimeFormatArg::S => Self::Seconds,
            TimeFormatArg::Ms => Self::Milliseconds,
            TimeFormatArg::Us => Self::Microseconds,
            TimeFormatArg::Ns => Self::Nanoseconds,
            TimeFormatArg::Iso => Self::IsoNaive,
        }
    }
}

/// Says what is wrong between a file and a time frame, in the units of the command line.
fn in_units(cause: &TimeframeError) -> Option<String> {
    match *cause {
        TimeframeError::TooLong {
            timeframe,
            bars,
            bar_length,
        } => Some(format!(
            "no bar of {} is closed within its {bars} bars of {}: give a shorter --timeframe, or a longer file",
            in_words(timeframe),
            in_words(bar_length)
        )),
        TimeframeError::OffGrid {
            bar,
            timestamp,
            bar_length,
            end,
            timeframe,
        } => {
            let (short, long) = (in_words(bar_length), in_words(timeframe));
            Some(format!(
                "bar {bar}, of {short} from {}, ends after the bar of {long} that it starts in, which ends at {}: its \
                 close would be seen too early; take a file whose bars start at whole multiples of {short}, give a \
                 --timeframe at whose ends no bar is open, or leave it out",
                utc(timestamp),
                utc(end)
            ))
        }
        _ => None,
    }
}

fn parse_walk(text: &str) -> Outcome<(usize, u64)> {
    let parse = |(bars, seed): (&str, &str)| {
        Some((bars.replace('_', "").parse().ok()?, seed.parse().ok()?))
    };
    text.split_once(':').and_then(parse).ok_or_else(|| {
        Failure::Usage(format!(
            "cannot read the walk {}: write random-walk:BARS:SEED, such as random-walk:150000:42",
            quoted(text)
        ))
    })
}

/// Reads `+09:00`, `-5` or `Z` as minutes east of UTC.
fn offset_minutes(text: &str) -> Result<i32, String> {
    let parse = || {
        if text == "Z" {
            return Some(0);
        }
        let sign = if text.starts_with('-') { -1 } else { 1 };
        let digits = text.strip_prefix(['+', '-'])?;
        let (hours, minutes) = digits.split_once(':').unwrap_or((digits, "0"));
        let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
        let is_offset = (0..=14).contains(&hours) && (0..60).contains(&minutes);
        is_offset.then_some(sign * (hours * 60 + minutes))
    };
    parse().ok_or_else(|| "write an offset such as +09:00, -5 or Z".to_owned())
}

/// Says what was read, in a few words.
pub(crate) fn describe(series: &Series) -> String {
    let reading = match series.reading() {
        Reading::Ticks => "ticks",
        Reading::Binary => "binary",
    };
    let bars = counted(series.bars() as u64, "bar");
    format!("{bars}, {reading} reading")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_minutes_east() {
        let found =
            ["+09:00", "-5", "Z", "+05:45", "-03:30"].map(|text| offset_minutes(text).unwrap());
        assert_eq!(found, [540, -300, 0, 345, -210]);
        for text in ["9", "+15:00", "UTC", "+1:75", ""] {
            assert!(offset_minutes(text).is_err(), "{text}");
        }
    }
}
