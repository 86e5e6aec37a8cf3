//! The deepest fall from a running peak.

/// The deepest fall from a running peak, as a fraction of the peak.
///
/// Falls from one peak are deepest at the lowest equity since, so one division a peak gives what one a bar would.
#[derive(Debug, Clone, Copy)]
pub(super) struct Drawdown {
    pub(super) peak: f64,
    /// Lowest equity since the peak, or what is no deeper a fall than those before.
    pub(super) trough: f64,
    /// Deepest fall from an earlier peak.
    before: f64,
}

impl Drawdown {
    /// Starts at the equity before the first bar.
    pub(super) fn new(start: f64) -> Self {
        Self {
            peak: start,
            trough: start,
            before: 0.0,
        }
    }

    #[inline]
    pub(super) fn push(&mut self, equity: f64) {
        if equity > self.peak {
            self.rise(equity);
        } else if equity < self.trough {
            self.trough = equity;
        }
    }

    /// Starts again from a new peak.
    #[cold]
    #[inline(never)]
    pub(super) fn rise(&mut self, peak: f64) {
        self.before = self.deepest();
        self.peak = peak;
        self.trough = no_deeper(peak, self.before);
    }

    pub(super) fn deepest(&self) -> f64 {
        self.before.max((self.peak - self.trough) / self.peak)
    }

    /// Whether bars with an equity between two bounds leave the deepest fall as it is, in whatever order they come.
    ///
    /// A fall from the peak is at most that to `worst`: subtraction and division by a constant are monotone, rounding
    /// included. One from a peak within is at most that from `best`, up to the two roundings of each quotient: with
    /// `u = 2^-53` the computed fall is at most `(1 + u)^2` of the exact one, the computed bound at least `(1 - u)^2`, and
    /// the factor, one rounding more, covers five `u`.
    pub(super) fn is_no_deeper(&self, worst: f64, best: f64) -> bool {
        let within = (best - worst) / best * (1.0 + 3.0 * f64::EPSILON);
        let deepest = self.deepest();
        (self.peak - worst) / self.peak <= deepest && within <= deepest
    }

    /// Takes the bars of one trade, whose lowest and highest equity are known; `walk` is called where only the order of
    /// the bars tells which fall is deepest.
    #[inline]
    pub(super) fn push_range(&mut self, worst: f64, best: f64, walk: impl FnOnce(&mut Self)) {
        if best <= self.peak {
            self.push(worst);
        } else if self.is_no_deeper(worst, best) {
            self.rise(best);
        } else {
            walk(self);
        }
    }
}

/// The lowest equity, or one a little above, from which a fall from the peak is no deeper than a given one.
///
/// With `u = 2^-53`, peak `p` and fall `b` the products and the difference are within `2 u p + 3 u p b` of exact, and the
/// quotient `(p - t) / p`, by which falls are measured, adds `2 u b`: at most `5 u (p + p b)` in all. The slack is `8 u` of
/// the same.
fn no_deeper(peak: f64, fall: f64) -> f64 {
    const SLACK: f64 = 4.0 * f64::EPSILON;
    (peak * (1.0 + SLACK) - peak * fall * (1.0 - SLACK)).min(peak)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Equal parts of 1, always the same.
    fn units() -> impl Iterator<Item = f64> {
        let mut state = 9_u64;
        std::iter::from_fn(move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            Some((state >> 11) as f64 / (1_u64 << 53) as f64)
        })
    }

    fn plain(equities: &[f64]) -> f64 {
        let (mut peak, mut deepest) = (1.0_f64, 0.0_f64);
        for &equity in equities {
            peak = peak.max(equity);
            deepest = deepest.max((peak - equity) / peak);
        }
        deepest
    }

    #[test]
    fn falls_are_those_of_a_plain_loop_bit_for_bit() {
        let mut units = units();
        let mut risen = 0;
        for round in 0..2_000 {
            let scale = [1e-15, 1e-3, 0.3, 5.0][round % 4];
            let mut equity = 1.0;
            let step = |unit: f64| {
                equity += scale * (unit - 0.45);
                equity
            };
            let equities: Vec<f64> = units.by_ref().take(60).map(step).collect();
            let mut drawdown = Drawdown::new(1.0);
            for &equity in &equities {
                drawdown.push(equity);
            }
            assert_eq!(drawdown.deepest(), plain(&equities));
            risen += usize::from(drawdown.peak > 1.0);
        }
        assert!(risen > 1_000, "{risen}");
    }

    /// Without the slack some of these falls would be deeper, in the last digit.
    #[test]
    fn from_the_first_trough_of_a_peak_no_fall_is_deeper() {
        let mut units = units();
        let mut below = 0;
        for round in 0..20_000 {
            let (peak, fall) = (units.next().unwrap(), units.next().unwrap());
            let (peak, fall) = (0.5 + peak, fall * [1e-16, 1e-8, 1.0, 40.0][round % 4]);
            let trough = no_deeper(peak, fall);
            assert!((peak - trough) / peak <= fall, "{peak} {fall}");
            below += usize::from(trough < peak);
        }
        // it is of use
        assert!(below > 14_000, "{below}");
    }

    /// A fall from a little below the best to the worst, by the last digit deeper than from the best: the quotients round.
    #[test]
    fn the_roundings_of_the_quotients_are_covered() {
        let mut units = units();
        let mut deeper = 0;
        for _ in 0..20_000 {
            let best = 1.0 + 0.5 * units.next().unwrap();
            let (peak, worst) = (
                best.next_down(),
                best * (0.9 * units.next().unwrap() + 0.05),
            );
            let mut ranged = Drawdown {
                peak: 1.0_f64.min(worst + 0.01),
                trough: 1.0_f64.min(worst + 0.01),
                before: (best - worst) / best,
            };
            let mut walked = ranged;
            for equity in [peak, worst, best] {
                walked.push(equity);
            }
            deeper += usize::from(walked.deepest() > ranged.before);
            ranged.push_range(worst, best, |drawdown| {
                for equity in [peak, worst, best] {
                    drawdown.push(equity);
                }
            });
            assert_eq!(ranged.deepest(), walked.deepest());
        }
        assert!(deeper > 100, "{deeper}");
    }
}
