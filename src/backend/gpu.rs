//! M5, GPU: exact trades from `f32`, through wgpu and WGSL.
//!
//! The device sums windows in `f32`, says with a rigorous bound which bars are surely above or below, settles others in
//! integers, and lists where the side changes; the host settles the rest, and counts the trades with the shared module. It stands apart, behind the
//! feature `gpu`, because it brings a graphics stack along. `docs/numerics-gpu.md` proves the bounds, `docs/gpu.md`
//! has the measurements.

mod bound;
mod budget;
mod buffers;
mod check;
mod chunk;
mod compare;
mod decode;
mod device;
mod error;
mod exact;
mod extract;
mod fault;
mod jobs;
mod lists;
mod matrices;
mod pipelines;
mod plan;
mod ranges;
mod read;
mod run;
mod selftest;
mod settle;
mod sums;
mod tiles;
mod timings;
mod twin;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ndarray::Array2;
use rayon::prelude::*;

pub use check::KernelCheck;
pub use device::GpuAdapter;
pub use error::DeviceError;
pub use fault::{Fault, Step};
pub use matrices::UncertifiedGpu;
pub use selftest::GpuArithmetic;
pub use timings::GpuTimings;

use super::{Backend, FilterMatrix, Pool};
use crate::crossover::{CrossoverSink, Side, SideWriter};
use crate::diagnostics::Diagnostics;
use crate::error::Result;
use crate::grid::Grid;
use crate::question::Question;
use crate::series::Series;
use buffers::Buffers;
use device::Device;
use pipelines::Pipelines;
use run::{Run, Swept};

/// How the device sums a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Summation {
    /// As the filter is defined: every unique window over the closes once, then the second stage over combinations.
    Staged,
    /// Each filter as one window of its composite weights: one stage, and a bound that leaves a third as many bars open.
    /// On an H200 small grids gained, whose open bars the host settles.
    #[default]
    Composite,
}

/// Options of a [`Gpu`].
#[derive(Debug, Clone)]
pub struct GpuOptions {
    adapter: Option<String>,
    has_checks: bool,
    summation: Option<Summation>,
    timeout: Duration,
    profile: bool,
    settle_on_device: Option<bool>,
    max_bytes: Option<u64>,
    max_workgroups: Option<u64>,
    faults: Vec<(Step, Fault)>,
}

impl Default for GpuOptions {
    fn default() -> Self {
        Self {
            adapter: None,
            has_checks: true,
            summation: None,
            timeout: Duration::from_secs(30),
            profile: false,
            settle_on_device: None,
            max_bytes: None,
            max_workgroups: None,
            faults: Vec::new(),
        }
    }
}

impl GpuOptions {
    /// Wants the adapter of an index of [`Gpu::list`], or the first whose name contains the text.
    pub fn with_adapter(mut self, name_or_index: &str) -> Self {
        self.adapter = Some(name_or_index.to_owned());
        self
    }

    /// Switches the shaders' own bounds checks off (`false`) or on (`true`, the default).
    ///
    /// Every index is proven in range and verified on the host before each upload, so results are the same; the checks
    /// guard against a mistake in that proof. On an H200 they cost nothing measurable.
    ///
    pub fn with_runtime_checks(mut self, has_checks: bool) -> Self {
        self.has_checks = has_checks;
        self
    }

    /// Chooses how filters are summed on the device; trades are the same. Where it is left out, staged from 400 filters on,
    /// if the device settles the open bars, else composite.
    pub fn with_summation(mut self, summation: Summation) -> Self {
        self.summation = Some(summation);
        self
    }

    /// Sets how long a submission may take before the engine gives up, 30 s by default.
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Times every pass on the device, for [`Gpu::timings`].
    pub fn with_profile(mut self) -> Self {
        self.profile = true;
        self
    }

    /// Settles bars that `f32` leaves undecided in integers on the device (`true`), or on the host alone (`false`); by default
    /// whichever is expected to be faster.
    pub fn with_settling_on_device(mut self, on_device: bool) -> Self {
        self.settle_on_device = Some(on_device);
        self
    }

    /// Caps the bytes of each buffer, below what the device allows.
    pub fn with_max_buffer_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = Some(bytes);
        self
    }

    /// Caps the workgroups of a dispatch in one dimension, below what the device allows.
    pub fn with_max_workgroups(mut self, workgroups: u32) -> Self {
        self.max_workgroups = Some(workgroups.max(1).into());
        self
    }

    /// Makes a step fail once; for tests of how failures are handled.
    #[doc(hidden)]
    pub fn with_fault(mut self, step: Step, fault: Fault) -> Self {
        self.faults.push((step, fault));
        self
    }
}

/// The engine on a GPU, rung M5.
///
/// # Examples
/// ```no_run
/// use crosscheck::{Backend, Gpu, Grid, Naive, Rules, random_walk};
/// let walk = random_walk(20_000, 42)?;
/// let grid = Grid::parse("hma:20..=200:20", "hma3:24..=192:24")?;
/// let exact = Naive::new().sweep(&walk, &grid, &Rules::default())?;
/// let fast = Gpu::new()?.sweep(&walk, &grid, &Rules::default())?;
/// assert_eq!(fast.rows, exact.rows);
/// # Ok::<(), crosscheck::Error>(())
/// ```
#[derive(Debug)]
pub struct Gpu {
    device: Device,
    arithmetic: GpuArithmetic,
    pipelines: Pipelines,
    options: GpuOptions,
    buffers: Mutex<Buffers>,
    timings: Mutex<GpuTimings>,
    host: Pool,
}

impl Gpu {
    /// Opens the best adapter: discrete before integrated before software.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) with [`DeviceError::NoAdapter`], [`DeviceError::Unusable`] or
    /// [`DeviceError::SelfTest`].
    pub fn new() -> Result<Self> {
        Self::with_options(GpuOptions::default())
    }

    /// Opens the adapter of an index of [`Gpu::list`], or the first whose name contains the text.
    ///
    /// # Errors
    /// Those of [`Gpu::new`].
    pub fn with_adapter(name_or_index: &str) -> Result<Self> {
        Self::with_options(GpuOptions::default().with_adapter(name_or_index))
    }

    /// Opens an adapter with options.
    ///
    /// # Errors
    /// Those of [`Gpu::new`].
    pub fn with_options(options: GpuOptions) -> Result<Self> {
        let device = Device::open(&options)?;
        let arithmetic = selftest::run(&device)?;
        let pipelines = Pipelines::new(&device, options.has_checks)?;
        Ok(Self {
            device,
            arithmetic,
            pipelines,
            options,
            buffers: Mutex::new(Buffers::new()),
            timings: Mutex::default(),
            host: Pool::new(None),
        })
    }

    /// Lists the adapters, the one that [`Gpu::new`] takes first.
    pub fn list() -> Vec<GpuAdapter> {
        device::list()
    }

    /// Returns the adapter in use.
    pub fn adapter(&self) -> &GpuAdapter {
        &self.device.adapter
    }

    /// Returns what the device does with operations that WGSL leaves open.
    pub fn arithmetic(&self) -> GpuArithmetic {
        self.arithmetic
    }

    /// Returns where the time of the last sweep went.
    pub fn timings(&self) -> GpuTimings {
        self.timings
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Computes the `f32` values of every filter on the device, uncertified; NaN in the warm-up.
    ///
    /// *Shape*: (filters, bars), the rows in the order of [`Question::filters`]. *Unit*: that of the closes, which go in
    /// as they are, not centred: these are the values that a plain port to single precision has.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device).
    pub fn matrices(&self, question: &Question<'_>) -> Result<Array2<f32>> {
        let mut buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        let values = matrices::read(self, question, &mut buffers);
        if values.is_err() {
            buffers.renew();
        }
        Ok(values?)
    }

    /// Compares every kernel with its twin in plain Rust, over the first chunk of bars.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device).
    #[doc(hidden)]
    pub fn check_kernels(&self, question: &Question<'_>) -> Result<KernelCheck> {
        let mut buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        let (device, pipelines) = (&self.device, &self.pipelines);
        let run = Run::new(device, pipelines, &mut buffers, &self.options, question)?;
        Ok(run.check()?)
    }

    /// Finds the crossovers of a grid and lets go of them: a sweep without its trades, for measurements.
    ///
    /// # Errors
    /// Those of [`Backend::sweep`].
    #[doc(hidden)]
    pub fn sides_only(&self, series: &Series, grid: &Grid) -> Result<Diagnostics> {
        let question = Question::new(series, grid)?;
        let mut sinks: Vec<_> = (0..grid.combinations()).map(|_| Nothing).collect();
        self.sides(&question, &mut question.writers(&mut sinks))
    }

    fn on_device(
        &self,
        question: &Question<'_>,
        writers: &mut [SideWriter<'_>],
        buffers: &mut Buffers,
    ) -> std::result::Result<Swept, DeviceError> {
        let (device, pipelines) = (&self.device, &self.pipelines);
        Run::new(device, pipelines, buffers, &self.options, question)?.sides(writers)
    }

    /// Makes a step of a later sweep fail once; for tests.
    #[doc(hidden)]
    pub fn inject(&self, step: Step, fault: Fault) {
        self.device.faults.inject(step, fault);
    }
}

/// A sink that forgets.
struct Nothing;

impl CrossoverSink for Nothing {
    fn arm(&mut self, _: u32, _: Side) {}

    fn crossovers(&mut self, _: &[u32]) {}
}

impl Backend for Gpu {
    #[allow(clippy::unnecessary_literal_bound)] // the trait's signature
    fn name(&self) -> &str {
        "m5"
    }

    fn filters(&self, question: &Question<'_>) -> Result<FilterMatrix> {
        self.host.filters(question)
    }

    fn sides(
        &self,
        question: &Question<'_>,
        writers: &mut [SideWriter<'_>],
    ) -> Result<Diagnostics> {
        let mut buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        let swept = self.on_device(question, writers, &mut buffers);
        if swept.is_err() {
            // staging buffers may still be mapped; their memory is let go, the count of submissions goes on
            buffers.renew();
        }
        let (mut diagnostics, timings, on_host) = swept?;
        drop(buffers);
        *self.timings.lock().unwrap_or_else(PoisonError::into_inner) = timings;
        if !on_host.is_empty() {
            diagnostics.notes.push(format!(
                "{} combinations have a filter beyond the device's {} bars or weights of 2^60, and ran on the host",
                on_host.len(),
                plan::MAX_WINDOW
            ));
            let matrix = self.host.filters(question)?;
            let mut is_left = vec![false; writers.len()];
            for &combination in &on_host {
                is_left[combination as usize] = true;
            }
            let parts = writers
                .par_chunks_mut(1)
                .filter(|writer| is_left[writer[0].combination()])
                .map(|writer| matrix.write_sides(self.name(), question, writer))
                .collect::<Result<Vec<_>>>()?;
            for part in &parts {
                diagnostics.merge(part);
            }
        }
        Ok(diagnostics)
    }
}
