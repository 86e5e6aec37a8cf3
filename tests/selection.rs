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
use scripted::{Scripted, draw, random_sides};

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

/// The closes and sides of `tests/peers/deflated.py`.
fn correlated_rows() -> (Series, Scripted) {
    let (mut state, mut close) = (11, 1_000_i64);
    let mut next = || {
        close = (close + (draw(&mut state) % 21) as i64 - 10).max(500);
        close as f64
    };
    let closes: Vec<f64> = (0..400).map(|_| next()).collect();
    let common = random_sides(400, 12, 1_000);
    let row = |index: u64| {
        let own = random_sides(400, 12, index);
        let side = |bar: usize| match (index, bar % 40) {
            (3, _) => 0,
            (_, ..24) => common[bar],
            _ => own[bar],
        };
        (0..400).map(side).collect()
    };
    let engine = Scripted((0..70).map(row).collect());
    (Series::from_closes(&closes).unwrap(), engine)
}

/// Expected values from the published formulas in 40 digits, by another program: `python tests/peers/deflated.py`. More rows
/// than the crate takes at a time, one of them without a trade.
#[test]
fn the_deflated_sharpe_is_that_of_the_published_formulas() {
    let (series, engine) = correlated_rows();
    let additive = Rules::default().with_fee_pct(0.1).unwrap();
    let compounded = additive.with_compounding(Compounding::Compounded);
    // the best by Sharpe whatever the selection's own metric, within its floors
    let any = Selection::by(Metric::Trades);
    for (rules, selection, combination, expected) in [
        (
            additive,
            any,
            66,
            [
                0.12446587108102,
                0.6094927859788,
                27.554490553442,
                0.076646774500513,
                0.99325928692685,
                0.82875695090043,
            ],
        ),
        (
            additive,
            any.with_min_trades(22),
            48,
            [
                0.04613975148261,
                0.6094927859788,
                27.554490553442,
                0.076646774500513,
                0.82152462076407,
                0.27123575890395,
            ],
        ),
        (
            compounded,
            any,
            66,
            [
                0.12331050435312,
                0.60665954762438,
                27.747150761542,
                0.076730516287781,
                0.99279905279272,
                0.82235402668651,
            ],
        ),
    ] {
        let found = deflated_sharpe(&engine, &series, &engine.grid(), &rules, &selection);
        let found = found.unwrap().unwrap();
        assert_eq!((found.combination, found.trials), (combination, 69));
        let values = [
            found.sharpe,
            found.mean_correlation,
            found.effective_trials,
            found.expected_best,
            found.probabilistic,
            found.deflated,
        ];
        for (value, expected) in values.into_iter().zip(expected) {
            assert!(
                (value / expected - 1.0).abs() < 1e-9,
                "{found:?} {expected}"
            );
        }
    }
}

/// Rows that mirror each other correlate by -1: they count as two trials, not as more.
#[test]
fn opposite_rows_are_two_trials() {
    let walk = random_walk(500, 4).unwrap();
    let sides = random_sides(500, 9, 2);
    let mirrored = sides.iter().map(|side| -side).collect();
    let engine = Scripted(vec![sides, mirrored]);
    let selection = Selection::by(Metric::Sharpe);
    let deflate = |engine: &Scripted, rules: &Rules| {
        deflated_sharpe(engine, &walk, &engine.grid(), rules, &selection).unwrap()
    };
    let found = deflate(&engine, &Rules::default()).unwrap();
    assert_eq!((found.mean_correlation, found.effective_trials), (0.0, 2.0));
    // the same row twice is one trial, and nothing is expected of one
    let twice = Scripted(vec![engine.0[0].clone(), engine.0[0].clone()]);
    let found = deflate(&twice, &Rules::default()).unwrap();
    assert!(found.mean_correlation > 1.0 - 1e-12 && found.expected_best < 1e-9);
    assert!(found.effective_trials < 1.0 + 1e-12);
    // one alone
    let alone = Scripted(vec![engine.0[0].clone(), vec![0; 500]]);
    let found = deflate(&alone, &Rules::default()).unwrap();
    assert_eq!((found.trials, found.effective_trials), (1, 1.0));
    assert_eq!(
        (found.expected_best, found.deflated),
        (0.0, found.probabilistic)
    );
    // none
    assert_eq!(
        deflate(&Scripted(vec![vec![0; 500]; 2]), &Rules::default()),
        None
    );
}

/// After its ruin an account has no return, and its equity of 0 divides nothing.
#[test]
fn ruined_rows_have_no_returns_after_their_ruin() {
    let level = |bar: u32| if bar < 60 { 100.0 } else { 300.0 };
    let close = |bar: u32| level(bar) + f64::from(bar * bar % 37);
    let closes: Vec<f64> = (0..120).map(close).collect();
    let series = Series::from_closes(&closes).unwrap();
    let short_from =
        |bar: usize| -> Vec<i8> { (0..120).map(|b| if b < bar { 1 } else { -1 }).collect() };
    let engine = Scripted(vec![short_from(2), short_from(30), random_sides(120, 8, 1)]);
    let rules = Rules::default().with_compounding(Compounding::Compounded);
    let swept = engine.sweep(&series, &engine.grid(), &rules).unwrap();
    let ruined = [0, 1, 2].map(|row: usize| swept.rows[row].totals.ruined_at);
    assert_eq!(ruined[..2], [Some(60); 2]);
    let trades = engine.trades(&series, &engine.grid(), &rules).unwrap();
    let returns: Vec<Vec<f64>> = trades
        .iter()
        .map(|trades| {
            let equity = equity(&series, &rules, trades);
            let step = |bar: usize| match bar {
                0 => equity[0] - 1.0,
                _ if equity[bar - 1] == 0.0 => 0.0,
                _ => equity[bar] / equity[bar - 1] - 1.0,
            };
            (0..120).map(step).collect()
        })
        .collect();
    let sharpe = Selection::by(Metric::Sharpe);
    let found = deflated_sharpe(&engine, &series, &engine.grid(), &rules, &sharpe).unwrap();
    let (found, expected) = (found.unwrap(), plain_correlation(&returns));
    assert!(
        expected > 0.1 && (found.mean_correlation - expected).abs() < 1e-9,
        "{found:?} {expected}"
    );
}

#[test]
fn an_exposure_at_the_floor_is_enough() {
    let closes: Vec<f64> = (0..200).map(|bar| 100.0 + f64::from(bar)).collect();
    let series = Series::from_closes(&closes).unwrap();
    let mut half = vec![-1; 200];
    half[99..].fill(1);
    let engine = Scripted(vec![half, vec![0; 200]]);
    let set = MetricSet::trades();
    let sweep = engine
        .sweep_with(&series, &engine.grid(), &Rules::default(), &set)
        .unwrap();
    assert_eq!(sweep.rows[0].metrics.unwrap().exposure, 0.5);
    let by_pnl = Selection::by(Metric::Pnl);
    assert_eq!(sweep.choose(&by_pnl.with_min_exposure(0.5)), Some(0));
    assert_eq!(sweep.choose(&by_pnl.with_min_exposure(0.500_001)), None);
    // one trade is asked for where none is: who never trades has no result to believe
    let idle = sweep.choose(&Selection::by(Metric::MaxDrawdown).with_min_trades(0));
    assert_eq!(idle, None);
    let idle = sweep.choose(&Selection::by(Metric::Fees).with_min_trades(0));
    assert_eq!(idle, Some(0));
}

/// A drawdown's worst neighbour is the deepest, a lone value has itself, and a loss has no ratio.
#[test]
fn plateaus_know_which_way_is_better() {
    let walk = random_walk(2_000, 5).unwrap();
    let grid = Grid::parse("sma:2..=4", "sma:10..=12").unwrap();
    let set = MetricSet::all(252.0).unwrap();
    let sweep = |grid: &Grid| {
        let rules = Rules::default();
        Sequential::new()
            .sweep_with(&walk, grid, &rules, &set)
            .unwrap()
    };
    let swept = sweep(&grid);
    let depth = |index: usize| swept.rows[index].metrics.unwrap().max_drawdown.unwrap();
    let deepest = [1, 3, 4].map(depth).into_iter().fold(0.0, f64::max);
    let shallowest = [1, 3, 4].map(depth).into_iter().fold(1.0, f64::min);
    assert!(shallowest < deepest);
    let corner = swept.plateaus(&grid, Metric::MaxDrawdown)[0].unwrap();
    assert_eq!((corner.worst, corner.neighbours), (deepest, 3));
    let mean = (depth(0) + depth(1) + depth(3) + depth(4)) / 4.0;
    assert!((corner.mean - mean).abs() < 1e-15);
    let alone = Grid::parse("sma:2", "sma:10").unwrap();
    let mut swept = sweep(&alone);
    let lone = swept.plateaus(&alone, Metric::MaxDrawdown)[0].unwrap();
    assert_eq!(
        (lone.worst, lone.mean, lone.neighbours),
        (lone.value, lone.value, 0)
    );
    let no_metrics = swept.rows[0].metrics.take();
    assert!(no_metrics.is_some());
    for (pnl, ratio) in [(-3.0, None), (0.0, None), (2.0, Some(1.0))] {
        swept.rows[0].totals.pnl_pct = pnl;
        let plateau = swept.plateaus(&alone, Metric::Pnl)[0].unwrap();
        assert_eq!(plateau.ratio(), ratio);
    }
}
