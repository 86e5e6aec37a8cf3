//! Eight rows of eight lanes at a time: the step in which everything here works.

use super::lanes::{LANES, Lanes, Row};
use super::whole;

/// One group of rows in memory.
pub(super) type Group = [Row; LANES];

/// One group of rows in registers.
pub(super) type Vectors<L> = [<L as Lanes>::Vector; LANES];

/// A function of one stream of groups that looks back only.
pub(super) trait Node: Sized {
    /// Whether its work leaves room in wide registers for the values of the group before.
    const IS_SMALL: bool = true;

    /// Whether it is worth loops of its own for groups that lie across what memory takes at once.
    const MAY_SHIFT: bool = false;

    /// Takes the next group and returns its values; those of windows that began before the stream are meaningless.
    fn take<L: Lanes>(&mut self, simd: L, input: Vectors<L>) -> Vectors<L>;

    /// Takes the next group where nobody asks for its values.
    #[inline(always)]
    fn pass<L: Lanes>(&mut self, simd: L, input: Vectors<L>) {
        self.take(simd, input);
    }

    /// Computes as many groups as `outs` has room for: see [`whole::run`].
    fn take_all<L: Lanes>(&mut self, simd: L, lanes: [&[f64]; LANES], outs: [&mut [f64]; LANES]) {
        whole::run(simd, self, lanes, outs);
    }
}

/// The rows from `at` on.
#[inline(always)]
pub(super) fn group_mut(rows: &mut [Row], at: usize) -> &mut Group {
    rows[at..]
        .first_chunk_mut()
        .expect("buffers hold whole groups")
}

#[inline(always)]
pub(super) fn load_group<L: Lanes>(simd: L, group: &Group) -> Vectors<L> {
    let row = |index: usize| simd.load(&group[index].0);
    [
        row(0),
        row(1),
        row(2),
        row(3),
        row(4),
        row(5),
        row(6),
        row(7),
    ]
}

#[inline(always)]
pub(super) fn store_group<L: Lanes>(simd: L, vectors: Vectors<L>, group: &mut Group) {
    for (vector, row) in vectors.into_iter().zip(group) {
        simd.store(vector, &mut row.0);
    }
}
