//! `crosscheck trap`: the published story in one table, measured here: which formulas lose the price, and when.

use std::io::Write;
use std::path::PathBuf;

use crosscheck::equivalence::{ParityReport, Scale, TripLimits, audit, measure, report};
use crosscheck::{
    Backend, Filter, Formula, Grid, Pool, Precision, Rules, Series, Uncertified, random_walk,
};
use serde::Serialize;

use super::number::{counted, grouped};
use super::output::OutFile;
use super::parity::{broken, short};
use super::plot::{self, PlotArgs};
use super::table::Table;
use super::{Failure, Outcome};

/// Bars of the published series, and of the long one.
const BARS: [usize; 2] = [150_000, 10_000_000];

/// The plain averages whose error is measured.
const PERIODS: [usize; 2] = [2, 14];

/// What was published on another series of 150,000 bars at 30,000.
const PUBLISHED: &str = "published, on another series of 150,000 bars at 30,000: f32 prefix sums relative error 211, f32 direct windows 8.2e-7;\n\
    there direct windows moved 90 of 479,016 trades (0.02 %) on 37 of 80 combinations, PnL off by up to 1.843 pp";

/// Show which formulas lose the price: prefix sums, sliding updates and direct windows in f32 and f64.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Also run ten million bars, one combination; takes some minutes and 2 GB
    #[arg(long)]
    long: bool,

    /// Bars of the first table's random walk
    #[arg(long, default_value_t = BARS[0])]
    bars: usize,

    /// Also write both tables to this JSON file; one of that name is replaced when the run is complete
    #[arg(long)]
    json: Option<PathBuf>,

    #[command(flatten)]
    plot: PlotArgs,
}

/// One formula on one series.
#[derive(Debug, Serialize)]
struct Row {
    engine: String,
    bars: usize,
    combinations: usize,
    /// Largest sum or product on the way of the plain averages, and what the audit predicted.
    largest_intermediate: f64,
    predicted_largest: f64,
    spacing: f64,
    /// Largest relative error of each plain average against exact values, and the proven bound.
    max_relative_error: Vec<Option<f64>>,
    predicted_worst: Vec<f64>,
    trades: u64,
    reference_trades: u64,
    /// Differences of the trade counts, each without its sign, summed over the combinations.
    count_off: u64,
    moved: u64,
    moved_pct: f64,
    max_pnl_difference_pp: f64,
    combinations_that_differ: usize,
    close_calls: u64,
    disagreements: u64,
    is_broken: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Outcome {
    let file = args.json.as_deref().map(OutFile::create).transpose()?;
    let folder = args.plot.folder(&plot::TRAP)?;
    let mut rows = table(args.bars, "hma:20..=200:20", "hma3:24..=192:24", out)?;
    writeln!(out, "\n{PUBLISHED}")?;
    if args.long {
        writeln!(out)?;
        rows.extend(table(BARS[1], "hma:20", "hma3:24", out)?);
    }
    if let Some(folder) = folder {
        plot::trap(folder)?;
    }
    let Some(mut file) = file else {
        return Ok(());
    };
    let text = serde_json::to_string_pretty(&rows)
        .map_err(|error| Failure::Data(format!("cannot write the rows as JSON: {error}")))?;
    writeln!(file, "{text}").map_err(|error| Failure::file(file.path(), error))?;
    file.finish()
}

/// Measures every formula on one walk and prints the table.
fn table(bars: usize, fast: &str, slow: &str, out: &mut dyn Write) -> Outcome<Vec<Row>> {
    let (series, grid) = (random_walk(bars, 42)?, Grid::parse(fast, slow)?);
    let filters = PERIODS.map(Filter::wma);
    let filters: Vec<Filter> = filters.into_iter().collect::<Result<_, _>>()?;
    let scale = Scale::of(&series);
    writeln!(out, "before anything runs, by the audit of {}:", filters[1])?;
    for formula in Formula::ALL {
        let audit = audit(&filters[1], formula, scale);
        writeln!(out, "  {formula:<15} {}", audit.single)?;
        writeln!(out, "  {:<15} {}", "", audit.double)?;
    }
    let rows: Vec<Row> = Uncertified::all()
        .iter()
        .map(|engine| row(engine, &series, &grid, &filters))
        .collect::<Outcome<_>>()?;
    writeln!(
        out,
        "\n{} of the random walk from 30,000, seed 42; {} {fast} x {slow}: {} by exact decisions",
        counted(bars as u64, "bar"),
        counted(grid.combinations() as u64, "combination"),
        counted(rows[0].reference_trades, "trade"),
    )?;
    print(out, &rows, &filters)?;
    Ok(rows)
}

fn row(engine: &Uncertified, series: &Series, grid: &Grid, filters: &[Filter]) -> Outcome<Row> {
    let (precision, scale) = (engine.precision(), Scale::of(series));
    let (mut largest, mut predicted_largest) = (0.0_f64, 0.0_f64);
    let (mut max_relative_error, mut predicted_worst) = (Vec::new(), Vec::new());
    for filter in filters {
        let found = engine.evaluate(filter, series.closes());
        let audit = audit(filter, engine.formula(), scale);
        let predicted = match precision {
            Precision::Single => audit.single,
            Precision::Double => audit.double,
        };
        largest = largest.max(found.largest);
        predicted_largest = predicted_largest.max(predicted.largest_intermediate);
        let error = measure(filter, series.closes(), &found.values, precision);
        max_relative_error.push(error.map(|error| error.max_relative));
        predicted_worst.push(predicted.worst_relative_error);
    }
    let limits = TripLimits {
        precision,
        ..TripLimits::default()
    };
    let rules = Rules::published();
    let report = report(&Pool::new(None), engine, series, grid, &rules, limits)?;
    Ok(Row {
        bars: series.bars(),
        largest_intermediate: largest,
        predicted_largest,
        spacing: precision.spacing(largest),
        max_relative_error,
        predicted_worst,
        ..judged(engine, grid, &report)
    })
}

/// The part of a row that the parity report tells.
fn judged(engine: &Uncertified, grid: &Grid, report: &ParityReport) -> Row {
    Row {
        engine: engine.name().to_owned(),
        bars: 0,
        combinations: grid.combinations(),
        largest_intermediate: 0.0,
        predicted_largest: 0.0,
        spacing: 0.0,
        max_relative_error: Vec::new(),
        predicted_worst: Vec::new(),
        trades: report.candidate_trades(),
        reference_trades: report.reference_trades(),
        count_off: report.trade_count_drift(),
        moved: report.moved(),
        moved_pct: report.moved_pct(),
        max_pnl_difference_pp: report.max_pnl_difference_pp(),
        combinations_that_differ: report.combinations_that_differ(),
        close_calls: report.close_calls(),
        disagreements: report.disagreements(),
        is_broken: broken(report).is_some(),
    }
}

fn print(out: &mut dyn Write, rows: &[Row], filters: &[Filter]) -> Outcome {
    let errors: Vec<String> = filters.iter().map(|f| format!("error {f}")).collect();
    let mut columns = vec!["formula", "largest", "steps by"];
    columns.extend(errors.iter().map(String::as_str));
    columns.extend([
        "trades",
        "count off",
        "moved",
        "moved %",
        "PnL pp",
        "verdict",
        "differ",
    ]);
    let mut table = Table::new(&columns, 1);
    for row in rows {
        let mut cells = vec![
            row.engine.clone(),
            short(row.largest_intermediate),
            short(row.spacing),
        ];
        let error = |error: &Option<f64>| error.map_or_else(|| "-".to_owned(), short);
        cells.extend(row.max_relative_error.iter().map(error));
        cells.extend([
            grouped(row.trades),
            grouped(row.count_off),
            grouped(row.moved),
            short(row.moved_pct),
            format!("{:.3}", row.max_pnl_difference_pp),
            (if row.is_broken { "BROKEN" } else { "Correct" }).to_owned(),
            row.combinations_that_differ.to_string(),
        ]);
        table.push(cells);
    }
    table.print(out)?;
    writeln!(
        out,
        "largest: sum or product on the way of the plain averages; differ: combinations, the decoy"
    )?;
    Ok(())
}
