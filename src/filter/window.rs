//! One windowed mean over eight lanes, at a constant cost a bar, from sums that never leave their window.
//!
//! The rows of a lane are cut into blocks of one group. Each window is the tail of one block, the whole blocks after
//! it, and the head of the newest. Sums grow backwards over a block for the tails and forwards for the heads, while its
//! rows are in registers; sums of whole blocks come from `blocks.rs`. Nothing is ever subtracted: the error is that of a
//! direct sum, it cannot grow with the length of the series, a spike leaves no trace once it has left the window, and
//! NaN is returned exactly while it is inside.
//! (The two-sided scheme of van Herk 1992 and Gil and Werman 1993, there for maxima, here with several blocks a window.)

use super::blocks::{Blocks, Pair};
use super::group::{Group, Node, Vectors, group, group_mut, load_group, store_group};
use super::lanes::{LANES, Lanes, Row};
use super::scratch::Scratch;
use super::whole;

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
    /// Rows of a group whose windows reach into the oldest block.
    over: usize,
    /// The bars of a window in that block, by row, where its tail goes on over the next one.
    left: [f64; LANES],
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
        let whole = if ends_meet(over) { back } else { back - 1 };
        let tail = period - 1 - whole * LANES;
        Self {
            kind,
            inverse,
            weights: std::array::from_fn(|row| (whole * LANES + 1 + row) as f64 * inverse),
            lifts: std::array::from_fn(|row| (tail - row) as f64 * inverse),
            over,
            left: std::array::from_fn(|row| over.saturating_sub(row) as f64),
            tails: Scratch::new((back + 3) * LANES),
            plain: Scratch::new(back + 2),
            newest: 0,
            whole: Blocks::new(whole),
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

    /// Ends a group: keeps its plain sum, and moves on.
    #[inline(always)]
    fn advance<L: Lanes>(&mut self, simd: L, oldest: usize, sums: Pair<L>) {
        simd.store(sums[0], &mut self.plain[self.newest].0);
        if self.newest == 0 {
            let copy = self.plain.len() * LANES;
            // in registers: a call would send all that is in others to memory, each time round the loop
            let first = load_group(simd, group(&self.tails, 0));
            store_group(simd, first, group_mut(&mut self.tails, copy));
        }
        self.newest = oldest;
        self.whole.push(simd, sums);
    }

    // The sums of the heads go up the rows and those for the tails down, side by side: either is a chain of additions
    // that wait for each other.
    #[inline(always)]
    fn weighted_means<L: Lanes>(&mut self, simd: L, input: &Vectors<L>, over: usize) -> Vectors<L> {
        let [oldest, next] = self.oldest();
        // what lengthens a tail: the next block's sum from 1, and more for each row before it
        let next_plain = simd.load(&self.plain[next].0);
        let next_sum = simd.load(&self.tails[next * LANES].0);
        let inverse = simd.splat(self.inverse);
        let [mut plain, weighted] = self.whole.sums(simd);
        let mut weighted = simd.mul(weighted, inverse);
        let (kept, tails) = places(&mut self.tails, self.newest, oldest, over);
        let mut out = *input;
        let (mut block, mut sum) = (input[LANES - 1], input[LANES - 1]);
        simd.store(sum, &mut kept[LANES - 1].0);
        for row in 0..LANES {
            if row + 1 < LANES {
                let older = LANES - 2 - row;
                block = simd.add(block, input[older]);
                sum = simd.add(sum, block);
                simd.store(sum, &mut kept[older].0);
            }
            plain = simd.add(plain, input[row]);
            weighted = simd.mul_add(simd.splat(self.weights[row]), input[row], weighted);
            if ends_meet(over) && row == over {
                out[row] = weighted;
                break;
            }
            let head = simd.mul_add(simd.splat(self.lifts[row]), plain, weighted);
            let mut tail = simd.load(&tails[row].0);
            if row < over && !ends_meet(over) {
                let next = simd.mul_add(simd.splat(self.left[row]), next_plain, next_sum);
                tail = simd.add(tail, next);
            }
            out[row] = simd.mul_add(tail, inverse, head);
        }
        self.advance(simd, oldest, [block, sum]);
        out
    }

    #[inline(always)]
    fn plain_means<L: Lanes>(&mut self, simd: L, input: &Vectors<L>) -> Vectors<L> {
        let [oldest, next] = self.oldest();
        let next_plain = simd.load(&self.plain[next].0);
        let inverse = simd.splat(self.inverse);
        let [mut plain, _] = self.whole.sums(simd);
        let ends_meet = ends_meet(self.over);
        let (kept, tails) = places(&mut self.tails, self.newest, oldest, self.over);
        let mut out = *input;
        let mut sum = input[LANES - 1];
        simd.store(sum, &mut kept[LANES - 1].0);
        for row in 0..LANES {
            if row + 1 < LANES {
                let older = LANES - 2 - row;
                sum = simd.add(sum, input[older]);
                simd.store(sum, &mut kept[older].0);
            }
            plain = simd.add(plain, input[row]);
            if ends_meet && row == self.over {
                out[row] = simd.mul(plain, inverse);
                break;
            }
            let mut tail = simd.load(&tails[row].0);
            if row < self.over && !ends_meet {
                tail = simd.add(tail, next_plain);
            }
            out[row] = simd.mul(simd.add(tail, plain), inverse);
        }
        self.advance(simd, oldest, [sum; 2]);
        out
    }
}

/// Whether windows that end with a block begin with one. Then the last row's has no tail, and the block after the oldest is
/// whole to every row. Otherwise it is so only to the rows that reach into the oldest, and lengthens their tails.
const fn ends_meet(over: usize) -> bool {
    over == LANES - 1
}

/// Where the sums from each bar of the newest block to its end go, and the tails of a group's windows: the last rows of
/// the oldest block, and all but these of the next one.
#[inline(always)]
fn places(tails: &mut [Row], newest: usize, oldest: usize, over: usize) -> (&mut Group, &Group) {
    let (kept, from) = (newest * LANES, (oldest + 1) * LANES - over);
    if kept < from {
        let (before, after) = tails.split_at_mut(from);
        (group_mut(before, kept), group(after, 0))
    } else {
        let (before, after) = tails.split_at_mut(kept);
        (group_mut(after, 0), group(before, from))
    }
}

impl Node for Window {
    #[inline(always)]
    fn take<L: Lanes>(&mut self, simd: L, input: Vectors<L>) -> Vectors<L> {
        match self.kind {
            Kind::Sma => self.plain_means(simd, &input),
            Kind::Wma => self.weighted_means(simd, &input, self.over),
        }
    }

    #[inline(always)]
    fn pass<L: Lanes>(&mut self, simd: L, input: Vectors<L>) {
        let [oldest, _] = self.oldest();
        let (kept, _) = places(&mut self.tails, self.newest, oldest, self.over);
        let (mut block, mut sum) = (input[LANES - 1], input[LANES - 1]);
        simd.store(sum, &mut kept[LANES - 1].0);
        for row in (0..LANES - 1).rev() {
            block = simd.add(block, input[row]);
            sum = match self.kind {
                Kind::Sma => block,
                Kind::Wma => simd.add(sum, block),
            };
            simd.store(sum, &mut kept[row].0);
        }
        self.advance(simd, oldest, [block, sum]);
    }

    fn take_all<L: Lanes>(&mut self, simd: L, lanes: [&[f64]; LANES], outs: [&mut [f64]; LANES]) {
        match (self.kind, self.over) {
            (Kind::Sma, _) => whole::run(simd, self, lanes, outs),
            (Kind::Wma, 0) => whole::run(simd, &mut Weighted::<0>(self), lanes, outs),
            (Kind::Wma, 1) => whole::run(simd, &mut Weighted::<1>(self), lanes, outs),
            (Kind::Wma, 2) => whole::run(simd, &mut Weighted::<2>(self), lanes, outs),
            (Kind::Wma, 3) => whole::run(simd, &mut Weighted::<3>(self), lanes, outs),
            (Kind::Wma, 4) => whole::run(simd, &mut Weighted::<4>(self), lanes, outs),
            (Kind::Wma, 5) => whole::run(simd, &mut Weighted::<5>(self), lanes, outs),
            (Kind::Wma, 6) => whole::run(simd, &mut Weighted::<6>(self), lanes, outs),
            (Kind::Wma, _) => whole::run(simd, &mut Weighted::<7>(self), lanes, outs),
        }
    }
}

/// A weighted mean whose rows `over` are known to the compiler, so that no row has to ask.
struct Weighted<'a, const OVER: usize>(&'a mut Window);

impl<const OVER: usize> Node for Weighted<'_, OVER> {
    const MAY_SHIFT: bool = true;

    #[inline(always)]
    fn take<L: Lanes>(&mut self, simd: L, input: Vectors<L>) -> Vectors<L> {
        self.0.weighted_means(simd, &input, OVER)
    }
}
