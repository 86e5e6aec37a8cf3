//! The strict gate: whole trade lists of two certified engines, equal or named where they first differ.
//!
//! It is no statistic. Either every trade is the same, or one combination, one trade and one bar are named, together
//! with what exact integers say on that bar. A comparison without trades proves nothing and is an error.

mod report;

pub use report::{Difference, StrictReport};

use std::cmp::Ordering;
use std::ops::Range;

use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::grid::Grid;
use crate::question::Question;
use crate::rules::{OpenTrade, Rules};
use crate::series::Series;
use crate::trade::{Totals, Trade};

/// Largest difference of two `PnL`, in percentage points: they are sums of the same `f64` terms, at most in another order.
pub const PNL_TOLERANCE: f64 = 1e-6;

/// Combinations x bars whose trade lists are held at a time: some 45 MB where one bar in 30 trades.
const BLOCK: usize = 1 << 24;

/// A comparison of engines, with what it permits.
///
/// # Examples
/// ```
/// use crosscheck::equivalence::Strict;
/// use crosscheck::{Error, Grid, Naive, Rules, Series};
/// let flat = Series::from_closes(&[5.0; 100])?;
/// let grid = Grid::parse("sma:2", "sma:5")?;
/// let (a, b) = (Naive::new(), Naive::new());
/// let vacuous = Strict::new().compare(&a, &b, &flat, &grid, &Rules::default());
/// assert!(matches!(vacuous, Err(Error::NothingCompared { .. })));
/// let allowed = Strict::new().allow_no_trades(true).compare(&a, &b, &flat, &grid, &Rules::default())?;
/// assert_eq!((allowed.trades, allowed.is_equal()), (0, true));
/// # Ok::<(), crosscheck::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct Strict {
    allows_no_trades: bool,
}

impl Strict {
    /// Makes the default comparison: a comparison of 0 trades is an error.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether a comparison of 0 trades passes, for series on which none are due.
    pub fn allow_no_trades(self, allows_no_trades: bool) -> Self {
        Self { allows_no_trades }
    }

    /// Compares the trade lists of two engines, and the candidate's sweep totals with its own lists.
    ///
    /// The candidate sweeps the whole grid at once; lists are then compared block by block, so memory is
    /// bounded by the block. Trades must have the same entry bar, exit bar and side, `PnL` agree within
    /// [`PNL_TOLERANCE`].
    ///
    /// # Errors
    /// [`Error::Uncertified`] where an engine states no bound, [`Error::NothingCompared`] without trades, and those
    /// of [`Backend::sweep`]. A difference is no error here: see [`StrictReport::require`].
    pub fn compare(
        &self,
        reference: &dyn Backend,
        candidate: &dyn Backend,
        series: &Series,
        grid: &Grid,
        rules: &Rules,
    ) -> Result<StrictReport> {
        let first = block(grid, 0..1)?;
        let sample = reference.sweep(series, &first, rules)?;
        check_certified(reference, sample.diagnostics.certified)?;
        let sweep = candidate.sweep(series, grid, rules)?;
        check_certified(candidate, sweep.diagnostics.certified)?;
        let mut report = StrictReport::new(reference.name(), candidate.name());
        for range in blocks(series, grid) {
            let part = block(grid, range.clone())?;
            let expected = reference.trades(series, &part, rules)?;
            let found = candidate.trades(series, &part, rules)?;
            for (offset, combination) in range.enumerate() {
                let (expected, found) = (&expected[offset], &found[offset]);
                let trades = compare_lists(&mut report, grid, combination, expected, found);
                let totals = &sweep.rows[combination].totals;
                let found = (found.as_slice(), rules);
                let totals = compare_totals(&mut report, grid, combination, totals, found);
                report.count(found.0.len(), trades.or(totals));
            }
        }
        locate(&mut report, reference, candidate, series, grid)?;
        self.finish(report, series)
    }

    /// Compares an engine's sweep totals with its own trade lists: both ways to the money.
    ///
    /// # Errors
    /// Those of [`Strict::compare`].
    pub fn compare_totals(
        &self,
        engine: &dyn Backend,
        series: &Series,
        grid: &Grid,
        rules: &Rules,
    ) -> Result<StrictReport> {
        let sweep = engine.sweep(series, grid, rules)?;
        check_certified(engine, sweep.diagnostics.certified)?;
        let mut report = StrictReport::new(engine.name(), engine.name());
        for range in blocks(series, grid) {
            let lists = engine.trades(series, &block(grid, range.clone())?, rules)?;
            for (combination, list) in range.zip(&lists) {
                let totals = &sweep.rows[combination].totals;
                let own = (list.as_slice(), rules);
                let difference = compare_totals(&mut report, grid, combination, totals, own);
                report.count(list.len(), difference);
            }
        }
        self.finish(report, series)
    }

    fn finish(self, report: StrictReport, series: &Series) -> Result<StrictReport> {
        if report.trades > 0 || !report.is_equal() || self.allows_no_trades {
            return Ok(report);
        }
        Err(Error::NothingCompared {
            reference: report.reference,
            candidate: report.candidate,
            combinations: report.combinations,
            bars: series.bars(),
        })
    }
}

/// Compares the trade lists of two engines: [`Strict::compare`] with its defaults.
///
/// # Errors
/// Those of [`Strict::compare`].
///
/// # Examples
/// ```
/// use crosscheck::equivalence::compare_strict;
/// use crosscheck::{Grid, Naive, Rules, Vectorized, random_walk};
/// let walk = random_walk(3_000, 42)?;
/// let grid = Grid::parse("hma:20,40", "hma3:24,48")?;
/// let report = compare_strict(&Naive::new(), &Vectorized::new(), &walk, &grid, &Rules::default())?;
/// assert!(report.is_equal() && report.combinations == 4 && report.trades > 200);
/// # Ok::<(), crosscheck::Error>(())
/// ```
pub fn compare_strict(
    reference: &dyn Backend,
    candidate: &dyn Backend,
    series: &Series,
    grid: &Grid,
    rules: &Rules,
) -> Result<StrictReport> {
    Strict::new().compare(reference, candidate, series, grid, rules)
}

/// Asserts that two engines take the same trades, for tests; returns what was compared.
///
/// # Panics
/// With the first difference, or with the error of [`compare_strict`].
#[track_caller]
pub fn assert_strict(
    reference: &dyn Backend,
    candidate: &dyn Backend,
    series: &Series,
    grid: &Grid,
    rules: &Rules,
) -> StrictReport {
    match compare_strict(reference, candidate, series, grid, rules) {
        Ok(report) if report.is_equal() => report,
        Ok(report) => panic!("{report}"),
        Err(error) => panic!("{error}"),
    }
}

fn check_certified(engine: &dyn Backend, is_certified: bool) -> Result<()> {
    if is_certified {
        return Ok(());
    }
    Err(Error::Uncertified {
        engine: engine.name().to_owned(),
    })
}

fn blocks(series: &Series, grid: &Grid) -> impl Iterator<Item = Range<usize>> {
    let (combinations, size) = (grid.combinations(), (BLOCK / series.bars()).max(1));
    (0..combinations)
        .step_by(size)
        .map(move |first| first..(first + size).min(combinations))
}

fn block(grid: &Grid, range: Range<usize>) -> Result<Grid> {
    let pair = |combination| {
        let (fast, slow) = grid.combination(combination);
        (fast.clone(), slow.clone())
    };
    Grid::from_pairs(&range.map(pair).collect::<Vec<_>>())
}

fn compare_lists(
    report: &mut StrictReport,
    grid: &Grid,
    combination: usize,
    expected: &[Trade],
    found: &[Trade],
) -> Option<Difference> {
    let key = |trade: &Trade| (trade.entry_bar, trade.exit_bar, trade.side, trade.is_open);
    let mut first = None;
    for index in 0..expected.len().max(found.len()) {
        let (a, b) = (expected.get(index), found.get(index));
        let reason = match (a, b) {
            (Some(a), Some(b)) if key(a) == key(b) => {
                if report.measure(a.pnl_pct - b.pnl_pct) {
                    continue;
                }
                format!("PnL {} against {}", a.pnl_pct, b.pnl_pct)
            }
            _ => "another trade".to_owned(),
        };
        first.get_or_insert_with(|| {
            let mut difference = Difference::new(grid, combination, reason);
            difference.trade = Some(index);
            (difference.reference, difference.candidate) = (a.copied(), b.copied());
            difference
        });
        if a.map(key) != b.map(key) {
            break; // what follows a trade that differs cannot be told apart from it
        }
    }
    first
}

/// Counts are exact; the sums may be added in another order.
fn compare_totals(
    report: &mut StrictReport,
    grid: &Grid,
    combination: usize,
    totals: &Totals,
    (list, rules): (&[Trade], &Rules),
) -> Option<Difference> {
    let is_excluded = |trade: &Trade| trade.is_open && rules.open_trade() == OpenTrade::Exclude;
    let counted = || list.iter().filter(|trade| !is_excluded(trade));
    let trades = counted().count() as u64;
    let wins = counted().filter(|trade| trade.pnl_pct > 0.0).count() as u64;
    let pnl_pct: f64 = counted().map(|trade| trade.pnl_pct).sum();
    let has_open_trade = list.last().is_some_and(|trade| trade.is_open);
    let counts = (totals.trades, totals.wins, totals.has_open_trade);
    if report.measure(totals.pnl_pct - pnl_pct) && counts == (trades, wins, has_open_trade) {
        return None;
    }
    let reason = format!(
        "the sweep has {} trades, {} wins, PnL {}; its own list has {trades} trades, {wins} wins, PnL {pnl_pct}",
        totals.trades, totals.wins, totals.pnl_pct
    );
    Some(Difference::new(grid, combination, reason))
}

/// Finds the bar where the sides of the two engines part, and asks the exact predicate.
fn locate(
    report: &mut StrictReport,
    reference: &dyn Backend,
    candidate: &dyn Backend,
    series: &Series,
    grid: &Grid,
) -> Result<()> {
    let Some(difference) = &mut report.difference else {
        return Ok(());
    };
    let combination = difference.combination;
    let part = block(grid, combination..combination + 1)?;
    let question = Question::new(series, &part)?;
    let expected = reference.crossovers(series, &part)?.remove(0);
    let found = candidate.crossovers(series, &part)?.remove(0);
    let sides = [difference.reference, difference.candidate].map(|t| t.map(|trade| trade.side));
    let bar = if expected != found {
        let same = expected.iter().zip(&found).take_while(|(a, b)| a == b);
        let rest = [&expected, &found].map(|bars| bars.get(same.clone().count()));
        rest.into_iter().flatten().min().map(|&bar| bar as usize)
    } else if sides[0].is_some() && sides[1].is_some() && sides[0] != sides[1] {
        let predicate = question.predicate(0);
        (question.first_bar(0)..series.bars())
            .find(|&bar| predicate.decide_exactly(bar) != Ordering::Equal)
    } else {
        None // the sides agree: the money does not
    };
    difference.bar = bar;
    difference.exact_sign = bar.map(|bar| question.predicate(0).decide_exactly(bar) as i8);
    Ok(())
}
