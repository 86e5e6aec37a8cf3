//! The comparisons of 64 bars, one version for each instruction set, and the choice among them at run time.
// A kernel has the instructions of the function it is inlined into: these must be, or they run without SIMD.
#![allow(clippy::inline_always)]

use pulp::{Simd, WithSimd};

use super::blocks::{BLOCKS, Row};
use super::steps::Scale;

/// Fixed-point rows hold rounded values, so two that differ by this many steps are truly apart by one step or more.
const APART: i16 = 2;

/// An instruction set that engine M2 has kernels for.
pub(super) trait Lanes: Simd {
    /// Compares 64 bars in fixed point: bits where fast is greater, and whether some bar is too close to call.
    fn quick_word(self, fast: &[i16; 64], slow: &[i16; 64]) -> (u64, bool);

    /// Rounds distances to whole steps, cut at the largest of the scale, and lays those of four bars
    /// side by side: 64 bits a block, the first bar lowest.
    fn pack(self, values: &[Row; 4], reference: &[Row; 4], scale: Scale) -> [u64; BLOCKS];

    /// Turns rows into columns.
    #[inline(always)]
    fn transpose(self, rows: &[[u64; 8]; 8]) -> [[u64; 8]; 8] {
        std::array::from_fn(|column| rows.map(|row| row[column]))
    }
}

/// Bits of the bars that are too close to call in fixed point.
#[inline(always)]
pub(super) fn open_bars(fast: &[i16; 64], slow: &[i16; 64]) -> u64 {
    let mut open = [0; 64];
    for bar in 0..64 {
        let difference = fast[bar].saturating_sub(slow[bar]);
        open[bar] = u8::from(difference > -APART && difference < APART);
    }
    gather_bits(&open)
}

/// The instruction sets, best last; which exist depends on the machine.
#[derive(Debug, Clone, Copy)]
#[doc(hidden)]
#[non_exhaustive]
pub enum SimdPath {
    /// Plain Rust.
    Scalar(pulp::Scalar),
    /// AVX2 and FMA.
    #[cfg(target_arch = "x86_64")]
    V3(pulp::x86::V3),
    /// AVX-512 F, BW, CD, DQ and VL.
    #[cfg(target_arch = "x86_64")]
    V4(pulp::x86::V4),
    /// Advanced SIMD.
    #[cfg(target_arch = "aarch64")]
    Neon(pulp::aarch64::Neon),
}

/// Work generic over the instruction set.
pub(super) trait WithLanes {
    /// What it returns.
    type Output;

    /// Does it.
    fn with_lanes<L: Lanes>(self, lanes: L) -> Self::Output;
}

impl SimdPath {
    /// Returns every path that this machine can run, the fastest last.
    pub fn all() -> Vec<Self> {
        let mut paths = vec![Self::Scalar(pulp::Scalar::new())];
        #[cfg(target_arch = "x86_64")]
        {
            paths.extend(pulp::x86::V3::try_new().map(Self::V3));
            paths.extend(pulp::x86::V4::try_new().map(Self::V4));
        }
        #[cfg(target_arch = "aarch64")]
        paths.extend(pulp::aarch64::Neon::try_new().map(Self::Neon));
        paths
    }

    /// Runs the work compiled for this instruction set.
    pub(super) fn run<W: WithLanes>(self, work: W) -> W::Output {
        match self {
            Self::Scalar(lanes) => vectorized(lanes, work),
            #[cfg(target_arch = "x86_64")]
            Self::V3(lanes) => vectorized(lanes, work),
            #[cfg(target_arch = "x86_64")]
            Self::V4(lanes) => vectorized(lanes, work),
            #[cfg(target_arch = "aarch64")]
            Self::Neon(lanes) => vectorized(lanes, work),
        }
    }
}

impl Default for SimdPath {
    fn default() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if let Some(lanes) = pulp::x86::V4::try_new() {
                return Self::V4(lanes);
            }
            if let Some(lanes) = pulp::x86::V3::try_new() {
                return Self::V3(lanes);
            }
        }
        #[cfg(target_arch = "aarch64")]
        if let Some(lanes) = pulp::aarch64::Neon::try_new() {
            return Self::Neon(lanes);
        }
        Self::Scalar(pulp::Scalar::new())
    }
}

struct Vectorized<L, W>(L, W);

impl<L: Lanes, W: WithLanes> WithSimd for Vectorized<L, W> {
    type Output = W::Output;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> W::Output {
        self.1.with_lanes(self.0)
    }
}

#[inline(always)]
fn vectorized<L: Lanes, W: WithLanes>(lanes: L, work: W) -> W::Output {
    lanes.vectorize(Vectorized(lanes, work))
}

/// Gathers 64 truth values into bits: eight bytes of 0 or 1 times this constant meet in the top byte.
#[inline(always)]
fn gather_bits(flags: &[u8; 64]) -> u64 {
    let (bytes, _) = flags.as_chunks::<8>();
    let mut word = 0;
    for (index, byte) in bytes.iter().enumerate() {
        let bits = u64::from_le_bytes(*byte).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        word |= bits << (8 * index);
    }
    word
}

/// The kernels in plain Rust, which the compiler vectorises where it can.
mod portable {
    use super::{APART, BLOCKS, Row, Scale, gather_bits};

    #[inline(always)]
    pub(super) fn pack(values: &[Row; 4], reference: &[Row; 4], scale: Scale) -> [u64; BLOCKS] {
        let mut units = [0; BLOCKS];
        for bar in 0..4 {
            for block in 0..BLOCKS {
                let distance = values[bar].0[block] - reference[bar].0[block];
                units[block] |= scale.steps(distance) << (16 * bar);
            }
        }
        units
    }

    #[inline(always)]
    pub(super) fn quick_word(fast: &[i16; 64], slow: &[i16; 64]) -> (u64, bool) {
        let mut flags = [0; 64];
        let mut is_open = false;
        for bar in 0..64 {
            let difference = fast[bar].saturating_sub(slow[bar]);
            flags[bar] = u8::from(difference > 0);
            is_open |= difference > -APART && difference < APART;
        }
        (gather_bits(&flags), is_open)
    }
}

impl Lanes for pulp::Scalar {
    #[inline(always)]
    fn pack(self, values: &[Row; 4], reference: &[Row; 4], scale: Scale) -> [u64; BLOCKS] {
        portable::pack(values, reference, scale)
    }

    #[inline(always)]
    fn quick_word(self, fast: &[i16; 64], slow: &[i16; 64]) -> (u64, bool) {
        portable::quick_word(fast, slow)
    }
}

#[cfg(target_arch = "aarch64")]
impl Lanes for pulp::aarch64::Neon {
    #[inline(always)]
    fn pack(self, values: &[Row; 4], reference: &[Row; 4], scale: Scale) -> [u64; BLOCKS] {
        portable::pack(values, reference, scale)
    }

    #[inline(always)]
    fn quick_word(self, fast: &[i16; 64], slow: &[i16; 64]) -> (u64, bool) {
        portable::quick_word(fast, slow)
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{__m256d, __m256i, __m512d, __m512i};

    use pulp::cast;
    use pulp::x86::{V3, V4};

    use super::{APART, BLOCKS, Lanes, Row, Scale};

    impl Lanes for V4 {
        /// A difference lies strictly within `APART` where it, moved up by `APART - 1`, is at most twice that, unsigned.
        #[inline(always)]
        fn quick_word(self, fast: &[i16; 64], slow: &[i16; 64]) -> (u64, bool) {
            let fast: [__m512i; 2] = cast(*fast);
            let slow: [__m512i; 2] = cast(*slow);
            let low = self.avx512bw._mm512_subs_epi16(fast[0], slow[0]);
            let high = self.avx512bw._mm512_subs_epi16(fast[1], slow[1]);
            let below_low = self.avx512bw._mm512_movepi16_mask(low);
            let below_high = self.avx512bw._mm512_movepi16_mask(high);
            let shift: __m512i = cast([APART - 1; 32]);
            let width: __m512i = cast([2 * (APART - 1); 32]);
            let low = self.avx512bw._mm512_add_epi16(low, shift);
            let high = self.avx512bw._mm512_add_epi16(high, shift);
            let least = self.avx512bw._mm512_min_epu16(low, high);
            let open = self.avx512bw._mm512_cmple_epu16_mask(least, width);
            let below = u64::from(below_low) | (u64::from(below_high) << 32);
            (!below, open != 0)
        }

        /// Cut by the lesser size with the sign of the distance; the sum with the rounder leaves the steps in the low bits.
        #[inline(always)]
        fn pack(self, values: &[Row; 4], reference: &[Row; 4], scale: Scale) -> [u64; BLOCKS] {
            const LESSER_SIZE: i32 = 0b0010;
            let limit: __m512d = cast([scale.largest; BLOCKS]);
            let inverse: __m512d = cast([scale.inverse; BLOCKS]);
            let rounder: __m512d = cast([Scale::ROUNDER; BLOCKS]);
            let step = |bar: usize| -> __m512i {
                let (value, reference) = (cast(values[bar].0), cast(reference[bar].0));
                let distance = self.avx512f._mm512_sub_pd(value, reference);
                let cut = self
                    .avx512dq
                    ._mm512_range_pd::<LESSER_SIZE>(distance, limit);
                cast(self.avx512f._mm512_fmadd_pd(cut, inverse, rounder))
            };
            let second = self.avx512f._mm512_slli_epi64::<16>(step(1));
            let third = self.avx512f._mm512_slli_epi64::<32>(step(2));
            let fourth = self.avx512f._mm512_slli_epi64::<48>(step(3));
            let pair = self
                .avx512bw
                ._mm512_mask_blend_epi16(0x2222_2222, step(0), second);
            let three = self
                .avx512bw
                ._mm512_mask_blend_epi16(0x4444_4444, pair, third);
            cast(
                self.avx512bw
                    ._mm512_mask_blend_epi16(0x8888_8888, three, fourth),
            )
        }

        /// Three rounds: neighbouring rows, pairs, and fours; each register is read and written whole.
        #[inline(always)]
        fn transpose(self, rows: &[[u64; 8]; 8]) -> [[u64; 8]; 8] {
            let rows: [__m512i; 8] = cast(*rows);
            let even = |i: usize| self.avx512f._mm512_unpacklo_epi64(rows[i], rows[i + 1]);
            let odd = |i: usize| self.avx512f._mm512_unpackhi_epi64(rows[i], rows[i + 1]);
            let evens = fours(self, [even(0), even(2), even(4), even(6)]);
            let odds = fours(self, [odd(0), odd(2), odd(4), odd(6)]);
            cast([
                evens[0], odds[0], evens[1], odds[1], evens[2], odds[2], evens[3], odds[3],
            ])
        }
    }

    /// Of pairs of rows, each with its columns `c` and `c + 1` side by side, the columns of all rows: each second one.
    #[inline(always)]
    fn fours(lanes: V4, pairs: [__m512i; 4]) -> [__m512i; 4] {
        const FIRST: i32 = 0b10_00_10_00;
        const SECOND: i32 = 0b11_01_11_01;
        let first = |a, b| lanes.avx512f._mm512_shuffle_i64x2::<FIRST>(a, b);
        let second = |a, b| lanes.avx512f._mm512_shuffle_i64x2::<SECOND>(a, b);
        let [a, b, c, d] = pairs;
        let (low, high) = ([first(a, b), first(c, d)], [second(a, b), second(c, d)]);
        [
            first(low[0], low[1]),
            first(high[0], high[1]),
            second(low[0], low[1]),
            second(high[0], high[1]),
        ]
    }

    impl Lanes for V3 {
        /// As for AVX-512, half a row at a time.
        #[inline(always)]
        fn pack(self, values: &[Row; 4], reference: &[Row; 4], scale: Scale) -> [u64; BLOCKS] {
            let limit: __m256d = cast([scale.largest; 4]);
            let least: __m256d = cast([-scale.largest; 4]);
            let inverse: __m256d = cast([scale.inverse; 4]);
            let rounder: __m256d = cast([Scale::ROUNDER; 4]);
            let half = |half: usize| -> __m256i {
                let step = |bar: usize| -> __m256i {
                    let value: [__m256d; 2] = cast(values[bar].0);
                    let reference: [__m256d; 2] = cast(reference[bar].0);
                    let distance = self.avx._mm256_sub_pd(value[half], reference[half]);
                    let cut = self.avx._mm256_max_pd(distance, least);
                    let cut = self.avx._mm256_min_pd(cut, limit);
                    cast(self.fma._mm256_fmadd_pd(cut, inverse, rounder))
                };
                let second = self.avx2._mm256_slli_epi64::<16>(step(1));
                let third = self.avx2._mm256_slli_epi64::<32>(step(2));
                let fourth = self.avx2._mm256_slli_epi64::<48>(step(3));
                let pair = self.avx2._mm256_blend_epi16::<0b0010_0010>(step(0), second);
                let three = self.avx2._mm256_blend_epi16::<0b0100_0100>(pair, third);
                self.avx2._mm256_blend_epi16::<0b1000_1000>(three, fourth)
            };
            cast([half(0), half(1)])
        }

        /// Packing puts the halves of two registers in the order 0 2 1 3, which the permutation undoes.
        #[inline(always)]
        fn quick_word(self, fast: &[i16; 64], slow: &[i16; 64]) -> (u64, bool) {
            let fast: [__m256i; 4] = cast(*fast);
            let slow: [__m256i; 4] = cast(*slow);
            let difference = |i: usize| self.avx2._mm256_subs_epi16(fast[i], slow[i]);
            let differences = [difference(0), difference(1), difference(2), difference(3)];
            let bits = |a: __m256i, b: __m256i| {
                let packed = self.avx2._mm256_packs_epi16(a, b);
                let ordered = self.avx2._mm256_permute4x64_epi64::<0b11_01_10_00>(packed);
                u64::from(self.avx2._mm256_movemask_epi8(ordered) as u32)
            };
            let below =
                bits(differences[0], differences[1]) | (bits(differences[2], differences[3]) << 32);
            let size = |i: usize| self.avx2._mm256_abs_epi16(differences[i]);
            let low = self.avx2._mm256_min_epu16(size(0), size(1));
            let high = self.avx2._mm256_min_epu16(size(2), size(3));
            let least = self.avx2._mm256_min_epu16(low, high);
            let apart: __m256i = cast([APART; 16]);
            let open = self.avx2._mm256_cmpgt_epi16(apart, least);
            (!below, self.avx2._mm256_movemask_epi8(open) != 0)
        }
    }
}
