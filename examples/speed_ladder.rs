//! The speed ladder in small: every engine first gives the same trades as M0, then it is timed.
//!
//! Run: `cargo run --release --example speed_ladder`

use std::time::Instant;

use crosscheck::equivalence::compare_strict;
use crosscheck::{
    Backend, Grid, Naive, Pool, Result, Rules, Sequential, Series, Vectorized, random_walk,
};

fn main() -> Result<()> {
    let series = random_walk(10_000, 42)?;
    let grid = Grid::parse("hma:20..=100:20", "hma3:24..=96:24")?;
    let engines: [&dyn Backend; 4] = [
        &Naive::new(),
        &Vectorized::new(),
        &Sequential::new(),
        &Pool::new(None),
    ];

    // a wrong answer has no speed: verify first
    let mut compared = 0;
    for engine in &engines[1..] {
        let report = compare_strict(engines[0], *engine, &series, &grid, &Rules::default())?;
        assert!(report.is_equal(), "{report}");
        compared += report.trades;
    }
    assert!(compared > 10_000);
    println!("{compared} trades compared, all equal\n");

    let speeds: Vec<f64> = engines
        .iter()
        .map(|engine| speed(*engine, &series, &grid))
        .collect::<Result<_>>()?;
    for (engine, speed) in engines.iter().zip(&speeds) {
        println!(
            "{:<4} {:>8.0} combinations/s {:>7.1}x",
            engine.name(),
            speed,
            speed / speeds[0]
        );
    }
    assert!(
        speeds[2] > speeds[0],
        "the sequential engine is slower than the naive loop"
    );
    Ok(())
}

/// Combinations a second: the best of three sweeps, since whatever else the machine does only adds time.
fn speed(engine: &dyn Backend, series: &Series, grid: &Grid) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        let start = Instant::now();
        std::hint::black_box(engine.sweep(series, grid, &Rules::default())?);
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(grid.combinations() as f64 / best)
}
