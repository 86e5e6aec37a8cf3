//! Draws each kind of picture from a sweep of the random walk, into the folder given or a temporary one.
//!
//! Run: `cargo run --release --features plot --example pictures -- FOLDER`

use crosscheck::plot::{self, Curve};
use crosscheck::{Backend, Grid, Metric, Rules, Sequential, SweepRow, equity, random_walk};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let given = std::env::args().nth(1).map(std::path::PathBuf::from);
    let folder = given.unwrap_or_else(|| std::env::temp_dir().join("crosscheck-pictures"));
    std::fs::create_dir_all(&folder)?;

    let series = random_walk(150_000, 42)?;
    let grid = Grid::parse("hma:20..=200:20", "hma3:24..=192:24")?;
    let (engine, rules) = (Sequential::new(), Rules::default());
    let sweep = engine.sweep(&series, &grid, &rules)?;

    // the three best combinations, run again on their own: the same trades to the last bit
    let order = sweep.rank(Metric::Pnl);
    let pair = |&combination: &usize| {
        let (fast, slow) = grid.combination(combination);
        (fast.clone(), slow.clone())
    };
    let best = Grid::from_pairs(&order[..3].iter().map(pair).collect::<Vec<_>>())?;
    let trades = engine.trades(&series, &best, &rules)?;
    assert_eq!(trades[0].len() as u64, sweep.rows[order[0]].totals.trades);

    let curve = |combination: usize| {
        let (fast, slow) = best.combination(combination);
        let equity = equity(&series, &rules, &trades[combination]);
        Curve {
            name: format!("{fast} over {slow}"),
            equity,
        }
    };
    let curves: Vec<Curve> = (0..3).map(curve).collect();

    for format in ["svg", "png"] {
        let file = |name: &str| folder.join(name).with_extension(format);
        let pnl = |row: &SweepRow| row.totals.pnl_pct;
        plot::heatmap(
            &sweep,
            "PnL without fees, percent of entry",
            pnl,
            file("heatmap"),
        )?;
        plot::equity(&curves, file("equity"))?;
        plot::price(
            &series,
            best.combination(0),
            &trades[0],
            1_000..1_400,
            file("price"),
        )?;
    }
    println!("drew {}", folder.display());
    assert!(folder.join("price.png").metadata()?.len() > 10_000);
    Ok(())
}
