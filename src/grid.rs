//! The grid: which combinations of a fast and a slow filter a sweep tries, in which order.

use std::collections::HashMap;
use std::ops::Range;

use crate::error::{Error, Result, SizeError};
use crate::filter::{Filter, parse_filters};

/// Most combinations of a grid: a gigabyte of them, and on the usual 150,000 bars an hour of a fast engine's work.
pub const MAX_COMBINATIONS: usize = 1 << 27;

fn too_many(combinations: usize) -> SizeError {
    SizeError::TooManyCombinations {
        combinations,
        limit: MAX_COMBINATIONS,
    }
}

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
    /// [`Error::EmptyGrid`] where a list is empty, [`SizeError::TooManyCombinations`](crate::SizeError::TooManyCombinations) above [`MAX_COMBINATIONS`],
    /// [`SizeError::OutOfMemory`](crate::SizeError::OutOfMemory) where the machine cannot hold them.
    pub fn cross(fast: &[Filter], slow: &[Filter]) -> Result<Self> {
        let combinations = fast.len().saturating_mul(slow.len());
        if combinations > MAX_COMBINATIONS {
            return Err(too_many(combinations).into());
        }
        Self::cross_where(fast, slow, |_, _| true)
    }

    /// Makes every combination that `admits` accepts, and counts those it refuses.
    ///
    /// # Errors
    /// [`Error::EmptyGrid`] where nothing is left, and those of [`Grid::cross`].
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
        // A name is looked up once a filter, not once a combination: of those there can be a hundred million.
        let mut slow_at = vec![None; slow.len()];
        for fast in fast {
            let mut fast_at = None;
            grid.reserve(slow.len())?;
            for (slow, slow_at) in slow.iter().zip(&mut slow_at) {
                if !admits(fast, slow) {
                    grid.refused += 1;
                    continue;
                }
                let fast = *fast_at.get_or_insert_with(|| grid.index(fast));
                let slow = *slow_at.get_or_insert_with(|| grid.index(slow));
                grid.pairs.push((fast, slow));
            }
        }
        grid.finish()
    }

    /// Makes a grid of the given combinations, in the given order.
    ///
    /// # Errors
    /// [`Error::EmptyGrid`] where there are none, [`SizeError::TooManyCombinations`](crate::SizeError::TooManyCombinations) above [`MAX_COMBINATIONS`].
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
    /// Those of [`parse_filters`] and [`Grid::cross`].
    pub fn parse(fast: &str, slow: &str) -> Result<Self> {
        Self::cross(&parse_filters(fast)?, &parse_filters(slow)?)
    }

    /// Copies some of the combinations, in their order: a grid to be swept in parts.
    ///
    /// # Errors
    /// [`Error::EmptyGrid`] where the range is empty, [`SizeError::OutOfMemory`](crate::SizeError::OutOfMemory) where
    /// the machine cannot hold them.
    ///
    /// # Panics
    /// Where the range ends beyond [`Grid::combinations`].
    ///
    /// # Examples
    /// ```
    /// use crosscheck::Grid;
    /// let grid = Grid::parse("hma:20..=200:20", "hma3:24..=192:24")?;
    /// let part = grid.range(8..16)?;
    /// assert_eq!(part.combinations(), 8);
    /// assert_eq!(part.combination(1), grid.combination(9));
    /// # Ok::<(), crosscheck::Error>(())
    /// ```
    pub fn range(&self, combinations: Range<usize>) -> Result<Self> {
        let mut grid = Collector::default();
        grid.reserve(combinations.len())?;
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

    /// Makes room for some more combinations.
    fn reserve(&mut self, more: usize) -> Result<()> {
        let combinations = self.pairs.len().saturating_add(more);
        if self.pairs.len() > MAX_COMBINATIONS {
            return Err(too_many(combinations).into());
        }
        let reserved = self.pairs.try_reserve(more);
        reserved.map_err(|_| {
            let bytes = combinations.saturating_mul(size_of::<(u32, u32)>());
            let (count, noun) = (combinations, "combination");
            SizeError::OutOfMemory { count, noun, bytes }.into()
        })
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
        if self.pairs.len() > MAX_COMBINATIONS {
            return Err(too_many(self.pairs.len()).into());
        }
        Ok(Grid {
            filters: self.filters,
            pairs: self.pairs,
            refused: self.refused,
        })
    }
}
