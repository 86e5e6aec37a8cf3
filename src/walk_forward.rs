//! Walk-forward: choose a combination on one stretch of bars, trade it on the next, and report that one only.
//!
//! Filters and sides are computed once for all splits. A window then replays the crossovers it contains, so its warm-up
//! is the bars before it, and nothing in it depends on a bar after it: prices are cut off at its end.

mod replay;
mod splits;

pub use splits::{Split, WalkForward};

use rayon::prelude::*;
use replay::{Signals, Window};

use crate::backend::{Backend, collect};
use crate::error::Result;
use crate::grid::Grid;
use crate::metrics::{MetricSet, Metrics, Moves};
use crate::question::Question;
use crate::rules::Rules;
use crate::selection::Selection;
use crate::series::Series;
use crate::trade::Totals;

/// Combinations whose crossovers are held at a time: 80 combinations of 150,000 bars take a megabyte.
const BATCH: usize = 1_024;

/// What one combination did in one window.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Measured {
    /// Trades, PnL and wins.
    pub totals: Totals,
    /// The metrics.
    pub metrics: Metrics,
}

/// The combination chosen for a split.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Chosen {
    /// Its index in the grid.
    pub combination: usize,
    /// Name of its fast filter.
    pub fast: String,
    /// Name of its slow filter.
    pub slow: String,
    /// What it did on the bars it was chosen on.
    pub in_sample: Measured,
    /// What it did on the bars after them.
    pub out_of_sample: Measured,
}

/// One split of a walk-forward.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct WalkForwardRow {
    /// The bars.
    pub split: Split,
    /// The choice; `None` where no combination qualified, and nothing was traded.
    pub chosen: Option<Chosen>,
}

/// The table of a walk-forward, one row a split.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct WalkForwardReport {
    /// The splits, in the order of time.
    pub rows: Vec<WalkForwardRow>,
}

impl WalkForwardReport {
    /// Returns the number of trades out of sample.
    pub fn trades(&self) -> u64 {
        self.chosen()
            .map(|chosen| chosen.out_of_sample.totals.trades)
            .sum()
    }

    /// Returns the summed PnL out of sample, in percent of the stake.
    pub fn pnl_pct(&self) -> f64 {
        self.chosen()
            .map(|chosen| chosen.out_of_sample.totals.pnl_pct)
            .sum()
    }

    /// Returns PnL a bar out of sample over PnL a bar in sample; `None` where nothing was chosen or the latter is not
    /// above 0.
    ///
    /// # Source
    /// Pardo, *The Evaluation and Optimization of Trading Strategies*, 2nd ed. 2008, chapter 11: walk-forward efficiency.
    pub fn efficiency(&self) -> Option<f64> {
        let mut sums = [0.0; 4];
        for row in &self.rows {
            if let Some(chosen) = &row.chosen {
                sums[0] += chosen.out_of_sample.totals.pnl_pct;
                sums[1] += row.split.test.len() as f64;
                sums[2] += chosen.in_sample.totals.pnl_pct;
                sums[3] += row.split.train.len() as f64;
            }
        }
        (sums[2] > 0.0).then(|| (sums[0] / sums[1]) / (sums[2] / sums[3]))
    }

    fn chosen(&self) -> impl Iterator<Item = &Chosen> {
        self.rows.iter().filter_map(|row| row.chosen.as_ref())
    }
}

impl WalkForward {
    /// Runs the splits: on each, the combination that `selection` chooses on the train bars trades the test bars.
    ///
    /// At a window's first bar the side is known from the bars before it. Under [`FirstSide::Arm`](crate::FirstSide) the
    /// first crossover within the window opens the first trade, under `Enter` the window's first bar does. A trade open at a
    /// window's end is settled there, as the rules say.
    ///
    /// # Errors
    /// [`InvalidSplits`](crate::Error::InvalidSplits) where no split fits the series, and those of [`Backend::sweep`].
    pub fn run(
        &self,
        backend: &dyn Backend,
        series: &Series,
        grid: &Grid,
        rules: &Rules,
        set: &MetricSet,
        selection: &Selection,
    ) -> Result<WalkForwardReport> {
        rules.check(series)?;
        let splits = self.splits(series.bars())?;
        let moves = Moves::new(series.closes());
        let window = |bars| Window::new(series, rules, set, &moves, bars);
        let windows: Vec<_> = splits
            .iter()
            .map(|split| (window(split.train.clone()), window(split.test.clone())))
            .collect();
        let mut chosen: Vec<Option<(f64, Chosen)>> = vec![None; splits.len()];
        for first in (0..grid.combinations()).step_by(BATCH) {
            let batch = grid.range(first..(first + BATCH).min(grid.combinations()))?;
            let question = Question::new(series, &batch)?;
            let (signals, _) = collect(backend, &question, Signals::default)?;
            for (windows, chosen) in windows.iter().zip(&mut chosen) {
                choose(windows, &signals, selection, first, grid, chosen);
            }
        }
        let row = |(split, chosen): (Split, Option<(f64, Chosen)>)| WalkForwardRow {
            split,
            chosen: chosen.map(|(_, chosen)| chosen),
        };
        Ok(WalkForwardReport {
            rows: splits.into_iter().zip(chosen).map(row).collect(),
        })
    }
}

/// Keeps the better of the choice so far and the best of a batch; ties go to the earlier combination.
fn choose(
    (train, test): &(Window<'_>, Window<'_>),
    signals: &[Signals],
    selection: &Selection,
    first: usize,
    grid: &Grid,
    chosen: &mut Option<(f64, Chosen)>,
) {
    let measured: Vec<Measured> = signals
        .par_iter()
        .map(|signals| train.measure(signals))
        .collect();
    for (index, in_sample) in measured.into_iter().enumerate() {
        let score = selection.score(&in_sample.metrics);
        if !score.is_finite() || chosen.as_ref().is_some_and(|(best, _)| score <= *best) {
            continue;
        }
        let (fast, slow) = grid.combination(first + index);
        let out_of_sample = in_sample;
        let choice = Chosen {
            combination: first + index,
            fast: fast.name().to_owned(),
            slow: slow.name().to_owned(),
            in_sample,
            out_of_sample,
        };
        *chosen = Some((score, choice));
    }
    if let Some((_, chosen)) = chosen
        && chosen.combination >= first
    {
        chosen.out_of_sample = test.measure(&signals[chosen.combination - first]);
    }
}
