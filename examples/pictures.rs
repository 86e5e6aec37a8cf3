//! Draws each kind of picture from a sweep of the random walk, into the folder given or a temporary one.
//!
//! Run: `cargo run --release --features plot --example pictures -- FOLDER`

use crosscheck::plot::{self, Curve};
use crosscheck::{Backend, Grid, Rules, Sequential, SweepRow, Trade, random_walk};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let given = std::env::args().nth(1).map(std::path::PathBuf::from);
    let folder = given.unwrap_or_else(|| std::env::temp_dir().join("crosscheck-pictures"));
    std::fs::create_dir_all(&folder)?;

    let series = random_walk(150_000, 42)?;
    let grid = Grid::parse("hma:20..=200:20", "hma3:24..=192:24")?;
    let (engine, rules) = (Sequential::new(), Rules::default());
    let sweep = engine.sweep(&series, &grid, &rules)?;
    let pnl = |row: &SweepRow| row.totals.pnl_pct;

    // the three best combinations, run again on their own: the same trades to the last bit
    let mut order: Vec<usize> = (0..sweep.rows.len()).collect();
    order.sort_by(|&a, &b| pnl(&sweep.rows[b]).total_cmp(&pnl(&sweep.rows[a])));
    let pair = |&combination: &usize| {
        let (fast, slow) = grid.combination(combination);
        (fast.clone(), slow.clone())
    };
    let best = Grid::from_pairs(&order[..3].iter().map(pair).collect::<Vec<_>>())?;
    let trades = engine.trades(&series, &best, &rules)?;
    assert_eq!(trades[0].len() as u64, sweep.rows[order[0]].totals.trades);

    let curves: Vec<Curve> = (0..3)
        .map(|combination| {
            let (fast, slow) = best.combination(combination);
            let equity = equity_at_exits(&trades[combination], series.bars());
            Curve {
                name: format!("{fast} over {slow}"),
                equity,
            }
        })
        .collect();

    for format in ["svg", "png"] {
        let file = |name: &str| folder.join(name).with_extension(format);
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

/// One value a bar: 1 at the start, plus the PnL of every trade that has closed.
fn equity_at_exits(trades: &[Trade], bars: usize) -> Vec<f64> {
    let mut equity = vec![0.0; bars];
    for trade in trades {
        equity[trade.exit_bar as usize] += trade.pnl_pct / 100.0;
    }
    let mut sum = 1.0;
    for value in &mut equity {
        sum += *value;
        *value = sum;
    }
    equity
}
