//! The audit's predictions against measured errors: the bound is never below, nor absurdly far above.

use crosscheck::equivalence::{Scale, audit, measure};
use crosscheck::{Backend, Filter, Precision, Series, Uncertified, random_walk};

/// A walk that returns to its level, so that scale says much about it.
fn level(bars: usize) -> Series {
    let walk = random_walk(bars, 7).unwrap();
    let mut closes = vec![30_000.0];
    for pair in walk.closes().windows(2) {
        let last = closes[closes.len() - 1];
        closes.push(30_000.0 + (last - 30_000.0) * 0.99 + (pair[1] / pair[0] - 1.0) * 30_000.0);
    }
    Series::from_closes(&closes).unwrap()
}

fn sawtooth(bars: usize, price: f64) -> Series {
    let closes: Vec<f64> = (0..bars)
        .map(|t| price * (1.0 + (t % 97) as f64 * 1e-4))
        .collect();
    Series::from_closes(&closes).unwrap()
}

fn filters() -> Vec<Filter> {
    [
        Filter::sma(1),
        Filter::sma(50),
        Filter::wma(2),
        Filter::wma(14),
        Filter::wma(100),
        Filter::hma(20),
        Filter::hma(200),
        Filter::hma3(24),
        Filter::hma3(192),
    ]
    .into_iter()
    .map(Result::unwrap)
    .collect()
}

#[test]
fn predicted_errors_are_never_below_measured() {
    let series = [
        random_walk(150_000, 42).unwrap(),
        level(40_000),
        sawtooth(20_000, 1e-8),
        sawtooth(3_000, 1e12),
        random_walk(400, 3).unwrap(),
    ];
    let mut compared = 0;
    for (series, filter) in series
        .iter()
        .flat_map(|s| filters().into_iter().map(move |f| (s, f)))
    {
        let scale = Scale::of(series);
        for engine in Uncertified::all() {
            let found = engine.evaluate(&filter, series.closes());
            let audit = audit(&filter, engine.formula(), scale);
            let predicted = match engine.precision() {
                Precision::Single => audit.single,
                Precision::Double => audit.double,
            };
            let what = format!("{} {filter} {} bars", engine.name(), scale.bars);
            let largest = predicted.largest_intermediate;
            assert!(
                found.largest <= largest,
                "{what}: {} above {largest}",
                found.largest
            );
            let measured = measure(&filter, series.closes(), &found.values, engine.precision())
                .unwrap_or_else(|| panic!("{what}: not measured"));
            let (error, bound) = (measured.max_absolute, predicted.worst_error);
            assert!(error <= bound, "{what}: {error:e} above {bound:e}");
            compared += 1;
        }
    }
    assert_eq!(compared, 5 * 9 * 10);
}
