//! The deepest fall from a running peak.

/// The deepest fall from a running peak, as a fraction of the peak.
///
/// Falls from one peak are deepest at the lowest equity since, so one division a peak gives what one a bar would.
#[derive(Debug, Clone, Copy)]
pub(super) struct Drawdown {
    pub(super) peak: f64,
    /// Lowest equity since the peak.
    pub(super) trough: f64,
    /// Deepest fall from an earlier peak.
    before: f64,
}

impl Drawdown {
    /// Starts at the equity before the first bar.
    pub(super) fn new(start: f64) -> Self {
        Self {
            peak: start,
            trough: start,
            before: 0.0,
        }
    }

    #[inline]
    pub(super) fn push(&mut self, equity: f64) {
        if equity > self.peak {
            self.rise(equity);
        } else if equity < self.trough {
            self.trough = equity;
        }
    }

    /// Starts again from a new peak.
    pub(super) fn rise(&mut self, peak: f64) {
        self.before = self.deepest();
        self.peak = peak;
        self.trough = peak;
    }

    pub(super) fn deepest(&self) -> f64 {
        self.before.max((self.peak - self.trough) / self.peak)
    }

    /// Takes the bars of one trade, whose lowest and highest equity are known; `walk` is called where only the order of
    /// the bars tells which fall is deepest.
    #[inline]
    pub(super) fn push_range(&mut self, worst: f64, best: f64, walk: impl FnOnce(&mut Self)) {
        if best <= self.peak {
            return self.push(worst);
        }
        // a fall from a peak within is at most from `best`; the factor covers the roundings of the two quotients
        let bound = ((self.peak - worst) / self.peak).max((best - worst) / best) * (1.0 + 1e-14);
        if bound <= self.deepest() {
            self.rise(best);
        } else {
            walk(self);
        }
    }
}
