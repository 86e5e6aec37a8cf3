//! M1, vectorised: whole-array `ndarray` operations, no loop over bars.
//!
//! What a careful NumPy user would write. Sums of windows come from sums of windows half as long, so a period costs
//! its number of bits in array passes, and no sum ever holds a value from outside its window: unlike differences of
//! prefix sums, the error neither grows along the series nor remembers a spike.

use std::rc::Rc;

use ndarray::{Array1, Array2, ArrayView1, s};

use super::{Backend, FilterMatrix};
use crate::error::Result;
use crate::filter::{Expr, Filter};
use crate::question::Question;

/// The vectorised engine, rung M1.
///
/// Its bound is [`Filter::relative_error_bound`]: see the derivation at `Sums::join`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Vectorized;

impl Vectorized {
    /// Makes the engine.
    pub fn new() -> Self {
        Self
    }
}

impl Backend for Vectorized {
    fn name(&self) -> &str {
        "m1"
    }

    fn filters(&self, question: &Question<'_>) -> Result<FilterMatrix> {
        let closes = ArrayView1::from(question.series().closes());
        let filters = question.filters();
        let mut nodes = Nodes::new(closes);
        let mut values = Array2::from_elem((filters.len(), closes.len()), f64::NAN);
        for (mut row, filter) in values.rows_mut().into_iter().zip(filters) {
            let node = nodes.evaluate(filter.expr());
            row.slice_mut(s![filter.warm_up()..]).assign(&*node);
        }
        let bounds = filters.iter().map(Filter::relative_error_bound).collect();
        Ok(FilterMatrix {
            values,
            relative_bounds: Some(bounds),
        })
    }
}

/// The nodes that filters share, each computed once: the averages of the closes themselves.
struct Nodes<'a> {
    closes: ArrayView1<'a, f64>,
    powers: Powers,
    shared: Vec<(Expr, Rc<Array1<f64>>)>,
}

impl<'a> Nodes<'a> {
    fn new(closes: ArrayView1<'a, f64>) -> Self {
        Self {
            closes,
            powers: Powers::of(closes.to_owned()),
            shared: Vec::new(),
        }
    }

    /// The node on every bar past its warm-up: an array as many values shorter than the series.
    fn evaluate(&mut self, expr: &Expr) -> Rc<Array1<f64>> {
        if let Some((_, node)) = self.shared.iter().find(|(known, _)| known == expr) {
            return Rc::clone(node);
        }
        let node = Rc::new(match expr {
            Expr::Close => self.closes.to_owned(),
            Expr::Sma { period, of } => {
                let divisor = *period as f64;
                self.window(*period, of, |sums| sums.plain / divisor)
            }
            Expr::Wma { period, of } => {
                let divisor = *period as f64 * (*period as f64 + 1.0) / 2.0;
                self.window(*period, of, |sums| sums.weighted / divisor)
            }
            Expr::Fir { weights, of } => fir(&self.evaluate(of), weights),
            Expr::Combination(terms) => self.combination(terms),
        });
        if is_average_of_closes(expr) {
            self.shared.push((expr.clone(), Rc::clone(&node)));
        }
        node
    }

    fn window(
        &mut self,
        period: usize,
        of: &Expr,
        finish: impl Fn(Sums) -> Array1<f64>,
    ) -> Array1<f64> {
        if *of == Expr::Close {
            return finish(self.powers.window(period));
        }
        let input = self.evaluate(of);
        finish(Powers::of(Rc::unwrap_or_clone(input)).window(period))
    }

    /// Terms of different warm-up are aligned on their newest bar.
    fn combination(&mut self, terms: &[(i32, std::sync::Arc<Expr>)]) -> Array1<f64> {
        let inputs: Vec<_> = terms.iter().map(|(_, of)| self.evaluate(of)).collect();
        let bars = inputs.iter().map(|input| input.len()).min().unwrap_or(0);
        let mut sum = Array1::zeros(bars);
        for ((coefficient, _), input) in terms.iter().zip(&inputs) {
            let newest = input.slice(s![input.len() - bars..]);
            sum.scaled_add(f64::from(*coefficient), &newest);
        }
        sum
    }
}

fn is_average_of_closes(expr: &Expr) -> bool {
    match expr {
        Expr::Sma { of, .. } | Expr::Wma { of, .. } | Expr::Fir { of, .. } => **of == Expr::Close,
        _ => false,
    }
}

/// A loop over the weights, a whole array each: product and additions, `weights + 1` roundings a term.
fn fir(input: &Array1<f64>, weights: &[f64]) -> Array1<f64> {
    let windows = input.len() + 1 - weights.len();
    let mut sum = Array1::zeros(windows);
    for (offset, &weight) in weights.iter().enumerate() {
        sum.scaled_add(weight, &input.slice(s![offset..offset + windows]));
    }
    sum
}

/// Sums over every window of one length, by the window's oldest value; weights 1, 2, ... from there.
#[derive(Clone)]
struct Sums {
    plain: Array1<f64>,
    weighted: Array1<f64>,
}

impl Sums {
    /// Joins each window of `self`, `bars` values long, with the window of `newer` that begins where it ends.
    ///
    /// The error: `bars` is a power of two, so its product is exact, and every value meets at most two additions. A
    /// period of `K + 1` bits takes `K` doublings and one join for each further set bit, then one division: at most
    /// `2*K + 2*(set bits - 1) + 1` roundings. Terms of one value are all of one sign, so that many roundings bound the
    /// error relative to `sum of weight * |value|`, and they are no more than the `period + 4` of
    /// [`Filter::relative_error_bound`] (the test checks every period).
    fn join(&self, bars: usize, newer: &Self) -> Self {
        let windows = newer.plain.len() - bars;
        let (head, tail) = (s![..windows], s![bars..]);
        let plain = &self.plain.slice(head) + &newer.plain.slice(tail);
        let mut weighted = &self.weighted.slice(head) + &newer.weighted.slice(tail);
        weighted.scaled_add(bars as f64, &newer.plain.slice(tail));
        Self { plain, weighted }
    }
}

/// Sums over windows of 1, 2, 4, ... values of one input, made as they are needed.
struct Powers(Vec<Sums>);

impl Powers {
    fn of(values: Array1<f64>) -> Self {
        Self(vec![Sums {
            plain: values.clone(),
            weighted: values,
        }])
    }

    fn window(&mut self, period: usize) -> Sums {
        for level in self.0.len()..=period.ilog2() as usize {
            let half = &self.0[level - 1];
            let doubled = half.join(1 << (level - 1), half);
            self.0.push(doubled);
        }
        let mut bits = (0..usize::BITS as usize).filter(|bit| period >> bit & 1 == 1);
        let lowest = bits.next().expect("periods are at least 1");
        let lowest = self.0[lowest].clone();
        bits.fold(lowest, |sums, bit| self.0[bit].join(1 << bit, &sums))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Grid, Naive, random_walk};

    #[test]
    fn roundings_stay_within_those_of_the_bound() {
        for period in 1..=1_usize << 17 {
            let (bits, set) = (period.ilog2() as usize, period.count_ones() as usize);
            assert!(2 * bits + 2 * (set - 1) < period + 4, "{period}");
        }
    }

    #[test]
    fn values_are_those_of_the_definition_within_the_bounds() {
        let walk = random_walk(700, 5).unwrap();
        for text in ["sma:1..=130", "wma:1..=130", "hma:1..=130", "hma3:1..=130"] {
            let grid = Grid::parse(text, "sma:700").unwrap();
            let question = Question::new(&walk, &grid).unwrap();
            let found = Vectorized::new().filters(&question).unwrap();
            let expected = Naive::new().filters(&question).unwrap();
            let largest = question.largest_close(0, 699);
            let bounds = found.relative_bounds.unwrap();
            for ((row, bound), (a, b)) in bounds.iter().enumerate().flat_map(|(row, bound)| {
                let pairs = found
                    .values
                    .row(row)
                    .into_iter()
                    .zip(expected.values.row(row));
                pairs.map(move |pair| ((row, bound), pair))
            }) {
                let is_close = (a - b).abs() <= 2.0 * bound * largest;
                assert!(
                    is_close || (a.is_nan() && b.is_nan()),
                    "{text} row {row}: {a} {b}"
                );
            }
        }
    }
}
