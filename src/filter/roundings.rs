//! Counts the roundings between a close and the values that hold it, by running the steps on counts in place of numbers: the
//! table of `docs/numerics-filters.md`, seen in the code.

use pulp::NullaryFnOnce;

use super::group::Node;
use super::kernel::Kernel;
use super::lanes::{LANES, Lanes, Row};
use super::scratch::Scratch;
use super::window::{Kind, Window};

/// No close at all: nothing rounds where it is added.
const NOTHING: f64 = 0.0;

/// Closes other than the marked one. Of that one a lane holds the roundings so far, and 1.
const OTHERS: f64 = -1.0;

/// Operations on counts.
#[derive(Clone, Copy)]
struct Counting {
    /// The reciprocal of the divisor, rounded once.
    inverse: f64,
}

/// What a register holds: the same weight in every lane, or counts.
#[derive(Clone, Copy)]
enum Counts {
    Weight(f64),
    Lanes([f64; LANES]),
}

impl Counting {
    /// The roundings in a weight: none in a whole number.
    fn roundings(self, weight: f64) -> f64 {
        if weight.fract() == 0.0 {
            0.0
        } else if weight.to_bits() == self.inverse.to_bits() {
            1.0
        } else {
            2.0
        }
    }

    /// A product, before it is rounded.
    fn product(self, a: Counts, b: Counts) -> [f64; LANES] {
        match (a, b) {
            (Counts::Weight(weight), Counts::Lanes(lanes))
            | (Counts::Lanes(lanes), Counts::Weight(weight)) => lanes.map(|lane| {
                if lane > 0.0 {
                    lane + self.roundings(weight)
                } else {
                    lane
                }
            }),
            // 0 times anything
            _ => [NOTHING; LANES],
        }
    }
}

/// One more rounding of the marked close.
fn rounded(lane: f64) -> f64 {
    if lane > 0.0 { lane + 1.0 } else { lane }
}

fn sum(a: f64, b: f64) -> f64 {
    if a == NOTHING || b == NOTHING {
        a + b
    } else {
        rounded(a.max(b))
    }
}

fn lanes(counts: Counts) -> [f64; LANES] {
    match counts {
        Counts::Lanes(lanes) => lanes,
        Counts::Weight(weight) => panic!("a weight is added: {weight}"),
    }
}

impl Lanes for Counting {
    type Vector = Counts;

    fn load(self, row: &[f64; LANES]) -> Counts {
        Counts::Lanes(*row)
    }

    fn store(self, vector: Counts, row: &mut [f64; LANES]) {
        *row = lanes(vector);
    }

    fn splat(self, value: f64) -> Counts {
        if value == 0.0 {
            Counts::Lanes([NOTHING; LANES])
        } else {
            Counts::Weight(value)
        }
    }

    fn add(self, a: Counts, b: Counts) -> Counts {
        let (a, b) = (lanes(a), lanes(b));
        Counts::Lanes(std::array::from_fn(|lane| sum(a[lane], b[lane])))
    }

    fn mul(self, a: Counts, b: Counts) -> Counts {
        Counts::Lanes(self.product(a, b).map(rounded))
    }

    fn mul_add(self, a: Counts, b: Counts, c: Counts) -> Counts {
        let (product, c) = (self.product(a, b), lanes(c));
        let fused = |lane: usize| match (product[lane], c[lane]) {
            (product, NOTHING) => rounded(product),
            (product, c) => sum(product, c),
        };
        Counts::Lanes(std::array::from_fn(fused))
    }

    fn apart<Op: NullaryFnOnce>(self, op: Op) -> Op::Output {
        op.call()
    }

    fn transpose(self, vectors: [Counts; LANES]) -> [Counts; LANES] {
        vectors
    }
}

/// The most roundings of the marked closes, one a lane, in any value of a window of `period` bars.
fn most(simd: Counting, node: &mut impl Node, period: usize, marks: [usize; LANES]) -> usize {
    let mut most = 0;
    for start in (0..marks[LANES - 1] + period + LANES).step_by(LANES) {
        let input = std::array::from_fn(|row| {
            let is_marked = |lane: usize| marks[lane] == start + row;
            let lane = |lane| if is_marked(lane) { 1.0 } else { OTHERS };
            Counts::Lanes(std::array::from_fn(lane))
        });
        for (row, values) in node.take(simd, input).into_iter().enumerate() {
            let bar = start + row;
            for (mark, found) in marks.iter().zip(lanes(values)) {
                let is_held = (*mark..mark + period).contains(&bar);
                if bar + 1 >= period {
                    assert_eq!(found > 0.0, is_held, "{period}: close {mark} at {bar}");
                    most = most.max(found as usize);
                }
            }
        }
    }
    // a lane holds 1 more
    most - 1
}

/// The table's largest count.
fn table(period: usize) -> usize {
    if period <= LANES {
        return period + 2;
    }
    let whole = (period - usize::from(!period.is_multiple_of(LANES))) / LANES - 1;
    match whole {
        0 => match (period - 1) % LANES {
            5 => 16,
            6 => 18,
            _ => 12,
        },
        1 => 20,
        2 | 3 => whole + 20,
        _ => {
            let run = [16, 8, 4].into_iter().find(|&run| run <= whole).unwrap();
            let (runs, odd) = (whole / run - 1, whole % run);
            let of_runs = if runs > 0 { 2 * run + runs + 24 } else { 0 };
            of_runs.max(run + odd + 22).max(run + 23)
        }
    }
}

/// Leaves NaN and large numbers in the memory that the next step gets.
fn spoil() {
    let rows = |index: usize| {
        let value = [f64::NAN, 1e300][index % 2];
        let mut rows = Scratch::new(100 + 600 * index);
        rows.fill(Row([value; LANES]));
        rows
    };
    drop((0..8).map(rows).collect::<Vec<_>>());
}

#[test]
fn no_close_is_rounded_more_often_than_the_table_says() {
    let mut tight = 0;
    for period in (1..=300_usize).chain([511, 512, 999, 1_000, 2_047, 4_095, 4_096]) {
        for kind in [Kind::Wma, Kind::Sma] {
            let ramp = (1..=period).map(|k| if kind == Kind::Wma { k as f64 } else { 1.0 });
            let inverse = 1.0 / ramp.clone().sum::<f64>();
            let simd = Counting { inverse };
            let mut found = 0;
            // every place in the blocks and runs, at the start of the series and later
            for first in [0, period.next_multiple_of(128)] {
                for group in (0..16).step_by(if period > 300 { 5 } else { 1 }) {
                    let marks = std::array::from_fn(|lane| first + LANES * group + lane);
                    spoil();
                    found = found.max(if period > LANES {
                        most(simd, &mut Window::new(kind, period), period, marks)
                    } else {
                        let mut kernel = Kernel::new(ramp.clone().collect(), inverse);
                        most(simd, &mut kernel, period, marks)
                    });
                }
            }
            let limit = table(period);
            assert!(
                found <= limit && limit <= period + 4,
                "{period}: {found} of {limit}"
            );
            tight += usize::from(kind == Kind::Wma && found + 3 >= limit);
        }
    }
    assert!(tight > 60, "the table is far from the code: {tight}");
}
