//! Chunks of a sweep: about a second's work each, by the speed of the engine so far, and longer where each would compute
//! the filters of the one before again.
//!
//! They stand apart from the rows, which are the same bytes however they were cut.

use std::ops::Range;

/// Bars times combinations of the first chunk: about a second of an engine that shares nothing, and a tenth of one of
/// the others.
const FIRST: [usize; 2] = [5_000_000, 80_000_000];

/// What a chunk should take, in seconds.
const GOAL: f64 = 1.0;

/// The longest chunk that is taken to save filters: Ctrl-C waits for its end.
const LONGEST: f64 = 10.0;

/// Share of the work that may go into filters which an earlier chunk had too.
const SHARE: f64 = 0.07;

/// The most that one chunk differs in work from the one before: a first measurement is no more than a hint.
const STEP: f64 = 64.0;

/// Combinations whose rows and sums wait in memory at once: 1.6 KB each, measured with every metric.
const MOST: usize = 1 << 17;

/// The chunks that are left.
#[derive(Debug)]
pub(crate) struct Chunks<'a> {
    /// Fast and slow filter of each combination.
    pairs: &'a [(u32, u32)],
    rest: Range<usize>,
    /// Combinations that cost as much as a filter.
    weight: f64,
    asked: Option<usize>,
    /// The most combinations of a chunk, fewer once the memory did not hold so many.
    most: usize,
    first: usize,
    /// For each filter the chunk in which it was last.
    last_seen: Vec<u32>,
    number: u32,
    /// Work of the chunk that was taken last, in combinations.
    work: f64,
    /// Seconds for a combination's work by the last chunk, and the most work of the next.
    pace: Option<(f64, f64)>,
}

impl<'a> Chunks<'a> {
    /// Starts with a small chunk, or keeps to the size that was asked for; `weight` is what a filter costs, in
    /// combinations, 0 for an engine that shares none between combinations.
    pub(crate) fn new(
        pairs: &'a [(u32, u32)],
        done: usize,
        bars: usize,
        weight: f64,
        asked: Option<usize>,
    ) -> Self {
        let filters = pairs.iter().map(|&(fast, slow)| fast.max(slow)).max();
        Self {
            pairs,
            rest: done..pairs.len(),
            weight,
            asked,
            most: MOST,
            first: FIRST[usize::from(weight > 0.0)] / bars.max(1),
            last_seen: vec![0; filters.map_or(0, |last| last as usize + 1)],
            number: 0,
            work: 0.0,
            pace: None,
        }
    }

    /// Takes the next chunk.
    pub(crate) fn take(&mut self) -> Option<Range<usize>> {
        let start = self.rest.start;
        self.number += 1;
        let (mut fresh, mut again) = (0, 0);
        let mut end = start;
        while end < self.rest.end {
            let (fast, slow) = self.pairs[end];
            for filter in [fast, slow] {
                let seen = &mut self.last_seen[filter as usize];
                if *seen == 0 {
                    fresh += 1;
                } else if *seen < self.number {
                    again += 1;
                }
                *seen = self.number;
            }
            end += 1;
            let combinations = (end - start) as f64;
            let twice = self.weight * f64::from(again);
            self.work = combinations + twice + self.weight * f64::from(fresh);
            if self.is_enough(end - start, twice / combinations) {
                break;
            }
        }
        self.rest.start = end;
        (start < end).then_some(start..end)
    }

    /// Whether a chunk of so many combinations is long enough, given the work that it does a second time for each.
    fn is_enough(&self, combinations: usize, twice: f64) -> bool {
        if let Some(asked) = self.asked {
            return combinations >= asked;
        }
        let Some((pace, most)) = self.pace else {
            return combinations >= self.first.min(self.most);
        };
        let seconds = pace * self.work;
        combinations >= self.most
            || self.work >= most
            || seconds >= LONGEST
            || seconds >= GOAL && twice <= SHARE
    }

    /// Puts back the chunk that was taken last, since the memory does not hold it, and makes no later one longer than its
    /// half; `false` where a chunk cannot be made smaller, or its size was asked for.
    pub(crate) fn halve(&mut self, last: &Range<usize>) -> bool {
        let half = last.len() / 2;
        if self.asked.is_some() || half == 0 {
            return false;
        }
        self.rest.start = last.start;
        self.most = half;
        true
    }

    /// Learns what the last chunk took.
    pub(crate) fn took(&mut self, seconds: f64) {
        self.pace = Some((seconds.max(1e-9) / self.work, STEP * self.work));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Combinations of so many fast and slow filters, in the order of a grid.
    fn pairs(fast: u32, slow: u32) -> Vec<(u32, u32)> {
        let of_fast = |fast| (0..slow).map(move |slow| (fast, slow));
        let shifted = (0..fast).flat_map(of_fast);
        shifted.map(|(a, b)| (a, fast + b)).collect()
    }

    /// Filters that each chunk computes.
    fn filters(pairs: &[(u32, u32)]) -> f64 {
        let both = pairs.iter().flat_map(|&(fast, slow)| [fast, slow]);
        both.collect::<std::collections::HashSet<_>>().len() as f64
    }

    #[test]
    fn chunks_cover_the_rest_once() {
        let pairs = pairs(2, 5);
        let all = |done, asked| {
            let mut chunks = Chunks::new(&pairs, done, 1, 4.0, Some(asked));
            let next = || {
                chunks.took(1e-3);
                chunks.take()
            };
            std::iter::from_fn(next).collect::<Vec<_>>()
        };
        assert_eq!(all(3, 3), [3..6, 6..9, 9..10]);
        assert!(all(10, 1).is_empty());
        assert_eq!(all(0, usize::MAX).first(), Some(&(0..10)));
        assert_eq!(Chunks::new(&pairs, 0, 1, 4.0, None).take(), Some(0..10));
    }

    /// Engines of very different speed come to a chunk of about a second where nothing is shared.
    #[test]
    fn a_chunk_takes_about_a_second_on_any_engine() {
        let pairs = vec![(0, 1); 4_000_000];
        for (per_second, weight) in [(0.2, 0.0), (32.0, 0.0), (12_000.0, 4.0), (1e5, 4.0)] {
            let mut chunks = Chunks::new(&pairs, 0, 150_000, weight, None);
            let mut seconds = Vec::new();
            for _ in 0..8 {
                let chunk = chunks.take().unwrap();
                seconds.push(chunk.len() as f64 / per_second);
                chunks.took(seconds[seconds.len() - 1]);
            }
            let slowest = 34.0 / per_second;
            assert!(seconds[0] <= slowest.max(GOAL), "{per_second}: {seconds:?}");
            let last = seconds[7];
            let is_single = per_second < 1.0 && last == 1.0 / per_second;
            assert!(
                is_single || (last - GOAL).abs() < 0.1,
                "{per_second}: {seconds:?}"
            );
        }
    }

    /// Chunks of a second would compute the slow filters of this grid some 14 times.
    #[test]
    fn filters_are_computed_again_for_less_than_a_tenth_of_the_work() {
        let (grid, weight, of_one) = (pairs(100, 100), 4.0, 1e-3);
        let mut chunks = Chunks::new(&grid, 0, 10_000_000, weight, None);
        let (mut work, mut longest) = (0.0, 0.0_f64);
        while let Some(chunk) = chunks.take() {
            let part = chunk.len() as f64 + weight * filters(&grid[chunk]);
            work += part;
            longest = longest.max(part * of_one);
            chunks.took(part * of_one);
        }
        let whole = 1e4 + weight * filters(&grid);
        assert!(work > whole && work < 1.1 * whole, "{work} and {whole}");
        assert!(longest < LONGEST, "{longest}");
    }

    #[test]
    fn a_chunk_that_does_not_fit_is_halved_down_to_one_combination() {
        let pairs = pairs(4, 5);
        let mut chunks = Chunks::new(&pairs, 3, 1, 4.0, None);
        let mut lengths = Vec::new();
        loop {
            let chunk = chunks.take().unwrap();
            assert_eq!(chunk.start, 3);
            lengths.push(chunk.len());
            if !chunks.halve(&chunk) {
                break;
            }
        }
        assert_eq!(lengths, [17, 8, 4, 2, 1]);
        chunks.took(1e-3);
        assert_eq!(
            chunks.take(),
            Some(4..5),
            "what did not fit is not tried again"
        );
        let mut asked = Chunks::new(&pairs, 0, 1, 4.0, Some(6));
        let chunk = asked.take().unwrap();
        assert!(!asked.halve(&chunk));
    }

    /// So many slow filters that no chunk of bearable length has each often.
    #[test]
    fn a_chunk_is_neither_endless_nor_too_large_for_the_memory() {
        let grid = pairs(20, 50_000);
        for (of_one, bars) in [(1e-2, 10_000_000), (1e-8, 1_000)] {
            let mut chunks = Chunks::new(&grid, 0, bars, 4.0, None);
            let mut most = (0, 0.0_f64);
            while let Some(chunk) = chunks.take() {
                let seconds = of_one * (chunk.len() as f64 + 4.0 * filters(&grid[chunk.clone()]));
                most = (most.0.max(chunk.len()), seconds.max(most.1));
                chunks.took(seconds);
                if chunk.end > 600_000 {
                    break;
                }
            }
            // One more combination, and both its filters, may begin within the limit.
            assert!(
                most.0 <= MOST && most.1 <= LONGEST + 9.0 * of_one,
                "{most:?}"
            );
            assert!(most.0 == MOST || most.1 > LONGEST / 2.0, "{most:?}");
        }
    }
}
