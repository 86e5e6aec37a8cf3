//! The strict gate itself: what it refuses, what it names, and that it never passes by comparing nothing.

use crosscheck::equivalence::{Strict, assert_strict, compare_strict};
use crosscheck::{
    Backend, Diagnostics, Error, FilterMatrix, Formula, Grid, Naive, Pool, Precision, Question,
    Result, Rules, Sequential, Series, SideWriter, Uncertified, Vectorized, random_walk,
};

fn grid() -> Grid {
    Grid::parse("hma:20,40,60", "hma3:24,48").unwrap()
}

/// M0, but one bar of one combination is turned to the other side.
struct OneBarOff {
    fast: &'static str,
    bar: usize,
}

impl Backend for OneBarOff {
    fn name(&self) -> &str {
        "one-bar-off"
    }

    fn filters(&self, question: &Question<'_>) -> Result<FilterMatrix> {
        Naive::new().filters(question)
    }

    fn sides(
        &self,
        question: &Question<'_>,
        writers: &mut [SideWriter<'_>],
    ) -> Result<Diagnostics> {
        let bars = question.series().bars();
        for writer in writers {
            let combination = writer.combination();
            let predicate = question.predicate(combination);
            let is_wrong = question.grid().combination(combination).0.name() == self.fast;
            for word in writer.next_word()..bars.div_ceil(64) {
                let mut above = 0_u64;
                for bar in (word * 64).max(writer.first_bar())..(word * 64 + 64).min(bars) {
                    let turned = is_wrong && bar == self.bar;
                    let is_above = predicate.decide(bar).ordering.is_gt() != turned;
                    above |= u64::from(is_above) << (bar % 64);
                }
                writer.write(word, &[above], None);
            }
        }
        Ok(Diagnostics::new(self.name(), true))
    }
}

#[test]
fn every_engine_takes_the_trades_of_m0() {
    let walk = random_walk(6_000, 42).unwrap();
    let engines: [&dyn Backend; 4] = [
        &Vectorized::new(),
        &Sequential::new(),
        &Pool::new(None),
        &Pool::new(Some(3)),
    ];
    for rules in [Rules::default(), Rules::published()] {
        for engine in engines {
            let report = assert_strict(&Naive::new(), engine, &walk, &grid(), &rules);
            assert_eq!(report.combinations, 6);
            assert!(report.trades > 1_500, "{report}");
            assert!(
                report
                    .to_string()
                    .contains(&format!("{} trades of 6", report.trades))
            );
        }
    }
}

#[test]
fn the_first_difference_is_named_down_to_the_bar() {
    let walk = random_walk(3_000, 42).unwrap();
    let wrong = OneBarOff {
        fast: "hma:40",
        bar: 1_700,
    };
    let report = compare_strict(&Naive::new(), &wrong, &walk, &grid(), &Rules::default()).unwrap();
    assert_eq!(report.differing, 2);
    let first = report.difference.as_ref().unwrap();
    assert_eq!((first.combination, first.fast.as_str()), (2, "hma:40"));
    assert_eq!(first.bar, Some(1_700));
    let question_grid = Grid::parse("hma:40", "hma3:24").unwrap();
    let question = Question::new(&walk, &question_grid).unwrap();
    let exact = question.predicate(0).decide_exactly(1_700) as i8;
    assert_eq!(first.exact_sign, Some(exact));
    assert!(first.trade.is_some());
    let error = report.require().unwrap_err().to_string();
    for part in [
        "one-bar-off differs from m0",
        "hma:40 / hma3:24",
        "on bar 1700 fast is exactly",
    ] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
#[should_panic(expected = "on bar 1700 fast is exactly")]
fn assert_strict_panics_with_the_difference() {
    let walk = random_walk(3_000, 42).unwrap();
    let wrong = OneBarOff {
        fast: "hma:60",
        bar: 1_700,
    };
    assert_strict(&Naive::new(), &wrong, &walk, &grid(), &Rules::default());
}

#[test]
fn an_uncertified_engine_is_refused_on_either_side() {
    let walk = random_walk(1_000, 1).unwrap();
    let trap = Uncertified::new(Formula::PrefixSums, Precision::Single);
    let naive = Naive::new();
    for (reference, candidate) in [
        (&naive as &dyn Backend, &trap as &dyn Backend),
        (&trap, &naive),
    ] {
        let refused = compare_strict(reference, candidate, &walk, &grid(), &Rules::default());
        assert!(matches!(refused, Err(Error::Uncertified { engine }) if engine == trap.name()));
    }
}

#[test]
fn a_comparison_without_trades_proves_nothing() {
    let flat = Series::from_closes(&[7.0; 400]).unwrap();
    let (a, b) = (Naive::new(), Sequential::new());
    let refused = compare_strict(&a, &b, &flat, &grid(), &Rules::default());
    assert!(matches!(
        refused,
        Err(Error::NothingCompared {
            combinations: 6,
            bars: 400,
            ..
        })
    ));
    let strict = Strict::new().allow_no_trades(true);
    let report = strict
        .compare(&a, &b, &flat, &grid(), &Rules::default())
        .unwrap();
    assert!(report.is_equal() && report.trades == 0);
}

#[test]
fn totals_equal_lists_under_the_published_fee() {
    let walk = random_walk(20_000, 3).unwrap();
    for engine in [
        &Vectorized::new() as &dyn Backend,
        &Sequential::new(),
        &Pool::new(Some(2)),
    ] {
        let report = Strict::new()
            .compare_totals(engine, &walk, &grid(), &Rules::published())
            .unwrap();
        assert!(report.is_equal() && report.trades > 5_000, "{report}");
        assert!(report.max_pnl_difference < 1e-9, "{report}");
    }
}
