//! M2, sequential: one thread, every filter computed once a tile, in SIMD, no table of combinations x bars.

mod bound;
mod lanes;
mod load;
pub(super) mod parallel;
mod plan;
mod rows;
mod sides;
mod staged;
mod taps;

use ndarray::Array2;

#[doc(hidden)]
pub use lanes::SimdPath;

use self::plan::{Job, Plan};
use self::rows::{Fill, Tile};
use self::sides::{Context, Decide, GROUP, Words};
use super::{Backend, FilterMatrix};
use crate::crossover::SideWriter;
use crate::diagnostics::Diagnostics;
use crate::error::Result;
use crate::filter::Filter;
use crate::question::Question;

/// The sequential engine, rung M2.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sequential {
    path: SimdPath,
}

impl Sequential {
    /// Makes the engine, on the best instruction set of this machine.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes the engine on a chosen instruction set; every one gives the same trades.
    #[doc(hidden)]
    pub fn with_path(path: SimdPath) -> Self {
        Self { path }
    }
}

impl Backend for Sequential {
    fn name(&self) -> &str {
        "m2"
    }

    fn filters(&self, question: &Question<'_>) -> Result<FilterMatrix> {
        let closes = question.series().closes();
        let mut values = Array2::zeros((question.filters().len(), closes.len()));
        for (mut row, filter) in values.rows_mut().into_iter().zip(question.filters()) {
            let row = row
                .as_slice_mut()
                .expect("rows of a standard-layout matrix are slices");
            filter.evaluate_into(closes, row)?;
        }
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
        let mut diagnostics = start(self.name(), question, writers);
        let plan = Plan::new(question, 1);
        let jobs = Plan::order(question, writers);
        let (mut tile, mut words) = (Tile::new(&plan), Words::new(&plan, GROUP));
        for first_bar in (0..question.series().bars()).step_by(plan.tile) {
            self.path.run(Fill {
                plan: &plan,
                question,
                first_bar,
                tile: &mut tile,
            });
            self.path.run(Decide {
                context: Context {
                    plan: &plan,
                    question,
                    tile: &tile,
                },
                jobs: &jobs,
                words: &mut words,
                diagnostics: &mut diagnostics,
                has_own_words: false,
                then: |run, job: &Job, words: &Words| {
                    words.write(run, first_bar, &mut writers[job.writer]);
                },
            });
        }
        Ok(diagnostics)
    }
}

/// Counts the decisions to make.
fn start(engine: &str, question: &Question<'_>, writers: &[SideWriter<'_>]) -> Diagnostics {
    let bars = question.series().bars();
    let mut diagnostics = Diagnostics::new(engine, true);
    diagnostics.decisions = writers.iter().map(|w| (bars - w.first_bar()) as u64).sum();
    diagnostics
}
