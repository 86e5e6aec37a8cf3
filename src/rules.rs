//! The rules by which crossovers become trades: checked when they are made, so that nothing after them fails.
//!
//! `docs/conventions.md` states every formula; the defaults are the published kernel's without its fee.

mod choice;

pub use choice::{Compounding, Direction, FeeFormula, Fill, FirstSide, OpenTrade};

use crate::error::{Error, Result};
use crate::series::Series;

/// How crossovers are traded: by default always in the market, filled at the signal bar's close, without costs.
///
/// A reversal is one event at one price with two fee legs. Slippage moves each fill against the trade. *Unit*: fees in
/// percent (or bps) of a notional, never negative.
///
/// # Examples
/// ```
/// use crosscheck::{Direction, Fill, Rules};
/// assert_eq!(Rules::default().fee_pct(), 0.0);
/// assert_eq!(Rules::published().fee_pct(), 0.09);
/// let rules = Rules::default()
///     .with_fee_per_side_bps(4.5)?
///     .with_slippage_bps(1.0)?
///     .with_direction(Direction::LongOnly)
///     .with_fill(Fill::NextOpen);
/// assert_eq!(rules.fee_pct(), 0.09);
/// assert!(Rules::default().with_fee_pct(-0.1).is_err());
/// # Ok::<(), crosscheck::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "unchecked::Rules"))]
pub struct Rules {
    fee_per_side_pct: f64,
    fixed_fee_pct: f64,
    slippage_bps: f64,
    fee_formula: FeeFormula,
    direction: Direction,
    fill: Fill,
    first_side: FirstSide,
    open_trade: OpenTrade,
    compounding: Compounding,
}

impl Rules {
    /// Returns the published kernel's rules: 0.09 % fee a round trip.
    pub fn published() -> Self {
        Self {
            fee_per_side_pct: 0.045,
            ..Self::default()
        }
    }

    /// Sets the fee of a round trip in percent; half of it falls on each side.
    ///
    /// # Errors
    /// [`Error::InvalidRules`] where it is negative, not finite, or 100 % a side or more.
    pub fn with_fee_pct(mut self, fee_pct: f64) -> Result<Self> {
        check("a fee", fee_pct, "% a round trip", 200.0)?;
        self.fee_per_side_pct = fee_pct / 2.0;
        Ok(self)
    }

    /// Sets the fee of a round trip in basis points (0.01 %).
    ///
    /// # Errors
    /// Those of [`Rules::with_fee_pct`].
    pub fn with_fee_bps(self, fee_bps: f64) -> Result<Self> {
        check("a fee", fee_bps, "bps a round trip", 20_000.0)?;
        self.with_fee_pct(fee_bps / 100.0)
    }

    /// Sets the fee of one side, an entry or an exit, in percent.
    ///
    /// # Errors
    /// Those of [`Rules::with_fee_pct`].
    pub fn with_fee_per_side_pct(mut self, fee_pct: f64) -> Result<Self> {
        check("a fee", fee_pct, "% a side", 100.0)?;
        self.fee_per_side_pct = fee_pct;
        Ok(self)
    }

    /// Sets the fee of one side, an entry or an exit, in basis points (0.01 %).
    ///
    /// # Errors
    /// Those of [`Rules::with_fee_pct`].
    pub fn with_fee_per_side_bps(self, fee_bps: f64) -> Result<Self> {
        check("a fee", fee_bps, "bps a side", 10_000.0)?;
        self.with_fee_per_side_pct(fee_bps / 100.0)
    }

    /// Sets a fixed fee: each entry and each exit costs `amount`, on trades of `notional` in the same currency.
    ///
    /// It counts as `amount / notional` of the stake a side, whatever the prices, and comes on top of the other fee.
    ///
    /// # Errors
    /// [`Error::InvalidRules`] where the notional is not above 0, or the share is negative or 100 % or more.
    ///
    /// # Examples
    /// ```
    /// # use crosscheck::Rules;
    /// let rules = Rules::default().with_fixed_fee(1.0, 2_000.0)?;
    /// assert_eq!(rules.fixed_fee_pct(), 0.05);
    /// assert_eq!(rules.fee_pct(), 0.1);
    /// # Ok::<(), crosscheck::Error>(())
    /// ```
    pub fn with_fixed_fee(mut self, amount: f64, notional: f64) -> Result<Self> {
        if !(notional.is_finite() && notional > 0.0) {
            let reason = format!("a notional of {notional}; give the size of a trade, above 0");
            return Err(Error::InvalidRules { reason });
        }
        check("a fixed fee", amount, "a side", notional)?;
        self.fixed_fee_pct = amount / notional * 100.0;
        Ok(self)
    }

    /// Sets the slippage in basis points: buys fill that much above the price, sells that much below.
    ///
    /// # Errors
    /// [`Error::InvalidRules`] where it is negative, not finite, or 10,000 bps or more.
    pub fn with_slippage_bps(mut self, slippage_bps: f64) -> Result<Self> {
        check("slippage", slippage_bps, "bps", 10_000.0)?;
        self.slippage_bps = slippage_bps;
        Ok(self)
    }

    /// Sets the formula by which fees enter the PnL.
    pub fn with_fee_formula(mut self, formula: FeeFormula) -> Self {
        self.fee_formula = formula;
        self
    }

    /// Sets which sides may be held.
    pub fn with_direction(mut self, direction: Direction) -> Self {
        self.direction = direction;
        self
    }

    /// Sets the price at which signals are filled.
    pub fn with_fill(mut self, fill: Fill) -> Self {
        self.fill = fill;
        self
    }

    /// Sets what the first decided side does.
    pub fn with_first_side(mut self, first_side: FirstSide) -> Self {
        self.first_side = first_side;
        self
    }

    /// Sets what happens to the trade still open at the last bar.
    pub fn with_open_trade(mut self, open_trade: OpenTrade) -> Self {
        self.open_trade = open_trade;
        self
    }

    /// Sets how trades add up.
    pub fn with_compounding(mut self, compounding: Compounding) -> Self {
        self.compounding = compounding;
        self
    }

    /// Returns what a round trip costs under [`FeeFormula::Additive`], in percent of the entry price.
    pub fn fee_pct(&self) -> f64 {
        2.0 * (self.fee_per_side_pct + self.fixed_fee_pct)
    }

    /// Returns the proportional fee of one side, in percent.
    pub fn fee_per_side_pct(&self) -> f64 {
        self.fee_per_side_pct
    }

    /// Returns the fixed fee of one side, in percent of the stake.
    pub fn fixed_fee_pct(&self) -> f64 {
        self.fixed_fee_pct
    }

    /// Returns the slippage of one fill, in basis points.
    pub fn slippage_bps(&self) -> f64 {
        self.slippage_bps
    }

    /// Returns the formula by which fees enter the PnL.
    pub fn fee_formula(&self) -> FeeFormula {
        self.fee_formula
    }

    /// Returns which sides may be held.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// Returns the price at which signals are filled.
    pub fn fill(&self) -> Fill {
        self.fill
    }

    /// Returns what the first decided side does.
    pub fn first_side(&self) -> FirstSide {
        self.first_side
    }

    /// Returns what happens to the trade still open at the last bar.
    pub fn open_trade(&self) -> OpenTrade {
        self.open_trade
    }

    /// Returns how trades add up.
    pub fn compounding(&self) -> Compounding {
        self.compounding
    }

    /// Says whether the fast ledger covers these rules: always in the market and filled at closes, with any additive fee, first
    /// side and end.
    pub(crate) fn is_plain(&self) -> bool {
        let plain = Self {
            fill: match self.fill {
                Fill::NextOpen => Fill::default(),
                at_a_close => at_a_close,
            },
            fee_per_side_pct: self.fee_per_side_pct,
            fixed_fee_pct: self.fixed_fee_pct,
            first_side: self.first_side,
            open_trade: self.open_trade,
            ..Self::default()
        };
        *self == plain
    }

    /// The closes at which signals are filled, that of the first bar's first, under rules that fill at closes.
    pub(crate) fn filled<'c>(&self, closes: &'c [f64]) -> &'c [f64] {
        &closes[closes.len().min(self.fill.delay() as usize)..]
    }

    /// Checks that a series has what the rules need.
    pub(crate) fn check(&self, series: &Series) -> Result<()> {
        if self.fill == Fill::NextOpen && series.opens().is_none() {
            return Err(Error::MissingOpens);
        }
        Ok(())
    }
}

fn check(what: &str, value: f64, unit: &str, limit: f64) -> Result<()> {
    if value.is_finite() && (0.0..limit).contains(&value) {
        return Ok(());
    }
    let reason = format!("{what} of {value} {unit}; it must be 0 or more and below {limit}");
    Err(Error::InvalidRules { reason })
}

/// Rules as they are read, before they are checked.
#[cfg(feature = "serde")]
mod unchecked {
    use super::{Compounding, Direction, FeeFormula, Fill, FirstSide, OpenTrade, check};
    use crate::error::Error;

    #[derive(serde::Deserialize, Default)]
    #[serde(default, deny_unknown_fields)]
    pub(super) struct Rules {
        fee_per_side_pct: f64,
        fixed_fee_pct: f64,
        slippage_bps: f64,
        fee_formula: FeeFormula,
        direction: Direction,
        fill: Fill,
        first_side: FirstSide,
        open_trade: OpenTrade,
        compounding: Compounding,
    }

    impl TryFrom<Rules> for super::Rules {
        type Error = Error;

        fn try_from(read: Rules) -> Result<Self, Error> {
            check(
                "a fixed fee",
                read.fixed_fee_pct,
                "% of the notional",
                100.0,
            )?;
            let mut rules = Self::default()
                .with_fee_per_side_pct(read.fee_per_side_pct)?
                .with_slippage_bps(read.slippage_bps)?
                .with_fee_formula(read.fee_formula)
                .with_direction(read.direction)
                .with_fill(read.fill)
                .with_first_side(read.first_side)
                .with_open_trade(read.open_trade)
                .with_compounding(read.compounding);
            rules.fixed_fee_pct = read.fixed_fee_pct;
            Ok(rules)
        }
    }
}
