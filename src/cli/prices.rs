//! The PRICES argument: a file, or the built-in random walk.

use crosscheck::{Reading, Series, random_walk};

use super::{Failure, Outcome};

/// Which prices a command runs on, and how they are read.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct PriceArgs {
    /// The prices: `random-walk:BARS:SEED`
    pub(crate) prices: String,

    /// How close calls are decided: on integer ticks or on the binary value of each f64; the walk has no ticks
    #[arg(long, value_enum)]
    reading: Option<ReadingArg>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ReadingArg {
    Ticks,
    Binary,
}

impl PriceArgs {
    /// Reads or makes the series.
    pub(crate) fn load(&self) -> Outcome<Series> {
        let Some(walk) = self.prices.strip_prefix("random-walk:") else {
            return Err(Failure::Usage(format!(
                "no prices '{}': write random-walk:BARS:SEED",
                self.prices
            )));
        };
        if self.reading == Some(ReadingArg::Ticks) {
            let reason = "the random walk has no ticks: leave --reading out, or say binary";
            return Err(Failure::Usage(reason.to_owned()));
        }
        let (bars, seed) = parse_walk(walk)?;
        Ok(random_walk(bars, seed)?)
    }
}

fn parse_walk(text: &str) -> Outcome<(usize, u64)> {
    let numbers = text
        .split_once(':')
        .and_then(|(bars, seed)| Some((bars.replace('_', "").parse().ok()?, seed.parse().ok()?)));
    numbers.ok_or_else(|| {
        Failure::Usage(format!(
            "cannot read the walk '{text}': write random-walk:BARS:SEED, such as random-walk:150000:42"
        ))
    })
}

/// Says what was read, in a few words.
pub(crate) fn describe(series: &Series) -> String {
    let reading = match series.reading() {
        Reading::Ticks => "ticks",
        Reading::Binary => "binary",
    };
    format!("{} bars, {reading} reading", series.bars())
}
