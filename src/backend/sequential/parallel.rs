//! The kernels over a pool: each thread fills a tile, and takes it through all combinations to money, as M2 does.
//!
//! Combinations go in pieces, and a piece takes the tiles in the order of the bars: a thread that comes to one before
//! the thread with the tile before it has left waits. So they follow each other at a distance of a piece or more. Neither
//! the tiles nor the order in which they finish can change a result: cells have fixed anchors, every decision is exact,
//! and a combination's words reach its writer in the order of the bars. Nothing is held but one tile a thread.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use rayon::{Scope, ThreadPool};

use super::lanes::SimdPath;
use super::plan::{Job, Plan};
use super::rows::{Fill, Tile};
use super::sides::{Context, Decide, Words};
use super::start;
use crate::crossover::SideWriter;
use crate::diagnostics::Diagnostics;
use crate::question::Question;

/// Pieces a thread: it waits for one of them when it first meets another thread.
const PIECES: usize = 4;

/// A few microseconds: it takes longer only where other programs have the core, and then sleeping leaves them theirs
/// and is paid back, while spinning only uses up this program's share.
const SPINS: u32 = 200;

/// How long a sleeping thread goes without a look at whether another has failed.
const PATIENCE: Duration = Duration::from_millis(10);

/// Looks for the plan before a helper sleeps until it is there: as long as a small question takes to plan.
const LOOKS: u32 = 2_000;

/// Decides and writes every combination on this thread and all but one of a pool's, rayon's global one by default.
pub(in crate::backend) fn sides(
    engine: &str,
    path: SimdPath,
    pool: Option<&ThreadPool>,
    question: &Question<'_>,
    writers: &mut [SideWriter<'_>],
) -> Diagnostics {
    let total = Mutex::new(start(engine, question, writers));
    let threads = pool.map_or_else(rayon::current_num_threads, ThreadPool::current_num_threads);
    let work = OnceLock::new();
    let help = || {
        if let Some(work) = wait(&work) {
            let counts = Work::run(work);
            lock(&total).merge(&counts);
        }
    };
    // the helpers wake up while this thread plans; nothing in between may run other jobs of the pool, or it might
    // find itself waiting for its own plan
    in_scope(pool, |scope| {
        for _ in 1..threads {
            scope.spawn(|_| help());
        }
        let plan = Planning(&work);
        plan.done(Work::new(path, question, writers, threads));
        help();
    });
    total.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a job on this thread, which may spawn others on the pool, and waits for all.
fn in_scope<'scope>(pool: Option<&ThreadPool>, job: impl FnOnce(&Scope<'scope>)) {
    match pool {
        Some(pool) => pool.in_place_scope(job),
        None => rayon::in_place_scope(job),
    }
}

/// The work, once it is planned; `None` if planning it failed.
fn wait<T>(work: &OnceLock<Option<T>>) -> Option<&T> {
    for _ in 0..LOOKS {
        if work.get().is_some() {
            break;
        }
        std::hint::spin_loop();
    }
    work.wait().as_ref()
}

/// Lets nobody wait for ever where planning panics.
struct Planning<'a, T>(&'a OnceLock<Option<T>>);

impl<T> Planning<'_, T> {
    fn done(self, work: T) {
        let _ = self.0.set(Some(work));
    }
}

impl<T> Drop for Planning<'_, T> {
    fn drop(&mut self) {
        // does nothing where it is done
        let _ = self.0.set(None);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Some combinations, and the tile that they wait for, which changes under the lock only.
struct Piece<'w, 'a> {
    next: AtomicUsize,
    jobs: Mutex<Vec<Job<'w, 'a>>>,
    /// Threads that sleep until the tile changes.
    sleeping: AtomicUsize,
    has_moved: Condvar,
}

impl<'w, 'a> Piece<'w, 'a> {
    fn new(jobs: Vec<Job<'w, 'a>>) -> Self {
        Self {
            next: AtomicUsize::new(0),
            jobs: Mutex::new(jobs),
            sleeping: AtomicUsize::new(0),
            has_moved: Condvar::new(),
        }
    }
}

/// What the threads share.
struct Work<'q, 'w, 'a> {
    path: SimdPath,
    question: &'q Question<'q>,
    plan: Plan,
    /// First bar of each tile, and the end.
    tiles: Vec<usize>,
    /// The next tile to fill.
    next: AtomicUsize,
    pieces: Vec<Piece<'w, 'a>>,
    has_failed: AtomicBool,
}

/// Raised where a thread panics, so that no other waits for it for ever.
struct Alarm<'a>(&'a AtomicBool);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::Release);
        }
    }
}

impl<'q, 'w, 'a> Work<'q, 'w, 'a> {
    fn new(
        path: SimdPath,
        question: &'q Question<'q>,
        writers: &'w mut [SideWriter<'a>],
        threads: usize,
    ) -> Self {
        let plan = Plan::new(question, threads);
        let mut jobs = Plan::order(question, writers);
        let together = jobs.len().div_ceil(PIECES * threads).max(1);
        let mut pieces = Vec::with_capacity(jobs.len().div_ceil(together));
        while !jobs.is_empty() {
            let rest = jobs.split_off(together.min(jobs.len()));
            pieces.push(Piece::new(std::mem::replace(&mut jobs, rest)));
        }
        Self {
            path,
            question,
            tiles: plan.tiles(question.series().bars(), threads),
            plan,
            next: AtomicUsize::new(0),
            pieces,
            has_failed: AtomicBool::new(false),
        }
    }

    /// One thread's share: tiles as long as there are some.
    fn run(&self) -> Diagnostics {
        let mut diagnostics = Diagnostics::default();
        let _alarm = Alarm(&self.has_failed);
        if self.next.load(Ordering::Relaxed) + 1 >= self.tiles.len() {
            // woken up too late
            return diagnostics;
        }
        let (mut tile, mut words) = (Tile::take(&self.plan), Words::new(&self.plan));
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(&end) = self.tiles.get(index + 1) else {
                break;
            };
            let first_bar = self.tiles[index];
            self.path.run(Fill {
                plan: &self.plan,
                question: self.question,
                first_bar,
                bars: end - first_bar,
                tile: &mut tile,
            });
            for piece in &self.pieces {
                let Some(jobs) = self.turn(piece, index) else {
                    return diagnostics;
                };
                self.decide(&tile, jobs, &mut words, &mut diagnostics);
                if piece.sleeping.load(Ordering::Acquire) > 0 {
                    piece.has_moved.notify_all();
                }
            }
        }
        if Tile::is_kept(&self.plan) {
            tile.keep();
        }
        diagnostics
    }

    /// Waits until a piece is at this tile, and moves it on: the next thread then waits for the lock. Whoever has the
    /// first tile that is not through waits for nobody.
    fn turn<'p>(
        &self,
        piece: &'p Piece<'w, 'a>,
        index: usize,
    ) -> Option<MutexGuard<'p, Vec<Job<'w, 'a>>>> {
        let is_due = || piece.next.load(Ordering::Acquire) == index;
        for _ in 0..SPINS {
            if is_due() {
                break;
            }
            std::hint::spin_loop();
        }
        let mut jobs = lock(&piece.jobs);
        if !is_due() {
            piece.sleeping.fetch_add(1, Ordering::AcqRel);
            while !is_due() {
                if self.has_failed.load(Ordering::Acquire) {
                    return None;
                }
                let woken = piece.has_moved.wait_timeout(jobs, PATIENCE);
                jobs = woken.unwrap_or_else(PoisonError::into_inner).0;
            }
            piece.sleeping.fetch_sub(1, Ordering::AcqRel);
        }
        piece.next.store(index + 1, Ordering::Release);
        Some(jobs)
    }

    fn decide(
        &self,
        tile: &Tile,
        mut jobs: MutexGuard<'_, Vec<Job<'w, 'a>>>,
        words: &mut Words,
        diagnostics: &mut Diagnostics,
    ) {
        self.path.run(Decide {
            context: Context {
                plan: &self.plan,
                question: self.question,
                tile,
            },
            jobs: &mut jobs,
            words,
            diagnostics,
        });
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use crate::crossover::{CrossoverSink, Side};
    use crate::{Backend, Grid, Pool, Question, random_walk};

    /// A sink that fails in the middle of the series, where the other thread waits for its piece.
    struct Faulty;

    impl CrossoverSink for Faulty {
        fn arm(&mut self, _: u32, _: Side) {}

        fn crossovers(&mut self, bars: &[u32]) {
            assert!(bars[0] < 20_000, "as it should");
        }
    }

    #[test]
    fn a_panic_on_one_thread_ends_the_others() {
        let walk = random_walk(50_000, 4).unwrap();
        let grid = Grid::parse("hma:20..=60:20", "hma3:24..=72:24").unwrap();
        let question = Question::new(&walk, &grid).unwrap();
        let mut sinks: Vec<Faulty> = (0..grid.combinations()).map(|_| Faulty).collect();
        let mut writers = question.writers(&mut sinks);
        let pool = Pool::new(Some(2));
        let outcome = catch_unwind(AssertUnwindSafe(|| pool.sides(&question, &mut writers)));
        let cause = outcome.unwrap_err();
        assert_eq!(cause.downcast_ref::<&str>(), Some(&"as it should"));
    }
}
