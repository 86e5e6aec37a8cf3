//! The command line `crosscheck`: sweeps, trades and the speed ladder from a terminal.

mod cli;

fn main() -> std::process::ExitCode {
    cli::run()
}
