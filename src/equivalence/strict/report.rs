//! What a strict comparison found, in numbers and in words.

use std::fmt;

use super::PNL_TOLERANCE;
use crate::crossover::Side;
use crate::error::{Error, Result};
use crate::grid::Grid;
use crate::trade::Trade;

/// How much was compared, and the first difference if there is one.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct StrictReport {
    /// Name of the engine taken as right.
    pub reference: String,
    /// Name of the engine that was judged.
    pub candidate: String,
    /// Combinations compared.
    pub combinations: usize,
    /// Trades compared: those of the candidate.
    pub trades: u64,
    /// Combinations that differ.
    pub differing: usize,
    /// Largest difference of two `PnL`, of a trade or of a combination's sum, in percentage points.
    pub max_pnl_difference: f64,
    /// The first difference, in the order of the grid.
    pub difference: Option<Difference>,
}

/// The first place where two engines differ.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Difference {
    /// Index of the combination in the grid.
    pub combination: usize,
    /// Name of its fast filter.
    pub fast: String,
    /// Name of its slow filter.
    pub slow: String,
    /// Index of the trade; `None` where the totals differ from the list.
    pub trade: Option<usize>,
    /// The reference's trade, if it has one there.
    pub reference: Option<Trade>,
    /// The candidate's trade, if it has one there.
    pub candidate: Option<Trade>,
    /// The first bar on which their sides part; `None` where only the money differs.
    pub bar: Option<usize>,
    /// The exact sign of fast - slow on that bar: +1, 0 for a tie, or -1.
    pub exact_sign: Option<i8>,
    /// What differs.
    pub reason: String,
}

impl StrictReport {
    pub(super) fn new(reference: &str, candidate: &str) -> Self {
        Self {
            reference: reference.to_owned(),
            candidate: candidate.to_owned(),
            combinations: 0,
            trades: 0,
            differing: 0,
            max_pnl_difference: 0.0,
            difference: None,
        }
    }

    /// Returns whether nothing differs.
    pub fn is_equal(&self) -> bool {
        self.difference.is_none()
    }

    /// Turns a difference into an error.
    ///
    /// # Errors
    /// [`Error::EnginesDiffer`] with the report in words.
    pub fn require(&self) -> Result<()> {
        if self.is_equal() {
            return Ok(());
        }
        let report = self.to_string();
        Err(Error::EnginesDiffer { report })
    }

    /// Counts a combination.
    pub(super) fn count(&mut self, trades: usize, difference: Option<Difference>) {
        self.combinations += 1;
        self.trades += trades as u64;
        self.differing += usize::from(difference.is_some());
        if self.difference.is_none() {
            self.difference = difference;
        }
    }

    /// Keeps the largest difference of two `PnL`, and says whether this one is within the tolerance; NaN is not.
    pub(super) fn measure(&mut self, difference: f64) -> bool {
        let size = difference.abs();
        if size.is_nan() || size > self.max_pnl_difference {
            self.max_pnl_difference = size;
        }
        size <= PNL_TOLERANCE
    }
}

impl Difference {
    pub(super) fn new(grid: &Grid, combination: usize, reason: String) -> Self {
        let (fast, slow) = grid.combination(combination);
        Self {
            combination,
            fast: fast.name().to_owned(),
            slow: slow.name().to_owned(),
            trade: None,
            reference: None,
            candidate: None,
            bar: None,
            exact_sign: None,
            reason,
        }
    }
}

impl fmt::Display for StrictReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            reference,
            candidate,
            combinations,
            trades,
            differing,
            max_pnl_difference,
            difference,
        } = self;
        let Some(first) = difference else {
            return write!(
                f,
                "{candidate} equals {reference}: {trades} trades of {combinations} combinations, \
                 largest PnL difference {max_pnl_difference:.1e} percentage points"
            );
        };
        write!(
            f,
            "{candidate} differs from {reference} in {differing} of {combinations} combinations, first in {first}"
        )
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            combination,
            fast,
            slow,
            reason,
            ..
        } = self;
        write!(f, "combination {combination} ({fast} / {slow})")?;
        if let Some(trade) = self.trade {
            let (expected, found) = (InWords(self.reference), InWords(self.candidate));
            write!(f, ", trade {trade}: {expected} is due, found {found}")?;
        }
        write!(f, ": {reason}")?;
        let (Some(bar), Some(sign)) = (self.bar, self.exact_sign) else {
            return Ok(());
        };
        let exact = match sign {
            1 => "above slow",
            0 => "equal to slow (a tie keeps the side)",
            _ => "below slow",
        };
        write!(f, "; on bar {bar} fast is exactly {exact}")
    }
}

struct InWords(Option<Trade>);

impl fmt::Display for InWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(trade) = self.0 else {
            return f.write_str("no trade");
        };
        let side = match trade.side {
            Side::Long => "long",
            Side::Short => "short",
        };
        let (entry, exit) = (trade.entry_bar, trade.exit_bar);
        write!(f, "{side} of bars {entry} to {exit}")
    }
}
