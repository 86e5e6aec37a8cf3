//! `crosscheck sweep`: one row of results for every combination of the grid, in chunks that are never lost.

use std::io::Write;
use std::ops::Range;
use std::path::PathBuf;

use crosscheck::{Diagnostics, Grid, Metric, MetricSet, Question, Rules, Series, Sweep, rank};
use indicatif::{ProgressBar, ProgressStyle};

use super::engines::{self, Engine};
use super::plot::{self, PlotArgs};
use super::prices::{self, PriceArgs};
use super::rows::{self, Format, Record};
use super::rows_file::RowsFile;
use super::rules::RulesArgs;
use super::table::{Table, grouped};
use super::{Failure, Outcome, interrupt, meta};

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

    /// Engine that decides the sides
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

    /// Write every metric, not the totals alone
    #[arg(long)]
    metrics: bool,

    /// Bars a year, by which metrics are annualised; from the timestamps where left out
    #[arg(long, value_name = "BARS", allow_negative_numbers = true)]
    periods_per_year: Option<f64>,

    /// Write every row to this file, .csv or .jsonl; what it is of goes into NAME.meta.json beside it
    #[arg(long)]
    out: Option<PathBuf>,

    /// Go on with the rows that an interrupted sweep left beside --out
    #[arg(long, requires = "out")]
    resume: bool,

    /// Combinations to compute between two writes; about a second's work where left out
    #[arg(long, value_name = "COMBINATIONS")]
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
    print(out, args, &records, &job)?;
    print_diagnostics(out, &sweep)
}

fn title(args: &Args) -> &str {
    if args.metric == "pnl_pct" {
        return "PnL, percent of entry price, summed over the trades";
    }
    &args.metric
}

/// The metrics to measure, if the totals do not suffice.
fn metric_set(args: &Args, metric: Metric, series: &Series) -> Outcome<Option<MetricSet>> {
    const YEAR_MS: f64 = 365.0 * 86_400_000.0;
    if !args.metrics && !rows::is_measured(metric) {
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
            Failure::Usage("the file has no timestamps: give --periods-per-year".to_owned())
        })?;
    let set = MetricSet::all(periods).map_err(|error| Failure::Usage(error.to_string()))?;
    Ok(Some(set))
}

/// Computes chunk by chunk and writes each; returns the records of all rows and what this run computed.
fn compute(args: &Args, job: &Job, format: Option<Format>) -> Outcome<(Vec<Record>, Sweep)> {
    let format = format.unwrap_or(Format::Csv);
    let header = format.header(job.set.is_some());
    let question = meta::question(
        args,
        &job.series,
        &job.grid,
        &job.rules,
        job.set.as_ref(),
        &job.engine,
    );
    let mut file = None;
    let mut records = Vec::new();
    if let Some(path) = &args.out {
        let (opened, lines) = RowsFile::open(path, &question, header.as_deref(), args.resume)?;
        let head = header.as_deref().unwrap_or_default();
        let read = |line: &String| format.record(line, head, &args.metric);
        records = lines
            .iter()
            .map(read)
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| {
                Failure::Data(format!(
                    "{}.partial has a line that is no row: remove it",
                    path.display()
                ))
            })?;
        file = Some(opened);
    }
    let total = job.grid.combinations();
    let progress = progress(args.quiet, total, records.len());
    interrupt::listen();
    let mut sweep: Option<Sweep> = None;
    for chunk in chunks(records.len()..total, chunk_size(args, job)) {
        if interrupt::is_asked() {
            progress.abandon();
            return Err(interrupted(args, records.len(), total));
        }
        let part = job.sweep(chunk)?;
        if let Some(file) = &mut file {
            file.write(
                &part
                    .rows
                    .iter()
                    .map(|row| format.line(row))
                    .collect::<Vec<_>>(),
            )?;
        }
        progress.inc(part.rows.len() as u64);
        records.extend(part.rows.iter().map(|row| Record::of(row, job.metric)));
        match &mut sweep {
            Some(sweep) => {
                sweep.diagnostics.merge(&part.diagnostics);
                sweep.rows.extend(part.rows);
            }
            None => sweep = Some(part),
        }
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

/// About a second's work of a fast engine, and whole rows of the grid where that is small.
fn chunk_size(args: &Args, job: &Job) -> usize {
    const BAR_COMBINATIONS: usize = 2_000_000_000;
    args.chunk
        .unwrap_or(BAR_COMBINATIONS / job.series.bars())
        .max(1)
}

fn chunks(rest: Range<usize>, size: usize) -> impl Iterator<Item = Range<usize>> {
    let end = rest.end;
    rest.step_by(size)
        .map(move |start| start..end.min(start.saturating_add(size)))
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

fn print(out: &mut dyn Write, args: &Args, records: &[Record], job: &Job) -> Outcome {
    let sign = if job.metric.is_better_low() {
        -1.0
    } else {
        1.0
    };
    let scores: Vec<f64> = records
        .iter()
        .map(|r| r.value.map_or(f64::NAN, |value| sign * value))
        .collect();
    let is_finite = |index: &usize| scores[*index].is_finite();
    let best: Vec<usize> = rank(&scores)
        .into_iter()
        .filter(is_finite)
        .take(args.top)
        .collect();
    if !best.is_empty() {
        let is_shown = ["trades", "pnl_pct"].contains(&args.metric.as_str());
        let mut columns = vec!["fast", "slow", "trades", "pnl_pct", "wins"];
        columns.extend((!is_shown).then_some(args.metric.as_str()));
        let mut table = Table::new(&columns, 2);
        for record in best.into_iter().map(|index| &records[index]) {
            let mut row = vec![
                record.fast.clone(),
                record.slow.clone(),
                grouped(record.trades),
            ];
            row.extend([format!("{:.4}", record.pnl_pct), grouped(record.wins)]);
            row.extend(
                record
                    .value
                    .filter(|_| !is_shown)
                    .map(|value| format!("{value:.4}")),
            );
            table.push(row);
        }
        table.print(out)?;
        writeln!(out)?;
    }
    let trades: u64 = records.iter().map(|record| record.trades).sum();
    let (trades, count) = (grouped(trades), grouped(records.len() as u64));
    let (prices, engine) = (prices::describe(&job.series), job.engine.name());
    writeln!(
        out,
        "{trades} trades of {count} combinations on {prices}; engine {engine}"
    )?;
    Ok(())
}

fn print_diagnostics(out: &mut dyn Write, sweep: &Sweep) -> Outcome {
    let diagnostics = &sweep.diagnostics;
    writeln!(
        out,
        "{} of {} decisions undecided by the bound ({:.2e}), {} exact ties among them",
        grouped(diagnostics.undecided),
        grouped(diagnostics.decisions),
        diagnostics.undecided_share(),
        grouped(diagnostics.ties),
    )?;
    for note in &diagnostics.notes {
        writeln!(out, "note: {note}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_the_rest_once() {
        let all: Vec<_> = chunks(3..10, 3).collect();
        assert_eq!(all, [3..6, 6..9, 9..10]);
        assert_eq!(chunks(5..5, 3).count(), 0);
        assert_eq!(chunks(0..2, usize::MAX).last(), Some(0..2));
    }
}
