//! Runs a plan over a series: tiles of eight neighbouring segments, one a lane, each with its own history.
//!
//! Where a segment starts follows from the filter alone, not from the length of the series: appending bars
//! changes no value before.

use std::borrow::Cow;

use pulp::NullaryFnOnce;

use super::group::{Node, Vectors, group, group_mut, load_group, store_group};
use super::lanes::{LANES, Lanes, Plain, Row};
use super::plan::{Lone, Plan};

/// Bars of a segment, but for long windows: short beside the history that is computed twice, and few enough for the
/// second cache. The odd 40 keeps the eight segments out of each other's cache sets.
fn segment(warm_up: usize) -> usize {
    2048.max((2 * warm_up).next_multiple_of(512)) + 40
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
    match plan.lone() {
        // apart, so that what passes between the steps stays in registers
        Lone::Mean(window) => run_node(simd, window, warm_up, closes, out),
        Lone::Sum(kernel) => run_node(simd, kernel, warm_up, closes, out),
        Lone::No => run_node(simd, plan, warm_up, closes, out),
    }
}

#[inline(always)]
fn run_node<L: Lanes, N: Node>(
    simd: L,
    node: &mut N,
    warm_up: usize,
    closes: &[f64],
    out: &mut [f64],
) {
    let segment = segment(warm_up);
    let (head, values) = out.split_at_mut(warm_up.min(closes.len()));
    head.fill(f64::NAN);
    for (tile, out) in values.chunks_mut(LANES * segment).enumerate() {
        let closes = &closes[tile * LANES * segment..];
        let rows = (warm_up + segment.min(out.len())).next_multiple_of(LANES);
        let is_whole = out.len() == LANES * segment;
        let padded = std::array::from_fn(|lane| padded(closes, lane * segment, rows));
        let lanes = padded.each_ref().map(|lane| &lane[..]);
        let writer = Writer::new(split(out, segment), is_whole);
        run_tile(simd, node, warm_up, lanes, writer);
    }
}

/// The bars from `start` on, as many as `rows`; zeros past the end of the series, and no copy where none is needed.
fn padded(closes: &[f64], start: usize, rows: usize) -> Cow<'_, [f64]> {
    if let Some(whole) = closes.get(start..start + rows) {
        return whole.into();
    }
    // a lane past the end computes what nobody reads
    let bars = closes.get(start..).unwrap_or_default();
    let bars = if bars.is_empty() {
        &closes[..closes.len().min(rows)]
    } else {
        bars
    };
    if bars.len() == rows {
        return bars.into();
    }
    let mut copy = Vec::with_capacity(rows);
    copy.extend_from_slice(bars);
    copy.resize(rows, 0.0);
    copy.into()
}

/// Cuts a tile's outputs into the lanes' outputs.
fn split(out: &mut [f64], segment: usize) -> [&mut [f64]; LANES] {
    let mut outs = out.chunks_mut(segment);
    std::array::from_fn(|_| outs.next().unwrap_or_default())
}

/// Computes one tile from `lanes` of one length, a whole number of groups.
#[inline(always)]
fn run_tile<L: Lanes, N: Node>(
    simd: L,
    node: &mut N,
    warm_up: usize,
    lanes: [&[f64]; LANES],
    mut writer: Writer<'_>,
) {
    node.restart();
    let [a, b, c, d, e, f, g, h] = lanes.map(|lane| lane.as_chunks::<LANES>().0);
    for number in 0..a.len() {
        let bars = simd.transpose([
            simd.load(&a[number]),
            simd.load(&b[number]),
            simd.load(&c[number]),
            simd.load(&d[number]),
            simd.load(&e[number]),
            simd.load(&f[number]),
            simd.load(&g[number]),
            simd.load(&h[number]),
        ]);
        let values = node.take(simd, bars);
        let full = ((number + 1) * LANES).saturating_sub(warm_up);
        if full > 0 {
            writer.take(simd, values, full);
        }
    }
    writer.finish();
}

/// Rows that a writer keeps, a multiple of a group: the more, the rarer is moving the last group to the front.
const KEPT: usize = 8 * LANES;

/// Writes a tile's rows to the lanes' outputs, in groups that start on a cache line: a 64-byte store across two lines
/// takes three times as long (Sapphire Rapids).
struct Writer<'a> {
    outs: [&'a mut [f64]; LANES],
    /// Whether they are of one length.
    is_whole: bool,
    /// Outputs before each lane's first cache line, the same in every lane.
    lead: usize,
    /// The last groups: `rows[filled - 1]` is output `full - 1`; every output below `done` is written.
    rows: [Row; KEPT],
    filled: usize,
    full: usize,
    done: usize,
    has_led: bool,
}

impl<'a> Writer<'a> {
    fn new(outs: [&'a mut [f64]; LANES], is_whole: bool) -> Self {
        Self {
            lead: outs[0].as_ptr().align_offset(align_of::<Row>()) % LANES,
            outs,
            is_whole,
            rows: [Row::ZERO; KEPT],
            filled: LANES,
            full: 0,
            done: 0,
            has_led: false,
        }
    }

    /// Takes the group that ends with output `full - 1`, and writes the eight rows up to the last cache line.
    #[inline(always)]
    fn take<L: Lanes>(&mut self, simd: L, vectors: Vectors<L>, full: usize) {
        if self.filled == KEPT {
            self.rows.copy_within(KEPT - LANES.., 0);
            self.filled = LANES;
        }
        store_group(simd, vectors, group_mut(&mut self.rows, self.filled));
        self.filled += LANES;
        self.full = full;
        if !self.has_led {
            if full < self.lead {
                return;
            }
            self.write_rows(self.lead);
            self.has_led = true;
        }
        let back = full - self.done;
        if back < LANES || self.done + LANES > self.outs[0].len() {
            return;
        }
        let rows = load_group(simd, group(&self.rows, self.filled - back));
        let vectors = simd.transpose(rows);
        if self.is_whole {
            self.store(simd, vectors);
        } else {
            self.store_part(simd, vectors);
        }
        self.done += LANES;
    }

    #[inline(always)]
    fn store<L: Lanes>(&mut self, simd: L, [p, q, r, s, t, u, v, w]: Vectors<L>) {
        let at = self.done;
        let [a, b, c, d, e, f, g, h] = &mut self.outs;
        simd.store(p, slot(a, at));
        simd.store(q, slot(b, at));
        simd.store(r, slot(c, at));
        simd.store(s, slot(d, at));
        simd.store(t, slot(e, at));
        simd.store(u, slot(f, at));
        simd.store(v, slot(g, at));
        simd.store(w, slot(h, at));
    }

    /// Stores as far as each lane goes.
    #[inline(always)]
    fn store_part<L: Lanes>(&mut self, simd: L, vectors: Vectors<L>) {
        for (vector, out) in vectors.into_iter().zip(&mut self.outs) {
            if let Some((slot, _)) = out
                .get_mut(self.done..)
                .and_then(<[f64]>::split_first_chunk_mut)
            {
                simd.store(vector, slot);
            } else {
                let mut values = [0.0; LANES];
                simd.store(vector, &mut values);
                for (out, value) in out.iter_mut().skip(self.done).zip(values) {
                    *out = value;
                }
            }
        }
    }

    /// Writes the outputs below `end` one by one.
    #[inline(never)]
    fn write_rows(&mut self, end: usize) {
        for at in self.done..end {
            let row = self.rows[self.filled + at - self.full];
            for (value, out) in row.0.into_iter().zip(&mut self.outs) {
                if let Some(out) = out.get_mut(at) {
                    *out = value;
                }
            }
        }
        self.done = end.max(self.done);
    }

    fn finish(mut self) {
        self.write_rows(self.outs[0].len());
    }
}

#[inline(always)]
fn slot(out: &mut [f64], at: usize) -> &mut [f64; LANES] {
    (&mut out[at..at + LANES])
        .try_into()
        .expect("the range has this length")
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
            for bars in [
                1, 7, 8, 100, 2_087, 2_088, 2_089, 9_000, 16_704, 17_111, 17_112,
            ] {
                let part = bits(pulp::Arch::new(), &filter, &walk.closes()[..bars]);
                assert!(part == whole[..bars], "{filter} {bars}");
            }
        }
    }
}
