//! `crosscheck sweep`: one row of results for every combination of the grid, in chunks that are never lost.

use std::io::Write;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Instant;

use crosscheck::{Diagnostics, Grid, Metric, MetricSet, Question, Rules, Series, Sweep};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;

use super::chunks::Chunks;
use super::engines::{self, Engine};
use super::plot::{self, PlotArgs};
use super::prices::PriceArgs;
use super::rows::{self, Format, Record};
use super::rows_file::RowsFile;
use super::rules::RulesArgs;
use super::table::grouped;
use super::{Failure, Outcome, best, interrupt, meta};

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
    /// (feature parquet), which holds that itself
    #[arg(long)]
    out: Option<PathBuf>,

    /// Go on with the rows that an interrupted sweep left beside --out
    #[arg(long, requires = "out")]
    resume: bool,

    /// Combinations to compute between two writes; about a second's work where left out
    #[arg(long, value_name = "COMBINATIONS", value_parser = at_least_one)]
    chunk: Option<usize>,

    /// Print the best K combinations
    #[arg(long, value_name = "K", default_value_t = 10)]
    top: usize,

    #[command(flatten)]
    plot: PlotArgs,

    /// Print nothing that is not asked for
    #[arg(long)]
    quiet: bool,
}

/// Everything that the rows depend on.
struct Job {
    engine: Engine,
    series: Series,
    grid: Grid,
    rules: Rules,
    metric: Metric,
    set: Option<MetricSet>,
}

/// Runs the command.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Outcome {
    let grid = Grid::parse(&args.fast, &args.slow)?;
    let rules = args.rules.rules()?;
    let metric = rows::metric(&args.metric)?;
    let engine = Engine::by_name(&args.engine, args.threads)?;
    let format = args.out.as_deref().map(Format::of).transpose()?;
    // Hours of work must not end at a path that cannot be written.
    args.prices.keep_from(args.out.as_deref())?;
    args.out.as_deref().map(RowsFile::probe).transpose()?;
    let folder = args.plot.folder()?;
    if folder.is_some() && args.resume {
        let reason = "pictures need every row in one run: leave --plot or --resume out";
        return Err(Failure::Usage(reason.to_owned()));
    }
    let series = args.prices.load(args.quiet)?;
    Question::new(&series, &grid)?;
    let set = metric_set(args, metric, &series)?;
    let job = Job {
        engine,
        series,
        grid,
        rules,
        metric,
        set,
    };
    let (records, sweep) = compute(args, &job, format)?;
    if let Some(folder) = folder {
        let data = (&job.series, &job.grid, &job.rules);
        plot::sweep(
            folder,
            data,
            job.engine.backend.as_ref(),
            &sweep,
            (metric, title(args)),
        )?;
    }
    if args.quiet {
        return Ok(());
    }
    best::print(out, &records, (&args.metric, job.metric), args.top)?;
    best::print_sums(out, &records, &job.series, job.engine.name())?;
    best::print_diagnostics(out, &sweep)
}

fn at_least_one(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|&count| count > 0);
    count.ok_or_else(|| "give a whole number, 1 or more".to_owned())
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

/// Computes chunk by chunk and writes each; returns the records of all rows and what this run computed.
fn compute(args: &Args, job: &Job, format: Option<Format>) -> Outcome<(Vec<Record>, Sweep)> {
    let format = format.unwrap_or(Format::Csv);
    let question = meta::question(
        args,
        &job.series,
        &job.grid,
        &job.rules,
        job.set.as_ref(),
        &job.engine,
    );
    let (mut file, mut records) = begin(args, job, format, &question)?;
    let total = job.grid.combinations();
    let progress = progress(args.quiet, total, records.len());
    interrupt::listen();
    let mut sweep: Option<Sweep> = None;
    let mut chunks = Chunks::new(records.len()..total, job.series.bars(), args.chunk);
    while let Some(chunk) = chunks.take() {
        if interrupt::is_asked() {
            progress.abandon();
            return Err(interrupted(args, records.len(), total));
        }
        let start = Instant::now();
        let part = job.sweep(chunk)?;
        chunks.took(start.elapsed().as_secs_f64());
        if let Some(file) = &mut file {
            let lines: Vec<_> = part.rows.iter().map(|row| format.line(row)).collect();
            file.write(&lines)?;
        }
        progress.inc(part.rows.len() as u64);
        records.extend(part.rows.iter().map(|row| Record::of(row, job.metric)));
        append(&mut sweep, part);
    }
    progress.finish_and_clear();
    if let Some(file) = file {
        file.finish(&question)?;
    }
    let nothing = || Sweep {
        rows: Vec::new(),
        diagnostics: Diagnostics::new(job.engine.name(), true),
    };
    Ok((records, sweep.unwrap_or_else(nothing)))
}

/// Opens the file of the rows, if one is wanted; returns what an interrupted sweep left in it, too.
fn begin(
    args: &Args,
    job: &Job,
    format: Format,
    question: &Value,
) -> Outcome<(Option<RowsFile>, Vec<Record>)> {
    let Some(path) = &args.out else {
        return Ok((None, Vec::new()));
    };
    let header = format.header(job.set.is_some());
    let head = header.as_deref().unwrap_or_default();
    let (file, lines) = RowsFile::open(path, format, question, header.as_deref(), args.resume)?;
    let records = lines
        .iter()
        .map(|line| format.record(line, head, &args.metric));
    let records: Option<Vec<_>> = records.collect();
    let records = records.ok_or_else(|| {
        let name = path.display();
        Failure::Data(format!(
            "{name}.partial has a line that is no row: remove it"
        ))
    })?;
    Ok((Some(file), records))
}

fn append(sweep: &mut Option<Sweep>, part: Sweep) {
    match sweep {
        Some(sweep) => {
            sweep.diagnostics.merge(&part.diagnostics);
            sweep.rows.extend(part.rows);
        }
        None => *sweep = Some(part),
    }
}

impl Job {
    fn sweep(&self, chunk: Range<usize>) -> Outcome<Sweep> {
        let pair = |combination| {
            let (fast, slow) = self.grid.combination(combination);
            (fast.clone(), slow.clone())
        };
        let backend = &self.engine.backend;
        let part = Grid::from_pairs(&chunk.map(pair).collect::<Vec<_>>())?;
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

fn interrupted(args: &Args, done: usize, total: usize) -> Failure {
    let (done, total) = (grouped(done as u64), grouped(total as u64));
    let next = match &args.out {
        Some(_) => "the same command with --resume goes on",
        None => "with --out the rows would be kept",
    };
    Failure::Interrupted(format!(
        "stopped after {done} of {total} combinations: {next}"
    ))
}
