//! The lowest and the highest close of any run of bars, or bounds on them, by two look-ups.
#![allow(clippy::inline_always)]

use super::batch::{extremes, higher, lower};

/// Bars whose extremes are one entry of the table.
const WORD: usize = 64;
/// Lengths of runs of words, 1 to 128.
const LEVELS: usize = 8;

/// Extremes of runs of `2^level` words: any run of words is two of them that overlap.
#[derive(Debug)]
pub(super) struct Ranges {
    words: usize,
    /// Level after level, runs from each word on; past the end of the series they are shorter.
    lowest: Vec<f64>,
    highest: Vec<f64>,
}

impl Ranges {
    pub(super) fn new(closes: &[f64]) -> Self {
        pulp::Arch::new().dispatch(Make(closes))
    }

    /// The highest close of all.
    pub(super) fn highest(&self) -> f64 {
        self.highest[..self.words].iter().copied().fold(0.0, higher)
    }

    /// Bounds on the closes from one bar up to and with another, those of the words around them; none that hold anything
    /// back for runs that are longer than those of the table.
    #[inline(always)]
    pub(super) fn around(&self, first_bar: u32, last_bar: u32) -> (f64, f64) {
        let (first, last) = (first_bar as usize / WORD, last_bar as usize / WORD);
        let level = (last + 1 - first).ilog2() as usize;
        if level >= LEVELS {
            return (0.0, f64::INFINITY);
        }
        let (a, b) = (
            level * self.words + first,
            level * self.words + last + 1 - (1 << level),
        );
        (
            lower(self.lowest[a], self.lowest[b]),
            higher(self.highest[a], self.highest[b]),
        )
    }
}

impl Ranges {
    /// The same for several runs.
    #[inline(always)]
    pub(super) fn around_each<const N: usize>(
        &self,
        first_bars: &[u32; N],
        last_bars: &[u32; N],
    ) -> ([f64; N], [f64; N]) {
        let words = self.words as u32;
        let (mut a, mut b, mut longest) = ([0; N], [0; N], 0);
        for i in 0..N {
            let (first, last) = (first_bars[i] / WORD as u32, last_bars[i] / WORD as u32);
            // 1 or more: bars are ascending
            let level = ((last + 1 - first) | 1).ilog2();
            a[i] = level * words + first;
            b[i] = (level * words + last + 1).wrapping_sub(1 << level);
            longest = longest.max(level);
        }
        let (mut lowest, mut highest) = ([0.0; N], [f64::INFINITY; N]);
        if longest as usize >= LEVELS {
            for i in 0..N {
                (lowest[i], highest[i]) = self.around(first_bars[i], last_bars[i]);
            }
            return (lowest, highest);
        }
        for i in 0..N {
            let (a, b) = (a[i] as usize, b[i] as usize);
            lowest[i] = lower(self.lowest[a], self.lowest[b]);
            highest[i] = higher(self.highest[a], self.highest[b]);
        }
        (lowest, highest)
    }
}

struct Make<'a>(&'a [f64]);

impl pulp::NullaryFnOnce for Make<'_> {
    type Output = Ranges;

    #[inline(always)]
    fn call(self) -> Ranges {
        let words = self.0.len().div_ceil(WORD);
        let (mut lowest, mut highest) = (
            Vec::with_capacity(LEVELS * words),
            Vec::with_capacity(LEVELS * words),
        );
        for closes in self.0.chunks(WORD) {
            let (low, high) = extremes(closes);
            lowest.push(low);
            highest.push(high);
        }
        for level in 1..LEVELS {
            double(&mut lowest, words, level, lower);
            double(&mut highest, words, level, higher);
        }
        Ranges {
            words,
            lowest,
            highest,
        }
    }
}

/// Adds a level, from the one before it.
#[inline(always)]
fn double(runs: &mut Vec<f64>, words: usize, level: usize, either: impl Fn(f64, f64) -> f64) {
    let half = 1 << (level - 1);
    runs.extend_from_within((level - 1) * words..);
    let (before, runs) = runs.split_at_mut(level * words);
    let before = &before[(level - 1) * words..];
    // runs that reach the end are whole already
    for (run, second) in runs.iter_mut().zip(before.iter().skip(half)) {
        *run = either(*run, *second);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_the_words_around_them() {
        let walk = crate::random_walk(20_000, 4).unwrap();
        let ranges = Ranges::new(walk.closes());
        let mut found = 0;
        for first in (0..20_000_u32).step_by(611) {
            for bars in [1, 2, 63, 64, 65, 700, 4_000, 8_100, 9_000, 16_400] {
                let last = (first + bars - 1).min(19_999);
                let range = ranges.around(first, last);
                if range == (0.0, f64::INFINITY) {
                    assert!(last - first > 256 * 63);
                    continue;
                }
                let words = first as usize / WORD..last as usize / WORD + 1;
                let end = (words.end * WORD).min(20_000);
                assert_eq!(range, extremes(&walk.closes()[words.start * WORD..end]));
                let each = ranges.around_each(&[first, 0], &[last, 9_000]);
                assert_eq!((each.0[0], each.1[0]), range);
                found += 1;
            }
        }
        assert!(found > 250, "{found}");
    }
}
