//! Evaluates a filter over a slice of prices.

use ndarray::{Array1, ArrayView1};

use super::plan::{LONGEST, Plan};
use super::{Expr, Filter, segments, window_sum};
use crate::error::{Error, Result};

impl Filter {
    /// Evaluates the filter on every bar; NaN in the warm-up.
    ///
    /// *Shape*: as long as `closes`; a slice shorter than the window gives NaN throughout. A NaN or infinite
    /// close makes exactly those values NaN (or infinite) whose window holds it. *Cost*: constant a bar.
    ///
    /// # Errors
    /// None today; the `Result` is that of [`Filter::evaluate_into`].
    pub fn evaluate(&self, closes: &[f64]) -> Result<Vec<f64>> {
        let mut out = vec![0.0; closes.len()];
        self.evaluate_into(closes, &mut out)?;
        Ok(out)
    }

    /// Evaluates the filter into a slice as long as `closes`.
    ///
    /// # Errors
    /// [`Error::OutputLength`] where the lengths differ.
    pub fn evaluate_into(&self, closes: &[f64], out: &mut [f64]) -> Result<()> {
        if out.len() != closes.len() {
            return Err(Error::OutputLength {
                expected: closes.len(),
                found: out.len(),
            });
        }
        let warm_up = self.warm_up();
        if warm_up < LONGEST {
            segments::evaluate(
                pulp::Arch::new(),
                &mut Plan::new(self.expr()),
                warm_up,
                closes,
                out,
            );
        } else {
            evaluate(self.expr(), closes, out);
        }
        Ok(())
    }

    /// Evaluates the filter over an `ndarray` view of any stride.
    ///
    /// # Errors
    /// Those of [`Filter::evaluate`].
    pub fn evaluate_array(&self, closes: ArrayView1<'_, f64>) -> Result<Array1<f64>> {
        let values = match closes.as_slice() {
            Some(slice) => self.evaluate(slice)?,
            None => self.evaluate(&closes.to_vec())?,
        };
        Ok(Array1::from(values))
    }
}

fn evaluate(expr: &Expr, closes: &[f64], out: &mut [f64]) {
    match expr {
        Expr::Close => out.copy_from_slice(closes),
        Expr::Sma { period, of } => window_sum::sma(&input(of, closes), *period, out),
        Expr::Wma { period, of } => window_sum::wma(&input(of, closes), *period, out),
        Expr::Fir { weights, of } => window_sum::fir(&input(of, closes), weights, out),
        Expr::Combination(terms) => {
            out.fill(0.0);
            for (coefficient, of) in terms {
                let coefficient = f64::from(*coefficient);
                for (sum, value) in out.iter_mut().zip(input(of, closes).iter()) {
                    *sum += coefficient * value;
                }
            }
        }
    }
}

fn input<'a>(of: &Expr, closes: &'a [f64]) -> std::borrow::Cow<'a, [f64]> {
    if let Expr::Close = of {
        return closes.into();
    }
    let mut values = vec![0.0; closes.len()];
    evaluate(of, closes, &mut values);
    values.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn direct_wma(closes: &[f64], period: usize) -> Vec<f64> {
        let mut out = vec![f64::NAN; closes.len()];
        for (bar, window) in closes.windows(period).enumerate() {
            let sum: f64 = window
                .iter()
                .enumerate()
                .map(|(k, x)| (k + 1) as f64 * x)
                .sum();
            out[bar + period - 1] = sum / (period * (period + 1) / 2) as f64;
        }
        out
    }

    #[test]
    fn sums_equal_direct_windows() {
        let walk = crate::random_walk(10_000, 7).unwrap();
        for period in [
            1, 2, 3, 6, 7, 31, 32, 33, 64, 65, 97, 264, 265, 500, 2_999, 3_000, 3_001, 5_000,
        ] {
            let filter = Filter::wma(period).unwrap();
            let found = filter.evaluate(walk.closes()).unwrap();
            let expected = direct_wma(walk.closes(), period);
            for (bar, (a, b)) in found.iter().zip(&expected).enumerate() {
                let is_close = (a - b).abs() <= 2.0 * filter.relative_error_bound() * 1e5;
                assert!(
                    is_close || (a.is_nan() && b.is_nan()),
                    "wma {period} bar {bar}: {a} {b}"
                );
            }
        }
    }

    /// Every way in which a window's ends can lie in the blocks, and its blocks in the runs.
    #[test]
    fn every_period_agrees_with_direct_windows() {
        let walk = crate::random_walk(1_500, 11).unwrap();
        for period in 1..=330 {
            let weighted = Filter::wma(period).unwrap();
            let values = weighted.evaluate(walk.closes()).unwrap();
            let plain = Filter::sma(period).unwrap();
            let means = plain.evaluate(walk.closes()).unwrap();
            let expected = direct_wma(walk.closes(), period);
            for bar in period - 1..1_500 {
                let window = &walk.closes()[bar + 1 - period..=bar];
                let largest = window.iter().fold(0.0_f64, |a, b| a.max(b.abs()));
                let bound = 2.0 * weighted.relative_error_bound() * largest;
                let mean = window.iter().sum::<f64>() / period as f64;
                assert!(
                    (values[bar] - expected[bar]).abs() <= bound,
                    "wma {period} {bar}"
                );
                assert!((means[bar] - mean).abs() <= bound, "sma {period} {bar}");
            }
        }
    }

    #[test]
    fn nan_lasts_exactly_as_long_as_its_window() {
        let mut closes: Vec<f64> = (0..60).map(f64::from).collect();
        closes[30] = f64::NAN;
        let values = Filter::hma(9).unwrap().evaluate(&closes).unwrap();
        let missing: Vec<usize> = (0..60).filter(|&bar| values[bar].is_nan()).collect();
        assert_eq!(missing, (0..10).chain(30..41).collect::<Vec<_>>());
        assert!((values[41] - 41.0).abs() < 1e-12);
    }
}
