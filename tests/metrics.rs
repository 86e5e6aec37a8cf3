//! Every metric against plain loops over the bar-by-bar reference, and against values worked out by hand.

#![allow(
    clippy::unwrap_used,
    clippy::float_cmp,
    clippy::pedantic,
    unreachable_pub,
    dead_code
)]

#[path = "support/measured.rs"]
mod measured;
#[path = "support/plain_book.rs"]
mod plain_book;
#[path = "support/scripted.rs"]
mod scripted;

use crosscheck::{
    Backend, Compounding, Direction, FeeFormula, Fill, FirstSide, Grid, MetricSet, Metrics,
    OpenTrade, Pool, Rules, Sequential, Series, random_walk,
};
use measured::{YEAR, market, measure};
use plain_book::{PlainBook, book};
use scripted::{Scripted, random_sides};

fn returns(book: &PlainBook, rules: &Rules) -> Vec<f64> {
    let mut before = 1.0;
    let step = |&equity: &f64| {
        let step = if rules.compounding() == Compounding::Additive {
            equity - before
        } else if before > 0.0 {
            equity / before - 1.0
        } else {
            0.0
        };
        before = equity;
        step
    };
    book.equity.iter().map(step).collect()
}

fn drawdown(equity: &[f64]) -> f64 {
    let (mut peak, mut deepest) = (1.0_f64, 0.0_f64);
    for &equity in equity {
        peak = peak.max(equity);
        deepest = deepest.max((peak - equity) / peak);
    }
    deepest
}

/// Every metric by the formula of its documentation, from the reference's trades and equity.
fn check(metrics: &Metrics, book: &PlainBook, rules: &Rules, tolerance: f64) {
    let near = |name: &str, found: Option<f64>, expected: Option<f64>| {
        assert_eq!(
            found.is_some(),
            expected.is_some(),
            "{name}: {found:?} {expected:?} {rules:?}"
        );
        let (found, expected) = (found.unwrap_or(0.0), expected.unwrap_or(0.0));
        let size = found.abs().max(expected.abs()).max(1.0);
        assert!(
            (found - expected).abs() <= tolerance * size,
            "{name}: {found} {expected} {rules:?}"
        );
    };
    let trades: Vec<_> = book.trades.iter().filter(|trade| trade.counts).collect();
    let count = trades.len() as f64;
    let bars = book.equity.len() as f64;
    let pnls: Vec<f64> = trades.iter().map(|trade| trade.pnl * 100.0).collect();
    let some = |value: f64| (!trades.is_empty()).then_some(value);
    let gains: f64 = pnls.iter().filter(|pnl| **pnl > 0.0).sum();
    let losses: f64 = -pnls.iter().filter(|pnl| **pnl < 0.0).sum::<f64>();
    let held: f64 = trades
        .iter()
        .map(|trade| (trade.exit_bar - trade.entry_bar) as f64)
        .sum();
    assert_eq!(metrics.trades, trades.len() as u64);
    near(
        "win rate",
        metrics.win_rate,
        some(pnls.iter().filter(|pnl| **pnl > 0.0).count() as f64 / count),
    );
    near(
        "profit factor",
        metrics.profit_factor,
        (losses > 0.0).then(|| gains / losses),
    );
    near(
        "average",
        metrics.average_trade_pct,
        some(pnls.iter().sum::<f64>() / count),
    );
    near(
        "best",
        metrics.best_trade_pct,
        pnls.iter().copied().reduce(f64::max),
    );
    near(
        "worst",
        metrics.worst_trade_pct,
        pnls.iter().copied().reduce(f64::min),
    );
    near("pnl", Some(metrics.pnl_pct), Some(pnls.iter().sum()));
    let compounds = rules.compounding() == Compounding::Compounded;
    let end = book.closed_equity.last().copied().unwrap_or(1.0);
    near(
        "compounded",
        metrics.compounded_pct,
        compounds.then_some((end - 1.0) * 100.0),
    );
    near("exposure", Some(metrics.exposure), Some(held / bars));
    near("bars", metrics.average_bars, some(held / count));
    let share = match rules.fee_formula() {
        FeeFormula::Additive | FeeFormula::Notional => 1.0,
        FeeFormula::Multiplicative => 1.0 - rules.fee_per_side_pct() / 100.0,
        FeeFormula::AllCash => 1.0 / (1.0 + rules.fee_per_side_pct() / 100.0),
    };
    let turnover = trades.iter().map(|trade| {
        let leaves = !trade.is_open || rules.open_trade() == OpenTrade::Close;
        share
            * (1.0
                + if leaves {
                    trade.exit_price / trade.entry_price
                } else {
                    0.0
                })
    });
    near("turnover", Some(metrics.turnover), Some(turnover.sum()));
    near(
        "closed drawdown",
        Some(metrics.closed_drawdown),
        Some(drawdown(&book.closed_equity)),
    );
    let deepest = drawdown(&book.equity);
    near("drawdown", metrics.max_drawdown, Some(deepest));
    check_returns(metrics, book, rules, deepest, near);
}

fn check_returns(
    metrics: &Metrics,
    book: &PlainBook,
    rules: &Rules,
    deepest: f64,
    near: impl Fn(&str, Option<f64>, Option<f64>),
) {
    let returns = returns(book, rules);
    let bars = returns.len() as f64;
    let mean = returns.iter().sum::<f64>() / bars;
    let about = |power: i32| returns.iter().map(|r| (r - mean).powi(power)).sum::<f64>();
    let moments = metrics.returns.unwrap();
    let deviation = (about(2) / (bars - 1.0)).sqrt();
    // bars that are all alike leave rounding only
    let size = returns.iter().fold(0.0_f64, |size, r| size.max(r.abs()));
    let varies = bars > 1.0 && deviation > 1e-13 * size;
    near("mean", Some(moments.mean * bars), Some(mean * bars));
    near(
        "sharpe",
        metrics.sharpe,
        varies.then(|| mean / deviation * YEAR.sqrt()),
    );
    near(
        "skewness",
        moments.skewness,
        varies.then(|| about(3) / bars / (about(2) / bars).powf(1.5)),
    );
    near(
        "kurtosis",
        moments.kurtosis,
        varies.then(|| about(4) / bars / (about(2) / bars).powi(2)),
    );
    let downside = (returns.iter().map(|r| r.min(0.0).powi(2)).sum::<f64>() / bars).sqrt();
    if downside == 0.0 || downside > 1e-13 {
        near(
            "sortino",
            metrics.sortino,
            (downside > 0.0).then(|| mean / downside * YEAR.sqrt()),
        );
    }
    let end = *book.equity.last().unwrap();
    let yearly = if rules.compounding() == Compounding::Compounded {
        end.powf(YEAR / bars) - 1.0
    } else {
        mean * YEAR
    };
    if deepest == 0.0 || deepest > 1e-12 {
        near(
            "calmar",
            metrics.calmar,
            (deepest > 0.0).then(|| yearly / deepest),
        );
    }
}

fn all_rules() -> Vec<Rules> {
    // the rules of the fast meter, then those of the general one
    let fixed = Rules::default().with_fixed_fee(1.0, 300.0).unwrap();
    let mut all = vec![Rules::default(), Rules::published(), fixed];
    for open_trade in [OpenTrade::Close, OpenTrade::Mark, OpenTrade::Exclude] {
        for fill in [Fill::SignalClose, Fill::NextClose] {
            let plain = fixed.with_open_trade(open_trade).with_fill(fill);
            all.push(plain);
            all.push(plain.with_first_side(FirstSide::Enter));
        }
    }
    for direction in [
        Direction::LongShort,
        Direction::LongOnly,
        Direction::ShortOnly,
    ] {
        for fill in [Fill::SignalClose, Fill::NextClose, Fill::NextOpen] {
            for open_trade in [OpenTrade::Close, OpenTrade::Mark, OpenTrade::Exclude] {
                for compounding in [Compounding::Additive, Compounding::Compounded] {
                    for formula in [
                        FeeFormula::Additive,
                        FeeFormula::Notional,
                        FeeFormula::Multiplicative,
                        FeeFormula::AllCash,
                    ] {
                        let free = Rules::default()
                            .with_direction(direction)
                            .with_fill(fill)
                            .with_open_trade(open_trade)
                            .with_compounding(compounding)
                            .with_fee_formula(formula);
                        let paid = free
                            .with_fee_per_side_pct(0.2)
                            .unwrap()
                            .with_slippage_bps(5.0)
                            .unwrap();
                        all.push(free.with_first_side(FirstSide::Enter));
                        all.push(paid.with_fixed_fee(1.0, 4_000.0).unwrap());
                    }
                }
            }
        }
    }
    all
}

#[test]
fn every_metric_agrees_with_plain_loops_under_every_rule() {
    let mut compared = 0;
    for (bars, stay, step, drift) in [
        (1, 1, 0.1, 0.0),
        (2, 1, 0.1, 0.0),
        (60, 1, 0.1, 0.0),
        (300, 2, 0.02, 0.001),
        (900, 40, 0.02, 0.003),
        (600, 30, 0.1, 0.0),
    ] {
        for seed in 0..3 {
            let series = market(bars, step, drift, seed + 7);
            let engine = Scripted::one(&random_sides(bars, stay, seed * 13 + 1));
            for rules in all_rules() {
                let plain = book(&series, &engine.0[0], &rules);
                check(&measure(&engine, &series, &rules), &plain, &rules, 1e-9);
                compared += plain.trades.len();
            }
        }
    }
    assert!(compared > 50_000, "{compared}");
}

/// A winner makes peak after peak, which the drawdown's shortcuts must not miss; a loser makes none.
#[test]
fn drawdown_is_right_for_winners_losers_and_levels_far_apart() {
    let bars = 3_000;
    let ahead = |closes: &[f64], lag: usize| -> Vec<i8> {
        (0..bars)
            .map(|bar| {
                if closes[(bar + lag).min(bars - 1)] > closes[bar] {
                    1
                } else {
                    -1
                }
            })
            .collect()
    };
    for seed in 0..6 {
        let calm = market(bars, 0.01, 0.0, seed);
        let scale =
            |(bar, close): (usize, &f64)| close * if bar / 700 % 2 == 0 { 1e9 } else { 1e-6 };
        let gaps: Vec<f64> = calm.closes().iter().enumerate().map(scale).collect();
        let gaps = Series::from_closes(&gaps)
            .unwrap()
            .with_opens(gaps.clone())
            .unwrap();
        for series in [calm, gaps] {
            for lag in [1, 20, 90] {
                let winner = ahead(series.closes(), lag);
                let loser: Vec<i8> = winner.iter().map(|side| -side).collect();
                for sides in [winner, loser] {
                    let engine = Scripted::one(&sides);
                    for rules in [
                        Rules::default(),
                        Rules::published(),
                        Rules::published().with_direction(Direction::LongOnly),
                    ] {
                        let plain = book(&series, &sides, &rules);
                        let metrics = measure(&engine, &series, &rules);
                        let found = metrics.max_drawdown.unwrap();
                        let expected = drawdown(&plain.equity);
                        assert!(
                            (found - expected).abs() <= 1e-10 * expected.max(1.0),
                            "{found} {expected}"
                        );
                        let closed = drawdown(&plain.closed_equity);
                        assert!(
                            (metrics.closed_drawdown - closed).abs() <= 1e-10 * closed.max(1.0)
                        );
                        if rules.fee_pct() == 0.0 && metrics.closed_drawdown <= 1.0 {
                            // with fees, a trade's end before the next entry's leg is no close; and below an
                            // equity of 0 a higher peak makes the fraction smaller
                            assert!(found + 1e-10 >= metrics.closed_drawdown);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn values_worked_out_by_hand() {
    // long 100 -> 120, short 120 -> 90: +20 %, +25 %; then long 90 -> 81: -10 %, marked
    let series = Series::from_closes(&[100.0, 100.0, 110.0, 120.0, 130.0, 90.0, 81.0]).unwrap();
    let engine = Scripted::one(&[-1, 1, 1, -1, -1, 1, 1]);
    let metrics = measure(&engine, &series, &Rules::default());
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-13 * a.abs().max(1.0), "{a} {b}");
    assert_eq!(metrics.trades, 3);
    near(metrics.win_rate.unwrap(), 2.0 / 3.0);
    near(metrics.profit_factor.unwrap(), 4.5);
    near(metrics.average_trade_pct.unwrap(), 35.0 / 3.0);
    near(metrics.best_trade_pct.unwrap(), 25.0);
    near(metrics.worst_trade_pct.unwrap(), -10.0);
    near(metrics.exposure, 5.0 / 7.0);
    near(metrics.average_bars.unwrap(), 5.0 / 3.0);
    near(metrics.turnover, 3.0 + 1.2 + 0.75 + 0.9);
    // equity: 1, 1, 1.1, 1.2, 1.2 - 1/12, 1.45, 1.35
    near(
        metrics.max_drawdown.unwrap(),
        (1.0 / 12.0 / 1.2_f64).max(0.1 / 1.45),
    );
    near(metrics.closed_drawdown, 0.1 / 1.45);
    let steps: [f64; 7] = [0.0, 0.0, 0.1, 0.1, -1.0 / 12.0, 0.25 + 1.0 / 12.0, -0.1];
    let mean = steps.iter().sum::<f64>() / 7.0;
    let variance = steps.iter().map(|step| (step - mean).powi(2)).sum::<f64>() / 6.0;
    near(
        metrics.sharpe.unwrap(),
        mean / variance.sqrt() * YEAR.sqrt(),
    );
    let downside = ((1.0 / 144.0 + 0.01) / 7.0_f64).sqrt();
    near(metrics.sortino.unwrap(), mean / downside * YEAR.sqrt());
    near(
        metrics.calmar.unwrap(),
        mean * YEAR / (0.1 / 1.45_f64).max(1.0 / 14.4),
    );
}

/// The same bytes from every engine, thread count and grid of one.
#[test]
fn metrics_are_bit_identical_however_they_are_computed() {
    let walk = random_walk(4_000, 3).unwrap();
    let grid = Grid::parse("hma:10..=60:10", "hma3:12..=72:12").unwrap();
    let set = MetricSet::all(525_600.0).unwrap();
    let compounded = Rules::published().with_compounding(Compounding::Compounded);
    for rules in [Rules::published(), compounded] {
        let one = Sequential::new()
            .sweep_with(&walk, &grid, &rules, &set)
            .unwrap();
        let many = Pool::new(Some(2))
            .sweep_with(&walk, &grid, &rules, &set)
            .unwrap();
        assert_eq!(one.rows, many.rows);
        let totals = Sequential::new().sweep(&walk, &grid, &rules).unwrap();
        for (row, totals) in one.rows.iter().zip(&totals.rows) {
            assert_eq!(
                row.totals.pnl_pct.to_bits(),
                totals.totals.pnl_pct.to_bits()
            );
            assert_eq!(row.totals.trades, totals.totals.trades);
        }
        let (fast, slow) = grid.combination(7);
        let alone = Grid::from_pairs(&[(fast.clone(), slow.clone())]).unwrap();
        let run = Sequential::new()
            .sweep_with(&walk, &alone, &rules, &set)
            .unwrap();
        assert_eq!(run.rows[0], one.rows[7]);
    }
}

/// An account that grows to 1e84 stakes of an entry at 1e150: one over the entry and twice the account is no `f64`.
#[test]
fn compounded_returns_of_huge_prices_are_those_of_their_marks() {
    let bars = 4_000;
    let closes: Vec<f64> = (0..bars).map(|bar| 1e150 * 1.05_f64.powi(bar)).collect();
    let series = Series::from_closes(&closes).unwrap();
    let mut sides = vec![1; bars as usize];
    sides[0] = -1;
    let rules = Rules::default().with_compounding(Compounding::Compounded);
    let metrics = measure(&Scripted::one(&sides), &series, &rules);
    let mean = metrics.returns.unwrap().mean;
    // flat on the first two closes
    let expected = 0.05 * f64::from(bars - 2) / f64::from(bars);
    assert!((mean - expected).abs() < 1e-12, "{mean} {expected}");
}
