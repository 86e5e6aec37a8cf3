//! Sums over the newest whole blocks of each lane: few of them one by one, many from runs of blocks, as `window.rs` sums
//! bars from blocks.

use super::lanes::{LANES, Lanes, Row};
use super::scratch::Scratch;

/// The plain sum of some bars, and their sum with the weights 1, 2, ... from the oldest.
type Sums = [Row; 2];

/// The same in registers.
pub(super) type Pair<L> = [<L as Lanes>::Vector; 2];

/// Blocks of the longest run. Streams that start so many blocks apart, or a multiple, sum windows at the same place alike.
pub(super) const RUN: usize = 16;

/// Blocks of the shortest run, and the fewest that are summed by runs.
const SHORT_RUN: usize = 4;

/// The state of a window of whole blocks.
#[derive(Debug)]
pub(super) enum Blocks {
    Few(Few),
    Many(Box<Many>),
}

impl Blocks {
    pub(super) fn new(count: usize) -> Self {
        if count < SHORT_RUN {
            Self::Few(Few::new(count))
        } else {
            Self::Many(Box::new(Many::new(count)))
        }
    }

    /// The sums over the newest blocks.
    #[inline(always)]
    pub(super) fn sums<L: Lanes>(&self, simd: L) -> Pair<L> {
        match self {
            Self::Few(few) => few.sums(simd),
            Self::Many(many) => many.sums(simd),
        }
    }

    /// Takes the next block.
    #[inline(always)]
    pub(super) fn push<L: Lanes>(&mut self, simd: L, block: Pair<L>) {
        match self {
            Self::Few(few) => few.push(simd, block),
            Self::Many(many) => many.push(simd, block),
        }
    }
}

/// Fewer blocks than a run.
#[derive(Debug)]
pub(super) struct Few {
    count: usize,
    /// The newest blocks, a ring, twice in a row: so they can be summed in order.
    blocks: Vec<Sums>,
    /// The place of the next block in the ring, which is that of the oldest.
    place: usize,
}

impl Few {
    fn new(count: usize) -> Self {
        Self {
            count,
            blocks: vec![[Row::ZERO; 2]; 2 * count],
            place: 0,
        }
    }

    #[inline(always)]
    fn sums<L: Lanes>(&self, simd: L) -> Pair<L> {
        let mut sums = [simd.splat(0.0); 2];
        let blocks = &self.blocks[self.place..][..self.count];
        let mut before = 0.0;
        for block in blocks {
            sums = append(simd, sums, before, load(simd, block));
            before += LANES as f64;
        }
        sums
    }

    #[inline(always)]
    fn push<L: Lanes>(&mut self, simd: L, block: Pair<L>) {
        if self.count == 0 {
            return;
        }
        store(simd, block, &mut self.blocks[self.place]);
        store(simd, block, &mut self.blocks[self.place + self.count]);
        self.place += 1;
        if self.place == self.count {
            self.place = 0;
        }
    }
}

/// A run of blocks or more: the window is a tail, as many whole runs as every window has, and the head of the newest run.
/// The tail is what is left: a run and the odd blocks at first, and one block less with each block of the head. So of the
/// tails that end where a run does, as many as it has blocks are wanted, in turn, from the longest on.
#[derive(Debug)]
pub(super) struct Many {
    /// Blocks of a run.
    length: usize,
    /// Odd blocks: those of a window that are left when it is cut into runs.
    extra: usize,
    /// Runs that are whole in every window.
    whole: usize,
    /// A ring of runs: the tails that end with each, from the longest on. Behind those that reach into the run before is the
    /// run itself.
    tails: Scratch,
    /// The place of the oldest run, whose tails the windows have now,
    run: usize,
    /// and that of the next window's tail.
    place: usize,
    /// The blocks of the newest run and of the one before, by turns in either half.
    blocks: [Sums; 2 * RUN],
    /// Where the half of the newest run begins,
    half: usize,
    /// and its blocks so far.
    filled: usize,
    /// By these, the bars in the tail, and in the whole runs and the newest one.
    bars: [[f64; 2]; RUN],
    /// The sums of the whole runs and of these blocks.
    later: Sums,
}

impl Many {
    fn new(count: usize) -> Self {
        let mut length = RUN;
        while length > count {
            length /= 2;
        }
        let runs = count / length;
        let (extra, whole) = (count % length, runs - 1);
        let bars = |blocks: usize| (blocks * LANES) as f64;
        Self {
            length,
            extra,
            whole,
            tails: Scratch::new(runs * length * 2),
            run: 0,
            place: 0,
            blocks: [[Row::ZERO; 2]; 2 * RUN],
            half: 0,
            filled: 0,
            bars: std::array::from_fn(|filled| {
                let tail = (length + extra).saturating_sub(filled);
                [tail, whole * length + filled].map(bars)
            }),
            later: [Row::ZERO; 2],
        }
    }

    #[inline(always)]
    fn sums<L: Lanes>(&self, simd: L) -> Pair<L> {
        let (tails, _) = self.tails.as_chunks();
        let tail = load(simd, &tails[self.place]);
        let [bars, _] = self.bars[self.filled % RUN];
        append(simd, tail, bars, load(simd, &self.later))
    }

    #[inline(always)]
    fn push<L: Lanes>(&mut self, simd: L, block: Pair<L>) {
        let place = (self.half + self.filled) % (2 * RUN);
        store(simd, block, &mut self.blocks[place]);
        let [_, bars] = self.bars[self.filled % RUN];
        let later = append(simd, load(simd, &self.later), bars, block);
        store(simd, later, &mut self.later);
        self.filled += 1;
        self.place += 1;
        if self.filled == self.length {
            self.turn(simd);
        }
    }

    /// Makes the tails that end with the full run, sums the whole runs of the next windows, and begins a new run.
    #[inline(always)]
    fn turn<L: Lanes>(&mut self, simd: L) {
        let (length, extra) = (self.length, self.extra);
        let (tails, _) = self.tails.as_chunks_mut();
        let tails: &mut [Sums] = &mut tails[self.run * length..][..length];
        let (longer, shorter) = tails.split_at_mut(extra);
        let full = &self.blocks[self.half..][..length];
        let before = &self.blocks[RUN - self.half..][..length];
        let (older, newer) = full.split_at(length - extra);
        let mut sums = zero(simd);
        // tails that short are never wanted
        for block in newer.iter().rev() {
            sums = prepend(simd, load(simd, block), sums);
        }
        for (block, tail) in older.iter().zip(shorter).rev() {
            sums = prepend(simd, load(simd, block), sums);
            store(simd, sums, tail);
        }
        for (block, tail) in before[length - extra..].iter().zip(longer).rev() {
            sums = prepend(simd, load(simd, block), sums);
            store(simd, sums, tail);
        }
        self.half = RUN - self.half;
        self.run = self.after(self.run);
        self.place = self.run * length;
        self.filled = 0;
        let later = self.whole_runs(simd);
        store(simd, later, &mut self.later);
    }

    /// The sums of all runs but the oldest.
    #[inline(always)]
    fn whole_runs<L: Lanes>(&self, simd: L) -> Pair<L> {
        let (tails, _) = self.tails.as_chunks();
        let mut sums = zero(simd);
        let mut run = self.run;
        for index in 0..self.whole {
            run = self.after(run);
            let before = (index * self.length * LANES) as f64;
            sums = append(
                simd,
                sums,
                before,
                load(simd, &tails[run * self.length + self.extra]),
            );
        }
        sums
    }

    /// The place after another in the ring.
    fn after(&self, run: usize) -> usize {
        if run == self.whole { 0 } else { run + 1 }
    }
}

#[inline(always)]
fn zero<L: Lanes>(simd: L) -> Pair<L> {
    [simd.splat(0.0); 2]
}

/// Adds what lies `before` bars after the oldest bar.
#[inline(always)]
pub(super) fn append<L: Lanes>(simd: L, sums: Pair<L>, before: f64, later: Pair<L>) -> Pair<L> {
    let weighted = simd.mul_add(simd.splat(before), later[0], later[1]);
    [simd.add(sums[0], later[0]), simd.add(sums[1], weighted)]
}

/// Adds a block before the oldest bar.
#[inline(always)]
fn prepend<L: Lanes>(simd: L, block: Pair<L>, sums: Pair<L>) -> Pair<L> {
    // the sum that waits for the block before comes last
    let weighted = simd.mul_add(simd.splat(LANES as f64), sums[0], block[1]);
    [simd.add(sums[0], block[0]), simd.add(sums[1], weighted)]
}

#[inline(always)]
fn load<L: Lanes>(simd: L, [plain, weighted]: &Sums) -> Pair<L> {
    [simd.load(&plain.0), simd.load(&weighted.0)]
}

#[inline(always)]
fn store<L: Lanes>(simd: L, sums: Pair<L>, [plain, weighted]: &mut Sums) {
    simd.store(sums[0], &mut plain.0);
    simd.store(sums[1], &mut weighted.0);
}
