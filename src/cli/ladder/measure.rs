//! Whole sweeps, timed: equal trades first, then the best and the median of some runs.

use std::time::{Duration, Instant};

use crosscheck::equivalence::compare_strict;
use crosscheck::{Backend, Grid, Rules, Series};

use super::Outcome;

/// How many runs an engine is given.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    runs: (usize, usize),
    time: Duration,
}

impl Budget {
    /// A stated number of runs; else as many as take half a second, a few at least, for a best that the next command
    /// finds again; or, where a median is to mean something, as many as take two seconds.
    pub(super) fn new(stated: Option<usize>, is_long: bool) -> Self {
        let runs = match stated {
            Some(runs) => (runs, runs),
            None if is_long => (5, 200),
            None => (3, 200),
        };
        let time = Duration::from_millis(if is_long { 2_000 } else { 500 });
        Self { runs, time }
    }

    fn is_spent(self, runs: usize, start: Instant) -> bool {
        let (least, most) = self.runs;
        runs >= most || runs >= least && start.elapsed() >= self.time
    }
}

/// Seconds of whole sweeps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    pub(super) best: f64,
    pub(super) median: f64,
    pub(super) runs: usize,
    pub(super) trades: u64,
    /// Share of the decisions that the engine's bound left open.
    pub(super) open_share: f64,
}

/// Times an engine on the whole grid; the first run warms up and is not counted.
pub(super) fn time(
    backend: &dyn Backend,
    series: &Series,
    grid: &Grid,
    budget: Budget,
) -> Outcome<Times> {
    let rules = Rules::default();
    let first = backend.sweep(series, grid, &rules)?;
    let (trades, open_share) = (first.trades(), first.diagnostics.undecided_share());
    let (mut seconds, begun) = (Vec::new(), Instant::now());
    while !budget.is_spent(seconds.len(), begun) {
        let start = Instant::now();
        let sweep = backend.sweep(series, grid, &rules)?;
        seconds.push(start.elapsed().as_secs_f64());
        std::hint::black_box(sweep);
    }
    let (best, median) = best_and_median(&mut seconds);
    let runs = seconds.len();
    Ok(Times {
        best,
        median,
        runs,
        trades,
        open_share,
    })
}

fn best_and_median(seconds: &mut [f64]) -> (f64, f64) {
    seconds.sort_by(f64::total_cmp);
    let middle = [(seconds.len() - 1) / 2, seconds.len() / 2];
    (
        seconds[0],
        0.5 * middle.map(|at| seconds[at]).iter().sum::<f64>(),
    )
}

/// Requires an engine to take the reference's trades; returns how many they are.
pub(super) fn require_equal(
    reference: &dyn Backend,
    candidate: &dyn Backend,
    series: &Series,
    grid: &Grid,
) -> Outcome<u64> {
    let report = compare_strict(reference, candidate, series, grid, &Rules::default())?;
    report.require()?;
    Ok(report.trades)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn best_and_median_are_of_the_sorted_runs() {
        assert_eq!(best_and_median(&mut [5.0, 1.0, 9.0]), (1.0, 5.0));
        assert_eq!(best_and_median(&mut [4.0, 1.0, 2.0, 9.0]), (1.0, 3.0));
    }

    #[test]
    fn a_stated_number_of_runs_is_kept_and_others_end_by_the_clock() {
        let start = Instant::now();
        let stated = Budget::new(Some(7), true);
        assert!(!stated.is_spent(6, start) && stated.is_spent(7, start));
        let ended = Budget {
            time: Duration::ZERO,
            ..Budget::new(None, true)
        };
        assert!(!ended.is_spent(4, start) && ended.is_spent(5, start));
        let short = Budget {
            time: Duration::ZERO,
            ..Budget::new(None, false)
        };
        assert!(!short.is_spent(2, start) && short.is_spent(3, start));
        let endless = Budget {
            time: Duration::MAX,
            ..ended
        };
        assert!(!endless.is_spent(199, start) && endless.is_spent(200, start));
    }
}
