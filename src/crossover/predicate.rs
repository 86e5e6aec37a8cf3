//! The stages of a decision on one bar, from a look-up to exact integers (`docs/numerics.md`, section 4).

use std::cmp::Ordering;
use std::sync::OnceLock;

use num_integer::Integer;

use super::narrow::Narrow;
use super::{difference, exact, narrow};
use crate::filter::{ExactWeights, Expr, Filter, Form, gamma};
use crate::series::Series;

/// Which stage settled a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    /// No close changed in the window: the weights' sums alone decide, by a look-up.
    Flat,
    /// A direct `f64` sum over the window, centred on its newest close, beyond its error bound.
    Float,
    /// Integers of 128 bits.
    Integer,
    /// Integers of any size.
    BigInteger,
}

/// The sign of fast - slow on one bar, and how it was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// `Greater` where fast is above slow, `Equal` where they tie exactly.
    pub ordering: Ordering,
    /// The stage that settled it.
    pub stage: Stage,
}

/// What the predicate derives from a filter, once a question.
#[derive(Debug)]
pub(crate) struct FilterForm {
    filter: Filter,
    window: usize,
    has_unit_gain: bool,
    float: OnceLock<Vec<f64>>,
    exact: OnceLock<ExactWeights>,
    narrow: OnceLock<Option<Narrow>>,
}

impl FilterForm {
    pub(crate) fn new(filter: &Filter) -> Self {
        Self {
            window: filter.warm_up() + 1,
            has_unit_gain: gain(filter.expr()) == Some(1),
            filter: filter.clone(),
            float: OnceLock::new(),
            exact: OnceLock::new(),
            narrow: OnceLock::new(),
        }
    }

    pub(crate) fn window(&self) -> usize {
        self.window
    }

    pub(crate) fn has_unit_gain(&self) -> bool {
        self.has_unit_gain
    }

    pub(crate) fn exact(&self) -> &ExactWeights {
        self.exact.get_or_init(|| self.filter.exact_weights())
    }

    fn narrow(&self) -> Option<&Narrow> {
        let narrow = || Narrow::of(self.exact());
        self.narrow.get_or_init(narrow).as_ref()
    }

    fn float(&self) -> &[f64] {
        self.float.get_or_init(|| self.exact().to_f64())
    }
}

/// The sum of the weights where the tree makes it a whole number, whatever the closes.
fn gain(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Close => Some(1),
        Expr::Sma { of, .. } | Expr::Wma { of, .. } => gain(of),
        Expr::Fir { .. } => None,
        Expr::Combination(terms) => {
            let mut sum = 0_i64;
            for (coefficient, of) in terms {
                sum = sum.checked_add(i64::from(*coefficient).checked_mul(gain(of)?)?)?;
            }
            Some(sum)
        }
    }
}

/// Decides the sign of fast - slow of one combination, exactly.
#[derive(Debug, Clone, Copy)]
pub struct Predicate<'a> {
    series: &'a Series,
    fast: &'a FilterForm,
    slow: &'a FilterForm,
}

impl<'a> Predicate<'a> {
    pub(crate) fn new(series: &'a Series, fast: &'a FilterForm, slow: &'a FilterForm) -> Self {
        Self { series, fast, slow }
    }

    /// Decides one bar on which both filters have a value.
    ///
    /// # Panics
    /// Where `bar` is within the warm-up or past the end.
    pub fn decide(&self, bar: usize) -> Decision {
        let window = self.fast.window.max(self.slow.window);
        assert!(
            window <= bar + 1 && bar < self.series.bars(),
            "bar {bar} has no window of {window}"
        );
        let settled = |ordering, stage| Decision { ordering, stage };
        if self.is_flat(bar, bar) {
            return settled(Ordering::Equal, Stage::Flat);
        }
        let have_equal_gain = self.fast.has_unit_gain && self.slow.has_unit_gain;
        let float = || self.float(bar, have_equal_gain);
        // in ticks the machine integers are as fast as the float, and nearly always answer
        let is_binary = self.series.ticks().is_none();
        if let Some(ordering) = is_binary.then(float).flatten() {
            return settled(ordering, Stage::Float);
        }
        if let Some(ordering) = have_equal_gain.then(|| self.narrow(bar)).flatten() {
            return settled(ordering, Stage::Integer);
        }
        if let Some(ordering) = (!is_binary).then(float).flatten() {
            return settled(ordering, Stage::Float);
        }
        exact::decide(self.series, self.fast.exact(), self.slow.exact(), bar)
    }

    /// Decides one bar in integers alone, whatever the faster stages would say; the tests' reference.
    ///
    /// # Panics
    /// Where `bar` is within the warm-up or past the end.
    pub fn decide_exactly(&self, bar: usize) -> Ordering {
        exact::decide(self.series, self.fast.exact(), self.slow.exact(), bar).ordering
    }

    /// Returns fast - slow on one bar, computed exactly and rounded to `f64` at the end: how close the call was.
    ///
    /// *Unit*: that of the closes. Zero exactly where the filters tie.
    ///
    /// # Panics
    /// Where `bar` is within the warm-up or past the end.
    ///
    /// # Examples
    /// ```
    /// use crosscheck::{Grid, Question, Series};
    /// let series = Series::from_ticks(&[10, 11, 13], 1.0)?;
    /// let grid = Grid::parse("sma:1", "sma:3")?;
    /// let question = Question::new(&series, &grid)?;
    /// assert_eq!(question.predicate(0).exact_difference(2), 5.0 / 3.0);
    /// # Ok::<(), crosscheck::Error>(())
    /// ```
    pub fn exact_difference(&self, bar: usize) -> f64 {
        difference::difference(self.series, self.fast.exact(), self.slow.exact(), bar)
    }

    /// Whether no close changed in the windows of bars `first..=last`, so that both filters equal the close on each.
    pub(crate) fn is_flat(&self, first: usize, last: usize) -> bool {
        let window = self.fast.window.max(self.slow.window);
        let have_equal_gain = self.fast.has_unit_gain && self.slow.has_unit_gain;
        have_equal_gain && self.series.flat_since()[last] as usize + window <= first + 1
    }

    /// A size, in ticks, below which a difference of the two filters is exactly 0: over whole prices it is a whole
    /// number over the common denominator. `None` for prices not in ticks and for denominators beyond 128 bits.
    pub(crate) fn separation(&self) -> Option<f64> {
        self.series.ticks()?;
        let (Form::Small(fast), Form::Small(slow)) = (&self.fast.exact().0, &self.slow.exact().0)
        else {
            return None;
        };
        let scale = slow.denominator / fast.denominator.gcd(&slow.denominator);
        let common = fast.denominator.checked_mul(scale)?;
        Some((1.0 - 1e-9) / common as f64)
    }

    fn narrow(&self, bar: usize) -> Option<Ordering> {
        narrow::decide(self.series, self.fast.narrow()?, self.slow.narrow()?, bar)
    }

    /// The sign of a direct sum, where it is beyond the bound.
    ///
    /// A term meets a weight of three roundings, a centred close of two (one where the close is an `f64`), a product and
    /// fewer than `window` additions, and the two sums one subtraction: `window + 8` roundings at the most, of terms
    /// whose sizes sum to `size`. The computed `size` itself is short by no more than the same factor; doubling covers it.
    fn float(&self, bar: usize, have_equal_gain: bool) -> Option<Ordering> {
        let (fast, fast_size) = self.dot(self.fast, bar, have_equal_gain);
        let (slow, slow_size) = self.dot(self.slow, bar, have_equal_gain);
        let terms = self.fast.window.max(self.slow.window);
        let underflow = 4.0 * terms as f64 * f64::from_bits(1);
        let bound = 2.0 * gamma(terms + 8) * (fast_size + slow_size) + underflow;
        let difference = fast - slow;
        // NaN, from an overflow, compares as neither and falls through to the integers
        if difference > bound {
            Some(Ordering::Greater)
        } else if difference < -bound {
            Some(Ordering::Less)
        } else {
            None
        }
    }

    /// The sum of weight times close, and of the sizes of its terms. Where the gains are equal, closes are taken relative
    /// to the newest: that changes neither the difference of the filters nor its sign, and shrinks the terms.
    fn dot(&self, form: &FilterForm, bar: usize, is_centred: bool) -> (f64, f64) {
        let weights = form.float();
        let range = bar + 1 - form.window..=bar;
        if let Some(ticks) = self.series.ticks() {
            let centre = if is_centred { ticks[bar] } else { 0 };
            return sums(weights, &ticks[range], |tick| (tick - centre) as f64);
        }
        let closes = self.series.closes();
        let centre = if is_centred { closes[bar] } else { 0.0 };
        sums(weights, &closes[range], |close| close - centre)
    }
}

/// The sum of weight times centred price, and of the sizes of its terms, in eight runs: one chain would wait for itself.
fn sums<T: Copy>(weights: &[f64], prices: &[T], centred: impl Fn(T) -> f64) -> (f64, f64) {
    let (mut sum, mut size) = ([0.0; 8], [0.0; 8]);
    let (weight_chunks, last_weights) = weights.as_chunks::<8>();
    let (price_chunks, last_prices) = prices.as_chunks::<8>();
    for (weights, prices) in weight_chunks.iter().zip(price_chunks) {
        for lane in 0..8 {
            let term = weights[lane] * centred(prices[lane]);
            sum[lane] += term;
            size[lane] += term.abs();
        }
    }
    for (lane, (weight, &price)) in last_weights.iter().zip(last_prices).enumerate() {
        let term = weight * centred(price);
        sum[lane] += term;
        size[lane] += term.abs();
    }
    (sum.iter().sum(), size.iter().sum())
}

#[cfg(test)]
mod tests {
    use crate::{Grid, Question, Series};

    /// A sixth of a tick between sums over 2 and over 3; a little less, for the rounding of whoever compares.
    #[test]
    fn the_separation_is_one_over_the_common_denominator() {
        let grid = Grid::parse("sma:2,4", "sma:3,6").unwrap();
        let series = Series::from_ticks(&[5; 20], 0.01).unwrap();
        let question = Question::new(&series, &grid).unwrap();
        for (combination, denominator) in [(0, 6.0), (1, 6.0), (2, 12.0), (3, 12.0)] {
            let separation = question.predicate(combination).separation().unwrap();
            let share = separation * denominator;
            assert!(share < 1.0 - 0.9e-9 && share > 1.0 - 1.1e-9, "{share}");
        }
        let binary = series.into_binary();
        let question = Question::new(&binary, &grid).unwrap();
        assert_eq!(question.predicate(0).separation(), None);
    }
}
