//! The windows of a walk-forward, which combination each chooses, and what its table adds up to.

#![allow(
    clippy::unwrap_used,
    clippy::float_cmp,
    clippy::pedantic,
    unreachable_pub,
    dead_code
)]

#[path = "support/scripted.rs"]
mod scripted;

use crosscheck::{
    Error, Fill, Grid, Metric, MetricSet, Rules, Selection, Sequential, WalkForward,
    WalkForwardReport, random_walk,
};
use scripted::{Scripted, random_sides};

#[test]
fn anchored_windows_begin_with_the_series_and_rolling_ones_move_on() {
    let ranges = |walk: WalkForward| -> Vec<[usize; 4]> {
        let splits = walk.with_purge(5).splits(100).unwrap();
        let ends = |s: &crosscheck::Split| [s.train.start, s.train.end, s.test.start, s.test.end];
        splits.iter().map(ends).collect()
    };
    assert_eq!(
        ranges(WalkForward::anchored(40, 20).unwrap()),
        [[0, 40, 45, 65], [0, 60, 65, 85]]
    );
    assert_eq!(
        ranges(WalkForward::rolling(40, 20).unwrap()),
        [[0, 40, 45, 65], [20, 60, 65, 85]]
    );
    // one that fits to the last bar
    let last = WalkForward::rolling(35, 20)
        .unwrap()
        .with_purge(5)
        .splits(100);
    assert_eq!(last.unwrap()[2].test, 80..100);
}

#[test]
fn a_walk_that_fits_no_series_is_refused() {
    assert!(matches!(
        WalkForward::rolling(0, 5),
        Err(Error::InvalidSplits { .. })
    ));
    assert!(matches!(
        WalkForward::anchored(5, 0),
        Err(Error::InvalidSplits { .. })
    ));
    let error = WalkForward::rolling(90, 11)
        .unwrap()
        .splits(100)
        .unwrap_err();
    assert!(
        error.to_string().contains("are 101, the series has 100"),
        "{error}"
    );
    assert!(
        WalkForward::rolling(usize::MAX, 2)
            .unwrap()
            .splits(100)
            .is_err()
    );
}

#[test]
fn opens_that_the_rules_need_are_asked_for() {
    let (walk, grid) = (
        random_walk(500, 1).unwrap(),
        Grid::parse("sma:3", "sma:8").unwrap(),
    );
    let rules = Rules::default().with_fill(Fill::NextOpen);
    let (set, selection) = (MetricSet::trades(), Selection::by(Metric::Pnl));
    let splits = WalkForward::rolling(100, 50).unwrap();
    let refused = splits.run(&Sequential::new(), &walk, &grid, &rules, &set, &selection);
    assert!(matches!(refused, Err(Error::MissingOpens)));
}

/// Scripted filters are named by their rows.
fn rows_name(row: usize) -> String {
    row.to_string()
}

/// More combinations than are held at a time: the choice is that of two smaller grids, the earlier one where they tie.
#[test]
fn large_grids_choose_as_small_ones_do() {
    let series = random_walk(300, 4).unwrap();
    let mut rows: Vec<Vec<i8>> = (0..1_500).map(|seed| random_sides(300, 12, seed)).collect();
    // the best of all, twice
    rows[1_400] = rows[700].clone();
    let splits = WalkForward::rolling(60, 12).unwrap();
    let (set, selection) = (MetricSet::trades(), Selection::by(Metric::Pnl));
    let run = |rows: &[Vec<i8>]| {
        let engine = Scripted(rows.to_vec());
        let rules = Rules::published();
        splits
            .run(&engine, &series, &engine.grid(), &rules, &set, &selection)
            .unwrap()
    };
    let (whole, first, last) = (run(&rows), run(&rows[..1_000]), run(&rows[1_000..]));
    let mut wins = [0, 0];
    for ((whole, first), last) in whole.rows.iter().zip(&first.rows).zip(&last.rows) {
        let [whole, first, last] = [whole, first, last].map(|row| row.chosen.as_ref().unwrap());
        let is_last = last.in_sample.totals.pnl_pct > first.in_sample.totals.pnl_pct;
        wins[usize::from(is_last)] += 1;
        let (best, offset) = if is_last { (last, 1_000) } else { (first, 0) };
        assert_eq!(whole.combination, best.combination + offset);
        assert_eq!(whole.fast, rows_name(whole.combination));
        assert_eq!(whole.in_sample, best.in_sample);
        assert_eq!(whole.out_of_sample, best.out_of_sample);
    }
    assert!(wins[0] > 2 && wins[1] > 2, "{wins:?}");
}

#[test]
fn ties_go_to_the_earlier_combination() {
    let series = random_walk(300, 4).unwrap();
    let engine = Scripted(vec![random_sides(300, 3, 3); 5]);
    let splits = WalkForward::rolling(60, 40).unwrap();
    let (set, selection) = (MetricSet::trades(), Selection::by(Metric::Pnl));
    let rules = Rules::default();
    let report = splits
        .run(&engine, &series, &engine.grid(), &rules, &set, &selection)
        .unwrap();
    assert_eq!(report.rows.len(), 6);
    for row in &report.rows {
        assert_eq!(row.chosen.as_ref().unwrap().combination, 0);
    }
}

#[test]
fn the_table_adds_up() {
    let walk = random_walk(3_000, 9).unwrap();
    let grid = Grid::parse("hma:6..=20:2", "hma3:12..=36:6").unwrap();
    let (set, rules) = (MetricSet::trades(), Rules::default());
    let splits = WalkForward::anchored(700, 230).unwrap();
    let run = |selection: &Selection| {
        splits
            .run(&Sequential::new(), &walk, &grid, &rules, &set, selection)
            .unwrap()
    };
    let report = run(&Selection::by(Metric::Pnl));
    let chosen: Vec<_> = report
        .rows
        .iter()
        .map(|row| row.chosen.as_ref().unwrap())
        .collect();
    assert_eq!(chosen.len(), 10);
    let (mut pnl, mut in_sample, mut bars, mut trades) = (0.0, 0.0, 0, 0);
    for (row, chosen) in report.rows.iter().zip(&chosen) {
        let (fast, slow) = grid.combination(chosen.combination);
        assert_eq!((&*chosen.fast, &*chosen.slow), (fast.name(), slow.name()));
        pnl += chosen.out_of_sample.totals.pnl_pct;
        trades += chosen.out_of_sample.totals.trades;
        in_sample += chosen.in_sample.totals.pnl_pct;
        bars += row.split.train.len();
    }
    assert_eq!((report.trades(), report.pnl_pct()), (trades, pnl));
    assert!(trades > 100 && in_sample > 0.0 && pnl != 0.0);
    let expected = (pnl / 2_300.0) / (in_sample / bars as f64);
    assert!((report.efficiency().unwrap() / expected - 1.0).abs() < 1e-12);
    // what was worst in sample has no efficiency, nor has nothing at all
    let mut losers: WalkForwardReport = report.clone();
    for chosen in losers.rows.iter_mut().filter_map(|row| row.chosen.as_mut()) {
        chosen.in_sample.totals.pnl_pct *= -1.0;
    }
    assert_eq!(losers.efficiency(), None);
    let none = run(&Selection::by(Metric::Pnl).with_min_trades(1_000_000));
    assert!(none.rows.len() == 10 && none.rows.iter().all(|row| row.chosen.is_none()));
    assert_eq!(
        (none.trades(), none.pnl_pct(), none.efficiency()),
        (0, 0.0, None)
    );
}
