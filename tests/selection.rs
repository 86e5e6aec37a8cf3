//! Selection: floors, plateaus, and the deflated Sharpe ratio against its definition and values from elsewhere.

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
    Backend, Compounding, Grid, Metric, MetricSet, Rules, Selection, Sequential, Series,
    deflated_sharpe, equity, probabilistic_sharpe, random_walk,
};
use scripted::{Scripted, random_sides};

/// Pair by pair, from each combination's own per-bar returns.
fn plain_correlation(returns: &[Vec<f64>]) -> f64 {
    let standardised: Vec<Vec<f64>> = returns
        .iter()
        .map(|returns| {
            let bars = returns.len() as f64;
            let mean = returns.iter().sum::<f64>() / bars;
            let size = returns
                .iter()
                .map(|r| (r - mean).powi(2))
                .sum::<f64>()
                .sqrt();
            returns.iter().map(|r| (r - mean) / size).collect()
        })
        .collect();
    let (mut sum, mut pairs) = (0.0, 0.0);
    for (index, a) in standardised.iter().enumerate() {
        for b in &standardised[index + 1..] {
            sum += a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            pairs += 1.0;
        }
    }
    sum / pairs
}

#[test]
fn effective_trials_come_from_the_mean_of_all_pairs() {
    let walk = random_walk(3_000, 8).unwrap();
    let grid = Grid::parse("hma:20..=60:10", "hma3:24..=72:12").unwrap();
    let engine = Sequential::new();
    for compounding in [Compounding::Additive, Compounding::Compounded] {
        let rules = Rules::published().with_compounding(compounding);
        let selection = Selection::by(Metric::Sharpe);
        let found = deflated_sharpe(&engine, &walk, &grid, &rules, &selection)
            .unwrap()
            .unwrap();
        let returns: Vec<Vec<f64>> = engine
            .trades(&walk, &grid, &rules)
            .unwrap()
            .iter()
            .map(|trades| {
                let mut before = 1.0;
                let step = |equity: f64| {
                    let size = if compounding == Compounding::Compounded {
                        before
                    } else {
                        1.0
                    };
                    let step = (equity - before) / size;
                    before = equity;
                    step
                };
                equity(&walk, &rules, trades)
                    .into_iter()
                    .map(step)
                    .collect()
            })
            .collect();
        let expected = plain_correlation(&returns);
        assert!(
            expected > 0.05,
            "neighbours in a grid are alike: {expected}"
        );
        assert!(
            (found.mean_correlation - expected).abs() < 1e-9,
            "{found:?} {expected}"
        );
        assert_eq!(found.trials, 25);
        assert!((found.effective_trials - (expected + (1.0 - expected) * 25.0)).abs() < 1e-7);
        let sweep = engine
            .sweep_with(&walk, &grid, &rules, &MetricSet::all(1.0).unwrap())
            .unwrap();
        assert_eq!(Some(found.combination), sweep.best(Metric::Sharpe));
        assert!(found.expected_best > 0.0 && found.deflated < found.probabilistic);
    }
}

#[test]
fn probabilistic_sharpe_follows_its_formula() {
    let walk = random_walk(4_000, 3).unwrap();
    let engine = Scripted::one(&random_sides(4_000, 20, 5));
    let set = MetricSet::all(1.0).unwrap();
    let sweep = engine
        .sweep_with(&walk, &engine.grid(), &Rules::default(), &set)
        .unwrap();
    let moments = sweep.rows[0].metrics.unwrap().returns.unwrap();
    let sharpe = moments.sharpe().unwrap();
    // half of the distribution is above the estimate itself
    assert!((probabilistic_sharpe(&moments, sharpe).unwrap() - 0.5).abs() < 1e-12);
    let spread = 1.0 - moments.skewness.unwrap() * sharpe
        + (moments.kurtosis.unwrap() - 1.0) / 4.0 * sharpe * sharpe;
    // 1.959964 standard errors below: 97.5 %
    let benchmark = sharpe - 1.959_963_984_540_054 * (spread / 3_999.0).sqrt();
    assert!((probabilistic_sharpe(&moments, benchmark).unwrap() - 0.975).abs() < 1e-9);
}

#[test]
fn floors_keep_out_what_traded_too_little() {
    let closes: Vec<f64> = (0..200).map(|bar| 100.0 + f64::from(bar)).collect();
    let series = Series::from_closes(&closes).unwrap();
    let mut once = vec![-1; 200];
    once[10..].fill(1);
    let mut late = vec![-1; 200];
    late[190..].fill(1);
    let often: Vec<i8> = (0..200)
        .map(|bar| if bar % 20 < 2 { -1 } else { 1 })
        .collect();
    let engine = Scripted(vec![late, once, often]);
    let set = MetricSet::all(252.0).unwrap();
    let sweep = engine
        .sweep_with(&series, &engine.grid(), &Rules::default(), &set)
        .unwrap();
    let by_pnl = Selection::by(Metric::Pnl);
    assert_eq!(sweep.choose(&by_pnl), Some(1));
    assert_eq!(sweep.choose(&by_pnl.with_min_trades(2)), Some(2));
    assert_eq!(sweep.choose(&by_pnl.with_min_trades(500)), None);
    let by_drawdown = Selection::by(Metric::MaxDrawdown);
    assert_eq!(sweep.choose(&by_drawdown), Some(0));
    assert_eq!(sweep.choose(&by_drawdown.with_min_exposure(0.5)), Some(1));
    let totals_only = engine
        .sweep(&series, &engine.grid(), &Rules::default())
        .unwrap();
    assert_eq!(totals_only.choose(&by_pnl), None);
}

#[test]
fn a_lone_peak_scores_below_a_plateau() {
    let walk = random_walk(2_000, 5).unwrap();
    let grid = Grid::parse("sma:2..=5", "sma:10..=14").unwrap();
    let mut sweep = Sequential::new()
        .sweep(&walk, &grid, &Rules::default())
        .unwrap();
    for (index, row) in sweep.rows.iter_mut().enumerate() {
        // 4 fast x 5 slow: level ground of 10, a lone peak of 30 at fast 1, slow 3
        row.totals.pnl_pct = if index == 8 { 30.0 } else { 10.0 };
    }
    sweep.rows[0].totals.pnl_pct = f64::NAN;
    let plateaus = sweep.plateaus(&grid, Metric::Pnl);
    assert!(plateaus[0].is_none());
    let peak = plateaus[8].unwrap();
    assert_eq!((peak.neighbours, peak.worst, peak.value), (8, 10.0, 30.0));
    assert!((peak.mean - 110.0 / 9.0).abs() < 1e-12);
    assert!((peak.ratio().unwrap() - 110.0 / 270.0).abs() < 1e-12);
    // the corner's neighbour lost one neighbour to NaN
    assert_eq!(plateaus[1].unwrap().neighbours, 4);
    assert_eq!(plateaus[15].unwrap().ratio(), Some(1.0));
}
