//! The groups that every lane has, and has a place for: where nearly all the time goes.

use pulp::NullaryFnOnce;

use super::group::{Node, Vectors};
use super::lanes::{LANES, Lanes};

/// Outputs between a group that is stored and the line that is fetched meanwhile.
const AHEAD: usize = 3 * LANES;

/// Eight bars or values of one lane.
pub(super) type Eight = [f64; LANES];

/// Computes a group for each place in `outs`; `lanes` has one more. Where registers allow it, its rows are turned while the
/// sums of the group before wait for each other.
pub(super) fn run<L: Lanes, N: Node>(
    simd: L,
    node: &mut N,
    lanes: [&[Eight]; LANES],
    outs: [&mut [Eight]; LANES],
) {
    simd.apart(Run {
        simd,
        node,
        lanes,
        outs,
    });
}

/// The loop, ready to run.
struct Run<'a, L, N> {
    simd: L,
    node: &'a mut N,
    lanes: [&'a [Eight]; LANES],
    outs: [&'a mut [Eight]; LANES],
}

impl<L: Lanes, N: Node> NullaryFnOnce for Run<'_, L, N> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self {
            simd,
            node,
            lanes,
            outs,
        } = self;
        let mut lanes = side_by_side(lanes.map(<[_]>::iter));
        let outs = side_by_side(outs.map(<[_]>::iter_mut));
        let Some(first) = lanes.next() else { return };
        let mut rows = turned(simd, first);
        for (bars, slots) in lanes.zip(outs) {
            let next = (N::LOOKS_AHEAD && L::WIDE).then(
                #[inline(always)]
                || turned(simd, bars),
            );
            let values = simd.transpose(node.take(simd, rows));
            rows = next.unwrap_or_else(
                #[inline(always)]
                || turned(simd, bars),
            );
            // These 64-byte stores may cross cache lines, at twice the time of one within a line; a detour through a
            // buffer that aligns them takes longer still.
            for (vector, slot) in values.into_iter().zip(slots) {
                simd.prefetch(slot.as_ptr().wrapping_add(AHEAD));
                simd.store(vector, slot);
            }
        }
    }
}

/// The rows of a group.
#[inline(always)]
pub(super) fn turned<L: Lanes>(simd: L, bars: [&Eight; LANES]) -> Vectors<L> {
    simd.transpose(bars.map(
        #[inline(always)]
        |bars| simd.load(bars),
    ))
}

/// The next item of each iterator, as long as all have one.
#[inline(always)]
pub(super) fn side_by_side<I: Iterator>(
    [a, b, c, d, e, f, g, h]: [I; LANES],
) -> impl Iterator<Item = [I::Item; LANES]> {
    let lanes = a.zip(b).zip(c).zip(d).zip(e.zip(f).zip(g).zip(h));
    lanes.map(
        #[inline(always)]
        |((((a, b), c), d), (((e, f), g), h))| [a, b, c, d, e, f, g, h],
    )
}
