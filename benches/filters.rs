//! One filter over 150,000 bars, beside a copy of the closes as the floor; every answer is checked before it is timed.

#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use crosscheck::{Filter, parse_filters, random_walk};

const BARS: usize = 150_000;

/// The largest difference from direct windows of the composite weights, over the largest close.
fn error(filter: &Filter, closes: &[f64], values: &[f64]) -> f64 {
    let weights = filter.exact_weights().to_f64();
    let mut worst = 0.0_f64;
    for (window, value) in closes
        .windows(weights.len())
        .zip(&values[weights.len() - 1..])
        .step_by(97)
    {
        let centre = window[0];
        let sum: f64 = window
            .iter()
            .zip(&weights)
            .map(|(x, w)| (x - centre) * w)
            .sum();
        let gain: f64 = weights.iter().sum();
        worst = worst.max((sum + centre * gain - value).abs());
    }
    worst / closes.iter().copied().fold(0.0, f64::max)
}

fn filters() -> Vec<Filter> {
    let text = [
        "sma:5,14,100,200,1000",
        "wma:5,14,100,200,1000",
        "hma:5,14,100,200,1000",
        "hma3:14,100,200,1000",
    ];
    let mut filters: Vec<_> = text
        .iter()
        .flat_map(|t| parse_filters(t).unwrap())
        .collect();
    for period in [5, 14, 100] {
        let weights: Vec<f64> = (0..period).map(|k| 1.0 / f64::from(period + k)).collect();
        filters.push(Filter::fir(&format!("fir:{period}"), &weights).unwrap());
    }
    filters
}

fn one_filter(criterion: &mut Criterion) {
    let walk = random_walk(BARS, 42).unwrap();
    let closes = walk.closes();
    let mut out = vec![0.0; BARS];
    let mut group = criterion.benchmark_group("filters");
    group.throughput(Throughput::Elements(BARS as u64));
    group.bench_function("copy", |bencher| {
        bencher.iter(|| black_box(&mut out[..]).copy_from_slice(black_box(closes)));
    });
    for filter in filters() {
        filter.evaluate_into(closes, &mut out).unwrap();
        let (found, bound) = (error(&filter, closes, &out), filter.relative_error_bound());
        assert!(found <= 4.0 * bound, "{filter}: {found:e} above {bound:e}");
        let (kind, period) = filter.name().split_once(':').unwrap();
        group.bench_function(BenchmarkId::new(kind, period), |bencher| {
            bencher.iter(|| filter.evaluate_into(black_box(closes), black_box(&mut out)));
        });
    }
    group.finish();
}

criterion_group!(benches, one_filter);
criterion_main!(benches);
