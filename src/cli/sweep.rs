//! `crosscheck sweep`: one row of results for every combination of the grid.

use std::io::Write;
use std::path::PathBuf;

use crosscheck::{Grid, Metric, Question, Rules, Series, Sweep, SweepRow};

use super::engines::{self, Engine};
use super::output::OutFile;
use super::plot::{self, PlotArgs};
use super::prices::{self, PriceArgs};
use super::rank;
use super::table::{Table, grouped};
use super::{Failure, Outcome};

/// Sweep a grid: trades, PnL and wins of every combination.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    prices: PriceArgs,

    /// The fast filters, such as hma:20..=200:20 or sma:5,10
    #[arg(long)]
    fast: String,

    /// The slow filters, such as hma3:24..=192:24
    #[arg(long)]
    slow: String,

    /// Engine that decides the sides
    #[arg(long, default_value = engines::DEFAULT)]
    engine: String,

    /// Threads of an engine that has a pool; all cores where left out
    #[arg(long)]
    threads: Option<usize>,

    /// Fee of a round trip, in percent of the entry price
    #[arg(long, default_value_t = 0.0)]
    fee_pct: f64,

    /// Write every row to this CSV file
    #[arg(long)]
    out: Option<PathBuf>,

    /// Print the best K combinations
    #[arg(long, value_name = "K", default_value_t = 10)]
    top: usize,

    #[command(flatten)]
    plot: PlotArgs,

    /// Print nothing that is not asked for
    #[arg(long)]
    quiet: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Outcome {
    let grid = Grid::parse(&args.fast, &args.slow)?;
    let rules = Rules::default().with_fee_pct(args.fee_pct)?;
    let engine = Engine::by_name(&args.engine, args.threads)?;
    // Hours of work must not end at a path that cannot be written.
    let file = args.out.as_deref().map(OutFile::create).transpose()?;
    let folder = args.plot.folder()?;
    let series = args.prices.load(args.quiet)?;
    Question::new(&series, &grid)?;
    let sweep = engine.backend.sweep(&series, &grid, &rules)?;
    if let Some(mut file) = file {
        write_csv(&mut file, &sweep.rows).map_err(|error| Failure::file(file.path(), error))?;
        file.finish()?;
    }
    if let Some(folder) = folder {
        let title = (
            Metric::Pnl,
            "PnL, percent of entry price, summed over the trades",
        );
        plot::sweep(
            folder,
            (&series, &grid, &rules),
            engine.backend.as_ref(),
            &sweep,
            title,
        )?;
    }
    if args.quiet {
        return Ok(());
    }
    print(out, args, &sweep, &series)
}

fn print(out: &mut dyn Write, args: &Args, sweep: &Sweep, series: &Series) -> Outcome {
    let best = rank::best(&sweep.rows, args.top, |row| row.totals.pnl_pct);
    if !best.is_empty() {
        let mut table = Table::new(&["fast", "slow", "trades", "pnl_pct", "wins"], 2);
        for row in best {
            let totals = row.totals;
            table.push([
                row.fast.clone(),
                row.slow.clone(),
                grouped(totals.trades),
                format!("{:.4}", totals.pnl_pct),
                grouped(totals.wins),
            ]);
        }
        table.print(out)?;
        writeln!(out)?;
    }
    let diagnostics = &sweep.diagnostics;
    writeln!(
        out,
        "{} trades of {} combinations on {}; engine {}",
        grouped(sweep.trades()),
        grouped(sweep.rows.len() as u64),
        prices::describe(series),
        diagnostics.engine,
    )?;
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

fn write_csv(file: &mut OutFile, rows: &[SweepRow]) -> std::io::Result<()> {
    writeln!(file, "fast,slow,trades,pnl_pct,wins,has_open_trade")?;
    for SweepRow {
        fast, slow, totals, ..
    } in rows
    {
        let (trades, pnl_pct, wins) = (totals.trades, totals.pnl_pct, totals.wins);
        writeln!(
            file,
            "{fast},{slow},{trades},{pnl_pct},{wins},{}",
            totals.has_open_trade
        )?;
    }
    Ok(())
}
