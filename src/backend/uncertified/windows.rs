//! The formulas themselves, generic over the float: each maps the valid values of a node to those of the next.

use std::borrow::Cow;

use num_traits::{Float, NumAssign};

use super::Formula;
use crate::filter::Expr;

/// Bars of a tile that share one centre.
const TILE: usize = 1024;

/// Bars summed side by side: one weight meets them all, so that each window is still summed oldest first.
const LANES: usize = 512;

/// What is averaged over a window: its length, and one weight a bar.
#[derive(Clone, Copy)]
enum Window<'a> {
    Uniform(usize),
    Linear(usize),
    Kernel(&'a [f64]),
}

impl Window<'_> {
    fn period(self) -> usize {
        match self {
            Self::Uniform(period) | Self::Linear(period) => period,
            Self::Kernel(weights) => weights.len(),
        }
    }

    /// Normalised weights, oldest first, each rounded from its `f64` quotient.
    fn weights<T: Float>(self) -> Vec<T> {
        match self {
            Self::Uniform(period) => vec![from(1.0 / period as f64); period],
            Self::Linear(period) => {
                let divisor = triangle(period);
                (1..=period).map(|k| from(k as f64 / divisor)).collect()
            }
            Self::Kernel(weights) => weights.iter().map(|&w| from(w)).collect(),
        }
    }

    fn divisor(self) -> f64 {
        match self {
            Self::Uniform(period) => period as f64,
            Self::Linear(period) => triangle(period),
            Self::Kernel(_) => 1.0,
        }
    }
}

/// `period * (period + 1) / 2`, the sum of the linear weights.
fn triangle(period: usize) -> f64 {
    period as f64 * (period as f64 + 1.0) / 2.0
}

fn from<T: Float>(value: f64) -> T {
    T::from(value).unwrap_or_else(T::nan)
}

/// The largest size seen so far.
struct Largest<T>(T);

impl<T: Float> Largest<T> {
    fn see(&mut self, value: T) {
        self.0 = self.0.max(value.abs());
    }
}

/// Evaluates the whole series at once; the valid values, and the largest intermediate.
pub(super) fn whole<T: Float + NumAssign>(
    formula: Formula,
    expr: &Expr,
    closes: &[f64],
) -> (Vec<f64>, f64) {
    let closes: Vec<T> = closes.iter().map(|&close| from(close)).collect();
    let mut largest = Largest(T::zero());
    let values = evaluate(formula, expr, &closes, &mut largest);
    let values = values.iter().map(|&value| to_f64(value)).collect();
    (values, to_f64(largest.0))
}

/// Evaluates tile by tile by direct windows, each tile relative to its first new close; that close, times the
/// filter's gain, is added back in `f64`.
pub(super) fn centred<T: Float + NumAssign>(expr: &Expr, closes: &[f64]) -> (Vec<f64>, f64) {
    let (warm_up, gain) = (expr.warm_up(), gain(expr));
    let mut values = Vec::with_capacity(closes.len().saturating_sub(warm_up));
    let mut largest = Largest(T::zero());
    for first in (warm_up..closes.len()).step_by(TILE) {
        let tile = &closes[first - warm_up..closes.len().min(first + TILE)];
        let centre = closes[first];
        let moves: Vec<T> = tile.iter().map(|&close| from(close - centre)).collect();
        let found = evaluate(Formula::DirectWindows, expr, &moves, &mut largest);
        values.extend(found.iter().map(|&value| gain * centre + to_f64(value)));
    }
    (values, to_f64(largest.0))
}

fn to_f64<T: Float>(value: T) -> f64 {
    value.to_f64().unwrap_or(f64::NAN)
}

/// The sum of the weights.
fn gain(expr: &Expr) -> f64 {
    match expr {
        Expr::Close => 1.0,
        Expr::Sma { of, .. } | Expr::Wma { of, .. } => gain(of),
        Expr::Fir { weights, of } => weights.iter().sum::<f64>() * gain(of),
        Expr::Combination(terms) => terms.iter().map(|(c, of)| f64::from(*c) * gain(of)).sum(),
    }
}

/// The valid values of a node: `closes.len() - warm_up` of them, none where the series is too short.
fn evaluate<'a, T: Float + NumAssign>(
    formula: Formula,
    expr: &Expr,
    closes: &'a [T],
    largest: &mut Largest<T>,
) -> Cow<'a, [T]> {
    let (window, of) = match expr {
        Expr::Close => return closes.into(),
        Expr::Sma { period, of } => (Window::Uniform(*period), of),
        Expr::Wma { period, of } => (Window::Linear(*period), of),
        Expr::Fir { weights, of } => (Window::Kernel(weights), of),
        Expr::Combination(terms) => {
            let valid = closes.len().saturating_sub(expr.warm_up());
            let mut sum = vec![T::zero(); valid];
            for (coefficient, of) in terms {
                let coefficient = from::<T>(f64::from(*coefficient));
                let values = evaluate(formula, of, closes, largest);
                let newest = &values[values.len() - valid..];
                for (sum, &value) in sum.iter_mut().zip(newest) {
                    *sum += coefficient * value;
                }
            }
            return sum.into();
        }
    };
    let input = evaluate(formula, of, closes, largest);
    if input.len() < window.period() {
        return Vec::new().into();
    }
    let apply = match (formula, window) {
        (Formula::PrefixSums, Window::Uniform(_) | Window::Linear(_)) => prefix,
        (Formula::CentredPrefixSums, Window::Uniform(_) | Window::Linear(_)) => centred_prefix,
        (Formula::SlidingUpdate, Window::Uniform(_) | Window::Linear(_)) => sliding,
        _ => direct,
    };
    apply(&input, window, largest).into()
}

/// Each window by itself, oldest value first.
fn direct<T: Float + NumAssign>(
    input: &[T],
    window: Window<'_>,
    largest: &mut Largest<T>,
) -> Vec<T> {
    let weights = window.weights::<T>();
    let mut out = vec![T::zero(); input.len() + 1 - weights.len()];
    for (lane, out) in out.chunks_mut(LANES).enumerate() {
        for (k, &weight) in weights.iter().enumerate() {
            let values = &input[lane * LANES + k..];
            for (sum, &value) in out.iter_mut().zip(values) {
                *sum += weight * value;
            }
        }
        for &sum in out.iter() {
            largest.see(sum);
        }
    }
    out
}

/// `S1` and `S2` by sequential scans with the global index, then differences: `sum of (j - (t-p)) * x[j]` over the
/// window that ends on `t` is `S2[t+1] - S2[t+1-p] - (t-p) * (S1[t+1] - S1[t+1-p])`.
fn prefix<T: Float + NumAssign>(
    input: &[T],
    window: Window<'_>,
    largest: &mut Largest<T>,
) -> Vec<T> {
    let (period, divisor) = (window.period(), from::<T>(window.divisor()));
    let (mut plain, mut weighted) = (vec![T::zero()], vec![T::zero()]);
    for (j, &value) in input.iter().enumerate() {
        plain.push(plain[j] + value);
        weighted.push(weighted[j] + from::<T>(j as f64) * value);
        largest.see(plain[j + 1]);
    }
    let is_linear = matches!(window, Window::Linear(_));
    let value = |end: usize| {
        let difference = plain[end] - plain[end - period];
        if !is_linear {
            return difference / divisor;
        }
        largest.see(weighted[end]);
        let before = from::<T>(end as f64 - 1.0 - period as f64);
        let shifted = before * difference;
        (weighted[end] - weighted[end - period] - shifted) / divisor
    };
    (period..=input.len()).map(value).collect()
}

fn centred_prefix<T: Float + NumAssign>(
    input: &[T],
    window: Window<'_>,
    largest: &mut Largest<T>,
) -> Vec<T> {
    let centre = input[0];
    let moves: Vec<T> = input.iter().map(|&value| value - centre).collect();
    let values = prefix(&moves, window, largest);
    values.into_iter().map(|value| value + centre).collect()
}

/// `num += p*x[t] - sum; sum += x[t] - x[t-p]`, from the first window on, never restarted.
fn sliding<T: Float + NumAssign>(
    input: &[T],
    window: Window<'_>,
    largest: &mut Largest<T>,
) -> Vec<T> {
    let (period, divisor) = (window.period(), from::<T>(window.divisor()));
    let is_linear = matches!(window, Window::Linear(_));
    let (mut plain, mut weighted) = (T::zero(), T::zero());
    for (k, &value) in input[..period].iter().enumerate() {
        plain += value;
        weighted += from::<T>(k as f64 + 1.0) * value;
    }
    let mut out = Vec::with_capacity(input.len() + 1 - period);
    let times = from::<T>(period as f64);
    for bar in period..=input.len() {
        let sum = if is_linear { weighted } else { plain };
        largest.see(sum);
        out.push(sum / divisor);
        if let Some(&value) = input.get(bar) {
            weighted += times * value - plain;
            plain += value - input[bar - period];
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::{Precision, Uncertified};
    use crate::{Backend, Filter};

    #[test]
    fn every_formula_is_right_on_small_whole_numbers() {
        let closes: Vec<f64> = (0..300).map(|t| f64::from(40 + (t * 7) % 13)).collect();
        for filter in [
            Filter::sma(5).unwrap(),
            Filter::wma(8).unwrap(),
            Filter::hma(16).unwrap(),
            Filter::hma3(24).unwrap(),
            Filter::fir("fir", &[0.5, -1.0, 2.0]).unwrap(),
        ] {
            let exact = filter.evaluate(&closes).unwrap();
            for engine in Uncertified::all() {
                let found = engine.evaluate(&filter, &closes);
                let tolerance = match engine.precision() {
                    Precision::Single => 1e-1,
                    Precision::Double => 1e-9,
                };
                assert_eq!(found.values.len(), closes.len());
                for (bar, (a, b)) in found.values.iter().zip(&exact).enumerate() {
                    let is_close = (a - b).abs() < tolerance || (a.is_nan() && b.is_nan());
                    assert!(is_close, "{} {filter} bar {bar}: {a} {b}", engine.name());
                }
            }
        }
    }

    #[test]
    fn series_shorter_than_the_window_have_no_value() {
        for engine in Uncertified::all() {
            let found = engine.evaluate(&Filter::hma(20).unwrap(), &[1.0; 9]);
            assert!(found.values.len() == 9 && found.values.iter().all(|v| v.is_nan()));
        }
    }
}
