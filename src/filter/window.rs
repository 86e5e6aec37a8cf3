//! One windowed mean over eight lanes, at a constant cost a bar, from sums that never leave their window.
//!
//! The rows of a lane are cut into blocks of one group. Each window is the tail of one block, the whole blocks after
//! it, and the head of the newest. Sums grow backwards over a block for the tails and forwards for the heads, while its
//! rows are in registers; sums of whole blocks come from `blocks.rs`. Nothing is ever subtracted: the error is that of a
//! direct sum, it cannot grow with the length of the series, a spike leaves no trace once it has left the window, and
//! NaN is returned exactly while it is inside.
//! (The two-sided scheme of van Herk 1992 and Gil and Werman 1993, there for maxima, here with several blocks a window.)

use super::blocks::{Blocks, Pair, append};
use super::group::{Node, Vectors};
use super::lanes::{LANES, Lanes, Row};
use super::scratch::Scratch;
use super::whole;

/// The last row of a group.
const LAST: usize = LANES - 1;

/// Which mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Sma,
    Wma,
}

/// The sums of a block from each row to its last, then the plain sum of all.
type Block = [Row; LANES + 1];

/// The state of one windowed mean of more than `LANES` bars.
#[derive(Debug)]
pub(super) struct Window {
    kind: Kind,
    inverse: f64,
    /// The weights of a group's rows, over the divisor.
    weights: [f64; LANES],
    /// What the plain sum of each row's head is lifted by: the bars before it in the row's window, over the divisor.
    lifts: [f64; LANES],
    /// Rows of a group whose windows reach into the oldest block.
    over: usize,
    /// The bars of a window in that block, by row.
    left: [f64; LANES],
    /// The bars in the blocks that every window of a group holds.
    whole_bars: f64,
    /// A ring of blocks, as far back as a window reaches.
    ring: Scratch,
    /// The place of the next block in it.
    newest: usize,
    /// The sums of these blocks.
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
        let level = level(over);
        Self {
            kind,
            inverse,
            weights: std::array::from_fn(|row| (period + row - level) as f64 * inverse),
            lifts: std::array::from_fn(|row| level.saturating_sub(row) as f64 * inverse),
            over,
            left: std::array::from_fn(|row| over.saturating_sub(row) as f64),
            ring: Scratch::new((back + 2) * (LANES + 1)),
            newest: 0,
            whole: Blocks::new(whole),
            whole_bars: (whole * LANES) as f64,
        }
    }

    // The sums of the heads go up the rows and those for the tails down, side by side: either is a chain of additions
    // that wait for each other.
    #[inline(always)]
    fn weighted_means<L: Lanes>(&mut self, simd: L, input: &Vectors<L>, over: usize) -> Vectors<L> {
        let level = level(over);
        let inverse = simd.splat(self.inverse);
        let whole = self.whole.sums(simd);
        let [newest, oldest, next] = advance(&mut self.ring, &mut self.newest);
        // what lengthens a tail: the next block's sum from 1, and more for each row before it
        let (next_plain, next_sum) = (simd.load(&next[LANES].0), simd.load(&next[0].0));
        let [mut plain, weighted] = start(simd, next, over, whole);
        let mut weighted = simd.mul(weighted, inverse);
        let mut out = *input;
        let mut block = [input[LAST]; 2];
        simd.store(block[1], &mut newest[LAST].0);
        for row in 0..LANES {
            if row < LAST {
                let older = LAST - 1 - row;
                block = grow(simd, block, input[older], &mut newest[older]);
            }
            if row > level {
                // the last row: by now the block is summed
                let later = append(simd, whole, self.whole_bars, block);
                let tail = [simd.load(&next[row - over].0); 2];
                let [_, window] = append(simd, tail, (over + 1) as f64, later);
                out[row] = simd.mul(window, inverse);
                break;
            }
            plain = simd.add(plain, input[row]);
            weighted = simd.mul_add(simd.splat(self.weights[row]), input[row], weighted);
            out[row] = weighted;
            if row < level {
                out[row] = simd.mul_add(simd.splat(self.lifts[row]), plain, weighted);
            }
            if row < over || level > LAST {
                let mut tail = simd.load(&tail(oldest, next, over, row).0);
                if row < over && level > LAST {
                    let longer = simd.mul_add(simd.splat(self.left[row]), next_plain, next_sum);
                    tail = simd.add(tail, longer);
                }
                out[row] = simd.mul_add(tail, inverse, out[row]);
            }
        }
        simd.store(block[0], &mut newest[LANES].0);
        self.whole.push(simd, block);
        out
    }

    #[inline(always)]
    fn plain_means<L: Lanes>(&mut self, simd: L, input: &Vectors<L>) -> Vectors<L> {
        let over = self.over;
        let inverse = simd.splat(self.inverse);
        let [mut plain, _] = self.whole.sums(simd);
        let [newest, oldest, next] = advance(&mut self.ring, &mut self.newest);
        let next_plain = simd.load(&next[LANES].0);
        let mut out = *input;
        let mut sum = input[LAST];
        simd.store(sum, &mut newest[LAST].0);
        for row in 0..LANES {
            if row < LAST {
                let older = LAST - 1 - row;
                sum = simd.add(sum, input[older]);
                simd.store(sum, &mut newest[older].0);
            }
            plain = simd.add(plain, input[row]);
            if ends_meet(over) && row == over {
                out[row] = simd.mul(plain, inverse);
                break;
            }
            let mut tail = simd.load(&tail(oldest, next, over, row).0);
            if row < over && !ends_meet(over) {
                tail = simd.add(tail, next_plain);
            }
            out[row] = simd.mul(simd.add(tail, plain), inverse);
        }
        simd.store(sum, &mut newest[LANES].0);
        self.whole.push(simd, [sum; 2]);
        out
    }
}

/// Whether windows that end with a block begin with one. Then the last row's has no tail, and the block after the oldest is
/// whole to every row.
const fn ends_meet(over: usize) -> bool {
    over == LAST
}

/// The row whose window begins where the weighted sums of the heads do: the sums of the rows before it are lifted, its own is
/// the mean. If five or six rows reach over the oldest block, the sums begin in the next one, at its second or first row,
/// and the last row, whose window begins later, is summed by itself. Otherwise they begin with the whole blocks: the last
/// row is level with that if seven rows reach over, and none if fewer do, whose tails the next block then lengthens.
const fn level(over: usize) -> usize {
    match over {
        5 | 6 => LAST - 1,
        LAST => LAST,
        _ => LANES + over,
    }
}

/// Moves on in a ring: the block whose sums come next, the oldest that a window may hold, and the one after that.
#[inline(always)]
fn advance<'a>(ring: &'a mut Scratch, newest: &mut usize) -> [&'a mut Block; 3] {
    let (blocks, _) = ring.as_chunks_mut();
    let after = |place: usize| {
        if place + 1 == blocks.len() {
            0
        } else {
            place + 1
        }
    };
    let oldest = after(*newest);
    let places = [*newest, oldest, after(oldest)];
    *newest = oldest;
    blocks
        .get_disjoint_mut(places)
        .expect("a ring has three blocks or more")
}

/// What the weighted sums of the heads go on from: the whole blocks, with the one after the oldest where a row is level.
#[inline(always)]
fn start<L: Lanes>(simd: L, next: &Block, over: usize, whole: Pair<L>) -> Pair<L> {
    let level = level(over);
    if level >= LAST {
        return whole;
    }
    let joined = [&next[LANES], &next[level - over]].map(
        #[inline(always)]
        |row| simd.load(&row.0),
    );
    append(simd, joined, (LANES + over - level) as f64, whole)
}

/// The sums of the tail of a row's window: from one of the oldest block's last rows on, or from one of the next block's.
#[inline(always)]
fn tail<'a>(oldest: &'a Block, next: &'a Block, over: usize, row: usize) -> &'a Row {
    if row < over {
        &oldest[LANES - over + row]
    } else {
        &next[row - over]
    }
}

/// Adds the bar before those that were summed, plain and weighted, and keeps the weighted sum.
#[inline(always)]
fn grow<L: Lanes>(simd: L, sums: Pair<L>, bar: L::Vector, kept: &mut Row) -> Pair<L> {
    let plain = simd.add(sums[0], bar);
    let weighted = simd.add(sums[1], plain);
    simd.store(weighted, &mut kept.0);
    [plain, weighted]
}

impl Node for Window {
    #[inline(always)]
    fn take<L: Lanes>(&mut self, simd: L, input: Vectors<L>) -> Vectors<L> {
        match self.kind {
            Kind::Sma => self.plain_means(simd, &input),
            Kind::Wma => match self.over {
                // known to the compiler, as these have other steps than the rest
                7 => self.weighted_means(simd, &input, 7),
                6 => self.weighted_means(simd, &input, 6),
                5 => self.weighted_means(simd, &input, 5),
                // at most four, which the compiler cannot see
                over => self.weighted_means(simd, &input, over.min(4)),
            },
        }
    }

    #[inline(always)]
    fn pass<L: Lanes>(&mut self, simd: L, input: Vectors<L>) {
        let [newest, ..] = advance(&mut self.ring, &mut self.newest);
        let mut block = [input[LAST]; 2];
        simd.store(block[1], &mut newest[LAST].0);
        for row in (0..LAST).rev() {
            let before = match self.kind {
                Kind::Sma => [block[0], simd.splat(0.0)],
                Kind::Wma => block,
            };
            block = grow(simd, before, input[row], &mut newest[row]);
        }
        simd.store(block[0], &mut newest[LANES].0);
        self.whole.push(simd, block);
    }

    fn take_all<L: Lanes>(&mut self, simd: L, lanes: [&[f64]; LANES], outs: [&mut [f64]; LANES]) {
        match (self.kind, self.over) {
            (Kind::Sma, _) => whole::run(simd, &mut Simple(self), lanes, outs),
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

/// A simple mean, so that no group has to ask.
struct Simple<'a>(&'a mut Window);

impl Node for Simple<'_> {
    #[inline(always)]
    fn take<L: Lanes>(&mut self, simd: L, input: Vectors<L>) -> Vectors<L> {
        self.0.plain_means(simd, &input)
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
