//! Series to measure, and the metrics of one combination whose sides are given.

use crosscheck::{Backend, MetricSet, Metrics, Rules, Series};

use super::scripted::{Scripted, draw};

pub const YEAR: f64 = 252.0;

/// Every metric of the first combination; its totals are the same beside the metrics of trades, and without any.
pub fn measure(engine: &Scripted, series: &Series, rules: &Rules) -> Metrics {
    let (grid, set) = (engine.grid(), MetricSet::all(YEAR).unwrap());
    let sweep = engine.sweep_with(series, &grid, rules, &set).unwrap();
    let trades = MetricSet::trades();
    let others = [
        engine.sweep_with(series, &grid, rules, &trades).unwrap(),
        engine.sweep(series, &grid, rules).unwrap(),
    ];
    for other in others {
        assert_eq!(sweep.rows[0].totals, other.rows[0].totals, "{rules:?}");
    }
    sweep.rows[0].metrics.unwrap()
}

/// Closes that wander from 100 by steps of one size, and opens a little off them.
pub fn market(bars: usize, step: f64, drift: f64, seed: u64) -> Series {
    let mut state = seed;
    let mut unit = || (draw(&mut state) % 10_001) as f64 / 5_000.0 - 1.0;
    let (mut close, mut closes, mut opens) = (100.0_f64, Vec::new(), Vec::new());
    for _ in 0..bars {
        opens.push(close * (0.2 * step * unit()).exp());
        close *= (step * unit() + drift).exp();
        closes.push(close);
    }
    Series::from_closes(&closes)
        .unwrap()
        .with_opens(opens)
        .unwrap()
}
