//! `crosscheck trades`: every trade of one combination.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crosscheck::{Fill, Filter, Grid, Rules, Series, Side, Trade, parse_filters};

use super::engines::{self, Engine};
use super::number::{counted, plain as price};
use super::output::OutFile;
use super::prices::{self, PriceArgs};
use super::rules::RulesArgs;
use super::table;
use super::timeframe::utc;
use super::{Failure, Outcome, room};

/// List or write the trades of one combination.
///
/// Times are those of the fills: a close is at the bar's own time, which labels its open, plus the length of a bar.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    prices: PriceArgs,

    /// The fast filter, such as hma:20
    #[arg(long)]
    fast: String,

    /// The slow filter, such as hma3:48
    #[arg(long)]
    slow: String,

    /// Engine that decides the sides
    #[arg(long, default_value = engines::DEFAULT)]
    engine: String,

    #[command(flatten)]
    rules: RulesArgs,

    /// Write a CSV file instead of a table; a file of that name is replaced when the run is complete
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Outcome {
    let grid = Grid::cross(&one(&args.fast, "--fast")?, &one(&args.slow, "--slow")?)?;
    let rules = args.rules.rules()?;
    let engine = Engine::by_name(&args.engine, None)?;
    if let Some(path) = &args.out {
        args.prices.keep_from_output(path)?;
    }
    check_name(args.out.as_deref())?;
    let file = args.out.as_deref().map(OutFile::create).transpose()?;
    let series = args.prices.load(false)?;
    args.rules.check(&series, &args.prices.prices)?;
    check_room(&engine, &series, &grid, &rules)?;
    let lists = engine.backend.trades(&series, &grid, &rules)?;
    let trades = lists.into_iter().next().unwrap_or_default();
    let clock = Clock::new(&series, rules.fill());
    if let Some(mut file) = file {
        write_csv(&mut file, &trades, &clock).map_err(|error| Failure::file(file.path(), error))?;
        return file.finish();
    }
    print(out, &trades, &clock)?;
    summary(out, &grid, &trades, &series)
}

fn one(text: &str, option: &str) -> Outcome<Vec<Filter>> {
    let filters = parse_filters(text)?;
    if filters.len() == 1 {
        return Ok(filters);
    }
    Err(Failure::Usage(format!(
        "{option} {text} names {} filters: this command takes one; sweep takes many",
        filters.len()
    )))
}

/// Refuses a list that the memory cannot hold: how long it will be is counted first.
fn check_room(engine: &Engine, series: &Series, grid: &Grid, rules: &Rules) -> Outcome {
    engine.check_room(series, grid, false)?;
    let trades = engine.backend.sweep(series, grid, rules)?.trades();
    // A list that grows is moved to a place twice as large.
    let bytes = (trades as usize).saturating_mul(3 * size_of::<Trade>());
    let what = format!("{} need", counted(trades, "trade"));
    room::ask(bytes, &what, "take fewer bars, or longer periods")
}

/// When fills are known, and whether bars are missing between two bars.
struct Clock<'a> {
    times: Option<(&'a [i64], i64)>,
    fill: Fill,
}

impl<'a> Clock<'a> {
    fn new(series: &'a Series, fill: Fill) -> Self {
        Self {
            times: series.timestamps().zip(series.bar_length()),
            fill,
        }
    }

    /// Times of the entry and the exit: a bar's own time at its open, a bar's length later at its close.
    fn times_of(&self, trade: &Trade) -> Option<[i64; 2]> {
        let (times, length) = self.times?;
        let after_open = if self.fill == Fill::NextOpen {
            0
        } else {
            length
        };
        let after_exit = if trade.is_open { length } else { after_open };
        let (entry, exit) = (
            times[trade.entry_bar as usize],
            times[trade.exit_bar as usize],
        );
        Some([entry + after_open, exit + after_exit])
    }

    fn crosses_gap(&self, trade: &Trade) -> bool {
        self.times.is_some_and(|(times, length)| {
            let span = &times[trade.entry_bar as usize..=trade.exit_bar as usize];
            span.windows(2).any(|pair| pair[1] - pair[0] > length)
        })
    }
}

fn print(out: &mut dyn Write, trades: &[Trade], clock: &Clock<'_>) -> io::Result<()> {
    let has_times = clock.times.is_some();
    let times: &[&str] = if has_times {
        &["entry_time", "exit_time"]
    } else {
        &[]
    };
    let rest = [
        "entry_bar",
        "exit_bar",
        "side",
        "entry_price",
        "exit_price",
        "pnl_pct",
        "",
    ];
    let head = [times, &rest].concat();
    let rows = || trades.iter().map(|trade| cells(trade, clock));
    table::print(out, &head, times.len(), rows)
}

fn cells(trade: &Trade, clock: &Clock<'_>) -> Vec<String> {
    let bars = [trade.entry_bar, trade.exit_bar];
    let mut row: Vec<String> = clock
        .times_of(trade)
        .into_iter()
        .flatten()
        .map(utc)
        .collect();
    row.extend(bars.map(|bar| bar.to_string()));
    row.push(side(trade.side).to_owned());
    row.extend([trade.entry_price, trade.exit_price].map(price));
    row.push(percent(trade.pnl_pct));
    let open = if trade.is_open { "open " } else { "" };
    let gap = if clock.crosses_gap(trade) { "gap" } else { "" };
    row.push(format!("{open}{gap}"));
    row
}

/// Refuses a name that promises another form than CSV.
fn check_name(path: Option<&Path>) -> Outcome {
    let ending = path.and_then(Path::extension).and_then(OsStr::to_str);
    match ending {
        None => Ok(()),
        Some(ending) if ending.eq_ignore_ascii_case("csv") => Ok(()),
        Some(other) => Err(Failure::Usage(format!(
            "cannot write trades as .{other}: name the file .csv"
        ))),
    }
}

fn summary(out: &mut dyn Write, grid: &Grid, trades: &[Trade], series: &Series) -> Outcome {
    let (fast, slow) = grid.combination(0);
    // of no trades, `sum` would be -0
    let sum = trades.iter().fold(0.0, |sum, trade| sum + trade.pnl_pct);
    let count = counted(trades.len() as u64, "trade");
    let prices = prices::describe(series);
    writeln!(
        out,
        "\n{fast} over {slow}: {count}, {} % in all ({prices})",
        percent(sum)
    )?;
    if series.timestamps().is_some() {
        writeln!(
            out,
            "times are those of the fills: a bar's close is the file's time plus the length of a bar"
        )?;
    }
    Ok(())
}

fn write_csv(file: &mut OutFile, trades: &[Trade], clock: &Clock<'_>) -> io::Result<()> {
    write!(
        file,
        "entry_bar,exit_bar,side,entry_price,exit_price,pnl_pct,is_open"
    )?;
    writeln!(
        file,
        "{}",
        if clock.times.is_some() {
            ",entry_time_ms,exit_time_ms,crosses_gap"
        } else {
            ""
        }
    )?;
    for trade in trades {
        let Trade {
            entry_bar,
            exit_bar,
            entry_price,
            exit_price,
            pnl_pct,
            is_open,
            ..
        } = *trade;
        let side = side(trade.side);
        write!(
            file,
            "{entry_bar},{exit_bar},{side},{},{},{},{is_open}",
            price(entry_price),
            price(exit_price),
            price(pnl_pct)
        )?;
        if let Some([entry, exit]) = clock.times_of(trade) {
            write!(file, ",{entry},{exit},{}", clock.crosses_gap(trade))?;
        }
        writeln!(file)?;
    }
    Ok(())
}

fn percent(value: f64) -> String {
    if value.abs() < 1e12 {
        format!("{value:.6}")
    } else {
        format!("{value:.6e}")
    }
}

fn side(side: Side) -> &'static str {
    match side {
        Side::Long => "long",
        Side::Short => "short",
    }
}
