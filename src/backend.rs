//! The engines, and the one trait that they and yours implement.

mod matrix;
mod naive;
mod pool;
mod sequential;

pub use matrix::{FilterMatrix, decide_row};
pub use naive::Naive;
pub use pool::Pool;
pub use sequential::Sequential;

use crate::crossover::SideWriter;
use crate::diagnostics::Diagnostics;
use crate::error::Result;
use crate::grid::Grid;
use crate::question::Question;
use crate::rules::Rules;
use crate::series::Series;
use crate::sweep::Sweep;
use crate::trade::{Ledger, Trade, TradeList};

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
    /// [`PeriodTooLong`](crate::Error::PeriodTooLong), device faults, and
    /// [`EngineContract`](crate::Error::EngineContract) where the engine left sides unwritten.
    fn sweep(&self, series: &Series, grid: &Grid, rules: &Rules) -> Result<Sweep> {
        let question = Question::new(series, grid)?;
        let mut ledgers: Vec<_> = (0..grid.combinations())
            .map(|_| Ledger::new(series.closes(), rules))
            .collect();
        let mut writers = question.writers(&mut ledgers);
        let diagnostics = self.sides(&question, &mut writers)?;
        writers
            .into_iter()
            .try_for_each(|writer| writer.finish(self.name()))?;
        let totals = ledgers.into_iter().map(Ledger::finish).collect();
        Ok(Sweep::new(grid, totals, diagnostics))
    }

    /// Lists the trades of every combination, in the order of the grid.
    ///
    /// # Errors
    /// Those of [`Backend::sweep`].
    fn trades(&self, series: &Series, grid: &Grid, rules: &Rules) -> Result<Vec<Vec<Trade>>> {
        let question = Question::new(series, grid)?;
        let mut lists: Vec<_> = (0..grid.combinations())
            .map(|_| TradeList::new(series.closes(), rules))
            .collect();
        let mut writers = question.writers(&mut lists);
        self.sides(&question, &mut writers)?;
        writers
            .into_iter()
            .try_for_each(|writer| writer.finish(self.name()))?;
        Ok(lists.into_iter().map(TradeList::finish).collect())
    }

    /// Lists the bars on which the side changes, for every combination, in the order of the grid.
    ///
    /// # Errors
    /// Those of [`Backend::sweep`].
    fn crossovers(&self, series: &Series, grid: &Grid) -> Result<Vec<Vec<u32>>> {
        let question = Question::new(series, grid)?;
        let mut found = vec![Vec::new(); grid.combinations()];
        let mut writers = question.writers(&mut found);
        self.sides(&question, &mut writers)?;
        writers
            .into_iter()
            .try_for_each(|writer| writer.finish(self.name()))?;
        Ok(found)
    }
}
