//! A filter as a few taps on repeated prefix sums of the closes: the whole tree in one dot product.
//!
//! With `S` the prefix sum and `z` the delay of one bar, the windowed averages are
//! `Sma(p) = (S - z^p S) / p` and `Wma(p) = (p S - z S^2 + z^(p+1) S^2) * 2 / (p (p+1))`: the newest close is
//! counted `p` times, and one time less for every older one. Such expressions multiply like polynomials, so a tree of
//! averages is one short sum of `coefficient * S^level[bar - lag]`. A lower level is a difference of a higher one,
//! `S^k = (1 - z) S^(k+1)`, so one level is enough: an HMA has 11 taps on `S^4`, whatever its period.

use num_integer::Integer;

use crate::filter::Expr;

/// Prefix sums of prefix sums, at most this deep: an average of an average needs four.
pub(in crate::backend) const MAX_LEVEL: usize = 4;

/// More terms than this cost more than evaluating the tree stage by stage.
const MAX_TAPS: usize = 24;

/// One tap: `coefficient * S^level[bar - lag]`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Tap {
    pub(super) lag: usize,
    /// Within three roundings of the exact quotient.
    pub(super) coefficient: f64,
}

/// A filter as taps on one level of prefix sums, where level 0 is the close.
#[derive(Debug)]
pub(super) struct Taps {
    pub(super) level: usize,
    pub(super) taps: Vec<Tap>,
    /// The same filter as taps on all levels, the level before each: what bounds its error.
    pub(super) terms: Vec<(usize, Tap)>,
}

impl Taps {
    /// How far back taps and terms reach; terms that cancel, raised to one level, reach further than any tap.
    pub(super) fn longest_lag(&self) -> usize {
        let terms = self.terms.iter().map(|(_, term)| term);
        let lags = self.taps.iter().chain(terms).map(|tap| tap.lag);
        lags.max().unwrap_or(0)
    }
}

/// Terms over one common denominator; every operation is checked, and `None` sends the filter to the staged path.
///
/// One denominator for all needs a common divisor once a combination; reduced fractions, one for each of a hundred
/// products, took a tenth of a whole sweep.
#[derive(Debug)]
struct Terms {
    denominator: i128,
    numerators: Vec<Term>,
}

/// Level and lag, and the numerator. So few in order are quicker in a row than in a tree.
type Term = ((usize, usize), i128);

/// Returns the taps of a tree of averages and combinations; `None` where it is too deep, too wide or holds a kernel.
pub(super) fn compile(expr: &Expr) -> Option<Taps> {
    let terms = Terms::of(expr)?;
    let levels = terms.numerators.iter().map(|&((level, _), _)| level);
    let level = levels.max().unwrap_or(0);
    let taps = terms.at_level(level)?;
    let found = Taps {
        level,
        taps: taps.taps().map(|(_, tap)| tap).collect(),
        terms: terms.taps().collect(),
    };
    (found.taps.len() <= MAX_TAPS && level <= MAX_LEVEL).then_some(found)
}

/// A filter as taps on the deepest level, in integers over a common denominator: exact, where its sums are.
#[cfg(feature = "gpu")]
#[derive(Debug, Clone, PartialEq)]
pub(in crate::backend) struct ExactTaps {
    /// Lag and numerator.
    pub(in crate::backend) taps: Vec<(usize, i64)>,
    /// Above 0.
    pub(in crate::backend) denominator: i64,
}

/// Returns the taps in integers; `None` also where one does not fit 64 bits.
#[cfg(feature = "gpu")]
pub(in crate::backend) fn compile_exact(expr: &Expr) -> Option<ExactTaps> {
    let terms = Terms::of(expr)?;
    let is_deeper = |&((level, _), _): &Term| level > MAX_LEVEL;
    if terms.numerators.iter().any(is_deeper) {
        return None;
    }
    let terms = terms.at_level(MAX_LEVEL)?;
    let numerators = terms.numerators.iter();
    let common = numerators.fold(terms.denominator, |common, (_, numerator)| {
        common.gcd(numerator)
    });
    let used = terms.numerators.iter().filter(|term| term.1 != 0);
    let tap = |&((_, lag), numerator): &Term| Some((lag, i64::try_from(numerator / common).ok()?));
    Some(ExactTaps {
        taps: used.map(tap).collect::<Option<_>>()?,
        denominator: i64::try_from(terms.denominator / common).ok()?,
    })
}

impl Terms {
    fn of(expr: &Expr) -> Option<Self> {
        match expr {
            Expr::Close => Some(Self {
                denominator: 1,
                numerators: vec![((0, 0), 1)],
            }),
            Expr::Sma { period, of } => {
                let window = [((1, 0), 1), ((1, *period), -1)];
                Self::of(of)?.through(&window, *period as i128)
            }
            Expr::Wma { period, of } => {
                let p = *period as i128;
                let window = [((1, 0), p), ((2, 1), -1), ((2, period + 1), 1)];
                Self::of(of)?.through(&window, p * (p + 1) / 2)
            }
            Expr::Fir { .. } => None,
            Expr::Combination(parts) => {
                let mut sum = Self {
                    denominator: 1,
                    numerators: Vec::new(),
                };
                for (coefficient, of) in parts {
                    sum.add(i128::from(*coefficient), &Self::of(of)?)?;
                }
                Some(sum)
            }
        }
    }

    /// The terms that are not 0, as quotients.
    fn taps(&self) -> impl Iterator<Item = (usize, Tap)> {
        let terms = self.numerators.iter();
        let terms = terms.filter(|term| term.1 != 0);
        terms.map(|&((level, lag), numerator)| {
            let coefficient = numerator as f64 / self.denominator as f64;
            (level, Tap { lag, coefficient })
        })
    }

    /// The same terms on one level at or above all of theirs.
    fn at_level(&self, top: usize) -> Option<Self> {
        let mut numerators = Vec::with_capacity(MAX_TAPS);
        for &((level, lag), numerator) in &self.numerators {
            // (1 - z)^rise, term by term
            let mut binomial = numerator;
            let rise = top - level;
            for age in 0..=rise {
                accumulate(&mut numerators, (top, lag + age), binomial)?;
                binomial = binomial.checked_mul(-((rise - age) as i128))? / (age as i128 + 1);
            }
        }
        Some(Self {
            denominator: self.denominator,
            numerators,
        })
    }

    /// Passes the terms through a window.
    fn through(&self, window: &[Term], scale: i128) -> Option<Self> {
        let mut numerators = Vec::with_capacity(window.len() * self.numerators.len());
        for &((level, lag), outer) in window {
            for &((inner_level, inner_lag), inner) in &self.numerators {
                let place = (level + inner_level, lag + inner_lag);
                accumulate(&mut numerators, place, outer.checked_mul(inner)?)?;
            }
        }
        let denominator = self.denominator.checked_mul(scale)?;
        (numerators.len() <= 4 * MAX_TAPS).then_some(Self {
            denominator,
            numerators,
        })
    }

    /// Adds a multiple of other terms.
    fn add(&mut self, coefficient: i128, other: &Self) -> Option<()> {
        let common = self.denominator.gcd(&other.denominator);
        let (mine, theirs) = (other.denominator / common, self.denominator / common);
        for (_, numerator) in &mut self.numerators {
            *numerator = numerator.checked_mul(mine)?;
        }
        let scale = coefficient.checked_mul(theirs)?;
        for &(place, numerator) in &other.numerators {
            accumulate(&mut self.numerators, place, numerator.checked_mul(scale)?)?;
        }
        self.denominator = self.denominator.checked_mul(mine)?;
        Some(())
    }
}

fn accumulate(numerators: &mut Vec<Term>, place: (usize, usize), numerator: i128) -> Option<()> {
    match numerators.binary_search_by_key(&place, |term| term.0) {
        Ok(index) => {
            let sum = &mut numerators[index].1;
            *sum = sum.checked_add(numerator)?;
        }
        Err(index) => numerators.insert(index, (place, numerator)),
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Filter;

    /// The taps applied in integers of the common denominator would be exact; `f64` on small integers nearly is.
    #[test]
    fn taps_reproduce_the_weights_on_an_impulse() {
        for filter in [
            Filter::sma(5).unwrap(),
            Filter::wma(7).unwrap(),
            Filter::hma(16).unwrap(),
            Filter::hma(1).unwrap(),
            Filter::hma3(24).unwrap(),
        ] {
            let taps = compile(filter.expr()).unwrap();
            let weights = filter.exact_weights().to_f64();
            let window = weights.len();
            let mut levels = vec![vec![0.0; 2 * window]; MAX_LEVEL + 1];
            levels[0][window] = 1.0;
            for level in 1..=MAX_LEVEL {
                let mut sum = 0.0;
                for bar in 0..2 * window {
                    sum += levels[level - 1][bar];
                    levels[level][bar] = sum;
                }
            }
            for age in 0..window {
                let bar = window + age;
                let value: f64 = taps
                    .taps
                    .iter()
                    .filter(|tap| tap.lag <= bar)
                    .map(|tap| tap.coefficient * levels[taps.level][bar - tap.lag])
                    .sum();
                let terms = taps.terms.iter().filter(|(_, tap)| tap.lag <= bar);
                let by_levels: f64 = terms
                    .map(|(level, tap)| tap.coefficient * levels[*level][bar - tap.lag])
                    .sum();
                let expected = weights[window - 1 - age];
                assert!(
                    (value - expected).abs() < 1e-11,
                    "{filter} age {age}: {value} {expected}"
                );
                assert!(
                    (by_levels - expected).abs() < 1e-11,
                    "{filter} age {age}: {by_levels} {expected}"
                );
            }
        }
    }

    #[test]
    fn hull_averages_have_few_taps() {
        let count = |filter: Filter| compile(filter.expr()).unwrap().taps.len();
        assert_eq!(count(Filter::hma(200).unwrap()), 11);
        assert!(count(Filter::hma3(192).unwrap()) <= 14);
        assert!(compile(Filter::fir("kernel", &[1.0, 2.0]).unwrap().expr()).is_none());
    }
}
