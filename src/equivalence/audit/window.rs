//! The weights of a window, as far as its errors depend on them: what `growth.rs` asks of each kind.

/// The weights of a window, as far as its errors depend on them.
pub(super) struct Window {
    pub(super) period: f64,
    pub(super) is_linear: bool,
    /// Sum of the weights' sizes after normalisation: 1 for the averages.
    pub(super) gain: f64,
    /// `sum of weight[k] * (roundings that term k meets in additions)`, k = 1 the oldest: `period - k + 1`, and one less
    /// for the oldest, whose first addition is to 0 and exact.
    pub(super) additions: f64,
    /// The root of the sum of the squares of the partial sums, in units of `X`: what independent roundings add up to.
    pub(super) walk: f64,
}

impl Window {
    /// Linear: `sum of k(p-k+1) = p(p+1)(p+2)/6` over `p(p+1)/2`, less the oldest weight; partial sums `k(k+1)/(p(p+1))`, squares about `p/5`.
    pub(super) fn linear(period: usize) -> Self {
        let period = period as f64;
        let (additions, walk) = (
            (period + 2.0) / 3.0 - 2.0 / (period * (period + 1.0)),
            (period / 5.0 + 1.0).sqrt(),
        );
        Self {
            period,
            is_linear: true,
            gain: 1.0,
            additions,
            walk,
        }
    }

    /// Uniform: the mean of `p-k+1`, less `1/p`; partial sums `k/p`, squares about `p/3`.
    pub(super) fn uniform(period: usize) -> Self {
        let period = period as f64;
        let (additions, walk) = (
            f64::midpoint(period, 1.0) - 1.0 / period,
            (period / 3.0 + 1.0).sqrt(),
        );
        Self {
            period,
            is_linear: false,
            gain: 1.0,
            additions,
            walk,
        }
    }

    /// A custom kernel: each size as it is.
    pub(super) fn kernel(weights: &[f64]) -> Self {
        let period = weights.len() as f64;
        let sizes = weights.iter().map(|w| w.abs());
        let (mut gain, mut additions, mut squares) = (0.0, 0.0, 0.0);
        for (k, size) in sizes.enumerate() {
            gain += size;
            additions += size * (period - k as f64);
            squares += gain * gain;
        }
        additions -= weights[0].abs();
        Self {
            period,
            is_linear: false,
            gain,
            additions,
            walk: squares.sqrt(),
        }
    }

    /// The sum of the integer weights.
    pub(super) fn divisor(&self) -> f64 {
        if self.is_linear {
            self.period * (self.period + 1.0) / 2.0
        } else {
            self.period
        }
    }
}
