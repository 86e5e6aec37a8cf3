//! Every choice of the rules against the bar-by-bar reference, on scripted signals and on real filters.

#![allow(
    clippy::unwrap_used,
    clippy::float_cmp,
    clippy::pedantic,
    unreachable_pub,
    dead_code
)]

#[path = "support/every_rule.rs"]
mod every_rule;
#[path = "support/plain_book.rs"]
mod plain_book;
#[path = "support/scripted.rs"]
mod scripted;

use crosscheck::{
    Backend, Compounding, Direction, Error, FeeFormula, Fill, FirstSide, Grid, Naive, OpenTrade,
    Pool, Rules, Sequential, Series, Side, random_walk,
};
use every_rule::every_rule;
use plain_book::{PlainBook, book};
use scripted::{Scripted, draw, random_sides};

/// A walk with opens between the closes; steps large enough to ruin a short now and then.
fn market(bars: usize, step: f64, seed: u64) -> Series {
    let mut state = seed;
    let mut unit = || (draw(&mut state) % 10_001) as f64 / 5_000.0 - 1.0;
    let (mut close, mut closes, mut opens) = (100.0_f64, Vec::new(), Vec::new());
    for _ in 0..bars {
        opens.push(close * (0.2 * step * unit()).exp());
        close *= (step * unit()).exp();
        closes.push(close);
    }
    Series::from_closes(&closes)
        .unwrap()
        .with_opens(opens)
        .unwrap()
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-11 * a.abs().max(b.abs()).max(1.0)
}

/// Compares one sweep and its trade list with the reference; returns how many trades were compared.
fn compare(engine: &Scripted, series: &Series, rules: &Rules) -> (usize, PlainBook) {
    let plain = book(series, &engine.0[0], rules);
    let trades = &engine.trades(series, &engine.grid(), rules).unwrap()[0];
    let totals = engine.sweep(series, &engine.grid(), rules).unwrap().rows[0].totals;
    assert_eq!(trades.len(), plain.trades.len(), "{rules:?}");
    for (trade, expected) in trades.iter().zip(&plain.trades) {
        assert_eq!(
            (
                trade.entry_bar as usize,
                trade.exit_bar as usize,
                trade.side,
                trade.is_open
            ),
            (
                expected.entry_bar,
                expected.exit_bar,
                expected.side,
                expected.is_open
            ),
            "{rules:?}"
        );
        assert!(near(trade.entry_price, expected.entry_price));
        assert!(near(trade.exit_price, expected.exit_price));
        assert!(
            near(trade.pnl_pct / 100.0, expected.pnl),
            "{rules:?} {trade:?} {expected:?}"
        );
    }
    let counted: Vec<_> = plain.trades.iter().filter(|trade| trade.counts).collect();
    assert_eq!(totals.trades, counted.len() as u64);
    assert_eq!(
        totals.wins,
        counted.iter().filter(|trade| trade.pnl > 0.0).count() as u64
    );
    assert!(near(
        totals.pnl_pct / 100.0,
        counted.iter().map(|trade| trade.pnl).sum::<f64>()
    ));
    assert_eq!(totals.unfilled, plain.unfilled, "{rules:?}");
    assert_eq!(
        totals.ruined_at.map(|bar| bar as usize),
        plain.ruined_at,
        "{rules:?}"
    );
    let compounded = (rules.compounding() == Compounding::Compounded)
        .then(|| plain.closed_equity.last().map_or(0.0, |end| end - 1.0));
    assert_eq!(totals.compounded_pct.is_some(), compounded.is_some());
    assert!(near(
        totals.compounded_pct.unwrap_or(0.0) / 100.0,
        compounded.unwrap_or(0.0)
    ));
    (trades.len(), plain)
}

#[test]
fn every_choice_agrees_with_the_bar_by_bar_reference() {
    let (mut compared, mut unfilled, mut ruined, mut open) = (0, 0, 0, 0);
    for (bars, stay, step) in [
        (1, 1, 0.1),
        (2, 1, 0.1),
        (90, 1, 0.3),
        (400, 5, 0.02),
        (700, 40, 0.2),
    ] {
        for seed in 0..4 {
            let series = market(bars, step, seed + 77);
            let engine = Scripted::one(&random_sides(bars, stay, seed * 31 + 5));
            for rules in every_rule() {
                let (trades, plain) = compare(&engine, &series, &rules);
                compared += trades;
                unfilled += plain.unfilled;
                ruined += usize::from(plain.ruined_at.is_some());
                open += usize::from(plain.trades.last().is_some_and(|trade| trade.is_open));
            }
        }
    }
    assert!(
        compared > 80_000 && unfilled > 100 && ruined > 100 && open > 1_000,
        "compared {compared}, unfilled {unfilled}, ruined {ruined}, open {open}"
    );
}

#[test]
fn a_reversal_is_one_event_at_one_price_with_two_fee_legs() {
    let series = Series::from_closes(&[100.0, 100.0, 110.0, 120.0, 110.0, 100.0, 105.0]).unwrap();
    let engine = Scripted::one(&[-1, 1, 1, -1, -1, 1, 1]);
    let rules = Rules::default().with_fee_per_side_pct(0.1).unwrap();
    let rules = rules.with_slippage_bps(10.0).unwrap();
    let trades = &engine.trades(&series, &engine.grid(), &rules).unwrap()[0];
    assert_eq!(trades.len(), 3);
    for pair in trades.windows(2) {
        assert_eq!(pair[0].exit_bar, pair[1].entry_bar);
        assert_eq!(pair[0].exit_price, pair[1].entry_price);
    }
    assert!(trades.iter().all(|trade| trade.fees_pct == 0.2));
    assert_eq!(trades[0].entry_price, 100.0 * 1.001);
    assert_eq!(trades[1].entry_price, 120.0 * 0.999);
}

#[test]
fn slippage_always_costs() {
    let series = market(500, 0.02, 9);
    let engine = Scripted::one(&random_sides(500, 3, 9));
    let free = engine
        .trades(&series, &engine.grid(), &Rules::default())
        .unwrap();
    let slipped = Rules::default().with_slippage_bps(20.0).unwrap();
    let slipped = engine.trades(&series, &engine.grid(), &slipped).unwrap();
    assert!(free[0].len() > 30);
    for (free, slipped) in free[0].iter().zip(&slipped[0]) {
        assert!(slipped.pnl_pct < free.pnl_pct);
    }
}

#[test]
fn ruin_ends_the_trading_and_is_reported() {
    // sold at 100: worth nothing at 200, whatever comes later
    let series = Series::from_closes(&[100.0, 100.0, 150.0, 230.0, 50.0, 40.0]).unwrap();
    let engine = Scripted::one(&[1, -1, -1, -1, -1, 1]);
    let rules = Rules::default().with_compounding(Compounding::Compounded);
    let totals = engine.sweep(&series, &engine.grid(), &rules).unwrap().rows[0].totals;
    assert_eq!(
        (totals.ruined_at, totals.compounded_pct),
        (Some(3), Some(-100.0))
    );
    assert_eq!(totals.trades, 1);
    let additive = engine
        .sweep(&series, &engine.grid(), &Rules::default())
        .unwrap();
    assert_eq!(
        (
            additive.rows[0].totals.ruined_at,
            additive.rows[0].totals.trades
        ),
        (None, 2)
    );
}

#[test]
fn next_open_without_opens_is_refused_before_the_sweep() {
    let walk = random_walk(500, 1).unwrap();
    let grid = Grid::parse("sma:3", "sma:8").unwrap();
    let rules = Rules::default().with_fill(Fill::NextOpen);
    for refused in [
        Naive::new().sweep(&walk, &grid, &rules).map(|_| ()),
        Naive::new().trades(&walk, &grid, &rules).map(|_| ()),
    ] {
        assert!(matches!(refused, Err(Error::MissingOpens)));
    }
}

#[test]
fn costs_that_make_no_sense_are_refused() {
    let rules = Rules::default();
    for bad in [-0.01, f64::NAN, f64::INFINITY, 200.0] {
        assert!(rules.with_fee_pct(bad).is_err(), "{bad}");
        assert!(rules.with_fee_per_side_pct(bad).is_err(), "{bad}");
        assert!(rules.with_fee_bps(bad * 100.0).is_err(), "{bad}");
        assert!(rules.with_slippage_bps(bad * 100.0).is_err(), "{bad}");
        assert!(rules.with_fixed_fee(bad, 100.0).is_err(), "{bad}");
    }
    assert!(rules.with_fixed_fee(1.0, 0.0).is_err());
    // at each limit and just below
    let limits: [(&dyn Fn(f64) -> bool, f64); 6] = [
        (&|fee| rules.with_fee_pct(fee).is_ok(), 200.0),
        (&|fee| rules.with_fee_bps(fee).is_ok(), 20_000.0),
        (&|fee| rules.with_fee_per_side_pct(fee).is_ok(), 100.0),
        (&|fee| rules.with_fee_per_side_bps(fee).is_ok(), 10_000.0),
        (&|fee| rules.with_slippage_bps(fee).is_ok(), 10_000.0),
        (&|fee| rules.with_fixed_fee(fee, 7.0).is_ok(), 7.0),
    ];
    for (is_taken, limit) in limits {
        assert!(is_taken(0.0) && is_taken(limit.next_down()) && !is_taken(limit));
        assert!(!is_taken(-f64::MIN_POSITIVE) && !is_taken(f64::NAN));
    }
    let most = rules.with_fixed_fee(7.0_f64.next_down(), 7.0).unwrap();
    assert!(most.fixed_fee_pct() < 100.0);
    let text = rules.with_fee_pct(-2.0).unwrap_err().to_string();
    assert!(
        text.contains("-2 % a round trip") && text.contains("0 or more"),
        "{text}"
    );
}

#[test]
fn fees_mean_the_same_in_percent_and_bps() {
    let pct = Rules::default().with_fee_pct(0.09).unwrap();
    assert_eq!(pct, Rules::published());
    assert_eq!(pct, Rules::default().with_fee_bps(9.0).unwrap());
    assert_eq!(pct, Rules::default().with_fee_per_side_bps(4.5).unwrap());
    assert_eq!(pct, Rules::default().with_fee_per_side_pct(0.045).unwrap());
}

/// The fast ledger and the general path are two codes; rules that differ in nothing must not show it.
#[test]
fn ledger_and_general_path_agree_bit_for_bit() {
    let walk = random_walk(20_000, 5).unwrap();
    let grid = Grid::parse("hma:10..=60:10", "hma3:12..=72:12").unwrap();
    let plain = Rules::published();
    for rules in [
        Rules::default(),
        plain,
        plain.with_open_trade(OpenTrade::Mark),
        plain.with_fill(Fill::NextClose),
        plain.with_first_side(FirstSide::Enter),
    ] {
        let sweep = Sequential::new().sweep(&walk, &grid, &rules).unwrap();
        let trades = Pool::new(Some(2)).trades(&walk, &grid, &rules).unwrap();
        assert!(sweep.trades() > 5_000);
        for (row, trades) in sweep.rows.iter().zip(&trades) {
            assert_eq!(row.totals.trades, trades.len() as u64);
            let sum: f64 = trades.iter().map(|trade| trade.pnl_pct).sum();
            assert_eq!(row.totals.pnl_pct.to_bits(), sum.to_bits());
            let fees: f64 = trades.iter().map(|trade| trade.fees_pct).sum();
            assert!((row.totals.fees_pct - fees).abs() <= 1e-10 * fees);
            assert_eq!(
                row.totals.has_open_trade,
                trades.last().is_some_and(|t| t.is_open)
            );
        }
    }
}

#[test]
fn one_sided_rules_hold_that_side_only() {
    let walk = random_walk(5_000, 8).unwrap();
    let grid = Grid::parse("sma:5", "sma:20").unwrap();
    for (direction, side) in [
        (Direction::LongOnly, Side::Long),
        (Direction::ShortOnly, Side::Short),
    ] {
        let both = Sequential::new()
            .trades(&walk, &grid, &Rules::default())
            .unwrap();
        let rules = Rules::default().with_direction(direction);
        let one = Sequential::new().trades(&walk, &grid, &rules).unwrap();
        let expected: Vec<_> = both[0].iter().filter(|trade| trade.side == side).collect();
        assert!(one[0].len() > 50);
        assert_eq!(one[0].iter().collect::<Vec<_>>(), expected);
    }
}

#[cfg(feature = "serde")]
#[test]
fn rules_survive_json_and_are_checked_when_read() {
    for rules in every_rule() {
        let text = serde_json::to_string(&rules).unwrap();
        assert_eq!(serde_json::from_str::<Rules>(&text).unwrap(), rules);
    }
    let partial = r#"{"fee_per_side_pct": 0.045, "fill": "next_open"}"#;
    let rules: Rules = serde_json::from_str(partial).unwrap();
    assert_eq!(rules, Rules::published().with_fill(Fill::NextOpen));
    for bad in [
        r#"{"fee_per_side_pct": -0.1}"#,
        r#"{"fixed_fee_pct": -0.1}"#,
        r#"{"slippage_bps": 1e9}"#,
        r#"{"fee": 0.1}"#,
    ] {
        assert!(serde_json::from_str::<Rules>(bad).is_err(), "{bad}");
    }
}

/// A long from 100 to 110 with 1 % a side and a fixed 0.2 %: the fees of each formula, and of the entry alone.
#[test]
fn fees_are_those_of_the_formula() {
    let series = Series::from_closes(&[100.0, 100.0, 110.0, 110.0]).unwrap();
    let costs = Rules::default().with_fee_per_side_pct(1.0).unwrap();
    let costs = costs.with_fixed_fee(2.0, 1_000.0).unwrap();
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
    for (formula, both, entry) in [
        (FeeFormula::Additive, 2.0, 1.0),
        (FeeFormula::Notional, 2.1, 1.0),
        (FeeFormula::Multiplicative, 1.0 + 0.99 * 1.1, 1.0),
        (FeeFormula::AllCash, 2.1 / 1.01, 1.0 / 1.01),
    ] {
        let rules = costs
            .with_fee_formula(formula)
            .with_direction(Direction::LongOnly);
        let closed = Scripted::one(&[-1, 1, -1, -1]);
        let open = Scripted::one(&[-1, 1, 1, 1]);
        let marked = rules.with_open_trade(OpenTrade::Mark);
        for (engine, rules, fees) in [
            (&closed, rules, both + 0.4),
            (&open, rules, both + 0.4),
            (&open, marked, entry + 0.2),
        ] {
            let trades = &engine.trades(&series, &engine.grid(), &rules).unwrap()[0];
            assert_eq!(trades.len(), 1);
            near(trades[0].fees_pct, fees);
            let totals = engine.sweep(&series, &engine.grid(), &rules).unwrap().rows[0].totals;
            near(totals.fees_pct, fees);
            assert_eq!(totals.has_open_trade, trades[0].is_open);
        }
    }
}

/// A PnL of exactly 0 is no win, in a batch and beside it, in the fast ledger and in the general path.
#[test]
fn a_trade_that_gains_nothing_is_no_win() {
    let series = Series::from_closes(&[5.0; 40]).unwrap();
    let sides: Vec<i8> = (0..40)
        .map(|bar| if bar % 2 == 0 { 1 } else { -1 })
        .collect();
    let engine = Scripted::one(&sides);
    let marked = Rules::default().with_open_trade(OpenTrade::Mark);
    for rules in [Rules::default(), marked] {
        let totals = engine.sweep(&series, &engine.grid(), &rules).unwrap().rows[0].totals;
        assert_eq!((totals.trades, totals.wins, totals.pnl_pct), (39, 0, 0.0));
    }
}

/// Sold at 100, and 200 at a close: nothing is left, exactly; a close just below leaves something.
#[test]
fn an_equity_of_exactly_0_is_ruin() {
    let compounded = Rules::default().with_compounding(Compounding::Compounded);
    let ruined_at = |closes: &[f64], sides: &[i8], rules: &Rules| {
        let series = Series::from_closes(closes).unwrap();
        let engine = Scripted::one(sides);
        engine.sweep(&series, &engine.grid(), rules).unwrap().rows[0].totals
    };
    let sides = [1, -1, -1, -1, -1, 1];
    let gone = ruined_at(
        &[100.0, 100.0, 200.0, 90.0, 80.0, 80.0],
        &sides,
        &compounded,
    );
    assert_eq!(
        (gone.ruined_at, gone.compounded_pct),
        (Some(2), Some(-100.0))
    );
    let kept = ruined_at(
        &[100.0, 100.0, 199.9, 90.0, 80.0, 80.0],
        &sides,
        &compounded,
    );
    assert_eq!(kept.ruined_at, None);
    // a signal after the ruin is none: it is neither filled nor counted as unfilled
    let next = compounded.with_fill(Fill::NextClose);
    let late = ruined_at(&[100.0, 100.0, 100.0, 250.0, 80.0, 80.0], &sides, &next);
    assert_eq!(
        (late.ruined_at, late.unfilled, late.trades),
        (Some(3), 0, 1)
    );
}

/// Sold at an open, and worth nothing at the close of the same bar.
#[test]
fn ruin_can_be_on_the_bar_of_the_entry() {
    let series = Series::from_closes(&[100.0, 100.0, 250.0, 90.0, 90.0]).unwrap();
    let series = series.with_opens(vec![100.0; 5]).unwrap();
    let engine = Scripted::one(&[1, -1, -1, -1, 1]);
    let rules = Rules::default()
        .with_compounding(Compounding::Compounded)
        .with_fill(Fill::NextOpen);
    let totals = engine.sweep(&series, &engine.grid(), &rules).unwrap().rows[0].totals;
    assert_eq!((totals.ruined_at, totals.trades), (Some(2), 1));
}
