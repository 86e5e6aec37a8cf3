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

struct Make<'a>(&'a [f64]);

impl pulp::NullaryFnOnce for Make<'_> {
    type Output = Ranges;

    #[inline(always)]
    fn call(self) -> Ranges {
        let words = self.0.len().div_ceil(WORD);
        let (mut lowest, mut highest) = (vec![0.0; LEVELS * words], vec![0.0; LEVELS * words]);
        for (word, closes) in self.0.chunks(WORD).enumerate() {
            (lowest[word], highest[word]) = extremes(closes);
        }
        for level in 1..LEVELS {
            let half = 1 << (level - 1);
            double(&mut lowest[(level - 1) * words..][..2 * words], half, lower);
            double(
                &mut highest[(level - 1) * words..][..2 * words],
                half,
                higher,
            );
        }
        Ranges {
            words,
            lowest,
            highest,
        }
    }
}

/// Makes a level from the one before it.
#[inline(always)]
fn double(levels: &mut [f64], half: usize, either: impl Fn(f64, f64) -> f64) {
    let (before, runs) = levels.split_at_mut(levels.len() / 2);
    let both = before.len().saturating_sub(half);
    let second = &before[before.len() - both..];
    for i in 0..both {
        runs[i] = either(before[i], second[i]);
    }
    runs[both..].copy_from_slice(&before[both..]);
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
                found += 1;
            }
        }
        assert!(found > 250, "{found}");
    }
}
