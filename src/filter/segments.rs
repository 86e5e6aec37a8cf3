//! Runs a plan over a series in eight segments side by side, one a lane, each with its own history.
//!
//! A value depends on the closes of its window and on the window's place within [`UNIT`] bars, not on where segments
//! start, as those start at multiples of it. So segments are as long as suits the series, and appending bars changes no
//! value before.

use std::borrow::Cow;
use std::ops::Range;

use pulp::NullaryFnOnce;

use super::blocks::RUN;
use super::group::Node;
use super::lanes::{LANES, Lanes, Plain};
use super::plan::{Lone, Plan};
use super::whole::{BEFORE, SHIFT, side_by_side, turned};

/// Rows before the first bar. Groups so start six bars past a multiple of eight, where cache lines start in the
/// usual large array: 16 bytes behind the start of a page, in which the allocator keeps its length.
pub(super) const OFFSET: usize = 2;

/// Segments start a multiple of that many bars apart: windows at one place of two segments are then summed alike.
const UNIT: usize = RUN * LANES;

/// Bars of a page of memory, with which the first cache's sets repeat.
const PAGE: usize = 512;

/// Bars: how far into the same page, and twice as far back, neighbouring segments get in each other's way.
const NEAR: usize = 64;

/// Bars of a segment: an eighth of the values, so that little history is computed twice, or a little more, where
/// neighbouring segments would lie at about the same place of a page and push each other out of the first cache.
fn segment(values: usize) -> usize {
    let eighth = values.div_ceil(LANES).next_multiple_of(UNIT).max(UNIT);
    if eighth < PAGE {
        return eighth;
    }
    let is_apart = |segment: &usize| (NEAR..=PAGE - 2 * NEAR).contains(&(segment % PAGE));
    // as long as the last lane has some values left
    let has_eight = |segment: &usize| (LANES - 1) * segment < values;
    let mut longer = (eighth..).step_by(UNIT).take_while(has_eight);
    longer.find(is_apart).unwrap_or(eighth)
}

/// One evaluation, ready to run on any set of vector operations.
struct Task<'a, L> {
    simd: L,
    plan: &'a mut Plan,
    warm_up: usize,
    closes: &'a [f64],
    out: &'a mut [f64],
}

impl<L: Lanes> NullaryFnOnce for Task<'_, L> {
    type Output = ();

    // without this the operations stay calls, at a hundredth of the speed
    #[inline(always)]
    fn call(self) {
        run(self.simd, self.plan, self.warm_up, self.closes, self.out);
    }
}

/// Writes the plan's filter over `closes` to `out`, which has the same length; NaN in the warm-up.
pub(super) fn evaluate(
    arch: pulp::Arch,
    plan: &mut Plan,
    warm_up: usize,
    closes: &[f64],
    out: &mut [f64],
) {
    macro_rules! task {
        ($simd:expr) => {
            Task {
                simd: $simd,
                plan,
                warm_up,
                closes,
                out,
            }
        };
    }
    match arch {
        #[cfg(target_arch = "x86_64")]
        pulp::Arch::V4(simd) => simd.vectorize(task!(simd)),
        #[cfg(target_arch = "x86_64")]
        pulp::Arch::V3(simd) => simd.vectorize(task!(simd)),
        _ => task!(Plain).call(),
    }
}

#[inline(always)]
fn run<L: Lanes>(simd: L, plan: &mut Plan, warm_up: usize, closes: &[f64], out: &mut [f64]) {
    let (head, values) = out.split_at_mut(warm_up.min(closes.len()));
    head.fill(f64::NAN);
    if values.is_empty() {
        return;
    }
    match plan.lone() {
        // apart, so that what passes between the steps stays in registers
        Lone::Mean(window) => run_lanes(simd, window, warm_up, closes, values),
        Lone::Sum(kernel) => run_lanes(simd, kernel, warm_up, closes, values),
        Lone::No => run_lanes(simd, plan, warm_up, closes, values),
    }
}

/// So many rows from row `start` on, counted from the first lane's first: read where they lie, or with zeros before and
/// past the series.
fn rows_from(closes: &[f64], start: usize, rows: usize) -> Cow<'_, [f64]> {
    let first = start.saturating_sub(OFFSET);
    // a lane past the end computes what nobody reads
    let first = if first < closes.len() { first } else { 0 };
    let zeros = OFFSET.saturating_sub(start).min(rows);
    if zeros == 0
        && let Some(whole) = closes.get(first..first + rows)
    {
        return whole.into();
    }
    let mut copy = Vec::with_capacity(rows);
    copy.resize(zeros, 0.0);
    let last = closes.len().min(first + rows - zeros);
    copy.extend_from_slice(&closes[first..last]);
    copy.resize(rows, 0.0);
    copy.into()
}

/// Cuts the outputs into the lanes' outputs.
fn split(out: &mut [f64], segment: usize) -> [&mut [f64]; LANES] {
    let mut outs = out.chunks_mut(segment);
    std::array::from_fn(|_| outs.next().unwrap_or_default())
}

/// Computes the values behind the warm-up, in lanes that start a segment apart.
#[inline(always)]
fn run_lanes<L: Lanes, N: Node>(
    simd: L,
    node: &mut N,
    warm_up: usize,
    closes: &[f64],
    out: &mut [f64],
) {
    let segment = segment(out.len());
    let skipped = OFFSET + warm_up;
    let rows = (skipped + segment.min(out.len())).next_multiple_of(LANES);
    let mut outs = split(out, segment);
    let lanes = |from, to| -> [_; LANES] {
        std::array::from_fn(|lane| rows_from(closes, lane * segment + from, to - from))
    };
    // the group that may reach before the series, those that only come before the first value, and the one that has it
    let history = (skipped / LANES * LANES).max(LANES);
    let start = skipped.next_multiple_of(LANES);
    run_part(simd, node, skipped, 0, &lanes(0, LANES), &mut outs);
    let bars = lanes(LANES, history);
    for bars in side_by_side(bars.each_ref().map(|lane| lane.as_chunks().0.iter())) {
        node.pass(simd, turned(simd, bars));
    }
    run_part(
        simd,
        node,
        skipped,
        history,
        &lanes(history, start),
        &mut outs,
    );
    // the groups that every lane has places for, then those that the first has: as long as some rows come after
    let groups = |out: &[f64]| out.len().saturating_sub(start - skipped + SHIFT) / LANES;
    let end = |out: &[f64]| start + groups(out) * LANES;
    let [all, end] = [end(outs[LANES - 1]), end(outs[0])];
    for (from, to) in [(start, all), (all, end)] {
        if from < to {
            let lanes = lanes(from - BEFORE, to + SHIFT);
            run_whole(simd, node, &lanes, &mut outs, from - skipped..to - skipped);
        }
    }
    run_part(simd, node, skipped, end, &lanes(end, rows), &mut outs);
}

/// Computes whole groups, whose values go to some places of each lane's output, as far as it has these.
#[inline(always)]
fn run_whole<L: Lanes, N: Node>(
    simd: L,
    node: &mut N,
    lanes: &[Cow<'_, [f64]>; LANES],
    outs: &mut [&mut [f64]; LANES],
    places: Range<usize>,
) {
    let mut spares = [const { Vec::new() }; LANES];
    let mut slots = outs.iter_mut().zip(&mut spares).map(|(out, spare)| {
        if let Some(slots) = out.get_mut(places.clone()) {
            return slots;
        }
        spare.resize(places.len(), 0.0);
        spare
    });
    let slots = std::array::from_fn(|_| slots.next().unwrap_or_default());
    node.take_all(simd, lanes.each_ref().map(|lane| &**lane), slots);
    for (out, spare) in outs.iter_mut().zip(&spares) {
        let slots = out.iter_mut().skip(places.start);
        for (slot, value) in slots.zip(spare) {
            *slot = *value;
        }
    }
}

/// Computes the groups from a lane's row `row` on, and stores those of their values that have a place: none before row
/// `skipped`, and none past a lane's output.
#[inline(always)]
fn run_part<L: Lanes, N: Node>(
    simd: L,
    node: &mut N,
    skipped: usize,
    row: usize,
    lanes: &[Cow<'_, [f64]>; LANES],
    outs: &mut [&mut [f64]; LANES],
) {
    simd.apart(Part {
        simd,
        node,
        skipped,
        row,
        lanes,
        outs,
    });
}

/// What [`run_part`] does, once for all its calls.
struct Part<'a, 'b, 'c, L, N> {
    simd: L,
    node: &'a mut N,
    skipped: usize,
    row: usize,
    lanes: &'a [Cow<'b, [f64]>; LANES],
    outs: &'a mut [&'c mut [f64]; LANES],
}

impl<L: Lanes, N: Node> NullaryFnOnce for Part<'_, '_, '_, L, N> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self {
            simd,
            node,
            skipped,
            mut row,
            lanes,
            outs,
        } = self;
        for bars in side_by_side(lanes.each_ref().map(|lane| lane.as_chunks().0.iter())) {
            let values = simd.transpose(node.take(simd, turned(simd, bars)));
            let early = skipped.saturating_sub(row).min(LANES);
            row += LANES;
            if early == LANES {
                continue;
            }
            let at = row - LANES + early - skipped;
            for (vector, out) in values.into_iter().zip(outs.iter_mut()) {
                if let Some(slot) = out.get_mut(at..).and_then(<[f64]>::first_chunk_mut)
                    && early == 0
                {
                    simd.store(vector, slot);
                    continue;
                }
                let mut group = [0.0; LANES];
                simd.store(vector, &mut group);
                let slots = out.iter_mut().skip(at);
                for (slot, value) in slots.zip(&group[early..]) {
                    *slot = *value;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Filter;

    /// Every set of operations that this machine has.
    fn paths() -> Vec<pulp::Arch> {
        let paths = vec![pulp::Arch::Scalar];
        #[cfg(target_arch = "x86_64")]
        let paths = {
            let v3 = pulp::x86::V3::try_new().map(pulp::Arch::V3);
            let v4 = pulp::x86::V4::try_new().map(pulp::Arch::V4);
            paths.into_iter().chain(v3).chain(v4).collect()
        };
        paths
    }

    fn bits(path: pulp::Arch, filter: &Filter, closes: &[f64]) -> Vec<u64> {
        let mut out = vec![0.0; closes.len()];
        let mut plan = Plan::new(filter.expr());
        evaluate(path, &mut plan, filter.warm_up(), closes, &mut out);
        // which NaN it is says nothing
        let bits = |value: f64| {
            if value.is_nan() {
                u64::MAX
            } else {
                value.to_bits()
            }
        };
        out.into_iter().map(bits).collect()
    }

    fn filters() -> Vec<Filter> {
        let text = [
            "sma:1,2,6,7,16,40,99,200",
            "wma:1,2,3,4,5,6,7,8,9,11,13,14,15,16,22,31,32,33,41,65,72,73,80,100,130,264,265,270,271,200,900,999",
            "hma:9,100,600",
            "hma3:50",
        ];
        let mut filters: Vec<_> = text
            .iter()
            .flat_map(|t| crate::parse_filters(t).unwrap())
            .collect();
        filters.push(Filter::fir("fir", &[0.5, -0.25, 0.125, 1.0, 3.0]).unwrap());
        filters
    }

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        let walk = crate::random_walk(20_011, 3).unwrap();
        let mut hostile = walk.closes().to_vec();
        (hostile[700], hostile[5_000], hostile[9_000]) = (f64::NAN, f64::INFINITY, 1e300);
        for filter in filters() {
            for closes in [walk.closes(), &hostile] {
                let expected = bits(pulp::Arch::Scalar, &filter, closes);
                for path in paths() {
                    assert!(bits(path, &filter, closes) == expected, "{filter} {path:?}");
                }
            }
        }
    }

    /// Each of the loops that suit series and outputs that lie otherwise in memory.
    #[test]
    fn a_series_anywhere_in_memory_gives_the_same_bits() {
        let walk = crate::random_walk(20_011, 3).unwrap();
        let bars = walk.closes().len();
        let (mut closes, mut out) = (vec![0.0; bars + 2 * LANES], vec![0.0; bars + 2 * LANES]);
        let aligned = [&closes, &out].map(|array| array.as_ptr().align_offset(32));
        let places = (0..16).map(|index| (aligned[0] + index / 4, aligned[1] + index % 4));
        for filter in filters() {
            let expected = bits(pulp::Arch::Scalar, &filter, walk.closes());
            let from = filter.warm_up();
            for (place, first) in places.clone() {
                closes[place..][..bars].copy_from_slice(walk.closes());
                out.fill(0.0);
                let mut plan = Plan::new(filter.expr());
                let (series, values) = (&closes[place..][..bars], &mut out[first..][..bars]);
                evaluate(pulp::Arch::new(), &mut plan, from, series, values);
                let found = values[from..].iter().map(|value| value.to_bits());
                let is_equal = found.eq(expected[from..].iter().copied());
                assert!(is_equal, "{filter} {place} {first}");
                let mut beside = out[..first].iter().chain(&out[first + bars..]);
                let is_untouched = beside.all(|value| value.to_bits() == 0);
                assert!(is_untouched, "{filter} {place} {first}");
            }
        }
    }

    #[test]
    fn appending_bars_changes_no_value_before() {
        let walk = crate::random_walk(30_000, 5).unwrap();
        for filter in filters() {
            let whole = bits(pulp::Arch::new(), &filter, walk.closes());
            for bars in [
                1, 7, 8, 63, 65, 511, 513, 1_025, 4_097, 9_000, 17_111, 29_999,
            ] {
                let part = bits(pulp::Arch::new(), &filter, &walk.closes()[..bars]);
                assert!(part == whole[..bars], "{filter} {bars}");
            }
        }
    }

    #[test]
    fn a_slice_from_whole_runs_on_has_the_same_bits() {
        let walk = crate::random_walk(12_345, 7).unwrap();
        for filter in filters() {
            let whole = bits(pulp::Arch::new(), &filter, walk.closes());
            for start in [1, 5, 90].map(|units| units * UNIT) {
                let part = bits(pulp::Arch::new(), &filter, &walk.closes()[start..]);
                let full = filter.warm_up().min(part.len());
                assert!(part[full..] == whole[start + full..], "{filter} {start}");
            }
        }
    }
}
