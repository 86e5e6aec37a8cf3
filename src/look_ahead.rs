//! A check that no result depends on a bar that comes after it: cut or change the future, and compare the past.

use crate::backend::Backend;
use crate::error::Result;
use crate::grid::Grid;
use crate::rules::Rules;
use crate::series::Series;
use crate::trade::Trade;

/// What [`shift_test`] found.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct LookAhead {
    /// Trades compared, over all cuts; a test of none proves nothing.
    pub compared: u64,
    /// The first difference, if any.
    pub leak: Option<Leak>,
}

impl LookAhead {
    /// Says whether trades were compared and none of them depended on the future.
    pub fn is_clean(&self) -> bool {
        self.compared > 0 && self.leak.is_none()
    }
}

/// A trade that changed when only later bars did.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Leak {
    /// First bar that was cut off or changed.
    pub cut: usize,
    /// The combination.
    pub combination: usize,
    /// Index of the trade in the list of the combination.
    pub trade: usize,
    /// The trade as the whole series has it, if it has it.
    pub whole: Option<Trade>,
    /// The trade without the future, or with another.
    pub shifted: Option<Trade>,
}

/// Sweeps the series cut off at `cuts` bars spread over it, and again with all later prices replaced, and compares the
/// trades that closed before each cut with those of the whole series, bit for bit.
///
/// The replaced future runs the prices after the cut backwards and three times as high.
///
/// # Errors
/// Those of [`Backend::trades`] on the whole series; a cut too short for the grid is left out.
///
/// # Examples
/// ```
/// use crosscheck::{Grid, Rules, Sequential, random_walk, shift_test};
/// let walk = random_walk(2_000, 42)?;
/// let grid = Grid::parse("hma:20,40", "hma3:24,48")?;
/// let report = shift_test(&Sequential::new(), &walk, &grid, &Rules::default(), 5)?;
/// assert!(report.is_clean() && report.compared > 500);
/// # Ok::<(), crosscheck::Error>(())
/// ```
pub fn shift_test(
    backend: &dyn Backend,
    series: &Series,
    grid: &Grid,
    rules: &Rules,
    cuts: usize,
) -> Result<LookAhead> {
    let whole = backend.trades(series, grid, rules)?;
    let warm_up = grid
        .filters()
        .iter()
        .map(crate::Filter::warm_up)
        .max()
        .unwrap_or(0);
    let mut report = LookAhead {
        compared: 0,
        leak: None,
    };
    for cut in (1..=cuts).map(|index| series.bars() * index / (cuts + 1)) {
        if cut <= warm_up {
            continue;
        }
        for shifted in [series.slice(0..cut)?, other_future(series, cut)?] {
            let trades = backend.trades(&shifted, grid, rules)?;
            report.compare(&whole, &trades, cut);
        }
    }
    Ok(report)
}

impl LookAhead {
    fn compare(&mut self, whole: &[Vec<Trade>], shifted: &[Vec<Trade>], cut: usize) {
        let closed = |trades: &[Trade]| {
            trades
                .iter()
                .take_while(|t| (t.exit_bar as usize) < cut && !t.is_open)
                .count()
        };
        for (combination, (whole, shifted)) in whole.iter().zip(shifted).enumerate() {
            for trade in 0..closed(whole).max(closed(shifted)) {
                let (a, b) = (whole.get(trade).copied(), shifted.get(trade).copied());
                self.compared += 1;
                if a != b && self.leak.is_none() {
                    self.leak = Some(Leak {
                        cut,
                        combination,
                        trade,
                        whole: a,
                        shifted: b,
                    });
                }
            }
        }
    }
}

fn other_future(series: &Series, cut: usize) -> Result<Series> {
    let other = |prices: &[f64]| {
        let future = prices[cut..].iter().rev().map(|price| 3.0 * price);
        prices[..cut]
            .iter()
            .copied()
            .chain(future)
            .collect::<Vec<f64>>()
    };
    let ticks = series.ticks().map(|ticks| {
        let future = ticks[cut..].iter().rev().map(|tick| 3 * tick);
        ticks[..cut].iter().copied().chain(future).collect()
    });
    let changed = Series::from_parts(other(series.closes()), ticks)?;
    match series.opens() {
        Some(opens) => changed.with_opens(other(opens)),
        None => Ok(changed),
    }
}
