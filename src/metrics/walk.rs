//! The returns of a compounding position, bar by bar: they depend on how far each close is from the entry, so no sums over
//! the series help.
// A kernel has the instructions of the function it is inlined into: these must be, or they run without SIMD.
#![allow(clippy::inline_always)]

use std::ops::Range;

use super::returns::{LANES, Lanes};

/// Bars that are walked side by side.
const WALK: usize = 2 * LANES;

/// Sums over the returns, one a lane: themselves, squares, squares of the negative ones, cubes, fourths.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Walked(pub(super) [Lanes; 5]);

/// A compounding position with its stake, in stakes: `base + slope * close`.
///
/// With `u = 2^-53` the base is within `3 u` of exact, since it is at most 2 and made of a few roundings of as much, and
/// the product is at most the account and 2 more. So an account of a half or more is within `16 u` of exact, relatively, and
/// the marks, of eight roundings of at most the account and 2 more, within `40 u`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Account {
    pub(super) base: f64,
    pub(super) slope: f64,
}

impl Account {
    /// How far the equity by marks may be from this, relatively: 64 roundings.
    pub(super) const ERROR: f64 = 32.0 * f64::EPSILON;

    #[inline(always)]
    pub(super) fn at(self, close: f64) -> f64 {
        self.base + self.slope * close
    }

    /// Whether accounts between two keep their digits, and the slope over the product of any two has all of its own: it is
    /// then at least `1e-300`, and at most `4e300`.
    #[inline]
    pub(super) fn is_sure(self, worst: f64, best: f64) -> bool {
        worst >= 0.5 && best <= 1e100 && (1e-100..=1e300).contains(&self.slope.abs())
    }
}

/// The bars of a position after its entry. A return is `slope * move` over the account before it: within 23 roundings of
/// exact, the 16 of the account, two of the slope, and five more.
pub(super) struct Walk<'w> {
    pub(super) sums: &'w mut Walked,
    pub(super) account: Account,
    pub(super) closes: &'w [f64],
    pub(super) bars: Range<usize>,
}

impl pulp::NullaryFnOnce for Walk<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let bars = self.bars.clone();
        let (before, rest) = self.closes[bars.start - 1..bars.end - 1].as_chunks::<WALK>();
        let (after, _) = self.closes[bars.clone()].as_chunks::<WALK>();
        // in registers: in memory each sum would wait for the one before to be stored
        let mut sums = self.sums.0;
        for (before, after) in before.iter().zip(after) {
            self.account.add(before, after, &mut sums);
        }
        if !rest.is_empty() {
            let (before, after) = self.rest(bars.end - rest.len());
            self.account.add(&before, &after, &mut sums);
        }
        self.sums.0 = sums;
    }
}

impl Walk<'_> {
    /// The closes before and at the last bars; slots behind the position repeat its last close: returns of 0.
    #[inline(always)]
    fn rest(&self, bar: usize) -> ([f64; WALK], [f64; WALK]) {
        let (held, last) = (self.bars.end - bar, self.closes[self.bars.end - 1]);
        let (mut before, mut after) = ([last; WALK], [last; WALK]);
        let near = self.closes[bar - 1..].first_chunk::<WALK>();
        let near_after = self.closes[bar..].first_chunk::<WALK>();
        if let (Some(near), Some(near_after)) = (near, near_after) {
            // a choice, not a copy: what was just stored piece by piece cannot be loaded as a vector at once
            for slot in 0..WALK {
                let is_held = slot < held;
                before[slot] = if is_held { near[slot] } else { last };
                after[slot] = if is_held { near_after[slot] } else { last };
            }
        } else {
            before[..held].copy_from_slice(&self.closes[bar - 1..self.bars.end - 1]);
            after[..held].copy_from_slice(&self.closes[bar..self.bars.end]);
        }
        (before, after)
    }
}

impl Account {
    /// Adds the returns between some closes and those after them. Two divisions are one: `a / x` and `b / y` are
    /// `a * y / (x * y)` and `b * x / (x * y)`.
    #[inline(always)]
    fn add(self, before: &[f64; WALK], after: &[f64; WALK], sums: &mut [Lanes; 5]) {
        let (mut first, mut second) = ([0.0; LANES], [0.0; LANES]);
        for lane in 0..LANES {
            let (a, b) = (before[lane], before[lane + LANES]);
            let (x, y) = (self.at(a), self.at(b));
            let share = self.slope / (x * y);
            first[lane] = (after[lane] - a) * (y * share);
            second[lane] = (after[lane + LANES] - b) * (x * share);
        }
        for values in [first, second] {
            for (lane, value) in values.into_iter().enumerate() {
                let square = value * value;
                sums[0][lane] += value;
                sums[1][lane] += square;
                sums[2][lane] += if value < 0.0 { square } else { 0.0 };
                sums[3][lane] += square * value;
                sums[4][lane] += square * square;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{FeeFormula, Rules};
    use crate::trade::Costs;

    /// What the drawdown's glance relies on; some marks need more than a thirtieth of it.
    #[test]
    fn accounts_are_near_their_marks() {
        let (mut state, mut farthest) = (5_u64, 0.0_f64);
        let mut unit = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let mut compared = 0;
        for formula in [
            FeeFormula::Additive,
            FeeFormula::Notional,
            FeeFormula::Multiplicative,
            FeeFormula::AllCash,
        ] {
            let rules = Rules::default().with_fee_formula(formula);
            let rules = rules.with_fee_per_side_pct(0.37).unwrap();
            let costs = Costs::new(&rules);
            for _ in 0..20_000 {
                let sign = if unit() < 0.5 { -1.0 } else { 1.0 };
                let entry = 100.0 * unit() + 1.0;
                let close = entry * (2.0 * unit() + 0.1);
                let account = Account {
                    base: 1.0 + costs.marked_pct(sign, 1.0, 0.0) / 100.0,
                    slope: sign * costs.exposed_share() / entry,
                };
                let mark = 1.0 + costs.marked_pct(sign, entry, close) / 100.0;
                if account.is_sure(mark, mark) {
                    let apart = (account.at(close) / mark - 1.0).abs();
                    assert!(apart <= Account::ERROR, "{apart}");
                    farthest = farthest.max(apart);
                    compared += 1;
                }
            }
        }
        assert!(
            compared > 50_000 && farthest > Account::ERROR / 30.0,
            "{compared} {farthest}"
        );
    }

    /// A slope over a product of accounts that is no normal number has lost its digits, or all of it.
    #[test]
    fn accounts_are_sure_only_where_their_quotients_are_numbers() {
        for (slope, is_sure) in [
            (1e-200, false),
            (-1e-200, false),
            (1e-100, true),
            (-1e300, true),
            (1.1e308, false),
        ] {
            let account = Account { base: 0.0, slope };
            assert_eq!(account.is_sure(0.5, 1e100), is_sure, "{slope}");
            let quotients = [0.5, 1e100].map(|account: f64| slope / (account * account));
            let are_numbers = quotients.iter().all(|quotient| quotient.is_normal());
            assert!(are_numbers || !is_sure, "{slope} {quotients:?}");
        }
    }

    /// Any number of bars, up to the end of the series: the sums of a plain loop.
    #[test]
    fn walked_returns_are_those_of_a_plain_loop() {
        let walk = crate::random_walk(60, 3).unwrap();
        let closes = walk.closes();
        for slope in [1.0, -1.0].map(|sign| sign / closes[0]) {
            let account = Account {
                base: if slope < 0.0 { 1.9995 } else { -0.0005 },
                slope,
            };
            for (start, end) in
                (1..60).flat_map(|start| (start + 1..=60).map(move |end| (start, end)))
            {
                let mut sums = Walked::default();
                pulp::Arch::new().dispatch(Walk {
                    sums: &mut sums,
                    account,
                    closes,
                    bars: start..end,
                });
                let value =
                    |bar: usize| account.at(closes[bar]) / account.at(closes[bar - 1]) - 1.0;
                let expected = |power: i32, counts: fn(f64) -> bool| -> f64 {
                    let values = (start..end).map(value).filter(|&value| counts(value));
                    values.map(|value| value.powi(power)).sum()
                };
                let expected = [
                    expected(1, |_| true),
                    expected(2, |_| true),
                    expected(2, |value| value < 0.0),
                    expected(3, |_| true),
                    expected(4, |_| true),
                ];
                let scale = (start..end).map(|bar| value(bar).abs()).fold(0.0, f64::max);
                for (index, (lanes, expected)) in sums.0.iter().zip(expected).enumerate() {
                    let found: f64 = lanes.iter().sum();
                    let size = scale.powi([1, 2, 2, 3, 4][index]) * (end - start) as f64;
                    assert!(
                        (found - expected).abs() <= 1e-10 * size,
                        "{start}..{end} {index}"
                    );
                }
            }
        }
    }
}
