//! A check that no result depends on a bar that comes after it: cut or change the future, and compare the past.

use crate::backend::Backend;
use crate::crossover::Side;
use crate::error::Result;
use crate::grid::Grid;
use crate::rules::{Compounding, Rules};
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
/// trades that were entered before each cut with those of the whole series, bit for bit: their entries, and their exits
/// where those are before it too.
///
/// The replaced future runs the prices after the cut backwards and three times as high (as high as they were, where three
/// times would be beyond the range of prices). Under rules that fill a bar later,
/// it also shows the fills of the last signals before the cut: their bars and sides are compared, their prices are not. (Where
/// the price of such a fill, or the close of its bar, ruins a compounding account, the combination's fills of that bar are not.)
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
        let delay = rules.fill().delay() as usize;
        let shifts = [
            (series.slice(0..cut)?, cut),
            (other_future(series, cut)?, cut + delay),
        ];
        for (shifted, filled) in shifts {
            let trades = backend.trades(&shifted, grid, rules)?;
            let past = Past { cut, filled, rules };
            report.compare(&whole, &trades, &past);
        }
    }
    Ok(report)
}

impl LookAhead {
    fn compare(&mut self, whole: &[Vec<Trade>], shifted: &[Vec<Trade>], past: &Past<'_>) {
        for (combination, (whole, shifted)) in whole.iter().zip(shifted).enumerate() {
            let past = &past.without_ruin([whole, shifted]);
            for trade in 0..past.entered(whole).max(past.entered(shifted)) {
                let (a, b) = (whole.get(trade), shifted.get(trade));
                self.compared += 1;
                let known = |trade: Option<&Trade>| trade.and_then(|trade| past.known(trade));
                if known(a) != known(b) && self.leak.is_none() {
                    self.leak = Some(Leak {
                        cut: past.cut,
                        combination,
                        trade,
                        whole: a.copied(),
                        shifted: b.copied(),
                    });
                }
            }
        }
    }
}

/// What two series that differ from a bar on have in common.
#[derive(Clone, Copy)]
struct Past<'r> {
    /// The first bar that differs.
    cut: usize,
    /// The first bar whose fills are signals of bars that differ.
    filled: usize,
    rules: &'r Rules,
}

/// What is known of a trade before a bar.
#[derive(PartialEq)]
struct Known {
    entry_bar: u32,
    side: Side,
    entry_price: Option<f64>,
    exit_bar: Option<u32>,
    /// Price, PnL and fees of the exit.
    exit: Option<[f64; 3]>,
}

impl Past<'_> {
    /// The same without the fills after the cut, where one of them or a close there ruined the account: that ends a trade
    /// with or without a signal, and lets none begin.
    fn without_ruin(&self, lists: [&[Trade]; 2]) -> Self {
        let ends = |trade: &Trade| trade.exit_bar as usize >= self.cut && trade.pnl_pct <= -100.0;
        let is_ruined = self.rules.compounding() == Compounding::Compounded
            && lists.iter().any(|trades| {
                let until = trades.partition_point(|trade| (trade.exit_bar as usize) < self.filled);
                trades[..until].iter().any(ends)
            });
        Self {
            filled: if is_ruined { self.cut } else { self.filled },
            ..*self
        }
    }

    fn entered(&self, trades: &[Trade]) -> usize {
        trades.partition_point(|trade| (trade.entry_bar as usize) < self.filled)
    }

    fn known(&self, trade: &Trade) -> Option<Known> {
        let (entry, exit) = (trade.entry_bar as usize, trade.exit_bar as usize);
        let is_closed = !trade.is_open && !self.is_ruin_at_the_end(trade);
        (entry < self.filled).then(|| Known {
            entry_bar: trade.entry_bar,
            side: trade.side,
            entry_price: (entry < self.cut).then_some(trade.entry_price),
            exit_bar: (is_closed && exit < self.filled).then_some(trade.exit_bar),
            exit: (is_closed && exit < self.cut).then_some([
                trade.exit_price,
                trade.pnl_pct,
                trade.fees_pct,
            ]),
        })
    }

    /// On its last bar a series does not end a trade that is worth nothing: it is open, and settled by the rules for that.
    fn is_ruin_at_the_end(&self, trade: &Trade) -> bool {
        self.rules.compounding() == Compounding::Compounded
            && trade.exit_bar as usize + 1 == self.cut
            && trade.pnl_pct <= -100.0
    }
}

fn other_future(series: &Series, cut: usize) -> Result<Series> {
    let columns = [Some(series.closes()), series.opens()];
    let prices = columns.into_iter().flatten().flatten();
    let ticks = series.ticks().into_iter().flatten();
    let has_room = prices.fold(0.0, |most: f64, &price| most.max(price)) <= f64::MAX / 4.0
        && ticks.max().is_none_or(|&most| most <= i64::MAX / 4);
    let factor = if has_room { 3_i32 } else { 1 };
    let other = |prices: &[f64]| {
        let future = prices[cut..].iter().rev();
        let future = future.map(|price| f64::from(factor) * price);
        prices[..cut]
            .iter()
            .copied()
            .chain(future)
            .collect::<Vec<f64>>()
    };
    let ticks = series.ticks().map(|ticks| {
        let future = ticks[cut..]
            .iter()
            .rev()
            .map(|tick| i64::from(factor) * tick);
        ticks[..cut].iter().copied().chain(future).collect()
    });
    let changed = Series::from_parts(other(series.closes()), ticks)?;
    match series.opens() {
        Some(opens) => changed.with_opens(other(opens)),
        None => Ok(changed),
    }
}
