//! The engines that the parity report judges, by name.

use crosscheck::{Backend, Precision, Uncertified};
#[cfg(feature = "gpu")]
use crosscheck::{Gpu, gpu::UncertifiedGpu};

use super::engines::{self, Engine};
use super::number::quoted;
use super::{Failure, Outcome};

/// M5's `f32` values as the device makes them, without their bound.
const RAW: &str = "m5-raw";

/// An engine to judge, and the arithmetic it claims.
pub(crate) struct Candidate {
    pub(crate) backend: Box<dyn Backend>,
    pub(crate) precision: Precision,
}

impl Candidate {
    /// Uncertified engines by name, M5's raw values, and every engine of the ladder.
    pub(crate) fn by_name(name: &str) -> Outcome<Self> {
        if let Ok(engine) = name.parse::<Uncertified>() {
            return Ok(Self::uncertified(engine));
        }
        if name == RAW {
            return Self::raw();
        }
        if engines::NAMES.contains(&name) {
            let backend = Engine::by_name(name, None)?.backend;
            let precision = Precision::Double;
            return Ok(Self { backend, precision });
        }
        let formulas = Uncertified::all();
        let names: Vec<_> = formulas.iter().map(Backend::name).collect();
        Err(Failure::Usage(format!(
            "no engine {} to judge, this build has {}, {RAW} (feature gpu) and {}",
            quoted(name),
            names.join(", "),
            engines::NAMES.join(", ")
        )))
    }

    /// Every formula in `f32` and in `f64`.
    pub(crate) fn all() -> Vec<Self> {
        Uncertified::all()
            .into_iter()
            .map(Self::uncertified)
            .collect()
    }

    fn uncertified(engine: Uncertified) -> Self {
        Self {
            precision: engine.precision(),
            backend: Box::new(engine),
        }
    }

    #[cfg(feature = "gpu")]
    fn raw() -> Outcome<Self> {
        Ok(Self {
            precision: Precision::Single,
            backend: Box::new(UncertifiedGpu::new(Gpu::new()?)),
        })
    }

    #[cfg(not(feature = "gpu"))]
    fn raw() -> Outcome<Self> {
        Err(Failure::Usage(format!(
            "engine {RAW} needs a build with the feature gpu: install with --features cli,gpu, or judge direct-f32, \
             the same formula on the host"
        )))
    }
}
