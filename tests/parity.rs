//! The parity report: what it counts, what trips it, and that its explanations are true.

use crosscheck::equivalence::{TripLimits, Verdict, report, report_fp32};
use crosscheck::{
    Backend, Error, FilterMatrix, Formula, Grid, Naive, Precision, Question, Result, Rules,
    Uncertified, random_walk,
};

fn fp32(formula: Formula) -> Uncertified {
    Uncertified::new(formula, Precision::Single)
}

/// M0's values, changed at will.
struct Altered<F>(F);

impl<F: Fn(&mut FilterMatrix) + Send + Sync> Backend for Altered<F> {
    fn name(&self) -> &'static str {
        "altered"
    }

    fn filters(&self, question: &Question<'_>) -> Result<FilterMatrix> {
        let mut matrix = Naive::new().filters(question)?;
        matrix.relative_bounds = None;
        (self.0)(&mut matrix);
        Ok(matrix)
    }
}

#[test]
fn an_engine_agrees_with_itself() {
    let (walk, grid) = (
        random_walk(5_000, 1).unwrap(),
        Grid::parse("hma:20,40", "hma3:24").unwrap(),
    );
    let report = report_fp32(
        &Naive::new(),
        &Naive::new(),
        &walk,
        &grid,
        &Rules::published(),
    )
    .unwrap();
    assert!(report.reference_trades() > 500);
    assert_eq!(report.moved() + report.disagreements(), 0);
    assert_eq!(report.combinations_that_differ(), 0);
    assert_eq!(
        (report.worst_relative.error, report.worst_ulp.error),
        (0.0, 0.0)
    );
    assert_eq!(report.verdict, Verdict::Correct);
}

#[test]
fn totals_are_those_of_the_sweeps() {
    let walk = random_walk(30_000, 42).unwrap();
    let grid = Grid::parse("hma:20..=100:20", "hma3:24,48").unwrap();
    let rules = Rules::published();
    let engine = fp32(Formula::PrefixSums);
    let report = report_fp32(&Naive::new(), &engine, &walk, &grid, &rules).unwrap();
    let expected = Naive::new().sweep(&walk, &grid, &rules).unwrap();
    let found = engine.sweep(&walk, &grid, &rules).unwrap();
    assert_eq!(report.reference_trades(), expected.trades());
    assert_eq!(report.candidate_trades(), found.trades());
    for ((row, a), b) in report
        .combinations
        .iter()
        .zip(&expected.rows)
        .zip(&found.rows)
    {
        assert_eq!(row.reference_pnl_pct, a.totals.pnl_pct);
        assert_eq!(row.candidate_pnl_pct, b.totals.pnl_pct);
        assert_eq!(
            row.reference_trades - row.missing,
            row.candidate_trades - row.invented
        );
        assert!(row.moved() > 0 && row.disagreements > 0);
    }
    assert!(matches!(report.verdict, Verdict::Broken { .. }));
    assert!(
        report.worst_relative.error > 1.0,
        "{}",
        report.worst_relative.error
    );
}

#[test]
fn a_shifted_trade_counts_once_and_a_lost_pair_twice() {
    // fast - slow: below, above from bar 4, below from bar 8
    let closes = [5.0, 4.0, 3.0, 2.0, 3.0, 4.0, 5.0, 6.0, 5.0, 4.0, 3.0, 2.0];
    let series = crosscheck::Series::from_closes(&closes).unwrap();
    let grid = Grid::parse("sma:1", "sma:2").unwrap();
    let judge = |alter: fn(&mut FilterMatrix)| {
        report_fp32(
            &Naive::new(),
            &Altered(alter),
            &series,
            &grid,
            &Rules::default(),
        )
        .unwrap()
    };
    let shifted = judge(|matrix| matrix.values[[0, 4]] = 0.0);
    assert_eq!((shifted.reference_trades(), shifted.moved()), (2, 1));
    let row = &shifted.combinations[0];
    assert_eq!((row.missing, row.invented, row.disagreements), (1, 1, 1));
    assert_eq!(
        (shifted.explained[0].bar, shifted.explained[0].bars),
        (4, 1)
    );
    assert_eq!(shifted.explained[0].exact_difference, 0.5);
    assert!(!shifted.explained[0].is_close_call());
    let lost = judge(|matrix| (4..8).for_each(|bar| matrix.values[[0, bar]] = 0.0));
    let row = &lost.combinations[0];
    assert_eq!((row.candidate_trades, row.missing, row.invented), (0, 2, 0));
    assert_eq!((row.moved(), row.disagreements), (2, 1));
    assert_eq!(lost.trade_count_drift(), 2);
}

#[test]
fn direct_windows_move_close_calls_only_and_prefix_sums_others_too() {
    let walk = random_walk(150_000, 42).unwrap();
    let grid = Grid::parse("hma:20..=200:60", "hma3:24..=192:56").unwrap();
    let judge = |formula| {
        report_fp32(
            &Naive::new(),
            &fp32(formula),
            &walk,
            &grid,
            &Rules::default(),
        )
        .unwrap()
    };
    let direct = judge(Formula::DirectWindows);
    assert!(
        direct.moved() > 0 && direct.moved_pct() < 0.3,
        "{}",
        direct.moved_pct()
    );
    assert_eq!(direct.close_calls(), direct.disagreements());
    assert!(
        direct
            .explained
            .iter()
            .all(|d| d.is_close_call() && d.bound > 0.0)
    );
    assert_eq!(direct.verdict, Verdict::Correct);
    let centred = judge(Formula::CentredDirect);
    assert!(centred.moved() <= direct.moved());
    let prefix = judge(Formula::PrefixSums);
    assert!(prefix.close_calls() * 10 < prefix.disagreements());
    assert!(matches!(prefix.verdict, Verdict::Broken { .. }));
}

#[test]
fn explanations_hold_against_the_exact_predicate() {
    let walk = random_walk(60_000, 42).unwrap();
    let grid = Grid::parse("hma:20,40", "hma3:24,48").unwrap();
    let report = report_fp32(
        &Naive::new(),
        &fp32(Formula::SlidingUpdate),
        &walk,
        &grid,
        &Rules::default(),
    )
    .unwrap();
    assert_eq!(report.explained.len(), 10);
    let question = Question::new(&walk, &grid).unwrap();
    for found in &report.explained {
        let pair = |(fast, slow): (&crosscheck::Filter, &crosscheck::Filter)| {
            fast.name() == found.fast && slow.name() == found.slow
        };
        let combination = (0..4).find(|&c| pair(grid.combination(c))).unwrap();
        let exact = question.predicate(combination).decide_exactly(found.bar);
        assert_eq!(found.exact_difference.partial_cmp(&0.0), Some(exact));
        let [fast, slow] = found.reference_values;
        assert!((fast - slow - found.exact_difference).abs() < 1e-9);
        let [fast, slow] = found.candidate_values;
        // one of the two turned on this bar, and the reference is never wrong
        let turned = (fast > slow) != exact.is_gt();
        assert!(turned, "bar {}: {fast} {slow} {exact:?}", found.bar);
        assert_ne!(found.reference_side, found.candidate_side);
    }
}

#[test]
fn either_limit_trips_and_the_decoy_never_does() {
    let walk = random_walk(60_000, 42).unwrap();
    let grid = Grid::parse("hma:20,40", "hma3:24,48").unwrap();
    let judge = |pnl_pp, trade_count_pct| {
        let limits = TripLimits {
            pnl_pp,
            trade_count_pct,
            ..TripLimits::default()
        };
        let engine = fp32(Formula::CentredPrefixSums);
        report(
            &Naive::new(),
            &engine,
            &walk,
            &grid,
            &Rules::default(),
            limits,
        )
        .unwrap()
    };
    let wide = judge(f64::INFINITY, f64::INFINITY);
    assert_eq!(wide.combinations_that_differ(), 4);
    assert_eq!(wide.verdict, Verdict::Correct);
    let reason = |verdict| match verdict {
        Verdict::Broken { reason } => reason,
        Verdict::Correct => "correct".to_owned(),
    };
    assert!(reason(judge(f64::INFINITY, 1.0).verdict).contains('%'));
    assert!(reason(judge(5.0, f64::INFINITY).verdict).contains("pp"));
}

#[test]
fn missing_values_are_infinite_errors() {
    let (walk, grid) = (
        random_walk(500, 1).unwrap(),
        Grid::parse("sma:2", "sma:5").unwrap(),
    );
    let engine = Altered(|matrix: &mut FilterMatrix| matrix.values[[1, 100]] = f64::NAN);
    let report = report_fp32(&Naive::new(), &engine, &walk, &grid, &Rules::default()).unwrap();
    assert_eq!(
        (report.worst_relative.bar, report.worst_relative.error),
        (100, f64::INFINITY)
    );
    assert_eq!(report.worst_relative.filter, "sma:5");
}

#[test]
fn an_uncertified_reference_is_refused() {
    let (walk, grid) = (
        random_walk(500, 1).unwrap(),
        Grid::parse("sma:2", "sma:5").unwrap(),
    );
    let engine = fp32(Formula::DirectWindows);
    let refused = report_fp32(&engine, &Naive::new(), &walk, &grid, &Rules::default());
    assert!(matches!(refused, Err(Error::Uncertified { engine }) if engine == "direct-f32"));
}

#[test]
fn the_text_ends_with_the_decoy() {
    let (walk, grid) = (
        random_walk(20_000, 42).unwrap(),
        Grid::parse("hma:20", "hma3:24").unwrap(),
    );
    let report = report_fp32(
        &Naive::new(),
        &fp32(Formula::PrefixSums),
        &walk,
        &grid,
        &Rules::default(),
    )
    .unwrap();
    let text = report.to_string();
    assert!(text.lines().nth(1).unwrap().contains("BROKEN"), "{text}");
    let last = text.lines().last().unwrap();
    assert!(last.contains("decoy: 1 of 1 combinations differ"), "{text}");
    assert!(text.contains("the formula is at fault"), "{text}");
}
