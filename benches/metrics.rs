//! What metrics cost beside a sweep of totals alone: 150,000 bars, 80 combinations, engine M2.
//!
//! `cargo bench --bench metrics`; docs/conventions.md quotes the table that it prints first, of sweeps side by side.

#![allow(missing_docs)]

use std::time::Instant;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use crosscheck::{
    Backend, Compounding, Direction, Grid, MetricSet, OpenTrade, Rules, Sequential, Series,
    random_walk,
};

/// Rounds of the table: each runs every sweep once, so that a slow moment of the machine meets all.
const ROUNDS: usize = 40;

/// Prints the best and the median of each sweep, and its ratio to the totals alone under the same rules.
fn side_by_side(walk: &Series, grid: &Grid, set: &MetricSet) {
    let (engine, plain) = (Sequential::new(), Rules::published());
    let rules = [
        ("published rules", plain),
        ("no fee", Rules::default()),
        ("open trade marked", plain.with_open_trade(OpenTrade::Mark)),
        ("long only", plain.with_direction(Direction::LongOnly)),
        (
            "compounded",
            plain.with_compounding(Compounding::Compounded),
        ),
    ];
    let mut times = vec![Vec::new(); 3 * rules.len()];
    for _ in 0..ROUNDS {
        for (index, (_, rules)) in rules.iter().enumerate() {
            for (column, set) in [None, Some(MetricSet::trades()), Some(*set)]
                .iter()
                .enumerate()
            {
                let start = Instant::now();
                let sweep = match set {
                    Some(set) => engine.sweep_with(walk, grid, rules, set),
                    None => engine.sweep(walk, grid, rules),
                };
                std::hint::black_box(sweep.expect("a sweep"));
                times[3 * index + column].push(start.elapsed().as_secs_f64() * 1e3);
            }
        }
    }
    for (index, times) in times.iter_mut().enumerate() {
        times.sort_by(f64::total_cmp);
        let what = ["totals", "metrics of trades", "every metric"][index % 3];
        println!(
            "{:18} {what:18} best {:6.2} ms, median {:6.2} ms",
            rules[index / 3].0,
            times[0],
            times[ROUNDS / 2]
        );
    }
    for (rules, times) in rules.iter().zip(times.chunks(3)) {
        let ratio = times[2][0] / times[0][0];
        println!("{:18} every metric over totals: {ratio:.2}", rules.0);
    }
}

fn metrics(criterion: &mut Criterion) {
    let walk = random_walk(150_000, 42).expect("a legal series");
    let grid = Grid::parse("hma:20..=200:20", "hma3:24..=192:24").expect("a legal grid");
    let rules = Rules::published();
    let engine = Sequential::new();
    let all = MetricSet::all(525_600.0).expect("above 0");
    let plain = engine.sweep(&walk, &grid, &rules).expect("a sweep");
    let measured = engine
        .sweep_with(&walk, &grid, &rules, &all)
        .expect("a sweep");
    assert_eq!(plain.trades(), 315_561);
    for (plain, measured) in plain.rows.iter().zip(&measured.rows) {
        assert_eq!(
            plain.totals.pnl_pct.to_bits(),
            measured.totals.pnl_pct.to_bits()
        );
    }
    side_by_side(&walk, &grid, &all);
    let mut group = criterion.benchmark_group("metrics");
    group.throughput(Throughput::Elements(
        (walk.bars() * grid.combinations()) as u64,
    ));
    group.bench_function("totals", |bencher| {
        bencher.iter(|| engine.sweep(&walk, &grid, &rules));
    });
    let general = rules.with_direction(Direction::LongOnly);
    group.bench_function("totals, general rules", |bencher| {
        bencher.iter(|| engine.sweep(&walk, &grid, &general));
    });
    let trades = MetricSet::trades();
    group.bench_function("metrics of trades", |bencher| {
        bencher.iter(|| engine.sweep_with(&walk, &grid, &rules, &trades));
    });
    group.bench_function("every metric", |bencher| {
        bencher.iter(|| engine.sweep_with(&walk, &grid, &rules, &all));
    });
    let compounded = rules.with_compounding(Compounding::Compounded);
    group.bench_function("every metric, compounded", |bencher| {
        bencher.iter(|| engine.sweep_with(&walk, &grid, &compounded, &all));
    });
    group.finish();
}

criterion_group!(benches, metrics);
criterion_main!(benches);
