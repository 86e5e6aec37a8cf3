//! The kernels over a pool: tiles side by side up to decided words, then combinations side by side up to money.
//!
//! Waves of tiles bound the memory. Neither the tiles nor the order in which they finish can change a result: cells
//! have fixed anchors, every decision is exact, and a combination's words reach its writer in the order of the bars.

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::lanes::SimdPath;
use super::plan::{Job, Plan};
use super::rows::{Fill, Tile};
use super::sides::{Context, Decide, Words};
use super::start;
use crate::crossover::SideWriter;
use crate::diagnostics::Diagnostics;
use crate::question::Question;

/// Decided words of one wave, all combinations.
const WAVE_BYTES: usize = 64 << 20;

/// Decides and writes every combination on the current rayon pool.
pub(in crate::backend) fn sides(
    engine: &str,
    path: SimdPath,
    question: &Question<'_>,
    writers: &mut [SideWriter<'_>],
) -> Diagnostics {
    let mut diagnostics = start(engine, question, writers);
    let threads = rayon::current_num_threads();
    let plan = Plan::new(question, threads);
    let jobs = Plan::order(question, writers);
    let bars = question.series().bars();
    let tile_bytes = plan.tile / 64 * 2 * size_of::<u64>() * writers.len().max(1);
    let at_once = (WAVE_BYTES / tile_bytes)
        .max(threads)
        .min(bars.div_ceil(plan.tile));
    let tiles: Vec<_> = (0..threads).map(|_| Mutex::new(None)).collect();
    let mut wave: Vec<Words> = Vec::new();
    wave.resize_with(at_once, || Words::new(&plan, writers.len()));
    let starts: Vec<usize> = (0..bars).step_by(plan.tile).collect();
    for starts in starts.chunks(at_once) {
        let work = Work {
            path,
            question,
            plan: &plan,
            jobs: &jobs,
            tiles: &tiles,
        };
        let counts: Vec<Diagnostics> = wave
            .par_iter_mut()
            .zip(starts)
            .with_max_len(1)
            .map(|(words, &first_bar)| work.decide(first_bar, words))
            .collect();
        for count in &counts {
            diagnostics.merge(count);
        }
        writers
            .par_iter_mut()
            .enumerate()
            .for_each(|(index, writer)| {
                for (words, &first_bar) in wave.iter().zip(starts) {
                    words.write(index, first_bar, writer);
                }
            });
    }
    diagnostics
}

/// What the threads share.
struct Work<'a> {
    path: SimdPath,
    question: &'a Question<'a>,
    plan: &'a Plan,
    jobs: &'a [Job],
    /// One tile a thread, made on first use.
    tiles: &'a [Mutex<Option<Tile>>],
}

impl Work<'_> {
    fn decide(&self, first_bar: usize, words: &mut Words) -> Diagnostics {
        let thread = rayon::current_thread_index().unwrap_or(0) % self.tiles.len();
        let mut tile = self.tiles[thread]
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let tile = tile.get_or_insert_with(|| Tile::new(self.plan));
        let (plan, question) = (self.plan, self.question);
        self.path.run(Fill {
            plan,
            question,
            first_bar,
            tile,
        });
        let mut diagnostics = Diagnostics::default();
        self.path.run(Decide {
            context: Context {
                plan,
                question,
                tile,
            },
            jobs: self.jobs,
            words,
            diagnostics: &mut diagnostics,
            has_own_words: true,
            then: |_, _: &Job, _: &Words| {},
        });
        diagnostics
    }
}
