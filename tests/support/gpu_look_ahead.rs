//! No result before a bar depends on bars after it: M5 under every rule, as `tests/look_ahead.rs` asks of the others.

use crosscheck::gpu::Summation;
use crosscheck::{GpuOptions, Grid, random_walk, shift_test};

use crate::every_rule::every_rule;
use crate::{Gpu, Outcome, check};

/// The two ways to sum and the two kinds of kernels take turns, so that each meets half of the rules.
pub(crate) fn no_trade_before_a_bar_depends_on_bars_after_it() -> Outcome {
    let walk = random_walk(700, 21)?;
    let opens = walk.closes().iter().map(|close| close * 1.000_1).collect();
    let series = walk.with_opens(opens)?;
    let grid = Grid::parse("hma:9,20", "hma3:12,24")?;
    let engine = |summation, on_device| {
        let options = GpuOptions::default().with_summation(summation);
        Gpu::with_options(options.with_settling_on_device(on_device))
    };
    let engines = [
        engine(Summation::Staged, true)?,
        engine(Summation::Composite, false)?,
    ];
    let rules = every_rule();
    check(rules.len() == 540, "every rule is met")?;
    for (engine, rules) in engines.iter().cycle().zip(&rules) {
        let report = shift_test(engine, &series, &grid, rules, 2)?;
        check(
            report.is_clean() && report.compared > 50,
            &format!("{rules:?} {report:?}"),
        )?;
    }
    Ok(())
}
