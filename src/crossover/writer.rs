//! From streamed sides to crossovers: what every engine writes into, and every consumer reads from.
// A kernel has the instructions of the function it is inlined into: these must be, or they run without SIMD.
#![allow(clippy::inline_always)]

use pulp::{Simd, WithSimd};

use super::found::Found;
use crate::error::{Error, Result};
use crate::prefetch;

/// Which way a position faces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Side {
    /// Fast is above slow: bought.
    Long,
    /// Fast is below slow: sold.
    Short,
}

impl Side {
    /// Returns +1 for long and -1 for short.
    pub fn sign(self) -> f64 {
        if self == Self::Long { 1.0 } else { -1.0 }
    }

    /// Returns the other side.
    pub fn opposite(self) -> Self {
        if self == Self::Long {
            Self::Short
        } else {
            Self::Long
        }
    }

    pub(crate) fn of(is_above: bool) -> Self {
        if is_above { Self::Long } else { Self::Short }
    }
}

/// What reads the crossovers of one combination, in the order of the bars.
pub trait CrossoverSink: Send {
    /// Takes the first decided side and its bar; it is a state, not a crossover.
    fn arm(&mut self, bar: u32, side: Side);

    /// Takes the next bars on which the side changes, ascending; each turns to the other side.
    fn crossovers(&mut self, bars: &[u32]);
}

impl CrossoverSink for Vec<u32> {
    fn arm(&mut self, _: u32, _: Side) {}

    fn crossovers(&mut self, bars: &[u32]) {
        self.extend_from_slice(bars);
    }
}

/// Takes the decided sides of one combination, 64 bars a word, and hands on the crossovers.
///
/// Bit `i` of word `w` stands for bar `64*w + i`. Bits in the warm-up and past the end are ignored. Words are written
/// in order, from the word of the first valid bar to the last, each once; a gap is an error when the sweep ends.
pub struct SideWriter<'a> {
    combination: usize,
    first_bar: usize,
    bars: usize,
    next_word: usize,
    side: Option<Side>,
    gap_at: Option<usize>,
    arch: pulp::Arch,
    sink: &'a mut dyn CrossoverSink,
}

impl std::fmt::Debug for SideWriter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SideWriter")
            .field("combination", &self.combination)
            .field("next_word", &self.next_word)
            .finish_non_exhaustive()
    }
}

impl<'a> SideWriter<'a> {
    pub(crate) fn new(
        combination: usize,
        first_bar: usize,
        bars: usize,
        sink: &'a mut dyn CrossoverSink,
    ) -> Self {
        Self {
            combination,
            first_bar,
            bars,
            next_word: first_bar / 64,
            side: None,
            gap_at: None,
            arch: with_bit_scans(),
            sink,
        }
    }

    /// Returns the combination's index in the grid.
    pub fn combination(&self) -> usize {
        self.combination
    }

    /// Returns the first bar on which both filters have a value.
    pub fn first_bar(&self) -> usize {
        self.first_bar
    }

    /// Returns the next word to write; words below it are ignored.
    pub fn next_word(&self) -> usize {
        self.next_word
    }

    /// Writes consecutive words from `first_word`: a set bit of `above` is a bar with fast above slow, and
    /// a set bit of `ties`, if given, a bar with an exact tie, which keeps the side before it.
    ///
    /// # Panics
    /// Where `ties` is given with another length than `above`.
    pub fn write(&mut self, first_word: usize, above: &[u64], ties: Option<&[u64]>) {
        self.write_through(&mut Found::new(), first_word, above, ties);
    }

    /// Writes through a batch that is kept from call to call: to make a new one takes as long as a word or two.
    pub(crate) fn write_through(
        &mut self,
        found: &mut Found,
        first_word: usize,
        above: &[u64],
        ties: Option<&[u64]>,
    ) {
        assert!(
            ties.is_none_or(|ties| ties.len() == above.len()),
            "ties and sides differ in length"
        );
        if first_word > self.next_word {
            self.gap_at.get_or_insert(self.next_word);
            return;
        }
        let skipped = (self.next_word - first_word).min(above.len());
        let (above, ties) = (&above[skipped..], ties.map(|ties| &ties[skipped..]));
        // population counts and bit scans are slow without the instructions that this switches on
        self.arch.dispatch(Write {
            writer: self,
            found,
            above,
            ties,
        });
    }

    /// Asks for the sink's cache lines, which another core may have changed last.
    #[inline(always)]
    pub(crate) fn prefetch_sink(&self) {
        prefetch::value(&*self.sink);
    }

    /// Returns the bars of the series.
    #[cfg(feature = "gpu")]
    pub(crate) fn bars(&self) -> usize {
        self.bars
    }

    /// Returns the side of the last bar written, if any was decided.
    #[cfg(feature = "gpu")]
    pub(crate) fn side(&self) -> Option<Side> {
        self.side
    }

    /// Takes bars that were decided elsewhere: the first side, where none was known, and the crossovers after it. They
    /// begin where the last ones ended, or before, and end with a whole word, or with the series.
    ///
    /// Returns the side of the last bar; an error, and takes nothing, where the crossovers do not lie in these bars in
    /// order, behind a side.
    #[cfg(feature = "gpu")]
    pub(crate) fn write_crossovers(
        &mut self,
        bars: std::ops::Range<usize>,
        armed: Option<(u32, Side)>,
        crossovers: &[u32],
    ) -> std::result::Result<Option<Side>, ()> {
        let last = bars.end.min(self.bars);
        let mut first = bars.start.max(self.next_word * 64).max(self.first_bar);
        if bars.start > self.next_word * 64 {
            self.gap_at.get_or_insert(self.next_word);
            return Err(());
        }
        if let Some((bar, _)) = armed {
            if self.side.is_some() || !(first..last).contains(&(bar as usize)) {
                return Err(());
            }
            first = bar as usize + 1;
        }
        // counted, so that the loop is one of whole vectors
        let pairs = crossovers
            .iter()
            .zip(&crossovers[crossovers.len().min(1)..]);
        let is_ascending = pairs.map(|(a, b)| u32::from(a >= b)).sum::<u32>() == 0;
        if let (Some(&lowest), Some(&highest)) = (crossovers.first(), crossovers.last()) {
            let is_inside = first <= lowest as usize && (highest as usize) < last;
            self.side.or(armed.map(|(_, side)| side)).ok_or(())?;
            if !(is_inside && is_ascending) {
                return Err(());
            }
        }
        if let Some((bar, side)) = armed {
            self.sink.arm(bar, side);
            self.side = Some(side);
        }
        if let Some(side) = self.side.filter(|_| !crossovers.is_empty()) {
            self.sink.crossovers(crossovers);
            let is_back = crossovers.len().is_multiple_of(2);
            self.side = Some(if is_back { side } else { side.opposite() });
        }
        self.next_word = self.next_word.max(last.div_ceil(64));
        Ok(self.side)
    }

    #[inline(always)]
    fn write_words(&mut self, found: &mut Found, above: &[u64], ties: Option<&[u64]>) {
        let mut index = 0;
        while index < above.len() {
            let is_tie = |index: usize| ties.is_some_and(|ties| ties[index] != 0);
            let base = self.next_word * 64;
            let Some(side) = self
                .side
                .filter(|_| base >= self.first_bar && !is_tie(index))
            else {
                self.write_part(above[index], ties.map_or(0, |ties| ties[index]), found);
                index += 1;
                continue;
            };
            let whole = (self.bars / 64).saturating_sub(self.next_word);
            let last = above.len().min(index + whole);
            let last = (index..last).find(|&word| is_tie(word)).unwrap_or(last);
            if last == index {
                self.write_part(above[index], 0, found);
                index += 1;
                continue;
            }
            let side = found.push_words(base as u32, &above[index..last], side, self.sink);
            self.side = Some(side);
            self.next_word += last - index;
            index = last;
        }
        found.flush(self.sink);
    }

    /// Writes a word that is not plain: at an end of the valid bars, before the first side, or with ties.
    #[inline(never)]
    fn write_part(&mut self, mut above: u64, ties: u64, found: &mut Found) {
        let base = self.next_word * 64;
        if base >= self.bars {
            return;
        }
        let mut valid = u64::MAX;
        if self.first_bar > base {
            valid <<= self.first_bar - base;
        }
        if self.bars - base < 64 {
            valid &= (1 << (self.bars - base)) - 1;
        }
        self.next_word += 1;
        let Some(side) = self.side.or_else(|| self.arm(base, above, valid & !ties)) else {
            return;
        };
        let carry = u64::from(side == Side::Long);
        let keeping = ties | !valid;
        if keeping != 0 {
            above = keep(above, keeping, carry);
        }
        found.push_word(base as u32, above ^ ((above << 1) | carry), self.sink);
        self.side = Some(Side::of(above >> 63 != 0));
    }

    /// The first decided side; bars before it keep that side too, so that it makes no crossover.
    fn arm(&mut self, base: usize, above: u64, decided: u64) -> Option<Side> {
        if decided == 0 {
            return None;
        }
        let first = decided.trailing_zeros();
        let side = Side::of((above >> first) & 1 != 0);
        self.sink.arm((base as u32) | first, side);
        self.side = Some(side);
        Some(side)
    }

    pub(crate) fn finish(self, engine: &str) -> Result<()> {
        let needed = self.bars.div_ceil(64);
        if self.gap_at.is_none() && self.next_word >= needed {
            return Ok(());
        }
        Err(Error::EngineContract {
            engine: engine.to_owned(),
            combination: self.combination,
            bar: self.gap_at.unwrap_or(self.next_word) * 64,
            reason: "sides from here on were not written; write every word in order".to_owned(),
        })
    }
}

/// The instructions for bit scans and population counts. AVX-512 is left out: the compiler would do four scans in one
/// register, which takes longer.
fn with_bit_scans() -> pulp::Arch {
    #[cfg(target_arch = "x86_64")]
    if let Some(lanes) = pulp::x86::V3::try_new() {
        return pulp::Arch::V3(lanes);
    }
    pulp::Arch::new()
}

/// Whole words to write. A closure in its place is not inlined, and gets none of the instructions.
struct Write<'w, 'a> {
    writer: &'w mut SideWriter<'a>,
    found: &'w mut Found,
    above: &'w [u64],
    ties: Option<&'w [u64]>,
}

impl WithSimd for Write<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.writer.write_words(self.found, self.above, self.ties);
    }
}

/// Gives each bit of `keeping` the value of the bit below it, `carry` below the lowest.
fn keep(above: u64, keeping: u64, carry: u64) -> u64 {
    if keeping == u64::MAX {
        return 0_u64.wrapping_sub(carry);
    }
    let mut kept = above;
    let mut rest = keeping;
    while rest != 0 {
        let bit = rest.trailing_zeros();
        let before = if bit == 0 {
            carry
        } else {
            (kept >> (bit - 1)) & 1
        };
        kept = (kept & !(1 << bit)) | (before << bit);
        rest &= rest - 1;
    }
    kept
}

#[cfg(test)]
mod tests;
