//! Eight independent evaluations side by side: the few vector operations that they need, one set per instruction set.
//!
//! A lane never meets another lane, so the width of the registers cannot move a bit of a result: every set below
//! computes the same scalar program eight times, and fuses a product with a sum where that program says so. A machine
//! that cannot does it in software, many times slower, with the same bits.

use pulp::NullaryFnOnce;
#[cfg(target_arch = "x86_64")]
use pulp::Simd;

use crate::prefetch;

/// Lanes of a row, the same for every instruction set.
pub(super) const LANES: usize = 8;

/// One value of each lane, aligned as the widest registers like it.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C, align(64))]
pub(super) struct Row(pub(super) [f64; LANES]);

impl Row {
    pub(super) const ZERO: Self = Self([0.0; LANES]);
}

/// The vector operations on one row.
pub(super) trait Lanes: Copy {
    type Vector: Copy;
    /// Whether the registers hold two groups, and the sums beside them.
    const IS_WIDE: bool = false;
    fn load(self, row: &[f64; LANES]) -> Self::Vector;
    fn store(self, vector: Self::Vector, row: &mut [f64; LANES]);
    fn splat(self, value: f64) -> Self::Vector;
    fn add(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    fn mul(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// `a*b + c`, rounded once.
    fn mul_add(self, a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;
    /// Asks for the cache line of an address, legal or not, so that a store to it need not wait; a hint at most.
    #[inline(always)]
    fn prefetch(self, address: *const f64) {
        prefetch::line(address.cast());
    }
    /// Runs a loop in a function of its own, whose registers nothing else competes for.
    fn apart<Op: NullaryFnOnce>(self, op: Op) -> Op::Output;
    /// Turns eight vectors, one a lane, into eight rows, one a bar; and back.
    fn transpose(self, vectors: [Self::Vector; LANES]) -> [Self::Vector; LANES];
}

/// Plain arrays: the path of every machine; the compiler uses the baseline's registers (SSE2, NEON).
#[derive(Debug, Clone, Copy)]
pub(super) struct Plain;

impl Lanes for Plain {
    type Vector = [f64; LANES];

    #[inline(always)]
    fn load(self, row: &[f64; LANES]) -> Self::Vector {
        *row
    }

    #[inline(always)]
    fn store(self, vector: Self::Vector, row: &mut [f64; LANES]) {
        *row = vector;
    }

    #[inline(always)]
    fn splat(self, value: f64) -> Self::Vector {
        [value; LANES]
    }

    #[inline(always)]
    fn add(self, a: Self::Vector, b: Self::Vector) -> Self::Vector {
        std::array::from_fn(|lane| a[lane] + b[lane])
    }

    #[inline(always)]
    fn mul(self, a: Self::Vector, b: Self::Vector) -> Self::Vector {
        std::array::from_fn(|lane| a[lane] * b[lane])
    }

    #[inline(always)]
    fn mul_add(self, a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector {
        std::array::from_fn(|lane| a[lane].mul_add(b[lane], c[lane]))
    }

    #[inline(never)]
    fn apart<Op: NullaryFnOnce>(self, op: Op) -> Op::Output {
        op.call()
    }

    #[inline(always)]
    fn transpose(self, vectors: [Self::Vector; LANES]) -> [Self::Vector; LANES] {
        std::array::from_fn(|row| std::array::from_fn(|lane| vectors[lane][row]))
    }
}

#[cfg(target_arch = "x86_64")]
impl Lanes for pulp::x86::V4 {
    type Vector = pulp::f64x8;
    const IS_WIDE: bool = true;

    #[inline(always)]
    fn load(self, row: &[f64; LANES]) -> Self::Vector {
        pulp::cast(*row)
    }

    #[inline(always)]
    fn store(self, vector: Self::Vector, row: &mut [f64; LANES]) {
        *row = pulp::cast(vector);
    }

    #[inline(always)]
    fn splat(self, value: f64) -> Self::Vector {
        self.splat_f64s(value)
    }

    #[inline(always)]
    fn add(self, a: Self::Vector, b: Self::Vector) -> Self::Vector {
        self.add_f64s(a, b)
    }

    #[inline(always)]
    fn mul(self, a: Self::Vector, b: Self::Vector) -> Self::Vector {
        self.mul_f64s(a, b)
    }

    #[inline(always)]
    fn mul_add(self, a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector {
        self.mul_add_f64s(a, b, c)
    }

    #[inline(never)]
    fn apart<Op: NullaryFnOnce>(self, op: Op) -> Op::Output {
        self.vectorize(op)
    }

    /// Three rounds of eight shuffles. The four-fold `deinterleave` is a round within pairs of elements and a round
    /// within pairs of 128-bit quarters; before its second use the first of these is undone, which the compiler
    /// folds away, so that only the quarters move once more.
    #[inline(always)]
    fn transpose(self, [a, b, c, d, e, f, g, h]: [Self::Vector; LANES]) -> [Self::Vector; LANES] {
        let [a0, a1, a2, a3] = self.deinterleave_shfl_f64s([a, b, c, d]);
        let [e0, e1, e2, e3] = self.deinterleave_shfl_f64s([e, f, g, h]);
        let [r0, r1, r4, r5] = quarters(self, [a0, a1], [e0, e1]);
        let [r2, r3, r6, r7] = quarters(self, [a2, a3], [e2, e3]);
        [r0, r1, r2, r3, r4, r5, r6, r7]
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn quarters(simd: pulp::x86::V4, a: [pulp::f64x8; 2], e: [pulp::f64x8; 2]) -> [pulp::f64x8; 4] {
    let [p, q] = simd.deinterleave_shfl_f64s(a);
    let [r, s] = simd.deinterleave_shfl_f64s(e);
    simd.deinterleave_shfl_f64s([p, q, r, s])
}

#[cfg(target_arch = "x86_64")]
impl Lanes for pulp::x86::V3 {
    type Vector = [pulp::f64x4; 2];

    #[inline(always)]
    fn load(self, row: &[f64; LANES]) -> Self::Vector {
        pulp::cast(*row)
    }

    #[inline(always)]
    fn store(self, vector: Self::Vector, row: &mut [f64; LANES]) {
        *row = pulp::cast(vector);
    }

    #[inline(always)]
    fn splat(self, value: f64) -> Self::Vector {
        [self.splat_f64s(value); 2]
    }

    #[inline(always)]
    fn add(self, a: Self::Vector, b: Self::Vector) -> Self::Vector {
        [self.add_f64s(a[0], b[0]), self.add_f64s(a[1], b[1])]
    }

    #[inline(always)]
    fn mul(self, a: Self::Vector, b: Self::Vector) -> Self::Vector {
        [self.mul_f64s(a[0], b[0]), self.mul_f64s(a[1], b[1])]
    }

    #[inline(always)]
    fn mul_add(self, a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector {
        let half = |side: usize| self.mul_add_f64s(a[side], b[side], c[side]);
        [half(0), half(1)]
    }

    #[inline(never)]
    fn apart<Op: NullaryFnOnce>(self, op: Op) -> Op::Output {
        self.vectorize(op)
    }

    /// Four blocks of four by four; the four-fold `deinterleave` of this width is a transposition.
    #[inline(always)]
    fn transpose(self, v: [Self::Vector; LANES]) -> [Self::Vector; LANES] {
        let [p, q, r, s, t, u, v, w] = v;
        let a = self.deinterleave_shfl_f64s([p[0], q[0], r[0], s[0]]);
        let b = self.deinterleave_shfl_f64s([t[0], u[0], v[0], w[0]]);
        let c = self.deinterleave_shfl_f64s([p[1], q[1], r[1], s[1]]);
        let d = self.deinterleave_shfl_f64s([t[1], u[1], v[1], w[1]]);
        [
            [a[0], b[0]],
            [a[1], b[1]],
            [a[2], b[2]],
            [a[3], b[3]],
            [c[0], d[0]],
            [c[1], d[1]],
            [c[2], d[2]],
            [c[3], d[3]],
        ]
    }
}
