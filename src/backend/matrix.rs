//! The provided half of an engine: from a matrix of filter values and its bound to decided sides.

use ndarray::Array2;

use crate::crossover::{Found, SideWriter};
use crate::diagnostics::Diagnostics;
use crate::error::{Error, Result};
use crate::filter::{Filter, MAX_REGROWTH, UNIT_ROUNDOFF};
use crate::question::Question;
use crate::series::Reading;

/// Values of every filter on every bar, and how far they can be from exact.
///
/// *Shape*: (filters, bars), the rows in the order of [`Question::filters`]. *Unit*: that of the closes. NaN in the
/// warm-up.
#[derive(Debug, Clone)]
pub struct FilterMatrix {
    /// The values.
    pub values: Array2<f64>,
    /// One bound a filter, relative to the largest close of its window: `|value - exact| <= bound * largest close`.
    /// [`Filter::relative_error_bound`] is right for any engine that sums each window by itself in `f64`.
    /// `None` where nothing is proven: the engine is then uncertified, and its sides are what its rounding says.
    pub relative_bounds: Option<Vec<f64>>,
}

impl FilterMatrix {
    /// Decides the sides of every combination, asking the exact predicate where the bounds leave them open.
    ///
    /// # Errors
    /// [`Error::EngineContract`] where the matrix has another shape than the question.
    pub fn write_sides(
        &self,
        engine: &str,
        question: &Question<'_>,
        writers: &mut [SideWriter<'_>],
    ) -> Result<Diagnostics> {
        self.check_shape(engine, question)?;
        let mut diagnostics = Diagnostics::new(engine, self.relative_bounds.is_some());
        for writer in writers {
            let (fast, slow) = question.grid().pairs()[writer.combination()];
            let (fast, slow) = (fast as usize, slow as usize);
            let bound = self
                .relative_bounds
                .as_ref()
                .map(|bounds| bounds[fast] + bounds[slow]);
            let (fast, slow) = (self.values.row(fast), self.values.row(slow));
            let (fast, slow) = (fast.to_slice(), slow.to_slice());
            let (fast, slow) = fast
                .zip(slow)
                .expect("rows of a standard-layout matrix are slices");
            decide_row(question, fast, slow, bound, writer, &mut diagnostics);
        }
        Ok(diagnostics)
    }

    fn check_shape(&self, engine: &str, question: &Question<'_>) -> Result<()> {
        let (filters, bars) = (question.filters().len(), question.series().bars());
        let has_bounds = self
            .relative_bounds
            .as_ref()
            .is_none_or(|b| b.len() == filters);
        if self.values.dim() == (filters, bars) && self.values.is_standard_layout() && has_bounds {
            return Ok(());
        }
        Err(Error::EngineContract {
            engine: engine.to_owned(),
            combination: 0,
            bar: 0,
            reason: format!(
                "a row-major matrix of {filters} filters x {bars} bars is due, and one bound a filter if any; found {:?}",
                self.values.dim()
            ),
        })
    }
}

/// Decides the sides of one combination from the values of its two filters, and writes them.
///
/// `relative_bound` is the sum of the two filters' bounds, relative to the largest close of the window.
///
/// # Panics
/// Where a row is shorter than the series.
pub fn decide_row(
    question: &Question<'_>,
    fast: &[f64],
    slow: &[f64],
    relative_bound: Option<f64>,
    writer: &mut SideWriter<'_>,
    diagnostics: &mut Diagnostics,
) {
    let bars = question.series().bars();
    let combination = writer.combination();
    let first_bar = question.first_bar(combination);
    let margin = relative_bound.map(|bound| bound + reading_error(question, combination));
    let predicate = question.predicate(combination);
    diagnostics.decisions += (bars - first_bar) as u64;
    let mut found = Found::new();
    for word in first_bar / 64..bars.div_ceil(64) {
        let first = (word * 64).max(first_bar);
        let last = (word * 64 + 63).min(bars - 1);
        let bound = margin.map_or(0.0, |margin| {
            let largest = question.largest_close(first - first_bar, last);
            margin * largest + underflow(first_bar + 1)
        });
        let (mut above, mut open) = compare(&fast[first..=last], &slow[first..=last], bound);
        (above, open) = (above << (first % 64), open << (first % 64));
        let mut ties = 0;
        let mut rest = open;
        while rest != 0 {
            let bit = rest.trailing_zeros();
            rest &= rest - 1;
            if margin.is_none() {
                ties |= 1 << bit;
                continue;
            }
            let decision = predicate.decide(word * 64 + bit as usize);
            diagnostics.record(decision);
            above |= u64::from(decision.ordering.is_gt()) << bit;
            ties |= u64::from(decision.ordering.is_eq()) << bit;
        }
        writer.write_through(&mut found, word, &[above], Some(&[ties]));
    }
}

/// What underflow can add to the error of two filters: half the least number at each of fewer than `8 * window` operations
/// of each node, grown by the gains further up. Far below any price it is for; below it, bars are decided exactly.
pub(crate) fn underflow(window: usize) -> f64 {
    16.0 * window as f64 * f64::from_bits(1) * MAX_REGROWTH
}

/// Bits of the bars surely above, and of those neither surely above nor surely below (NaN among them).
fn compare(fast: &[f64], slow: &[f64], bound: f64) -> (u64, u64) {
    let (mut above, mut below) = (0_u64, 0_u64);
    for (bit, (fast, slow)) in fast.iter().zip(slow).enumerate() {
        let difference = fast - slow;
        // an infinite difference is a sum that overflowed: it says nothing, as NaN does
        above |= u64::from(difference > bound && difference < f64::INFINITY) << bit;
        below |= u64::from(difference < -bound && difference > f64::NEG_INFINITY) << bit;
    }
    let all = u64::MAX >> (64 - fast.len());
    (above, all & !(above | below))
}

/// The error of the inputs themselves, in the same unit as the bound: none in the binary reading; in ticks each
/// close is within two roundings of the price it stands for. The subtraction's own rounding is in both.
fn reading_error(question: &Question<'_>, combination: usize) -> f64 {
    let (fast, slow) = question.grid().combination(combination);
    let size = Filter::magnification_bound(fast) + Filter::magnification_bound(slow);
    let roundings = if question.series().reading() == Reading::Ticks {
        4.0
    } else {
        1.0
    };
    roundings * UNIT_ROUNDOFF * size
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A few least numbers average to a fraction of one, which rounds away: no relative bound holds there.
    #[test]
    fn underflow_covers_what_the_relative_bound_does_not() {
        let least = f64::from_bits(1);
        let steps: Vec<u64> = (0..400).map(|bar| 1 + (bar * bar / 3) % 9).collect();
        let closes: Vec<f64> = steps.iter().map(|&step| f64::from_bits(step)).collect();
        for text in ["sma:7", "wma:9", "hma:16", "hma3:24"] {
            let filter = &crate::parse_filters(text).unwrap()[0];
            let values = filter.evaluate(&closes).unwrap();
            let weights = filter.exact_weights().to_f64();
            let window = weights.len();
            let mut error = 0.0_f64;
            for bar in window - 1..closes.len() {
                let aged = weights.iter().zip(steps[..=bar].iter().rev());
                let exact: f64 = aged.map(|(weight, &step)| weight * step as f64).sum();
                error = error.max((values[bar] / least - exact).abs());
            }
            let relative = filter.relative_error_bound() * 9.0;
            assert!(relative < 1e-10 && error > 0.3, "{filter}: {error}");
            assert!(error * least <= underflow(window), "{filter}: {error}");
        }
        let counted = underflow(100) / (least * MAX_REGROWTH);
        assert!((counted - 1_600.0).abs() < 1e-9, "{counted}");
    }

    /// Two averages, each of weights of size 1: a rounding of a close each, four where it stands for a tick.
    #[test]
    fn the_reading_error_is_the_closes_own() {
        let series = crate::Series::from_ticks(&[3; 9], 0.01).unwrap();
        let grid = crate::Grid::parse("sma:2", "sma:4").unwrap();
        for (series, roundings) in [(series.clone(), 4.0), (series.into_binary(), 1.0)] {
            let question = Question::new(&series, &grid).unwrap();
            let found = reading_error(&question, 0) / UNIT_ROUNDOFF;
            assert!((found / (2.0 * roundings) - 1.0).abs() < 1e-8, "{found}");
        }
    }
}
