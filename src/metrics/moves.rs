//! Sums over the moves of the closes between any two bars, in an eighth of the steps a plain loop takes.
//!
//! While a position is held unchanged, each bar's return is the move of the close times a constant of the trade, so the
//! sums of its powers need no pass over the bars a combination. Groups of eight bars are summed once a series; a range is
//! a few loose bars, whole groups, and a few loose bars again. Nothing is ever subtracted (a prefix sum would be), so a
//! gap in level elsewhere costs no digit here: each sum of `m` terms of one sign is within `gamma(m + 6)` of exact,
//! relatively (one rounding in the move, so three in its square and seven in its fourth power, and `m - 1` additions in
//! any order; Higham, *Accuracy and Stability of Numerical Algorithms*, 2002, section 4.2).

use std::ops::Range;
use std::sync::OnceLock;

use super::ranges::Ranges;

/// Bars a group; loose bars cost as much as whole groups at the usual 40 bars a trade.
const GROUP: usize = 8;

/// Sums of powers of the moves `close[t] - close[t-1]`, scaled by [`Moves::per_unit`].
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[repr(align(32))] // one vector of four
pub(super) struct Powers {
    /// Squares of the upward moves.
    pub(super) up: f64,
    /// Squares of the downward moves.
    pub(super) down: f64,
    pub(super) cubes: f64,
    pub(super) fourths: f64,
}

impl Powers {
    #[inline]
    pub(super) fn add_move(&mut self, step: f64) {
        let square = step * step;
        self.up += step.max(0.0) * step;
        self.down += step.min(0.0) * step;
        self.cubes += square * step;
        self.fourths += square * square;
    }

    #[inline]
    pub(super) fn minus(&self, other: &Self) -> Self {
        Self {
            up: self.up - other.up,
            down: self.down - other.down,
            cubes: self.cubes - other.cubes,
            fourths: self.fourths - other.fourths,
        }
    }

    #[inline]
    pub(super) fn add_product(&mut self, weights: &Self, sum: &Self) {
        self.up += weights.up * sum.up;
        self.down += weights.down * sum.down;
        self.cubes += weights.cubes * sum.cubes;
        self.fourths += weights.fourths * sum.fourths;
    }

    #[inline]
    pub(super) fn add(&mut self, other: &Self) {
        self.up += other.up;
        self.down += other.down;
        self.cubes += other.cubes;
        self.fourths += other.fourths;
    }
}

/// The moves of one series, grouped on first use.
#[derive(Debug)]
pub(crate) struct Moves<'a> {
    closes: &'a [f64],
    groups: OnceLock<Vec<Powers>>,
    pub(super) ranges: Ranges,
    per_unit: f64,
}

impl<'a> Moves<'a> {
    pub(crate) fn new(closes: &'a [f64]) -> Self {
        let ranges = Ranges::new(closes);
        // a power of two, so that scaling rounds nothing and fourth powers neither overflow nor vanish
        let per_unit = (-ranges.highest().log2().floor())
            .clamp(-1_000.0, 1_000.0)
            .exp2();
        Self {
            closes,
            groups: OnceLock::new(),
            ranges,
            per_unit,
        }
    }

    fn groups(&self) -> &[Powers] {
        let group = |first: usize| {
            let bars = first..(first + GROUP).min(self.closes.len());
            let mut powers = Powers::default();
            self.add_loose(bars, &mut powers);
            powers
        };
        let starts = (0..self.closes.len()).step_by(GROUP);
        self.groups.get_or_init(|| starts.map(group).collect())
    }

    /// The closes, one a bar.
    pub(super) fn closes(&self) -> &'a [f64] {
        self.closes
    }

    /// What one price unit is in units of the sums.
    pub(super) fn per_unit(&self) -> f64 {
        self.per_unit
    }

    /// Sums over the moves into the bars of a range.
    #[inline]
    pub(super) fn powers(&self, bars: Range<usize>) -> Powers {
        let mut powers = Powers::default();
        let (first, last) = (bars.start.div_ceil(GROUP), bars.end / GROUP);
        if first >= last {
            self.add_loose(bars, &mut powers);
            return powers;
        }
        self.add_loose(bars.start..first * GROUP, &mut powers);
        for group in &self.groups()[first..last] {
            powers.add(group);
        }
        self.add_loose(last * GROUP..bars.end, &mut powers);
        powers
    }

    #[inline]
    pub(super) fn add_loose(&self, bars: Range<usize>, powers: &mut Powers) {
        let bars = bars.start.max(1)..bars.end;
        if bars.is_empty() {
            return;
        }
        for pair in self.closes[bars.start - 1..bars.end].windows(2) {
            powers.add_move((pair[1] - pair[0]) * self.per_unit);
        }
    }
}

#[cfg(test)]
mod tests {
    use num_bigint::BigInt;

    use super::*;
    use crate::filter::gamma;

    /// Closes whose moves are whole numbers, far beyond what the squares can hold exactly.
    fn closes(bars: usize) -> Vec<f64> {
        let mut state = 7_u64;
        let close = |bar: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let level = if (bar / 50).is_multiple_of(2) {
                1_u64 << 50
            } else {
                1 << 20
            };
            (level + (state >> 33) % (level / 64)) as f64
        };
        (0..bars).map(close).collect()
    }

    #[test]
    fn sums_are_within_their_bound_of_exact_even_beside_a_gap() {
        let closes = closes(400);
        let moves = Moves::new(&closes);
        let scale = 1.0 / moves.per_unit();
        let (mut worst, mut compared) = (0.0_f64, 0);
        for (from, to) in
            (0..400).flat_map(|from| (from + 1..400).step_by(13).map(move |to| (from, to)))
        {
            let mut exact = [BigInt::ZERO, BigInt::ZERO];
            for bar in from.max(1)..to {
                let step = closes[bar] as i64 - closes[bar - 1] as i64;
                let square = BigInt::from(step) * step;
                exact[0] += if step > 0 {
                    square.clone()
                } else {
                    BigInt::ZERO
                };
                exact[1] += &square * &square;
            }
            let powers = moves.powers(from..to);
            for (found, exact, power) in [(powers.up, &exact[0], 2), (powers.fourths, &exact[1], 4)]
            {
                let exact: f64 = exact.to_string().parse().unwrap();
                let found = found * scale.powi(power);
                let bound = gamma(to - from + 6) * exact;
                assert!(
                    (found - exact).abs() <= bound,
                    "{from}..{to}: {found} {exact}"
                );
                worst = worst.max((found - exact).abs() / exact.max(1.0));
                compared += 1;
            }
        }
        assert!(
            compared > 10_000 && worst > 1e-16,
            "the sums do round: {worst}"
        );
    }
}
