//! Walk-forward against a slow one that slices the series and books each window bar by bar.

#![allow(
    clippy::unwrap_used,
    clippy::float_cmp,
    clippy::pedantic,
    unreachable_pub,
    dead_code
)]

#[path = "support/plain_book.rs"]
mod plain_book;
#[path = "support/scripted.rs"]
mod scripted;

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use crosscheck::{
    Backend, Compounding, Diagnostics, Direction, Fill, FilterMatrix, FirstSide, Grid, Metric,
    MetricSet, OpenTrade, Question, Result, Rules, Selection, Sequential, Series, SideWriter,
    WalkForward, random_walk,
};
use plain_book::{PlainBook, book};
use scripted::{Scripted, random_sides};

fn with_opens(bars: usize, seed: u64) -> Series {
    let walk = random_walk(bars, seed).unwrap();
    let opens = walk.closes().iter().map(|close| close * 1.000_1).collect();
    walk.with_opens(opens).unwrap()
}

fn all_rules() -> Vec<Rules> {
    let mut all = Vec::new();
    for first_side in [FirstSide::Arm, FirstSide::Enter] {
        for fill in [Fill::SignalClose, Fill::NextClose, Fill::NextOpen] {
            for (direction, open_trade, compounding) in [
                (
                    Direction::LongShort,
                    OpenTrade::Close,
                    Compounding::Additive,
                ),
                (Direction::LongOnly, OpenTrade::Mark, Compounding::Additive),
                (
                    Direction::ShortOnly,
                    OpenTrade::Exclude,
                    Compounding::Compounded,
                ),
                (
                    Direction::LongShort,
                    OpenTrade::Mark,
                    Compounding::Compounded,
                ),
            ] {
                let rules = Rules::published()
                    .with_first_side(first_side)
                    .with_fill(fill)
                    .with_direction(direction)
                    .with_open_trade(open_trade);
                all.push(rules.with_compounding(compounding));
            }
        }
    }
    all
}

/// The window's book: under `Arm` it begins one bar earlier, whose side is known and only arms.
fn window_book(series: &Series, sides: &[i8], bars: &Range<usize>, rules: &Rules) -> PlainBook {
    let mut known = sides.to_vec();
    let mut last = 0;
    for side in &mut known {
        if *side == 0 {
            *side = last;
        }
        last = *side;
    }
    let arms = rules.first_side() == FirstSide::Arm && bars.start > 0;
    let first = bars.start - usize::from(arms);
    book(
        &series.slice(first..bars.end).unwrap(),
        &known[first..bars.end],
        rules,
    )
}

fn pnl(book: &PlainBook) -> f64 {
    book.trades
        .iter()
        .filter(|trade| trade.counts)
        .map(|trade| trade.pnl * 100.0)
        .sum()
}

#[test]
fn every_split_agrees_with_a_book_of_its_window_alone() {
    let series = with_opens(1_200, 3);
    let rows: Vec<Vec<i8>> = (0..40)
        .map(|seed| random_sides(1_200, 2 + seed % 9, seed))
        .collect();
    let engine = Scripted(rows);
    let selection = Selection::by(Metric::Pnl).with_min_trades(5);
    let set = MetricSet::all(252.0).unwrap();
    let (mut trades, mut choices) = (0, std::collections::HashSet::new());
    for walk in [
        WalkForward::rolling(300, 100).unwrap(),
        WalkForward::anchored(200, 150).unwrap().with_purge(20),
        WalkForward::rolling(64, 37).unwrap().with_purge(3),
    ] {
        for rules in all_rules() {
            let report = walk
                .run(&engine, &series, &engine.grid(), &rules, &set, &selection)
                .unwrap();
            assert_eq!(report.rows.len(), walk.splits(1_200).unwrap().len());
            for row in &report.rows {
                let books = |bars: &Range<usize>| -> Vec<PlainBook> {
                    engine
                        .0
                        .iter()
                        .map(|sides| window_book(&series, sides, bars, &rules))
                        .collect()
                };
                let train = books(&row.split.train);
                let best = train
                    .iter()
                    .enumerate()
                    .filter(|(_, book)| {
                        book.trades.iter().filter(|trade| trade.counts).count() >= 5
                    })
                    .map(|(index, book)| (index, pnl(book)))
                    .fold(None, |best: Option<(usize, f64)>, next| match best {
                        Some(best) if best.1 >= next.1 => Some(best),
                        _ => Some(next),
                    });
                let Some(chosen) = &row.chosen else {
                    assert!(best.is_none());
                    continue;
                };
                assert_eq!(Some(chosen.combination), best.map(|best| best.0));
                let test = window_book(
                    &series,
                    &engine.0[chosen.combination],
                    &row.split.test,
                    &rules,
                );
                let totals = &chosen.out_of_sample.totals;
                assert_eq!(
                    totals.trades,
                    test.trades.iter().filter(|trade| trade.counts).count() as u64
                );
                assert_eq!(totals.unfilled, test.unfilled);
                assert!((totals.pnl_pct - pnl(&test)).abs() < 1e-9, "{rules:?}");
                let end = test.equity.last().unwrap() - 1.0;
                let found = totals.compounded_pct.unwrap_or(totals.pnl_pct) / 100.0;
                assert!((found - end).abs() < 1e-9);
                assert_eq!(
                    chosen.out_of_sample.metrics.returns.unwrap().bars,
                    row.split.test.len() as u64
                );
                trades += totals.trades;
                choices.insert(chosen.combination);
            }
        }
    }
    assert!(
        trades > 3_500 && choices.len() > 20,
        "{trades} trades, {} choices",
        choices.len()
    );
}

#[test]
fn later_bars_change_no_earlier_row() {
    let series = with_opens(3_000, 9);
    let grid = Grid::parse("hma:6..=20:2", "hma3:12..=36:6").unwrap();
    let walk = WalkForward::rolling(500, 250).unwrap().with_purge(25);
    let selection = Selection::by(Metric::Sharpe);
    let set = MetricSet::all(525_600.0).unwrap();
    let mut traded = 0;
    for rules in all_rules() {
        let run = |bars| {
            let seen = series.slice(0..bars).unwrap();
            walk.run(&Sequential::new(), &seen, &grid, &rules, &set, &selection)
                .unwrap()
        };
        let whole = run(3_000);
        for bars in [1_025, 1_700, 2_525] {
            let seen = run(bars);
            assert!(!seen.rows.is_empty() && seen.rows.len() < whole.rows.len());
            assert_eq!(seen.rows, whole.rows[..seen.rows.len()]);
        }
        traded += whole.trades();
    }
    assert!(traded > 2_000, "{traded}");
}

/// Passes questions on to M2 and counts them.
struct Counting {
    questions: AtomicUsize,
    bars: AtomicUsize,
}

impl Backend for Counting {
    fn name(&self) -> &'static str {
        "counting"
    }

    fn filters(&self, question: &Question<'_>) -> Result<FilterMatrix> {
        Sequential::new().filters(question)
    }

    fn sides(
        &self,
        question: &Question<'_>,
        writers: &mut [SideWriter<'_>],
    ) -> Result<Diagnostics> {
        self.questions.fetch_add(1, Ordering::SeqCst);
        self.bars
            .fetch_add(question.series().bars(), Ordering::SeqCst);
        Sequential::new().sides(question, writers)
    }
}

#[test]
fn sides_are_computed_once_for_all_splits() {
    let (walk, grid) = (
        random_walk(2_000, 3).unwrap(),
        Grid::parse("sma:3,5", "sma:9,20").unwrap(),
    );
    let engine = Counting {
        questions: AtomicUsize::new(0),
        bars: AtomicUsize::new(0),
    };
    let (set, selection) = (MetricSet::trades(), Selection::by(Metric::Pnl));
    let splits = WalkForward::anchored(100, 50).unwrap();
    let report = splits
        .run(&engine, &walk, &grid, &Rules::default(), &set, &selection)
        .unwrap();
    assert_eq!(report.rows.len(), 38);
    assert_eq!(engine.questions.into_inner(), 1);
    assert_eq!(engine.bars.into_inner(), 2_000);
}

/// A test window shorter than the filters' warm-up has sides from its first bar on: they are warm from the bars before.
#[test]
fn warm_up_is_taken_from_the_bars_before_the_test_window() {
    let walk = random_walk(1_500, 5).unwrap();
    let grid = Grid::parse("hma:40", "hma3:96").unwrap();
    assert!(grid.filters()[1].warm_up() > 90);
    let rules = Rules::default().with_first_side(FirstSide::Enter);
    let (set, selection) = (MetricSet::trades(), Selection::by(Metric::Pnl));
    let splits = WalkForward::rolling(300, 20).unwrap().with_purge(7);
    let report = splits
        .run(&Sequential::new(), &walk, &grid, &rules, &set, &selection)
        .unwrap();
    assert_eq!(report.rows.len(), 59);
    for row in &report.rows {
        let found = &row.chosen.as_ref().expect("it trades").out_of_sample;
        assert_eq!(
            found.metrics.exposure,
            19.0 / 20.0,
            "held from first to last close"
        );
    }
}

/// What happens between the windows enters neither.
#[test]
fn purged_bars_change_nothing() {
    let series = with_opens(450, 8);
    let engine = Scripted((0..10).map(|seed| random_sides(450, 6, seed)).collect());
    let moved = |prices: &[f64]| {
        let mut prices = prices.to_vec();
        prices[300..350].iter_mut().for_each(|price| *price *= 1.5);
        prices
    };
    let other = Series::from_closes(&moved(series.closes())).unwrap();
    let other = other.with_opens(moved(series.opens().unwrap())).unwrap();
    let splits = WalkForward::rolling(300, 100).unwrap().with_purge(50);
    let (set, selection) = (
        MetricSet::all(252.0).unwrap(),
        Selection::by(Metric::Sharpe),
    );
    for rules in all_rules() {
        let run = |series| {
            splits
                .run(&engine, series, &engine.grid(), &rules, &set, &selection)
                .unwrap()
        };
        let report = run(&series);
        assert!(report.rows.len() == 1 && report.trades() > 0, "{rules:?}");
        assert_eq!(report, run(&other), "{rules:?}");
    }
}
