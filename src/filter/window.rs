//! One windowed mean over eight lanes, at a constant cost a bar, from sums that never leave their window.
//!
//! The rows of a lane are cut into blocks, each window is the tail of one block, the whole blocks after it, and the
//! head of what came since. Sums grow backwards over a block once it is full and forwards over the head, and a window
//! adds one of each. Nothing is ever subtracted: the error is that of a direct sum, it cannot grow with the length of
//! the series, a spike leaves no trace once it has left the window, and NaN is returned exactly while it is inside.
//! (The two-sided scheme of van Herk 1992 and Gil and Werman 1993, there for maxima, here with several blocks a window.)
//!
//! Rows come in groups of eight, and the blocks lie so that the window of a group's first row starts with a block.

use super::group::{Node, Vectors, eight, group, group_mut, store_group};
use super::lanes::{LANES, Lanes, Row};

/// Which mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Sma,
    Wma,
}

/// The state of one windowed mean of more than `LANES` bars.
#[derive(Debug, Clone)]
pub(super) struct Window {
    kind: Kind,
    period: usize,
    inverse: f64,
    shape: Shape,
    /// 0, 1, 2, ... as far as the period.
    ramp: Vec<f64>,
    /// Rows of the block that fills, `filled` of them.
    rows: Vec<Row>,
    filled: usize,
    /// For each recent block, the sums of its last rows by how many are left out, and the sums of the whole.
    tails: Vec<Row>,
    plain: Vec<Row>,
    weighted: Vec<Row>,
    /// The place in these of the block that fills, and of the block whose tail is in use.
    newest: usize,
    tail: usize,
    /// Groups before the first whole window, and rows of the tail's block that have left the window.
    wait: usize,
    left: usize,
    head_plain: Row,
    head_weighted: Row,
}

/// How a window is cut: a block of which a tail counts, `whole` blocks, and `rest` rows before a group's first.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Shape {
    block: usize,
    whole: usize,
    rest: usize,
}

impl Shape {
    /// The block length with the least work a row: a new head sums `whole` blocks (4 operations each) and `rest` rows
    /// (3 each), beside the fixed cost of a new block, taken as 40. Blocks of more than 64 rows leave the first cache.
    fn of(period: usize) -> Self {
        let longest = (period - 1).min(64.max(2 * period.isqrt()));
        let shape = |groups: usize| {
            let block = groups * LANES;
            let before = period - 1 - block;
            Self {
                block,
                whole: before / block,
                rest: before % block,
            }
        };
        let cost = |shape: &Self| (40 + 4 * shape.whole + 3 * shape.rest) * 1_000 / shape.block;
        let shapes = (1..=longest / LANES).map(shape);
        shapes.min_by_key(cost).unwrap_or(shape(1))
    }

    /// Blocks whose sums are kept: the tail's, the whole ones, and one that may fill meanwhile.
    fn kept(self) -> usize {
        self.whole + 2
    }
}

impl Window {
    /// Makes the state for `period > LANES`.
    pub(super) fn new(kind: Kind, period: usize) -> Self {
        let shape = Shape::of(period);
        let terms = period as f64;
        let divisor = match kind {
            Kind::Sma => terms,
            Kind::Wma => terms * (terms + 1.0) / 2.0,
        };
        Self {
            kind,
            period,
            inverse: 1.0 / divisor,
            shape,
            ramp: (0..=period).map(|k| k as f64).collect(),
            rows: vec![Row::ZERO; shape.block + LANES],
            filled: 0,
            tails: vec![Row::ZERO; shape.kept() * shape.block],
            plain: vec![Row::ZERO; shape.kept()],
            weighted: vec![Row::ZERO; shape.kept()],
            newest: 0,
            tail: 0,
            wait: 0,
            left: 0,
            head_plain: Row::ZERO,
            head_weighted: Row::ZERO,
        }
    }

    #[inline(always)]
    fn weighted_means<L: Lanes>(&mut self, simd: L, input: &Vectors<L>) -> Vectors<L> {
        let (block, left) = (self.shape.block, self.left);
        let tails = group(&self.tails, self.tail * block + left);
        let weights = eight(&self.ramp, self.period - block + left);
        let stays = eight(&self.ramp, block - left + 1 - LANES);
        let inverse = simd.splat(self.inverse);
        let mut plain = simd.load(&self.head_plain.0);
        let mut weighted = simd.load(&self.head_weighted.0);
        let mut out = *input;
        // two rows a step, the pair summed apart: a step then waits for one addition, not two
        for first in (0..LANES).step_by(2) {
            let second = first + 1;
            let [x, y] = [input[first], input[second]];
            let p = simd.mul(simd.splat(weights[first]), x);
            let q = simd.mul(simd.splat(weights[second]), y);
            let heads = [simd.add(plain, x), simd.add(plain, simd.add(x, y))];
            let ramps = [simd.add(weighted, p), simd.add(weighted, simd.add(p, q))];
            [plain, weighted] = [heads[1], ramps[1]];
            for (row, (head, ramp)) in (first..).zip(heads.into_iter().zip(ramps)) {
                let lift = simd.mul(simd.splat(stays[LANES - 1 - row]), head);
                let sum = simd.add(simd.load(&tails[row].0), simd.add(ramp, lift));
                out[row] = simd.mul(sum, inverse);
            }
        }
        simd.store(plain, &mut self.head_plain.0);
        simd.store(weighted, &mut self.head_weighted.0);
        out
    }

    #[inline(always)]
    fn plain_means<L: Lanes>(&mut self, simd: L, input: &Vectors<L>) -> Vectors<L> {
        let tails = group(&self.tails, self.tail * self.shape.block + self.left);
        let inverse = simd.splat(self.inverse);
        let mut plain = simd.load(&self.head_plain.0);
        let mut out = *input;
        for first in (0..LANES).step_by(2) {
            let [x, y] = [input[first], input[first + 1]];
            let heads = [simd.add(plain, x), simd.add(plain, simd.add(x, y))];
            plain = heads[1];
            for (row, head) in (first..).zip(heads) {
                let sum = simd.add(simd.load(&tails[row].0), head);
                out[row] = simd.mul(sum, inverse);
            }
        }
        simd.store(plain, &mut self.head_plain.0);
        out
    }

    /// Moves on to the next block's tail: the head is now what came after that block, summed anew, oldest first.
    #[inline(always)]
    fn start_head<L: Lanes>(&mut self, simd: L) {
        let Shape { block, whole, rest } = self.shape;
        let kept = self.shape.kept();
        self.tail = next(self.tail, kept);
        self.left = 0;
        let (mut plain, mut weighted) = (simd.splat(0.0), simd.splat(0.0));
        let mut place = self.tail;
        for part in 0..whole {
            place = next(place, kept);
            let sum = simd.load(&self.plain[place].0);
            let lift = simd.mul(simd.splat(self.ramp[part * block]), sum);
            weighted = simd.add(weighted, simd.add(simd.load(&self.weighted[place].0), lift));
            plain = simd.add(plain, sum);
        }
        for (row, &weight) in self.rows[..rest]
            .iter()
            .zip(&self.ramp[whole * block + 1..])
        {
            let x = simd.load(&row.0);
            plain = simd.add(plain, x);
            weighted = simd.add(weighted, simd.mul(simd.splat(weight), x));
        }
        simd.store(plain, &mut self.head_plain.0);
        simd.store(weighted, &mut self.head_weighted.0);
    }

    /// Sums a full block backwards, and starts the next one with the rows that are left over.
    #[inline(always)]
    fn close<L: Lanes>(&mut self, simd: L) {
        let block = self.shape.block;
        let tails = &mut self.tails[self.newest * block..][..block];
        let (plain, weighted) = match self.kind {
            Kind::Sma => plain_tails(simd, &self.rows[..block], tails),
            Kind::Wma => weighted_tails(simd, &self.rows[..block], tails),
        };
        simd.store(plain, &mut self.plain[self.newest].0);
        simd.store(weighted, &mut self.weighted[self.newest].0);
        self.newest = next(self.newest, self.shape.kept());
        self.filled -= block;
        let (rows, more) = self.rows.split_at_mut(block);
        for (row, kept) in more[..self.filled].iter().zip(rows) {
            simd.store(simd.load(&row.0), &mut kept.0);
        }
    }
}

impl Node for Window {
    fn restart(&mut self) {
        // The first block may begin up to seven rows before the stream; no window that holds such a row is ever asked
        // for, so whatever lies there does no harm.
        self.filled = (self.period - 1) % LANES;
        self.wait = (self.period - 1) / LANES;
        self.newest = 0;
        // the first head advances to block 0
        self.tail = self.shape.kept() - 1;
        self.left = self.shape.block;
    }

    #[inline(always)]
    fn take<L: Lanes>(&mut self, simd: L, input: Vectors<L>) -> Vectors<L> {
        let mut out = input;
        if self.wait == 0 {
            if self.left == self.shape.block {
                self.start_head(simd);
            }
            out = match self.kind {
                Kind::Sma => self.plain_means(simd, &input),
                Kind::Wma => self.weighted_means(simd, &input),
            };
            self.left += LANES;
        } else {
            self.wait -= 1;
        }
        store_group(simd, input, group_mut(&mut self.rows, self.filled));
        self.filled += LANES;
        if self.filled >= self.shape.block {
            self.close(simd);
        }
        out
    }
}

/// The next place in a ring.
fn next(place: usize, places: usize) -> usize {
    if place + 1 == places { 0 } else { place + 1 }
}

/// Sums backwards, two rows a step: the pair is summed apart, so that a step waits for one addition, not two.
#[inline(always)]
fn weighted_tails<L: Lanes>(simd: L, block: &[Row], tails: &mut [Row]) -> (L::Vector, L::Vector) {
    let (mut plain, mut weighted) = (simd.splat(0.0), simd.splat(0.0));
    let (pairs, _) = block.as_chunks::<2>();
    let (tails, _) = tails.as_chunks_mut::<2>();
    for ([older, newer], [first, second]) in pairs.iter().zip(tails).rev() {
        let newer = simd.load(&newer.0);
        let one = simd.add(plain, newer);
        plain = simd.add(plain, simd.add(newer, simd.load(&older.0)));
        simd.store(simd.add(weighted, one), &mut second.0);
        weighted = simd.add(weighted, simd.add(one, plain));
        simd.store(weighted, &mut first.0);
    }
    (plain, weighted)
}

/// The same for sums without weights.
#[inline(always)]
fn plain_tails<L: Lanes>(simd: L, block: &[Row], tails: &mut [Row]) -> (L::Vector, L::Vector) {
    let mut plain = simd.splat(0.0);
    let (pairs, _) = block.as_chunks::<2>();
    let (tails, _) = tails.as_chunks_mut::<2>();
    for ([older, newer], [first, second]) in pairs.iter().zip(tails).rev() {
        let newer = simd.load(&newer.0);
        simd.store(simd.add(plain, newer), &mut second.0);
        plain = simd.add(plain, simd.add(newer, simd.load(&older.0)));
        simd.store(plain, &mut first.0);
    }
    (plain, simd.splat(0.0))
}
