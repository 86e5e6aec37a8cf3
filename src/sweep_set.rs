//! Many series over one grid: one result a symbol, in parallel, and a bad series loses none of the others.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::grid::Grid;
use crate::metrics::{Metric, MetricSet, rank};
use crate::rules::Rules;
use crate::series::Series;
use crate::sweep::Sweep;

/// One grid and one set of rules, to be run on many series.
///
/// # Examples
/// ```
/// use crosscheck::{Error, Grid, Rules, Sequential, Series, SweepSet, random_walk};
/// let grid = Grid::parse("hma:20,40", "hma3:24,48")?;
/// let report = SweepSet::new(&grid, Rules::published()).run(
///     &Sequential::new(),
///     &["walk", "broken"],
///     |symbol| match symbol {
///         "walk" => random_walk(2_000, 42),
///         _ => Series::from_closes(&[f64::NAN; 2_000]),
///     },
/// )?;
/// assert_eq!(report.get("walk").unwrap().as_ref().unwrap().rows.len(), 4);
/// assert!(matches!(report.get("broken"), Some(Err(Error::NonFinitePrice { bar: 0, .. }))));
/// # Ok::<(), crosscheck::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct SweepSet<'a> {
    grid: &'a Grid,
    rules: Rules,
    set: Option<MetricSet>,
}

impl<'a> SweepSet<'a> {
    /// Makes the set; [`SweepSet::run`] brings the series.
    pub fn new(grid: &'a Grid, rules: Rules) -> Self {
        Self {
            grid,
            rules,
            set: None,
        }
    }

    /// Asks for metrics beside the totals.
    pub fn with_metrics(mut self, set: MetricSet) -> Self {
        self.set = Some(set);
        self
    }

    /// Sweeps the series of every symbol, loaded when its turn comes and dropped after it.
    ///
    /// Symbols run in parallel on rayon's current pool, each no different from a run of its own; no more series are in memory
    /// than the pool has threads, whatever the engine. An engine with a pool also runs its combinations in parallel.
    ///
    /// # Errors
    /// [`Error::DuplicateSymbol`]. What goes wrong with one symbol is that symbol's result.
    pub fn run<S: AsRef<str> + Sync>(
        &self,
        backend: &dyn Backend,
        symbols: &[S],
        load: impl Fn(&str) -> Result<Series> + Sync,
    ) -> Result<SweepSetReport> {
        let mut names: Vec<&str> = symbols.iter().map(AsRef::as_ref).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Error::DuplicateSymbol {
                symbol: pair[0].to_owned(),
            });
        }
        let next = AtomicUsize::new(0);
        let one_by_one = |_| {
            std::iter::from_fn(|| {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let symbol = symbols.get(index)?.as_ref();
                let result = load(symbol).and_then(|series| self.sweep(backend, &series));
                Some((index, (symbol.to_owned(), result)))
            })
        };
        // as many jobs as threads, each of which takes one symbol after the other. A job a symbol would not do: a thread that
        // waits for an engine's own pool takes up another job meanwhile, and in the end it would hold them all
        let jobs = (0..rayon::current_num_threads()).into_par_iter();
        let jobs = jobs.with_max_len(1).flat_map_iter(one_by_one);
        let mut results: Vec<_> = jobs.collect();
        results.sort_unstable_by_key(|&(index, _)| index);
        let symbols = results.into_iter().map(|(_, result)| result).collect();
        Ok(SweepSetReport { symbols })
    }

    fn sweep(&self, backend: &dyn Backend, series: &Series) -> Result<Sweep> {
        match &self.set {
            Some(set) => backend.sweep_with(series, self.grid, &self.rules, set),
            None => backend.sweep(series, self.grid, &self.rules),
        }
    }
}

/// The results of a set, in the order of its symbols.
#[derive(Debug)]
pub struct SweepSetReport {
    /// Each symbol with its sweep, or with what went wrong.
    pub symbols: Vec<(String, Result<Sweep>)>,
}

impl SweepSetReport {
    /// Returns the result of a symbol.
    pub fn get(&self, symbol: &str) -> Option<&Result<Sweep>> {
        self.symbols
            .iter()
            .find(|(name, _)| name == symbol)
            .map(|(_, result)| result)
    }

    /// Returns the sweeps that worked.
    pub fn sweeps(&self) -> impl Iterator<Item = (&str, &Sweep)> {
        let symbols = self.symbols.iter();
        symbols.filter_map(|(name, result)| Some((name.as_str(), result.as_ref().ok()?)))
    }

    /// Returns the symbols that failed, each with its error.
    pub fn failures(&self) -> impl Iterator<Item = (&str, &Error)> {
        let symbols = self.symbols.iter();
        symbols.filter_map(|(name, result)| Some((name.as_str(), result.as_ref().err()?)))
    }

    /// Returns the number of trades over all symbols that worked.
    pub fn trades(&self) -> u64 {
        self.sweeps().map(|(_, sweep)| sweep.trades()).sum()
    }

    /// Returns the symbol and combination that are best by a metric; `None` where none has a finite value.
    pub fn best(&self, metric: Metric) -> Option<(&str, usize)> {
        let sign = if metric.is_better_low() { -1.0 } else { 1.0 };
        let candidates: Vec<_> = self
            .sweeps()
            .filter_map(|(symbol, sweep)| {
                let index = sweep.best(metric)?;
                Some((symbol, index, sign * sweep.rows[index].value(metric)?))
            })
            .collect();
        let scores: Vec<f64> = candidates.iter().map(|candidate| candidate.2).collect();
        let first = *rank(&scores).first()?;
        Some((candidates[first].0, candidates[first].1))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::{Condvar, Mutex, PoisonError};
    use std::thread::{self, ThreadId};
    use std::time::Duration;

    use super::*;
    use crate::backend::{FilterMatrix, Pool, collect};
    use crate::crossover::{CrossoverSink, Side};
    use crate::diagnostics::Diagnostics;
    use crate::question::Question;
    use crate::random_walk;

    /// What was seen of one symbol.
    #[derive(Default)]
    struct Seen {
        threads: HashSet<ThreadId>,
        /// Combinations that were begun.
        begun: usize,
        waited_in_vain: bool,
    }

    #[derive(Default)]
    struct Meeting {
        seen: Mutex<Seen>,
        met: Condvar,
    }

    /// Waits in the later half of the combinations for a second thread to come to any: it follows the first one through them.
    struct Guest<'m> {
        meeting: &'m Meeting,
        combinations: usize,
        is_new: bool,
    }

    impl CrossoverSink for Guest<'_> {
        fn arm(&mut self, _: u32, _: Side) {}

        fn crossovers(&mut self, _: &[u32]) {
            let seen = self.meeting.seen.lock();
            let mut seen = seen.unwrap_or_else(PoisonError::into_inner);
            seen.threads.insert(thread::current().id());
            seen.begun += usize::from(std::mem::take(&mut self.is_new));
            self.meeting.met.notify_all();
            if 2 * seen.begun > self.combinations && !seen.waited_in_vain {
                let is_alone = |seen: &mut Seen| seen.threads.len() < 2;
                let limit = Duration::from_secs(20);
                let met = self.meeting.met.wait_timeout_while(seen, limit, is_alone);
                let (mut seen, waited) = met.unwrap_or_else(PoisonError::into_inner);
                seen.waited_in_vain = waited.timed_out();
            }
        }
    }

    /// The pool, whose combinations go to guests.
    struct Host<'m>(Pool, &'m Meeting);

    impl Backend for Host<'_> {
        fn name(&self) -> &'static str {
            "host"
        }

        fn filters(&self, question: &Question<'_>) -> Result<FilterMatrix> {
            self.0.filters(question)
        }

        fn sweep(&self, series: &Series, grid: &Grid, _: &Rules) -> Result<Sweep> {
            let guest = || Guest {
                meeting: self.1,
                combinations: grid.combinations(),
                is_new: true,
            };
            collect(&self.0, &Question::new(series, grid)?, guest)?;
            Ok(Sweep::new(grid, Vec::new(), Diagnostics::default()))
        }
    }

    /// Of one symbol, with the set's own threads and with the engine's.
    #[test]
    fn combinations_run_side_by_side() {
        let grid = Grid::parse("hma:10..=80:10", "hma3:12..=96:12").unwrap();
        let threads = rayon::ThreadPoolBuilder::new().num_threads(2).build();
        let threads = threads.unwrap();
        for engine in [Pool::new(None), Pool::new(Some(2))] {
            let meeting = Meeting::default();
            let host = Host(engine, &meeting);
            let set = SweepSet::new(&grid, Rules::default());
            let load = |_: &str| random_walk(60_000, 4);
            let report = threads.install(|| set.run(&host, &["alone"], load));
            assert_eq!(report.unwrap().sweeps().count(), 1);
            let seen = meeting.seen.into_inner().unwrap();
            assert_eq!((seen.threads.len(), seen.begun), (2, grid.combinations()));
        }
    }
}
