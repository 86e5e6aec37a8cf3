//! The result of a sweep: one row a combination, in the order of the grid.

use crate::diagnostics::Diagnostics;
use crate::grid::Grid;
use crate::trade::Totals;

/// What a sweep found, and how certain it is.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Sweep {
    /// One row a combination, in the order of the grid.
    pub rows: Vec<SweepRow>,
    /// How the decisions were made.
    pub diagnostics: Diagnostics,
}

/// The result of one combination.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct SweepRow {
    /// Name of the fast filter.
    pub fast: String,
    /// Name of the slow filter.
    pub slow: String,
    /// Trades, PnL and wins.
    #[cfg_attr(feature = "serde", serde(flatten))]
    pub totals: Totals,
}

impl Sweep {
    pub(crate) fn new(grid: &Grid, totals: Vec<Totals>, diagnostics: Diagnostics) -> Self {
        let row = |(combination, totals)| {
            let (fast, slow) = grid.combination(combination);
            SweepRow {
                fast: fast.name().to_owned(),
                slow: slow.name().to_owned(),
                totals,
            }
        };
        Self {
            rows: totals.into_iter().enumerate().map(row).collect(),
            diagnostics,
        }
    }

    /// Returns the number of trades over all combinations.
    pub fn trades(&self) -> u64 {
        self.rows.iter().map(|row| row.totals.trades).sum()
    }
}
