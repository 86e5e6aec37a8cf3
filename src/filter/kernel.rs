//! A weighted sum of each window over eight lanes, term by term: custom kernels, and means of a few bars.

use super::group::{Node, Vectors, group_mut, store_group};
use super::lanes::{LANES, Lanes, Row};
use super::scratch::Scratch;
use super::whole;

/// Rows computed together, so that one load of a row serves several windows and no addition waits for another.
const ROWS: usize = 4;

/// One kernel and the rows that its windows reach back to.
#[derive(Debug)]
pub(super) struct Kernel {
    /// Oldest first.
    weights: Vec<f64>,
    /// What the sum is multiplied by.
    scale: f64,
    rows: Scratch,
    filled: usize,
}

impl Kernel {
    pub(super) fn new(weights: Vec<f64>, scale: f64) -> Self {
        // longer than needed, so that moving the history to the front is rare
        let rows = Scratch::new(2 * weights.len() + 16 * LANES);
        Self {
            // rows before the stream belong to windows that are never asked for
            filled: weights.len() - 1,
            weights,
            scale,
            rows,
        }
    }

    /// The sums of the windows that start at the first rows.
    #[inline(always)]
    fn sums<L: Lanes>(&self, simd: L, rows: &[Row]) -> [L::Vector; ROWS] {
        let mut sums = [simd.splat(0.0); ROWS];
        for (rows, &weight) in rows.windows(ROWS).zip(&self.weights) {
            let weight = simd.splat(weight);
            for (sum, row) in sums.iter_mut().zip(rows) {
                *sum = simd.mul_add(weight, simd.load(&row.0), *sum);
            }
        }
        sums
    }
}

impl Node for Kernel {
    #[inline(always)]
    fn take<L: Lanes>(&mut self, simd: L, input: Vectors<L>) -> Vectors<L> {
        let history = self.weights.len() - 1;
        if self.filled + LANES > self.rows.len() {
            self.rows.copy_within(self.filled - history..self.filled, 0);
            self.filled = history;
        }
        store_group(simd, input, group_mut(&mut self.rows, self.filled));
        let scale = simd.splat(self.scale);
        let start = self.filled - history;
        let [a, b, c, d] = self.sums(simd, &self.rows[start..]);
        let [e, f, g, h] = self.sums(simd, &self.rows[start + ROWS..]);
        self.filled += LANES;
        [a, b, c, d, e, f, g, h].map(
            #[inline(always)]
            |sum| simd.mul(sum, scale),
        )
    }

    fn take_all<L: Lanes>(&mut self, simd: L, lanes: [&[f64]; LANES], outs: [&mut [f64]; LANES]) {
        match self.weights.len() {
            2 => whole::run(simd, &mut Short::<2>(self), lanes, outs),
            3 => whole::run(simd, &mut Short::<3>(self), lanes, outs),
            4 => whole::run(simd, &mut Short::<4>(self), lanes, outs),
            5 => whole::run(simd, &mut Short::<5>(self), lanes, outs),
            6 => whole::run(simd, &mut Short::<6>(self), lanes, outs),
            7 => whole::run(simd, &mut Short::<7>(self), lanes, outs),
            8 => whole::run(simd, &mut Short::<8>(self), lanes, outs),
            _ => whole::run(simd, self, lanes, outs),
        }
    }
}

/// A kernel of so few terms that the rows of its windows stay in registers.
struct Short<'a, const TERMS: usize>(&'a mut Kernel);

impl<const TERMS: usize> Node for Short<'_, TERMS> {
    #[inline(always)]
    fn take<L: Lanes>(&mut self, simd: L, input: Vectors<L>) -> Vectors<L> {
        let Self(kernel) = self;
        let history = TERMS - 1;
        let before = &kernel.rows[kernel.filled - history..kernel.filled];
        let mut earlier = input;
        for (vector, row) in earlier[LANES - history..].iter_mut().zip(before) {
            *vector = simd.load(&row.0);
        }
        for (row, vector) in kernel.rows.iter_mut().zip(&input[LANES - history..]) {
            simd.store(*vector, &mut row.0);
        }
        kernel.filled = history;
        let weights = kernel.weights.first_chunk::<TERMS>();
        let weights = weights.expect("as many weights as terms");
        let scale = simd.splat(kernel.scale);
        let mut out = input;
        for (index, out) in out.iter_mut().enumerate() {
            let mut sum = simd.splat(0.0);
            for (term, weight) in weights.iter().enumerate() {
                let back = history - term;
                let row = if back > index {
                    earlier[LANES + index - back]
                } else {
                    input[index - back]
                };
                sum = simd.mul_add(simd.splat(*weight), row, sum);
            }
            *out = simd.mul(sum, scale);
        }
        out
    }
}
