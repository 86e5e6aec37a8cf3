//! One windowed mean over eight lanes, at a constant cost a bar, from sums that never leave their window.
//!
//! The rows of a lane are cut into blocks of one group. Each window is the tail of one block, the whole blocks after
//! it, and the head of the newest. Sums grow backwards over a block for the tails and forwards for the heads, while its
//! rows are in registers; sums of whole blocks come from `blocks.rs`. Nothing is ever subtracted: the error is that of a
//! direct sum, it cannot grow with the length of the series, a spike leaves no trace once it has left the window, and
//! NaN is returned exactly while it is inside.
//! (The two-sided scheme of van Herk 1992 and Gil and Werman 1993, there for maxima, here with several blocks a window.)

use super::blocks::Blocks;
use super::group::{Node, Vectors, group, group_mut, load_group, store_group};
use super::lanes::{LANES, Lanes};
use super::scratch::Scratch;

/// Which mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Sma,
    Wma,
}

/// The state of one windowed mean of more than `LANES` bars.
#[derive(Debug)]
pub(super) struct Window {
    kind: Kind,
    inverse: f64,
    /// The weights of a group's rows, over the divisor.
    weights: [f64; LANES],
    /// What the plain sum of each row's head is lifted by: the bars of its window's tail, over the divisor.
    lifts: [f64; LANES],
    /// Rows of a group whose windows hold one more block than the others'.
    over: usize,
    /// The sums of each block's last rows by how many are left out, a ring of blocks; the first block once more after
    /// the last, so that the eight tails of a group always lie in a row.
    tails: Scratch,
    /// The plain sum of each of these blocks.
    plain: Scratch,
    /// The place of the next block in the ring.
    newest: usize,
    /// The whole blocks that every window of a group holds.
    whole: Blocks,
}

impl Window {
    /// Makes the state for `period > LANES`.
    pub(super) fn new(kind: Kind, period: usize) -> Self {
        let terms = period as f64;
        let divisor = match kind {
            Kind::Sma => terms,
            Kind::Wma => terms * (terms + 1.0) / 2.0,
        };
        let inverse = 1.0 / divisor;
        // a window begins that many blocks before its newest one, or one more
        let back = (period - 1) / LANES;
        let over = (period - 1) % LANES;
        Self {
            kind,
            inverse,
            weights: std::array::from_fn(|row| ((back - 1) * LANES + 1 + row) as f64 * inverse),
            lifts: std::array::from_fn(|row| (over + LANES - row) as f64 * inverse),
            over,
            tails: Scratch::new((back + 3) * LANES),
            plain: Scratch::new(back + 2),
            newest: 0,
            whole: Blocks::new(back - 1),
        }
    }

    /// The places in the ring of the oldest block that a window may hold, and of the next one.
    fn oldest(&self) -> [usize; 2] {
        let next = |place: usize| {
            if place + 1 == self.plain.len() {
                0
            } else {
                place + 1
            }
        };
        let oldest = next(self.newest);
        [oldest, next(oldest)]
    }

    #[inline(always)]
    fn keep<L: Lanes>(&mut self, simd: L, tails: Vectors<L>, plain: L::Vector) {
        store_group(simd, tails, group_mut(&mut self.tails, self.newest * LANES));
        if self.newest == 0 {
            let copy = self.plain.len() * LANES;
            store_group(simd, tails, group_mut(&mut self.tails, copy));
        }
        simd.store(plain, &mut self.plain[self.newest].0);
    }

    /// The tails of a group's windows: the last rows of the oldest block, and all but these of the next one.
    #[inline(always)]
    fn tails<L: Lanes>(&self, simd: L, oldest: usize) -> Vectors<L> {
        load_group(simd, group(&self.tails, (oldest + 1) * LANES - self.over))
    }

    /// Takes a group of a weighted mean, and returns its plain and its weighted sum.
    #[inline(always)]
    fn weigh<L: Lanes>(&mut self, simd: L, input: &Vectors<L>) -> [L::Vector; 2] {
        let mut block = input[LANES - 1];
        let mut sums = *input;
        for row in (0..LANES - 1).rev() {
            block = simd.add(block, input[row]);
            sums[row] = simd.add(sums[row + 1], block);
        }
        self.keep(simd, sums, block);
        [block, sums[0]]
    }

    /// Takes a group of a plain mean, and returns its sum.
    #[inline(always)]
    fn sum<L: Lanes>(&mut self, simd: L, input: &Vectors<L>) -> L::Vector {
        let mut sums = *input;
        for row in (0..LANES - 1).rev() {
            sums[row] = simd.add(sums[row + 1], input[row]);
        }
        self.keep(simd, sums, sums[0]);
        sums[0]
    }

    #[inline(always)]
    fn weighted_means<L: Lanes>(&mut self, simd: L, input: &Vectors<L>) -> Vectors<L> {
        let sums = self.weigh(simd, input);
        let [oldest, next] = self.oldest();
        let mut tails = self.tails(simd, oldest);
        // windows that reach into the oldest block hold all of the next one: its sum from 1, and more for each row left
        let next_plain = simd.load(&self.plain[next].0);
        let mut next_sum = simd.load(&self.tails[next * LANES].0);
        for row in (0..LANES - 1).rev() {
            if row < self.over {
                next_sum = simd.add(next_sum, next_plain);
                tails[row] = simd.add(tails[row], next_sum);
            }
        }
        let inverse = simd.splat(self.inverse);
        let [mut plain, weighted] = self.whole.sums(simd);
        self.whole.push(simd, sums);
        let mut weighted = simd.mul(weighted, inverse);
        let mut out = tails;
        for row in 0..LANES {
            plain = simd.add(plain, input[row]);
            weighted = simd.mul_add(simd.splat(self.weights[row]), input[row], weighted);
            let head = simd.mul_add(simd.splat(self.lifts[row]), plain, weighted);
            out[row] = simd.mul_add(tails[row], inverse, head);
        }
        self.newest = oldest;
        out
    }

    #[inline(always)]
    fn plain_means<L: Lanes>(&mut self, simd: L, input: &Vectors<L>) -> Vectors<L> {
        let sum = self.sum(simd, input);
        let [oldest, next] = self.oldest();
        let mut tails = self.tails(simd, oldest);
        let next_plain = simd.load(&self.plain[next].0);
        for row in 0..LANES - 1 {
            if row < self.over {
                tails[row] = simd.add(tails[row], next_plain);
            }
        }
        let inverse = simd.splat(self.inverse);
        let [mut plain, _] = self.whole.sums(simd);
        self.whole.push(simd, [sum; 2]);
        let mut out = tails;
        for row in 0..LANES {
            plain = simd.add(plain, input[row]);
            out[row] = simd.mul(simd.add(tails[row], plain), inverse);
        }
        self.newest = oldest;
        out
    }
}

impl Node for Window {
    fn restart(&mut self) {
        // what the rings still hold belongs to windows that began before the stream, which are never asked for
        self.newest = 0;
        self.whole.restart();
    }

    #[inline(always)]
    fn take<L: Lanes>(&mut self, simd: L, input: Vectors<L>) -> Vectors<L> {
        match self.kind {
            Kind::Sma => self.plain_means(simd, &input),
            Kind::Wma => self.weighted_means(simd, &input),
        }
    }

    #[inline(always)]
    fn pass<L: Lanes>(&mut self, simd: L, input: Vectors<L>) {
        let sums = match self.kind {
            Kind::Sma => [self.sum(simd, &input); 2],
            Kind::Wma => self.weigh(simd, &input),
        };
        let [oldest, _] = self.oldest();
        self.newest = oldest;
        self.whole.push(simd, sums);
    }
}
