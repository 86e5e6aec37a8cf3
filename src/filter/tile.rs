//! Runs a plan over a series: tiles of eight neighbouring segments, one a lane, each with its own history.
//!
//! Where a segment starts follows from the filter alone, not from the length of the series: appending bars
//! changes no value before.

use pulp::NullaryFnOnce;

use super::lanes::{LANES, Lanes, Plain, Row};
use super::plan::Plan;

/// Shortest segment, in bars: the history of a segment is computed twice, so it must be short beside it.
const SEGMENT: usize = 1024 + 40;

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
    let segment = SEGMENT.max((4 * warm_up).next_multiple_of(512) + 40);
    let (head, values) = out.split_at_mut(warm_up.min(closes.len()));
    head.fill(f64::NAN);
    for (tile, out) in values.chunks_mut(LANES * segment).enumerate() {
        let first = tile * LANES * segment;
        let lanes: [&[f64]; LANES] = std::array::from_fn(|lane| {
            let start = first + lane * segment;
            let end = (start + warm_up + segment).min(closes.len());
            closes.get(start..end).unwrap_or_default()
        });
        run_tile(simd, plan, warm_up, lanes, segment, out);
    }
}

#[inline(always)]
fn run_tile<L: Lanes>(
    simd: L,
    plan: &mut Plan,
    warm_up: usize,
    lanes: [&[f64]; LANES],
    segment: usize,
    out: &mut [f64],
) {
    plan.restart();
    let mut outs = out.chunks_mut(segment);
    let mut outs: [&mut [f64]; LANES] = std::array::from_fn(|_| outs.next().unwrap_or_default());
    let rows = lanes[0].len();
    let mut first = 0;
    while first < rows {
        let chunk = plan.chunk().min((rows - first).next_multiple_of(LANES));
        read(simd, &lanes, first, plan.closes(chunk));
        let values = plan.run(simd, first, chunk);
        let skip = warm_up.saturating_sub(first).min(chunk);
        write(
            simd,
            &values[skip..],
            first + skip - warm_up.min(first + skip),
            &mut outs,
        );
        plan.keep_history();
        first += chunk;
    }
}

/// Fills rows with the closes of each lane from its bar `first`; zeros past a lane's end.
///
/// Whole chunks and those past an end are two loops: a choice inside one would send every vector through memory.
#[inline(always)]
fn read<L: Lanes>(simd: L, lanes: &[&[f64]; LANES], first: usize, rows: &mut [Row]) {
    let [a, b, c, d, e, f, g, h] = *lanes;
    let starts = (first..).step_by(LANES);
    if lanes.iter().all(|lane| first + rows.len() <= lane.len()) {
        for (at, rows) in starts.zip(rows.chunks_exact_mut(LANES)) {
            let bars = |lane: &[f64]| simd.load(whole(&lane[at..at + LANES]));
            let bars = [
                bars(a),
                bars(b),
                bars(c),
                bars(d),
                bars(e),
                bars(f),
                bars(g),
                bars(h),
            ];
            store_rows(simd, simd.transpose(bars), rows);
        }
    } else {
        for (at, rows) in starts.zip(rows.chunks_exact_mut(LANES)) {
            let bars = |lane: &[f64]| simd.load(&padded(lane, at));
            let bars = [
                bars(a),
                bars(b),
                bars(c),
                bars(d),
                bars(e),
                bars(f),
                bars(g),
                bars(h),
            ];
            store_rows(simd, simd.transpose(bars), rows);
        }
    }
}

#[inline(always)]
fn store_rows<L: Lanes>(simd: L, vectors: [L::Vector; LANES], rows: &mut [Row]) {
    for (row, vector) in rows.iter_mut().zip(vectors) {
        simd.store(vector, &mut row.0);
    }
}

#[inline(always)]
fn whole(bars: &[f64]) -> &[f64; LANES] {
    bars.try_into().expect("the range has this length")
}

#[inline(always)]
fn whole_mut(bars: &mut [f64]) -> &mut [f64; LANES] {
    bars.try_into().expect("the range has this length")
}

fn padded(lane: &[f64], at: usize) -> [f64; LANES] {
    match lane.get(at..at + LANES) {
        Some(bars) => *whole(bars),
        None => std::array::from_fn(|index| lane.get(at + index).copied().unwrap_or(0.0)),
    }
}

/// Writes rows to each lane's output from `first`, as far as the lane goes.
#[inline(always)]
fn write<L: Lanes>(simd: L, rows: &[Row], first: usize, outs: &mut [&mut [f64]; LANES]) {
    let (groups, rest) = rows.as_chunks::<LANES>();
    let is_whole = outs.iter().all(|out| first + rows.len() <= out.len());
    let starts = (first..).step_by(LANES);
    for (at, group) in starts.zip(groups) {
        let row = |index: usize| simd.load(&group[index].0);
        let rows = [
            row(0),
            row(1),
            row(2),
            row(3),
            row(4),
            row(5),
            row(6),
            row(7),
        ];
        let [a, b, c, d, e, f, g, h] = simd.transpose(rows);
        let mut store = |lane: usize, vector: L::Vector| {
            let out = &mut *outs[lane];
            if is_whole {
                simd.store(vector, whole_mut(&mut out[at..at + LANES]));
            } else {
                let mut values = [0.0; LANES];
                simd.store(vector, &mut values);
                write_part(&values, at, out);
            }
        };
        store(0, a);
        store(1, b);
        store(2, c);
        store(3, d);
        store(4, e);
        store(5, f);
        store(6, g);
        store(7, h);
    }
    let at = first + rows.len() - rest.len();
    for (lane, out) in outs.iter_mut().enumerate() {
        for (out, row) in out.iter_mut().skip(at).zip(rest) {
            *out = row.0[lane];
        }
    }
}

fn write_part(values: &[f64; LANES], at: usize, out: &mut [f64]) {
    match out.get_mut(at..at + LANES) {
        Some(out) => *whole_mut(out) = *values,
        None => {
            for (out, value) in out.iter_mut().skip(at).zip(values) {
                *out = *value;
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
            "sma:1,2,6,7,40",
            "wma:1,5,6,7,31,32,33,65,200",
            "hma:9,100",
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

    #[test]
    fn appending_bars_changes_no_value_before() {
        let walk = crate::random_walk(30_000, 5).unwrap();
        for filter in filters() {
            let whole = bits(pulp::Arch::new(), &filter, walk.closes());
            for bars in [1, 7, 8, 100, 1_063, 1_064, 1_065, 8_512, 9_000, 17_111] {
                let part = bits(pulp::Arch::new(), &filter, &walk.closes()[..bars]);
                assert!(part == whole[..bars], "{filter} {bars}");
            }
        }
    }
}
