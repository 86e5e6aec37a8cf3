//! Re-optimising in somebody's own loop: every 2,000 bars, the best combination of the last 10,000 is chosen and traded.
//!
//! Run: `cargo run --release --example embed_in_a_loop`

use crosscheck::{Backend, Grid, Metric, Result, Rules, Sequential, random_walk};

const TRAIN: usize = 10_000;
const TEST: usize = 2_000;

fn main() -> Result<()> {
    let series = random_walk(40_000, 42)?;
    let grid = Grid::parse("hma:20..=100:20", "hma3:48..=192:48")?;
    let rules = Rules::published();
    let engine = Sequential::new();

    let mut out_of_sample = 0.0;
    let mut windows = 0;
    for now in (TRAIN..=series.bars() - TEST).step_by(TEST) {
        // choose: only bars before `now`
        let seen = series.slice(now - TRAIN..now)?;
        let sweep = engine.sweep(&seen, &grid, &rules)?;
        let best = sweep.best(Metric::Pnl).expect("some combination trades");
        let (fast, slow) = grid.combination(best);

        // trade it on the bars from `now` on; the bars before are there for the averages to warm up
        let chosen = Grid::from_pairs(&[(fast.clone(), slow.clone())])?;
        let warm_up = fast.warm_up().max(slow.warm_up());
        let first = now - warm_up - 1;
        let next = series.slice(first..now + TEST)?;
        let trades = engine.trades(&next, &chosen, &rules)?.remove(0);
        assert!(
            trades
                .iter()
                .all(|trade| first + trade.entry_bar as usize >= now)
        );
        let gained: f64 = trades.iter().map(|trade| trade.pnl_pct).sum();
        println!(
            "bar {now:>6}: {fast} over {slow}, {:>3} trades, {gained:>7.2} %",
            trades.len()
        );
        out_of_sample += gained;
        windows += 1;
    }
    println!("{windows} windows, {out_of_sample:.2} % out of sample");
    assert_eq!(windows, 15);
    // a random walk holds nothing to learn, and every trade pays a fee
    assert!(out_of_sample < 0.0);
    Ok(())
}
