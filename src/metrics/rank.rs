//! Ranking that NaN and infinity never win, and that never panics on them.

use std::cmp::Ordering;

use super::Metric;
use crate::sweep::{Sweep, SweepRow};

/// Ranks scores, best first: finite ones from high to low, then minus infinity, then plus infinity and NaN.
///
/// Equal scores keep their order, so ties go to the earlier combination of a grid.
///
/// # Examples
/// ```
/// use crosscheck::rank;
/// assert_eq!(rank(&[f64::NAN, 1.0, f64::INFINITY, 2.0, f64::NEG_INFINITY, 1.0]), [3, 1, 5, 4, 0, 2]);
/// ```
pub fn rank(scores: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| compare(scores[a], scores[b]));
    order
}

fn compare(a: f64, b: f64) -> Ordering {
    let class = |score: f64| match score {
        score if score.is_finite() => 0,
        f64::NEG_INFINITY => 1,
        _ => 2,
    };
    class(a)
        .cmp(&class(b))
        .then_with(|| b.partial_cmp(&a).unwrap_or(Ordering::Equal))
}

impl SweepRow {
    /// Returns a metric's value: from the metrics where they were asked for, else from the totals.
    pub fn value(&self, metric: Metric) -> Option<f64> {
        match (&self.metrics, metric) {
            (Some(metrics), _) => metrics.value(metric),
            (None, Metric::Trades) => Some(self.totals.trades as f64),
            (None, Metric::Pnl) => Some(self.totals.pnl_pct),
            (None, Metric::Fees) => Some(self.totals.fees_pct),
            (None, Metric::Compounded) => self.totals.compounded_pct,
            (None, Metric::WinRate) if self.totals.trades > 0 => {
                Some(self.totals.wins as f64 / self.totals.trades as f64)
            }
            _ => None,
        }
    }
}

impl Sweep {
    /// Ranks the combinations by a metric, best first; those without a finite value come last, ties in grid order.
    pub fn rank(&self, metric: Metric) -> Vec<usize> {
        rank(&self.scores(metric))
    }

    /// Returns the best combination by a metric; `None` where no combination that traded has a finite value.
    pub fn best(&self, metric: Metric) -> Option<usize> {
        let scores = self.scores(metric);
        let is_eligible =
            |&index: &usize| scores[index].is_finite() && self.rows[index].totals.trades > 0;
        rank(&scores).into_iter().find(is_eligible)
    }

    fn scores(&self, metric: Metric) -> Vec<f64> {
        let sign = if metric.is_better_low() { -1.0 } else { 1.0 };
        let score = |row: &SweepRow| row.value(metric).map_or(f64::NAN, |value| sign * value);
        self.rows.iter().map(score).collect()
    }
}
