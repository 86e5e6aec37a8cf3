//! `crosscheck check`: what is in a price file and what is wrong with it, without running anything.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crosscheck::{Error, FaultKind, FileReport, SeriesReport};

use super::number::{counted, grouped, plain as price};
use super::prices::FileArgs;
use super::table::decimals;
use super::timeframe::{self, utc};
use super::{Failure, Outcome};

/// Report what is in a price file and what is wrong with it.
///
/// Exit code 1 where `sweep` would refuse the file under the same reading options; warnings alone leave it at 0. Whether
/// it has bars enough for a grid, a fill or --timeframe is not looked at.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The price file
    file: PathBuf,

    #[command(flatten)]
    reading: FileArgs,

    /// Print the report as JSON; of a file that is not read at all, an object with `error` alone
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Outcome {
    let report = FileReport::from_file(&args.file, &args.reading.options());
    let report = report.map_err(|error| match error {
        // No walk is checked, so that none is advised.
        Error::Io { .. } => Failure::from(error),
        error => args
            .reading
            .explain(&args.file.display().to_string(), error),
    });
    if let (true, Err(failure)) = (args.json, &report) {
        // Whoever reads JSON gets JSON, whatever the file is.
        print_json(out, &serde_json::json!({ "error": failure.reason() }))?;
        out.flush()?;
    }
    let report = report?;
    if args.json {
        print_json(out, &report)?;
    } else {
        print(out, &report)?;
        if let Some(series) = &report.series {
            print_series(out, series)?;
            if !args.reading.drops_last_bar() {
                last_bar(out, series, &args.file)?;
            }
        }
    }
    verdict(args, out, &report)
}

fn print_json(out: &mut dyn Write, value: &impl serde::Serialize) -> Outcome {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Failure::Data(format!("cannot write the report as JSON: {error}")))?;
    writeln!(out, "{text}")?;
    Ok(())
}

fn print(out: &mut dyn Write, report: &FileReport) -> Outcome {
    writeln!(out, "rows              {}", grouped(report.rows as u64))?;
    writeln!(out, "columns           {}", report.columns)?;
    for (format, count) in &report.time_formats {
        writeln!(
            out,
            "timestamps        {} in {}",
            grouped(*count as u64),
            format.describe()
        )?;
    }
    Ok(())
}

fn print_series(out: &mut dyn Write, series: &SeriesReport) -> Outcome {
    let share = |count: usize| {
        let percent = 100.0 * count as f64 / series.bars as f64;
        format!("{} ({percent:.1} %)", grouped(count as u64))
    };
    writeln!(out, "usable bars       {}", grouped(series.bars as u64))?;
    if let Some((first, last)) = series.span {
        writeln!(out, "first and last    {} to {}", utc(first), utc(last))?;
    }
    if let Some(length) = series.bar_length {
        writeln!(out, "bar length        {}", timeframe::in_words(length))?;
        writeln!(
            out,
            "gaps              {}, {} missing",
            grouped(series.gaps as u64),
            counted(series.missing_bars, "bar")
        )?;
    }
    writeln!(
        out,
        "unchanged closes  {}, at most {} alike",
        share(series.unchanged_closes),
        counted(series.longest_flat as u64, "bar")
    )?;
    if let Some(zero) = series.zero_volumes {
        writeln!(out, "zero volumes      {}", share(zero))?;
    }
    let (low, high) = (price(series.min_close), price(series.max_close));
    let ratio = decimals(series.max_min_ratio());
    writeln!(out, "closes            {low} to {high}, a ratio of {ratio}")?;
    if let Some(largest) = series.largest_move {
        writeln!(
            out,
            "largest move      {largest} at bar {}",
            grouped(largest.bar as u64)
        )?;
    }
    Ok(())
}

/// Says what is known of the last bar: a file cannot show that its last bar was finished.
fn last_bar(out: &mut dyn Write, series: &SeriesReport, path: &Path) -> Outcome {
    let (Some((_, last)), Some(length)) = (series.span, series.bar_length) else {
        return Ok(());
    };
    let modified = fs::metadata(path)
        .and_then(|data| data.modified())
        .unwrap_or_else(|_| SystemTime::now());
    let modified = modified
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_millis() as i64);
    let closed = last.saturating_add(length);
    if closed > modified {
        writeln!(
            out,
            "last bar          unfinished: it closes at {}, after the file was written",
            utc(closed)
        )?;
    } else if length < 3_600_000 && closed % 3_600_000 != 0 {
        writeln!(
            out,
            "last bar          perhaps unfinished: the file ends inside an hour, as one recorded live does; --drop-last drops it"
        )?;
    }
    Ok(())
}

fn verdict(args: &Args, out: &mut dyn Write, report: &FileReport) -> Outcome {
    if !args.json {
        print_faults(out, report)?;
    }
    let faults: usize = report.faults.iter().map(|fault| fault.count).sum();
    if faults > 0 {
        out.flush()?;
        let file = args.file.display();
        return Err(Failure::Data(format!(
            "{file} has {}",
            counted(faults as u64, "fault")
        )));
    }
    if let Some(refusal) = &report.refusal {
        out.flush()?;
        return Err(Failure::Data(refusal.clone()));
    }
    if report.series.is_none() {
        return Err(Failure::Data(format!(
            "{} has no rows",
            args.file.display()
        )));
    }
    Ok(())
}

fn print_faults(out: &mut dyn Write, report: &FileReport) -> Outcome {
    if let Some(series) = &report.series {
        for warning in series.warnings() {
            writeln!(out, "warning: {warning}")?;
        }
        // Closes outside the ticks are still there; rows that the options drop are no faults.
        let of_rows = report.faults.iter();
        let of_rows = of_rows.filter(|fault| fault.kind != FaultKind::NotInTicks);
        let left_out: usize = of_rows.map(|fault| fault.count).sum();
        if left_out > 0 && series.gaps > 0 {
            let rows = counted(left_out as u64, "row");
            writeln!(
                out,
                "note: {rows} with faults left out, which may be what is missing"
            )?;
        }
    }
    for fault in &report.faults {
        let (count, kind) = (grouped(fault.count as u64), fault.kind.describe());
        let (line, reason, unit) = (fault.first_line, &fault.first_reason, report.unit);
        writeln!(
            out,
            "fault: {kind}: {count}, the first on {unit} {line}: {reason}"
        )?;
    }
    Ok(())
}
