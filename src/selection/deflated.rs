//! How much of the best Sharpe ratio of many is luck: the probabilistic and the deflated Sharpe ratio.

use std::f64::consts::E;

use statrs::distribution::{ContinuousCDF, Normal};

use super::Selection;
use crate::backend::Backend;
use crate::error::Result;
use crate::grid::Grid;
use crate::metrics::{Metric, MetricSet, ReturnMoments, equity};
use crate::rules::{Compounding, Rules};
use crate::series::Series;

/// Euler's constant.
const EULER: f64 = 0.577_215_664_901_532_9;

/// Combinations whose trades are listed at a time.
const BATCH: usize = 64;

/// Returns the probability that the true Sharpe ratio per bar is above `benchmark`, from the moments of the returns:
/// `Phi((sharpe - benchmark) * sqrt(bars - 1) / sqrt(1 - skewness * sharpe + (kurtosis - 1) / 4 * sharpe^2))`.
///
/// *Unit*: Sharpe ratios per bar, not annualised. `None` where the returns do not vary.
///
/// # Source
/// Bailey and Lopez de Prado, The Sharpe Ratio Efficient Frontier, *J. Risk* 15(2), 2012, equation 11.
pub fn probabilistic_sharpe(returns: &ReturnMoments, benchmark: f64) -> Option<f64> {
    let (sharpe, skewness, kurtosis) = (returns.sharpe()?, returns.skewness?, returns.kurtosis?);
    let spread = 1.0 - skewness * sharpe + (kurtosis - 1.0) / 4.0 * sharpe * sharpe;
    let z = (sharpe - benchmark) * (returns.bars as f64 - 1.0).sqrt() / spread.sqrt();
    z.is_finite().then(|| Normal::standard().cdf(z))
}

/// The best Sharpe ratio of a grid, deflated by the number of tries.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct DeflatedSharpe {
    /// The combination.
    pub combination: usize,
    /// Its Sharpe ratio per bar.
    pub sharpe: f64,
    /// Probability that its true Sharpe ratio is above 0, as if it were the only try.
    pub probabilistic: f64,
    /// Combinations whose returns vary.
    pub trials: usize,
    /// Mean correlation of their per-bar returns, pair by pair; 0 where it is negative or there is one trial.
    pub mean_correlation: f64,
    /// `mean_correlation + (1 - mean_correlation) * trials`.
    pub effective_trials: f64,
    /// Best Sharpe ratio per bar to expect of so many tries without any skill, 0 at the least.
    pub expected_best: f64,
    /// Probability that its true Sharpe ratio is above the expected best: the deflated Sharpe ratio.
    pub deflated: f64,
}

/// Deflates the best Sharpe ratio of a grid; `None` where no combination with `selection`'s floors has one.
///
/// `expected_best = sqrt(V) * ((1 - g) * Z(1 - 1/N) + g * Z(1 - 1/(N*e)))`, with `V` the variance of the trials' Sharpe
/// ratios, `N` the effective trials, `g` Euler's constant, `Z` the normal quantile. The mean correlation needs no table of
/// pairs: the variance of the sum of the standardised returns is the sum of all correlations.
///
/// # Errors
/// Those of [`Backend::sweep`].
///
/// # Examples
/// ```
/// use crosscheck::{Grid, Metric, Rules, Selection, Sequential, deflated_sharpe, random_walk};
/// let walk = random_walk(5_000, 42)?;
/// let grid = Grid::parse("hma:20..=100:20", "hma3:24..=120:24")?;
/// let selection = Selection::by(Metric::Sharpe).with_min_trades(30);
/// let best = deflated_sharpe(&Sequential::new(), &walk, &grid, &Rules::default(), &selection)?.unwrap();
/// assert!(best.effective_trials > 1.0 && best.effective_trials < 25.0);
/// // on a random walk the best of 25 looks better alone than it does among its peers
/// assert!(best.deflated < best.probabilistic);
/// # Ok::<(), crosscheck::Error>(())
/// ```
///
/// # Source
/// Bailey and Lopez de Prado, The Deflated Sharpe Ratio, *J. Portfolio Management* 40(5), 2014, equations 1 and 2, and
/// its appendix on the number of independent trials.
pub fn deflated_sharpe(
    backend: &dyn Backend,
    series: &Series,
    grid: &Grid,
    rules: &Rules,
    selection: &Selection,
) -> Result<Option<DeflatedSharpe>> {
    let sweep = backend.sweep_with(series, grid, rules, &MetricSet::all(1.0)?)?;
    let by_sharpe = Selection {
        metric: Metric::Sharpe,
        ..*selection
    };
    let Some(combination) = sweep.choose(&by_sharpe) else {
        return Ok(None);
    };
    let moments: Vec<_> = sweep
        .rows
        .iter()
        .filter_map(|row| row.metrics?.returns)
        .collect();
    let sharpes: Vec<f64> = moments.iter().filter_map(ReturnMoments::sharpe).collect();
    let trials = sharpes.len();
    let mean_correlation = mean_correlation(backend, series, grid, rules, &moments)?;
    let effective_trials = mean_correlation + (1.0 - mean_correlation) * trials as f64;
    let expected_best = expected_best(&sharpes, effective_trials);
    let best = &moments[combination];
    let deflated = || {
        Some(DeflatedSharpe {
            combination,
            sharpe: best.sharpe()?,
            probabilistic: probabilistic_sharpe(best, 0.0)?,
            trials,
            mean_correlation,
            effective_trials,
            expected_best,
            deflated: probabilistic_sharpe(best, expected_best)?,
        })
    };
    Ok(deflated())
}

fn expected_best(sharpes: &[f64], trials: f64) -> f64 {
    if trials <= 1.0 || sharpes.len() < 2 {
        return 0.0;
    }
    let count = sharpes.len() as f64;
    let mean = sharpes.iter().sum::<f64>() / count;
    let variance = sharpes
        .iter()
        .map(|sharpe| (sharpe - mean).powi(2))
        .sum::<f64>()
        / (count - 1.0);
    let quantile = |probability: f64| Normal::standard().inverse_cdf(probability);
    let of_unit =
        (1.0 - EULER) * quantile(1.0 - 1.0 / trials) + EULER * quantile(1.0 - 1.0 / (trials * E));
    (variance.sqrt() * of_unit).max(0.0)
}

/// `(Var(sum of z) - n) / (n * (n - 1))` for the standardised returns `z` of `n` combinations, summed in grid order.
fn mean_correlation(
    backend: &dyn Backend,
    series: &Series,
    grid: &Grid,
    rules: &Rules,
    moments: &[ReturnMoments],
) -> Result<f64> {
    let mut sums = vec![0.0; series.bars()];
    let mut count = 0.0;
    for first in (0..grid.combinations()).step_by(BATCH) {
        let batch = grid.range(first..(first + BATCH).min(grid.combinations()))?;
        let lists = backend.trades(series, &batch, rules)?;
        for (trades, moments) in lists.iter().zip(&moments[first..]) {
            if moments.deviation <= 0.0 {
                continue;
            }
            count += 1.0;
            let compounds = rules.compounding() == Compounding::Compounded;
            let mut before = 1.0;
            for (sum, equity) in sums.iter_mut().zip(equity(series, rules, trades)) {
                let size = if compounds { before } else { 1.0 };
                // a ruined account has returns of 0, which are as far from the mean as any other 0
                let step = if size > 0.0 {
                    (equity - before) / size
                } else {
                    0.0
                };
                *sum += (step - moments.mean) / moments.deviation;
                before = equity;
            }
        }
    }
    if count < 2.0 {
        return Ok(0.0);
    }
    let variance = sums.iter().map(|sum| sum * sum).sum::<f64>() / (series.bars() as f64 - 1.0);
    Ok(((variance - count) / (count * (count - 1.0))).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the paper of 2014: 2.5 a year over five years of 250 days, the best of 100 tries of variance 1/2.
    #[test]
    fn the_published_example_comes_out() {
        let spread = 0.001_f64.sqrt();
        let expected = expected_best(&[spread, -spread], 100.0);
        assert!((expected - 0.113_2).abs() < 5e-5, "{expected}");
        let returns = ReturnMoments {
            bars: 1_250,
            mean: 2.5 / 250.0_f64.sqrt(),
            deviation: 1.0,
            skewness: Some(-3.0),
            kurtosis: Some(10.0),
        };
        let deflated = probabilistic_sharpe(&returns, expected).unwrap();
        assert!((deflated - 0.900_4).abs() < 5e-5, "{deflated}");
        assert_eq!(expected_best(&[spread, -spread], 1.0), 0.0);
        assert_eq!(expected_best(&[spread], 5.0), 0.0);
    }

    /// The example of the paper of 2012: 24 months of 0.036 +- 0.079, printed there as 0.982 and 0.913; further digits by
    /// `tests/peers/deflated.py`.
    #[test]
    fn the_published_track_record_comes_out() {
        for (skewness, kurtosis, expected) in [
            (0.0, 3.0, 0.981_674_919_091_08),
            (-2.448, 10.164, 0.913_361_083_860_93),
        ] {
            let returns = ReturnMoments {
                bars: 24,
                mean: 0.458,
                deviation: 1.0,
                skewness: Some(skewness),
                kurtosis: Some(kurtosis),
            };
            let found = probabilistic_sharpe(&returns, 0.0).unwrap();
            // the normal distribution itself is good to some 1e-11
            assert!((found - expected).abs() < 1e-10, "{found}");
            for (skewness, kurtosis) in [(None, Some(3.0)), (Some(0.0), None)] {
                let unknown = ReturnMoments {
                    skewness,
                    kurtosis,
                    ..returns
                };
                assert_eq!(probabilistic_sharpe(&unknown, 0.0), None);
            }
        }
    }

    /// A skewness of a large Sharpe ratio can make the formula's variance negative or 0: no probability then.
    #[test]
    fn moments_beyond_the_formula_have_no_probability() {
        for (skewness, kurtosis) in [(2.0, 1.0), (2.5, 1.0)] {
            let returns = ReturnMoments {
                bars: 100,
                mean: 0.5,
                deviation: 1.0,
                skewness: Some(skewness),
                kurtosis: Some(kurtosis),
            };
            assert_eq!(probabilistic_sharpe(&returns, 0.0), None);
        }
    }
}
