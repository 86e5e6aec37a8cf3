//! The 80-combination sweep by M2, beside what `ferro_ta_core` offers nearest to it.
//!
//! The rules differ. M2 trades at the close of the signal, waits for the first change of side, and returns each
//! combination's trades and their sum. `ferro_ta_core` enters on the bar after a signal, on the first side too, and
//! returns for each combination the return of every bar and 24 metrics of them. It has no sweep of Hull averages, so there
//! its signals are given, the signs of this crate's `f64` filters, and not timed; crossovers of simple averages it computes.

use std::hint::black_box;
use std::time::Instant;

use crosscheck::{Backend, Filter, Grid, Rules, Sequential, Series};
use ferro_ta_core::sweep::{BuiltinStrategy, SweepConfig, run_sweep_combo, sweep_builtin};

const CALLS: usize = 5;

/// Best and median of a few calls, in milliseconds, and what the last one returned.
fn time<T>(mut call: impl FnMut() -> T) -> (T, f64, f64) {
    let mut last = call();
    let mut times: Vec<f64> = (0..CALLS)
        .map(|_| {
            let start = Instant::now();
            last = black_box(call());
            start.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    (last, times[0], times[CALLS / 2])
}

fn print(what: &str, who: &str, trades: u64, (best, median): (f64, f64)) {
    println!("| {what} | {who} | {best:.1} | {median:.1} | {trades} |");
}

/// +1, -1, or 0 where a filter has no value yet.
fn signals(fast: &Filter, slow: &Filter, closes: &[f64]) -> Vec<f64> {
    let values = |filter: &Filter| filter.evaluate(closes).expect("equal lengths");
    let sign = |(fast, slow): (&f64, &f64)| match fast.partial_cmp(slow) {
        Some(std::cmp::Ordering::Greater) => 1.0,
        Some(std::cmp::Ordering::Less) => -1.0,
        _ => 0.0,
    };
    values(fast).iter().zip(&values(slow)).map(sign).collect()
}

fn ours(what: &str, walk: &Series, grid: &Grid) -> u64 {
    let engine = Sequential::new();
    let (sweep, best, median) = time(|| {
        engine
            .sweep(walk, grid, &Rules::default())
            .expect("a legal sweep")
    });
    print(
        what,
        "crosscheck M2, sides and trades",
        sweep.trades(),
        (best, median),
    );
    sweep.trades()
}

pub fn report(walk: &Series) {
    let closes = walk.closes();
    let config = SweepConfig {
        parallel: false,
        ..SweepConfig::default()
    };
    println!("\n| sweep | by | best ms | median ms | trades |");
    println!("| --- | --- | --- | --- | --- |");

    let what = "80 of HMA and HMA3";
    let grid = Grid::parse("hma:20..=200:20", "hma3:24..=192:24").expect("the grid is valid");
    let expected = ours(what, walk, &grid);
    let columns: Vec<_> = (0..grid.combinations())
        .map(|combination| {
            let (fast, slow) = grid.combination(combination);
            signals(fast, slow, closes)
        })
        .collect();
    let sweep = || {
        columns
            .iter()
            .map(|column| run_sweep_combo(closes, column, &config).expect("legal"))
            .collect()
    };
    let (results, best, median): (Vec<_>, _, _) = time(sweep);
    let trades = results
        .iter()
        .map(|result| result.metrics.n_position_changes as u64)
        .sum();
    check(expected, trades);
    print(
        what,
        "ferro_ta_core run_sweep_combo, signals given",
        trades,
        (best, median),
    );

    let what = "80 of SMA";
    let grid = Grid::parse("sma:10..=100:10", "sma:110..=250:20").expect("the grid is valid");
    let expected = ours(what, walk, &grid);
    let periods: Vec<f64> = (10..=100)
        .step_by(10)
        .flat_map(|fast| {
            (110..=250)
                .step_by(20)
                .flat_map(move |slow| [f64::from(fast), f64::from(slow)])
        })
        .collect();
    let strategy = BuiltinStrategy::SmaCrossover;
    let sweep =
        || sweep_builtin(closes, strategy, &["fast", "slow"], &periods, &config).expect("legal");
    let (result, best, median) = time(sweep);
    let trades = result
        .output
        .metrics
        .iter()
        .map(|metrics| metrics.n_position_changes as u64)
        .sum();
    check(expected, trades);
    print(what, "ferro_ta_core sweep_builtin", trades, (best, median));
}

/// At most an entry more for each of the 80 combinations, on the first side: else something else was computed.
fn check(ours: u64, theirs: u64) {
    assert!(
        (ours..=ours + 80).contains(&theirs),
        "{ours} trades, the peer has {theirs}"
    );
}
