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
mod kept;
mod ladder;
mod lock;
mod meta;
#[path = "error/number.rs"]
mod number;
mod output;
mod parity;
#[cfg(feature = "parquet")]
mod parquet;
mod plot;
mod prices;
mod room;
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

use clap::{Error, Parser, Subcommand};

pub(crate) use failure::{Failure, Outcome};

/// Moving-average-crossover sweeps on which every engine returns exactly the same trades.
#[derive(Debug, Parser)]
#[command(name = "crosscheck", version, arg_required_else_help = true, after_help = EXIT_CODES)]
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

const EXIT_CODES: &str = "Exit codes: 0 done, whatever the verdict; 1 the data, a file or the machine was at fault (and `check` found faults, \
    `parity --fail-on-broken` a broken engine); 2 the command line was; 130 interrupted by Ctrl-C";

/// Runs the command that the arguments name, and returns its exit code: see `EXIT_CODES`.
pub(crate) fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(message) => return say(&message),
    };
    interrupt::listen();
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

/// Prints help, the version, or what is wrong with the arguments; help that cannot be written is no success.
fn say(message: &Error) -> ExitCode {
    let printed = message.print().and_then(|()| io::stdout().flush());
    match printed {
        Err(error) if !message.use_stderr() => Failure::from(error).report(),
        _ => ExitCode::from(u8::try_from(message.exit_code()).unwrap_or(2)),
    }
}
