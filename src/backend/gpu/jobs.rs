//! The combinations as kernel (c) takes them: one fast filter against up to eight slow ones.

use super::plan::Plan;
use crate::grid::Grid;

/// Slow filters of a job.
pub(super) const WIDTH: usize = 8;

/// One fast filter and up to eight slow ones, as the kernel reads it.
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct Job {
    pub(super) fast: u32,
    pub(super) first_row: u32,
    pub(super) count: u32,
    pub(super) unused: u32,
    pub(super) slow: [u32; WIDTH],
}

/// All jobs of a grid, and which combination each row of their output is.
#[derive(Debug)]
pub(super) struct Jobs {
    pub(super) list: Vec<Job>,
    /// Combination of each output row.
    pub(super) combinations: Vec<u32>,
    /// Combinations with a filter that the host computes.
    pub(super) on_host: Vec<u32>,
}

impl Jobs {
    /// Brings combinations of one fast filter together; a cross of two lists is in that order already.
    pub(super) fn new(grid: &Grid, plan: &Plan) -> Self {
        let (mut on_device, mut on_host) = (Vec::with_capacity(grid.combinations()), Vec::new());
        for (combination, &(fast, slow)) in grid.pairs().iter().enumerate() {
            let rows = plan.device_row[fast as usize].zip(plan.device_row[slow as usize]);
            match rows {
                Some((fast, slow)) => on_device.push((fast, slow, combination as u32)),
                None => on_host.push(combination as u32),
            }
        }
        if !on_device.is_sorted_by_key(|entry| entry.0) {
            on_device.sort_by_key(|entry| entry.0);
        }
        let mut jobs = Vec::with_capacity(on_device.len().div_ceil(WIDTH));
        let mut first_row = 0;
        for of_one_fast in on_device.chunk_by(|a, b| a.0 == b.0) {
            for part in of_one_fast.chunks(WIDTH) {
                jobs.push(job(part, first_row));
                first_row += part.len() as u32;
            }
        }
        Self {
            list: jobs,
            combinations: on_device.iter().map(|entry| entry.2).collect(),
            on_host,
        }
    }

    /// Output rows of a range of jobs.
    pub(super) fn rows(&self, jobs: &std::ops::Range<usize>) -> std::ops::Range<usize> {
        let first = |job: usize| {
            self.list
                .get(job)
                .map_or(self.combinations.len(), |job| job.first_row as usize)
        };
        first(jobs.start)..first(jobs.end)
    }
}

/// Places past `count` repeat the last filter, so that every index of a thread is in range.
fn job(part: &[(u32, u32, u32)], first_row: u32) -> Job {
    Job {
        fast: part[0].0,
        first_row,
        count: part.len() as u32,
        unused: 0,
        slow: std::array::from_fn(|index| part[index.min(part.len() - 1)].1),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Summation;
    use super::*;

    #[test]
    fn every_combination_has_one_row() {
        let pairs: Vec<_> = Grid::parse("sma:2,3,5", "wma:4..30")
            .unwrap()
            .pairs()
            .to_vec();
        let filters = Grid::parse("sma:2,3,5", "wma:4..30").unwrap();
        let shuffled: Vec<_> = (0..pairs.len())
            .map(|i| {
                let (fast, slow) = filters.combination(i * 7 % pairs.len());
                (fast.clone(), slow.clone())
            })
            .collect();
        let grid = Grid::from_pairs(&shuffled).unwrap();
        let plan = Plan::new(grid.filters(), Summation::Composite, true);
        let jobs = Jobs::new(&grid, &plan);
        let mut seen = vec![false; grid.combinations()];
        for (index, job) in jobs.list.iter().enumerate() {
            let rows = jobs.rows(&(index..index + 1));
            assert_eq!(rows.len(), job.count as usize);
            for (slow, row) in job.slow.iter().zip(rows) {
                let combination = jobs.combinations[row] as usize;
                let (f, s) = grid.pairs()[combination];
                assert_eq!(plan.device_row[f as usize], Some(job.fast));
                assert_eq!(plan.device_row[s as usize], Some(*slow));
                assert!(!std::mem::replace(&mut seen[combination], true));
            }
        }
        assert!(seen.iter().all(|&s| s));
    }
}
