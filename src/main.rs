//! The command line `crosscheck`: sweeps, trades and the speed ladder from a terminal.
#![cfg_attr(not(test), warn(clippy::float_cmp, clippy::unwrap_used))]

mod cli;

fn main() -> std::process::ExitCode {
    cli::run()
}
