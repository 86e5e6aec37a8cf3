//! The trade-accounting and look-ahead cases, each test named after its case.
//!
//! Expected values are those of the case list: exact rational arithmetic, rounded once.

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
    Backend, Compounding, Direction, FeeFormula, Fill, FirstSide, Grid, Naive, OpenTrade, Pool,
    Rules, Sequential, Series, Side, Trade, random_walk,
};
use scripted::Scripted;

fn closes(closes: &[f64]) -> Series {
    Series::from_closes(closes).unwrap()
}

fn trades(engine: &Scripted, series: &Series, rules: &Rules) -> Vec<Trade> {
    engine
        .trades(series, &engine.grid(), rules)
        .unwrap()
        .remove(0)
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-14
}

#[test]
fn ta_01_every_fee_formula_has_a_name() {
    let series = closes(&[100.0, 100.0, 110.0]);
    let engine = Scripted::one(&[-1, 1, -1]);
    let rules = Rules::default().with_fee_per_side_pct(0.1).unwrap();
    for (rules, expected) in [
        (Rules::default(), 0.1),
        (
            rules.with_fee_formula(FeeFormula::Multiplicative),
            0.097_801_1,
        ),
        (
            rules.with_fee_formula(FeeFormula::AllCash),
            0.097_802_197_802_197_8,
        ),
        (rules.with_fee_formula(FeeFormula::Additive), 0.098),
        (rules.with_fee_formula(FeeFormula::Notional), 0.097_9),
    ] {
        let pnl = trades(&engine, &series, &rules)[0].pnl_pct / 100.0;
        assert!(near(pnl, expected), "{pnl} {expected}");
        // one side only is the mistake of the case
        assert!(!near(pnl, 0.098_9));
    }
}

#[test]
fn ta_02_the_fee_is_on_order_value_once_an_order() {
    let series = closes(&[100.0, 100.0, 100.0]);
    let engine = Scripted::one(&[-1, 1, -1]);
    let rules = Rules::default().with_fee_per_side_pct(0.05).unwrap();
    for formula in [FeeFormula::Additive, FeeFormula::Notional] {
        let trade = trades(&engine, &series, &rules.with_fee_formula(formula))[0];
        // 10 units at 100: a notional of 1,000 pays 1.0 in all
        assert!(near(trade.fees_pct / 100.0 * 1_000.0, 1.0));
        assert!(near(trade.pnl_pct / 100.0, -0.001));
    }
}

#[test]
fn ta_04_the_open_trade_is_marked_and_one_flag_says_whether_it_counts() {
    let series = closes(&[10.0, 9.0, 8.0, 9.0, 11.0, 12.0, 13.0]);
    let grid = Grid::parse("wma:2", "wma:3").unwrap();
    let rules = Rules::default().with_direction(Direction::LongOnly);
    for (open_trade, counted) in [
        (OpenTrade::Close, 1),
        (OpenTrade::Mark, 1),
        (OpenTrade::Exclude, 0),
    ] {
        let rules = rules.with_open_trade(open_trade);
        let trades = Naive::new().trades(&series, &grid, &rules).unwrap();
        let [trade] = trades[0][..] else {
            panic!("one trade is due")
        };
        assert_eq!(
            (trade.entry_bar, trade.exit_bar, trade.is_open),
            (4, 6, true)
        );
        assert_eq!(
            (trade.entry_price, trade.exit_price, trade.side),
            (11.0, 13.0, Side::Long)
        );
        assert!(near(trade.pnl_pct / 100.0, 2.0 / 11.0));
        let totals = Naive::new().sweep(&series, &grid, &rules).unwrap().rows[0].totals;
        assert_eq!((totals.trades, totals.has_open_trade), (counted, true));
    }
    assert_eq!(Naive::new().crossovers(&series, &grid).unwrap()[0], [4]);
}

fn ta_05(open_trade: OpenTrade) -> (Series, Scripted, Rules) {
    let series = closes(&[100.0, 100.0, 110.0, 120.0, 110.0, 100.0, 105.0]);
    let engine = Scripted::one(&[-1, 1, 1, -1, -1, 1, 1]);
    let rules = Rules::default().with_fee_per_side_pct(0.1).unwrap();
    (series, engine, rules.with_open_trade(open_trade))
}

#[test]
fn ta_05_a_flip_closes_and_reverses_on_one_bar_and_pays_two_sides() {
    let (series, engine, rules) = ta_05(OpenTrade::Mark);
    let found = trades(&engine, &series, &rules);
    let bars: Vec<_> = found
        .iter()
        .map(|t| (t.side, t.entry_bar, t.exit_bar, t.is_open))
        .collect();
    assert_eq!(
        bars,
        [
            (Side::Long, 1, 3, false),
            (Side::Short, 3, 5, false),
            (Side::Long, 5, 6, true)
        ]
    );
    let gross = |trade: &Trade| (trade.pnl_pct + trade.fees_pct) / 100.0;
    assert!(near(gross(&found[0]), 0.2) && near(gross(&found[1]), 1.0 / 6.0));
    let totals = engine.sweep(&series, &engine.grid(), &rules).unwrap().rows[0].totals;
    assert!(
        near(totals.fees_pct, 5.0 * 0.1),
        "five sides are paid: {}",
        totals.fees_pct
    );

    let (series, engine, rules) = ta_05(OpenTrade::Exclude);
    let rules = rules
        .with_compounding(Compounding::Compounded)
        .with_fee_formula(FeeFormula::Multiplicative);
    let totals = engine.sweep(&series, &engine.grid(), &rules).unwrap().rows[0].totals;
    let compounded = totals.compounded_pct.unwrap() / 100.0;
    assert!(near(compounded, 0.394_408_394_401_4), "{compounded}");
}

#[test]
fn ta_07_compounded_and_additive_never_share_a_name() {
    // +10 %, -10 %, +10 %
    let series = closes(&[100.0, 100.0, 110.0, 100.0, 90.0, 100.0, 110.0]);
    let engine = Scripted::one(&[-1, 1, -1, 1, -1, 1, -1]);
    let rules = Rules::default()
        .with_direction(Direction::LongOnly)
        .with_compounding(Compounding::Compounded);
    let totals = engine.sweep(&series, &engine.grid(), &rules).unwrap().rows[0].totals;
    assert_eq!(totals.trades, 3);
    assert!(near(totals.pnl_pct / 100.0, 0.1));
    assert!(near(totals.compounded_pct.unwrap() / 100.0, 0.089));
    let additive = rules.with_compounding(Compounding::Additive);
    let totals = engine
        .sweep(&series, &engine.grid(), &additive)
        .unwrap()
        .rows[0]
        .totals;
    assert_eq!(totals.compounded_pct, None);
}

#[test]
fn ta_08_a_signal_on_the_last_bar() {
    let grid = Grid::parse("wma:1", "wma:2").unwrap();
    let middle = closes(&[3.0, 2.0, 1.0, 2.0, 5.0]);
    assert_eq!(Naive::new().crossovers(&middle, &grid).unwrap()[0], [3]);
    let series = closes(&[4.0, 3.0, 2.0, 1.0, 9.0]);
    let series = series.clone().with_opens(series.closes().to_vec()).unwrap();
    assert_eq!(Naive::new().crossovers(&series, &grid).unwrap()[0], [4]);
    let at_close = Naive::new()
        .trades(&series, &grid, &Rules::default())
        .unwrap();
    let [trade] = at_close[0][..] else {
        panic!("one trade is due")
    };
    assert_eq!((trade.bars(), trade.pnl_pct, trade.is_open), (0, 0.0, true));
    for fill in [Fill::NextOpen, Fill::NextClose] {
        let rules = Rules::default().with_fill(fill);
        assert!(Naive::new().trades(&series, &grid, &rules).unwrap()[0].is_empty());
        let totals = Naive::new().sweep(&series, &grid, &rules).unwrap().rows[0].totals;
        assert_eq!((totals.trades, totals.unfilled), (0, 1));
    }
}

#[test]
fn la_01_a_signal_fills_at_its_close_or_later() {
    let series = closes(&[10.0, 10.0, 13.0, 15.0, 16.0]);
    let series = series
        .with_opens(vec![10.0, 10.0, 10.0, 14.0, 15.0])
        .unwrap();
    let engine = Scripted::one(&[-1, -1, 1, 1, 1]);
    for (fill, entry_bar, expected) in [
        (Fill::SignalClose, 2, 3.0 / 13.0),
        (Fill::NextOpen, 3, 1.0 / 7.0),
        (Fill::NextClose, 3, 1.0 / 15.0),
    ] {
        let trade = trades(&engine, &series, &Rules::default().with_fill(fill))[0];
        assert_eq!(trade.entry_bar, entry_bar);
        assert!(near(trade.pnl_pct / 100.0, expected));
    }
}

#[test]
fn la_02_the_past_does_not_change_when_the_future_is_cut() {
    let walk = random_walk(600, 11).unwrap();
    let walk = walk.clone().with_opens(walk.closes().to_vec()).unwrap();
    let grid = Grid::parse("hma:6,9", "sma:7,15").unwrap();
    let engines: [&dyn Backend; 3] = [&Naive::new(), &Sequential::new(), &Pool::new(Some(2))];
    let mut compared = 0;
    for engine in engines {
        for fill in [Fill::SignalClose, Fill::NextClose, Fill::NextOpen] {
            let rules = Rules::published()
                .with_fill(fill)
                .with_first_side(FirstSide::Enter);
            let whole = engine.trades(&walk, &grid, &rules).unwrap();
            for cut in (50..600).step_by(50) {
                let seen = walk.slice(0..cut).unwrap();
                let seen = engine.trades(&seen, &grid, &rules).unwrap();
                for (whole, seen) in whole.iter().zip(&seen) {
                    let closed = |trade: &&Trade| (trade.exit_bar as usize) < cut && !trade.is_open;
                    let whole: Vec<_> = whole.iter().filter(closed).collect();
                    let seen: Vec<_> = seen.iter().filter(closed).collect();
                    assert_eq!(whole, seen, "{} cut at {cut}", engine.name());
                    compared += seen.len();
                }
            }
        }
    }
    assert!(compared > 5_000, "{compared}");
}

#[test]
fn gv_05_the_best_row_run_alone_is_bit_identical() {
    let walk = random_walk(3_000, 4).unwrap();
    let walk = walk.clone().with_opens(walk.closes().to_vec()).unwrap();
    let grid = Grid::parse("hma:10..=60:10", "hma3:12..=72:12").unwrap();
    let costly = Rules::published().with_slippage_bps(2.0).unwrap();
    let costly = costly
        .with_fee_formula(FeeFormula::Notional)
        .with_fill(Fill::NextOpen);
    for rules in [
        Rules::published(),
        costly,
        costly.with_compounding(Compounding::Compounded),
    ] {
        let sweep = Pool::new(Some(2)).sweep(&walk, &grid, &rules).unwrap();
        let all = Pool::new(Some(2)).trades(&walk, &grid, &rules).unwrap();
        let pnl = |index: &usize| sweep.rows[*index].totals.pnl_pct;
        let best = (0..grid.combinations())
            .max_by(|a, b| pnl(a).total_cmp(&pnl(b)))
            .unwrap();
        let (fast, slow) = grid.combination(best);
        let alone = Grid::from_pairs(&[(fast.clone(), slow.clone())]).unwrap();
        let run = Sequential::new().sweep(&walk, &alone, &rules).unwrap();
        assert!(run.trades() > 50);
        assert_eq!(run.rows[0].totals.pnl_pct.to_bits(), pnl(&best).to_bits());
        assert_eq!(run.rows[0], sweep.rows[best]);
        assert_eq!(
            Sequential::new().trades(&walk, &alone, &rules).unwrap()[0],
            all[best]
        );
    }
}
