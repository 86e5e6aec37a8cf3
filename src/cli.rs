//! The commands, one file each, and how a failure becomes an exit code.
//!
//! It only translates: every number comes from the library, so that a program that embeds it gets the same.

mod best;
mod candidate;
mod check;
mod chunks;
mod engines;
mod failure;
mod interrupt;
mod ladder;
mod meta;
mod output;
mod parity;
#[cfg(feature = "parquet")]
mod parquet;
mod plot;
mod prices;
mod rows;
mod rows_file;
mod rules;
mod sweep;
mod table;
mod timeframe;
mod trades;
mod trap;

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub(crate) use failure::{Failure, Outcome};

/// Moving-average-crossover sweeps on which every engine returns exactly the same trades.
#[derive(Debug, Parser)]
#[command(name = "crosscheck", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Ladder(ladder::Args),
    Parity(parity::Args),
    Sweep(sweep::Args),
    Trades(trades::Args),
    Trap(trap::Args),
    Check(check::Args),
}

/// Runs the command that the arguments name.
///
/// Exit code 0: done; 1: the data or the machine was at fault; 2: the command line was.
pub(crate) fn run() -> ExitCode {
    let cli = Cli::parse();
    let mut out = BufWriter::new(io::stdout().lock());
    let outcome = match cli.command {
        Command::Ladder(args) => ladder::run(&args, &mut out),
        Command::Parity(args) => parity::run(&args, &mut out),
        Command::Sweep(args) => sweep::run(&args, &mut out),
        Command::Trades(args) => trades::run(&args, &mut out),
        Command::Trap(args) => trap::run(&args, &mut out),
        Command::Check(args) => check::run(&args, &mut out),
    };
    let outcome = outcome.and_then(|()| out.flush().map_err(Failure::from));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
