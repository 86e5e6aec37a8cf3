//! The engine that picks an engine: M2, M4 or M5 by the size of the question and a short calibration.
//!
//! Every engine returns the same trades, so the choice is about time alone, and a wrong one costs time alone. It stands
//! apart because it is also the one place where a device's failure is not an error: the pool answers instead.

use std::sync::OnceLock;
use std::time::Instant;

use super::{Backend, FilterMatrix, Pool, Sequential};
use crate::crossover::SideWriter;
use crate::diagnostics::Diagnostics;
use crate::error::Result;
use crate::grid::Grid;
use crate::question::Question;
use crate::rules::Rules;
use crate::series::{Series, random_walk};

/// Seconds that the pool must be expected to take before a device is opened: opening takes about as long.
#[cfg(feature = "gpu")]
const WORTH_A_DEVICE: f64 = 0.25;

/// Picks M2, M4 or M5 for each question, and says in [`Diagnostics::notes`] which and why.
///
/// The first question calibrates: a small sweep on M2 and M4, some ten milliseconds; with the feature `gpu`, and only
/// once a question is large enough to be worth it, a device is opened and timed too. Results are kept in memory. Where
/// the device fails, M4 answers, and a note says so.
///
/// # Examples
/// ```
/// use crosscheck::{Auto, Backend, Grid, Rules, random_walk};
/// let walk = random_walk(2_000, 42)?;
/// let grid = Grid::parse("hma:20,40", "hma3:24,48")?;
/// let sweep = Auto::new().sweep(&walk, &grid, &Rules::default())?;
/// assert!(sweep.diagnostics.notes[0].starts_with("auto chose m"));
/// # Ok::<(), crosscheck::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Auto {
    sequential: Sequential,
    pool: Pool,
    host: OnceLock<Host>,
    #[cfg(feature = "gpu")]
    device: OnceLock<std::result::Result<Device, String>>,
    #[cfg(feature = "gpu")]
    options: super::gpu::GpuOptions,
}

/// Time of a sweep as a start and a slope: seconds, and seconds a bar and combination.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Rate {
    start: f64,
    slope: f64,
}

impl Rate {
    /// The line through two measurements; a start below 0 is noise.
    fn through(small: (f64, f64), large: (f64, f64)) -> Self {
        let slope = ((large.1 - small.1) / (large.0 - small.0)).max(1e-13);
        Self {
            start: (small.1 - slope * small.0).max(0.0),
            slope,
        }
    }

    fn seconds(self, decisions: f64) -> f64 {
        self.start + self.slope * decisions
    }
}

/// What the calibration of the host found.
#[derive(Debug, Clone, Copy)]
struct Host {
    sequential: Rate,
    pool: Rate,
}

/// An open device and its rate, or why there is none.
#[cfg(feature = "gpu")]
#[derive(Debug)]
struct Device {
    gpu: super::gpu::Gpu,
    rate: Rate,
}

/// The engine that a question goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    Sequential,
    Pool,
    #[cfg(feature = "gpu")]
    Gpu,
}

impl Auto {
    /// Makes the engine; nothing is measured or opened yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes the engine with options for the device that it may open.
    #[cfg(feature = "gpu")]
    pub fn with_gpu_options(options: super::gpu::GpuOptions) -> Self {
        Self {
            options,
            ..Self::default()
        }
    }

    /// Opens the device, takes it for every question from now on, and may make a step of it fail once; for tests.
    ///
    /// # Errors
    /// Those of [`Gpu::new`](super::gpu::Gpu::new).
    #[cfg(feature = "gpu")]
    #[doc(hidden)]
    pub fn force_device(&self, fault: Option<(super::gpu::Step, super::gpu::Fault)>) -> Result<()> {
        let gpu = super::gpu::Gpu::with_options(self.options.clone())?;
        if let Some((step, fault)) = fault {
            gpu.inject(step, fault);
        }
        let rate = Rate {
            start: 0.0,
            slope: 0.0,
        };
        let _ = self.device.set(Ok(Device { gpu, rate }));
        Ok(())
    }

    fn choose(&self, question: &Question<'_>) -> Result<(Choice, String)> {
        let decisions = question.grid().combinations() as f64 * question.series().bars() as f64;
        if self.host.get().is_none() {
            let measured = Host {
                sequential: measure(&self.sequential)?,
                pool: measure(&self.pool)?,
            };
            // another thread's measurement is as good
            let _ = self.host.set(measured);
        }
        let host = self.host.get().expect("set above");
        let (one, many) = (
            host.sequential.seconds(decisions),
            host.pool.seconds(decisions),
        );
        let expected = format!("expected {} on m2, {} on m4", ms(one), ms(many));
        let (choice, name) = if many < one {
            (Choice::Pool, "m4")
        } else {
            (Choice::Sequential, "m2")
        };
        let host = (choice, format!("auto chose {name}: {expected}"));
        Ok(self.or_device(host, one.min(many), decisions, &expected))
    }

    #[cfg(not(feature = "gpu"))]
    #[allow(clippy::unused_self)] // the other build asks the device
    fn or_device(&self, host: (Choice, String), _: f64, _: f64, _: &str) -> (Choice, String) {
        host
    }

    /// The device where it is expected to be faster, else the host's choice and why the device was not taken.
    #[cfg(feature = "gpu")]
    fn or_device(
        &self,
        host: (Choice, String),
        host_seconds: f64,
        decisions: f64,
        expected: &str,
    ) -> (Choice, String) {
        let (choice, reason) = host;
        if host_seconds < WORTH_A_DEVICE && self.device.get().is_none() {
            return (choice, format!("{reason}; too small to open a device for"));
        }
        match self.device.get_or_init(|| Device::open(&self.options)) {
            Err(cause) => (choice, format!("{reason}; no m5: {cause}")),
            Ok(device) => {
                let seconds = device.rate.seconds(decisions);
                if seconds < host_seconds {
                    let reason = format!("auto chose m5: {expected}, {} on m5", ms(seconds));
                    (Choice::Gpu, reason)
                } else {
                    (choice, format!("{reason}, {} on m5", ms(seconds)))
                }
            }
        }
    }

    /// The device's answer, or the pool's where the device fails. Sides that the device has written stay: they are
    /// proven, and a writer ignores words that come again.
    #[cfg(feature = "gpu")]
    fn on_device(
        &self,
        question: &Question<'_>,
        writers: &mut [SideWriter<'_>],
    ) -> Result<Diagnostics> {
        let Some(Ok(device)) = self.device.get() else {
            return self.pool.sides(question, writers);
        };
        match device.gpu.sides(question, writers) {
            Err(crate::Error::Device(cause)) => {
                let mut diagnostics = self.pool.sides(question, writers)?;
                diagnostics
                    .notes
                    .push(format!("m5 failed, m4 answered: {cause}"));
                Ok(diagnostics)
            }
            answered => answered,
        }
    }
}

#[cfg(feature = "gpu")]
impl Device {
    fn open(options: &super::gpu::GpuOptions) -> std::result::Result<Self, String> {
        let open = || {
            let gpu = super::gpu::Gpu::with_options(options.clone())?;
            // the first sweep compiles and allocates
            measure(&gpu)?;
            let rate = measure(&gpu)?;
            Ok(Self { gpu, rate })
        };
        open().map_err(|cause: crate::Error| cause.to_string())
    }
}

/// Times a small and a larger sweep of the random walk, the faster of two runs each.
fn measure(engine: &dyn Backend) -> Result<Rate> {
    let grid = Grid::parse("hma:20..=160:20", "hma3:24..=192:24")?;
    let mut points = [(0.0, 0.0); 2];
    for (point, bars) in points.iter_mut().zip([1_024, 16_384]) {
        let walk: Series = random_walk(bars, 1)?;
        let mut fastest = f64::MAX;
        for _ in 0..2 {
            let start = Instant::now();
            engine.sweep(&walk, &grid, &Rules::default())?;
            fastest = fastest.min(start.elapsed().as_secs_f64());
        }
        *point = ((bars * grid.combinations()) as f64, fastest);
    }
    Ok(Rate::through(points[0], points[1]))
}

fn ms(seconds: f64) -> String {
    format!("{:.3} ms", seconds * 1e3)
}

impl Backend for Auto {
    #[allow(clippy::unnecessary_literal_bound)] // the trait's signature
    fn name(&self) -> &str {
        "auto"
    }

    fn filters(&self, question: &Question<'_>) -> Result<FilterMatrix> {
        self.pool.filters(question)
    }

    fn sides(
        &self,
        question: &Question<'_>,
        writers: &mut [SideWriter<'_>],
    ) -> Result<Diagnostics> {
        let (choice, reason) = self.choose(question)?;
        let mut diagnostics = match choice {
            Choice::Sequential => self.sequential.sides(question, writers),
            Choice::Pool => self.pool.sides(question, writers),
            #[cfg(feature = "gpu")]
            Choice::Gpu => self.on_device(question, writers),
        }?;
        diagnostics.notes.insert(0, reason);
        Ok(diagnostics)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_faster_engine_is_chosen() {
        let walk = random_walk(1_000, 3).unwrap();
        let grid = Grid::parse("sma:2,3", "sma:5,8").unwrap();
        let question = Question::new(&walk, &grid).unwrap();
        let rate = |start, slope| Rate { start, slope };
        for (sequential, pool, expected) in [
            (rate(0.0, 1e-9), rate(1e-3, 1e-10), Choice::Sequential),
            (rate(0.0, 1e-6), rate(1e-3, 1e-7), Choice::Pool),
        ] {
            let auto = Auto::new();
            auto.host.set(Host { sequential, pool }).unwrap();
            let (choice, reason) = auto.choose(&question).unwrap();
            assert_eq!(choice, expected, "{reason}");
        }
    }

    #[test]
    fn a_rate_passes_through_its_points() {
        let rate = Rate::through((100.0, 2.0), (300.0, 4.0));
        assert!((rate.seconds(100.0) - 2.0).abs() < 1e-12);
        assert!((rate.seconds(500.0) - 6.0).abs() < 1e-12);
        assert!(Rate::through((100.0, 4.0), (300.0, 2.0)).slope > 0.0);
    }
}
