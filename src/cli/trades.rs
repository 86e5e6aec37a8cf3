//! `crosscheck trades`: every trade of one combination.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use crosscheck::{Grid, Rules, Series, Side, Trade, parse_filters};

use super::engines::{self, Engine};
use super::prices::{self, PriceArgs};
use super::table::{Table, grouped};
use super::{Failure, Outcome};

/// List or write the trades of one combination.
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

    /// Fee of a round trip, in percent of the entry price
    #[arg(long, default_value_t = 0.0)]
    fee_pct: f64,

    /// Write a CSV file instead of a table
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Outcome {
    let grid = Grid::cross(&one(&args.fast, "--fast")?, &one(&args.slow, "--slow")?)?;
    let rules = Rules::default().with_fee_pct(args.fee_pct)?;
    let engine = Engine::by_name(&args.engine, None)?;
    let series = args.prices.load()?;
    let lists = engine.backend.trades(&series, &grid, &rules)?;
    let trades = lists.into_iter().next().unwrap_or_default();
    if let Some(path) = &args.out {
        let file = File::create(path).map_err(|error| Failure::file(path, error))?;
        let mut file = BufWriter::new(file);
        return write_csv(&mut file, &trades)
            .and_then(|()| file.flush())
            .map_err(|error| Failure::file(path, error));
    }
    print(out, &grid, &trades, &series)
}

fn one(text: &str, option: &str) -> Outcome<Vec<crosscheck::Filter>> {
    let filters = parse_filters(text)?;
    if filters.len() == 1 {
        return Ok(filters);
    }
    Err(Failure::Usage(format!(
        "{option} {text} names {} filters: this command takes one; sweep takes many",
        filters.len()
    )))
}

fn print(out: &mut dyn Write, grid: &Grid, trades: &[Trade], series: &Series) -> Outcome {
    let mut table = Table::new(
        &[
            "entry_bar",
            "exit_bar",
            "side",
            "entry_price",
            "exit_price",
            "pnl_pct",
            "",
        ],
        0,
    );
    for trade in trades {
        table.push([
            trade.entry_bar.to_string(),
            trade.exit_bar.to_string(),
            side(trade.side).to_owned(),
            trade.entry_price.to_string(),
            trade.exit_price.to_string(),
            format!("{:.6}", trade.pnl_pct),
            (if trade.is_open { "open" } else { "" }).to_owned(),
        ]);
    }
    table.print(out)?;
    let (fast, slow) = grid.combination(0);
    let sum: f64 = trades.iter().map(|trade| trade.pnl_pct).sum();
    let count = grouped(trades.len() as u64);
    writeln!(
        out,
        "\n{fast} over {slow}: {count} trades, {sum:.6} % in all ({})",
        prices::describe(series)
    )?;
    Ok(())
}

fn write_csv(file: &mut dyn Write, trades: &[Trade]) -> std::io::Result<()> {
    writeln!(
        file,
        "entry_bar,exit_bar,side,entry_price,exit_price,pnl_pct,is_open"
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
        } = trade;
        let side = side(trade.side);
        writeln!(
            file,
            "{entry_bar},{exit_bar},{side},{entry_price},{exit_price},{pnl_pct},{is_open}"
        )?;
    }
    Ok(())
}

fn side(side: Side) -> &'static str {
    match side {
        Side::Long => "long",
        Side::Short => "short",
    }
}
