//! A sweep between two polars frames: prices out of one, rows into another.
//!
//! Run in this folder: `cargo run --release`

use std::error::Error;

use crosscheck::{Backend, Grid, Pool, Rules, Series, Sweep, random_walk};
use polars::prelude::*;

/// Prices of two columns, without a copy by polars where a column has one chunk and no null.
fn series_of(prices: &DataFrame) -> Result<Series, Box<dyn Error>> {
    let closes = prices.column("close")?.as_materialized_series().rechunk();
    // A null is no price: `cont_slice` refuses it, rather than guess one.
    let series = Series::from_closes(closes.f64()?.cont_slice()?)?;
    let times = prices.column("time")?.as_materialized_series().rechunk();
    Ok(series.with_timestamps(times.i64()?.cont_slice()?.to_vec())?)
}

/// One row a combination, in the order of the grid.
fn frame_of(sweep: &Sweep) -> PolarsResult<DataFrame> {
    let rows = &sweep.rows;
    df!(
        "fast" => rows.iter().map(|row| row.fast.as_str()).collect::<Vec<_>>(),
        "slow" => rows.iter().map(|row| row.slow.as_str()).collect::<Vec<_>>(),
        "trades" => rows.iter().map(|row| row.totals.trades).collect::<Vec<_>>(),
        "pnl_pct" => rows.iter().map(|row| row.totals.pnl_pct).collect::<Vec<_>>(),
    )
}

fn main() -> Result<(), Box<dyn Error>> {
    // Your own prices come from a file, by polars' reader; these are minutes of the built-in walk.
    let walk = random_walk(20_000, 42)?;
    let prices = df!(
        "time" => (0..20_000_i64).map(|bar| 1_747_699_200_000 + 60_000 * bar).collect::<Vec<_>>(),
        "close" => walk.closes().to_vec(),
    )?;

    let series = series_of(&prices)?;
    let grid = Grid::parse("hma:20..=100:20", "hma3:24..=96:24")?;
    let sweep = Pool::new(None).sweep(&series, &grid, &Rules::published())?;

    let rows = frame_of(&sweep)?;
    let best = SortMultipleOptions::default().with_order_descending(true);
    println!("{}", rows.sort(["pnl_pct"], best)?.head(Some(5)));
    assert_eq!(rows.height(), 20);
    assert_eq!(series.closes(), walk.closes());
    Ok(())
}
