//! Uncertified engines: the published formulas, the trap among them, at a chosen precision and without any bound.
//!
//! They stand apart because no trade of theirs is proven. The parity report judges them, and people learn from them:
//! precision is a property of the formula, not of the number of bits.

mod windows;

use std::fmt;
use std::str::FromStr;

use ndarray::{Array1, Array2};
use num_traits::{Float, NumAssign};

use super::{Backend, FilterMatrix};
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::question::Question;

/// How an uncertified engine computes the average of a window.
///
/// Every window of the tree is computed this way, the outer window of a Hull average too. Custom kernels have no
/// recursive form and are always summed directly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Formula {
    /// Global prefix sums `S1[t] = sum of x[j]`, `S2[t] = sum of j*x[j]` with the index `j` from the first bar:
    /// constant cost a bar, and the trap.
    PrefixSums,
    /// The same on `x - x[0]`: smaller sums, which buys a digit or two.
    CentredPrefixSums,
    /// A sliding update: add the new value, take away the old one, never restarted.
    SlidingUpdate,
    /// Each window by itself, normalised weights, oldest first: the published one-dimensional convolution.
    DirectWindows,
    /// Direct windows on tiles, each relative to a close of its own: the rounding shrinks to the local move.
    CentredDirect,
}

impl Formula {
    /// Every formula, the trap first.
    pub const ALL: [Self; 5] = [
        Self::PrefixSums,
        Self::CentredPrefixSums,
        Self::SlidingUpdate,
        Self::DirectWindows,
        Self::CentredDirect,
    ];

    /// Returns the name, as the command line and the reports show it.
    pub fn name(self) -> &'static str {
        match self {
            Self::PrefixSums => "prefix",
            Self::CentredPrefixSums => "centred-prefix",
            Self::SlidingUpdate => "sliding",
            Self::DirectWindows => "direct",
            Self::CentredDirect => "centred-direct",
        }
    }

    /// Evaluates a filter by this formula in arithmetic of type `T`.
    ///
    /// *Shape*: as long as `closes`, NaN in the warm-up.
    ///
    /// # Examples
    /// ```
    /// use crosscheck::{Filter, Formula, random_walk};
    /// let walk = random_walk(150_000, 42)?;
    /// let wma = Filter::wma(2)?;
    /// let last = |formula: Formula| *formula.evaluate::<f32>(&wma, walk.closes()).values.last().unwrap();
    /// assert!((last(Formula::DirectWindows) / walk.closes()[149_999] - 1.0).abs() < 1e-2);
    /// assert!((last(Formula::PrefixSums) / walk.closes()[149_999] - 1.0).abs() > 1.0);
    /// # Ok::<(), crosscheck::Error>(())
    /// ```
    pub fn evaluate<T: Float + NumAssign>(self, filter: &Filter, closes: &[f64]) -> Evaluation {
        let (valid, largest) = match self {
            Self::CentredDirect => windows::centred::<T>(filter.expr(), closes),
            _ => windows::whole::<T>(self, filter.expr(), closes),
        };
        let mut values = vec![f64::NAN; closes.len() - valid.len()];
        values.extend(valid);
        Evaluation { values, largest }
    }
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What a formula made of a filter.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// One value a bar, NaN in the warm-up.
    pub values: Vec<f64>,
    /// The largest size of any sum or product on the way.
    pub largest: f64,
}

/// Width of the binary floating-point arithmetic (IEEE 754).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Precision {
    /// 32 bits, 24 of them significant.
    Single,
    /// 64 bits, 53 of them significant.
    Double,
}

impl Precision {
    /// Returns the name of the type: `f32` or `f64`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Single => "f32",
            Self::Double => "f64",
        }
    }

    /// Returns the unit round-off, half the distance from 1 to the next number: `2^-24` or `2^-53`.
    pub fn unit_roundoff(self) -> f64 {
        match self {
            Self::Single => f64::from(f32::EPSILON) / 2.0,
            Self::Double => f64::EPSILON / 2.0,
        }
    }

    /// Returns the largest finite number.
    pub(crate) fn largest(self) -> f64 {
        match self {
            Self::Single => f32::MAX.into(),
            Self::Double => f64::MAX,
        }
    }

    /// Returns the smallest number above 0, which bounds the error of an operation that underflows.
    pub(crate) fn smallest(self) -> f64 {
        match self {
            Self::Single => f32::from_bits(1).into(),
            Self::Double => f64::from_bits(1),
        }
    }

    /// Returns the distance from the size of `value` to the next larger number (its ulp); infinite at and past the largest.
    ///
    /// # Examples
    /// ```
    /// use crosscheck::Precision;
    /// assert_eq!(Precision::Single.spacing(3e14), 33_554_432.0);
    /// assert_eq!(Precision::Double.spacing(1.0), f64::EPSILON);
    /// ```
    pub fn spacing(self, value: f64) -> f64 {
        let size = value.abs();
        if size >= self.largest() {
            return f64::INFINITY;
        }
        match self {
            Self::Single => {
                let size = size as f32;
                f64::from(size.next_up()) - f64::from(size)
            }
            Self::Double => size.next_up() - size,
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// An engine without a bound: its trades are what its rounding says.
///
/// # Examples
/// ```
/// use crosscheck::{Backend, Formula, Grid, Precision, Rules, Uncertified, random_walk};
/// let engine = Uncertified::new(Formula::DirectWindows, Precision::Single);
/// assert_eq!(engine.name(), "direct-f32");
/// let grid = Grid::parse("hma:20", "hma3:24")?;
/// let sweep = engine.sweep(&random_walk(2_000, 42)?, &grid, &Rules::default())?;
/// assert!(!sweep.diagnostics.certified && sweep.trades() > 50);
/// # Ok::<(), crosscheck::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uncertified {
    formula: Formula,
    precision: Precision,
    name: String,
}

impl Uncertified {
    /// Makes the engine of a formula at a precision.
    pub fn new(formula: Formula, precision: Precision) -> Self {
        Self {
            formula,
            precision,
            name: format!("{formula}-{precision}"),
        }
    }

    /// Makes every engine: each formula in `f32` and in `f64`.
    pub fn all() -> Vec<Self> {
        let both = |formula| {
            [Precision::Single, Precision::Double].map(|precision| Self::new(formula, precision))
        };
        Formula::ALL.into_iter().flat_map(both).collect()
    }

    /// Returns the formula.
    pub fn formula(&self) -> Formula {
        self.formula
    }

    /// Returns the precision.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// Evaluates one filter; NaN in the warm-up.
    pub fn evaluate(&self, filter: &Filter, closes: &[f64]) -> Evaluation {
        match self.precision {
            Precision::Single => self.formula.evaluate::<f32>(filter, closes),
            Precision::Double => self.formula.evaluate::<f64>(filter, closes),
        }
    }
}

impl FromStr for Uncertified {
    type Err = Error;

    /// Reads a name such as `prefix-f32`.
    fn from_str(text: &str) -> Result<Self> {
        let mut all = Self::all();
        if let Some(index) = all.iter().position(|engine| engine.name == text) {
            return Ok(all.swap_remove(index));
        }
        let names: Vec<_> = all.iter().map(|engine| engine.name.as_str()).collect();
        Err(Error::Engine {
            engine: text.to_owned(),
            reason: format!(
                "no such engine; the uncertified ones are {}",
                names.join(", ")
            ),
        })
    }
}

impl Backend for Uncertified {
    fn name(&self) -> &str {
        &self.name
    }

    fn filters(&self, question: &Question<'_>) -> Result<FilterMatrix> {
        let closes = question.series().closes();
        let mut values = Array2::zeros((question.filters().len(), closes.len()));
        for (mut row, filter) in values.rows_mut().into_iter().zip(question.filters()) {
            row.assign(&Array1::from(self.evaluate(filter, closes).values));
        }
        Ok(FilterMatrix {
            values,
            relative_bounds: None,
        })
    }
}
