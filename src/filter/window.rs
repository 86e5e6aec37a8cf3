//! One windowed mean over eight lanes, at a constant cost a bar, from sums that never leave their window.
//!
//! The rows of a lane are cut into blocks, each window is the tail of one block, the whole blocks after it, and the
//! head of the newest. Sums grow backwards over a block once it is full and forwards while it fills, and a window
//! adds one of each. Nothing is ever subtracted: the error is that of a direct sum, it cannot grow with the length of
//! the series, a spike leaves no trace once it has left the window, and NaN is returned exactly while it is inside.
//! (The two-sided scheme of van Herk 1992 and Gil and Werman 1993, there for maxima, with a block cut into `parts`.)

use super::lanes::{Lanes, Row};

/// Which mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Sma,
    Wma,
}

/// Rows of a block that stay in the first cache together with what is computed from them.
const BLOCK: usize = 32;

/// The state of one windowed mean.
#[derive(Debug, Clone)]
pub(super) struct Window {
    kind: Kind,
    inverse: f64,
    /// Lengths of the blocks that make up one period, and where each starts in it.
    lengths: Vec<usize>,
    starts: Vec<usize>,
    /// 0, 1, 2, ... as far as the period.
    ramp: Vec<f64>,
    /// What the windows take from each block: the sums of its last rows, by how many are left out.
    tails: Vec<Row>,
    /// Sums of each whole block.
    plain: Vec<Row>,
    weighted: Vec<Row>,
    /// The block that fills, the rows in it, and the sums of the whole blocks before it and of its own rows.
    part: usize,
    filled: usize,
    head_plain: Row,
    head_weighted: Row,
    /// Whether a whole period has been seen.
    is_warm: bool,
}

impl Window {
    pub(super) fn new(kind: Kind, period: usize) -> Self {
        let block = BLOCK.max(2 * period.isqrt());
        let parts = period.div_ceil(block);
        let starts: Vec<usize> = (0..parts).map(|part| part * period / parts).collect();
        let ends = starts.iter().skip(1).copied().chain([period]);
        let lengths = ends.zip(&starts).map(|(end, start)| end - start).collect();
        let terms = period as f64;
        let divisor = match kind {
            Kind::Sma => terms,
            Kind::Wma => terms * (terms + 1.0) / 2.0,
        };
        Self {
            kind,
            inverse: 1.0 / divisor,
            lengths,
            starts,
            ramp: (0..=period).map(|k| k as f64).collect(),
            tails: vec![Row::ZERO; period],
            plain: vec![Row::ZERO; parts],
            weighted: vec![Row::ZERO; parts],
            part: 0,
            filled: 0,
            head_plain: Row::ZERO,
            head_weighted: Row::ZERO,
            is_warm: false,
        }
    }

    /// Most rows of its input that a step looks back to.
    pub(super) fn history(&self) -> usize {
        self.lengths.iter().copied().max().unwrap_or(0)
    }

    pub(super) fn restart(&mut self) {
        (self.part, self.filled, self.is_warm) = (0, 0, false);
    }

    /// Takes the rows `input[from..]` and writes the means that they complete to `out[from..]`.
    #[inline(always)]
    pub(super) fn take<L: Lanes>(&mut self, simd: L, input: &[Row], from: usize, out: &mut [Row]) {
        let mut row = from;
        while row < input.len() {
            let left = self.lengths[self.part] - self.filled;
            // the last row of a block completes a window with the next block's tail
            let run = (left - 1).min(input.len() - row);
            if self.is_warm {
                self.grow(simd, &input[row..row + run], &mut out[row..row + run]);
            }
            self.filled += run;
            row += run;
            if run == left - 1 && row < input.len() {
                let length = self.lengths[self.part];
                self.close(simd, &input[row + 1 - length..=row]);
                if self.is_warm {
                    self.first(simd, &mut out[row]);
                }
                row += 1;
            }
        }
    }

    /// Adds rows to the head; each completes the window whose tail is one row shorter.
    #[inline(always)]
    fn grow<L: Lanes>(&mut self, simd: L, input: &[Row], out: &mut [Row]) {
        let run = input.len();
        let (start, length) = (self.starts[self.part], self.lengths[self.part]);
        let tails = &self.tails[start + self.filled + 1..][..run];
        let inverse = simd.splat(self.inverse);
        let mut plain = simd.load(&self.head_plain.0);
        if self.kind == Kind::Sma {
            for ((x, tail), out) in input.iter().zip(tails).zip(out) {
                plain = simd.add(plain, simd.load(&x.0));
                let sum = simd.add(simd.load(&tail.0), plain);
                simd.store(simd.mul(sum, inverse), &mut out.0);
            }
        } else {
            let period = self.ramp.len() - 1;
            let weights = &self.ramp[period - length + self.filled + 1..][..run];
            let lefts = self.ramp[..length - self.filled].iter().rev();
            let mut weighted = simd.load(&self.head_weighted.0);
            let rows = input.iter().zip(tails).zip(weights).zip(lefts).zip(out);
            for ((((x, tail), &weight), &left), out) in rows {
                let x = simd.load(&x.0);
                plain = simd.add(plain, x);
                weighted = simd.add(weighted, simd.mul(simd.splat(weight), x));
                let head = simd.add(weighted, simd.mul(simd.splat(left), plain));
                let sum = simd.add(simd.load(&tail.0), head);
                simd.store(simd.mul(sum, inverse), &mut out.0);
            }
            simd.store(weighted, &mut self.head_weighted.0);
        }
        simd.store(plain, &mut self.head_plain.0);
    }

    /// Sums a full block backwards and starts the next one on the sums of the whole blocks before it.
    #[inline(always)]
    fn close<L: Lanes>(&mut self, simd: L, block: &[Row]) {
        let (part, start) = (self.part, self.starts[self.part]);
        let tails = self.tails[start..start + block.len()].iter_mut();
        let (mut plain, mut weighted) = (simd.splat(0.0), simd.splat(0.0));
        if self.kind == Kind::Sma {
            for (x, tail) in block.iter().zip(tails).rev() {
                plain = simd.add(plain, simd.load(&x.0));
                simd.store(plain, &mut tail.0);
            }
        } else {
            for (x, tail) in block.iter().zip(tails).rev() {
                plain = simd.add(plain, simd.load(&x.0));
                weighted = simd.add(weighted, plain);
                simd.store(weighted, &mut tail.0);
            }
        }
        simd.store(plain, &mut self.plain[part].0);
        simd.store(weighted, &mut self.weighted[part].0);
        self.filled = 0;
        self.part = (part + 1) % self.lengths.len();
        self.is_warm |= self.part == 0;
        if self.is_warm {
            self.start_head(simd);
        }
    }

    /// Sums the whole blocks between the tail's block and the new one, oldest first.
    #[inline(always)]
    fn start_head<L: Lanes>(&mut self, simd: L) {
        let parts = self.lengths.len();
        let (mut plain, mut weighted) = (simd.splat(0.0), simd.splat(0.0));
        let mut before = 0;
        for part in (self.part + 1..parts).chain(0..self.part) {
            let sum = simd.load(&self.plain[part].0);
            let lifted = simd.mul(simd.splat(self.ramp[before]), sum);
            let block = simd.add(simd.load(&self.weighted[part].0), lifted);
            weighted = simd.add(weighted, block);
            plain = simd.add(plain, sum);
            before += self.lengths[part];
        }
        simd.store(plain, &mut self.head_plain.0);
        simd.store(weighted, &mut self.head_weighted.0);
    }

    /// Writes the mean of the window that starts with a whole block and has no row of the new one.
    #[inline(always)]
    fn first<L: Lanes>(&self, simd: L, out: &mut Row) {
        let (start, length) = (self.starts[self.part], self.lengths[self.part]);
        let tail = simd.load(&self.tails[start].0);
        let plain = simd.load(&self.head_plain.0);
        let head = match self.kind {
            Kind::Sma => plain,
            Kind::Wma => {
                let lifted = simd.mul(simd.splat(self.ramp[length]), plain);
                simd.add(simd.load(&self.head_weighted.0), lifted)
            }
        };
        let sum = simd.add(tail, head);
        simd.store(simd.mul(sum, simd.splat(self.inverse)), &mut out.0);
    }
}
