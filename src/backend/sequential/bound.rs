//! How far a dot product of taps can be from the exact filter, for closes of size at most 1.
//!
//! The prefix sums of a block are computed one bar after the other, `I_k[t] = fl(I_k[t-1] + I_(k-1)[t])`. For closes of
//! size at most 1, `|I_k[t]| <= C(t+k, k)`, counting bars from 0 at the block's anchor. Each addition is off by at most
//! `u` times its exact result, so the error grows as
//! `E_k[t] = E_k[t-1] + E_(k-1)[t] + u * (C(t+k, k) + E_k[t-1] + E_(k-1)[t])`, `E_0 = 0`.
//! A filter of `n` taps reads one level `L` through a coefficient of three roundings, a product and at most `n`
//! additions: `gamma(n + 4)` of the sum's size for each tap. What it reads is wrong by less than `E_L`, though, where it
//! takes differences, as it does for the lower levels: `I_L[t] - I_L[t-1]`, as computed, is `I_(L-1)[t]` as computed and the
//! rounding of one addition, `e_L`. `m` differences give `I_(L-m)` and the roundings of the levels above it:
//! `E_(L-m) + 2^(m-1) e_L + ... + 2 e_(L-m+2) + e_(L-m+1)`, which is what a term of that level is off by.
//! The block is bounded at its last bar, where all these sequences are largest. Last, a centred close is itself within
//! `u` of its value, which the filter passes on with its magnification.
//! Everything scales with the closes, so the bound of a block is this number times its largest centred close.

use super::taps::{MAX_LEVEL, Taps};
use crate::filter::{Filter, SLACK, UNIT_ROUNDOFF, gamma};

/// A prefix sum of closes of size at most 1.
#[derive(Debug, Clone, Copy)]
struct Sum {
    size: f64,
    error: f64,
    /// The rounding of its own addition alone.
    rounding: f64,
}

/// Largest size and largest error of each level's prefix sum, bar by bar from a block's anchor.
#[derive(Debug)]
pub(super) struct Growth {
    levels: Vec<Vec<Sum>>,
}

impl Growth {
    /// Follows the recurrences over a block of so many bars.
    pub(super) fn over(bars: usize) -> Self {
        let close = Sum {
            size: 1.0,
            error: 0.0,
            rounding: 0.0,
        };
        let mut levels = vec![vec![close; bars]];
        for level in 1..=MAX_LEVEL {
            let (mut size, mut error) = (0.0, 0.0);
            let step = |below: &Sum| {
                size += below.size;
                let before = error + below.error;
                let rounding = UNIT_ROUNDOFF * (size + before);
                error = before + rounding;
                Sum {
                    size,
                    error,
                    rounding,
                }
            };
            levels.push(levels[level - 1].iter().map(step).collect());
        }
        Self { levels }
    }

    /// Bounds the error of a filter on any bar of the block whose window it holds, closes of size at most 1.
    pub(super) fn bound(&self, filter: &Filter, taps: &Taps) -> f64 {
        let last = self.levels[0].len() - 1;
        let at = |level: usize, lag: usize| self.levels[level][last - lag];
        let gamma = gamma(taps.taps.len() + 4);
        let reading = taps.taps.iter().map(|tap| {
            let sum = at(taps.level, tap.lag);
            tap.coefficient.abs() * gamma * (sum.size + sum.error)
        });
        let term = taps.terms.iter().map(|(level, tap)| {
            let above = *level + 1..=taps.level;
            let roundings = above.map(|above| {
                let doublings = (above - level - 1) as i32;
                2.0_f64.powi(doublings) * at(above, tap.lag).rounding
            });
            tap.coefficient.abs() * (at(*level, tap.lag).error + roundings.sum::<f64>())
        });
        let input = UNIT_ROUNDOFF * filter.magnification_bound();
        (reading.sum::<f64>() + term.sum::<f64>() + input) * SLACK
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::sequential::taps::{self, Tap};

    /// The recurrence on a block of three bars, by hand: sizes are binomials, errors to first order in `u`.
    #[test]
    fn growth_follows_the_recurrence() {
        let growth = Growth::over(3);
        let sizes = |level: usize| {
            growth.levels[level]
                .iter()
                .map(|bar| bar.size)
                .collect::<Vec<_>>()
        };
        assert_eq!(sizes(1), [1.0, 2.0, 3.0]);
        assert_eq!(sizes(2), [1.0, 3.0, 6.0]);
        assert_eq!(sizes(4), [1.0, 5.0, 15.0]);
        let errors = |level: usize| {
            let bars = growth.levels[level].iter();
            bars.map(|bar| bar.error / UNIT_ROUNDOFF)
                .collect::<Vec<_>>()
        };
        for (found, expected) in errors(1).iter().zip([1.0, 3.0, 6.0]) {
            assert!((found - expected).abs() < 1e-9);
        }
        // level 2: 1 + 1, then 2 + 3 + 3, then 8 + 6 + 6
        for (found, expected) in errors(2).iter().zip([2.0, 8.0, 20.0]) {
            assert!((found - expected).abs() < 1e-9);
        }
    }

    /// Each part of a bound, by hand: `Wma(2) = (2 S^2 - 3 z S^2 + z^3 S^2) / 3`, from `2 S`, `-z S^2` and `z^3 S^2` over 3, on
    /// a block of four bars. Sizes at its end are 4 and 10, errors 10 and 40, roundings 4 and 10.
    #[test]
    fn a_bound_is_the_sum_of_its_parts() {
        let filter = Filter::wma(2).unwrap();
        let taps = taps::compile(filter.expr()).unwrap();
        let found = Growth::over(4).bound(&filter, &taps) / UNIT_ROUNDOFF;
        let reading = 7.0 * (2.0 / 3.0 * 10.0 + 6.0 + 1.0 / 3.0);
        let levels = 2.0 / 3.0 * (10.0 + 10.0) + 20.0 / 3.0 + 2.0 / 3.0;
        let expected = reading + levels + 1.0;
        assert!(
            (found - expected).abs() < 1e-5 * expected,
            "{found} {expected}"
        );
    }

    /// A term two levels down: `E_1 + e_2 + 2 e_3` at the end of four bars, with sums of 4, 10 and 20.
    #[test]
    fn a_second_difference_doubles_the_roundings_of_the_first() {
        let term = Tap {
            lag: 0,
            coefficient: 1.0,
        };
        let taps = Taps {
            level: 3,
            taps: Vec::new(),
            terms: vec![(1, term)],
        };
        let found = Growth::over(4).bound(&Filter::sma(1).unwrap(), &taps) / UNIT_ROUNDOFF;
        let expected = 10.0 + 10.0 + 2.0 * 20.0 + 1.0;
        assert!((found - expected).abs() < 1e-5 * expected, "{found}");
    }

    /// The worst closes for a prefix sum: one sign throughout, all mantissa bits in use. The measured error stays within
    /// the bound and comes near enough that a bound a thousand times smaller would fail.
    #[test]
    fn measured_errors_stay_within_the_bound_and_near_it() {
        let bars = 512;
        let closes: Vec<f64> = (0..bars)
            .map(|bar| 1.0 - f64::from(bar % 7) * 0.013_7)
            .collect();
        for filter in [
            Filter::hma(20).unwrap(),
            Filter::hma3(48).unwrap(),
            Filter::wma(200).unwrap(),
        ] {
            let taps = taps::compile(filter.expr()).unwrap();
            let bound = Growth::over(bars as usize).bound(&filter, &taps);
            let mut levels = vec![closes.clone()];
            for level in 1..=MAX_LEVEL {
                let mut sum = 0.0;
                let add = |below: &f64| {
                    sum += below;
                    sum
                };
                levels.push(levels[level - 1].iter().map(add).collect());
            }
            let mut worst = 0.0_f64;
            for bar in filter.warm_up() + 4..bars as usize {
                let term = |tap: &Tap| tap.coefficient * levels[taps.level][bar - tap.lag];
                let value: f64 = taps.taps.iter().map(term).sum();
                let exact = exact_value(&filter, &closes[..=bar]);
                worst = worst.max((value - exact).abs());
            }
            assert!(worst <= bound, "{filter}: {worst:e} > {bound:e}");
            assert!(
                worst > bound / 1_000.0,
                "{filter}: {worst:e} far below {bound:e}"
            );
        }
    }

    /// The filter's value from the integer weights in pairs of `f64`: far more exact than what is measured.
    fn exact_value(filter: &Filter, closes: &[f64]) -> f64 {
        let weights = filter.exact_weights().to_f64();
        let window = &closes[closes.len() - weights.len()..];
        let (mut sum, mut rest) = (0.0_f64, 0.0);
        for (weight, close) in weights.iter().zip(window) {
            let term = weight * close;
            let next = sum + term;
            let back = next - sum;
            rest += (sum - (next - back)) + (term - back);
            sum = next;
        }
        sum + rest
    }
}
