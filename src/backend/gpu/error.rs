//! What can go wrong with a device; every variant says at which step, and what to do.

use super::fault::Step;

/// Why the GPU engine could not answer; never a wrong or an old number in its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// No adapter at all, or none of the wanted name.
    #[error("no GPU adapter{}: {found}; install a Vulkan, Metal or DirectX 12 driver, or use a CPU engine",
        wanted.as_ref().map_or_else(String::new, |w| format!(" matches '{w}'")))]
    NoAdapter {
        /// The name or index asked for, if any.
        wanted: Option<String>,
        /// The adapters that are there.
        found: String,
    },
    /// An adapter that would not open, or lacks something that the kernels need.
    #[error("adapter {adapter} cannot be used: {reason}")]
    Unusable {
        /// Name of the adapter.
        adapter: String,
        /// What it lacks.
        reason: String,
    },
    /// A driver whose arithmetic is wrong.
    #[error(
        "adapter {adapter} fails the self-test: {reason}; update its driver, or use a CPU engine"
    )]
    SelfTest {
        /// Name of the adapter.
        adapter: String,
        /// Which result was wrong.
        reason: String,
    },
    /// The device was lost: a reset, a removal, a driver crash.
    #[error("the device was lost at step {step:?} ({reason}); make a new engine")]
    Lost {
        /// The step that noticed.
        step: Step,
        /// What the driver said.
        reason: String,
    },
    /// Not enough memory on the device.
    #[error("the device has no {bytes} bytes left at step {step:?}; ask for fewer bytes in flight")]
    OutOfMemory {
        /// The step that asked.
        step: Step,
        /// Bytes asked for.
        bytes: u64,
    },
    /// No answer in time.
    #[error(
        "the device did not finish step {step:?} within {seconds} s; it hangs or is overloaded"
    )]
    Timeout {
        /// The step waited for.
        step: Step,
        /// Seconds waited.
        seconds: u64,
    },
    /// Results of another submission than the one asked for.
    #[error(
        "the device returned results of submission {found}, {expected} was due; nothing of it is used"
    )]
    Stale {
        /// The submission waited for.
        expected: u32,
        /// The submission that the results are stamped with.
        found: u32,
    },
    /// A submission that ended before all of its threads did.
    #[error(
        "the device stopped before combination {combination}, bar {bar}; a watchdog or a crash killed it"
    )]
    Unfinished {
        /// Index of the combination.
        combination: usize,
        /// First bar that was not computed.
        bar: usize,
    },
    /// A question that the device's limits refuse even one tile at a time.
    #[error("{what} needs {needed}, the device's limit is {limit}; split the grid")]
    Limit {
        /// What is too large.
        what: &'static str,
        /// What it needs.
        needed: u64,
        /// What the device has.
        limit: u64,
    },
    /// A call that the driver or wgpu refused.
    #[error("step {step:?} failed: {reason}")]
    Refused {
        /// The step.
        step: Step,
        /// What wgpu said.
        reason: String,
    },
}

pub(super) type Result<T> = std::result::Result<T, DeviceError>;
