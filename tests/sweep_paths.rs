//! M2 and M4 give the trades of M0 on every instruction set, any number of threads and any shape of filter.
//!
//! Source of truth: the naive engine, which shares no kernel with them. Every comparison says how many trades it saw.

use crosscheck::{
    Backend, Expr, Filter, Grid, Naive, Pool, Rules, Sequential, Series, SimdPath, parse_filters,
    random_walk,
};
use std::sync::Arc;

/// Prices that engines have gone wrong on.
fn hostile(bars: usize) -> Vec<(&'static str, Series)> {
    let walk = random_walk(bars, 9).unwrap();
    let closes = |price: &dyn Fn(usize) -> f64| (0..bars).map(price).collect::<Vec<f64>>();
    let binary = |prices: Vec<f64>| Series::from_closes(&prices).unwrap();
    let ticks: Vec<i64> = walk.closes().iter().map(|p| (p / 40.0) as i64).collect();
    let alternating: Vec<i64> = (0..bars as i64).map(|bar| 1_000 + bar % 2).collect();
    let mut spiked = closes(&|bar| 1e-8 * (1.0 + 0.01 * (bar as f64 * 0.37).sin()));
    spiked[bars / 2] = 1e12;
    vec![
        ("walk", walk.clone()),
        ("ticks", Series::from_ticks(&ticks, 0.01).unwrap()),
        (
            "alternating",
            Series::from_ticks(&alternating, 0.01).unwrap(),
        ),
        ("flat", binary(vec![0.1; bars])),
        (
            "plateaus",
            binary(closes(&|bar| 100.0 + ((bar / 150) % 7) as f64 * 0.1)),
        ),
        ("ramp", binary(closes(&|bar| 10.0 + bar as f64 * 0.01))),
        ("spike", binary(spiked)),
        (
            "tiny",
            binary(walk.closes().iter().map(|p| p * 1e-250).collect()),
        ),
        (
            "huge",
            binary(walk.closes().iter().map(|p| p * 1e280).collect()),
        ),
    ]
}

/// Filters by name, such as `"hma:2,5 sma:4"`.
fn filters(text: &str) -> Vec<Filter> {
    text.split(' ')
        .flat_map(|spec| parse_filters(spec).unwrap())
        .collect()
}

fn grid(fast: &str, slow: &str) -> Grid {
    Grid::cross(&filters(fast), &filters(slow)).unwrap()
}

fn engines() -> Vec<Box<dyn Backend>> {
    let mut engines: Vec<Box<dyn Backend>> = vec![
        Box::new(Pool::new(None)),
        Box::new(Pool::new(Some(1))),
        Box::new(Pool::new(Some(3))),
    ];
    let paths = SimdPath::all().into_iter();
    engines.extend(paths.map(|path| Box::new(Sequential::with_path(path)) as Box<dyn Backend>));
    engines
}

/// Compares every engine with M0; returns the trades compared.
fn agree(series: &Series, grid: &Grid, name: &str) -> usize {
    let expected = Naive::new()
        .trades(series, grid, &Rules::default())
        .unwrap();
    let mut compared = 0;
    for (which, engine) in engines().iter().enumerate() {
        let found = engine.trades(series, grid, &Rules::default()).unwrap();
        for (combination, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert_eq!(
                found,
                expected,
                "{name}: {} ({which}), {combination}",
                engine.name()
            );
            compared += found.len();
        }
        let sweep = engine.sweep(series, grid, &Rules::default()).unwrap();
        for (row, expected) in sweep.rows.iter().zip(&expected) {
            let sum = expected.iter().fold(0.0, |sum, trade| sum + trade.pnl_pct);
            assert_eq!(
                row.totals.pnl_pct.to_bits(),
                sum.to_bits(),
                "{name} {}",
                engine.name()
            );
        }
    }
    compared
}

#[test]
fn every_path_and_thread_count_takes_the_trades_of_m0() {
    let grid = grid("hma:2,5,20,90 sma:4 wma:9", "hma3:4,24,100 sma:10 wma:33");
    for (name, series) in hostile(3_000) {
        let compared = agree(&series, &grid, name);
        let is_still = ["flat", "ramp"].contains(&name);
        assert!(is_still || compared > 500, "{name}: {compared} trades");
    }
}

#[test]
fn long_windows_kernels_and_deep_trees_take_the_trades_of_m0() {
    let sma = |period, of: &Arc<Expr>| {
        Arc::new(Expr::Sma {
            period,
            of: of.clone(),
        })
    };
    let close = Arc::new(Expr::Close);
    let deep = sma(2, &sma(3, &sma(4, &sma(5, &sma(6, &close)))));
    let deep = Filter::from_expr("deep", (*deep).clone()).unwrap();
    let mut fast = filters("sma:1 hma:300 wma:1500");
    fast.push(deep);
    let slow = filters("sma:2500 hma3:2200 hma:700");
    let unit = Grid::cross(&fast, &slow).unwrap();
    let kernel = Filter::fir("kernel", &[0.25, 0.25, 0.5]).unwrap();
    let tilted = Filter::fir("tilted", &[0.1, 0.2, 0.700_01]).unwrap();
    let gains = Grid::from_pairs(&[
        (kernel, Filter::sma(9).unwrap()),
        (tilted, Filter::hma(16).unwrap()),
        (Filter::hma(16).unwrap(), Filter::wma(30).unwrap()),
    ])
    .unwrap();
    for (name, series) in hostile(6_000) {
        let compared = agree(&series, &unit, name) + agree(&series, &gains, name);
        let is_still = ["flat", "ramp", "huge"].contains(&name);
        assert!(is_still || compared > 500, "{name}: {compared} trades");
    }
}

/// `(5050 Wma(100) - 100 Sma(100) - 4950 Wma(99)) + close`: terms that reach 101 bars back, and taps that reach 2.
#[test]
fn terms_that_cancel_reach_further_than_the_taps() {
    let close = Arc::new(Expr::Close);
    let of = || close.clone();
    let wma = |period| Arc::new(Expr::Wma { period, of: of() });
    let sma = Arc::new(Expr::Sma {
        period: 100,
        of: of(),
    });
    let parts = vec![(5_050, wma(100)), (-100, sma), (-4_950, wma(99)), (1, of())];
    let cancelling = Filter::from_expr("cancelling", Expr::Combination(parts)).unwrap();
    let slow = filters("sma:7");
    let grid = Grid::cross(&[cancelling], &slow).unwrap();
    for (name, series) in hostile(3_000) {
        agree(&series, &grid, name);
    }
}

#[test]
fn diagnostics_do_not_depend_on_threads() {
    let grid = grid("hma:20,40 sma:5", "hma3:48,96 wma:10");
    for (name, series) in hostile(9_000) {
        let count = |engine: &dyn Backend| {
            let found = engine
                .sweep(&series, &grid, &Rules::default())
                .unwrap()
                .diagnostics;
            (found.decisions, found.undecided, found.by_flat, found.ties)
        };
        let one = count(&Sequential::new());
        assert_eq!(one, count(&Pool::new(Some(2))), "{name}");
        assert_eq!(one, count(&Pool::new(Some(5))), "{name}");
    }
}

#[test]
fn few_bars_stay_open_on_a_walk() {
    let grid = grid("hma:20..=200:20", "hma3:24..=192:24");
    let walk = random_walk(50_000, 42).unwrap();
    let sweep = Sequential::new()
        .sweep(&walk, &grid, &Rules::default())
        .unwrap();
    assert!(
        sweep.diagnostics.undecided_share() < 3e-5,
        "{:?}",
        sweep.diagnostics
    );
    assert!(sweep.diagnostics.undecided > 0, "{:?}", sweep.diagnostics);
}

#[test]
fn series_shorter_than_a_cell_and_of_odd_length_are_read_to_the_end() {
    let grid = grid("sma:1 hma:4", "wma:3 hma3:8");
    for bars in [8, 63, 64, 65, 511, 512, 513, 1_000, 4_097] {
        let compared = agree(&random_walk(bars, 3).unwrap(), &grid, "odd length");
        assert!(bars < 60 || compared > 20, "{bars}: {compared}");
    }
}

#[test]
fn ties_on_every_bar_cost_no_integers() {
    let ticks: Vec<i64> = (0..20_000).map(|bar| 1_000 + bar % 2).collect();
    let series = Series::from_ticks(&ticks, 0.01).unwrap();
    let grid = grid("sma:4,8", "sma:10,20");
    let found = Sequential::new()
        .sweep(&series, &grid, &Rules::default())
        .unwrap();
    let counts = &found.diagnostics;
    assert_eq!(found.trades(), 0);
    assert_eq!(counts.ties, counts.decisions, "{counts:?}");
    assert!(counts.by_integer < counts.ties / 50, "{counts:?}");
}
