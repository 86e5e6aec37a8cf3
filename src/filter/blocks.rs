//! Sums over the newest whole blocks of each lane: few of them one by one, many by the scheme of `window.rs` once more.

use super::lanes::{LANES, Lanes, Row};

/// The plain sum of some bars, and their sum with the weights 1, 2, ... from the oldest.
type Sums = [Row; 2];

/// Up to here, a sum block by block takes less than heads and tails, which cost the same however many there are.
const FEW: usize = 7;

/// The state of a window of `count` blocks.
#[derive(Debug, Clone)]
pub(super) struct Blocks {
    count: usize,
    /// The newest blocks, a ring; twice in a row if they are few, so that they can be summed in order.
    blocks: Vec<Sums>,
    /// The place of the next block in the ring, which is that of the oldest.
    place: usize,
    /// Otherwise: the sums of the last blocks of the ring as it was when it last began anew, by how many are left out,
    tails: Vec<Sums>,
    /// and of those that came since.
    head: Sums,
    /// Bars before each block.
    bars: Vec<f64>,
}

impl Blocks {
    pub(super) fn new(count: usize) -> Self {
        let zeros = vec![[Row::ZERO; 2]; count];
        Self {
            count,
            blocks: if count > FEW {
                zeros.clone()
            } else {
                zeros.repeat(2)
            },
            place: 0,
            tails: if count > FEW { zeros } else { Vec::new() },
            head: [Row::ZERO; 2],
            bars: (0..=count).map(|block| (block * LANES) as f64).collect(),
        }
    }

    /// Starts anew. What is kept belongs to windows that began before, which are never asked for, but for the head.
    pub(super) fn restart(&mut self) {
        self.place = 0;
        self.head = [Row::ZERO; 2];
    }

    /// Blocks of a run: where the runs begin decides how their sums are made.
    pub(super) fn run(&self) -> usize {
        if self.count > FEW { self.count } else { 1 }
    }

    /// The sums over the newest blocks.
    #[inline(always)]
    pub(super) fn sums<L: Lanes>(&self, simd: L) -> [L::Vector; 2] {
        if self.count > FEW {
            let [plain, weighted] = load(simd, &self.tails[self.place]);
            let head = load(simd, &self.head);
            let before = simd.splat(self.bars[self.count - self.place]);
            let weighted = simd.add(weighted, head[1]);
            return [
                simd.add(plain, head[0]),
                simd.mul_add(before, head[0], weighted),
            ];
        }
        let mut sums = [simd.splat(0.0); 2];
        let blocks = &self.blocks[self.place..][..self.count];
        for (block, &before) in blocks.iter().zip(&self.bars) {
            sums = append(simd, sums, before, load(simd, block));
        }
        sums
    }

    /// Takes the next block.
    #[inline(always)]
    pub(super) fn push<L: Lanes>(&mut self, simd: L, block: [L::Vector; 2]) {
        if self.count == 0 {
            return;
        }
        store(simd, block, &mut self.blocks[self.place]);
        if self.count > FEW {
            let head = load(simd, &self.head);
            let head = append(simd, head, self.bars[self.place], block);
            store(simd, head, &mut self.head);
        } else {
            store(simd, block, &mut self.blocks[self.place + self.count]);
        }
        self.place += 1;
        if self.place == self.count {
            self.place = 0;
            if self.count > FEW {
                self.turn(simd);
            }
        }
    }

    /// Makes the full ring the tails, summed backwards, and begins a new head.
    #[inline(always)]
    fn turn<L: Lanes>(&mut self, simd: L) {
        let bars = simd.splat(LANES as f64);
        let mut sums = [simd.splat(0.0); 2];
        for (block, tail) in self.blocks.iter().zip(&mut self.tails).rev() {
            let block = load(simd, block);
            let weighted = simd.mul_add(bars, sums[0], block[1]);
            sums = [simd.add(sums[0], block[0]), simd.add(sums[1], weighted)];
            store(simd, sums, tail);
        }
        self.head = [Row::ZERO; 2];
    }
}

/// Adds a block that lies `before` bars after the oldest one.
#[inline(always)]
fn append<L: Lanes>(
    simd: L,
    sums: [L::Vector; 2],
    before: f64,
    block: [L::Vector; 2],
) -> [L::Vector; 2] {
    let weighted = simd.mul_add(simd.splat(before), block[0], block[1]);
    [simd.add(sums[0], block[0]), simd.add(sums[1], weighted)]
}

#[inline(always)]
fn load<L: Lanes>(simd: L, [plain, weighted]: &Sums) -> [L::Vector; 2] {
    [simd.load(&plain.0), simd.load(&weighted.0)]
}

#[inline(always)]
fn store<L: Lanes>(simd: L, sums: [L::Vector; 2], [plain, weighted]: &mut Sums) {
    simd.store(sums[0], &mut plain.0);
    simd.store(sums[1], &mut weighted.0);
}
