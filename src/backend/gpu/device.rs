//! The adapter and its device, with every call guarded: lost flag, error scopes, time limits.
//!
//! Errors after a loss are dropped by wgpu, an error outside a scope panics, and a wait can hang: so each step runs
//! inside scopes, looks at the lost flag, and waits with a limit.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use pollster::block_on;

use super::GpuOptions;
use super::error::{DeviceError, Result};
use super::fault::{Fault, Faults, Step};

/// An adapter of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct GpuAdapter {
    /// Index by which [`Gpu::with_adapter`](super::Gpu::with_adapter) takes it.
    pub index: usize,
    /// Name that the driver gives.
    pub name: String,
    /// Driver, with its version.
    pub driver: String,
    /// Interface: Vulkan, Metal, DirectX 12.
    pub backend: String,
    /// Discrete, integrated, virtual or CPU.
    pub kind: String,
}

impl GpuAdapter {
    fn of(index: usize, info: &wgpu::AdapterInfo) -> Self {
        Self {
            index,
            name: info.name.clone(),
            driver: format!("{} {}", info.driver, info.driver_info),
            backend: format!("{:?}", info.backend),
            kind: format!("{:?}", info.device_type),
        }
    }
}

/// An open device.
pub(super) struct Device {
    pub(super) handle: wgpu::Device,
    pub(super) queue: wgpu::Queue,
    pub(super) limits: wgpu::Limits,
    pub(super) adapter: GpuAdapter,
    pub(super) is_cpu: bool,
    pub(super) has_timestamps: bool,
    pub(super) faults: Faults,
    lost: Arc<OnceLock<String>>,
    uncaptured: Arc<Mutex<Option<String>>>,
    timeout: Duration,
    // the device outlives none of its instance's objects; kept for drivers that unload with it
    _instance: wgpu::Instance,
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Device")
            .field("adapter", &self.adapter)
            .field("lost", &self.lost)
            .finish_non_exhaustive()
    }
}

/// Compute-capable interfaces only: the GL fallback lacks the storage buffers.
fn instance() -> wgpu::Instance {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.backends = wgpu::Backends::PRIMARY;
    wgpu::Instance::new(descriptor)
}

/// Discrete first, then integrated, virtual, CPU; the driver's order among equals.
fn adapters(instance: &wgpu::Instance) -> Vec<wgpu::Adapter> {
    let mut found = block_on(instance.enumerate_adapters(wgpu::Backends::PRIMARY));
    found.sort_by_key(|adapter| match adapter.get_info().device_type {
        wgpu::DeviceType::DiscreteGpu => 0,
        wgpu::DeviceType::IntegratedGpu => 1,
        wgpu::DeviceType::VirtualGpu => 2,
        wgpu::DeviceType::Other => 3,
        wgpu::DeviceType::Cpu => 4,
    });
    found
}

pub(super) fn list() -> Vec<GpuAdapter> {
    let found = adapters(&instance());
    let of = |(index, adapter): (usize, &wgpu::Adapter)| GpuAdapter::of(index, &adapter.get_info());
    found.iter().enumerate().map(of).collect()
}

/// The adapter of an index, or the first whose name contains the text; the first of all without a wish.
fn choose(wanted: Option<&str>, found: &[GpuAdapter]) -> Option<usize> {
    let Some(wanted) = wanted else {
        return (!found.is_empty()).then_some(0);
    };
    if let Ok(index) = wanted.parse::<usize>() {
        return (index < found.len()).then_some(index);
    }
    let wanted = wanted.to_lowercase();
    found
        .iter()
        .position(|a| a.name.to_lowercase().contains(&wanted))
}

/// The reason of a loss, and the first error outside any scope.
type Watch = (Arc<OnceLock<String>>, Arc<Mutex<Option<String>>>);

/// Has the device tell of its loss, and of errors that would panic otherwise.
fn watch(device: &wgpu::Device) -> Watch {
    let lost = Arc::new(OnceLock::new());
    let flag = Arc::clone(&lost);
    device.set_device_lost_callback(move |reason, message| {
        // the first reason is the cause; later ones follow from it
        let _ = flag.set(format!("{reason:?}: {message}"));
    });
    let uncaptured = Arc::new(Mutex::new(None));
    let slot = Arc::clone(&uncaptured);
    device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
        let mut slot = slot
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        slot.get_or_insert(error.to_string());
    }));
    (lost, uncaptured)
}

impl Device {
    pub(super) fn open(options: &GpuOptions) -> Result<Self> {
        let instance = instance();
        let mut adapters = adapters(&instance);
        let faults = Faults::default();
        for &(step, fault) in &options.faults {
            faults.inject(step, fault);
        }
        if faults.take(Step::Open) == Some(Fault::NoAdapter) {
            adapters.clear();
        }
        let found: Vec<_> = adapters
            .iter()
            .enumerate()
            .map(|(index, adapter)| GpuAdapter::of(index, &adapter.get_info()))
            .collect();
        let Some(index) = choose(options.adapter.as_deref(), &found) else {
            let names: Vec<_> = found
                .iter()
                .map(|a| format!("{} {}", a.index, a.name))
                .collect();
            return Err(DeviceError::NoAdapter {
                wanted: options.adapter.clone(),
                found: if names.is_empty() {
                    "none is present".to_owned()
                } else {
                    format!("present are {}", names.join(", "))
                },
            });
        };
        Self::request(instance, &adapters[index], &found[index], faults, options)
    }

    /// Limits are exactly what is asked for, so the adapter's own are.
    fn request(
        instance: wgpu::Instance,
        adapter: &wgpu::Adapter,
        description: &GpuAdapter,
        faults: Faults,
        options: &GpuOptions,
    ) -> Result<Self> {
        let unusable = |reason: String| DeviceError::Unusable {
            adapter: description.name.clone(),
            reason,
        };
        let flags = adapter.get_downlevel_capabilities().flags;
        if !flags.contains(wgpu::DownlevelFlags::COMPUTE_SHADERS) {
            return Err(unusable("it has no compute shaders".to_owned()));
        }
        let features = adapter.features() & wgpu::Features::TIMESTAMP_QUERY;
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("crosscheck"),
            required_features: features,
            required_limits: adapter.limits(),
            ..Default::default()
        };
        let (device, queue) = block_on(adapter.request_device(&descriptor))
            .map_err(|cause| unusable(cause.to_string()))?;
        let (lost, uncaptured) = watch(&device);
        Ok(Self {
            limits: device.limits(),
            is_cpu: adapter.get_info().device_type == wgpu::DeviceType::Cpu,
            has_timestamps: !features.is_empty(),
            adapter: description.clone(),
            handle: device,
            queue,
            faults,
            lost,
            uncaptured,
            timeout: options.timeout,
            _instance: instance,
        })
    }

    /// Fails where the device is lost, or an error was raised outside any scope.
    pub(super) fn check(&self, step: Step) -> Result<()> {
        if let Some(reason) = self.lost.get() {
            let reason = reason.clone();
            return Err(DeviceError::Lost { step, reason });
        }
        let raised = self
            .uncaptured
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .take();
        raised.map_or(Ok(()), |reason| Err(DeviceError::Refused { step, reason }))
    }

    /// Runs calls of one step inside error scopes; `bytes` is what they allocate.
    pub(super) fn scoped<T>(&self, step: Step, bytes: u64, calls: impl FnOnce() -> T) -> Result<T> {
        let fault = self.faults.take(step);
        if fault == Some(Fault::Lost) {
            self.handle.destroy();
        }
        self.check(step)?;
        let memory = self.handle.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let internal = self.handle.push_error_scope(wgpu::ErrorFilter::Internal);
        let validation = self.handle.push_error_scope(wgpu::ErrorFilter::Validation);
        // a driver bug must not take the caller down: the device is given up instead
        let done = std::panic::catch_unwind(AssertUnwindSafe(calls));
        let errors = [
            block_on(validation.pop()),
            block_on(internal.pop()),
            block_on(memory.pop()),
        ];
        if fault == Some(Fault::OutOfMemory) {
            return Err(DeviceError::OutOfMemory { step, bytes });
        }
        self.check(step)?;
        let error = errors.into_iter().flatten().next();
        if error.is_some() || done.is_err() {
            // a loss is told only while polling, and is the cause of what follows it
            self.drain();
            self.check(step)?;
        }
        match error {
            Some(wgpu::Error::OutOfMemory { .. }) => Err(DeviceError::OutOfMemory { step, bytes }),
            Some(error) => Err(DeviceError::Refused {
                step,
                reason: error.to_string(),
            }),
            None => done.map_err(|_| DeviceError::Refused {
                step,
                reason: "the graphics library panicked".to_owned(),
            }),
        }
    }

    /// Lets what is still running end, because a loss is told only once nothing is.
    fn drain(&self) {
        let wait = wgpu::PollType::Wait {
            submission_index: None,
            timeout: Some(self.timeout.min(Duration::from_secs(2))),
        };
        // whatever comes of it shows in the lost flag
        let _ = std::panic::catch_unwind(AssertUnwindSafe(|| self.handle.poll(wait)));
    }

    /// Waits until a submission has finished and its callbacks have run.
    pub(super) fn wait(&self, step: Step, submission: wgpu::SubmissionIndex) -> Result<()> {
        let fault = self.faults.take(step);
        if fault == Some(Fault::Lost) {
            self.handle.destroy();
        }
        self.check(step)?;
        let wait = wgpu::PollType::Wait {
            submission_index: Some(submission),
            timeout: Some(self.timeout),
        };
        let polled = std::panic::catch_unwind(AssertUnwindSafe(|| self.handle.poll(wait)));
        if !matches!(polled, Ok(Ok(_))) {
            self.drain();
        }
        self.check(step)?;
        match polled {
            Ok(Ok(_)) if fault != Some(Fault::Timeout) => Ok(()),
            Ok(Ok(_) | Err(wgpu::PollError::Timeout)) => Err(DeviceError::Timeout {
                step,
                seconds: self.timeout.as_secs(),
            }),
            Ok(Err(error)) => Err(DeviceError::Refused {
                step,
                reason: error.to_string(),
            }),
            Err(_) => Err(DeviceError::Lost {
                step,
                reason: "the graphics library panicked while waiting".to_owned(),
            }),
        }
    }

    pub(super) fn encoder(&self) -> wgpu::CommandEncoder {
        let descriptor = wgpu::CommandEncoderDescriptor::default();
        self.handle.create_command_encoder(&descriptor)
    }

    /// Makes a buffer, or says why not.
    pub(super) fn buffer(
        &self,
        label: &str,
        bytes: u64,
        usage: wgpu::BufferUsages,
    ) -> Result<wgpu::Buffer> {
        let limit = self.limits.max_buffer_size;
        if bytes > limit {
            return Err(DeviceError::Limit {
                what: "a buffer",
                needed: bytes,
                limit,
            });
        }
        self.scoped(Step::Allocate, bytes, || {
            self.handle.create_buffer(&wgpu::BufferDescriptor {
                label: Some(label),
                size: bytes.max(16).next_multiple_of(16),
                usage,
                mapped_at_creation: false,
            })
        })
    }
}
