//! What must hold on any series, without a reference: scaling, shifting, appending, threads, sums, stages.
//!
//! The seed is fixed, so a failure repeats and a pass means the same everywhere.

use std::cmp::Ordering;

use crosscheck::{
    Backend, Filter, Grid, Naive, Pool, Question, Rules, Sequential, Series, Stage, Vectorized,
    random_walk,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 64,
        rng_seed: RngSeed::Fixed(20_240_101),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn engines() -> Vec<Box<dyn Backend>> {
    vec![
        Box::new(Naive::new()),
        Box::new(Vectorized::new()),
        Box::new(Sequential::new()),
        Box::new(Pool::new(Some(2))),
    ]
}

fn grid() -> Grid {
    Grid::parse("sma:1,4", "wma:6,20").unwrap()
}

/// Few distinct prices, so that ties and flat stretches are common.
fn ticks() -> impl Strategy<Value = Vec<i64>> {
    prop::collection::vec(1_i64..12, 40..300)
}

/// Prices of any scale side by side.
fn closes() -> impl Strategy<Value = Vec<f64>> {
    let price = (1.0_f64..2.0, -20_i32..20).prop_map(|(m, e)| m * f64::powi(2.0, e));
    prop::collection::vec(price, 40..300)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn scaling_by_a_power_of_two_changes_no_side_and_no_percentage(
        closes in closes(), exponent in -60_i32..60,
    ) {
        let scaled: Vec<f64> = closes.iter().map(|x| x * f64::powi(2.0, exponent)).collect();
        let series = [closes, scaled].map(|closes| Series::from_closes(&closes).unwrap());
        for engine in engines() {
            let [a, b] = series.each_ref().map(|series| {
                engine.sweep(series, &grid(), &Rules::published()).unwrap().rows
            });
            prop_assert_eq!(a, b);
        }
    }

    #[test]
    fn adding_a_constant_changes_no_side(ticks in ticks(), constant in 1_i64..1_000_000_000_000) {
        let lifted: Vec<i64> = ticks.iter().map(|tick| tick + constant).collect();
        let series = [ticks, lifted].map(|ticks| Series::from_ticks(&ticks, 0.01).unwrap());
        for engine in engines() {
            let [a, b] = series.each_ref().map(|series| engine.crossovers(series, &grid()).unwrap());
            prop_assert_eq!(a, b);
        }
    }

    #[test]
    fn appending_bars_changes_none_before(ticks in ticks(), later in ticks()) {
        let whole = [ticks.clone(), later].concat();
        let [part, whole] = [&ticks, &whole].map(|ticks| Series::from_ticks(ticks, 0.01).unwrap());
        for engine in engines() {
            let found = engine.crossovers(&part, &grid()).unwrap();
            for (part, whole) in found.iter().zip(engine.crossovers(&whole, &grid()).unwrap()) {
                let before = whole.iter().take_while(|&&bar| (bar as usize) < ticks.len());
                prop_assert_eq!(part, &before.copied().collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn thread_counts_agree_bit_for_bit(closes in closes()) {
        let series = Series::from_closes(&closes).unwrap();
        let one = Sequential::new().sweep(&series, &grid(), &Rules::published()).unwrap();
        for threads in [1, 2, 3, 8] {
            let many = Pool::new(Some(threads)).sweep(&series, &grid(), &Rules::published()).unwrap();
            prop_assert_eq!(&one.rows, &many.rows);
        }
    }

    #[test]
    fn trades_sum_to_the_totals(ticks in ticks()) {
        let series = Series::from_ticks(&ticks, 0.25).unwrap();
        for engine in engines() {
            let sweep = engine.sweep(&series, &grid(), &Rules::published()).unwrap();
            let lists = engine.trades(&series, &grid(), &Rules::published()).unwrap();
            for (row, list) in sweep.rows.iter().zip(&lists) {
                let sum: f64 = list.iter().map(|trade| trade.pnl_pct).sum();
                prop_assert_eq!(row.totals.trades, list.len() as u64);
                prop_assert!((row.totals.pnl_pct - sum).abs() <= 1e-9 * sum.abs().max(1.0));
                let touching = list.windows(2).all(|pair| pair[0].exit_bar == pair[1].entry_bar);
                prop_assert!(touching && list.iter().rev().skip(1).all(|trade| !trade.is_open));
            }
        }
    }

    #[test]
    fn every_stage_of_the_predicate_says_what_the_integers_say(closes in closes(), ticks in ticks()) {
        let grid = Grid::parse("hma:9", "hma3:12").unwrap();
        let binary = Series::from_closes(&closes).unwrap();
        let whole = Series::from_ticks(&ticks, 0.01).unwrap();
        for series in [&binary, &whole] {
            let question = Question::new(series, &grid).unwrap();
            for bar in question.first_bar(0)..series.bars() {
                let predicate = question.predicate(0);
                prop_assert_eq!(predicate.decide(bar).ordering, predicate.decide_exactly(bar));
            }
        }
    }
}

/// Closes one unit in the last place apart: the sign of a rounded difference is often wrong there.
fn near_ties() -> Series {
    let bits = 30_000.1_f64.to_bits();
    let walk = random_walk(3_000, 5).unwrap();
    let noise = walk
        .closes()
        .iter()
        .map(|close| f64::from_bits(bits + close.to_bits() % 2));
    Series::from_closes(&noise.collect::<Vec<_>>()).unwrap()
}

#[test]
fn a_bound_of_zero_would_be_wrong_where_the_engines_are_right() {
    let series = near_ties();
    let grid = Grid::parse("hma:9", "hma3:24").unwrap();
    let question = Question::new(&series, &grid).unwrap();
    let matrix = Naive::new().filters(&question).unwrap().values;
    let (mut wrong, mut decided) = (0, 0);
    let mut exact = Vec::new();
    for bar in question.first_bar(0)..series.bars() {
        let rounded = matrix[[0, bar]].partial_cmp(&matrix[[1, bar]]).unwrap();
        let truth = question.predicate(0).decide_exactly(bar);
        wrong += usize::from(rounded != truth);
        decided += usize::from(truth.is_ne());
        exact.push((bar as u32, truth));
    }
    assert!(wrong > 100 && decided > 1_000, "{wrong} of {decided}");
    exact.retain(|(_, truth)| truth.is_ne());
    let turns = exact.windows(2).filter(|pair| pair[0].1 != pair[1].1);
    let expected: Vec<u32> = turns.map(|pair| pair[1].0).collect();
    for engine in engines() {
        assert_eq!(
            engine.crossovers(&series, &grid).unwrap()[0],
            expected,
            "{}",
            engine.name()
        );
    }
}

#[test]
fn every_stage_is_reached_and_right() {
    let fir = |name: &str, weights: &[f64]| Filter::fir(name, weights).unwrap();
    let (two, three) = (Filter::sma(2).unwrap(), Filter::sma(3).unwrap());
    let one = Filter::sma(1).unwrap();
    let (plain, a_bit_more) = (fir("a", &[1.0, 1.0]), fir("b", &[1.0, 1.0 + f64::EPSILON]));
    for (stage, fast, slow, closes, expected) in [
        (Stage::Flat, &two, &three, vec![0.1; 3], Ordering::Equal),
        (
            Stage::Float,
            &one,
            &three,
            vec![1.0, 3.0, 2.5],
            Ordering::Greater,
        ),
        // an exact tie without a flat window is beyond any float
        (
            Stage::Integer,
            &one,
            &three,
            vec![1.0, 3.0, 2.0],
            Ordering::Equal,
        ),
        // the newest close decides, 312 decimal digits below the one before it
        (
            Stage::BigInteger,
            &plain,
            &a_bit_more,
            vec![1.0, 1e12, 1e-300],
            Ordering::Less,
        ),
    ] {
        let grid = Grid::from_pairs(&[(fast.clone(), slow.clone())]).unwrap();
        let series = Series::from_closes(&closes).unwrap();
        let question = Question::new(&series, &grid).unwrap();
        let decision = question.predicate(0).decide(2);
        assert_eq!((decision.stage, decision.ordering), (stage, expected));
        assert_eq!(question.predicate(0).decide_exactly(2), expected);
    }
}
