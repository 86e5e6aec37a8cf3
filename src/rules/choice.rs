//! The choices that a rule set makes, each a small enum; the defaults are those of the published kernel.

use crate::crossover::Side;

/// Which sides may be held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Direction {
    /// Always in the market: each crossover closes one side and opens the other.
    #[default]
    LongShort,
    /// Bought while fast is above slow, flat otherwise.
    LongOnly,
    /// Sold while fast is below slow, flat otherwise.
    ShortOnly,
}

impl Direction {
    /// Returns the position held while the signal has the given side; `None` is flat.
    #[inline]
    pub fn position(self, signal: Side) -> Option<Side> {
        match (self, signal) {
            (Self::LongOnly, Side::Short) | (Self::ShortOnly, Side::Long) => None,
            (_, side) => Some(side),
        }
    }
}

/// At which price a signal of bar `t` (known at the close of `t`) is filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Fill {
    /// The close of `t` itself: the earliest and most optimistic price that is no look-ahead.
    #[default]
    SignalClose,
    /// The close of `t + 1`.
    NextClose,
    /// The open of `t + 1`; the series must have opens.
    NextOpen,
}

impl Fill {
    /// Returns how many bars after the signal the fill is: 0 or 1.
    #[inline]
    pub fn delay(self) -> u32 {
        u32::from(self != Self::SignalClose)
    }
}

/// How the fee of `f` per side enters the PnL of a trade from entry price `a` to exit price `b`.
///
/// With `gross = side * (b/a - 1)` as a fraction, and `f` a fraction; for entry 100, exit 110, `f` = 0.001, long:
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum FeeFormula {
    /// `gross - 2f`: each leg pays on the entry price. 0.098.
    #[default]
    Additive,
    /// `gross - f*(1 + b/a)`: each leg pays on its own notional. 0.0979.
    Notional,
    /// `(1-f)^2 * (1 + gross) - 1`: each leg takes its share of the account. 0.0978011.
    Multiplicative,
    /// `(gross - f*(1 + b/a)) / (1+f)`: the entry's fee is paid out of the stake, so `1/(1+f)` of it is traded; for a
    /// long this is `(1-f)/(1+f) * b/a - 1`. 0.0978022.
    AllCash,
}

/// What the first decided side does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum FirstSide {
    /// It only arms: it is a state, not a crossover. The first crossover after it opens the first trade.
    #[default]
    Arm,
    /// It opens the first trade, as a crossover would.
    Enter,
}

/// What happens to the trade that is still open at the last bar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum OpenTrade {
    /// It closes at the last close, pays its second leg and slippage, and counts.
    #[default]
    Close,
    /// It is marked at the last close, pays its first leg only, and counts.
    Mark,
    /// It is listed as [`OpenTrade::Mark`] would, and counts in no total and no metric.
    Exclude,
}

/// How trades add up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Compounding {
    /// Each trade stakes the same notional; PnL is summed.
    #[default]
    Additive,
    /// Each trade stakes the whole equity; PnL is multiplied, and trading ends where the equity is 0.
    Compounded,
}
