//! A third-party engine: one dot product a window with the composite weights, held against M0 by the strict gate.
//!
//! Run: `cargo run --release --example custom_backend`

use crosscheck::equivalence::{Strict, compare_strict};
use crosscheck::{
    Backend, Error, Filter, FilterMatrix, Grid, Naive, Question, Result, Rules, gamma, random_walk,
};
use ndarray::Array2;

/// Every filter, however deep its tree, as one dot product with its weights on the closes.
struct OneDot {
    states_bound: bool,
}

impl Backend for OneDot {
    fn name(&self) -> &str {
        "one-dot"
    }

    fn filters(&self, question: &Question<'_>) -> Result<FilterMatrix> {
        let closes = question.series().closes();
        let filters = question.filters();
        let mut values = Array2::from_elem((filters.len(), closes.len()), f64::NAN);
        for (mut row, filter) in values.rows_mut().into_iter().zip(filters) {
            let weights = filter.exact_weights().to_f64();
            for (bar, window) in closes.windows(weights.len()).enumerate() {
                let products = weights
                    .iter()
                    .zip(window)
                    .map(|(weight, close)| weight * close);
                row[bar + weights.len() - 1] = products.sum();
            }
        }
        let bounds = filters.iter().map(bound).collect();
        Ok(FilterMatrix {
            values,
            relative_bounds: self.states_bound.then_some(bounds),
        })
    }
}

/// How far a value can be from exact, relative to the largest close of its window.
///
/// A term meets three roundings in its weight, one in the product and at most `window` in the additions: the error is
/// below `gamma(window + 4) * sum |weight| * largest close` (Higham 2002, section 3.1). The sum of the sizes is itself
/// rounded, by far less than half of it; the factor 2 covers that.
fn bound(filter: &Filter) -> f64 {
    let window = filter.warm_up() + 1;
    2.0 * gamma(window + 4) * filter.magnification()
}

fn main() -> Result<()> {
    let series = random_walk(20_000, 42)?;
    let grid = Grid::parse("hma:20..=60:20", "hma3:24..=72:24")?;
    let rules = Rules::published();

    // the gate compares whole trade lists, and a comparison without trades is an error
    let engine = OneDot { states_bound: true };
    let report = compare_strict(&Naive::new(), &engine, &series, &grid, &rules)?;
    println!("{report}");
    assert!(report.is_equal() && report.trades > 1_000);

    let sweep = engine.sweep(&series, &grid, &rules)?;
    println!(
        "{} of {} decisions were left open by the bound and settled exactly",
        sweep.diagnostics.undecided, sweep.diagnostics.decisions
    );

    // without a bound nothing is proven: the gate refuses, whatever the trades are
    let unproven = OneDot {
        states_bound: false,
    };
    let refused = Strict::new().compare(&Naive::new(), &unproven, &series, &grid, &rules);
    assert!(matches!(refused, Err(Error::Uncertified { .. })));
    Ok(())
}
