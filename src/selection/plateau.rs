//! Whether a combination stands on a plateau or on a peak of its own: its value beside those of its grid neighbours.

use std::collections::HashMap;

use crate::grid::Grid;
use crate::metrics::Metric;
use crate::sweep::Sweep;

/// A combination among its neighbours: those at most one fast and one slow filter away, in the grid's order.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Plateau {
    /// The combination's own value.
    pub value: f64,
    /// Neighbours with a value, 8 at the most.
    pub neighbours: usize,
    /// Mean over the combination and its neighbours.
    pub mean: f64,
    /// The worst of the neighbours' values; the own one where there is no neighbour.
    pub worst: f64,
}

impl Plateau {
    /// Returns `mean / value`: 1 on level ground, near 0 on a lone peak; `None` where the value is not above 0.
    pub fn ratio(&self) -> Option<f64> {
        (self.value > 0.0).then(|| self.mean / self.value)
    }
}

impl Sweep {
    /// Compares every combination with its neighbours in the grid that was swept; `None` where it has no finite value.
    ///
    /// # Panics
    /// Where the grid has another number of combinations.
    ///
    /// # Examples
    /// ```
    /// use crosscheck::{Backend, Grid, Metric, Rules, Sequential, random_walk};
    /// let walk = random_walk(2_000, 42)?;
    /// let grid = Grid::parse("hma:20..=60:20", "hma3:24..=72:24")?;
    /// let sweep = Sequential::new().sweep(&walk, &grid, &Rules::default())?;
    /// let plateaus = sweep.plateaus(&grid, Metric::Pnl);
    /// // the corner has 3 neighbours, the middle of 3 x 3 has 8
    /// assert_eq!([plateaus[0], plateaus[4]].map(|plateau| plateau.unwrap().neighbours), [3, 8]);
    /// # Ok::<(), crosscheck::Error>(())
    /// ```
    pub fn plateaus(&self, grid: &Grid, metric: Metric) -> Vec<Option<Plateau>> {
        assert_eq!(
            grid.combinations(),
            self.rows.len(),
            "the sweep is of another grid"
        );
        let places = places(grid);
        let at: HashMap<_, _> = places
            .iter()
            .enumerate()
            .map(|(index, &place)| (place, index))
            .collect();
        let value = |index: usize| {
            self.rows[index]
                .value(metric)
                .filter(|value| value.is_finite())
        };
        let plateau = |(index, &(fast, slow)): (usize, &(i64, i64))| {
            let own = value(index)?;
            let around = (-1..=1)
                .flat_map(|f| (-1..=1).map(move |s| (f, s)))
                .filter(|&step| step != (0, 0));
            let neighbours: Vec<f64> = around
                .filter_map(|(f, s)| value(*at.get(&(fast + f, slow + s))?))
                .collect();
            let worse = if metric.is_better_low() {
                f64::max
            } else {
                f64::min
            };
            Some(Plateau {
                value: own,
                neighbours: neighbours.len(),
                mean: (own + neighbours.iter().sum::<f64>()) / (1.0 + neighbours.len() as f64),
                worst: neighbours.iter().copied().reduce(worse).unwrap_or(own),
            })
        };
        places.iter().enumerate().map(plateau).collect()
    }
}

/// Each combination's place: ranks of its fast and of its slow filter in the order of their first use.
fn places(grid: &Grid) -> Vec<(i64, i64)> {
    let (mut fast_ranks, mut slow_ranks) = (HashMap::new(), HashMap::new());
    let rank = |ranks: &mut HashMap<u32, i64>, filter: u32| {
        let next = ranks.len() as i64;
        *ranks.entry(filter).or_insert(next)
    };
    let place =
        |&(fast, slow): &(u32, u32)| (rank(&mut fast_ranks, fast), rank(&mut slow_ranks, slow));
    grid.pairs().iter().map(place).collect()
}
