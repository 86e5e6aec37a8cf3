//! Groups that have a place in the output of every lane, or a spare one: where nearly all the time goes.

use pulp::NullaryFnOnce;

use super::group::{Node, Vectors};
use super::lanes::{LANES, Lanes};

/// Outputs between a group that is stored and the line that is fetched meanwhile.
const AHEAD: usize = 3 * LANES;

/// Eight bars or values of one lane.
pub(super) type Eight = [f64; LANES];

/// Rows by which the groups of loads and stores may lie past the groups of a node.
pub(super) const SHIFT: usize = 2;

/// Rows that the lanes have before the first group.
pub(super) const BEFORE: usize = LANES - SHIFT;

/// Bytes that processors load and store at once, at the least, where registers are wide.
const AT_ONCE: usize = 32;

/// Computes as many groups as the lanes' outputs have room for; `lanes` has `BEFORE` rows before them and `SHIFT` after.
pub(super) fn run<L: Lanes, N: Node>(
    simd: L,
    node: &mut N,
    lanes: [&[f64]; LANES],
    outs: [&mut [f64]; LANES],
) {
    let is_whole = |group: &[f64]| group.as_ptr().addr().is_multiple_of(AT_ONCE);
    let loads = is_whole(lanes[0]);
    let stores = outs[0].get(SHIFT..).is_some_and(is_whole);
    let groups = Groups {
        simd,
        node,
        lanes,
        outs,
    };
    // the first two are known to the compiler, which then makes no more loops than are used
    if !N::IS_SMALL || !L::IS_WIDE {
        simd.apart(EachLoop(groups));
    } else if !N::MAY_SHIFT {
        simd.apart(LateLoop::<_, _, false, false>(groups));
    } else {
        match (loads, stores) {
            (false, false) => simd.apart(LateLoop::<_, _, false, false>(groups)),
            (false, true) => simd.apart(LateLoop::<_, _, false, true>(groups)),
            (true, false) => simd.apart(LateLoop::<_, _, true, false>(groups)),
            (true, true) => simd.apart(LateLoop::<_, _, true, true>(groups)),
        }
    }
}

/// What a loop works on.
struct Groups<'a, L, N> {
    simd: L,
    node: &'a mut N,
    lanes: [&'a [f64]; LANES],
    outs: [&'a mut [f64]; LANES],
}

/// The loop that stores each group's values before it turns to the next one.
struct EachLoop<'a, L, N>(Groups<'a, L, N>);

impl<L: Lanes, N: Node> NullaryFnOnce for EachLoop<'_, L, N> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Groups {
            simd,
            node,
            lanes,
            outs,
        } = self.0;
        let lanes = side_by_side(lanes.map(|lane| lane[BEFORE..].as_chunks().0.iter()));
        let outs = side_by_side(outs.map(|out| out.as_chunks_mut().0.iter_mut()));
        for (bars, slots) in lanes.zip(outs) {
            let values = node.take(simd, turned(simd, bars));
            store(simd, values, slots);
        }
    }
}

/// The loop that turns and stores a group's values after those of the next one are computed, whose sums wait for each other
/// meanwhile. Loads, or stores, may lie `SHIFT` rows past the node's groups, to be whole in memory where these are not.
struct LateLoop<'a, L, N, const LOADS: bool, const STORES: bool>(Groups<'a, L, N>);

impl<L, N, const LOADS: bool, const STORES: bool> NullaryFnOnce
    for LateLoop<'_, L, N, LOADS, STORES>
where
    L: Lanes,
    N: Node,
{
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self(groups) = self;
        let Groups { simd, node, .. } = groups;
        let (lanes, mut outs) = (groups.lanes, groups.outs);
        let start = if LOADS { 0 } else { BEFORE };
        let behind = if STORES { SHIFT } else { 0 };
        let mut lanes = side_by_side(lanes.map(|lane| lane[start..].as_chunks().0.iter()));
        let mut loaded = [simd.splat(0.0); LANES];
        if LOADS && let Some(bars) = lanes.next() {
            loaded = turned(simd, bars);
        }
        let Some(bars) = lanes.next() else { return };
        let next = turned(simd, bars);
        let mut values = node.take(simd, overlap::<_, LOADS>(loaded, next));
        loaded = next;
        if STORES {
            // the first rows, which no later store has, and the others along with them
            let firsts = outs.each_mut().map(|out| out.as_chunks_mut().0.iter_mut());
            if let Some(slots) = side_by_side(firsts).next() {
                store(simd, values, slots);
            }
        }
        let slots = outs
            .each_mut()
            .map(|out| out[behind..].as_chunks_mut().0.iter_mut());
        for (bars, slots) in lanes.zip(side_by_side(slots)) {
            let next = turned(simd, bars);
            let following = node.take(simd, overlap::<_, LOADS>(loaded, next));
            loaded = next;
            store(simd, shifted::<_, STORES>(values, following), slots);
            values = following;
        }
        let lasts = outs.map(|out| out.as_rchunks_mut().1.iter_mut().rev());
        if let Some(slots) = side_by_side(lasts).next() {
            store(simd, values, slots);
        }
    }
}

/// The next group's rows, or else the last `SHIFT` of the one before and its own but for the last.
#[inline(always)]
fn overlap<V, const SHIFTS: bool>(before: [V; LANES], next: [V; LANES]) -> [V; LANES] {
    if !SHIFTS {
        return next;
    }
    let ([.., a, b], [c, d, e, f, g, h, ..]) = (before, next);
    [a, b, c, d, e, f, g, h]
}

/// A group's rows, or else its own but for the first `SHIFT` and the first of the next.
#[inline(always)]
fn shifted<V, const SHIFTS: bool>(group: [V; LANES], next: [V; LANES]) -> [V; LANES] {
    if !SHIFTS {
        return group;
    }
    let ([_, _, a, b, c, d, e, f], [g, h, ..]) = (group, next);
    [a, b, c, d, e, f, g, h]
}

/// Stores the values of a group. These stores of 64 bytes may cross cache lines, at twice the time of one within a line; a
/// detour through a buffer that aligns them takes longer still.
#[inline(always)]
fn store<L: Lanes>(simd: L, values: Vectors<L>, slots: [&mut Eight; LANES]) {
    for (vector, slot) in simd.transpose(values).into_iter().zip(slots) {
        simd.prefetch(slot.as_ptr().wrapping_add(AHEAD));
        simd.store(vector, slot);
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

#[cfg(test)]
mod tests {
    use super::super::kernel::Kernel;
    use super::super::lanes::Plain;
    use super::*;

    const GROUPS: usize = 5;

    /// Runs one of the loops, on any machine.
    fn values(run: impl Fn(Groups<'_, Plain, Kernel>)) -> Vec<Vec<f64>> {
        let rows = BEFORE + GROUPS * LANES + SHIFT;
        let lane = |lane: usize| (0..rows).map(move |row| (100 * lane + row) as f64);
        let lanes: [Vec<f64>; LANES] = std::array::from_fn(|index| lane(index).collect());
        let mut outs = vec![vec![0.0; GROUPS * LANES]; LANES];
        let mut places = outs.iter_mut().map(Vec::as_mut_slice);
        run(Groups {
            simd: Plain,
            node: &mut Kernel::new(vec![1.0, 3.0], 0.5),
            lanes: lanes.each_ref().map(Vec::as_slice),
            outs: std::array::from_fn(|_| places.next().unwrap()),
        });
        outs
    }

    #[test]
    fn every_loop_has_the_same_values_in_the_same_places() {
        let expected = values(|groups| EachLoop(groups).call());
        for lane in 0..LANES {
            for row in 1..GROUPS * LANES {
                let last = (100 * lane + BEFORE + row) as f64;
                assert_eq!(expected[lane][row], 0.5 * (last - 1.0 + 3.0 * last));
            }
        }
        let late = [
            values(|groups| LateLoop::<_, _, false, false>(groups).call()),
            values(|groups| LateLoop::<_, _, false, true>(groups).call()),
            values(|groups| LateLoop::<_, _, true, false>(groups).call()),
            values(|groups| LateLoop::<_, _, true, true>(groups).call()),
        ];
        // the first value has a row before the lanes
        let known = |lanes: &[Vec<f64>]| -> Vec<Vec<f64>> {
            lanes.iter().map(|lane| lane[1..].to_vec()).collect()
        };
        for (index, found) in late.iter().enumerate() {
            assert_eq!(known(found), known(&expected), "{index}");
        }
    }
}
