//! The seam through which tests make a device fail: real faults are rare, and their handling must be seen to work.

use std::sync::Mutex;

/// A step of a sweep on the device, as errors and tests name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// Finding and opening the adapter.
    Open,
    /// Building the pipelines.
    Build,
    /// Making buffers.
    Allocate,
    /// Sending the closes and the plan.
    Upload,
    /// Submitting the windowed sums.
    Convolve,
    /// Submitting the comparisons of filters.
    Compare,
    /// Submitting the lists of crossovers.
    Extract,
    /// Waiting for a submission.
    Wait,
    /// Reading a result.
    Read,
}

/// What a test makes happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// No adapter is found.
    NoAdapter,
    /// The device is destroyed, as a reset does.
    Lost,
    /// The allocation is refused.
    OutOfMemory,
    /// The wait ends without an answer.
    Timeout,
    /// The commands are dropped, so that an older result stays in place.
    Stale,
    /// The output is cleared, and the dispatch after it dropped.
    Killed,
}

impl Fault {
    /// Takes the fault planned for a step, if it is one of commands that are dropped.
    pub(super) fn take_dropped(device: &super::device::Device, step: Step) -> Option<Self> {
        let is_dropped = |fault| matches!(fault, Self::Stale | Self::Killed);
        device.faults.take_if(step, is_dropped)
    }
}

/// Faults still to come, each once.
#[derive(Debug, Default)]
pub(super) struct Faults(Mutex<Vec<(Step, Fault)>>);

impl Faults {
    pub(super) fn inject(&self, step: Step, fault: Fault) {
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .push((step, fault));
    }

    /// Takes the fault planned for a step, if there is one.
    pub(super) fn take(&self, step: Step) -> Option<Fault> {
        self.take_if(step, |_| true)
    }

    /// Takes the fault planned for a step, if it is of a kind.
    pub(super) fn take_if(&self, step: Step, is_wanted: impl Fn(Fault) -> bool) -> Option<Fault> {
        let mut faults = self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let index = faults
            .iter()
            .position(|(at, fault)| *at == step && is_wanted(*fault))?;
        Some(faults.remove(index).1)
    }
}
