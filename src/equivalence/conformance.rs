//! The conformance suite: what the contract of [`Backend`] asks, as checks that any engine can be put through.
//!
//! It is public, and part of the library rather than of its tests, so that an engine outside this crate is held to the
//! same suite: [`conformance!`](crate::conformance) makes one test of each check. The reference is no other engine but
//! exact integers ([`Predicate::decide_exactly`](crate::Predicate::decide_exactly)), bar by bar.
//!
//! # Examples
//! ```
//! use crosscheck::equivalence::conformance;
//! let compared = conformance::ticks(&crosscheck::Sequential::new());
//! assert!(compared.decisions > 10_000 && compared.ties > 100);
//! ```

mod checks;
pub mod generate;

pub use checks::{
    answers_stand_alone, custom_kernels, equal_filters_never_cross,
    filters_are_within_their_bounds, large_periods, later_bars_change_nothing,
    lengths_around_words_and_tiles, one_bar_windows, totals_are_those_of_the_trades,
    windows_as_long_as_the_series,
};

use std::cmp::Ordering;

use crate::backend::{Backend, collect};
use crate::crossover::{CrossoverSink, Side};
use crate::filter::parse_filters;
use crate::grid::Grid;
use crate::question::Question;
use crate::series::Series;

use generate::Named;

/// How much a check compared, so that no test passes by comparing nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Compared {
    /// Bars decided in exact integers, summed over the combinations.
    pub decisions: u64,
    /// Exact ties among them.
    pub ties: u64,
    /// Crossovers among them.
    pub crossovers: u64,
}

/// Makes one test of each check of the suite, in a module of the given name: `conformance!(naive, Naive::new());`.
///
/// # Examples
/// ```
/// crosscheck::conformance!(naive, crosscheck::Naive::new());
/// ```
#[macro_export]
macro_rules! conformance {
    ($name:ident, $engine:expr) => {
        $crate::conformance!(@ $name, $engine, [
            ticks, flat_stretches, gaps, continuous, hostile, lengths_around_words_and_tiles,
            equal_filters_never_cross, one_bar_windows, windows_as_long_as_the_series,
            custom_kernels, large_periods, filters_are_within_their_bounds, answers_stand_alone,
            later_bars_change_nothing, totals_are_those_of_the_trades,
        ]);
    };
    (@ $name:ident, $engine:expr, [$($check:ident,)*]) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;
            $(
                #[test]
                fn $check() {
                    let compared = $crate::equivalence::conformance::$check(&$engine);
                    assert!(compared.decisions > 0, "nothing was compared");
                }
            )*
        }
    };
}

/// Checks walks of a few ticks, on which averages tie often.
///
/// # Panics
/// Where the engine is wrong, as each check of this module does.
pub fn ticks(engine: &dyn Backend) -> Compared {
    let compared = check_all(engine, &generate::ticks(), &grid());
    assert!(compared.ties > 500, "no ties in {compared:?}");
    compared
}

/// Checks walks that stand still for longer than most windows.
pub fn flat_stretches(engine: &dyn Backend) -> Compared {
    let compared = check_all(engine, &generate::flat_stretches(), &grid());
    assert!(compared.ties > 5_000, "no ties in {compared:?}");
    compared
}

/// Checks walks whose level jumps.
pub fn gaps(engine: &dyn Backend) -> Compared {
    check_all(engine, &generate::gaps(), &grid())
}

/// Checks random walks.
pub fn continuous(engine: &dyn Backend) -> Compared {
    check_all(engine, &generate::continuous(), &grid())
}

/// Checks what breaks a formula: spikes, ramps, plateaus, tiny, huge and mixed scales, noise of one unit in the last
/// place.
pub fn hostile(engine: &dyn Backend) -> Compared {
    check_all(engine, &generate::hostile(), &grid())
}

/// The combinations most checks ask about: every kind of filter, fast below slow and above it, short and long windows.
fn grid() -> Grid {
    let filters = |texts: &[&str]| {
        let parsed = texts.iter().map(|text| parse_filters(text));
        parsed
            .collect::<Result<Vec<_>, _>>()
            .expect("the texts name filters")
            .concat()
    };
    let fast = filters(&["sma:1,5", "wma:3,20", "hma:9,16,64", "hma-nearest:15"]);
    let slow = filters(&["sma:2,20", "wma:33", "hma:25", "hma3:24,96"]);
    Grid::cross(&fast, &slow).expect("neither list is empty")
}

fn check_all(engine: &dyn Backend, all: &[Named], grid: &Grid) -> Compared {
    let mut total = Compared::default();
    for (name, series) in all {
        let compared = agrees_with_exact_integers(engine, name, series, grid);
        assert!(compared.decisions > 0, "{name}: nothing was compared");
        total.add(compared);
    }
    let least = total.decisions / 1_000;
    assert!(total.crossovers > least, "hardly a crossover in {total:?}");
    total
}

/// Checks every bar of every combination of one series against exact integers, and counts what was compared.
///
/// # Panics
/// Where the engine is wrong or uncertified, naming the combination and the bar.
pub fn agrees_with_exact_integers(
    engine: &dyn Backend,
    name: &str,
    series: &Series,
    grid: &Grid,
) -> Compared {
    let question = Question::new(series, grid).expect("the windows fit the series");
    let (found, diagnostics) = collect(engine, &question, Sides::default)
        .unwrap_or_else(|error| panic!("{} on {name}: {error}", engine.name()));
    assert!(diagnostics.certified, "{} states no bound", engine.name());
    let mut compared = Compared::default();
    for (combination, found) in found.iter().enumerate() {
        let expected = by_definition(&question, combination, &mut compared);
        let (fast, slow) = grid.combination(combination);
        let at = format!("{} on {name}, {fast} / {slow}", engine.name());
        assert_eq!(found.armed, expected.armed, "{at}: the first decided side");
        if let Some(bar) = found.first_difference(&expected) {
            let exact = question.predicate(combination).decide_exactly(bar as usize);
            panic!("{at}: the sides part on bar {bar}, where fast is exactly {exact:?}");
        }
    }
    compared
}

/// The rule of the definitions: the first decided sign arms, each later change is a crossover, a tie keeps the side.
fn by_definition(question: &Question<'_>, combination: usize, compared: &mut Compared) -> Sides {
    let predicate = question.predicate(combination);
    let mut sides = Sides::default();
    let mut last = None;
    for bar in question.first_bar(combination)..question.series().bars() {
        compared.decisions += 1;
        let side = match predicate.decide_exactly(bar) {
            Ordering::Greater => Side::Long,
            Ordering::Less => Side::Short,
            Ordering::Equal => {
                compared.ties += 1;
                continue;
            }
        };
        match last {
            None => sides.armed = Some((bar as u32, side)),
            Some(before) if before != side => sides.bars.push(bar as u32),
            Some(_) => {}
        }
        last = Some(side);
    }
    compared.crossovers += sides.bars.len() as u64;
    sides
}

/// What an engine says about one combination.
#[derive(Debug, Clone, PartialEq, Default)]
struct Sides {
    armed: Option<(u32, Side)>,
    bars: Vec<u32>,
}

impl Sides {
    fn first_difference(&self, other: &Self) -> Option<u32> {
        let same = self
            .bars
            .iter()
            .zip(&other.bars)
            .take_while(|(a, b)| a == b);
        let index = same.count();
        let rest = [self.bars.get(index), other.bars.get(index)];
        rest.into_iter().flatten().min().copied()
    }
}

impl CrossoverSink for Sides {
    fn arm(&mut self, bar: u32, side: Side) {
        assert!(self.armed.is_none(), "armed twice");
        self.armed = Some((bar, side));
    }

    fn crossovers(&mut self, bars: &[u32]) {
        self.bars.extend_from_slice(bars);
    }
}

impl Compared {
    fn add(&mut self, other: Self) {
        self.decisions += other.decisions;
        self.ties += other.ties;
        self.crossovers += other.crossovers;
    }
}
