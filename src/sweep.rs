//! The result of a sweep: one row a combination, in the order of the grid.

use rayon::prelude::*;

use crate::diagnostics::Diagnostics;
use crate::error::{Error, Result};
use crate::grid::Grid;
use crate::metrics::Metrics;
use crate::series::Series;
use crate::trade::Totals;

/// Rows whose names are written by all threads: of 60,000 they took as long as a tenth of their trades.
const MANY: usize = 8192;

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
    /// The metrics, where they were asked for.
    #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Option::is_none"))]
    pub metrics: Option<Metrics>,
}

impl Sweep {
    pub(crate) fn new(grid: &Grid, totals: Vec<Totals>, diagnostics: Diagnostics) -> Self {
        Self::measured(
            grid,
            totals.into_iter().map(|totals| (totals, None)),
            diagnostics,
        )
    }

    pub(crate) fn measured(
        grid: &Grid,
        results: impl Iterator<Item = (Totals, Option<Metrics>)>,
        diagnostics: Diagnostics,
    ) -> Self {
        let row = |(combination, (totals, metrics))| {
            let (fast, slow) = grid.combination(combination);
            SweepRow {
                fast: fast.name().to_owned(),
                slow: slow.name().to_owned(),
                totals,
                metrics,
            }
        };
        let results: Vec<_> = results.collect();
        let rows = if results.len() < MANY {
            results.into_iter().enumerate().map(row).collect()
        } else {
            results.into_par_iter().enumerate().map(row).collect()
        };
        Self { rows, diagnostics }
    }

    /// Refuses totals beyond the range of `f64`: nothing that is derived from them would mean anything.
    pub(crate) fn checked(self, series: &Series) -> Result<Self> {
        match self.rows.iter().find(|row| !row.is_finite()) {
            Some(row) => Err(infinite(series, &row.fast, &row.slow, row.totals.pnl_pct)),
            None => Ok(self),
        }
    }

    /// Returns the number of trades over all combinations.
    pub fn trades(&self) -> u64 {
        self.rows.iter().map(|row| row.totals.trades).sum()
    }
}

impl SweepRow {
    fn is_finite(&self) -> bool {
        let totals = &self.totals;
        let compounded = totals.compounded_pct.unwrap_or(0.0);
        let metrics = self.metrics.map_or(0.0, |m| m.turnover + m.closed_drawdown);
        (totals.pnl_pct + totals.fees_pct + compounded + metrics).is_finite()
    }
}

/// The error of a result beyond the range of `f64`.
pub(crate) fn infinite(series: &Series, fast: &str, slow: &str, pnl_pct: f64) -> Error {
    let closes = series.closes();
    Error::InfiniteResult {
        fast: fast.to_owned(),
        slow: slow.to_owned(),
        pnl_pct,
        lowest: closes.iter().copied().fold(f64::INFINITY, f64::min),
        highest: closes.iter().copied().fold(0.0, f64::max),
    }
}
