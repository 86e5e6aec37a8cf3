//! Filters of your own: a kernel of weights, and a tree built by hand. Both are swept exactly like the built-in ones.
//!
//! Run: `cargo run --release --example custom_filter`

use std::sync::Arc;

use crosscheck::{Backend, Expr, Filter, Grid, Naive, Result, Rules, Sequential, random_walk};

/// A Gaussian kernel over `period` bars, newest bar in the middle of the bell, normalised.
fn gaussian(period: usize) -> Result<Filter> {
    let width = period as f64 / 3.0;
    let age = |k: usize| (period - 1 - k) as f64 / width;
    let bell: Vec<f64> = (0..period).map(|k| (-0.5 * age(k).powi(2)).exp()).collect();
    let sum: f64 = bell.iter().sum();
    let weights: Vec<f64> = bell.iter().map(|weight| weight / sum).collect();
    Filter::fir(&format!("gauss:{period}"), &weights)
}

/// A double average, `2*Sma - Sma of Sma`: the lag of the mean taken off once.
fn double_sma(period: usize) -> Result<Filter> {
    let sma = Arc::new(Expr::Sma {
        period,
        of: Arc::new(Expr::Close),
    });
    let twice = Arc::new(Expr::Sma {
        period,
        of: Arc::clone(&sma),
    });
    Filter::from_expr(
        &format!("dsma:{period}"),
        Expr::Combination(vec![(2, sma), (-1, twice)]),
    )
}

fn main() -> Result<()> {
    // what the tree implies is derived, not stated: warm-up, exact weights, gain, error bound
    let filter = double_sma(10)?;
    let weights = filter.exact_weights();
    assert_eq!(filter.warm_up(), 18);
    assert_eq!(
        weights.numerators().into_iter().sum::<num_bigint::BigInt>(),
        weights.denominator()
    );
    println!(
        "{filter}: {} bars of warm-up, magnification {:.3}, relative error below {:.1e}",
        filter.warm_up(),
        filter.magnification(),
        filter.relative_error_bound()
    );

    let series = random_walk(20_000, 42)?;
    let fast = [double_sma(10)?, double_sma(20)?, gaussian(12)?];
    let slow = [gaussian(40)?, Filter::hma3(96)?, Filter::sma(50)?];
    let grid = Grid::cross(&fast, &slow)?;
    let sweep = Sequential::new().sweep(&series, &grid, &Rules::published())?;
    for row in &sweep.rows {
        println!(
            "{:>8} over {:<8} {:>5} trades",
            row.fast, row.slow, row.totals.trades
        );
    }
    // the loop from the definition agrees, bit for bit
    assert_eq!(
        Naive::new()
            .sweep(&series, &grid, &Rules::published())?
            .rows,
        sweep.rows
    );
    assert!(sweep.rows.iter().all(|row| row.totals.trades > 100));
    Ok(())
}
