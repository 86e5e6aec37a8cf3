//! M4, pool: the sequential engine's kernels over a rayon pool; the same bytes for any number of threads.

use std::sync::OnceLock;

use ndarray::Array2;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::sequential::{SimdPath, parallel};
use super::{Backend, FilterMatrix};
use crate::crossover::SideWriter;
use crate::diagnostics::Diagnostics;
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::question::Question;

/// The engine on a pool of threads, rung M4.
///
/// # Examples
/// ```
/// use crosscheck::{Backend, Grid, Pool, Rules, Sequential, random_walk};
/// let walk = random_walk(2_000, 42)?;
/// let grid = Grid::parse("hma:20,40", "hma3:24,48")?;
/// let one = Sequential::new().sweep(&walk, &grid, &Rules::default())?;
/// let many = Pool::new(Some(2)).sweep(&walk, &grid, &Rules::default())?;
/// assert_eq!(one.rows, many.rows);
/// # Ok::<(), crosscheck::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Pool {
    threads: Option<usize>,
    pool: OnceLock<ThreadPool>,
    path: SimdPath,
}

impl Pool {
    /// Makes the engine: on a pool of its own with so many threads, or on rayon's global pool.
    ///
    /// The calling thread does the work of one of them, so that it need not wait until the pool wakes up.
    pub fn new(threads: Option<usize>) -> Self {
        Self {
            threads,
            ..Self::default()
        }
    }

    /// The engine's own pool, which starts on first use; `None` for rayon's global one.
    fn pool(&self) -> Result<Option<&ThreadPool>> {
        let Some(threads) = self.threads else {
            return Ok(None);
        };
        if self.pool.get().is_none() {
            let built = ThreadPoolBuilder::new().num_threads(threads).build();
            let pool = built.map_err(|cause| Error::Engine {
                engine: "m4".to_owned(),
                reason: format!("no pool of {threads} threads: {cause}; ask for fewer"),
            })?;
            // another caller may have been first: its pool is as good
            let _ = self.pool.set(pool);
        }
        Ok(self.pool.get())
    }
}

impl Backend for Pool {
    fn name(&self) -> &str {
        "m4"
    }

    fn filters(&self, question: &Question<'_>) -> Result<FilterMatrix> {
        let closes = question.series().closes();
        let mut values = Array2::zeros((question.filters().len(), closes.len()));
        let rows = values.as_slice_mut().expect("a new matrix is contiguous");
        let mut evaluate = || {
            rows.par_chunks_mut(closes.len())
                .zip(question.filters())
                .try_for_each(|(row, filter)| filter.evaluate_into(closes, row))
        };
        match self.pool()? {
            Some(pool) => pool.install(evaluate),
            None => evaluate(),
        }?;
        let bounds = question
            .filters()
            .iter()
            .map(Filter::relative_error_bound)
            .collect();
        Ok(FilterMatrix {
            values,
            relative_bounds: Some(bounds),
        })
    }

    fn sides(
        &self,
        question: &Question<'_>,
        writers: &mut [SideWriter<'_>],
    ) -> Result<Diagnostics> {
        let pool = self.pool()?;
        Ok(parallel::sides("m4", self.path, pool, question, writers))
    }
}
