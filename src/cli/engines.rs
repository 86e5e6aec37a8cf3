//! Engines by the name of their rung.

use crosscheck::{Backend, Naive, Pool, Sequential, Vectorized};

use super::{Failure, Outcome};

/// The names that `--engine` and `--engines` know, slowest first.
pub(crate) const NAMES: &[&str] = &["m0", "m1", "m2", "m4"];

/// The fastest engine that needs no device.
pub(crate) const DEFAULT: &str = "m4";

/// An engine and the number of threads that it computes on.
pub(crate) struct Engine {
    pub(crate) backend: Box<dyn Backend>,
    pub(crate) threads: usize,
}

impl Engine {
    /// Makes the engine of a name; `threads` is for those that have a pool, all cores where it is left out.
    pub(crate) fn by_name(name: &str, threads: Option<usize>) -> Outcome<Self> {
        if threads == Some(0) {
            return Err(Failure::Usage(
                "0 threads compute nothing: give 1 or more".to_owned(),
            ));
        }
        match name {
            "m0" => Ok(Self::single(Naive::new())),
            "m1" => Ok(Self::single(Vectorized::new())),
            "m2" => Ok(Self::single(Sequential::new())),
            "m4" => Ok(Self::pool(threads)),
            _ => Err(Failure::Usage(format!(
                "no engine '{name}', this build has {}",
                NAMES.join(", ")
            ))),
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
        }
    }

    fn single(backend: impl Backend + 'static) -> Self {
        Self {
            backend: Box::new(backend),
            threads: 1,
        }
    }
}
