//! From the device's two words for 32 bars to decided sides, 64 bars a word.

use std::time::Instant;

use super::settle::Settler;
use crate::crossover::SideWriter;
use crate::diagnostics::Diagnostics;

/// What decoding a part of the rows did.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) diagnostics: Diagnostics,
    /// Seconds spent settling, where they are measured.
    pub(super) settle: f64,
    pub(super) is_timed: bool,
}

impl Counts {
    pub(super) fn merge(&mut self, other: &Self) {
        self.diagnostics.merge(&other.diagnostics);
        self.settle += other.settle;
    }
}

/// Words of 64 bars handed to a writer at once.
const BATCH: usize = 64;

/// Decodes one combination's blocks of 32 bars, and settles what they leave open.
///
/// `blocks` holds for each 32 bars a word of bars with fast perhaps above and one of bars perhaps below; `first_bar`
/// is the first of them, a multiple of 64.
///
/// # Errors
/// The first bar whose code says that the device never computed it.
pub(super) fn decode(
    blocks: &[[u32; 2]],
    first_bar: usize,
    bars: usize,
    writer: &mut SideWriter<'_>,
    settler: &Settler<'_>,
    counts: &mut Counts,
) -> Result<(), usize> {
    let combination = writer.combination();
    let first_valid = writer.first_bar();
    let end = (first_bar + 32 * blocks.len()).min(bars);
    let from = first_bar.max(first_valid / 64 * 64);
    if from >= end {
        return Ok(());
    }
    let pairs = &blocks[(from - first_bar) / 32..];
    let words = (end - from).div_ceil(64);
    for batch in (0..words).step_by(BATCH) {
        let count = BATCH.min(words - batch);
        let (mut sides, mut ties) = ([0_u64; BATCH], [0_u64; BATCH]);
        let mut any_tie = 0;
        for index in 0..count {
            let base = from + 64 * (batch + index);
            let [low, high] = [2 * (batch + index), 2 * (batch + index) + 1].map(|i| pairs[i]);
            let above = u64::from(low[0]) | (u64::from(high[0]) << 32);
            let below = u64::from(low[1]) | (u64::from(high[1]) << 32);
            let valid = valid_bits(base, first_valid, bars);
            let missing = valid & !(above | below);
            if missing != 0 {
                return Err(base + missing.trailing_zeros() as usize);
            }
            sides[index] = above & !below;
            let open = above & below & valid;
            if open != 0 {
                let (above, tied) = settle(open, base, combination, settler, counts);
                sides[index] |= above;
                ties[index] = tied;
                any_tie |= tied;
            }
        }
        let ties = (any_tie != 0).then_some(&ties[..count]);
        writer.write(from / 64 + batch, &sides[..count], ties);
    }
    counts.diagnostics.decisions += (end - from.max(first_valid)) as u64;
    Ok(())
}

/// Settles the undecided bars of one word: those above, and those tied.
fn settle(
    mut open: u64,
    base: usize,
    combination: usize,
    settler: &Settler<'_>,
    counts: &mut Counts,
) -> (u64, u64) {
    let start = counts.is_timed.then(Instant::now);
    let (mut above, mut tied) = (0, 0);
    while open != 0 {
        let bit = open.trailing_zeros();
        open &= open - 1;
        let settled = settler.settle(combination, base + bit as usize);
        settled.count(&mut counts.diagnostics);
        above |= u64::from(settled.ordering().is_gt()) << bit;
        tied |= u64::from(settled.ordering().is_eq()) << bit;
    }
    if let Some(start) = start {
        counts.settle += start.elapsed().as_secs_f64();
    }
    (above, tied)
}

/// Bits of the bars `base..base + 64` that are past the warm-up and before the end.
fn valid_bits(base: usize, first: usize, bars: usize) -> u64 {
    let mut valid = u64::MAX;
    if first > base {
        valid <<= first - base;
    }
    if bars - base < 64 {
        valid &= (1 << (bars - base)) - 1;
    }
    valid
}
