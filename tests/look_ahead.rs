//! No result before a bar depends on bars after it: every engine under every rule, and engines that must be caught.

#![allow(
    clippy::unwrap_used,
    clippy::float_cmp,
    clippy::pedantic,
    unreachable_pub,
    dead_code
)]

#[path = "support/every_rule.rs"]
mod every_rule;

use crosscheck::{
    Auto, Backend, Compounding, Diagnostics, Direction, Fill, FilterMatrix, Formula, Grid, Naive,
    Pool, Precision, Question, Result, Rules, Sequential, Series, SideWriter, Uncertified,
    Vectorized, random_walk, shift_test,
};
use every_rule::{every_choice, every_rule};

fn with_opens(bars: usize, seed: u64) -> Series {
    let walk = random_walk(bars, seed).unwrap();
    let opens = walk.closes().iter().map(|close| close * 1.000_1).collect();
    walk.with_opens(opens).unwrap()
}

fn grid() -> Grid {
    Grid::parse("hma:9,20", "hma3:12,24").unwrap()
}

/// M5 has the same test in `tests/gpu.rs`.
#[test]
fn no_trade_before_a_bar_depends_on_bars_after_it() {
    let series = with_opens(700, 21);
    let pool = Pool::new(Some(2));
    let engines: [&dyn Backend; 4] = [&Naive::new(), &Vectorized::new(), &Sequential::new(), &pool];
    let rules = every_rule();
    assert_eq!(rules.len(), 540);
    for engine in engines {
        for rules in &rules {
            let report = shift_test(engine, &series, &grid(), rules, 2).unwrap();
            assert!(
                report.is_clean() && report.compared > 50,
                "{} {rules:?} {report:?}",
                engine.name()
            );
        }
    }
}

/// Wrong by its rounding, but causal all the same; `auto` is one of the engines above, or M5.
#[test]
fn uncertified_engines_and_auto_do_not_look_ahead_either() {
    let series = with_opens(700, 22);
    use Formula::{CentredDirect, CentredPrefixSums, DirectWindows, PrefixSums, SlidingUpdate};
    let formulas = [
        PrefixSums,
        CentredPrefixSums,
        SlidingUpdate,
        DirectWindows,
        CentredDirect,
    ];
    let precisions = [Precision::Single, Precision::Double];
    let mut engines: Vec<Box<dyn Backend>> = vec![Box::new(Auto::new())];
    for (formula, precision) in formulas
        .into_iter()
        .flat_map(|f| precisions.map(|p| (f, p)))
    {
        engines.push(Box::new(Uncertified::new(formula, precision)));
    }
    for engine in engines {
        for rules in every_choice().iter().step_by(5) {
            let report = shift_test(&*engine, &series, &grid(), rules, 3).unwrap();
            assert!(report.is_clean(), "{} {report:?}", engine.name());
        }
    }
}

/// A bar on which a compounding account is ruined may be the last bar of the cut series, on which the trade counts as
/// open: that is no look-ahead.
#[test]
fn ruin_on_the_last_bar_before_a_cut_is_no_leak() {
    // sold at bar 3 by the fall of bar 2, worth nothing at bar 5, whose rise would buy at bar 6
    let closes = [100.0, 101.0, 90.0, 80.0, 70.0, 200.0, 210.0, 220.0, 90.0];
    let series = Series::from_closes(&closes).unwrap();
    let grid = Grid::parse("sma:1", "sma:2").unwrap();
    for rules in every_choice() {
        let rules = match rules.fill() {
            Fill::NextClose => rules.with_compounding(Compounding::Compounded),
            _ => continue,
        };
        let report = shift_test(&Naive::new(), &series, &grid, &rules, 8).unwrap();
        assert!(report.leak.is_none(), "{rules:?} {report:?}");
        let ruined = Naive::new().sweep(&series, &grid, &rules).unwrap().rows[0]
            .totals
            .ruined_at;
        assert_eq!(ruined == Some(5), rules.direction() != Direction::LongOnly);
    }
}

/// An engine that sees the next bar: with `entries_only`, it lets that tell which of its signals to buy.
struct Peeking {
    entries_only: bool,
}

impl Peeking {
    fn is_above(&self, closes: &[f64]) -> Vec<bool> {
        let rises = |bar: usize| (1..closes.len()).contains(&bar) && closes[bar] > closes[bar - 1];
        let mut held = false;
        let mut is_above = |bar: usize| {
            held = match (self.entries_only, held) {
                (true, true) => rises(bar),
                (true, false) => rises(bar) && rises(bar + 1),
                (false, _) => rises(bar + 1),
            };
            held
        };
        (0..closes.len()).map(&mut is_above).collect()
    }
}

impl Backend for Peeking {
    fn name(&self) -> &'static str {
        "peeking"
    }

    fn filters(&self, question: &Question<'_>) -> Result<FilterMatrix> {
        Naive::new().filters(question)
    }

    fn sides(
        &self,
        question: &Question<'_>,
        writers: &mut [SideWriter<'_>],
    ) -> Result<Diagnostics> {
        let is_above = self.is_above(question.series().closes());
        for writer in writers {
            for (word, bars) in is_above.chunks(64).enumerate() {
                let bits = bars.iter().enumerate();
                let bits = bits.fold(0, |bits, (bit, &up)| bits | (u64::from(up) << bit));
                writer.write(word, &[bits], None);
            }
        }
        Ok(Diagnostics::new("peeking", true))
    }
}

#[test]
fn the_shift_test_catches_an_engine_that_peeks() {
    let series = with_opens(1_000, 2);
    let grid = Grid::parse("sma:1", "sma:1").unwrap();
    let engine = Peeking {
        entries_only: false,
    };
    for rules in every_choice() {
        let report = shift_test(&engine, &series, &grid, &rules, 20).unwrap();
        let leak = report.leak.expect("it peeks");
        assert!(leak.whole != leak.shifted, "{rules:?} {leak:?}");
    }
}

/// Every trade that is open at a cut counts by its entry: here that is all there is to see.
#[test]
fn an_entry_that_only_the_future_explains_is_a_leak() {
    // bought on bar 3, because bar 4 rises too; held to the end
    let closes = [100.0, 99.0, 98.0, 99.0, 100.0, 101.0, 102.0, 103.0];
    let series = Series::from_closes(&closes).unwrap();
    let grid = Grid::parse("sma:1", "sma:1").unwrap();
    let engine = Peeking { entries_only: true };
    let rules = Rules::default().with_direction(Direction::LongOnly);
    let report = shift_test(&engine, &series, &grid, &rules, 7).unwrap();
    let leak = report.leak.expect("it peeks");
    assert_eq!((leak.cut, leak.trade, leak.shifted), (4, 0, None));
    assert_eq!(leak.whole.unwrap().entry_bar, 3);
}

/// A short that the price of the next bar ruins, in one future and not in the other: nothing is bought on that bar, or
/// something is, and both are as they should be.
#[test]
fn ruin_by_the_fill_on_the_cut_is_no_leak() {
    // sold at bar 3 by the fall of bar 2; the rise of bar 4 buys at bar 5, at 300 or three times as much
    let rising = [100.0, 101.0, 90.0, 80.0, 85.0, 100.0, 101.0, 102.0];
    // the same with a fall: bought at bar 3, sold at bar 5, which ruins nobody
    let falling = [100.0, 99.0, 110.0, 120.0, 115.0, 100.0, 99.0, 98.0];
    let grid = Grid::parse("sma:1", "sma:2").unwrap();
    for (closes, ruined) in [(rising, true), (falling, false)] {
        let opens = closes.to_vec();
        let series = Series::from_closes(&closes)
            .unwrap()
            .with_opens(opens)
            .unwrap();
        for fill in [Fill::NextClose, Fill::NextOpen] {
            let rules = Rules::default()
                .with_fill(fill)
                .with_compounding(Compounding::Compounded);
            let report = shift_test(&Naive::new(), &series, &grid, &rules, 7).unwrap();
            assert!(report.is_clean(), "{ruined} {rules:?} {report:?}");
            let tripled: Vec<f64> = (0..8)
                .map(|bar| {
                    if bar < 5 {
                        closes[bar]
                    } else {
                        3.0 * closes[12 - bar]
                    }
                })
                .collect();
            let opens = tripled.clone();
            let tripled = Series::from_closes(&tripled).unwrap().with_opens(opens);
            let sweep = Naive::new()
                .sweep(&tripled.unwrap(), &grid, &rules)
                .unwrap();
            assert_eq!(sweep.rows[0].totals.ruined_at, ruined.then_some(5));
        }
    }
}

#[test]
fn nothing_compared_is_not_clean() {
    let flat = Series::from_closes(&[5.0; 50]).unwrap();
    let report = shift_test(&Naive::new(), &flat, &grid(), &Rules::default(), 5);
    let report = report.unwrap();
    assert!(report.compared == 0 && report.leak.is_none() && !report.is_clean());
}

/// Three times as high would be no price, and no count of ticks.
#[test]
fn prices_near_the_end_of_their_range_are_shifted_too() {
    let steps = || (0..400).map(|bar: i64| bar * bar % 37 + bar % 5);
    let ticks: Vec<i64> = steps().map(|step| i64::MAX - (step << 54)).collect();
    let closes: Vec<f64> = steps().map(|step| 1e308 + 1e306 * step as f64).collect();
    for series in [
        Series::from_ticks(&ticks, 0.01).unwrap(),
        Series::from_closes(&closes).unwrap(),
    ] {
        let report = shift_test(&Sequential::new(), &series, &grid(), &Rules::default(), 3);
        assert!(
            report.as_ref().is_ok_and(|report| report.is_clean()),
            "{report:?}"
        );
    }
}
