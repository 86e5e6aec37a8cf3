//! A weighted sum of each window over eight lanes, term by term: custom kernels, and means of a few bars.

use super::lanes::{Lanes, Row};

/// Rows computed together, so that one load of a row serves several windows and no addition waits for another.
const ROWS: usize = 4;

/// The weights of one kernel, oldest first, and what the sum is multiplied by.
#[derive(Debug, Clone)]
pub(super) struct Kernel {
    pub(super) weights: Vec<f64>,
    pub(super) scale: f64,
}

impl Kernel {
    /// Writes the sums of the windows that end at `input[from..]` to `out[from..]`.
    #[inline(always)]
    pub(super) fn take<L: Lanes>(&self, simd: L, input: &[Row], from: usize, out: &mut [Row]) {
        let first = from + 1 - self.weights.len();
        let scale = simd.splat(self.scale);
        let mut groups = out[from..].chunks_exact_mut(ROWS);
        let mut start = first;
        for group in &mut groups {
            let sums = self.sums::<L, ROWS>(simd, &input[start..]);
            for (out, sum) in group.iter_mut().zip(sums) {
                simd.store(simd.mul(sum, scale), &mut out.0);
            }
            start += ROWS;
        }
        for out in groups.into_remainder() {
            let [sum] = self.sums::<L, 1>(simd, &input[start..]);
            simd.store(simd.mul(sum, scale), &mut out.0);
            start += 1;
        }
    }

    /// The sums of the windows that start at the first `N` rows.
    #[inline(always)]
    fn sums<L: Lanes, const N: usize>(&self, simd: L, input: &[Row]) -> [L::Vector; N] {
        let mut sums = [simd.splat(0.0); N];
        for (rows, &weight) in input.windows(N).zip(&self.weights) {
            let weight = simd.splat(weight);
            for (sum, row) in sums.iter_mut().zip(rows) {
                *sum = simd.add(*sum, simd.mul(weight, simd.load(&row.0)));
            }
        }
        sums
    }
}
