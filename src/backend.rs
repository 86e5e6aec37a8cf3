//! The engines, and the one trait that they and yours implement.

mod auto;
#[cfg(feature = "gpu")]
pub mod gpu;
mod matrix;
mod naive;
mod pool;
mod sequential;
mod uncertified;
mod vectorized;

pub use auto::Auto;
pub use matrix::{FilterMatrix, decide_row};
pub use naive::Naive;
pub use pool::Pool;
pub use sequential::Sequential;
#[doc(hidden)]
pub use sequential::SimdPath;
pub use uncertified::{Evaluation, Formula, Precision, Uncertified};
pub use vectorized::Vectorized;

use crate::crossover::{CrossoverSink, SideWriter};
use crate::diagnostics::Diagnostics;
use crate::error::Result;
use crate::grid::Grid;
use crate::metrics::{AlwaysIn, Meter, MetricSet, Moves, Steps};
use crate::question::Question;
use crate::rules::Rules;
use crate::series::Series;
use crate::sweep::{Sweep, infinite};
use crate::trade::{self, Ledger, Market, Totals, Trade, TradeBuilder};

/// An engine: it says on which bars fast is above slow, and nothing else.
///
/// Input is validated before it, money is counted after it, so two engines can differ in a side only, and there the
/// exact predicate says who is wrong. The least work: implement [`Backend::name`] and [`Backend::filters`], and state
/// the bound of your formula. Fast engines override [`Backend::sides`] and never hold a table of combinations x bars.
///
/// # Contract
/// 1. Every word of every writer is written once, in order; `sides` fails otherwise.
/// 2. A bit is set only where fast is proven above slow, by a bound or by [`Question::predicate`].
/// 3. An exact tie is marked as a tie; it keeps the side before it.
/// 4. The answer depends on the question alone: not on threads, on earlier calls, or on bars that come later.
/// 5. Only device faults are errors; none is swallowed, and no number of an earlier call is returned again.
///
/// # Examples
/// ```
/// use crosscheck::{Backend, Grid, Naive, Rules, random_walk};
/// let walk = random_walk(2_000, 42)?;
/// let grid = Grid::parse("hma:20,40", "hma3:24,48")?;
/// let sweep = Naive::new().sweep(&walk, &grid, &Rules::default())?;
/// assert_eq!(sweep.rows.len(), 4);
/// assert!(sweep.diagnostics.certified && sweep.trades() > 100);
/// # Ok::<(), crosscheck::Error>(())
/// ```
pub trait Backend: Send + Sync {
    /// Returns the engine's name, as the command line and the reports show it.
    fn name(&self) -> &str;

    /// Computes every filter of the question, one row each in the order of [`Question::filters`].
    ///
    /// # Errors
    /// Device faults only.
    fn filters(&self, question: &Question<'_>) -> Result<FilterMatrix>;

    /// Writes the decided sides of every combination; one writer each, in the order of the grid.
    ///
    /// # Errors
    /// Device faults only.
    fn sides(
        &self,
        question: &Question<'_>,
        writers: &mut [SideWriter<'_>],
    ) -> Result<Diagnostics> {
        let matrix = self.filters(question)?;
        matrix.write_sides(self.name(), question, writers)
    }

    /// Sweeps the grid: trades, PnL and wins of every combination.
    ///
    /// # Errors
    /// [`PeriodTooLong`](crate::Error::PeriodTooLong), [`MissingOpens`](crate::Error::MissingOpens), device faults,
    /// [`InfiniteResult`](crate::Error::InfiniteResult) where a PnL is beyond the range of `f64`, and
    /// [`EngineContract`](crate::Error::EngineContract) where the engine left sides unwritten.
    fn sweep(&self, series: &Series, grid: &Grid, rules: &Rules) -> Result<Sweep> {
        let question = Question::new(series, grid)?;
        rules.check(series)?;
        if rules.is_plain() {
            let ledger = || Ledger::new(series.closes(), rules);
            let (ledgers, diagnostics) = collect(self, &question, ledger)?;
            let totals = ledgers.into_iter().map(Ledger::finish).collect();
            return Sweep::new(grid, totals, diagnostics).checked(series);
        }
        let market = Market::new(series, rules, series.bars());
        let builder = || TradeBuilder::new(market, rules, Totals::default());
        let (builders, diagnostics) = collect(self, &question, builder)?;
        let totals = builders
            .into_iter()
            .map(|b| trade::totals(b, rules))
            .collect();
        Sweep::new(grid, totals, diagnostics).checked(series)
    }

    /// Sweeps the grid and measures every combination: totals as of [`Backend::sweep`], and metrics beside them.
    ///
    /// # Errors
    /// Those of [`Backend::sweep`].
    fn sweep_with(
        &self,
        series: &Series,
        grid: &Grid,
        rules: &Rules,
        set: &MetricSet,
    ) -> Result<Sweep> {
        let question = Question::new(series, grid)?;
        rules.check(series)?;
        if rules.is_plain() {
            let closes = rules.filled(series.closes());
            let steps = set.periods_per_year().map(|_| Steps::new(closes));
            let meter = || AlwaysIn::new(series.closes(), steps.as_ref(), rules, set);
            let (meters, diagnostics) = collect(self, &question, meter)?;
            let finish = |meter: AlwaysIn<'_>| {
                let (totals, metrics) = meter.finish();
                (totals, Some(metrics))
            };
            let results = meters.into_iter().map(finish);
            return Sweep::measured(grid, results, diagnostics).checked(series);
        }
        let market = Market::new(series, rules, series.bars());
        let moves = Moves::new(series.closes());
        let meter = || {
            let meter = Meter::new(&moves, rules, set, series.bars());
            TradeBuilder::new(market, rules, meter)
        };
        let (meters, diagnostics) = collect(self, &question, meter)?;
        let finish = |builder| {
            let (totals, metrics) = Meter::finish(builder, rules);
            (totals, Some(metrics))
        };
        let results = meters.into_iter().map(finish);
        Sweep::measured(grid, results, diagnostics).checked(series)
    }

    /// Lists the trades of every combination, in the order of the grid.
    ///
    /// # Errors
    /// Those of [`Backend::sweep`].
    fn trades(&self, series: &Series, grid: &Grid, rules: &Rules) -> Result<Vec<Vec<Trade>>> {
        let question = Question::new(series, grid)?;
        rules.check(series)?;
        let market = Market::new(series, rules, series.bars());
        let builder = || TradeBuilder::new(market, rules, Vec::new());
        let (builders, _) = collect(self, &question, builder)?;
        let lists: Vec<Vec<Trade>> = builders.into_iter().map(|b| b.finish().0).collect();
        for (combination, trades) in lists.iter().enumerate() {
            if let Some(trade) = trades.iter().find(|trade| !trade.pnl_pct.is_finite()) {
                let (fast, slow) = grid.combination(combination);
                return Err(infinite(series, fast.name(), slow.name(), trade.pnl_pct));
            }
        }
        Ok(lists)
    }

    /// Lists the bars on which the side changes, for every combination, in the order of the grid.
    ///
    /// # Errors
    /// Those of [`Backend::sweep`].
    fn crossovers(&self, series: &Series, grid: &Grid) -> Result<Vec<Vec<u32>>> {
        let question = Question::new(series, grid)?;
        Ok(collect(self, &question, Vec::new)?.0)
    }
}

/// Runs an engine into one new sink a combination.
pub(crate) fn collect<B: Backend + ?Sized, S: CrossoverSink>(
    backend: &B,
    question: &Question<'_>,
    sink: impl Fn() -> S,
) -> Result<(Vec<S>, Diagnostics)> {
    let mut sinks: Vec<S> = (0..question.grid().combinations())
        .map(|_| sink())
        .collect();
    let mut writers = question.writers(&mut sinks);
    let diagnostics = backend.sides(question, &mut writers)?;
    writers
        .into_iter()
        .try_for_each(|writer| writer.finish(backend.name()))?;
    Ok((sinks, diagnostics))
}
