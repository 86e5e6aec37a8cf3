//! `crosscheck parity`: the report on engines that are not certified, or on those that are.

use std::io::Write;
use std::path::PathBuf;

use crosscheck::equivalence::{ParityReport, TripLimits, Verdict, report};
use crosscheck::{Grid, Pool, Rules, Series};

use super::candidate::Candidate;
use super::number::{counted, grouped};
use super::output::{OutFile, keep_apart};
use super::prices::{self, PriceArgs};
use super::table::Table;
use super::{Failure, Outcome, room};

/// What is judged on where no prices are given.
const WALK: &str = "random-walk:150000:42";

/// Judge engines against exact decisions: trades moved, PnL drift, filter error, and why.
#[derive(Debug, clap::Args)]
#[command(mut_arg("prices", |prices| prices.required(false).default_value(WALK)))]
pub(crate) struct Args {
    #[command(flatten)]
    prices: PriceArgs,

    /// Engines to judge, separated by commas: FORMULA-f32 and FORMULA-f64 (prefix, centred-prefix, sliding, direct,
    /// centred-direct), m5-raw (the GPU's fp32 values without their bound; feature gpu), or a rung such as m4. All
    /// formulas where left out; one engine alone prints its whole report
    #[arg(long, value_delimiter = ',')]
    engine: Vec<String>,

    /// The fast filters
    #[arg(long, default_value = "hma:20..=200:20")]
    fast: String,

    /// The slow filters
    #[arg(long, default_value = "hma3:24..=192:24")]
    slow: String,

    /// Fee of a round trip, in percent of the entry price
    #[arg(long, default_value_t = 0.0)]
    fee_pct: f64,

    /// Largest difference in the PnL of a combination, in percentage points
    #[arg(long, value_name = "PP", default_value_t = 5.0, allow_negative_numbers = true, value_parser = limit)]
    max_pnl_pp: f64,

    /// Largest difference in the trade count of a combination, in percent
    #[arg(long, value_name = "PCT", default_value_t = 1.0, allow_negative_numbers = true, value_parser = limit)]
    max_trades_pct: f64,

    /// Print the whole report of every engine
    #[arg(long)]
    full: bool,

    /// Exit with 1 where an engine is BROKEN; without it, the exit code says only that the report was made
    #[arg(long)]
    fail_on_broken: bool,

    /// Write one line a combination to this CSV file (one engine only); one of that name is replaced when the run is
    /// complete
    #[arg(long)]
    csv: Option<PathBuf>,

    /// Write the whole reports to this JSON file; one of that name is replaced when the run is complete
    #[arg(long)]
    json: Option<PathBuf>,
}

fn limit(text: &str) -> Result<f64, String> {
    let limit = text.parse().ok();
    let limit = limit.filter(|limit: &f64| *limit >= 0.0 && limit.is_finite());
    limit.ok_or_else(|| "give a number, 0 or more".to_owned())
}

/// Runs the command.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Outcome {
    let grid = Grid::parse(&args.fast, &args.slow)?;
    let rules = Rules::default().with_fee_pct(args.fee_pct)?;
    let candidates = candidates(&args.engine)?;
    if args.csv.is_some() && candidates.len() > 1 {
        let reason = "--csv holds the report of one engine: name it with --engine";
        return Err(Failure::Usage(reason.to_owned()));
    }
    let outputs = [
        ("--csv", args.csv.as_deref()),
        ("--json", args.json.as_deref()),
    ];
    keep_apart(&outputs)?;
    for path in outputs.iter().filter_map(|(_, path)| *path) {
        args.prices.keep_from_output(path)?;
    }
    let csv = args.csv.as_deref().map(OutFile::create).transpose()?;
    let json = args.json.as_deref().map(OutFile::create).transpose()?;
    let series = args.prices.load(false)?;
    let reports = judge(args, &candidates, &series, &grid, &rules)?;
    writeln!(
        out,
        "{}; {} {} x {}\n",
        prices::describe(&series),
        counted(grid.combinations() as u64, "combination"),
        args.fast,
        args.slow
    )?;
    print(out, &reports, args.full)?;
    write_files(csv, json, &reports)?;
    if args.fail_on_broken {
        out.flush()?;
        return refuse_broken(&reports);
    }
    Ok(())
}

fn candidates(names: &[String]) -> Outcome<Vec<Candidate>> {
    if names.is_empty() {
        return Ok(Candidate::all());
    }
    let names = names.iter();
    names.map(|name| Candidate::by_name(name.trim())).collect()
}

fn refuse_broken(reports: &[ParityReport]) -> Outcome {
    let is_broken = |report: &&ParityReport| broken(report).is_some();
    let names: Vec<&str> = reports
        .iter()
        .filter(is_broken)
        .map(|report| report.candidate.as_str())
        .collect();
    if names.is_empty() {
        return Ok(());
    }
    Err(Failure::Data(format!("BROKEN: {}", names.join(", "))))
}

fn judge(
    args: &Args,
    candidates: &[Candidate],
    series: &Series,
    grid: &Grid,
    rules: &Rules,
) -> Outcome<Vec<ParityReport>> {
    check_room(series, grid)?;
    let reference = Pool::new(None);
    let judge = |candidate: &Candidate| {
        let limits = TripLimits {
            pnl_pp: args.max_pnl_pp,
            trade_count_pct: args.max_trades_pct,
            precision: candidate.precision,
        };
        let candidate = candidate.backend.as_ref();
        Ok(report(&reference, candidate, series, grid, rules, limits)?)
    };
    candidates.iter().map(judge).collect()
}

/// Refuses what the memory cannot hold: rows of all filters, exact and by the formula, which sums in rows of its own.
fn check_room(series: &Series, grid: &Grid) -> Outcome {
    let rows = grid.filters().len().saturating_mul(2).saturating_add(20);
    let bytes = series
        .bars()
        .saturating_mul(rows)
        .saturating_mul(size_of::<f64>());
    let (bars, filters) = (series.bars() as u64, grid.filters().len() as u64);
    let (bars, filters) = (counted(bars, "bar"), counted(filters, "filter"));
    let what = format!("the report on {bars} and {filters} needs");
    room::ask(bytes, &what, "take fewer filters or fewer bars")
}

fn print(out: &mut dyn Write, reports: &[ParityReport], is_full: bool) -> Outcome {
    if reports.len() > 1 {
        print_table(out, reports)?;
    }
    if is_full || reports.len() == 1 {
        for (index, report) in reports.iter().enumerate() {
            let gap = if index > 0 || reports.len() > 1 {
                "\n"
            } else {
                ""
            };
            writeln!(out, "{gap}{report}")?;
        }
    }
    Ok(())
}

const COLUMNS: [&str; 10] = [
    "engine",
    "trades",
    "count off",
    "moved",
    "moved %",
    "PnL pp",
    "filter error",
    "close calls",
    "verdict",
    "differ",
];

fn print_table(out: &mut dyn Write, reports: &[ParityReport]) -> Outcome {
    let mut table = Table::new(&COLUMNS, 1);
    let exact = &reports[0];
    let mut first = vec!["-".to_owned(); COLUMNS.len()];
    first[0] = format!("exact ({})", exact.reference);
    first[1] = grouped(exact.reference_trades());
    table.push(first);
    for report in reports {
        table.push(cells(report));
    }
    table.print(out)?;
    writeln!(
        out,
        "\ndiffer: combinations on which any trade moved; a decoy, no verdict rests on it"
    )?;
    for report in reports {
        if let Some(reason) = broken(report) {
            writeln!(out, "{}: {reason}", report.candidate)?;
        }
    }
    Ok(())
}

fn cells(report: &ParityReport) -> [String; COLUMNS.len()] {
    let (calls, all) = (report.close_calls(), report.disagreements());
    let verdict = if broken(report).is_some() {
        "BROKEN"
    } else {
        "Correct"
    };
    [
        report.candidate.clone(),
        grouped(report.candidate_trades()),
        grouped(report.trade_count_drift()),
        grouped(report.moved()),
        short(report.moved_pct()),
        format!("{:.3}", report.max_pnl_difference_pp()),
        short(report.worst_relative.error),
        format!("{} of {}", grouped(calls), grouped(all)),
        verdict.to_owned(),
        grouped(report.combinations_that_differ() as u64),
    ]
}

fn write_files(csv: Option<OutFile>, json: Option<OutFile>, reports: &[ParityReport]) -> Outcome {
    if let Some(mut file) = csv {
        let written = reports[0].write_csv(&mut file);
        written.map_err(|error| Failure::file(file.path(), error))?;
        file.finish()?;
    }
    let Some(mut file) = json else {
        return Ok(());
    };
    let text = serde_json::to_string_pretty(reports)
        .map_err(|error| Failure::Data(format!("cannot write the reports as JSON: {error}")))?;
    writeln!(file, "{text}").map_err(|error| Failure::file(file.path(), error))?;
    file.finish()
}

/// Why a report calls its engine broken, if it does.
pub(crate) fn broken(report: &ParityReport) -> Option<&str> {
    match &report.verdict {
        Verdict::Correct => None,
        Verdict::Broken { reason } => Some(reason),
    }
}

/// A number in two digits.
pub(crate) fn short(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || (1.0..1000.0).contains(&size) {
        let digits = usize::from(size < 10.0 && value != 0.0);
        format!("{value:.digits$}")
    } else if (0.01..1.0).contains(&size) {
        format!("{value:.2}")
    } else {
        format!("{value:.1e}")
    }
}
