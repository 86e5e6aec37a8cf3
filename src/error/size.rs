//! Why a question is too large, or its answer. Apart from [`Error`](crate::Error) because no value of the input is at
//! fault, only how much of it there is.

use super::number::{grouped, plain};

/// Why something that was asked for is too large: how much it is, what the limit is, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SizeError {
    /// More combinations than a grid lists.
    #[error(
        "the grid has {} combinations, the limit is {}: take larger steps, or sweep it in parts",
        grouped(*combinations as u64), grouped(*limit as u64)
    )]
    TooManyCombinations {
        /// Combinations asked for.
        combinations: usize,
        /// Most combinations of a grid.
        limit: usize,
    },

    /// More memory than the machine gives.
    #[error(
        "{} {noun}s need {} bytes of memory, which could not be had: ask for fewer {noun}s",
        grouped(*count as u64), grouped(*bytes as u64)
    )]
    OutOfMemory {
        /// What was asked for.
        count: usize,
        /// What is counted: `bar` or `combination`.
        noun: &'static str,
        /// Bytes that they need.
        bytes: usize,
    },
}

/// A sum of gains and losses that are both infinite is no number.
pub(super) fn percent(pnl_pct: f64) -> String {
    if pnl_pct.is_nan() {
        return "PnL undefined, infinite gains less infinite losses".to_owned();
    }
    format!("PnL {} %", plain(pnl_pct))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_that_is_no_number_is_not_printed_as_one() {
        assert_eq!(percent(f64::INFINITY), "PnL inf %");
        assert!(percent(f64::NAN).contains("undefined, infinite gains less infinite losses"));
    }
}
