//! What is decided once a question: how each filter is evaluated, in which tiles, and in which order combinations go.

use std::sync::LazyLock;

use super::bound::Growth;
use super::taps::{self, Tap, Taps};
use crate::crossover::SideWriter;
use crate::filter::{Filter, UNIT_ROUNDOFF};
use crate::question::Question;

/// Bars that share a centre and a quantum; anchored at multiples of itself, so that no result depends on the tiling.
pub(super) const CELL: usize = 512;

/// Bars of a block, whose prefix sums begin a run-up before it: a word of sides.
pub(super) const BLOCK: usize = 64;

/// Bars of the run-up, for ever longer windows.
const RUN_UPS: [usize; 6] = [32, 64, 128, 256, 512, 1024];

/// The error recurrences of each run-up: the same for every question.
static GROWTHS: LazyLock<[Growth; RUN_UPS.len()]> =
    LazyLock::new(|| RUN_UPS.map(|run_up| Growth::over(run_up + BLOCK)));

/// A filter goes to the longest run-up that keeps its error below this share of the largest centred close: averages
/// of one grid lie some hundredths of it apart, so that about one bar in a hundred thousand stays undecided.
const GOOD_BOUND: f64 = 2e-6;

/// Values and fixed-point rows of a tile should stay in the second-level cache.
const TILE_BYTES: usize = 2 << 20;

/// Fewest and most cells of a tile: shorter ones spend their time on switching combinations.
const TILE_CELLS: (usize, usize) = (4, 8);

/// Long windows want long tiles; those of all threads together stay below this.
const STAGED_BYTES: usize = 256 << 20;

/// Slow rows that are compared with one fast row after the other while they stay in the first-level cache.
const SLOW_GROUP: usize = 4;

/// Filters that read the same prefix sums, which begin `run_up` bars ahead of each block.
#[derive(Debug)]
pub(super) struct Class {
    pub(super) run_up: usize,
    /// How often the closes are summed.
    pub(super) level: usize,
    pub(super) rows: Vec<TapRow>,
}

/// A filter evaluated by taps.
#[derive(Debug)]
pub(super) struct TapRow {
    pub(super) filter: usize,
    pub(super) taps: Vec<Tap>,
}

/// One combination to decide, and the writer that takes it.
#[derive(Debug)]
pub(super) struct Job<'w, 'a> {
    pub(super) writer: &'w mut SideWriter<'a>,
    pub(super) fast: usize,
    pub(super) slow: usize,
}

/// How a question is answered.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) classes: Vec<Class>,
    /// Filters evaluated stage by stage: long windows, custom kernels, deep trees.
    pub(super) staged: Vec<usize>,
    pub(super) is_staged: Vec<bool>,
    /// Bars of a tile, a multiple of [`CELL`].
    pub(super) tile: usize,
    /// Bars before a cell that its blocks read, a multiple of 8.
    pub(super) run_up: usize,
    /// Bars before a tile that staged filters read.
    pub(super) staged_run_up: usize,
    /// Whether closes are taken relative to a centre: only where every filter has unit gain.
    pub(super) is_centred: bool,
    /// The filter of median window, from which the fixed-point rows are counted.
    pub(super) reference: usize,
    /// Bound of each filter, relative to the largest close (centred) that its evaluation reads.
    pub(super) bounds: Vec<f64>,
}

impl Plan {
    /// Plans for so many threads, each with a tile of its own.
    pub(super) fn new(question: &Question<'_>, threads: usize) -> Self {
        let filters = question.filters();
        let mut plan = Self {
            classes: Vec::new(),
            staged: Vec::new(),
            is_staged: vec![false; filters.len()],
            tile: CELL,
            run_up: 0,
            staged_run_up: 0,
            is_centred: question.filters_have_unit_gain(),
            bounds: vec![0.0; filters.len()],
            reference: median_window(filters),
        };
        let mut compiled: Vec<_> = filters
            .iter()
            .enumerate()
            .map(|(index, filter)| (index, taps::compile(filter.expr())))
            .collect();
        // the longest windows open their classes first, and shorter ones join where that is accurate enough
        let longest_lag = |taps: &Option<Taps>| taps.as_ref().map_or(0, Taps::longest_lag);
        compiled.sort_by_key(|(_, taps)| std::cmp::Reverse(longest_lag(taps)));
        for (index, taps) in compiled {
            plan.place(index, &filters[index], taps);
        }
        plan.run_up = plan
            .classes
            .iter()
            .map(|class| class.run_up)
            .max()
            .unwrap_or(0);
        plan.tile = plan.tile_length(question, threads);
        plan
    }

    /// The longest run-up in use that is accurate enough, else the most accurate one, else stage by stage.
    fn place(&mut self, index: usize, filter: &Filter, compiled: Option<Taps>) {
        let longest = compiled.as_ref().map_or(0, Taps::longest_lag);
        let holds = |which: &usize| RUN_UPS[*which] >= longest;
        let run_ups: Vec<usize> = (0..RUN_UPS.len()).filter(holds).collect();
        let (Some(taps), Some(&shortest)) = (compiled, run_ups.first()) else {
            return self.place_staged(index, filter);
        };
        let shared = run_ups.iter().rev().find(|&&which| {
            self.find(RUN_UPS[which], taps.level).is_some()
                && GROWTHS[which].bound(filter, &taps) <= GOOD_BOUND
        });
        let which = *shared.unwrap_or(&shortest);
        self.bounds[index] = GROWTHS[which].bound(filter, &taps);
        self.class(RUN_UPS[which], taps.level).rows.push(TapRow {
            filter: index,
            taps: taps.taps,
        });
    }

    /// Each stage sums its windows by themselves; centring, the rounding of the closes to it, and moving the value to
    /// the cell's centre add six roundings of the largest centred close at the most. The run-up holds that centre, which
    /// is up to half a cell before the cell, for filters without a warm-up too.
    fn place_staged(&mut self, index: usize, filter: &Filter) {
        let roundings = 6.0 * UNIT_ROUNDOFF * filter.magnification_bound();
        self.bounds[index] = filter.relative_error_bound() + roundings;
        self.staged_run_up = self
            .staged_run_up
            .max(filter.warm_up().next_multiple_of(CELL))
            .max(CELL);
        self.staged.push(index);
        self.is_staged[index] = true;
    }

    fn find(&self, run_up: usize, level: usize) -> Option<usize> {
        let is_same = |class: &Class| (class.run_up, class.level) == (run_up, level);
        self.classes.iter().position(is_same)
    }

    fn class(&mut self, run_up: usize, level: usize) -> &mut Class {
        let index = self.find(run_up, level).unwrap_or_else(|| {
            self.classes.push(Class {
                run_up,
                level,
                rows: Vec::new(),
            });
            self.classes.len() - 1
        });
        &mut self.classes[index]
    }

    /// As long as the cache allows, and short enough that every thread gets several. Staged filters repeat their run-up
    /// in every tile, so theirs are twice as long as that, within the memory limit.
    fn tile_length(&self, question: &Question<'_>, threads: usize) -> usize {
        let (filters, bars) = (self.bounds.len(), question.series().bars());
        let per_bar = filters * (size_of::<f64>() + size_of::<i16>());
        let cells = (TILE_BYTES / per_bar / CELL).clamp(TILE_CELLS.0, TILE_CELLS.1);
        let shared = bars.div_ceil(CELL).div_ceil(4 * threads.max(1));
        let cells = if threads > 1 {
            cells.min(shared)
        } else {
            cells
        };
        let limit = STAGED_BYTES / threads.max(1) / per_bar / CELL;
        let staged = (2 * self.staged_run_up / CELL).min(limit);
        cells.max(staged).min(bars.div_ceil(CELL)).max(1) * CELL
    }

    /// The first bar of each tile, and the end. With several threads the last tiles get shorter and shorter, so that
    /// all end at about the same time; not where each tile has a long run-up to repeat.
    pub(super) fn tiles(&self, bars: usize, threads: usize) -> Vec<usize> {
        let mut starts = vec![0];
        let mut first = 0;
        while first < bars {
            let share = (bars - first).div_ceil(threads * CELL) * CELL;
            let is_even = threads == 1 || !self.staged.is_empty();
            let length = if is_even { self.tile } else { share };
            first = (first + length.clamp(CELL, self.tile)).min(bars);
            starts.push(first);
        }
        starts
    }

    /// The order in which a tile's combinations are decided: slow rows in groups, all fast rows for each group.
    pub(super) fn order<'w, 'a>(
        question: &Question<'_>,
        writers: &'w mut [SideWriter<'a>],
    ) -> Vec<Job<'w, 'a>> {
        let pairs = question.grid().pairs();
        let job = |writer: &'w mut SideWriter<'a>| {
            let (fast, slow) = pairs[writer.combination()];
            Job {
                writer,
                fast: fast as usize,
                slow: slow as usize,
            }
        };
        let mut order: Vec<_> = writers.iter_mut().map(job).collect();
        order.sort_by_key(|job| (job.slow / SLOW_GROUP, job.fast, job.slow));
        order
    }
}

fn median_window(filters: &[Filter]) -> usize {
    let mut order: Vec<usize> = (0..filters.len()).collect();
    order.sort_by_key(|&filter| filters[filter].warm_up());
    order[filters.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Expr, Grid, random_walk};

    /// A cell's centre is in the middle of its bars and of the run-up before them; values of a staged filter without a
    /// warm-up are moved to it, and their bound speaks of the closes from the staged run-up on.
    #[test]
    fn a_staged_run_up_holds_the_centre_of_every_cell() {
        let wma = |of: Expr| Expr::Wma {
            period: 1,
            of: std::sync::Arc::new(of),
        };
        let deep = Filter::from_expr("deep", wma(wma(wma(Expr::Close)))).unwrap();
        let grid = Grid::cross(&[deep], &crate::parse_filters("wma:600").unwrap()).unwrap();
        let walk = random_walk(5_000, 1).unwrap();
        let plan = Plan::new(&Question::new(&walk, &grid).unwrap(), 1);
        assert!(plan.is_staged[0] && !plan.is_staged[1]);
        assert_eq!(plan.run_up, 1_024);
        assert!(plan.staged_run_up >= (plan.run_up - CELL) / 2);
    }

    #[test]
    fn tiles_cover_the_series_once_and_end_short_where_threads_share_them() {
        let walk = random_walk(50_000, 1).unwrap();
        let grid = Grid::parse("hma:20", "hma3:24").unwrap();
        let question = Question::new(&walk, &grid).unwrap();
        for threads in [1, 2, 7] {
            let plan = Plan::new(&question, threads);
            let tiles = plan.tiles(walk.bars(), threads);
            assert_eq!((tiles[0], tiles.last()), (0, Some(&walk.bars())));
            let lengths: Vec<usize> = tiles.windows(2).map(|t| t[1] - t[0]).collect();
            assert!(lengths.iter().all(|&bars| 0 < bars && bars <= plan.tile));
            let (_, inner) = tiles.split_last().unwrap();
            assert!(inner.iter().all(|first| first % CELL == 0));
            let is_short = lengths.last() <= Some(&CELL);
            assert_eq!(is_short, threads > 1, "{threads}: {lengths:?}");
        }
    }
}
