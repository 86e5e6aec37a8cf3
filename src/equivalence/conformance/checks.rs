//! The edges of the contract: extreme windows and kernels, independence of other questions, money.

use num_bigint::BigInt;
use num_traits::ToPrimitive;

use super::{Compared, agrees_with_exact_integers, check_all, generate, grid};
use crate::backend::Backend;
use crate::equivalence::Strict;
use crate::filter::{Filter, split};
use crate::grid::Grid;
use crate::question::Question;
use crate::rules::Rules;
use crate::series::{Series, random_walk};

const FITS: &str = "the texts and prices of the suite are valid";

fn parse(fast: &str, slow: &str) -> Grid {
    Grid::parse(fast, slow).expect(FITS)
}

fn ticks_of(ticks: &[i64]) -> Series {
    Series::from_ticks(ticks, 0.01).expect(FITS)
}

/// Checks lengths at which words of 64 bars, vectors and tiles end, and one bar more or less.
pub fn lengths_around_words_and_tiles(engine: &dyn Backend) -> Compared {
    let grid = parse("sma:1,2", "wma:3,5");
    check_all(engine, &generate::lengths(), &grid)
}

/// Checks that a filter ties with itself on every bar, whichever way it is written, and never crosses.
pub fn equal_filters_never_cross(engine: &dyn Backend) -> Compared {
    let kernel = Filter::fir("mean", &[0.25; 4]).expect(FITS);
    let pairs = [
        (Filter::hma(16), Filter::hma(16)),
        (Filter::hma3(24), Filter::hma3(25)),
        (Filter::sma(4), Ok(kernel)),
        (Filter::sma(1), Filter::wma(1)),
        (Filter::hma(1), Filter::hma3(3)),
    ]
    .map(|(fast, slow)| (fast.expect(FITS), slow.expect(FITS)));
    let grid = Grid::from_pairs(&pairs).expect(FITS);
    let mut total = Compared::default();
    for series in generate::continuous().into_iter().chain(generate::ticks()) {
        let (name, series) = (&series.0, &series.1);
        total.add(agrees_with_exact_integers(engine, name, series, &grid));
    }
    assert_eq!((total.ties, total.crossovers), (total.decisions, 0));
    total
}

/// Checks periods of 1: filters that are the close itself, on series down to one bar.
pub fn one_bar_windows(engine: &dyn Backend) -> Compared {
    let grid = parse("sma:1", "wma:1");
    let mut total = Compared::default();
    for bars in [1, 2, 3, 64, 65] {
        let series = ticks_of(&generate::tick_walk(50, 1, bars));
        let compared = agrees_with_exact_integers(engine, "one-bar windows", &series, &grid);
        assert_eq!(compared.decisions, bars as u64);
        total.add(compared);
    }
    total
}

/// Checks windows that fill the series: one decision, so no crossover and no trade.
pub fn windows_as_long_as_the_series(engine: &dyn Backend) -> Compared {
    let mut total = Compared::default();
    for bars in [1, 2, 7, 63, 64, 65, 128, 200, 257] {
        let series = ticks_of(&generate::tick_walk(500, 4, bars));
        let (fast, slow) = (format!("sma:{bars}"), format!("wma:{bars}"));
        let grid = parse(&fast, &slow);
        let compared = agrees_with_exact_integers(engine, &fast, &series, &grid);
        assert_eq!(compared.decisions, 1);
        let trades = engine.trades(&series, &grid, &Rules::default());
        assert!(trades.expect("the windows fit")[0].is_empty());
        total.add(compared);
    }
    total
}

/// Checks custom kernels: gains other than 1, negative weights, weights without an exact decimal, a difference.
pub fn custom_kernels(engine: &dyn Backend) -> Compared {
    let kernels = [
        ("half", vec![0.5]),
        ("double", vec![0.0, 2.0]),
        ("tenths", vec![0.1; 10]),
        ("slope", vec![-1.0, 0.5, 1.5]),
        ("wide", vec![1e-9, 0.3, -0.2, 1e6, -999_999.1]),
        ("long", (0..70).map(|k| f64::from(k - 35) / 7.0).collect()),
    ];
    let kernels: Vec<_> = kernels
        .iter()
        .map(|(name, weights)| Filter::fir(name, weights).expect(FITS))
        .collect();
    let mut others = vec![Filter::sma(10).expect(FITS), Filter::hma(9).expect(FITS)];
    others.extend(kernels.iter().cloned());
    let grid = Grid::cross(&kernels, &others).expect(FITS);
    let series = [
        generate::ticks(),
        generate::continuous(),
        generate::flat_stretches(),
    ]
    .concat();
    let mut total = Compared::default();
    for (name, series) in &series {
        total.add(agrees_with_exact_integers(engine, name, series, &grid));
    }
    assert!(total.ties > 0 && total.crossovers > 1_000, "{total:?}");
    total
}

/// Checks windows of thousands of bars, beyond any tile.
pub fn large_periods(engine: &dyn Backend) -> Compared {
    let grid = parse("sma:2500,4096", "wma:3000,4097");
    let walk = ticks_of(&generate::tick_walk(100_000, 3, 4_400));
    let compared = agrees_with_exact_integers(engine, "large periods", &walk, &grid);
    let flat = ticks_of(&vec![77; 4_400]);
    let ties = agrees_with_exact_integers(engine, "large flat periods", &flat, &grid);
    assert_eq!(ties.ties, ties.decisions);
    compared
}

/// Checks that the values of [`Backend::filters`] are within the stated bounds of their exact values.
pub fn filters_are_within_their_bounds(engine: &dyn Backend) -> Compared {
    let mut compared = Compared::default();
    for (name, series) in generate::hostile().iter().chain(&generate::continuous()) {
        if name.contains("largest") || name.contains("subnormal") {
            continue; // relative bounds hold while nothing over- or underflows; sides are checked there
        }
        let (grid, closes) = (grid(), series.closes());
        let question = Question::new(series, &grid).expect(FITS);
        let matrix = engine
            .filters(&question)
            .expect("no device fails in this check");
        let bounds = matrix
            .relative_bounds
            .expect("a certified engine states bounds");
        for (row, filter) in question.filters().iter().enumerate() {
            let warm_up = filter.warm_up();
            let values = matrix.values.row(row);
            assert!(values.iter().take(warm_up).all(|value| value.is_nan()));
            for bar in (warm_up..series.bars()).step_by(29) {
                let window = &closes[bar - warm_up..=bar];
                let largest = window.iter().copied().fold(0.0, f64::max);
                let error = error(filter, window, values[bar]);
                let limit = bounds[row] * largest;
                let at = format!("{} on {name}, {filter}, bar {bar}", engine.name());
                assert!(
                    error <= limit,
                    "{at}: off by {error:e}, the bound is {limit:e}"
                );
                compared.decisions += 1;
            }
        }
    }
    compared
}

/// The distance of a value from exact, in integers of the smallest binary digit in sight.
fn error(filter: &Filter, window: &[f64], value: f64) -> f64 {
    let weights = filter.exact_weights().to_big();
    let lowest = window
        .iter()
        .map(|&close| split(close).1)
        .min()
        .unwrap_or(0);
    let lowest = lowest.min(split(value).1);
    let integer = |value: f64| {
        let (mantissa, exponent) = split(value);
        BigInt::from(mantissa) << (exponent - lowest).max(0)
    };
    let sum: BigInt = weights
        .weights
        .iter()
        .zip(window)
        .map(|(w, &x)| w * integer(x))
        .sum();
    let distance = (sum - integer(value) * &weights.denominator).to_f64();
    let denominator = weights.denominator.to_f64();
    let (distance, denominator) = distance.zip(denominator).expect("BigInt converts to f64");
    (distance / denominator).abs() * f64::powi(2.0, lowest)
}

/// Checks that an answer depends on its question alone: asked twice, after another, and combination by combination.
pub fn answers_stand_alone(engine: &dyn Backend) -> Compared {
    const ANSWERS: &str = "no device fails in this check";
    let (grid, other) = (grid(), parse("sma:3", "sma:70"));
    let series = ticks_of(&generate::tick_walk(800, 2, 900));
    let rules = Rules::published();
    let first = engine.sweep(&series, &grid, &rules).expect(ANSWERS);
    let walk = random_walk(333, 9).expect(FITS);
    engine.sweep(&walk, &other, &rules).expect(ANSWERS);
    let again = engine.sweep(&series, &grid, &rules).expect(ANSWERS);
    assert_eq!(first.rows, again.rows, "{} remembers", engine.name());
    for combination in (0..grid.combinations()).step_by(5) {
        let (fast, slow) = grid.combination(combination);
        let alone = Grid::from_pairs(&[(fast.clone(), slow.clone())]).expect(FITS);
        let alone = engine.sweep(&series, &alone, &rules).expect(ANSWERS);
        assert_eq!(
            alone.rows[0], first.rows[combination],
            "{fast} / {slow} alone"
        );
    }
    Compared {
        decisions: first.diagnostics.decisions,
        ..Compared::default()
    }
}

/// Checks that bars appended later change no crossover before them.
pub fn later_bars_change_nothing(engine: &dyn Backend) -> Compared {
    let grid = grid();
    let walk = generate::tick_walk(900, 2, 1_000);
    let whole = engine
        .crossovers(&ticks_of(&walk), &grid)
        .expect("no device fails here");
    let mut compared = Compared::default();
    for bars in (150..1_000).step_by(50) {
        let part = engine
            .crossovers(&ticks_of(&walk[..bars]), &grid)
            .expect("no device fails here");
        for (part, whole) in part.iter().zip(&whole) {
            let before = whole.partition_point(|&bar| (bar as usize) < bars);
            assert_eq!(
                part[..],
                whole[..before],
                "{} cut at bar {bars}",
                engine.name()
            );
            compared.crossovers += part.len() as u64;
            compared.decisions += bars as u64;
        }
    }
    assert!(compared.crossovers > 10_000, "{compared:?}");
    compared
}

/// Checks that the sweep's totals are those of the trade lists: both ways to the money.
pub fn totals_are_those_of_the_trades(engine: &dyn Backend) -> Compared {
    let walk = random_walk(2_500, 31).expect(FITS);
    let report = Strict::new()
        .compare_totals(engine, &walk, &grid(), &Rules::published())
        .unwrap_or_else(|error| panic!("{error}"));
    assert!(report.is_equal(), "{report}");
    assert!(report.trades > 1_000);
    Compared {
        decisions: report.trades,
        ..Compared::default()
    }
}
