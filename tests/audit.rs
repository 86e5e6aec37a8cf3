//! The audit's predictions against measured errors: the bound is never below, nor absurdly far above.

use crosscheck::equivalence::{Advice, FilterError, Prediction, Scale, audit, measure};
use crosscheck::{Backend, Filter, Formula, Precision, Series, Uncertified, random_walk};

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
        for engine in Uncertified::all() {
            let what = format!("{} {filter} {} bars", engine.name(), series.bars());
            let (predicted, measured, largest) = both(&engine, &filter, series);
            let limit = predicted.largest_intermediate;
            assert!(largest <= limit, "{what}: {largest} above {limit}");
            let (error, bound) = (measured.max_absolute, predicted.worst_error);
            assert!(error <= bound, "{what}: {error:e} above {bound:e}");
            compared += 1;
        }
    }
    assert_eq!(compared, 5 * 9 * 10);
}

/// What the audit says, what is measured, and the largest intermediate met.
fn both(engine: &Uncertified, filter: &Filter, series: &Series) -> (Prediction, FilterError, f64) {
    let audit = audit(filter, engine.formula(), Scale::of(series));
    let predicted = match engine.precision() {
        Precision::Single => audit.single,
        Precision::Double => audit.double,
    };
    let found = engine.evaluate(filter, series.closes());
    let measured = measure(filter, series.closes(), &found.values, engine.precision());
    (predicted, measured.expect("fits 128 bits"), found.largest)
}

fn engine(name: &str) -> Uncertified {
    name.parse().unwrap()
}

/// Each bound is met to within a factor of two somewhere, so that half of it would be too little.
#[test]
fn bounds_halved_would_be_too_small() {
    // just above a power of two each rounding is as large as it can be, relative to the value
    let above: Vec<f64> = level(40_000)
        .closes()
        .iter()
        .map(|x| x * 1.093 + 300.0)
        .collect();
    let above = Series::from_closes(&above).unwrap();
    for (name, filter, series) in [
        ("prefix-f32", Filter::wma(2), level(150_000)),
        ("prefix-f64", Filter::wma(2), level(150_000)),
        ("prefix-f32", Filter::wma(14), level(150_000)),
        ("prefix-f32", Filter::sma(1), level(150_000)),
        ("direct-f32", Filter::wma(2), above.clone()),
        ("direct-f64", Filter::wma(2), above),
    ] {
        let filter = filter.unwrap();
        let (predicted, measured, _) = both(&engine(name), &filter, &series);
        let ratio = predicted.worst_error / measured.max_absolute;
        assert!((1.0..2.0).contains(&ratio), "{name} {filter}: {ratio}");
    }
}

/// Closes chosen one by one so that each step of a sliding sum of two rounds upwards.
fn adversary(bars: usize) -> Series {
    let step = f32::EPSILON;
    let mut closes = vec![1.3_f32, 1.3];
    let (mut computed, mut exact) = (2.6_f32, f64::from(1.3_f32) * 2.0);
    while closes.len() < bars {
        let old = closes[closes.len() - 2];
        let candidates = (-8..=8).map(|i| 1.3_f32 + i as f32 * step);
        let after = |close: f32| {
            (
                computed + (close - old),
                exact + (f64::from(close) - f64::from(old)),
            )
        };
        let gain = |close: &f32| f64::from(after(*close).0) - after(*close).1;
        let best = candidates
            .max_by(|a, b| gain(a).total_cmp(&gain(b)))
            .unwrap();
        (computed, exact) = after(best);
        closes.push(best);
    }
    Series::from_closes(&closes.iter().map(|&x| f64::from(x)).collect::<Vec<_>>()).unwrap()
}

#[test]
fn the_bound_of_a_sliding_sum_is_within_reach_of_an_adversary() {
    for filter in [Filter::wma(2), Filter::sma(2)] {
        let filter = filter.unwrap();
        let (predicted, measured, _) = both(&engine("sliding-f32"), &filter, &adversary(20_000));
        let ratio = predicted.worst_error / measured.max_absolute;
        assert!((1.0..6.0).contains(&ratio), "{filter}: {ratio}");
    }
}

#[test]
fn estimates_are_near_what_is_measured() {
    let (series, mut compared) = (level(100_000), 0);
    for name in [
        "prefix-f32",
        "prefix-f64",
        "sliding-f32",
        "sliding-f64",
        "direct-f32",
        "direct-f64",
    ] {
        for period in [14, 50, 100] {
            let filter = Filter::wma(period).unwrap();
            let (predicted, measured, largest) = both(&engine(name), &filter, &series);
            let ratio = predicted.typical_relative_error / measured.max_relative;
            assert!((0.4..60.0).contains(&ratio), "{name} {filter}: {ratio}");
            if name.starts_with("prefix") {
                let ratio = predicted.worst_relative_error / measured.max_relative;
                assert!(ratio < 12.0, "{name} {filter}: worst {ratio}");
                assert!(
                    predicted.largest_intermediate < 1.1 * largest,
                    "{name} {filter}"
                );
            }
            compared += 1;
        }
    }
    assert_eq!(compared, 18);
}

#[test]
fn advice_follows_the_length_of_the_series() {
    use Advice::{Unusable, Usable};
    let filter = Filter::wma(14).unwrap();
    let advice = |formula, bars| {
        let scale = Scale {
            bars,
            smallest: 20_000.0,
            largest: 40_000.0,
        };
        let audit = audit(&filter, formula, scale);
        [audit.single.advice, audit.double.advice]
    };
    assert_eq!(advice(Formula::PrefixSums, 150_000), [Unusable, Usable]);
    assert_eq!(
        advice(Formula::PrefixSums, 10_000_000),
        [Unusable, Unusable]
    );
    assert_eq!(advice(Formula::SlidingUpdate, 150_000), [Unusable, Usable]);
    for bars in [150_000, 10_000_000] {
        assert_eq!(advice(Formula::DirectWindows, bars), [Usable, Usable]);
        assert_eq!(advice(Formula::CentredDirect, bars), [Usable, Usable]);
    }
}

#[test]
fn overflow_is_predicted() {
    let scale = Scale {
        bars: 1_000_000,
        smallest: 1e30,
        largest: 1e30,
    };
    let audit = audit(&Filter::wma(14).unwrap(), Formula::PrefixSums, scale);
    assert!(audit.single.worst_relative_error.is_infinite());
    assert_eq!(audit.single.advice, Advice::Unusable);
    assert!(audit.double.worst_relative_error.is_finite());
}
