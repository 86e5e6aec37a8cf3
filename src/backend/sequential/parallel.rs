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

/// A wave up to this size is kept for the next call: fresh memory costs a page fault per 4 KB.
const KEPT_BYTES: usize = 8 << 20;

/// Combinations that go through a wave together, tile by tile, while the tile's closes stay in the first-level cache.
const WRITE_TOGETHER: usize = 64;

/// Pieces of money a thread, so that one that starts late leaves some to the others.
const PIECES: usize = 4;

/// The words of a wave, kept between calls.
#[derive(Debug, Default)]
pub(in crate::backend) struct Spare(Mutex<Vec<Words>>);

impl Spare {
    fn take(&self) -> Vec<Words> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn keep(&self, wave: Vec<Words>) {
        if wave.iter().map(Words::bytes).sum::<usize>() <= KEPT_BYTES {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = wave;
        }
    }
}

/// Decides and writes every combination on the current rayon pool.
pub(in crate::backend) fn sides(
    engine: &str,
    path: SimdPath,
    spare: &Spare,
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
    let mut wave = spare.take();
    wave.resize_with(at_once, Words::default);
    let work = Work {
        path,
        question,
        plan: &plan,
        jobs: &jobs,
    };
    let starts: Vec<usize> = (0..bars).step_by(plan.tile).collect();
    let together = writers
        .len()
        .div_ceil(PIECES * threads)
        .clamp(1, WRITE_TOGETHER);
    for starts in starts.chunks(at_once) {
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
            .par_chunks_mut(together)
            .enumerate()
            .with_max_len(1)
            .for_each(|(chunk, writers)| write(&wave, starts, chunk * together, writers));
    }
    spare.keep(wave);
    if !Tile::is_kept(&plan) {
        rayon::broadcast(|_| Tile::forget());
    }
    diagnostics
}

/// Hands a wave to some writers, the first of which is `first`.
fn write(wave: &[Words], starts: &[usize], first: usize, writers: &mut [SideWriter<'_>]) {
    for (words, &first_bar) in wave.iter().zip(starts) {
        for (index, writer) in writers.iter_mut().enumerate() {
            words.write(first + index, first_bar, writer);
        }
    }
}

/// What the threads share.
struct Work<'a> {
    path: SimdPath,
    question: &'a Question<'a>,
    plan: &'a Plan,
    jobs: &'a [Job],
}

impl Work<'_> {
    fn decide(&self, first_bar: usize, words: &mut Words) -> Diagnostics {
        let (plan, question) = (self.plan, self.question);
        let mut tile = Tile::take(plan);
        words.fit(plan, self.jobs.len());
        self.path.run(Fill {
            plan,
            question,
            first_bar,
            tile: &mut tile,
        });
        let mut diagnostics = Diagnostics::default();
        self.path.run(Decide {
            context: Context {
                plan,
                question,
                tile: &tile,
            },
            jobs: self.jobs,
            words,
            diagnostics: &mut diagnostics,
            has_own_words: true,
            then: |_, _: &Job, _: &Words| {},
        });
        tile.keep();
        diagnostics
    }
}
