//! `crosscheck ladder`: every engine held against M0 by its trades, then timed on one grid.

mod document;
mod measure;

use std::io::Write;
use std::path::{Path, PathBuf};

use crosscheck::{Grid, Naive, Sequential, Series, random_walk};
use serde::Serialize;

use self::document::Document;
use self::measure::{Budget, Times, require_equal, time};
use super::engines::{self, Engine};
use super::number::{counted, grouped};
use super::output::{OutFile, keep_apart};
use super::plot::{self, PlotArgs};
use super::table::Table;
use super::{Failure, Outcome};

const BARS: usize = 150_000;
const FAST: &str = "hma:20..=200:20";
const SLOW: &str = "hma3:24..=192:24";

/// Combinations that stand for all where M0 is timed.
const SAMPLE: usize = 5;

/// Prove that the engines agree, then time each on the same 80 combinations.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Bars of the random walk
    #[arg(long, default_value_t = BARS)]
    bars: usize,

    /// Engines to compare with M0, separated by commas; every rung that this machine has where left out
    #[arg(long, value_delimiter = ',')]
    engines: Vec<String>,

    /// Threads of an engine that has a pool; all cores where left out
    #[arg(long)]
    threads: Option<usize>,

    /// Runs of each engine, of which the best counts [default: as many as take half a second, 3 to
    /// 200; with --doc two seconds, 5 to 200]
    #[arg(long, value_parser = at_least_one)]
    runs: Option<usize>,

    /// Also write the ladder to this JSON file; one of that name is replaced when the run is complete
    #[arg(long)]
    json: Option<PathBuf>,

    /// Also time larger grids, and write all of it as a table into this Markdown file, between the lines
    /// `<!-- generated: begin sweeps -->` and `<!-- generated: end sweeps -->`; nothing else of it changes
    #[arg(long, value_name = "FILE")]
    doc: Option<PathBuf>,

    #[command(flatten)]
    plot: PlotArgs,
}

/// One engine's row.
#[derive(Debug, Serialize)]
struct Rung {
    engine: String,
    combinations_per_s: f64,
    seconds: f64,
    median_seconds: f64,
    runs: usize,
    /// Share of the decisions that the engine's bound left open.
    open_share: f64,
    strict: bool,
    /// Times as fast as M0, where M0 was timed on the same question.
    ratio_to_m0: Option<f64>,
    extrapolated: bool,
    threads: usize,
    bars: usize,
    combinations: usize,
    trades_compared: u64,
}

/// Runs the command.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Outcome {
    let engines = chosen(args)?;
    keep_apart(&[
        ("--json", args.json.as_deref()),
        ("--doc", args.doc.as_deref()),
    ])?;
    let document = args.doc.as_deref().map(Document::find).transpose()?;
    let json = args.json.as_deref().map(OutFile::create).transpose()?;
    let folder = args.plot.folder(&plot::LADDER)?;
    let budget = Budget::new(args.runs, document.is_some());
    let series = random_walk(args.bars, 42)?;
    let grid = Grid::parse(FAST, SLOW)?;
    let rungs = climb(&engines, &series, &grid, budget)?;
    if let Some(file) = json {
        write_json(file, &rungs)?;
    }
    if let Some(folder) = folder {
        draw(folder, &rungs, &grid, &series)?;
    }
    print(out, &rungs, &grid, &series)?;
    if let Some(document) = document {
        out.flush()?;
        document.write(args, &engines, &rungs, budget)?;
    }
    Ok(())
}

/// Holds every engine against M0, then times each on one grid.
fn climb(engines: &[Engine], series: &Series, grid: &Grid, budget: Budget) -> Outcome<Vec<Rung>> {
    let gates = gate(engines, series, grid)?;
    let m0 = time_m0(series, grid)?;
    let rung = |(engine, trades): (&Engine, u64)| {
        let is_m0 = engine.name() == "m0";
        let times = if is_m0 {
            m0
        } else {
            time(engine.backend.as_ref(), series, grid, budget)?
        };
        Ok(Rung {
            ratio_to_m0: Some(m0.best / times.best),
            extrapolated: is_m0,
            ..Rung::new(engine, series, grid, trades, times)
        })
    };
    engines.iter().zip(gates).map(rung).collect()
}

impl Rung {
    fn new(engine: &Engine, series: &Series, grid: &Grid, trades: u64, times: Times) -> Self {
        Self {
            engine: engine.name().to_owned(),
            combinations_per_s: grid.combinations() as f64 / times.best,
            seconds: times.best,
            median_seconds: times.median,
            runs: times.runs,
            open_share: times.open_share,
            strict: true,
            ratio_to_m0: None,
            extrapolated: false,
            threads: engine.threads,
            bars: series.bars(),
            combinations: grid.combinations(),
            trades_compared: trades,
        }
    }
}

fn at_least_one(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|&count| count > 0);
    count.ok_or_else(|| "give a whole number, 1 or more".to_owned())
}

/// The engines asked for; or every rung, a device that is not there left out with a word on the standard error.
fn chosen(args: &Args) -> Outcome<Vec<Engine>> {
    if !args.engines.is_empty() {
        let named = args.engines.iter();
        return named
            .map(|name| Engine::by_name(name.trim(), args.threads))
            .collect();
    }
    let mut engines = Vec::new();
    for name in engines::NAMES {
        match Engine::by_name(name, args.threads) {
            Ok(engine) => engines.push(engine),
            Err(Failure::Data(reason)) => eprintln!("without {name}: {reason}"),
            Err(failure) => return Err(failure),
        }
    }
    Ok(engines)
}

/// Holds every engine's trades against M0's before anything is timed; returns how many were compared for each.
///
/// M0 takes seconds, so it judges M2 once, and M2 the others: equal trades are equal to M0's.
fn gate(engines: &[Engine], series: &Series, grid: &Grid) -> Outcome<Vec<u64>> {
    let (m0, m2) = (Naive::new(), Sequential::new());
    let proven = require_equal(&m0, &m2, series, grid)?;
    let judge = |engine: &Engine| match engine.name() {
        "m0" | "m2" => Ok(proven),
        _ => require_equal(&m2, engine.backend.as_ref(), series, grid),
    };
    engines.iter().map(judge).collect()
}

/// M0 shares nothing between combinations, so a few that are spread over the grid stand for all; and a few runs are
/// enough, since it takes seconds.
fn time_m0(series: &Series, grid: &Grid) -> Outcome<Times> {
    let pairs: Vec<_> = spread(grid.combinations(), SAMPLE)
        .into_iter()
        .map(|combination| grid.combination(combination))
        .map(|(fast, slow)| (fast.clone(), slow.clone()))
        .collect();
    let sample = Grid::from_pairs(&pairs)?;
    let times = time(&Naive::new(), series, &sample, Budget::new(None, false))?;
    let share = grid.combinations() as f64 / sample.combinations() as f64;
    Ok(Times {
        best: times.best * share,
        median: times.median * share,
        ..times
    })
}

/// Indices spread evenly by the golden ratio: no stride of theirs falls in step with the rows of the grid.
fn spread(combinations: usize, sample: usize) -> Vec<usize> {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let at = |k: usize| ((k as f64 + 0.5) * GOLDEN).fract() * combinations as f64;
    (0..sample).map(|k| at(k) as usize).collect()
}

fn write_json(mut file: OutFile, rungs: &[Rung]) -> Outcome {
    let text = serde_json::to_string_pretty(rungs)
        .map_err(|error| Failure::Data(format!("cannot write the ladder as JSON: {error}")))?;
    writeln!(file, "{text}").map_err(|error| Failure::file(file.path(), error))?;
    file.finish()
}

fn draw(folder: &Path, rungs: &[Rung], grid: &Grid, series: &Series) -> Outcome {
    let note = format!(
        "{} on {} of the random walk; every engine's trades equal to M0's",
        counted(grid.combinations() as u64, "combination"),
        counted(series.bars() as u64, "bar")
    );
    let bar = |rung: &Rung| plot::Rung {
        name: format!(
            "{}, {} thread{}",
            rung.engine,
            rung.threads,
            if rung.threads == 1 { "" } else { "s" }
        ),
        per_second: rung.combinations_per_s,
    };
    plot::ladder(folder, &rungs.iter().map(bar).collect::<Vec<_>>(), &note)
}

fn print(out: &mut dyn Write, rungs: &[Rung], grid: &Grid, series: &Series) -> Outcome {
    let columns = [
        "engine",
        "combinations/s",
        "seconds",
        "x m0",
        "threads",
        "strict",
    ];
    let mut table = Table::new(&columns, 1);
    for rung in rungs {
        let mark = if rung.extrapolated { "*" } else { "" };
        table.push([
            format!("{}{mark}", rung.engine),
            format!("{:.1}", rung.combinations_per_s),
            format!("{:.4}", rung.seconds),
            rung.ratio_to_m0
                .map_or("-".to_owned(), |ratio| format!("{ratio:.1}")),
            rung.threads.to_string(),
            (if rung.strict { "equal" } else { "differs" }).to_owned(),
        ]);
    }
    print_head(out, rungs, grid, series)?;
    table.print(out)?;
    if rungs.iter().any(|rung| rung.extrapolated) {
        writeln!(
            out,
            "\n* extrapolated from {SAMPLE} combinations spread over the grid"
        )?;
    }
    Ok(())
}

fn print_head(out: &mut dyn Write, rungs: &[Rung], grid: &Grid, series: &Series) -> Outcome {
    let trades = rungs.first().map_or(0, |rung| rung.trades_compared);
    writeln!(
        out,
        "{FAST} x {SLOW}: {} on {} bars of the random walk, seed 42",
        counted(grid.combinations() as u64, "combination"),
        grouped(series.bars() as u64)
    )?;
    writeln!(
        out,
        "{} of each engine compared with m0 before timing\n",
        counted(trades, "trade")
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sample_is_spread_over_both_axes() {
        let found = spread(80, SAMPLE);
        let (fast, slow): (Vec<_>, Vec<_>) = found.iter().map(|i| (i / 8, i % 8)).unzip();
        for axis in [fast, slow] {
            let distinct: std::collections::HashSet<_> = axis.iter().collect();
            assert_eq!(distinct.len(), SAMPLE, "{found:?}");
        }
    }
}
