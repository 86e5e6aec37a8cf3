//! The precision trap on a page: the same average, four ways, and what each does to the trades.
//!
//! `cargo run --release --example precision_trap`

use crosscheck::equivalence::{Scale, audit, measure, report_fp32};
use crosscheck::{Filter, Formula, Grid, Precision, Rules, Sequential, Uncertified, random_walk};

fn main() -> crosscheck::Result<()> {
    let series = random_walk(150_000, 42)?;
    let filter = Filter::wma(14)?;

    // Before running anything: what does a formula do to numbers of this size?
    let scale = Scale::of(&series);
    println!("{}\n", audit(&filter, Formula::PrefixSums, scale));

    // The same average in f32 by four formulas, against exact values.
    for formula in [
        Formula::PrefixSums,
        Formula::SlidingUpdate,
        Formula::DirectWindows,
        Formula::CentredDirect,
    ] {
        let found = formula.evaluate::<f32>(&filter, series.closes());
        let error = measure(&filter, series.closes(), &found.values, Precision::Single);
        let error = error.expect("prices of one scale fit the exact integers");
        let bar = error.bar;
        println!(
            "{formula:<15} largest intermediate {:>8.1e}, relative error {:.1e} at bar {bar}: {}",
            found.largest, error.max_relative, found.values[bar]
        );
    }

    // What that does to trades: two engines in f32, judged against exact decisions.
    let grid = Grid::parse("hma:20,40", "hma3:24,48")?;
    for formula in [Formula::PrefixSums, Formula::DirectWindows] {
        let engine = Uncertified::new(formula, Precision::Single);
        let reference = Sequential::new();
        let report = report_fp32(&reference, &engine, &series, &grid, &Rules::published())?;
        println!("\n{report}");
    }
    Ok(())
}
