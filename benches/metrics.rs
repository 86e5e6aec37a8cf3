//! What metrics cost beside a sweep of totals alone: 150,000 bars, 80 combinations, engine M2.
//!
//! `cargo bench --bench metrics`; docs/conventions.md quotes it.

#![allow(missing_docs)]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use crosscheck::{
    Backend, Compounding, Grid, MetricSet, OpenTrade, Rules, Sequential, random_walk,
};

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
    let mut group = criterion.benchmark_group("metrics");
    group.throughput(Throughput::Elements(
        (walk.bars() * grid.combinations()) as u64,
    ));
    group.bench_function("totals", |bencher| {
        bencher.iter(|| engine.sweep(&walk, &grid, &rules));
    });
    let general = rules.with_open_trade(OpenTrade::Mark);
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
