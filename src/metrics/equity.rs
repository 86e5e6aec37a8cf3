//! The bar-by-bar equity of one list of trades, by a plain loop over the bars.
//!
//! A sweep's metrics never build it; it is for pictures, and for whoever wants each value.

use crate::rules::{Compounding, OpenTrade, Rules};
use crate::series::Series;
use crate::trade::{Costs, Trade};

/// Computes the equity at each close over the starting one, from trades that [`Backend::trades`](crate::Backend::trades)
/// listed under the same rules.
///
/// It starts at 1, the stake. Additive equity moves by each trade's PnL, compounded equity is multiplied by it and never
/// below 0. An open position is marked at each close, its entry's fee paid. *Shape*: one value a bar.
///
/// # Panics
/// Where a trade's bars are not bars of the series.
///
/// # Examples
/// ```
/// use crosscheck::{Backend, Grid, Rules, Sequential, equity, random_walk};
/// let walk = random_walk(2_000, 42)?;
/// let grid = Grid::parse("hma:20", "hma3:24")?;
/// let rules = Rules::published();
/// let trades = &Sequential::new().trades(&walk, &grid, &rules)?[0];
/// let equity = equity(&walk, &rules, trades);
/// let sum: f64 = trades.iter().map(|trade| trade.pnl_pct).sum();
/// assert!((equity[1_999] - 1.0 - sum / 100.0).abs() < 1e-12);
/// # Ok::<(), crosscheck::Error>(())
/// ```
pub fn equity(series: &Series, rules: &Rules, trades: &[Trade]) -> Vec<f64> {
    let costs = Costs::new(rules);
    let compounds = rules.compounding() == Compounding::Compounded;
    let excludes = rules.open_trade() == OpenTrade::Exclude;
    let grown = |settled: f64, pnl_pct: f64| {
        if compounds {
            (settled * (1.0 + pnl_pct / 100.0)).max(0.0)
        } else {
            settled + pnl_pct / 100.0
        }
    };
    let mut equity = Vec::with_capacity(series.bars());
    let mut settled = 1.0;
    for trade in trades.iter().filter(|trade| !(excludes && trade.is_open)) {
        equity.resize(trade.entry_bar as usize, settled);
        for &close in &series.closes()[trade.entry_bar as usize..trade.exit_bar as usize] {
            let mark = costs.marked_pct(trade.side.sign(), trade.entry_price, close);
            equity.push(grown(settled, mark));
        }
        settled = grown(settled, trade.pnl_pct);
    }
    equity.resize(series.bars(), settled);
    equity
}
