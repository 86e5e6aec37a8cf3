//! M2, sequential: one thread, every filter computed once a tile, in SIMD, no table of combinations x bars.

mod blocks;
mod bound;
mod lanes;
mod load;
pub(super) mod parallel;
mod plan;
mod rows;
mod sides;
mod staged;
mod steps;
pub(super) mod taps;

use ndarray::Array2;

#[doc(hidden)]
pub use lanes::SimdPath;

use self::plan::Plan;
use self::rows::{Fill, Tile};
use self::sides::{Context, Decide, Words};
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
        decide(self.path, &plan, question, writers, &mut diagnostics);
        Ok(diagnostics)
    }
}

/// Fills and decides tile after tile.
fn decide(
    path: SimdPath,
    plan: &Plan,
    question: &Question<'_>,
    writers: &mut [SideWriter<'_>],
    diagnostics: &mut Diagnostics,
) {
    let mut jobs = Plan::order(question, writers);
    let (mut tile, mut words) = (Tile::take(plan), Words::new(plan));
    for tile_bars in plan.tiles(question.series().bars(), 1).windows(2) {
        path.run(Fill {
            plan,
            question,
            first_bar: tile_bars[0],
            bars: tile_bars[1] - tile_bars[0],
            tile: &mut tile,
        });
        path.run(Decide {
            context: Context {
                plan,
                question,
                tile: &tile,
            },
            jobs: &mut jobs,
            words: &mut words,
            diagnostics,
        });
    }
    if Tile::is_kept(plan) {
        tile.keep();
    }
}

/// Counts the decisions to make.
fn start(engine: &str, question: &Question<'_>, writers: &[SideWriter<'_>]) -> Diagnostics {
    let bars = question.series().bars();
    let mut diagnostics = Diagnostics::new(engine, true);
    diagnostics.decisions = writers.iter().map(|w| (bars - w.first_bar()) as u64).sum();
    diagnostics
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Grid, Naive, Series, parse_filters};

    /// Coarse ticks make averages tie; a bound of 0 takes the rounding of such a tie for a side.
    #[test]
    fn a_bound_of_zero_takes_other_trades() {
        let walk = crate::random_walk(20_000, 4).unwrap();
        let ticks: Vec<i64> = walk.closes().iter().map(|p| (p / 100.0) as i64).collect();
        let series = Series::from_ticks(&ticks, 0.01).unwrap();
        let (fast, slow) = (
            parse_filters("sma:5..=15:5"),
            parse_filters("wma:10..=40:10"),
        );
        let grid = Grid::cross(&fast.unwrap(), &slow.unwrap()).unwrap();
        let question = Question::new(&series, &grid).unwrap();
        let crossovers = |scale: f64| {
            let mut plan = Plan::new(&question, 1);
            plan.bounds.iter_mut().for_each(|bound| *bound *= scale);
            let mut found = vec![Vec::new(); grid.combinations()];
            let mut writers = question.writers(&mut found);
            let mut diagnostics = Diagnostics::default();
            decide(
                SimdPath::default(),
                &plan,
                &question,
                &mut writers,
                &mut diagnostics,
            );
            (found, diagnostics.ties)
        };
        let expected = Naive::new().crossovers(&series, &grid).unwrap();
        let (found, ties) = crossovers(1.0);
        assert_eq!(found, expected);
        assert!(ties > 100, "{ties} ties");
        let wrong = crossovers(0.0).0;
        let differing = wrong.iter().zip(&expected).filter(|(a, b)| a != b).count();
        assert!(
            differing > grid.combinations() / 2,
            "{differing} of {}",
            grid.combinations()
        );
    }
}
