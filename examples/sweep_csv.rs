//! From a price file to the best combinations: writes a small CSV, reads it exactly, sweeps it.
//!
//! Run: `cargo run --release --features csv --example sweep_csv -- [FILE]`

use std::fmt::Write;
use std::path::{Path, PathBuf};

use crosscheck::{Backend, Grid, Metric, Pool, Reading, Rules, Series, random_walk};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let own = std::env::temp_dir().join(format!("crosscheck-sweep-csv-{}.csv", std::process::id()));
    let given = std::env::args().nth(1).map(PathBuf::from);
    let path = given.clone().unwrap_or_else(|| own.clone());
    if given.is_none() {
        write_walk(&path)?;
    }

    // decimal text is kept as integers of the smallest price step, so 0.1 + 0.2 ties with 0.3
    let series = Series::from_csv(&path)?;
    println!(
        "{}: {} bars, read in {:?}",
        path.display(),
        series.bars(),
        series.reading()
    );

    let grid = Grid::parse("hma:20..=200:20", "hma3:24..=192:24")?;
    let sweep = Pool::new(None).sweep(&series, &grid, &Rules::published())?;
    for combination in sweep.rank(Metric::Pnl).into_iter().take(5) {
        let row = &sweep.rows[combination];
        let totals = row.totals;
        println!(
            "{:>8} {:>8} {:>6} trades {:>9.2} %",
            row.fast, row.slow, totals.trades, totals.pnl_pct
        );
    }
    assert!(sweep.diagnostics.certified);
    if given.is_none() {
        assert_eq!((series.bars(), series.reading()), (5_000, Reading::Ticks));
        assert!(sweep.trades() > 5_000);
        std::fs::remove_file(&own)?;
    }
    Ok(())
}

/// A minute file with two decimals, as an exchange would write it.
fn write_walk(path: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let mut text = String::from("timestamp,close\n");
    for (bar, close) in random_walk(5_000, 7)?.closes().iter().enumerate() {
        writeln!(
            text,
            "{},{close:.2}",
            1_700_000_000_000_u64 + 60_000 * bar as u64
        )?;
    }
    Ok(std::fs::write(path, text)?)
}
