//! `crosscheck sweep`: one row of results for every combination of the grid, in chunks that are never lost.

use std::io::Write;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Instant;

use crosscheck::{
    Compounding, Diagnostics, Grid, Metric, MetricSet, Question, Rules, Series, Sweep,
};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;

use super::best::{self, Tally};
use super::chunks::Chunks;
use super::engines::{self, Engine};
use super::interrupt::{self, Stage};
use super::number::{counted, grouped};
use super::plot::{self, PlotArgs};
use super::prices::PriceArgs;
use super::rows::{self, Format, Record};
use super::rows_file::{Place, RowsFile, beside};
use super::rules::RulesArgs;
use super::{Failure, Outcome, meta, room};

/// Sweep a grid: trades, PnL and wins of every combination, and any metric.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    prices: PriceArgs,

    /// The fast filters, such as hma:20..=200:20 or sma:5,10
    #[arg(long)]
    pub(super) fast: String,

    /// The slow filters, such as hma3:24..=192:24
    #[arg(long)]
    pub(super) slow: String,

    /// Engine that decides the sides, the same on each: m0, m1, m2, m4 (a pool over all cores, no device), m5 (the GPU,
    /// feature gpu), or auto (m2, m4 or m5 by a short calibration)
    #[arg(long, default_value = engines::DEFAULT)]
    engine: String,

    /// Threads of an engine that has a pool; all cores where left out
    #[arg(long)]
    threads: Option<usize>,

    #[command(flatten)]
    rules: RulesArgs,

    /// Metric that ranks the combinations, such as sharpe or calmar
    #[arg(long, value_name = "NAME", default_value = "pnl_pct")]
    metric: String,

    /// Write the totals alone to --out, not every metric: two to five times as fast
    #[arg(long)]
    totals_only: bool,

    /// Bars a year, by which metrics are annualised; from the timestamps where left out
    #[arg(long, value_name = "BARS", allow_negative_numbers = true)]
    periods_per_year: Option<f64>,

    /// Write every row to this file: .csv or .jsonl, with what it is of in NAME.meta.json beside it, or .parquet
    /// (feature parquet), which holds that itself; a file of that name is replaced when the run is complete
    #[arg(long)]
    out: Option<PathBuf>,

    /// Go on with the rows that an interrupted sweep left beside --out
    #[arg(long, requires = "out")]
    resume: bool,

    /// Combinations to compute between two writes; about a second's work where left out, and more where the filters
    /// would have to be computed again and again
    #[arg(long, value_name = "COMBINATIONS", value_parser = at_least_one)]
    chunk: Option<usize>,

    /// Print the best K combinations, 100,000 at most
    #[arg(long, value_name = "K", default_value_t = 10, value_parser = at_most_a_table)]
    top: usize,

    #[command(flatten)]
    plot: PlotArgs,

    /// Print nothing but errors: no table, whatever --top says, no progress and no warnings about the prices
    #[arg(long)]
    quiet: bool,
}

/// Everything that the rows depend on.
pub(super) struct Job {
    pub(super) engine: Engine,
    pub(super) series: Series,
    pub(super) grid: Grid,
    pub(super) rules: Rules,
    metric: Metric,
    pub(super) set: Option<MetricSet>,
}

/// Runs the command.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Outcome {
    interrupt::enter(Stage::SetUp);
    interrupt::last_words(interrupt::NOTHING.to_owned());
    let place = places(args)?;
    let folder = args.plot.folder(&plot::SWEEP)?;
    let job = set_up(args)?;
    let (mut tally, sweep) = compute(args, &job, place)?;
    if let Some(folder) = folder {
        let data = (&job.series, &job.grid, &job.rules);
        let backend = job.engine.backend.as_ref();
        plot::sweep(folder, data, backend, &sweep, (job.metric, title(args)))?;
    }
    if args.quiet {
        return Ok(());
    }
    tally.print_best(out)?;
    tally.print_sums(out, &job.series, job.engine.name())?;
    best::print_diagnostics(out, &sweep.diagnostics)
}

/// Checks where results go, and takes the place of the rows.
fn places(args: &Args) -> Outcome<Option<Place>> {
    if let Some(out) = &args.out {
        args.prices.keep_from_output(out)?;
        for path in beside(out) {
            args.prices.keep_from(&path)?;
        }
    }
    args.plot.keep_from(&args.prices, &plot::SWEEP)?;
    if args.plot.is_asked() && args.resume {
        let reason = "pictures need every row in one run: leave --plot or --resume out";
        return Err(Failure::Usage(reason.to_owned()));
    }
    let place = args.out.as_deref();
    place.map(|path| Place::take(path, args.resume)).transpose()
}

/// Reads what the command line names; Ctrl-C ends it between any two steps.
fn set_up(args: &Args) -> Outcome<Job> {
    let rules = args.rules.rules()?;
    let metric = rows::metric(&args.metric)?;
    refuse_undefined(metric, &rules)?;
    let engine = Engine::by_name(&args.engine, args.threads)?;
    engine.refuse_idle(args.threads)?;
    let grid = Grid::parse(&args.fast, &args.slow)?;
    args.plot.check_cells(grid.combinations())?;
    interrupt::check()?;
    let series = args.prices.load(args.quiet)?;
    interrupt::check()?;
    args.rules.check(&series, &args.prices.prices)?;
    check_length(&series, &grid)?;
    let set = metric_set(args, metric, &series)?;
    Ok(Job {
        engine,
        series,
        grid,
        rules,
        metric,
        set,
    })
}

/// Refuses a metric that no combination would have under these rules: nothing could be ranked by it.
fn refuse_undefined(metric: Metric, rules: &Rules) -> Outcome {
    if metric != Metric::Compounded || rules.compounding() == Compounding::Compounded {
        return Ok(());
    }
    let reason = "compounded_pct is undefined where trades are not compounded: give --compound, or another --metric";
    Err(Failure::Usage(reason.to_owned()))
}

/// Refuses a series that is too short, by the filter of the longest need alone: the memory for all combinations is never
/// asked for at once.
fn check_length(series: &Series, grid: &Grid) -> Outcome {
    let longest = grid.filters().iter().max_by_key(|filter| filter.warm_up());
    let pair = longest.map(|filter| (filter.clone(), filter.clone()));
    Question::new(series, &Grid::from_pairs(pair.as_slice())?)?;
    Ok(())
}

fn at_least_one(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|&count| count > 0);
    count.ok_or_else(|| "give a whole number, 1 or more".to_owned())
}

fn at_most_a_table(text: &str) -> Result<usize, String> {
    const MOST: usize = 100_000;
    let count = text.parse().ok().filter(|&count| count <= MOST);
    count.ok_or_else(|| "give a whole number up to 100000; --out has every row".to_owned())
}

fn title(args: &Args) -> &str {
    if args.metric == "pnl_pct" {
        return "PnL, percent of entry price, summed over the trades";
    }
    &args.metric
}

/// The metrics to measure: every one for a file, unless the totals are to suffice.
fn metric_set(args: &Args, metric: Metric, series: &Series) -> Outcome<Option<MetricSet>> {
    const YEAR_MS: f64 = 365.0 * 86_400_000.0;
    let refuse = |error: crosscheck::Error| Failure::Usage(error.to_string());
    // A number that makes no sense is refused where it changes nothing, too.
    args.periods_per_year
        .map(MetricSet::all)
        .transpose()
        .map_err(refuse)?;
    let (is_ranked, is_written) = (rows::is_measured(metric), args.out.is_some());
    if !is_ranked && (args.totals_only || !is_written) {
        return Ok(None);
    }
    let of_series = series.bar_length().map(|length| YEAR_MS / length as f64);
    let is_walk = args.prices.prices.starts_with("random-walk:");
    let minutes = is_walk.then_some(525_600.0);
    let periods = args
        .periods_per_year
        .or(of_series)
        .or(minutes)
        .ok_or_else(|| {
            let reason = "the file has no timestamps: give --periods-per-year, or --totals-only";
            Failure::Usage(reason.to_owned())
        })?;
    MetricSet::all(periods).map(Some).map_err(refuse)
}

/// Computes chunk by chunk and writes each; returns what all rows come to, and what this run computed.
fn compute<'a>(args: &'a Args, job: &Job, place: Option<Place>) -> Outcome<(Tally<'a>, Sweep)> {
    let question = meta::question(args, job);
    let mut tally = Tally::new(&args.metric, job.metric, args.top);
    let format = place.as_ref().map_or(Format::Csv, |place| place.format);
    let mut file = place
        .map(|place| begin(place, job, &question, &mut tally))
        .transpose()?;
    let total = job.grid.combinations();
    let progress = progress(args.quiet, total, tally.rows());
    let mut sweep = nothing(job);
    let weight = job.engine.filter_weight(job.set.is_some());
    let (pairs, bars) = (job.grid.pairs(), job.series.bars());
    let mut chunks = Chunks::new(pairs, tally.rows(), bars, weight, args.chunk);
    interrupt::last_words(interrupted(args, tally.rows(), total));
    interrupt::enter(file.as_ref().map_or(Stage::Printing, |_| Stage::Writing));
    while let Some(chunk) = chunks.take() {
        if interrupt::is_asked() {
            progress.abandon();
            return Err(Failure::Interrupted(interrupted(args, tally.rows(), total)));
        }
        if args.chunk.is_none() && is_tight(chunk.len()) && chunks.halve(&chunk) {
            continue;
        }
        let start = Instant::now();
        let part = match job.sweep(chunk.clone()) {
            Err(Failure::Memory(_)) if chunks.halve(&chunk) => continue,
            swept => swept.map_err(|failure| name_chunk(failure, args.chunk, chunk.len()))?,
        };
        chunks.took(start.elapsed().as_secs_f64());
        let busy = interrupt::busy();
        if let Some(file) = &mut file {
            file.write(part.rows.iter().map(|row| format.line(row)))?;
        }
        for row in &part.rows {
            tally.push(Record::of(row, job.metric));
        }
        interrupt::last_words(interrupted(args, tally.rows(), total));
        drop(busy);
        progress.inc(part.rows.len() as u64);
        sweep.diagnostics.merge(&part.diagnostics);
        if args.plot.is_asked() {
            sweep.rows.extend(part.rows);
        }
    }
    progress.finish_and_clear();
    file.map(|file| file.finish(&question)).transpose()?;
    interrupt::last_words(PICTURES.to_owned());
    Ok((tally, sweep))
}

/// Whether a chunk would leave no memory for what is allocated bit by bit, where a failure ends the process.
fn is_tight(combinations: usize) -> bool {
    /// Four times what the library asks for: rows hold names and notes of their own, in many small pieces.
    const EACH: usize = 10_240;
    /// Stacks and heaps of the threads.
    const OF_THREADS: usize = 64 << 20;
    /// Fewer combinations would save less than the threads take.
    const FEW: usize = 1_024;
    let bytes = combinations.saturating_mul(EACH).saturating_add(OF_THREADS);
    combinations > FEW && room::ask(bytes, "a chunk needs", "take a smaller one").is_err()
}

/// Adds the remedy where the size of the chunks was asked for: it is not made smaller than that unasked.
fn name_chunk(failure: Failure, asked: Option<usize>, combinations: usize) -> Failure {
    match failure {
        Failure::Memory(reason) if asked.is_some() && combinations > 1 => Failure::Memory(format!(
            "{reason}, or take a smaller --chunk than {combinations}"
        )),
        other => other,
    }
}

fn nothing(job: &Job) -> Sweep {
    Sweep {
        rows: Vec::new(),
        diagnostics: Diagnostics::new(job.engine.name(), true),
    }
}

/// Opens the file of the rows, and tallies what an interrupted sweep left in it.
fn begin(place: Place, job: &Job, question: &Value, tally: &mut Tally<'_>) -> Outcome<RowsFile> {
    let format = place.format;
    let header = format.header(job.set.is_some());
    let head = header.as_deref();
    let metric = tally.name();
    RowsFile::open(place, question, head, |line| {
        let record = format.record(line, head.unwrap_or_default(), metric);
        let record = record.ok_or_else(|| {
            Failure::Data(format!(
                "a line of the interrupted sweep is no row: {line}; remove its file and start again"
            ))
        })?;
        tally.push(record);
        Ok(())
    })
}

impl Job {
    fn sweep(&self, chunk: Range<usize>) -> Outcome<Sweep> {
        let backend = &self.engine.backend;
        let part = self.grid.range(chunk)?;
        self.engine
            .check_room(&self.series, &part, self.set.is_some())?;
        let sweep = match &self.set {
            Some(set) => backend.sweep_with(&self.series, &part, &self.rules, set),
            None => backend.sweep(&self.series, &part, &self.rules),
        };
        Ok(sweep?)
    }
}

/// A bar on the standard error; indicatif hides it where that is no terminal.
fn progress(is_quiet: bool, total: usize, done: usize) -> ProgressBar {
    if is_quiet {
        return ProgressBar::hidden();
    }
    let template = "{bar:40} {pos}/{len} combinations, {per_sec}, {eta} left";
    let style =
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(total as u64)
        .with_style(style)
        .with_position(done as u64)
}

/// Where Ctrl-C comes after the last row.
const PICTURES: &str = "stopped after the last combination: its rows are kept where --out was given, what was to come after \
    them is not";

fn interrupted(args: &Args, done: usize, total: usize) -> String {
    let (done, total) = (grouped(done as u64), counted(total as u64, "combination"));
    let next = match &args.out {
        Some(_) => "the same command with --resume goes on",
        None => "with --out the rows would be kept",
    };
    format!("stopped after {done} of {total}: {next}")
}
