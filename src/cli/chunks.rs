//! Chunks of a sweep: about a second's work each, by the speed of the engine so far.
//!
//! They stand apart from the rows, which are the same bytes however they were cut.

use std::ops::Range;

/// Bars times combinations of the first chunk: about a second of the slowest engine.
const FIRST: usize = 5_000_000;

/// What a chunk should take, in seconds.
const GOAL: f64 = 1.0;

/// The most that one chunk differs from the one before: a first measurement is no more than a hint.
const STEP: f64 = 16.0;

/// The chunks that are left.
#[derive(Debug)]
pub(crate) struct Chunks {
    rest: Range<usize>,
    size: usize,
    is_fixed: bool,
}

impl Chunks {
    /// Starts with a small chunk, or keeps to the size that was asked for.
    pub(crate) fn new(rest: Range<usize>, bars: usize, asked: Option<usize>) -> Self {
        Self {
            rest,
            size: asked.unwrap_or(FIRST / bars.max(1)).max(1),
            is_fixed: asked.is_some(),
        }
    }

    /// Takes the next chunk.
    pub(crate) fn take(&mut self) -> Option<Range<usize>> {
        let start = self.rest.start;
        let end = self.rest.end.min(start.saturating_add(self.size));
        self.rest.start = end;
        (start < end).then_some(start..end)
    }

    /// Sizes the next chunk by what the last one took.
    pub(crate) fn took(&mut self, seconds: f64) {
        if !self.is_fixed {
            let factor = (GOAL / seconds.max(1e-9)).clamp(1.0 / STEP, STEP);
            self.size = ((self.size as f64 * factor) as usize).max(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_cover_the_rest_once() {
        let mut chunks = Chunks::new(3..10, 1, Some(3));
        let all: Vec<_> = std::iter::from_fn(|| {
            chunks.took(1e-3);
            chunks.take()
        })
        .collect();
        assert_eq!(all, [3..6, 6..9, 9..10]);
        assert_eq!(Chunks::new(5..5, 1, None).take(), None);
        assert_eq!(Chunks::new(0..2, 1, Some(usize::MAX)).take(), Some(0..2));
    }

    /// Engines of very different speed come to a chunk of about a second.
    #[test]
    fn a_chunk_takes_about_a_second_on_any_engine() {
        for per_second in [0.2, 32.0, 12_000.0, 5e6] {
            let mut chunks = Chunks::new(0..usize::MAX, 150_000, None);
            let mut seconds: Vec<f64> = Vec::new();
            for _ in 0..10 {
                let chunk = chunks.take().unwrap();
                seconds.push((chunk.end - chunk.start) as f64 / per_second);
                chunks.took(seconds[seconds.len() - 1]);
            }
            let slowest = 33.0 / per_second;
            assert!(seconds[0] <= slowest.max(GOAL), "{per_second}: {seconds:?}");
            let last = seconds[9];
            let is_single = per_second < 1.0 && last == 1.0 / per_second;
            assert!(
                is_single || (last - GOAL).abs() < 0.1,
                "{per_second}: {seconds:?}"
            );
        }
    }
}
