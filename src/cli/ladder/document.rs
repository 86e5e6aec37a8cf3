//! The table of a Markdown page, measured and written between two marks; the prose around it stays as it is.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use crosscheck::{Grid, Sequential, random_walk};

use super::super::engines::Engine;
use super::super::number::{counted, grouped};
use super::super::output::OutFile;
use super::super::{Failure, Outcome};
use super::measure::{Budget, require_equal, time};
use super::{Args, BARS, FAST, Rung, SAMPLE, SLOW};

const BEGIN: &str = "<!-- generated: begin sweeps -->";
const END: &str = "<!-- generated: end sweeps -->";

const COLUMNS: [&str; 12] = [
    "series and grid",
    "trades",
    "engine",
    "threads",
    "best, ms",
    "median, ms",
    "runs",
    "combinations/s",
    "ns per bar and combination",
    "x m0",
    "x m2",
    "left open by the bound",
];

/// Larger questions, for the engines that answer them within seconds: filters, and bars as a multiple of the ladder's.
const LARGER: [(&str, &str, f64); 2] = [
    ("hma:10..=208:2", "hma3:12..=210:2", 1.0),
    ("hma:10..=208:6", "hma3:12..=210:7", 20.0 / 3.0),
];

/// Engines too slow for them.
const TOO_SLOW: [&str; 2] = ["m0", "m1"];

/// A page that has the marks, and the right to replace it.
#[derive(Debug)]
pub(super) struct Document {
    file: OutFile,
}

impl Document {
    /// Takes the page's place and finds its marks before anything is measured.
    ///
    /// The place comes first, since it must be a regular file before it is read: a pipe would wait and a device never end.
    pub(super) fn find(path: &Path) -> Outcome<Self> {
        let file = OutFile::create(path)?;
        refuse_read_only(path)?;
        parts(path).map(|_| Self { file })
    }

    /// Measures the larger grids, and writes them below the ladder's rows.
    pub(super) fn write(
        mut self,
        args: &Args,
        engines: &[Engine],
        rungs: &[Rung],
        budget: Budget,
    ) -> Outcome {
        let mut table = head(args, engines);
        let m2 = rungs.iter().find(|rung| rung.engine == "m2");
        for rung in rungs {
            row(&mut table, (FAST, SLOW), rung, m2.map(|m2| m2.seconds));
        }
        for (fast, slow, longer) in LARGER {
            let bars = (args.bars as f64 * longer).round() as usize;
            larger(&mut table, (fast, slow), bars, engines, budget)?;
        }
        // Read again: the prose may have been edited meanwhile.
        let [before, after] = parts(self.file.path())?;
        let written = write!(self.file, "{before}\n{table}{after}");
        written.map_err(|error| Failure::file(self.file.path(), error))?;
        self.file.finish()
    }
}

/// The page up to the end of the first mark, and from the second mark on.
fn parts(path: &Path) -> Outcome<[String; 2]> {
    let text = fs::read_to_string(path).map_err(|error| unread(path, error))?;
    let parts = split(&text).map_err(|reason| {
        Failure::Data(format!(
            "{} {reason}: write '{BEGIN}' and '{END}' once, each on a line of its own, around the place of the table",
            path.display()
        ))
    });
    parts.map(|parts| parts.map(str::to_owned))
}

/// Its folder is there, since the new page has been started in it.
fn unread(path: &Path, error: io::Error) -> Failure {
    if error.kind() != ErrorKind::NotFound {
        return Failure::file(path, error);
    }
    Failure::Data(format!(
        "{} is not there: make the page first, with the lines '{BEGIN}' and '{END}' around the place of the table",
        path.display()
    ))
}

/// A page is replaced, which its folder allows even where the page itself is closed.
fn refuse_read_only(path: &Path) -> Outcome {
    let is_marked = fs::metadata(path).is_ok_and(|found| found.permissions().readonly());
    let opened = OpenOptions::new().write(true).open(path);
    if is_marked || opened.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied) {
        let path = path.display();
        return Err(Failure::Data(format!(
            "{path} is read-only: make it writable, or name another page"
        )));
    }
    Ok(())
}

/// What stands before the table, its mark included, and what stands after it.
fn split(text: &str) -> Result<[&str; 2], String> {
    let place = |mark: &str| {
        let mut found = text.match_indices(mark);
        match (found.next(), found.next()) {
            (Some((at, _)), None) => Ok(at),
            (None, _) => Err(format!("has no '{mark}'")),
            (Some(_), Some(_)) => Err(format!("has '{mark}' more than once")),
        }
    };
    let (begin, end) = (place(BEGIN)? + BEGIN.len(), place(END)?);
    if begin > end {
        return Err("has the marks in the wrong order".to_owned());
    }
    Ok([&text[..begin], &text[end..]])
}

/// Measures one of the larger questions and adds its rows.
fn larger(
    table: &mut String,
    (fast, slow): (&str, &str),
    bars: usize,
    engines: &[Engine],
    budget: Budget,
) -> Outcome {
    let (series, grid) = (random_walk(bars, 42)?, Grid::parse(fast, slow)?);
    let reference = Sequential::new();
    let m2 = time(&reference, &series, &grid, budget)?;
    for engine in engines {
        let backend = engine.backend.as_ref();
        if TOO_SLOW.contains(&engine.name()) {
            continue;
        }
        let (trades, times) = if engine.name() == "m2" {
            (m2.trades, m2)
        } else {
            let trades = require_equal(&reference, backend, &series, &grid)?;
            (trades, time(backend, &series, &grid, budget)?)
        };
        let rung = Rung::new(engine, &series, &grid, trades, times);
        row(table, (fast, slow), &rung, Some(m2.best));
    }
    Ok(())
}

/// Says what was run, and where, and begins the table.
fn head(args: &Args, engines: &[Engine]) -> String {
    let mut options = String::new();
    if args.bars != BARS {
        let _ = write!(options, " --bars {}", args.bars);
    }
    if let Some(runs) = args.runs {
        let _ = write!(options, " --runs {runs}");
    }
    let devices = engines.iter().filter_map(|engine| engine.adapter.as_ref());
    let devices: String = devices.flat_map(|name| [", ", name]).collect();
    format!(
        "Written by `crosscheck ladder --doc` (version {}{options}) on {}{devices}. Random walk of seed 42. Before it was\n\
         timed, each engine took the trades of M0 on the first grid and those of M2 on the others; M0's time is extrapolated\n\
         from {SAMPLE} combinations.\n\n| {} |\n|{}\n",
        env!("CARGO_PKG_VERSION"),
        machine(),
        COLUMNS.join(" | "),
        " --- |".repeat(COLUMNS.len()),
    )
}

fn row(table: &mut String, (fast, slow): (&str, &str), rung: &Rung, m2: Option<f64>) {
    let ratio = |ratio: Option<f64>| ratio.map_or("-".to_owned(), three);
    let decisions = rung.bars as f64 * rung.combinations as f64;
    let cells: [String; COLUMNS.len()] = [
        format!(
            "{} bars, {} (`{fast}` x `{slow}`)",
            grouped(rung.bars as u64),
            counted(rung.combinations as u64, "combination")
        ),
        grouped(rung.trades_compared),
        rung.engine.to_uppercase(),
        rung.threads.to_string(),
        three(1e3 * rung.seconds),
        three(1e3 * rung.median_seconds),
        rung.runs.to_string(),
        grouped(rung.combinations_per_s.round() as u64),
        three(1e9 * rung.seconds / decisions),
        ratio(rung.ratio_to_m0),
        ratio(m2.map(|m2| m2 / rung.seconds)),
        three(rung.open_share),
    ];
    let _ = writeln!(table, "| {} |", cells.join(" | "));
}

/// Three digits, and as many places as that takes; an exponent where there would be many.
fn three(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let places = 2 - value.abs().log10().floor() as i32;
    match places {
        ..=0 => grouped(value.round() as u64),
        1..=5 => format!("{value:.0$}", places as usize),
        _ => format!("{value:.1e}"),
    }
}

/// The processor by its name, where the system tells it, and how many cores there are.
fn machine() -> String {
    let of_linux = || {
        let text = fs::read_to_string("/proc/cpuinfo").ok()?;
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let of_mac = || {
        let mut command = std::process::Command::new("sysctl");
        let output = command.args(["-n", "machdep.cpu.brand_string"]).output();
        let name = String::from_utf8(output.ok()?.stdout).ok()?;
        (!name.trim().is_empty()).then(|| name.trim().to_owned())
    };
    let name = of_linux().or_else(of_mac);
    let name = name.unwrap_or_else(|| "a processor of unknown name".to_owned());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    format!("{name} ({}, {os}, {arch})", counted(cores as u64, "core"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits() {
        for (value, text) in [
            (0.0, "0"),
            (2545.17, "2,545"),
            (605.37, "605"),
            (15.22, "15.2"),
            (1.849, "1.85"),
            (0.0016502, "0.00165"),
            (4.41e-6, "4.4e-6"),
        ] {
            assert_eq!(three(value), text);
        }
    }

    #[test]
    fn pages_without_both_marks_in_order_are_refused() {
        let whole = format!("a\n{BEGIN}\nold\n{END}\nb\n");
        assert_eq!(
            split(&whole).unwrap(),
            [format!("a\n{BEGIN}"), format!("{END}\nb\n")]
        );
        for (text, reason) in [
            (String::new(), "has no '<!-- generated: begin"),
            (BEGIN.to_owned(), "has no '<!-- generated: end"),
            (format!("{END}{BEGIN}"), "wrong order"),
            (format!("{whole}{BEGIN}"), "more than once"),
        ] {
            assert!(split(&text).unwrap_err().contains(reason), "{text}");
        }
    }
}
