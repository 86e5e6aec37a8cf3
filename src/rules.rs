//! The rules by which crossovers become trades.

use crate::error::{Error, Result};

/// How crossovers are traded: always in the market, filled at the signal bar's close, minus a fee a round trip.
///
/// # Examples
/// ```
/// use crosscheck::Rules;
/// assert_eq!(Rules::default().fee_pct(), 0.0);
/// assert_eq!(Rules::published().fee_pct(), 0.09);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Rules {
    fee_pct: f64,
}

impl Rules {
    /// Returns the published kernel's rules: 0.09 % fee a round trip.
    pub fn published() -> Self {
        Self { fee_pct: 0.09 }
    }

    /// Sets the fee of a round trip, in percent of the entry price.
    ///
    /// # Errors
    /// [`Error::InvalidRules`] where it is negative or not finite.
    pub fn with_fee_pct(self, fee_pct: f64) -> Result<Self> {
        if fee_pct.is_finite() && fee_pct >= 0.0 {
            return Ok(Self { fee_pct });
        }
        let reason =
            format!("a fee of {fee_pct} % a round trip; fees must be finite and 0 or more");
        Err(Error::InvalidRules { reason })
    }

    /// Returns the fee of a round trip, in percent of the entry price.
    pub fn fee_pct(&self) -> f64 {
        self.fee_pct
    }
}
