//! Ranking by a metric: which way is better, ties, and values that never win.

#![allow(
    clippy::unwrap_used,
    clippy::float_cmp,
    clippy::pedantic,
    unreachable_pub,
    dead_code
)]

#[path = "support/scripted.rs"]
mod scripted;

use crosscheck::{Backend, Grid, Metric, MetricSet, Rules, Sequential, Series, random_walk, rank};
use scripted::Scripted;

const YEAR: f64 = 252.0;

#[test]
fn ta_10_a_combination_without_trades_never_wins() {
    let series = Series::from_closes(&[100.0, 100.0, 102.0, 98.0, 97.0]).unwrap();
    let engine = Scripted(vec![vec![0; 5], vec![-1; 5], vec![-1, 1, 1, -1, 1]]);
    let set = MetricSet::all(YEAR).unwrap();
    let sweep = engine
        .sweep_with(&series, &engine.grid(), &Rules::published(), &set)
        .unwrap();
    assert!(sweep.rows[2].totals.pnl_pct < 0.0);
    for metric in [
        Metric::Sharpe,
        Metric::ProfitFactor,
        Metric::MaxDrawdown,
        Metric::Pnl,
        Metric::WinRate,
        Metric::Fees,
    ] {
        assert_eq!(sweep.best(metric), Some(2), "{metric:?}");
    }
    assert_eq!(sweep.rank(Metric::Sharpe), [2, 0, 1]);
    let empty = Scripted(vec![vec![0; 5]; 2]);
    let sweep = empty
        .sweep_with(&series, &empty.grid(), &Rules::default(), &set)
        .unwrap();
    assert_eq!(sweep.best(Metric::Sharpe), None);
    assert_eq!(sweep.best(Metric::Pnl), None);
}

#[test]
fn ta_11_nan_and_infinity_neither_win_nor_panic() {
    let scores = [f64::NAN, 1.0, f64::NAN, 2.0, f64::NEG_INFINITY];
    assert_eq!(rank(&scores), [3, 1, 4, 0, 2]);
    assert_eq!(rank(&[f64::INFINITY, -3.0, f64::NAN]), [1, 0, 2]);
    assert_eq!(rank(&[1.0, 1.0, 1.0]), [0, 1, 2]);
    assert!(rank(&[]).is_empty());
}

/// More scores than a small sort takes in order by chance.
#[test]
fn ties_keep_the_order_of_the_grid() {
    let scores: Vec<f64> = (0..400).map(|index| f64::from(index * 7 % 3)).collect();
    let order = rank(&scores);
    assert!(order.windows(2).all(|pair| {
        let [a, b] = [scores[pair[0]], scores[pair[1]]];
        a > b || (a == b && pair[0] < pair[1])
    }));
    assert!(rank(&vec![f64::NAN; 400]).into_iter().eq(0..400));
}

#[test]
fn ranking_knows_which_way_is_better_and_what_is_no_value() {
    let walk = random_walk(4_000, 3).unwrap();
    let grid = Grid::parse("hma:10..=60:10", "hma3:12..=72:12").unwrap();
    let set = MetricSet::all(YEAR).unwrap();
    let mut sweep = Sequential::new()
        .sweep_with(&walk, &grid, &Rules::published(), &set)
        .unwrap();
    for metric in [
        Metric::MaxDrawdown,
        Metric::ClosedDrawdown,
        Metric::Fees,
        Metric::Turnover,
        Metric::Sharpe,
        Metric::Pnl,
    ] {
        let sign = if metric.is_better_low() { -1.0 } else { 1.0 };
        let values: Vec<f64> = sweep
            .rank(metric)
            .into_iter()
            .map(|row| sign * sweep.rows[row].value(metric).unwrap())
            .collect();
        assert!(
            values[0] > values[35] && values.is_sorted_by(|a, b| a >= b),
            "{metric:?}"
        );
        assert_eq!(sweep.best(metric), Some(sweep.rank(metric)[0]));
    }
    for value in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        for row in &mut sweep.rows {
            row.metrics = None;
            row.totals.pnl_pct = value;
        }
        assert_eq!(sweep.best(Metric::Pnl), None);
        sweep.rows[9].totals.pnl_pct = -1e300;
        assert_eq!(sweep.best(Metric::Pnl), Some(9));
    }
}
