//! What a trade costs: slippage in its prices, fees in its PnL, by the formula that the rules name.
//!
//! `docs/conventions.md` lists the formulas side by side. Percent throughout: `gross = side * (price/entry - 1) * 100`.
use crate::rules::{FeeFormula, Rules};

/// Gross PnL in percent of the entry price, minus a fee; every engine's money comes from this line.
#[inline]
pub(crate) fn pnl_pct(sign: f64, entry: f64, exit: f64, fee_pct: f64) -> f64 {
    pnl_of_ratio(sign, exit / entry, fee_pct)
}

/// The same from the ratio of the exit to the entry.
#[inline]
pub(crate) fn pnl_of_ratio(sign: f64, ratio: f64, fee_pct: f64) -> f64 {
    sign * (ratio - 1.0) * 100.0 - fee_pct
}

/// The costs of one rule set, ready to apply.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Costs {
    formula: FeeFormula,
    /// Proportional fee of a side: percent, and as a fraction.
    side_pct: f64,
    side: f64,
    /// Fixed fee of a side, percent.
    fixed_pct: f64,
    /// Both fees of both sides, percent.
    round_trip_pct: f64,
    slippage: f64,
}

impl Costs {
    pub(crate) fn new(rules: &Rules) -> Self {
        Self {
            formula: rules.fee_formula(),
            side_pct: rules.fee_per_side_pct(),
            side: rules.fee_per_side_pct() / 100.0,
            fixed_pct: rules.fixed_fee_pct(),
            round_trip_pct: rules.fee_pct(),
            slippage: rules.slippage_bps() / 10_000.0,
        }
    }

    /// The price that an order gets; `sign` is +1 for a buy and -1 for a sale.
    #[inline]
    pub(crate) fn fill(&self, price: f64, sign: f64) -> f64 {
        price * (1.0 + sign * self.slippage)
    }

    /// PnL once both legs are paid.
    #[inline]
    pub(crate) fn closed_pct(&self, sign: f64, entry: f64, exit: f64) -> f64 {
        let fixed = 2.0 * self.fixed_pct;
        match self.formula {
            FeeFormula::Additive => pnl_pct(sign, entry, exit, self.round_trip_pct),
            FeeFormula::Notional => {
                pnl_pct(sign, entry, exit, self.both_notionals(entry, exit)) - fixed
            }
            FeeFormula::Multiplicative => {
                let kept = (1.0 - self.side) * (1.0 - self.side);
                (kept * (1.0 + sign * (exit / entry - 1.0)) - 1.0) * 100.0 - fixed
            }
            FeeFormula::AllCash => {
                let staked = pnl_pct(sign, entry, exit, self.both_notionals(entry, exit));
                staked / (1.0 + self.side) - fixed
            }
        }
    }

    /// PnL of a position marked at a price, the entry's leg paid. Never moves against `sign * price`, rounding included:
    /// each step is a monotone operation with constants, which the drawdown relies on.
    #[inline]
    pub(crate) fn marked_pct(&self, sign: f64, entry: f64, price: f64) -> f64 {
        match self.formula {
            FeeFormula::Additive => pnl_pct(sign, entry, price, 0.5 * self.round_trip_pct),
            FeeFormula::Notional => pnl_pct(sign, entry, price, self.side_pct) - self.fixed_pct,
            FeeFormula::Multiplicative => {
                let gross = 1.0 + sign * (price / entry - 1.0);
                ((1.0 - self.side) * gross - 1.0) * 100.0 - self.fixed_pct
            }
            FeeFormula::AllCash => {
                pnl_pct(sign, entry, price, self.side_pct) / (1.0 + self.side) - self.fixed_pct
            }
        }
    }

    /// The fees themselves, in percent of the stake: of both legs, or of the entry alone.
    #[inline]
    pub(crate) fn fees_pct(&self, sign: f64, entry: f64, exit: f64, has_both_legs: bool) -> f64 {
        let legs = if has_both_legs { 2.0 } else { 1.0 };
        let fixed = legs * self.fixed_pct;
        let on_notional = if has_both_legs {
            self.both_notionals(entry, exit)
        } else {
            self.side_pct
        };
        match self.formula {
            FeeFormula::Additive => 0.5 * legs * self.round_trip_pct,
            FeeFormula::Notional => on_notional + fixed,
            FeeFormula::AllCash => on_notional / (1.0 + self.side) + fixed,
            FeeFormula::Multiplicative => {
                let value = (1.0 - self.side) * (1.0 + sign * (exit / entry - 1.0));
                let exit_leg = if has_both_legs {
                    self.side_pct * value
                } else {
                    0.0
                };
                self.side_pct + exit_leg + fixed
            }
        }
    }

    /// The share of the stake that moves with the price once the entry's leg is paid.
    #[inline]
    pub(crate) fn exposed_share(&self) -> f64 {
        match self.formula {
            FeeFormula::Additive | FeeFormula::Notional => 1.0,
            FeeFormula::Multiplicative => 1.0 - self.side,
            FeeFormula::AllCash => 1.0 / (1.0 + self.side),
        }
    }

    fn both_notionals(&self, entry: f64, exit: f64) -> f64 {
        self.side_pct * (1.0 + exit / entry)
    }
}
