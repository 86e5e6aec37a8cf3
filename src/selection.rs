//! Which combination of a sweep to believe: floors on what counts as a candidate, and what its neighbours say.
//!
//! The best of many tries is too good by construction; `deflated` says by how much.

mod deflated;
mod plateau;

pub use deflated::{DeflatedSharpe, deflated_sharpe, probabilistic_sharpe};
pub use plateau::Plateau;

use crate::metrics::{Metric, Metrics, rank};
use crate::sweep::Sweep;

/// How to choose a combination: the best by a metric among those with enough trades and exposure.
///
/// # Examples
/// ```
/// use crosscheck::{Backend, Grid, Metric, MetricSet, Rules, Selection, Sequential, random_walk};
/// let walk = random_walk(5_000, 42)?;
/// let grid = Grid::parse("hma:20..=60:20", "hma3:24..=72:24")?;
/// let sweep = Sequential::new().sweep_with(&walk, &grid, &Rules::published(), &MetricSet::trades())?;
/// let selection = Selection::by(Metric::ProfitFactor).with_min_trades(30).with_min_exposure(0.5);
/// let chosen = sweep.choose(&selection).expect("some combination trades enough");
/// assert!(sweep.rows[chosen].totals.trades >= 30);
/// assert_eq!(sweep.choose(&selection.with_min_trades(1_000_000)), None);
/// # Ok::<(), crosscheck::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Selection {
    metric: Metric,
    min_trades: u64,
    min_exposure: f64,
}

impl Selection {
    /// Chooses by a metric, among combinations with at least one trade.
    pub fn by(metric: Metric) -> Self {
        Self {
            metric,
            min_trades: 1,
            min_exposure: 0.0,
        }
    }

    /// Asks for at least so many trades.
    pub fn with_min_trades(mut self, min_trades: u64) -> Self {
        self.min_trades = min_trades;
        self
    }

    /// Asks for at least this share of bars in the market, 0 to 1.
    pub fn with_min_exposure(mut self, min_exposure: f64) -> Self {
        self.min_exposure = min_exposure;
        self
    }

    /// Returns the metric.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// The value to be highest, NaN where the combination is no candidate.
    pub(crate) fn score(&self, metrics: &Metrics) -> f64 {
        let is_candidate =
            metrics.trades >= self.min_trades.max(1) && metrics.exposure >= self.min_exposure;
        let sign = if self.metric.is_better_low() {
            -1.0
        } else {
            1.0
        };
        match metrics.value(self.metric) {
            Some(value) if is_candidate => sign * value,
            _ => f64::NAN,
        }
    }
}

impl Sweep {
    /// Chooses a combination; `None` where none qualifies with a finite value, or metrics were not asked for.
    pub fn choose(&self, selection: &Selection) -> Option<usize> {
        let score = |row: &crate::sweep::SweepRow| {
            row.metrics
                .as_ref()
                .map_or(f64::NAN, |metrics| selection.score(metrics))
        };
        let scores: Vec<f64> = self.rows.iter().map(score).collect();
        rank(&scores)
            .into_iter()
            .find(|&index| scores[index].is_finite())
    }
}
