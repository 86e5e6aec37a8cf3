//! Moving-average-crossover parameter sweeps on which every engine returns exactly the same trades.
//!
//! A sweep takes a series of closes and a grid of fast and slow moving averages, and counts trades and PnL of every
//! combination. A trade depends on the *sign* of fast - slow, and rounding can turn a sign: on flat prices, and wherever two
//! averages all but touch, a naive loop, a sliding sum and an fp32 GPU kernel take different trades. Here an engine
//! states how far its values can be from exact; a sign beyond that bound is certain, and the rest is decided in exact
//! integers. So the engines differ in speed alone.
//!
//! # Example
//! ```
//! use crosscheck::{Backend, Grid, Metric, Naive, Pool, Rules, Sequential, random_walk};
//!
//! // 20,000 bars of the benchmarks' random walk; your own: Series::from_closes, from_ticks, from_array
//! let series = random_walk(20_000, 42)?;
//! let grid = Grid::parse("hma:20..=100:20", "hma3:24..=96:24")?;
//! let rules = Rules::published(); // 0.09 % fee a round trip
//!
//! let sweep = Sequential::new().sweep(&series, &grid, &rules)?;
//! assert_eq!(sweep.rows.len(), 20);
//! let best = &sweep.rows[sweep.rank(Metric::Pnl)[0]];
//! println!("{} over {}: {:.2} %", best.fast, best.slow, best.totals.pnl_pct);
//!
//! // a pool of threads and the loop from the definition give the same rows, bit for bit
//! assert_eq!(Pool::new(None).sweep(&series, &grid, &rules)?.rows, sweep.rows);
//! assert_eq!(Naive::new().sweep(&series, &grid, &rules)?.rows, sweep.rows);
//! # Ok::<(), crosscheck::Error>(())
//! ```
//!
//! # Engines
//! | rung | engine | speed, M0 = 1 | what it is |
//! | --- | --- | --- | --- |
//! | M0 | [`Naive`] | 1 | each combination from the definition: the code to check first |
//! | M1 | [`Vectorized`] | 13 | whole-array `ndarray` operations |
//! | M2 | [`Sequential`] | 600 | one thread, every shared average once: the choice inside your own parallel loop |
//! | M4 | [`Pool`] | 1,070 | M2 over a rayon pool: the choice for one sweep on one machine |
//! | M5 | `Gpu` | the device's | fp32 kernels through wgpu, feature `gpu`; exact trades all the same |
//!
//! (Speeds are rounded from one `crosscheck ladder`: 80 combinations on 150,000 bars, two cores. M3 was plain threads in
//! the ladder that the rungs are named after; M4 covers it.) Your own engine implements [`Backend`]: the least it has to
//! do is fill a [`FilterMatrix`] and state a bound. Measured speeds, and the commands that measured them, are in
//! `docs/ladder.md`.
//!
//! # Use it for
//! - **sweeps in your own program**: [`Series`], [`Grid`], [`Rules`], an engine; `docs/embedding.md`
//! - **timing an engine of your own**, its answers verified first: [`Backend`], [`equivalence`]; `docs/benchmarking.md`
//! - **testing an indicator**: [`Filter::evaluate`] and its bound, [`Filter::exact_weights`], the exact
//!   [`Predicate`]; `docs/testing-indicators.md`
//!
//! # Where the proofs are
//! - the bound of each formula: [`Filter::relative_error_bound`], derived beside its code and in `docs/numerics.md`
//! - the decision itself: [`Predicate`], whose last stage is the sign of one integer
//! - the tests: one suite for every engine, golden trades from an independent exact program, hostile series
//!
//! # Features
//! | feature | adds |
//! | --- | --- |
//! | (none) | the CPU engines, nothing else: the light choice for embedding |
//! | `csv` | price files, their decimal text read exactly |
//! | `parquet` | price files in Parquet, and `--out rows.parquet` of the command line; some two processor minutes to build |
//! | `serde` | `Serialize` on results, reports and rules |
//! | `plot` | pictures of results as SVG or PNG, module `plot` |
//! | `gpu` | engine M5 |
//! | `cli` | the command `crosscheck` |
//!
//! Minimum Rust version: 1.89.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![warn(clippy::print_stdout)]
#![cfg_attr(not(test), warn(clippy::float_cmp, clippy::unwrap_used))]

mod backend;
mod crossover;
mod diagnostics;
pub mod equivalence;
mod error;
mod filter;
mod grid;
mod look_ahead;
mod metrics;
#[cfg(feature = "plot")]
#[cfg_attr(docsrs, doc(cfg(feature = "plot")))]
pub mod plot;
mod prefetch;
mod question;
mod room;
mod rules;
mod selection;
mod series;
mod sweep;
mod sweep_set;
mod trade;
mod walk_forward;

#[doc(hidden)]
pub use backend::SimdPath;
pub use backend::{
    Auto, Backend, Evaluation, FilterMatrix, Formula, Naive, Pool, Precision, Sequential,
    Uncertified, Vectorized, decide_row,
};
pub use crossover::{CrossoverSink, Decision, Predicate, Side, SideWriter, Stage};
pub use diagnostics::Diagnostics;
pub use error::{Error, FileError, Result, SizeError, TimeframeError};
pub use filter::{
    ExactWeights, Expr, Filter, MAX_PERIOD, RootRounding, UNIT_ROUNDOFF, gamma, parse_filters,
};
pub use grid::{Grid, MAX_COMBINATIONS};
pub use look_ahead::{Leak, LookAhead, shift_test};
pub use metrics::{Metric, MetricSet, Metrics, ReturnMoments, Undefined, equity, rank};
pub use question::Question;
pub use rules::{Compounding, Direction, FeeFormula, Fill, FirstSide, OpenTrade, Rules};
pub use selection::{DeflatedSharpe, Plateau, Selection, deflated_sharpe, probabilistic_sharpe};
#[cfg(feature = "csv")]
#[cfg_attr(docsrs, doc(cfg(feature = "csv")))]
pub use series::{Duplicates, Fault, FaultKind, FileReport, ReadOptions, TimeFormat};
pub use series::{LargestGap, LargestMove, MAX_BARS, Reading, Series, SeriesReport, random_walk};
pub use sweep::{Sweep, SweepRow};
pub use sweep_set::{SweepSet, SweepSetReport};
pub use trade::{Totals, Trade};
pub use walk_forward::{Chosen, Measured, Split, WalkForward, WalkForwardReport, WalkForwardRow};

/// The pages under `docs/` and their snippets, compiled and run as doctests.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../README.md")]
    struct Readme;

    #[cfg(feature = "gpu")]
    #[doc = include_str!("../docs/gpu.md")]
    struct GpuPage;

    #[doc = include_str!("../docs/embedding.md")]
    struct Embedding;

    #[doc = include_str!("../docs/benchmarking.md")]
    struct Benchmarking;

    #[doc = include_str!("../docs/testing-indicators.md")]
    struct TestingIndicators;

    #[doc = include_str!("../docs/numerics-parity.md")]
    struct Parity;
}

#[cfg(feature = "gpu")]
pub use backend::gpu::{self, Gpu, GpuOptions};
