//! A filter as a few taps on repeated prefix sums of the closes: the whole tree in one dot product.
//!
//! With `S` the prefix sum and `z` the delay of one bar, the windowed averages are
//! `Sma(p) = (S - z^p S) / p` and `Wma(p) = (p S - z S^2 + z^(p+1) S^2) * 2 / (p (p+1))`: the newest close is
//! counted `p` times, and one time less for every older one. Such expressions multiply like polynomials, so a tree of
//! averages is one short sum of `coefficient * S^level[bar - lag]`: an HMA has 11 terms, whatever its period.

use std::collections::BTreeMap;

use num_integer::Integer;

use crate::filter::Expr;

/// Prefix sums of prefix sums, at most this deep: an average of an average needs four.
pub(super) const MAX_LEVEL: usize = 4;

/// More terms than this cost more than evaluating the tree stage by stage.
const MAX_TAPS: usize = 24;

/// One term: `coefficient * S^level[bar - lag]`, where level 0 is the close.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Tap {
    pub(super) level: usize,
    pub(super) lag: usize,
    /// Within three roundings of the exact quotient.
    pub(super) coefficient: f64,
}

/// A reduced fraction; every operation is checked, and `None` sends the filter to the staged path.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Ratio {
    numerator: i128,
    denominator: i128,
}

impl Ratio {
    fn new(numerator: i128, denominator: i128) -> Self {
        let common = numerator.gcd(&denominator).max(1);
        Self {
            numerator: numerator / common,
            denominator: denominator / common,
        }
    }

    fn times(self, other: Self) -> Option<Self> {
        let a = Self::new(self.numerator, other.denominator);
        let b = Self::new(other.numerator, self.denominator);
        Some(Self {
            numerator: a.numerator.checked_mul(b.numerator)?,
            denominator: a.denominator.checked_mul(b.denominator)?,
        })
    }

    fn plus(self, other: Self) -> Option<Self> {
        let common = self.denominator.gcd(&other.denominator);
        let (mine, theirs) = (other.denominator / common, self.denominator / common);
        let left = self.numerator.checked_mul(mine)?;
        let right = other.numerator.checked_mul(theirs)?;
        let denominator = self.denominator.checked_mul(mine)?;
        Some(Self::new(left.checked_add(right)?, denominator))
    }
}

type Terms = BTreeMap<(usize, usize), Ratio>;

/// Returns the taps of a tree of averages and combinations; `None` where it is too deep, too wide or holds a kernel.
pub(super) fn compile(expr: &Expr) -> Option<Vec<Tap>> {
    let terms = terms(expr)?;
    let taps: Vec<Tap> = terms
        .iter()
        .filter(|(_, ratio)| ratio.numerator != 0)
        .map(|(&(level, lag), ratio)| Tap {
            level,
            lag,
            coefficient: ratio.numerator as f64 / ratio.denominator as f64,
        })
        .collect();
    let fits = taps.len() <= MAX_TAPS && taps.iter().all(|tap| tap.level <= MAX_LEVEL);
    fits.then_some(taps)
}

fn terms(expr: &Expr) -> Option<Terms> {
    match expr {
        Expr::Close => Some(Terms::from([((0, 0), Ratio::new(1, 1))])),
        Expr::Sma { period, of } => {
            let scale = *period as i128;
            let window = [((1, 0), (1, scale)), ((1, *period), (-1, scale))];
            product(&window, &terms(of)?)
        }
        Expr::Wma { period, of } => {
            let p = *period as i128;
            let scale = p * (p + 1) / 2;
            let (old, gone) = ((2, 1), (2, period + 1));
            let window = [((1, 0), (p, scale)), (old, (-1, scale)), (gone, (1, scale))];
            product(&window, &terms(of)?)
        }
        Expr::Fir { .. } => None,
        Expr::Combination(parts) => {
            let mut sum = Terms::new();
            for (coefficient, of) in parts {
                let coefficient = Ratio::new(i128::from(*coefficient), 1);
                for (place, ratio) in terms(of)? {
                    accumulate(&mut sum, place, ratio.times(coefficient)?)?;
                }
            }
            Some(sum)
        }
    }
}

/// One term of a window: level and lag, numerator and denominator.
type WindowTerm = ((usize, usize), (i128, i128));

fn product(window: &[WindowTerm], inner: &Terms) -> Option<Terms> {
    let mut out = Terms::new();
    for &((level, lag), (numerator, denominator)) in window {
        let outer = Ratio::new(numerator, denominator);
        for (&(inner_level, inner_lag), &ratio) in inner {
            let place = (level + inner_level, lag + inner_lag);
            accumulate(&mut out, place, outer.times(ratio)?)?;
        }
    }
    (out.len() <= 4 * MAX_TAPS).then_some(out)
}

fn accumulate(terms: &mut Terms, place: (usize, usize), ratio: Ratio) -> Option<()> {
    let before = terms.get(&place).copied().unwrap_or(Ratio::new(0, 1));
    terms.insert(place, before.plus(ratio)?);
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
                    .iter()
                    .filter(|tap| tap.lag <= bar)
                    .map(|tap| tap.coefficient * levels[tap.level][bar - tap.lag])
                    .sum();
                let expected = weights[window - 1 - age];
                assert!(
                    (value - expected).abs() < 1e-11,
                    "{filter} age {age}: {value} {expected}"
                );
            }
        }
    }

    #[test]
    fn hull_averages_have_few_taps() {
        let count = |filter: Filter| compile(filter.expr()).unwrap().len();
        assert_eq!(count(Filter::hma(200).unwrap()), 11);
        assert!(count(Filter::hma3(192).unwrap()) <= 14);
        assert!(compile(Filter::fir("kernel", &[1.0, 2.0]).unwrap().expr()).is_none());
    }
}
