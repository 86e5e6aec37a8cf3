//! Engines by the name of their rung.

#[cfg(feature = "gpu")]
use crosscheck::Gpu;
use crosscheck::{Auto, Backend, Grid, Naive, Pool, Sequential, Series, Vectorized};

use super::number::{counted, quoted};
use super::{Failure, Outcome, room};

/// The rungs of this build, slowest first.
#[cfg(not(feature = "gpu"))]
pub(crate) const NAMES: &[&str] = &["m0", "m1", "m2", "m4"];
/// The rungs of this build, slowest first.
#[cfg(feature = "gpu")]
pub(crate) const NAMES: &[&str] = &["m0", "m1", "m2", "m4", "m5"];

/// The engine that picks one of the others by the size of the question.
pub(crate) const AUTO: &str = "auto";

/// The fastest engine that needs no device.
pub(crate) const DEFAULT: &str = "m4";

/// An engine and the number of threads that it computes on.
pub(crate) struct Engine {
    pub(crate) backend: Box<dyn Backend>,
    pub(crate) threads: usize,
    /// The device that it computes on, where it has one.
    pub(crate) adapter: Option<String>,
}

/// Starting a thread costs some milliseconds, so that more would look like a hang.
const MAX_THREADS: usize = 1024;

impl Engine {
    /// Makes the engine of a name; `threads` is for those that have a pool, all cores where it is left out.
    pub(crate) fn by_name(name: &str, threads: Option<usize>) -> Outcome<Self> {
        if threads == Some(0) {
            return Err(Failure::Usage(
                "0 threads compute nothing: give 1 or more".to_owned(),
            ));
        }
        if let Some(threads) = threads.filter(|&threads| threads > MAX_THREADS) {
            return Err(Failure::Usage(format!(
                "{threads} threads, the limit is {MAX_THREADS}: give about as many as there are cores"
            )));
        }
        match name {
            "m0" => Ok(Self::single(Naive::new())),
            "m1" => Ok(Self::single(Vectorized::new())),
            "m2" => Ok(Self::single(Sequential::new())),
            "m4" => Ok(Self::pool(threads)),
            #[cfg(feature = "gpu")]
            "m5" => Ok(Self::gpu(Gpu::new()?)),
            #[cfg(not(feature = "gpu"))]
            "m5" => Err(Failure::Usage(
                "engine m5 needs a build with the feature gpu: install with --features cli,gpu, or use m4"
                    .to_owned(),
            )),
            AUTO => Ok(Self::single(Auto::new())),
            _ => Err(Failure::Usage(format!(
                "no engine {}, this build has {} and {AUTO}",
                quoted(name),
                NAMES.join(", ")
            ))),
        }
    }

    /// Refuses threads for an engine that computes on one, or chooses them itself: the option would change nothing.
    pub(crate) fn refuse_idle(&self, threads: Option<usize>) -> Outcome {
        let name = self.name();
        if threads.is_none() || name == DEFAULT {
            return Ok(());
        }
        Err(Failure::Usage(format!(
            "engine {name} has no pool, so --threads changes nothing: leave it out, or take {DEFAULT}"
        )))
    }

    /// Refuses what the engine or the metrics hold in memory, beyond what the question itself asks for, where it cannot
    /// be had.
    pub(crate) fn check_room(&self, series: &Series, grid: &Grid, is_measured: bool) -> Outcome {
        /// Of every bar: powers of the moves in pairs of bars, and the extremes of runs of bars.
        const OF_METRICS: usize = 24;
        let (bars, filters) = (series.bars(), grid.filters().len());
        // M1 keeps the rows of all filters, and sums and averages that they share; M0 those of one combination. Measured
        // of hma and hma3 on two million bars: 4 rows; and 28, 42 and 74 with 2, 6 and 18 filters.
        let rows = match self.name() {
            "m0" => 8,
            "m1" => filters.saturating_mul(3).saturating_add(24),
            _ => 0,
        };
        let of_engine = rows.saturating_mul(size_of::<f64>());
        let of_metrics = if is_measured { OF_METRICS } else { 0 };
        let bytes = bars.saturating_mul(of_engine.saturating_add(of_metrics));
        let remedy = if of_engine > of_metrics {
            "take engine m2 or m4, fewer filters or fewer bars"
        } else {
            "measure no metrics (--totals-only), or take fewer bars"
        };
        let (bars, filters) = (
            counted(bars as u64, "bar"),
            counted(filters as u64, "filter"),
        );
        let what = format!("engine {} on {bars} and {filters} needs", self.name());
        room::ask(bytes, &what, remedy)
    }

    /// What a filter costs, in combinations: 0 where combinations share none, or hold them all in memory.
    ///
    /// Measured of M2 on a million bars: a filter takes 0.97 ms, a combination 0.23 ms, and 0.78 ms with every metric.
    pub(crate) fn filter_weight(&self, is_measured: bool) -> f64 {
        match self.name() {
            "m0" | "m1" => 0.0,
            _ if is_measured => 1.3,
            _ => 4.0,
        }
    }

    /// Returns the engine's name.
    pub(crate) fn name(&self) -> &str {
        self.backend.name()
    }

    fn pool(threads: Option<usize>) -> Self {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            backend: Box::new(Pool::new(threads)),
            threads: threads.unwrap_or_else(cores),
            adapter: None,
        }
    }

    #[cfg(feature = "gpu")]
    fn gpu(gpu: Gpu) -> Self {
        let found = gpu.adapter();
        let adapter = Some(format!(
            "{} ({}, {})",
            found.name, found.backend, found.driver
        ));
        Self {
            adapter,
            ..Self::single(gpu)
        }
    }

    fn single(backend: impl Backend + 'static) -> Self {
        Self {
            backend: Box::new(backend),
            threads: 1,
            adapter: None,
        }
    }
}
