//! The grid: which combinations of a fast and a slow filter a sweep tries, in which order.

use std::collections::HashMap;
use std::ops::Range;

use crate::error::{Error, Result};
use crate::filter::{Filter, parse_filters};

/// Combinations of one fast and one slow filter; their order is the order of the results.
///
/// # Examples
/// ```
/// use crosscheck::Grid;
/// let grid = Grid::parse("hma:20..=200:20", "hma3:24..=192:24")?;
/// assert_eq!(grid.combinations(), 80);
/// let (fast, slow) = grid.combination(9);
/// assert_eq!((fast.name(), slow.name()), ("hma:40", "hma3:48"));
/// # Ok::<(), crosscheck::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    filters: Vec<Filter>,
    pairs: Vec<(u32, u32)>,
    refused: usize,
}

impl Grid {
    /// Makes every combination, the fast filters in the outer loop.
    ///
    /// # Errors
    /// [`Error::EmptyGrid`] where a list is empty.
    pub fn cross(fast: &[Filter], slow: &[Filter]) -> Result<Self> {
        Self::cross_where(fast, slow, |_, _| true)
    }

    /// Makes every combination that `admits` accepts, and counts those it refuses.
    ///
    /// # Errors
    /// [`Error::EmptyGrid`] where nothing is left.
    ///
    /// # Examples
    /// ```
    /// use crosscheck::{Grid, parse_filters};
    /// let (fast, slow) = (parse_filters("sma:2..=5")?, parse_filters("sma:3..=6")?);
    /// let grid = Grid::cross_where(&fast, &slow, |fast, slow| fast.warm_up() < slow.warm_up())?;
    /// assert_eq!((grid.combinations(), grid.refused()), (10, 6));
    /// # Ok::<(), crosscheck::Error>(())
    /// ```
    pub fn cross_where(
        fast: &[Filter],
        slow: &[Filter],
        mut admits: impl FnMut(&Filter, &Filter) -> bool,
    ) -> Result<Self> {
        let mut grid = Collector::default();
        for fast in fast {
            for slow in slow {
                if admits(fast, slow) {
                    grid.push(fast, slow);
                } else {
                    grid.refused += 1;
                }
            }
        }
        grid.finish()
    }

    /// Makes a grid of the given combinations, in the given order.
    ///
    /// # Errors
    /// [`Error::EmptyGrid`] where there are none.
    pub fn from_pairs(pairs: &[(Filter, Filter)]) -> Result<Self> {
        let mut grid = Collector::default();
        for (fast, slow) in pairs {
            grid.push(fast, slow);
        }
        grid.finish()
    }

    /// Makes every combination of the filters that two texts name; see [`parse_filters`].
    ///
    /// # Errors
    /// Those of [`parse_filters`].
    pub fn parse(fast: &str, slow: &str) -> Result<Self> {
        Self::cross(&parse_filters(fast)?, &parse_filters(slow)?)
    }

    /// Copies some of the combinations, in their order.
    pub(crate) fn range(&self, combinations: Range<usize>) -> Result<Self> {
        let mut grid = Collector::default();
        for combination in combinations {
            let (fast, slow) = self.combination(combination);
            grid.push(fast, slow);
        }
        grid.finish()
    }

    /// Returns the number of combinations.
    pub fn combinations(&self) -> usize {
        self.pairs.len()
    }

    /// Returns the fast and the slow filter of a combination.
    ///
    /// # Panics
    /// Where `combination` is not below [`Grid::combinations`].
    pub fn combination(&self, combination: usize) -> (&Filter, &Filter) {
        let (fast, slow) = self.pairs[combination];
        (&self.filters[fast as usize], &self.filters[slow as usize])
    }

    /// Returns the number of combinations that the constraint refused.
    pub fn refused(&self) -> usize {
        self.refused
    }

    /// Returns the distinct filters, in the order of their first use.
    pub fn filters(&self) -> &[Filter] {
        &self.filters
    }

    /// Returns each combination as indices of its fast and slow filter into [`Grid::filters`].
    pub fn pairs(&self) -> &[(u32, u32)] {
        &self.pairs
    }
}

#[derive(Default)]
struct Collector {
    filters: Vec<Filter>,
    by_name: HashMap<String, Vec<u32>>,
    pairs: Vec<(u32, u32)>,
    refused: usize,
}

impl Collector {
    fn push(&mut self, fast: &Filter, slow: &Filter) {
        let pair = (self.index(fast), self.index(slow));
        self.pairs.push(pair);
    }

    /// Custom kernels may share a name, so the name only narrows the search.
    fn index(&mut self, filter: &Filter) -> u32 {
        let same_name = self.by_name.entry(filter.name().to_owned()).or_default();
        if let Some(&index) = same_name
            .iter()
            .find(|&&i| self.filters[i as usize] == *filter)
        {
            return index;
        }
        let index = self.filters.len() as u32;
        same_name.push(index);
        self.filters.push(filter.clone());
        index
    }

    fn finish(self) -> Result<Grid> {
        if self.pairs.is_empty() {
            return Err(Error::EmptyGrid {
                refused: self.refused,
            });
        }
        Ok(Grid {
            filters: self.filters,
            pairs: self.pairs,
            refused: self.refused,
        })
    }
}
