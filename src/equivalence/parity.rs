//! The parity report: how far an uncertified engine is from a certified one, and why.
//!
//! Strict equality is a theorem between certified engines and hopeless for the others: rounding turns close calls. What
//! can be asked of those is that nothing but close calls turned, and that the sums people trade on did not move.

mod explain;
mod text;
mod tracks;

use crate::backend::{Backend, FilterMatrix, Precision};
use crate::error::{Error, Result};
use crate::grid::Grid;
use crate::question::Question;
use crate::rules::Rules;
use crate::series::Series;
use tracks::Tracks;

pub use explain::{Disagreement, WorstValue};

/// Disagreements that a report explains.
const EXPLAINED: usize = 10;

/// How far an engine may drift before the report calls it broken.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct TripLimits {
    /// Largest difference in the PnL of a combination, in percentage points.
    pub pnl_pp: f64,
    /// Largest difference in the trade count of a combination, in percent of the reference's count.
    pub trade_count_pct: f64,
    /// The arithmetic that the engine claims: units in the last place, and which calls are close, follow from it.
    pub precision: Precision,
}

impl Default for TripLimits {
    /// The published limits for an fp32 engine: 5 percentage points and 1 %.
    fn default() -> Self {
        Self {
            pnl_pp: 5.0,
            trade_count_pct: 1.0,
            precision: Precision::Single,
        }
    }
}

/// One combination as the two engines see it.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct CombinationParity {
    /// Name of the fast filter.
    pub fast: String,
    /// Name of the slow filter.
    pub slow: String,
    /// Trades of the reference.
    pub reference_trades: u64,
    /// Trades of the candidate.
    pub candidate_trades: u64,
    /// Trades of the reference that the candidate lacks: none enters on the same bar with the same side.
    pub missing: u64,
    /// Trades of the candidate that the reference lacks.
    pub invented: u64,
    /// Summed PnL of the reference, percent of the entry price.
    pub reference_pnl_pct: f64,
    /// Summed PnL of the candidate.
    pub candidate_pnl_pct: f64,
    /// Stretches of bars on which the two are on different sides.
    pub disagreements: u64,
    /// Those that start on a close call: an exact difference within what direct windows of the stated precision could
    /// get wrong.
    pub close_calls: u64,
}

impl CombinationParity {
    /// Returns the trades that moved: a trade that shifts by a bar is missing once and invented once, and counts once.
    pub fn moved(&self) -> u64 {
        self.missing.max(self.invented)
    }

    /// Returns the difference of the trade counts, without its sign.
    pub fn trade_count_drift(&self) -> u64 {
        self.reference_trades.abs_diff(self.candidate_trades)
    }

    /// Returns that difference in percent of the reference's count; infinite where the reference has no trade.
    pub fn trade_count_drift_pct(&self) -> f64 {
        match self.trade_count_drift() {
            0 => 0.0,
            drift => drift as f64 / self.reference_trades as f64 * 100.0,
        }
    }

    /// Returns the candidate's PnL minus the reference's, in percentage points.
    pub fn pnl_difference_pp(&self) -> f64 {
        self.candidate_pnl_pct - self.reference_pnl_pct
    }

    /// Returns whether any trade moved.
    pub fn differs(&self) -> bool {
        self.moved() > 0
    }
}

/// What the report concludes.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Verdict {
    /// Within the trip limits on every combination.
    Correct,
    /// Beyond one of them.
    Broken {
        /// Which combination, by how much, and the limit.
        reason: String,
    },
}

/// How far an engine is from the reference, per combination and in total.
///
/// Printed by `Display`, as CSV by [`ParityReport::write_csv`], and as data with the feature `serde`.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ParityReport {
    /// Name of the certified engine.
    pub reference: String,
    /// Name of the engine judged.
    pub candidate: String,
    /// The limits it was judged by.
    pub limits: TripLimits,
    /// One row a combination, in the order of the grid.
    pub combinations: Vec<CombinationParity>,
    /// The filter value with the largest error relative to the reference's.
    pub worst_relative: WorstValue,
    /// The filter value with the largest error in units of the last place of the stated precision.
    pub worst_ulp: WorstValue,
    /// The first disagreements, in the order of the grid and then of the bars: each explains a moved trade.
    pub explained: Vec<Disagreement>,
    /// The conclusion.
    pub verdict: Verdict,
}

/// Judges an engine, as a rule an fp32 one, against a certified engine, by the published trip limits.
///
/// *Memory*: two matrices of filters x bars in `f64`.
///
/// # Errors
/// [`Error::Uncertified`] where the reference states no bound, [`Error::EngineContract`] where the candidate breaks
/// the engine contract, [`Error::PeriodTooLong`], [`Error::MissingOpens`], and device faults of either engine.
///
/// # Examples
/// ```
/// use crosscheck::equivalence::{Verdict, report_fp32};
/// use crosscheck::{Formula, Grid, Naive, Precision, Rules, Uncertified, random_walk};
/// let walk = random_walk(20_000, 42)?;
/// let grid = Grid::parse("hma:20,40", "hma3:24,48")?;
/// let judge = |formula| {
///     let engine = Uncertified::new(formula, Precision::Single);
///     report_fp32(&Naive::new(), &engine, &walk, &grid, &Rules::default())
/// };
/// assert_eq!(judge(Formula::DirectWindows)?.verdict, Verdict::Correct);
/// assert!(matches!(judge(Formula::PrefixSums)?.verdict, Verdict::Broken { .. }));
/// # Ok::<(), crosscheck::Error>(())
/// ```
pub fn report_fp32(
    reference: &dyn Backend,
    candidate: &dyn Backend,
    series: &Series,
    grid: &Grid,
    rules: &Rules,
) -> Result<ParityReport> {
    report(
        reference,
        candidate,
        series,
        grid,
        rules,
        TripLimits::default(),
    )
}

/// Judges an engine against a certified engine by limits of your own.
///
/// # Errors
/// Those of [`report_fp32`].
pub fn report(
    reference: &dyn Backend,
    candidate: &dyn Backend,
    series: &Series,
    grid: &Grid,
    rules: &Rules,
    limits: TripLimits,
) -> Result<ParityReport> {
    let question = Question::new(series, grid)?;
    rules.check(series)?;
    let (expected, is_certified) = Tracks::of(reference, &question)?;
    if !is_certified {
        let engine = reference.name().to_owned();
        return Err(Error::Uncertified { engine });
    }
    let (found, _) = Tracks::of(candidate, &question)?;
    let (exact, values) = (reference.filters(&question)?, matrix(candidate, &question)?);
    let (worst_relative, worst_ulp) =
        explain::worst_values(&question, &exact, &values, limits.precision);
    let close = explain::CloseCalls::new(&question, limits.precision);
    let (mut combinations, mut explained) = (Vec::new(), Vec::new());
    for index in 0..grid.combinations() {
        let runs = expected.disagreements(&found, index, series.bars());
        let mut row = tracks::compare(&expected, &found, index, &question, rules);
        row.disagreements = runs.len() as u64;
        let is_close = |run: &&tracks::Run| close.is_close(&exact, index, run.first_bar);
        row.close_calls = runs.iter().filter(is_close).count() as u64;
        let left = EXPLAINED - explained.len();
        for run in runs.iter().take(left) {
            explained.push(close.explain(index, run, &exact, &values));
        }
        combinations.push(row);
    }
    let verdict = judge(&combinations, &limits);
    Ok(ParityReport {
        reference: reference.name().to_owned(),
        candidate: candidate.name().to_owned(),
        limits,
        combinations,
        worst_relative,
        worst_ulp,
        explained,
        verdict,
    })
}

/// The candidate's filter values, checked for shape before they are read.
fn matrix(candidate: &dyn Backend, question: &Question<'_>) -> Result<FilterMatrix> {
    let matrix = candidate.filters(question)?;
    let due = (question.filters().len(), question.series().bars());
    if matrix.values.dim() == due {
        return Ok(matrix);
    }
    Err(Error::EngineContract {
        engine: candidate.name().to_owned(),
        combination: 0,
        bar: 0,
        reason: format!(
            "a matrix of {} filters x {} bars is due; found {:?}",
            due.0,
            due.1,
            matrix.values.dim()
        ),
    })
}

/// The published rule: PnL in percentage points, and trade counts in percent, of any combination. How many combinations
/// differ plays no part: one turned close call in each would make all of them differ.
fn judge(combinations: &[CombinationParity], limits: &TripLimits) -> Verdict {
    let name = |row: &CombinationParity| format!("{} / {}", row.fast, row.slow);
    for row in combinations {
        let pp = row.pnl_difference_pp();
        // NaN is beyond any limit
        if !(pp.abs() <= limits.pnl_pp) {
            let limit = limits.pnl_pp;
            let reason = format!(
                "PnL of {} is off by {pp:.3} pp, the limit is {limit} pp",
                name(row)
            );
            return Verdict::Broken { reason };
        }
        let drift = row.trade_count_drift_pct();
        if !(drift <= limits.trade_count_pct) {
            let reason = format!(
                "{} takes {} trades, not {}: {drift:.3} % off, the limit is {} %",
                name(row),
                row.candidate_trades,
                row.reference_trades,
                limits.trade_count_pct
            );
            return Verdict::Broken { reason };
        }
    }
    Verdict::Correct
}

impl ParityReport {
    fn sum(&self, part: impl Fn(&CombinationParity) -> u64) -> u64 {
        self.combinations.iter().map(part).sum()
    }

    fn largest(&self, part: impl Fn(&CombinationParity) -> f64) -> f64 {
        self.combinations.iter().map(part).fold(0.0, f64::max)
    }

    /// Returns the reference's trades over all combinations.
    pub fn reference_trades(&self) -> u64 {
        self.sum(|row| row.reference_trades)
    }

    /// Returns the candidate's trades over all combinations.
    pub fn candidate_trades(&self) -> u64 {
        self.sum(|row| row.candidate_trades)
    }

    /// Returns the trades that moved, over all combinations.
    pub fn moved(&self) -> u64 {
        self.sum(CombinationParity::moved)
    }

    /// Returns the trades that moved in percent of the reference's.
    pub fn moved_pct(&self) -> f64 {
        self.moved() as f64 / self.reference_trades().max(1) as f64 * 100.0
    }

    /// Returns the sum of the trade-count differences, each without its sign.
    pub fn trade_count_drift(&self) -> u64 {
        self.sum(CombinationParity::trade_count_drift)
    }

    /// Returns the largest trade-count difference of a combination.
    pub fn max_trade_count_drift(&self) -> u64 {
        let drifts = self
            .combinations
            .iter()
            .map(CombinationParity::trade_count_drift);
        drifts.max().unwrap_or(0)
    }

    /// Returns the largest trade-count difference of a combination in percent.
    pub fn max_trade_count_drift_pct(&self) -> f64 {
        self.largest(CombinationParity::trade_count_drift_pct)
    }

    /// Returns the largest PnL difference of a combination, in percentage points.
    pub fn max_pnl_difference_pp(&self) -> f64 {
        self.largest(|row| row.pnl_difference_pp().abs())
    }

    /// Returns the largest PnL difference of a combination in percent of the reference's PnL.
    pub fn max_pnl_difference_pct(&self) -> f64 {
        self.largest(|row| match row.pnl_difference_pp().abs() {
            0.0 => 0.0,
            pp => pp / row.reference_pnl_pct.abs() * 100.0,
        })
    }

    /// Returns the stretches of bars on which the engines are on different sides, over all combinations.
    pub fn disagreements(&self) -> u64 {
        self.sum(|row| row.disagreements)
    }

    /// Returns those that start on a close call.
    pub fn close_calls(&self) -> u64 {
        self.sum(|row| row.close_calls)
    }

    /// Returns on how many combinations any trade moved. A decoy: it grows with the length of the series and says
    /// nothing of the size of any error, so no verdict rests on it.
    pub fn combinations_that_differ(&self) -> usize {
        self.combinations.iter().filter(|row| row.differs()).count()
    }
}
