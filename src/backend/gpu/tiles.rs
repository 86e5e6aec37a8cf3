//! The closes as the kernels read them: cut into tiles, centred and scaled in `f64` or integers, and only then `f32`.
//!
//! From 131,072 on two neighbouring cents are one `f32`; relative to a tile's centre they are far apart. Adding a
//! constant to all closes changes no difference of two unit-gain filters, and scaling by a power of two no sign.

use rayon::prelude::*;

use super::bound::LARGEST_FLOOR;
use super::plan::{BLOCK, Plan};
use crate::series::Series;

/// The closes of consecutive tiles, and the largest of them around each block.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tiles {
    /// (tiles, positions): oldest first, the halo before the tile's own bars; 0 where the series has no bar.
    pub(super) closes: Vec<f32>,
    /// (reaches, blocks): an upper bound on the centred closes from `reach` blocks before a block to its end.
    pub(super) largest: Vec<f32>,
    /// Blocks of 32 bars.
    pub(super) blocks: usize,
    /// What undoes each tile's scale, in two factors.
    pub(super) inverse_scales: Vec<(f64, f64)>,
}

impl Tiles {
    /// Packs the tiles that hold bars from `first_bar` on, a multiple of the tile's length.
    pub(super) fn new(series: &Series, plan: &Plan, first_bar: usize, tiles: usize) -> Self {
        let positions = plan.positions();
        let tile_blocks = plan.tile_bars / BLOCK;
        let mut closes = vec![0.0; tiles * positions];
        let reaches = plan.reaches.len();
        let mut by_tile = vec![0.0; tiles * tile_blocks * reaches];
        let inverse_scales = closes
            .par_chunks_mut(positions)
            .zip(by_tile.par_chunks_mut(tile_blocks * reaches))
            .enumerate()
            .map(|(tile, (closes, largest))| {
                let scale = pack(series, plan, first_bar + tile * plan.tile_bars, closes);
                widen(closes, plan, largest);
                (scale.0.recip(), scale.1.recip())
            })
            .collect();
        let blocks = tiles * tile_blocks;
        let mut largest = vec![0.0; reaches * blocks];
        for (tile, part) in by_tile.chunks(tile_blocks * reaches).enumerate() {
            for (reach, row) in part.chunks(tile_blocks).enumerate() {
                let at = reach * blocks + tile * tile_blocks;
                largest[at..at + tile_blocks].copy_from_slice(row);
            }
        }
        Self {
            closes,
            largest,
            blocks,
            inverse_scales,
        }
    }
}

/// One tile: the difference from the centre is exact in ticks, and one rounding of `f64` otherwise; then one rounding
/// to `f32`. Bars that the series lacks stay 0, the centre.
fn pack(series: &Series, plan: &Plan, own: usize, out: &mut [f32]) -> Scale {
    let bars = own.saturating_sub(plan.halo)..(own + plan.tile_bars).min(series.bars());
    let skipped = (bars.start + plan.halo).saturating_sub(own);
    let out = &mut out[skipped..skipped + bars.len()];
    if let Some(ticks) = series.ticks() {
        let ticks = &ticks[bars];
        let (low, high) = ticks
            .iter()
            .fold((i64::MAX, 0), |(low, high), &t| (low.min(t), high.max(t)));
        let centre = if plan.is_centred {
            low + (high - low) / 2
        } else {
            0
        };
        let scale = Scale::of((high - centre).max(centre - low) as f64);
        for (out, &tick) in out.iter_mut().zip(ticks) {
            // i64 to f32 rounds once; prices in ticks are far from f32's limits, so the scaling is exact
            *out = scale.apply((tick - centre) as f32);
        }
        scale
    } else {
        let closes = &series.closes()[bars];
        let (low, high) = closes.iter().fold((f64::MAX, 0.0_f64), |(low, high), &c| {
            (low.min(c), high.max(c))
        });
        let centre = if plan.is_centred {
            low / 2.0 + high / 2.0
        } else {
            0.0
        };
        let scale = Scale::of((high - centre).max(centre - low));
        for (out, &close) in out.iter_mut().zip(closes) {
            *out = scale.apply_wide(close - centre);
        }
        scale
    }
}

/// A power of two that brings the largest value of a tile to between 1/2 and 1, in two factors that neither overflow
/// nor round.
struct Scale(f64, f64);

impl Scale {
    fn of(largest: f64) -> Self {
        if largest <= 0.0 {
            return Self(1.0, 1.0);
        }
        let exponent = -(largest.log2().floor() as i32 + 1);
        let half = exponent / 2;
        Self(2.0_f64.powi(half), 2.0_f64.powi(exponent - half))
    }

    fn apply(&self, value: f32) -> f32 {
        (f64::from(value) * self.0 * self.1) as f32
    }

    fn apply_wide(&self, value: f64) -> f32 {
        (value * self.0 * self.1) as f32
    }
}

/// For each reach, the largest close from that many blocks before a block to its end, rounded up.
fn widen(closes: &[f32], plan: &Plan, out: &mut [f32]) {
    let by_block: Vec<f32> = closes
        .chunks(BLOCK)
        .map(|block| {
            block
                .iter()
                .fold(0.0, |largest: f32, c| largest.max(c.abs()))
        })
        .collect();
    let (halo, tile_blocks) = (plan.halo / BLOCK, plan.tile_bars / BLOCK);
    let mut running = by_block[halo..].to_vec();
    let mut reached = 0;
    for (row, &reach) in out.chunks_mut(tile_blocks).zip(&plan.reaches) {
        while reached < reach {
            reached += 1;
            for (block, largest) in running.iter_mut().enumerate() {
                // a reach is at most the halo, so no block before the tile is asked for
                *largest = largest.max(by_block[halo + block - reached]);
            }
        }
        for (out, largest) in row.iter_mut().zip(&running) {
            // the exact close can be above its f32 by half a step; the next number up covers it
            *out = largest.max(LARGEST_FLOOR).next_up();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Summation;
    use super::*;
    use crate::parse_filters;

    fn plan(text: &str) -> Plan {
        Plan::new(&parse_filters(text).unwrap(), Summation::Composite, true)
    }

    #[test]
    fn neighbouring_cents_stay_apart() {
        let ticks = [13_107_201, 13_107_202, 13_107_203, 13_107_202];
        assert_eq!(131_072.01_f64 as f32, 131_072.02_f64 as f32);
        let plan = plan("sma:1,2");
        for series in [
            Series::from_ticks(&ticks, 0.01).unwrap(),
            Series::from_ticks(&ticks, 0.01).unwrap().into_binary(),
        ] {
            let tiles = Tiles::new(&series, &plan, 0, 1);
            let own = &tiles.closes[plan.halo..plan.halo + 4];
            assert!(own[0] < own[1] && own[1] < own[2] && own[1] == own[3]);
        }
    }

    #[test]
    fn extreme_prices_become_normal_numbers() {
        let plan = plan("sma:1,2");
        for size in [1e-320, 1e-40, 1e-20, 1.0, 1e20, 1e300] {
            let series = Series::from_closes(&[size, 2.0 * size, 3.0 * size]).unwrap();
            let tiles = Tiles::new(&series, &plan, 0, 1);
            let own = &tiles.closes[plan.halo..plan.halo + 3];
            assert!(
                own[0] <= -0.25 && own[2] >= 0.25 && own[2] <= 1.0,
                "{size} {own:?}"
            );
        }
    }

    #[test]
    fn largest_covers_every_window_and_no_more_than_its_blocks() {
        let walk = crate::random_walk(3_000, 5).unwrap();
        let plan = plan("wma:1,30,33,34,200");
        let tiles = Tiles::new(&walk, &plan, 0, 3_000_usize.div_ceil(plan.tile_bars));
        let tile_blocks = plan.tile_bars / BLOCK;
        for (row, &reach) in plan.reaches.iter().enumerate() {
            for block in 0..tiles.blocks {
                let (tile, inside) = (block / tile_blocks, block % tile_blocks);
                let end = tile * plan.positions() + plan.halo + (inside + 1) * BLOCK;
                let span = &tiles.closes[end - (reach + 1) * BLOCK..end];
                let exact = span.iter().fold(0.0_f32, |m, c| m.max(c.abs()));
                let found = tiles.largest[row * tiles.blocks + block];
                assert_eq!(found, exact.max(LARGEST_FLOOR).next_up());
            }
        }
    }
}
