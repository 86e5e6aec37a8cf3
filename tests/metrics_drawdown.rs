//! The drawdown of always-in trades is that of a loop over every close, bit for bit, whatever its shortcuts skip.

#![allow(
    clippy::unwrap_used,
    clippy::float_cmp,
    clippy::pedantic,
    unreachable_pub,
    dead_code
)]

#[path = "support/scripted.rs"]
mod scripted;

use crosscheck::{Backend, MetricSet, Rules, Series, Trade, random_walk};
use scripted::{Scripted, draw};

/// Sides held for so many bars, most of them right with a chance of `right` in a thousand.
fn sides(series: &Series, held: usize, right: u64, seed: u64) -> Vec<i8> {
    let (closes, mut state, mut side) = (series.closes(), seed, 1);
    let next = |bar: usize| {
        if draw(&mut state).is_multiple_of(held as u64) {
            let ahead = closes[(bar + held).min(closes.len() - 1)] > closes[bar];
            let is_right = draw(&mut state) % 1_000 < right;
            side = if ahead == is_right { 1 } else { -1 };
        }
        side
    };
    (0..closes.len()).map(next).collect()
}

/// Equity in percent of the stake, as trades are settled and marked.
fn plain(series: &Series, rules: &Rules, trades: &[Trade]) -> f64 {
    let (mut peak, mut deepest, mut pnl) = (100.0_f64, 0.0_f64, 0.0);
    let mut push = |equity: f64| {
        peak = peak.max(equity);
        deepest = deepest.max((peak - equity) / peak);
    };
    for trade in trades {
        for &close in &series.closes()[trade.entry_bar as usize..trade.exit_bar as usize] {
            let gross = trade.side.sign() * (close / trade.entry_price - 1.0) * 100.0;
            push(100.0 + pnl + (gross - 0.5 * rules.fee_pct()));
        }
        pnl += trade.pnl_pct;
    }
    push(100.0 + pnl);
    deepest
}

#[test]
fn drawdowns_are_those_of_a_loop_over_every_close_bit_for_bit() {
    let (mut compared, mut risen, mut fallen) = (0, 0, 0);
    for seed in 0..8 {
        let series = random_walk(5_000, seed).unwrap();
        for held in [1, 4, 30, 300] {
            for right in [100, 480, 500, 520, 600, 900] {
                let engine = Scripted::one(&sides(&series, held, right, seed + 7 * right));
                let grid = engine.grid();
                let cheap = Rules::default().with_fee_per_side_pct(0.001).unwrap();
                for rules in [Rules::default(), cheap, Rules::published()] {
                    let trades = engine.trades(&series, &grid, &rules).unwrap();
                    let set = MetricSet::all(252.0).unwrap();
                    let sweep = engine.sweep_with(&series, &grid, &rules, &set).unwrap();
                    let found = sweep.rows[0].metrics.unwrap();
                    let expected = plain(&series, &rules, &trades[0]);
                    assert_eq!(found.max_drawdown, Some(expected), "{seed} {held} {right}");
                    compared += trades[0].len();
                    risen += usize::from(found.pnl_pct > 10.0);
                    fallen += usize::from(found.pnl_pct < -10.0);
                }
            }
        }
    }
    assert!(compared > 100_000, "{compared}");
    assert!(risen > 100 && fallen > 100, "{risen} {fallen}");
}

/// A dip within one trade, deeper than where later trades settle, but not than any of its batch may reach: it counts still.
#[test]
fn a_dip_among_trades_that_were_put_off_is_found() {
    let mut bars = vec![(100.0, -1), (100.0, 1), (400.0, -1), (800.0, 1)];
    let idle = |bars: &mut Vec<(f64, i8)>, close: f64, trades: usize| {
        for _ in 0..trades {
            let side = -bars[bars.len() - 1].1;
            bars.push((close, side));
        }
    };
    // equity 300 below a peak of 400; a long that falls to 260 and comes back, then one that settles at 264
    idle(&mut bars, 800.0, 140);
    bars.extend([(480.0, 1), (800.0, -1)]);
    idle(&mut bars, 800.0, 41);
    bars.push((512.0, -1));
    idle(&mut bars, 512.0, 80);
    let (closes, sides): (Vec<f64>, Vec<i8>) = bars.into_iter().unzip();
    let series = Series::from_closes(&closes).unwrap();
    let (engine, set) = (Scripted::one(&sides), MetricSet::all(252.0).unwrap());
    let sweep = engine.sweep_with(&series, &engine.grid(), &Rules::default(), &set);
    let found = sweep.unwrap().rows[0].metrics.unwrap();
    assert!((found.pnl_pct - 164.0).abs() < 1e-9, "{}", found.pnl_pct);
    assert_eq!(found.max_drawdown, Some(140.0 / 400.0));
}
