//! Real price files: `Series::from_csv` held against a second, plainer reader. The files are not part of the project;
//! where the shared folder is missing, every test here shows as ignored.

#[path = "support/shared.rs"]
mod shared;

use std::process::ExitCode;

use crosscheck::{Backend, Grid, Pool, ReadOptions, Reading, Rules, Series};
use libtest_mimic::{Arguments, Failed, Trial};

/// File, decimals of its smallest step, bars.
const FILES: [(&str, usize, usize); 3] = [
    ("data/algobtc_1m.csv", 8, 43_199),
    ("data/btcusdt_1m.csv", 2, 130_708),
    (WEEK, 2, 10_080),
];
const WEEK: &str = "data/btcusdt_1m_7d.csv";
const ALGO: &str = "data/algobtc_1m.csv";

fn main() -> ExitCode {
    let mut trials = Vec::new();
    for (file, decimals, bars) in FILES {
        let run = move || {
            closes_are_exact(file, decimals, bars);
            Ok(())
        };
        trials.push(trial(format!("closes_are_exact_{file}"), file, run));
    }
    trials.push(trial(
        "la_05_the_unfinished_bar_is_dropped_when_asked".to_owned(),
        WEEK,
        || {
            la_05();
            Ok(())
        },
    ));
    trials.push(trial(
        "na_08_volumes_change_no_trade".to_owned(),
        ALGO,
        na_08,
    ));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn trial(
    name: String,
    file: &str,
    run: impl FnOnce() -> Result<(), Failed> + Send + 'static,
) -> Trial {
    Trial::test(name, run).with_ignored_flag(shared::shared(file).is_none())
}

fn read(file: &str, options: &ReadOptions) -> Series {
    Series::from_csv_with(shared::shared(file).unwrap(), options).unwrap()
}

fn closes_are_exact(file: &str, decimals: usize, bars: usize) {
    let series = read(file, &ReadOptions::default());
    let plain = shared::ticks(file, decimals);
    assert_eq!(series.bars(), bars);
    assert_eq!(series.ticks(), plain.ticks());
    let parse = |line: &str| line.split(',').nth(4).unwrap().parse::<f64>().unwrap();
    let parsed: Vec<f64> = shared::text(file).lines().skip(1).map(parse).collect();
    assert_eq!(series.closes(), parsed);
    let binary = read(file, &ReadOptions::new().with_reading(Reading::Binary));
    assert_eq!((binary.closes(), binary.ticks()), (parsed.as_slice(), None));
    assert_eq!(series.report().gaps, 0);
}

/// The last bar of this file was recorded before it was finished: 65764.0 where 65773.31 was final.
fn la_05() {
    let whole = read(WEEK, &ReadOptions::default());
    assert_eq!(whole.closes().last(), Some(&65_764.0));
    assert_eq!(whole.timestamps().unwrap().last(), Some(&1_781_666_760_000));
    let cut = read(WEEK, &ReadOptions::new().without_last_bar());
    assert_eq!(cut, whole.slice(0..10_079).unwrap());
}

fn na_08() -> Result<(), Failed> {
    let series = read(ALGO, &ReadOptions::default());
    assert_eq!(series.report().zero_volumes, Some(21_935));
    let silent = series.clone().with_volumes(vec![0.0; series.bars()])?;
    let grid = Grid::parse("hma:20,40", "hma3:24,48")?;
    let trades = |series: &Series| Pool::new(None).trades(series, &grid, &Rules::default());
    let found = trades(&series)?;
    assert!(found.iter().map(Vec::len).sum::<usize>() > 5_000);
    assert_eq!(found, trades(&silent)?);
    Ok(())
}
