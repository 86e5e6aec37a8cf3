//! How far a dot product of taps can be from the exact filter, for closes of size at most 1.
//!
//! The prefix sums of a block are computed one bar after the other, `I_k[t] = fl(I_k[t-1] + I_(k-1)[t])`. For closes of
//! size at most 1, `|I_k[t]| <= C(t+k, k)`, counting bars from 0 at the block's anchor. Each addition is off by at most
//! `u` times its exact result, so the error grows as
//! `E_k[t] = E_k[t-1] + E_(k-1)[t] + u * (C(t+k, k) + E_k[t-1] + E_(k-1)[t])`, `E_0 = 0`.
//! A filter of `n` taps reads each sum through a coefficient of three roundings, a product and at most `n` additions:
//! `gamma(n + 4)` of its size. The block is bounded at its last bar, where both sequences are largest. Last, a centred
//! close is itself within `u` of its value, which the filter passes on with its magnification.
//! Everything scales with the closes, so the bound of a block is this number times its largest centred close.

use super::taps::{MAX_LEVEL, Tap};
use crate::filter::{Filter, SLACK, UNIT_ROUNDOFF, gamma};

/// Largest size and largest error of each level's prefix sum, bar by bar from a block's anchor.
#[derive(Debug)]
pub(super) struct Growth {
    levels: Vec<Vec<(f64, f64)>>,
}

impl Growth {
    /// Follows the recurrences over a block of so many bars.
    pub(super) fn over(bars: usize) -> Self {
        let mut levels = vec![vec![(1.0, 0.0); bars]];
        for level in 1..=MAX_LEVEL {
            let (mut size, mut error) = (0.0, 0.0);
            let step = |&(below, below_error): &(f64, f64)| {
                size += below;
                let before = error + below_error;
                error = before + UNIT_ROUNDOFF * (size + before);
                (size, error)
            };
            levels.push(levels[level - 1].iter().map(step).collect());
        }
        Self { levels }
    }

    /// Bounds the error of a filter on any bar of the block whose window it holds, closes of size at most 1.
    pub(super) fn bound(&self, filter: &Filter, taps: &[Tap]) -> f64 {
        let last = self.levels[0].len() - 1;
        let rounding = gamma(taps.len() + 4);
        let term = |tap: &Tap| {
            let (size, error) = self.levels[tap.level][last - tap.lag];
            tap.coefficient.abs() * (error + rounding * (size + error))
        };
        let input = UNIT_ROUNDOFF * filter.magnification_bound();
        (taps.iter().map(term).sum::<f64>() + input) * SLACK
    }
}
