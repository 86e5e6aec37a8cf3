//! The comparisons of 64 bars, one version for each instruction set, and the choice among them at run time.
// A kernel has the instructions of the function it is inlined into: these must be, or they run without SIMD.
#![allow(clippy::inline_always)]

use pulp::{Simd, WithSimd};

/// Fixed-point rows hold rounded values, so two that differ by this many steps are truly apart by one step or more.
const APART: i16 = 2;

/// An instruction set that engine M2 has kernels for.
pub(crate) trait Lanes: Simd {
    /// Compares 64 bars in fixed point: bits where fast is greater, and whether some bar is too close to call.
    fn quick_word(self, fast: &[i16; 64], slow: &[i16; 64]) -> (u64, bool);
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
pub(crate) trait WithLanes {
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
    pub(crate) fn run<W: WithLanes>(self, work: W) -> W::Output {
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
    use super::{APART, gather_bits};

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
    fn quick_word(self, fast: &[i16; 64], slow: &[i16; 64]) -> (u64, bool) {
        portable::quick_word(fast, slow)
    }
}

#[cfg(target_arch = "aarch64")]
impl Lanes for pulp::aarch64::Neon {
    #[inline(always)]
    fn quick_word(self, fast: &[i16; 64], slow: &[i16; 64]) -> (u64, bool) {
        portable::quick_word(fast, slow)
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{__m256i, __m512i};

    use pulp::cast;
    use pulp::x86::{V3, V4};

    use super::{APART, Lanes};

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
    }

    impl Lanes for V3 {
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
