//! The kernels again in plain Rust, loop for loop: what tests compare the device with.

use super::jobs::{Job, WIDTH};
use super::lists::{RUN_BARS, Stamp};
use super::plan::{BLOCK, Bound, Group, INNER, NOWHERE, Plan, Row};
use super::ranges::Sizes;
use super::tiles::Tiles;

/// How a twin rounds: to nearest as the host does, or as badly as WGSL allows.
pub(super) trait Rounding {
    fn add(a: f32, b: f32) -> f32;
    fn mul(a: f32, b: f32) -> f32;
}

/// Round to nearest, ties to even.
pub(super) struct Nearest;

impl Rounding for Nearest {
    fn add(a: f32, b: f32) -> f32 {
        a + b
    }

    fn mul(a: f32, b: f32) -> f32 {
        a * b
    }
}

/// Rows of the second stage's input and of filter values, in the device's layout.
#[derive(Debug)]
pub(super) struct Rows {
    pub(super) inner: Vec<f32>,
    pub(super) values: Vec<f32>,
}

/// Kernels (a) and (b) over one chunk.
pub(super) fn convolve<R: Rounding>(plan: &Plan, tiles: &Tiles, sizes: &Sizes) -> Rows {
    let mut rows = Rows {
        inner: vec![0.0; 4 * sizes.inner],
        values: vec![0.0; sizes.values],
    };
    for tile in 0..sizes.tiles {
        for group in &plan.groups {
            conv::<R>(plan, tiles, tile, group, &mut rows);
        }
        for row in &plan.rows {
            stage2::<R>(plan, tiles.blocks, tile, row, &mut rows);
        }
    }
    rows
}

/// Kernel (a): the four windows of a group over one tile.
fn conv<R: Rounding>(plan: &Plan, tiles: &Tiles, tile: usize, group: &Group, rows: &mut Rows) {
    let positions = plan.positions();
    let closes = &tiles.closes[tile * positions..(tile + 1) * positions];
    for (window, &output) in group.outputs.iter().enumerate() {
        if output == NOWHERE {
            continue;
        }
        for position in group.first as usize..positions {
            let taps = (0..group.steps as usize)
                .flat_map(|step| plan.weights[group.first_weight as usize + 4 * step + window]);
            let sum = dot::<R>(taps, |age| closes[position.saturating_sub(age)]);
            if output & INNER != 0 {
                let row = tile * plan.inner_rows + (output & !INNER) as usize;
                rows.inner[row * positions + position] = sum;
            } else if position >= plan.halo {
                let at = at(plan, tiles.blocks, tile, output, position);
                rows.values[at] = sum;
            }
        }
    }
}

/// Kernel (b): one filter over one tile.
fn stage2<R: Rounding>(plan: &Plan, blocks: usize, tile: usize, row: &Row, rows: &mut Rows) {
    let positions = plan.positions();
    let first = row.first_weight as usize;
    let weights = &plan.weights[first..first + row.steps as usize];
    for position in plan.halo..positions {
        let sum = dot::<R>(weights.iter().copied().flatten(), |age| {
            let mut sum = 0.0;
            for term in 0..row.terms as usize {
                let input = tile * plan.inner_rows + row.rows[term] as usize;
                let value = rows.inner[input * positions + position.saturating_sub(age)];
                sum = R::add(sum, R::mul(row.coefficients[term], value));
            }
            sum
        });
        let at = at(plan, blocks, tile, row.output, position);
        rows.values[at] = sum;
    }
}

/// The sum of taps times inputs, newest first.
pub(super) fn dot<R: Rounding>(
    taps: impl Iterator<Item = f32>,
    input: impl Fn(usize) -> f32,
) -> f32 {
    taps.enumerate()
        .fold(0.0, |sum, (age, tap)| R::add(sum, R::mul(tap, input(age))))
}

/// Where a filter's value on a position of a tile lies.
pub(super) fn at(plan: &Plan, blocks: usize, tile: usize, row: u32, position: usize) -> usize {
    let own = position - plan.halo;
    let block = tile * plan.tile_bars / BLOCK + own / BLOCK;
    (row as usize * BLOCK + own % BLOCK) * blocks + block
}

/// Kernel (c): the two words of each combination of a job on one block.
pub(super) fn bits(
    job: &Job,
    block: usize,
    values: &[f32],
    tiles: &Tiles,
    bounds: &[Bound],
) -> Vec<[u32; 2]> {
    let blocks = tiles.blocks;
    let bound = |row: u32| {
        let bound = bounds[row as usize];
        bound.factor * tiles.largest[bound.reach as usize * blocks + block]
    };
    let value = |row: u32, bar: usize| values[(row as usize * BLOCK + bar) * blocks + block];
    (0..WIDTH.min(job.count as usize))
        .map(|place| {
            let slow = job.slow[place];
            let bound = bound(job.fast) + bound(slow);
            let mut words = [0_u32; 2];
            for bar in 0..BLOCK {
                let difference = value(job.fast, bar) - value(slow, bar);
                words[0] |= u32::from(difference >= -bound) << bar;
                words[1] |= u32::from(difference <= bound) << bar;
            }
            words
        })
        .collect()
}

/// Kernel (d): the lists of one row of words, bar by bar.
pub(super) fn lists(words: &[[u32; 2]], stamp: Stamp) -> Vec<u32> {
    let mut lists = Vec::new();
    for run in words.chunks(RUN_BARS / BLOCK) {
        let state = |bar: usize| {
            let [above, below] = run[bar / BLOCK].map(|word| (word >> (bar % BLOCK)) & 1);
            match (above, below) {
                (0, 1) => 0,
                (1, 0) => 1,
                (1, 1) => 2,
                _ => 3,
            }
        };
        let changes: Vec<u32> = (1..run.len() * BLOCK)
            .filter(|&bar| state(bar) != state(bar - 1))
            .map(|bar| bar as u32 | (state(bar) << 14))
            .collect();
        lists.push(stamp.upper() | (state(0) << 14) | changes.len() as u32);
        let pair = |pair: &[u32]| pair[0] | (pair.get(1).copied().unwrap_or(0) << 16);
        lists.extend(changes.chunks(2).map(pair));
    }
    lists
}

#[cfg(test)]
mod tests {
    use super::super::{Summation, bound};
    use super::*;
    use crate::{Filter, Series};

    /// Every operation that is not exact returns the neighbour above: the worst that WGSL allows in one direction.
    struct Upwards;

    fn up(exact: f64) -> f32 {
        let nearest = exact as f32;
        if f64::from(nearest) < exact {
            nearest.next_up()
        } else {
            nearest
        }
    }

    impl Rounding for Upwards {
        fn add(a: f32, b: f32) -> f32 {
            up(f64::from(a) + f64::from(b))
        }

        fn mul(a: f32, b: f32) -> f32 {
            up(f64::from(a) * f64::from(b))
        }
    }

    /// The newest close has weight 1 and the others next to none, so that each addition is to 1 and rounds up by a
    /// whole unit: the error comes to within a tenth of the bound, which half of it would not cover.
    #[test]
    fn the_bound_holds_for_the_worst_rounding_and_half_of_it_would_not() {
        let mut weights = vec![1e-9; 300];
        weights[299] = 1.0;
        let filter = Filter::fir("worst", &weights).unwrap();
        let series = Series::from_closes(&vec![1.0; 400]).unwrap();
        let plan = Plan::new(&[filter], Summation::Composite, true);
        let tiles = Tiles::new(&series, &plan, 0, 400_usize.div_ceil(plan.tile_bars));
        let sizes = Sizes::new(&plan, tiles.blocks * BLOCK / plan.tile_bars);
        let rows = convolve::<Upwards>(&plan, &tiles, &sizes);
        let bar = 350;
        let (tile, own) = (bar / plan.tile_bars, bar % plan.tile_bars);
        let found = rows.values[at(&plan, tiles.blocks, tile, 0, plan.halo + own)];
        let close = f64::from(tiles.closes[plan.halo]);
        let exact = weights.iter().map(|w| w * close).sum::<f64>();
        let error = (f64::from(found) - exact).abs() / close;
        let bound = bound::composite(&weights).unwrap();
        assert!(error <= bound, "{error:e} {bound:e}");
        assert!(error > 0.8 * bound, "{error:e} {bound:e}");
    }

    #[test]
    fn staged_rows_hold_for_the_worst_rounding() {
        let walk = crate::random_walk(2_000, 9).unwrap();
        for text in ["hma:9,20,60", "hma3:24,96", "wma:7,200", "sma:50"] {
            let filters = crate::parse_filters(text).unwrap();
            for summation in [Summation::Staged, Summation::Composite] {
                let plan = Plan::new(&filters, summation, true);
                let count = 2_000_usize.div_ceil(plan.tile_bars);
                let tiles = Tiles::new(&walk, &plan, 0, count);
                let sizes = Sizes::new(&plan, count);
                let upwards = convolve::<Upwards>(&plan, &tiles, &sizes);
                let nearest = convolve::<Nearest>(&plan, &tiles, &sizes);
                for (row, filter) in filters.iter().enumerate() {
                    let weights = filter.exact_weights().to_f64();
                    for bar in filter.warm_up()..2_000 {
                        let (tile, own) = (bar / plan.tile_bars, bar % plan.tile_bars);
                        let position = plan.halo + own;
                        let window = &tiles.closes[tile * plan.positions()..]
                            [position + 1 - weights.len()..=position];
                        let exact: f64 = window
                            .iter()
                            .zip(&weights)
                            .map(|(&x, w)| f64::from(x) * w)
                            .sum();
                        let at = at(&plan, tiles.blocks, tile, row as u32, position);
                        let bound = plan.bounds[row];
                        let largest = tiles.largest[bound.reach as usize * tiles.blocks
                            + tile * plan.tile_bars / BLOCK
                            + own / BLOCK];
                        let bound = f64::from(bound.factor) * f64::from(largest);
                        for value in [upwards.values[at], nearest.values[at]] {
                            assert!((f64::from(value) - exact).abs() <= bound, "{filter} {bar}");
                        }
                    }
                }
            }
        }
    }
}
