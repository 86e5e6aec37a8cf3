//! Where a metric has no value, or one that is all rounding: it is `None` with its cause, and never an infinity.

#![allow(
    clippy::unwrap_used,
    clippy::float_cmp,
    clippy::pedantic,
    unreachable_pub,
    dead_code
)]

#[path = "support/measured.rs"]
mod measured;
#[path = "support/scripted.rs"]
mod scripted;

use crosscheck::{
    Backend, Compounding, Error, Fill, FirstSide, Grid, Metric, MetricSet, OpenTrade, Rules,
    Sequential, Series, Undefined, random_walk,
};
use measured::{YEAR, market, measure};
use scripted::Scripted;

#[test]
fn undefined_metrics_say_why() {
    let series = market(50, 0.01, 0.0, 3);
    let flat = Scripted::one(&[0; 50]);
    let none = measure(&flat, &series, &Rules::default());
    for metric in [
        Metric::WinRate,
        Metric::ProfitFactor,
        Metric::Sharpe,
        Metric::Sortino,
        Metric::Calmar,
        Metric::AverageBars,
    ] {
        assert_eq!(
            (none.value(metric), none.cause(metric)),
            (None, Some(Undefined::NoTrades)),
            "{metric:?}"
        );
    }
    assert_eq!(
        none.cause(Metric::Compounded),
        Some(Undefined::NotCompounded)
    );
    assert_eq!(
        (none.max_drawdown, none.cause(Metric::MaxDrawdown)),
        (Some(0.0), None)
    );

    let rising = Series::from_closes(&[1.0, 1.0, 2.0, 3.0]).unwrap();
    let always_right = Scripted::one(&[-1, 1, 1, 1]);
    let best = measure(&always_right, &rising, &Rules::default());
    assert_eq!(best.cause(Metric::ProfitFactor), Some(Undefined::NoLosses));
    assert_eq!(best.cause(Metric::Sortino), Some(Undefined::NoDownside));
    assert_eq!(best.cause(Metric::Calmar), Some(Undefined::NoDrawdown));
    assert!(best.sharpe.is_some());

    let still = Series::from_closes(&[5.0; 6]).unwrap();
    let idle = measure(
        &Scripted::one(&[-1, 1, 1, -1, 1, 1]),
        &still,
        &Rules::default(),
    );
    assert_eq!(idle.cause(Metric::Sharpe), Some(Undefined::NoVariation));

    let set = MetricSet::trades();
    let sweep = always_right
        .sweep_with(&rising, &always_right.grid(), &Rules::default(), &set)
        .unwrap();
    assert_eq!(
        sweep.rows[0].metrics.unwrap().cause(Metric::Sharpe),
        Some(Undefined::NotAsked)
    );
    assert!(MetricSet::all(0.0).is_err() && MetricSet::all(f64::NAN).is_err());
}

/// Prices may be anything above 0; a result that no `f64` holds is an error, and a ratio that none holds has a cause.
#[test]
fn results_beyond_the_range_of_f64_are_never_infinite() {
    let far = Series::from_closes(&[1e-200, 1e-200, 1e200, 1e200, 1e-200, 1e-200]).unwrap();
    let engine = Scripted::one(&[-1, 1, 1, -1, -1, -1]);
    let set = MetricSet::all(YEAR).unwrap();
    for rules in [
        Rules::default(),
        Rules::default().with_fill(Fill::NextClose),
        Rules::default().with_compounding(Compounding::Compounded),
    ] {
        let swept = engine.sweep(&far, &engine.grid(), &rules);
        let measured = engine.sweep_with(&far, &engine.grid(), &rules, &set);
        let listed = engine.trades(&far, &engine.grid(), &rules);
        if rules.fill() == Fill::NextClose {
            // bought at the top
            assert!(swept.unwrap().rows[0].totals.pnl_pct.is_finite() && listed.is_ok());
            continue;
        }
        for error in [
            swept.unwrap_err(),
            measured.unwrap_err(),
            listed.unwrap_err(),
        ] {
            assert!(matches!(error, Error::InfiniteResult { .. }), "{error}");
            assert!(error.to_string().contains("from 1e-200"), "{error}");
        }
    }
    // the PnL fits, its square does not
    let wide = Series::from_closes(&[1e-90, 1e-90, 1e90, 1e90, 1e90]).unwrap();
    for rules in [
        Rules::default(),
        Rules::default().with_open_trade(OpenTrade::Mark),
    ] {
        let metrics = measure(&engine_of_five(), &wide, &rules);
        assert!(metrics.pnl_pct > 1e181);
        for metric in [Metric::Sharpe, Metric::Sortino] {
            assert_eq!(metrics.value(metric), None);
            assert_eq!(
                metrics.cause(metric),
                Some(Undefined::OutOfRange),
                "{metric:?}"
            );
        }
        assert_eq!(metrics.returns.unwrap().kurtosis, None);
    }
    // gains over losses: a gain of 1e300 % and a loss in the last place
    let least = 1.0 - f64::EPSILON;
    let uneven = Series::from_closes(&[1.0, 1.0, least, least * 1e-150, 1e148, 1e148]).unwrap();
    let engine = Scripted::one(&[-1, 1, -1, 1, 1, 1]);
    let metrics = measure(&engine, &uneven, &Rules::default());
    assert_eq!(metrics.value(Metric::ProfitFactor), None);
    let cause = metrics.cause(Metric::ProfitFactor);
    assert_eq!(cause, Some(Undefined::OutOfRange));
}

fn engine_of_five() -> Scripted {
    Scripted::one(&[-1, 1, 1, -1, -1])
}

/// A fee on the first bar and a loss of the same size on each bar after it: returns that are all alike, but for rounding.
#[test]
fn returns_that_differ_by_rounding_do_not_vary() {
    let mut compared = 0;
    for step in 1..40 {
        let fee = f64::from(step) * 0.000_7;
        let closes: Vec<f64> = (0..30)
            .map(|bar| 97.3 * (1.0 - fee * f64::from(bar)))
            .collect();
        let series = Series::from_closes(&closes).unwrap();
        let rules = Rules::default()
            .with_fee_per_side_pct(100.0 * fee)
            .unwrap()
            .with_first_side(FirstSide::Enter)
            .with_open_trade(OpenTrade::Mark);
        let metrics = measure(&Scripted::one(&[1; 30]), &series, &rules);
        let moments = metrics.returns.unwrap();
        assert!((moments.mean + fee).abs() < 1e-12);
        assert_eq!((moments.deviation, moments.skewness), (0.0, None), "{fee}");
        assert_eq!(metrics.cause(Metric::Sharpe), Some(Undefined::NoVariation));
        compared += 1;
    }
    assert_eq!(compared, 39);
}

#[test]
fn a_moment_beyond_the_range_leaves_the_others() {
    let wide = Series::from_closes(&[1e-45, 1e-45, 1e45, 1e45, 1e45]).unwrap();
    for rules in [
        Rules::default(),
        Rules::default().with_open_trade(OpenTrade::Mark),
    ] {
        let metrics = measure(&engine_of_five(), &wide, &rules);
        let moments = metrics.returns.unwrap();
        assert!(
            metrics.sharpe.is_some() && moments.kurtosis.is_none(),
            "{moments:?}"
        );
    }
}

/// Moves before the first trade that outweigh all others cost the powers of these no digit: one jump, or many moves.
#[test]
fn what_moves_before_the_first_trade_leaves_the_moments() {
    let walk = random_walk(4_000, 7).unwrap();
    let grid = Grid::parse("sma:10", "sma:40").unwrap();
    let (rules, set) = (Rules::default(), MetricSet::all(1.0).unwrap());
    let kurtosis = |calm: f64, early: &dyn Fn(usize) -> f64| {
        let mut close = 100.0;
        let closes: Vec<f64> = (0..4_000)
            .map(|bar| {
                if bar > 0 {
                    let step = walk.closes()[bar] / walk.closes()[bar - 1] - 1.0;
                    close *= (1.0 + calm * step) * early(bar);
                }
                close
            })
            .collect();
        let series = Series::from_closes(&closes).unwrap();
        let sweep = Sequential::new().sweep_with(&series, &grid, &rules, &set);
        let returns = sweep.unwrap().rows[0].metrics.unwrap().returns.unwrap();
        returns.kurtosis.unwrap()
    };
    let jump = kurtosis(0.01, &|bar| if bar == 5 { 1.9 } else { 1.0 });
    let shaken = kurtosis(0.001, &|bar| match bar {
        1..=38 if bar % 2 == 0 => 1.01,
        1..=38 => 1.0 / 1.01,
        _ => 1.0,
    });
    // of the returns bar by bar; no kurtosis is below 1, and differences of sums over the block gave 0.195
    assert!((jump - 2.965_449_8).abs() < 1e-6, "{jump}");
    assert!((shaken - jump).abs() < 0.1, "{shaken}");
}

/// An account that grows by 1e160: the product of two such accounts is no number, their quotient is.
#[test]
fn returns_of_a_huge_account_are_not_lost() {
    let closes = [1e-100, 1e-100, 1e-20, 1e60, 0.5e60, 1e60, 0.5e60, 1e60];
    let series = Series::from_closes(&closes).unwrap();
    let engine = Scripted::one(&[-1, 1, 1, 1, 1, 1, 1, 1]);
    let rules = Rules::default().with_compounding(Compounding::Compounded);
    let metrics = measure(&engine, &series, &rules);
    // two returns of 1e80, two of -0.5 and two of 1
    let expected = 2e80 / 8.0 / (0.5_f64 / 8.0).sqrt() * YEAR.sqrt();
    let found = metrics.sortino.unwrap();
    assert!((found / expected - 1.0).abs() < 1e-12, "{found} {expected}");
}
