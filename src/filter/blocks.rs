//! Sums over the newest whole blocks of each lane: few of them one by one, many from runs of eight, as `window.rs` sums
//! bars from blocks.

use super::lanes::{LANES, Lanes, Row};
use super::scratch::Scratch;

/// The plain sum of some bars, and their sum with the weights 1, 2, ... from the oldest.
type Sums = [Row; 2];

/// The same in registers.
type Pair<L> = [<L as Lanes>::Vector; 2];

/// Blocks of the longest run. Streams that start so many blocks apart, or a multiple, sum windows at the same place alike.
pub(super) const RUN: usize = 16;

/// Blocks of a run in windows of fewer than `LONG` blocks, and the fewest that are summed by runs.
const SHORT_RUN: usize = 8;

/// Blocks of a window from which on long runs pay: so many whole runs are summed with each new one.
const LONG: usize = 2 * RUN;

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

    /// Starts anew. What is kept belongs to windows that began before, which are never asked for, but for the head.
    pub(super) fn restart(&mut self) {
        match self {
            Self::Few(few) => few.place = 0,
            Self::Many(many) => many.restart(),
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

/// A run of blocks or more: the window is the tail of one run, some whole runs, and the head of the newest.
#[derive(Debug)]
pub(super) struct Many {
    /// A ring of runs. Of a full one the sums of its last blocks, by how many are left out; of the newest its blocks.
    runs: Scratch,
    /// Blocks of a run.
    length: usize,
    /// Runs in the ring.
    count: usize,
    /// The place of the newest run in the ring.
    run: usize,
    /// Its blocks so far,
    filled: usize,
    /// the bars in them,
    bars: f64,
    /// and their sums.
    head: Sums,
    /// The window by the blocks of the newest run.
    cuts: [Cut; RUN],
    /// Whole runs of a window, without the one that only those with the shorter tail hold.
    others: usize,
    /// The run of the tail and the sums of the whole runs: of windows with the longer tail, and with the shorter.
    parts: [(usize, Sums); 2],
}

/// How a window over blocks lies in the runs.
#[derive(Debug, Clone, Copy)]
struct Cut {
    /// Which of the two `parts` it has.
    part: usize,
    /// Blocks of the tail's run that are left out, at least one block is not.
    left_out: usize,
    /// Bars before the whole runs,
    before_whole: f64,
    /// and before the head.
    before_head: f64,
}

impl Cut {
    /// For `count` blocks in runs of `length`, of which the newest has `filled` blocks, fewer than either.
    fn new(count: usize, length: usize, filled: usize) -> Self {
        let tail = (count - filled - 1) % length + 1;
        Self {
            part: usize::from(filled < count % length),
            left_out: length - tail,
            before_whole: (tail * LANES) as f64,
            before_head: ((count - filled) * LANES) as f64,
        }
    }
}

impl Many {
    fn new(count: usize) -> Self {
        let length = if count < LONG { SHORT_RUN } else { RUN };
        let runs = count / length + 2;
        // a short run is never filled beyond its length
        let cut = |filled: usize| Cut::new(count, length, filled.min(length - 1));
        let mut many = Self {
            length,
            count: runs,
            runs: Scratch::new(runs * length * 2),
            run: 0,
            filled: 0,
            bars: 0.0,
            head: [Row::ZERO; 2],
            cuts: std::array::from_fn(cut),
            others: count / length - 1,
            parts: [(0, [Row::ZERO; 2]); 2],
        };
        many.restart();
        many
    }

    fn restart(&mut self) {
        self.run = 0;
        self.clear();
        self.parts[1].0 = self.after(0);
        self.parts[0].0 = self.after(self.after(0));
    }

    /// Begins a new run.
    #[inline(always)]
    fn clear(&mut self) {
        (self.filled, self.bars, self.head) = (0, 0.0, [Row::ZERO; 2]);
    }

    #[inline(always)]
    fn sums<L: Lanes>(&self, simd: L) -> Pair<L> {
        let cut = self.cuts[self.filled % RUN];
        let (run, whole) = &self.parts[cut.part];
        let sums = load(simd, &self.blocks()[run * self.length + cut.left_out]);
        let sums = append(simd, sums, cut.before_whole, load(simd, whole));
        append(simd, sums, cut.before_head, load(simd, &self.head))
    }

    fn blocks(&self) -> &[Sums] {
        self.runs.as_chunks().0
    }

    /// The place after another in the ring.
    fn after(&self, run: usize) -> usize {
        if run + 1 == self.count { 0 } else { run + 1 }
    }

    #[inline(always)]
    fn push<L: Lanes>(&mut self, simd: L, block: Pair<L>) {
        let newest = self.run * self.length + self.filled;
        store(simd, block, &mut self.runs.as_chunks_mut().0[newest]);
        let head = append(simd, load(simd, &self.head), self.bars, block);
        store(simd, head, &mut self.head);
        self.filled += 1;
        self.bars += LANES as f64;
        if self.filled == self.length {
            self.turn(simd);
        }
    }

    /// Makes the full run tails, summed backwards, sums the whole runs of the next windows, and begins a new run.
    #[inline(always)]
    fn turn<L: Lanes>(&mut self, simd: L) {
        let (length, full) = (self.length, self.run * self.length);
        let mut sums = [simd.splat(0.0); 2];
        let blocks: &mut [Sums] = self.runs.as_chunks_mut().0;
        for block in blocks[full..][..length].iter_mut().rev() {
            // as `append`, with the block first
            sums = append(simd, load(simd, block), LANES as f64, sums);
            store(simd, sums, block);
        }
        let oldest = self.after(self.after(self.run));
        self.run = self.after(self.run);
        // the ring from its oldest run on: one for tails only, one that may be whole, the others, the new one
        let mut run = self.after(oldest);
        let first = load(simd, &self.blocks()[run * length]);
        let mut others = [simd.splat(0.0); 2];
        let mut before = 0.0;
        for _ in 0..self.others {
            run = self.after(run);
            others = append(
                simd,
                others,
                before,
                load(simd, &self.blocks()[run * length]),
            );
            before += self.bars;
        }
        let all = append(simd, first, self.bars, others);
        self.parts[0].0 = self.after(oldest);
        self.parts[1].0 = oldest;
        store(simd, others, &mut self.parts[0].1);
        store(simd, all, &mut self.parts[1].1);
        self.clear();
    }
}

/// Adds what lies `before` bars after the oldest bar.
#[inline(always)]
fn append<L: Lanes>(simd: L, sums: Pair<L>, before: f64, later: Pair<L>) -> Pair<L> {
    let weighted = simd.mul_add(simd.splat(before), later[0], later[1]);
    [simd.add(sums[0], later[0]), simd.add(sums[1], weighted)]
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
