//! Many series over one grid: a bad one loses none of the others, all in parallel, few in memory at a time.

#![allow(
    clippy::unwrap_used,
    clippy::float_cmp,
    clippy::pedantic,
    unreachable_pub,
    dead_code
)]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use crosscheck::{
    Backend, Error, FilterMatrix, Grid, Metric, MetricSet, Pool, Question, Result, Rules,
    Sequential, Series, Sweep, SweepSet, random_walk,
};

#[test]
fn na_07_a_bad_series_loses_none_of_the_others() {
    let grid = Grid::parse("sma:3,5", "sma:8").unwrap();
    let good = random_walk(700, 5).unwrap();
    let load = |symbol: &str| match symbol {
        "good" => Ok(good.clone()),
        "short" => random_walk(5, 1),
        "other" => random_walk(900, 6),
        _ => Series::from_closes(&[f64::NAN; 700]),
    };
    let set = SweepSet::new(&grid, Rules::published()).with_metrics(MetricSet::all(252.0).unwrap());
    for engine in [&Sequential::new() as &dyn Backend, &Pool::new(Some(2))] {
        let report = set
            .run(engine, &["good", "nan", "other", "short"], load)
            .unwrap();
        let names: Vec<_> = report
            .symbols
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(names, ["good", "nan", "other", "short"]);
        let metrics = MetricSet::all(252.0).unwrap();
        let alone = engine
            .sweep_with(&good, &grid, &Rules::published(), &metrics)
            .unwrap();
        assert_eq!(report.get("good").unwrap().as_ref().unwrap(), &alone);
        assert!(matches!(
            report.get("nan"),
            Some(Err(Error::NonFinitePrice { bar: 0, .. }))
        ));
        assert!(matches!(
            report.get("short"),
            Some(Err(Error::PeriodTooLong { .. }))
        ));
        assert_eq!(report.failures().count(), 2);
        assert!(report.get("absent").is_none());
        let sums: u64 = report.sweeps().map(|(_, sweep)| sweep.trades()).sum();
        assert_eq!(report.trades(), sums);
        assert!(sums > alone.trades() && alone.trades() > 50);
        let (symbol, combination) = report.best(Metric::Pnl).unwrap();
        let best = report.get(symbol).unwrap().as_ref().unwrap().rows[combination]
            .totals
            .pnl_pct;
        for (_, sweep) in report.sweeps() {
            assert!(sweep.rows.iter().all(|row| row.totals.pnl_pct <= best));
        }
    }
    let report = set
        .run(&Sequential::new(), &["good", "other"], load)
        .unwrap();
    let (symbol, combination) = report.best(Metric::MaxDrawdown).unwrap();
    let depth = |sweep: &Sweep, row: usize| sweep.rows[row].value(Metric::MaxDrawdown).unwrap();
    let least = depth(report.get(symbol).unwrap().as_ref().unwrap(), combination);
    for (_, sweep) in report.sweeps() {
        assert!((0..sweep.rows.len()).all(|row| depth(sweep, row) >= least));
    }
    let twice = set.run(&Sequential::new(), &["a", "b", "a"], load);
    assert!(matches!(twice, Err(Error::DuplicateSymbol { symbol }) if symbol == "a"));
}

/// Passes sweeps on to another engine, and counts the series that were loaded and are not done with.
struct Counting<'a> {
    engine: &'a dyn Backend,
    held: AtomicUsize,
    most: AtomicUsize,
}

impl<'a> Counting<'a> {
    fn new(engine: &'a dyn Backend) -> Self {
        Self {
            engine,
            held: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
        }
    }

    fn load(&self, seed: u64) -> Result<Series> {
        let held = self.held.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(held, Ordering::SeqCst);
        random_walk(20_000, seed)
    }
}

impl Backend for Counting<'_> {
    fn name(&self) -> &str {
        self.engine.name()
    }

    fn filters(&self, question: &Question<'_>) -> Result<FilterMatrix> {
        self.engine.filters(question)
    }

    fn sweep(&self, series: &Series, grid: &Grid, rules: &Rules) -> Result<Sweep> {
        let sweep = self.engine.sweep(series, grid, rules);
        self.held.fetch_sub(1, Ordering::SeqCst);
        sweep
    }
}

/// An engine with threads of its own too: a thread that waits for it must not take up the next series meanwhile.
#[test]
fn no_more_series_are_held_than_there_are_threads() {
    let grid = Grid::parse("hma:4..=40:4", "hma3:6..=60:6").unwrap();
    let symbols: Vec<String> = (0..60).map(|index| index.to_string()).collect();
    let outer = rayon::ThreadPoolBuilder::new()
        .num_threads(3)
        .build()
        .unwrap();
    let (own, shared) = (Pool::new(Some(2)), Pool::new(None));
    for engine in [&Sequential::new() as &dyn Backend, &own, &shared] {
        let counting = Counting::new(engine);
        let report = outer.install(|| {
            let load = |symbol: &str| counting.load(symbol.parse().unwrap());
            SweepSet::new(&grid, Rules::default()).run(&counting, &symbols, load)
        });
        let report = report.unwrap();
        assert_eq!(report.sweeps().count(), 60);
        assert!(report.symbols.iter().map(|(name, _)| name).eq(&symbols));
        let most = counting.most.into_inner();
        assert!((1..=3).contains(&most), "{}: {most} held", engine.name());
    }
}

/// Two loads that each wait for the other to begin: one thread after the other would never get there.
#[test]
fn symbols_run_side_by_side() {
    let (begun, all) = (Mutex::new(0), Condvar::new());
    let load = |_: &str| {
        let mut count = begun.lock().unwrap();
        *count += 1;
        all.notify_all();
        let limit = Duration::from_secs(20);
        let (count, _) = all
            .wait_timeout_while(count, limit, |count| *count < 2)
            .unwrap();
        random_walk(if *count < 2 { 0 } else { 500 }, 1)
    };
    let grid = Grid::parse("sma:3", "sma:8").unwrap();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .unwrap();
    let set = SweepSet::new(&grid, Rules::default());
    let report = pool.install(|| set.run(&Sequential::new(), &["a", "b"], load));
    assert_eq!(report.unwrap().sweeps().count(), 2);
}
