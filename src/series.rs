//! The price series: validated once here, so that engines never meet a bad value.

mod build;
#[cfg(feature = "csv")]
mod file;
mod random_walk;
mod report;
mod resample;

use std::sync::OnceLock;

#[cfg(feature = "csv")]
pub use file::{Duplicates, Fault, FaultKind, FileReport, ReadOptions, TimeFormat};
pub use random_walk::random_walk;
pub use report::{LargestGap, LargestMove, SeriesReport};

/// Most bars a series can hold: bar indices are kept in 32 bits.
pub const MAX_BARS: usize = u32::MAX as usize;

/// Columns of a series, of eight bytes a bar each.
const COLUMNS: usize = 7;

/// How the prices of a series are read exactly, which decides every close call.
///
/// A decimal price such as 0.1 has no exact `f64`, so the two readings can differ where averages tie: on
/// 43,199 minutes of ALGO/BTC, 14 of 35 SMA/WMA combinations take other trades.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Reading {
    /// Integers of the smallest price step: what an exchange means by its decimal text.
    Ticks,
    /// The exact binary value of each `f64` close, a dyadic rational.
    Binary,
}

/// A validated series of bars: closes above 0 and finite, optional columns of the same length.
///
/// *Shape*: one value a bar. *Unit*: prices in quote currency, timestamps in Unix milliseconds (UTC).
///
/// # Examples
/// ```
/// use crosscheck::{Reading, Series};
/// let series = Series::from_ticks(&[777, 780, 779], 1e-8)?;
/// assert_eq!(series.bars(), 3);
/// assert_eq!(series.closes()[0], 0.00000777);
/// assert_eq!(series.reading(), Reading::Ticks);
/// # Ok::<(), crosscheck::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    closes: Vec<f64>,
    ticks: Option<Vec<i64>>,
    timestamps: Option<Vec<i64>>,
    opens: Option<Vec<f64>>,
    highs: Option<Vec<f64>>,
    lows: Option<Vec<f64>>,
    volumes: Option<Vec<f64>>,
    flat: Flat,
}

impl Series {
    /// Returns the number of bars.
    pub fn bars(&self) -> usize {
        self.closes.len()
    }

    /// Returns the closes, one a bar.
    pub fn closes(&self) -> &[f64] {
        &self.closes
    }

    /// Returns the closes as integers of the tick, if the series is read in ticks.
    pub fn ticks(&self) -> Option<&[i64]> {
        self.ticks.as_deref()
    }

    /// Returns how close calls are decided.
    pub fn reading(&self) -> Reading {
        if self.ticks.is_some() {
            Reading::Ticks
        } else {
            Reading::Binary
        }
    }

    /// Returns the bars' timestamps in Unix milliseconds, if given.
    pub fn timestamps(&self) -> Option<&[i64]> {
        self.timestamps.as_deref()
    }

    /// Returns the opens, if given.
    pub fn opens(&self) -> Option<&[f64]> {
        self.opens.as_deref()
    }

    /// Returns the highs, if given.
    pub fn highs(&self) -> Option<&[f64]> {
        self.highs.as_deref()
    }

    /// Returns the lows, if given.
    pub fn lows(&self) -> Option<&[f64]> {
        self.lows.as_deref()
    }

    /// Returns the volumes, if given.
    pub fn volumes(&self) -> Option<&[f64]> {
        self.volumes.as_deref()
    }

    /// Returns the first bar of the stretch of equal closes that ends at each bar (equal in the series' reading).
    pub(crate) fn flat_since(&self) -> &[u32] {
        self.flat.0.get_or_init(|| match &self.ticks {
            Some(ticks) => stretches(ticks),
            None => stretches(&self.closes),
        })
    }
}

fn stretches<T: PartialEq>(prices: &[T]) -> Vec<u32> {
    let mut since = Vec::with_capacity(prices.len());
    let mut first = 0;
    for bar in 0..prices.len() {
        if bar > 0 && prices[bar] != prices[bar - 1] {
            first = bar as u32;
        }
        since.push(first);
    }
    since
}

/// Starts of the flat stretches, found on first use; no part of a series' identity.
#[derive(Debug, Clone, Default)]
struct Flat(OnceLock<Vec<u32>>);

impl PartialEq for Flat {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
