//! The splits of a walk-forward: which bars a combination is chosen on, and which it is judged on.

use std::ops::Range;

use crate::error::{Error, Result};

/// One pair of windows.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Split {
    /// Bars on which the combination is chosen.
    pub train: Range<usize>,
    /// Bars on which it is judged; all of them later.
    pub test: Range<usize>,
}

/// How a series is split, over and over, into bars to choose on and later bars to judge on.
///
/// # Examples
/// ```
/// use crosscheck::WalkForward;
/// let splits = WalkForward::rolling(100, 50)?.with_purge(10).splits(300)?;
/// let bars: Vec<_> = splits.iter().map(|s| (s.train.clone(), s.test.clone())).collect();
/// assert_eq!(bars, [(0..100, 110..160), (50..150, 160..210), (100..200, 210..260)]);
/// let anchored = WalkForward::anchored(100, 50)?.splits(300)?;
/// assert_eq!((anchored[3].train.clone(), anchored[3].test.clone()), (0..250, 250..300));
/// # Ok::<(), crosscheck::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct WalkForward {
    train: usize,
    test: usize,
    purge: usize,
    is_anchored: bool,
}

impl WalkForward {
    /// Chooses on the last `train` bars each time.
    ///
    /// # Errors
    /// [`Error::InvalidSplits`] where a window has no bar.
    pub fn rolling(train: usize, test: usize) -> Result<Self> {
        Self::new(train, test, false)
    }

    /// Chooses on all bars so far, at first `train` of them.
    ///
    /// # Errors
    /// [`Error::InvalidSplits`] where a window has no bar.
    pub fn anchored(train: usize, test: usize) -> Result<Self> {
        Self::new(train, test, true)
    }

    /// Leaves so many bars between a train window and its test window, so that nothing learned from the last bars of one carries
    /// over into the first of the other.
    pub fn with_purge(mut self, bars: usize) -> Self {
        self.purge = bars;
        self
    }

    /// Returns the splits of a series of so many bars; each moves on by one test window, and bars past the last whole
    /// test window are left out.
    ///
    /// # Errors
    /// [`Error::InvalidSplits`] where the series is too short for one.
    pub fn splits(&self, bars: usize) -> Result<Vec<Split>> {
        let needed = self
            .train
            .saturating_add(self.purge)
            .saturating_add(self.test);
        if needed > bars {
            let Self {
                train, purge, test, ..
            } = self;
            let reason = format!(
                "{train} bars to choose on, {purge} to purge and {test} to judge on are {needed}, the series has {bars}: shorten them"
            );
            return Err(Error::InvalidSplits { reason });
        }
        let split = |train_end: usize| {
            let train_start = if self.is_anchored {
                0
            } else {
                train_end - self.train
            };
            let test_start = train_end + self.purge;
            Split {
                train: train_start..train_end,
                test: test_start..test_start + self.test,
            }
        };
        let last_train_end = bars - self.test - self.purge;
        Ok((self.train..=last_train_end)
            .step_by(self.test)
            .map(split)
            .collect())
    }

    fn new(train: usize, test: usize, is_anchored: bool) -> Result<Self> {
        if train == 0 || test == 0 {
            let reason =
                format!("{train} bars to choose on and {test} to judge on; both need one at least");
            return Err(Error::InvalidSplits { reason });
        }
        Ok(Self {
            train,
            test,
            purge: 0,
            is_anchored,
        })
    }
}
