//! M0, naive: each combination from the definition, a loop over every window, nothing shared.
//!
//! The code to check first: whoever believes this file and the predicate can believe every other engine, because the
//! strict gate holds them to its trades.

use ndarray::Array2;

use super::{Backend, FilterMatrix, decide_row};
use crate::crossover::SideWriter;
use crate::diagnostics::Diagnostics;
use crate::error::Result;
use crate::filter::{Expr, Filter};
use crate::question::Question;

/// The naive engine, rung M0.
#[derive(Debug, Clone, Copy, Default)]
pub struct Naive;

impl Naive {
    /// Makes the engine.
    pub fn new() -> Self {
        Self
    }
}

impl Backend for Naive {
    fn name(&self) -> &str {
        "m0"
    }

    fn filters(&self, question: &Question<'_>) -> Result<FilterMatrix> {
        let closes = question.series().closes();
        let mut values = Array2::zeros((question.filters().len(), closes.len()));
        for (mut row, filter) in values.rows_mut().into_iter().zip(question.filters()) {
            row.assign(&ndarray::Array1::from(by_definition(filter.expr(), closes)));
        }
        let bounds = question
            .filters()
            .iter()
            .map(Filter::relative_error_bound)
            .collect();
        Ok(FilterMatrix {
            values,
            relative_bounds: Some(bounds),
        })
    }

    fn sides(
        &self,
        question: &Question<'_>,
        writers: &mut [SideWriter<'_>],
    ) -> Result<Diagnostics> {
        let closes = question.series().closes();
        let mut diagnostics = Diagnostics::new(self.name(), true);
        for writer in writers {
            let (fast, slow) = question.grid().combination(writer.combination());
            let bound = fast.relative_error_bound() + slow.relative_error_bound();
            let fast = by_definition(fast.expr(), closes);
            let slow = by_definition(slow.expr(), closes);
            decide_row(
                question,
                &fast,
                &slow,
                Some(bound),
                writer,
                &mut diagnostics,
            );
        }
        Ok(diagnostics)
    }
}

/// The filter on every bar, straight from its definition; NaN where the window is not full.
fn by_definition(expr: &Expr, closes: &[f64]) -> Vec<f64> {
    match expr {
        Expr::Close => closes.to_vec(),
        Expr::Sma { period, of } => {
            let divisor = *period as f64;
            windows(&by_definition(of, closes), *period, |window| {
                window.iter().sum::<f64>() / divisor
            })
        }
        Expr::Wma { period, of } => {
            let divisor = *period as f64 * (*period as f64 + 1.0) / 2.0;
            windows(&by_definition(of, closes), *period, |window| {
                let mut sum = 0.0;
                for (age, value) in window.iter().enumerate() {
                    sum += (age as f64 + 1.0) * value;
                }
                sum / divisor
            })
        }
        Expr::Fir { weights, of } => windows(&by_definition(of, closes), weights.len(), |window| {
            window
                .iter()
                .zip(weights.iter())
                .map(|(value, weight)| value * weight)
                .sum()
        }),
        Expr::Combination(terms) => {
            let mut sum = vec![0.0; closes.len()];
            for (coefficient, of) in terms {
                for (sum, value) in sum.iter_mut().zip(by_definition(of, closes)) {
                    *sum += f64::from(*coefficient) * value;
                }
            }
            sum
        }
    }
}

fn windows(input: &[f64], period: usize, average: impl Fn(&[f64]) -> f64) -> Vec<f64> {
    let mut out = vec![f64::NAN; input.len()];
    for bar in period - 1..input.len() {
        out[bar] = average(&input[bar + 1 - period..=bar]);
    }
    out
}
