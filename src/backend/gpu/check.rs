//! The kernels against their twins, on the device in use.

use super::compare::{Compared, Counted};
use super::error::Result;
use super::lists::Page;
use super::plan::{BLOCK, Plan};
use super::ranges::Sizes;
use super::read;
use super::run::Run;
use super::settle::Settler;
use super::tiles::Tiles;
use super::twin::{self, Nearest, Rows};

/// What [`Gpu::check_kernels`](super::Gpu::check_kernels) found.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct KernelCheck {
    /// Filter values compared with the twin's.
    pub values: usize,
    /// Largest difference from the twin, in units of the filter's bound: at most 2 where both keep it.
    pub largest_difference: f64,
    /// Bits of sides compared with the twin's over the same values.
    pub bits: usize,
    /// Bits of a turned side, and bits never computed.
    pub wrong_bits: usize,
    /// Bits that differ at all: differences so near the bound that one rounding decides.
    pub rounded_bits: usize,
    /// Bits proven above or below.
    pub decided: usize,
    /// Bits that the twin leaves open and the device does not, settled or rounded; all are compared with the sums, where
    /// there are any.
    pub closed: usize,
    /// Bars that kernel (e) says it settled.
    pub settled: u64,
    /// Words of lists compared with the twin's over the same sides.
    pub listed: usize,
    /// Rows whose lists are not the twin's.
    pub wrong_lists: usize,
}

impl Run<'_> {
    /// Runs all kernels over the first chunk of bars, reads everything back, and compares.
    pub(super) fn check(mut self) -> Result<KernelCheck> {
        let mut found = KernelCheck::default();
        self.upload()?;
        let series = self.question.series();
        let count = self.budget.tiles(&self.plan, series.bars())?;
        let chunk = self.chunk(0, count)?;
        let sizes = chunk.sizes;
        let tiles = Tiles::new(series, &self.plan, 0, count);
        let bytes = 4 * sizes.values as u64;
        let values = self.buffers.values.at_least(self.device, bytes)?;
        let values: Vec<f32> = read::once(self.device, bytes, |encoder, staging| {
            encoder.copy_buffer_to_buffer(&values, 0, staging, 0, bytes);
        })?;
        let twin = twin::convolve::<Nearest>(&self.plan, &tiles, &sizes);
        compare_values(&self.plan, &tiles, &values, &twin, &mut found);
        let step = self.budget.jobs(sizes.blocks, self.jobs.list.len());
        for first in (0..self.jobs.list.len()).step_by(step) {
            let jobs = first..(first + step).min(self.jobs.list.len());
            let compared = self.compare(chunk, jobs.clone())?;
            let bytes = 8 * (compared.rows.len() * sizes.blocks) as u64;
            let sides = &mut self.buffers.words[compared.slot].words;
            let sides = sides.at_least(self.device, bytes)?;
            let words: Vec<[u32; 2]> = read::once(self.device, bytes, |encoder, staging| {
                encoder.copy_buffer_to_buffer(&sides, 0, staging, 0, bytes);
            })?;
            self.compare_bits(&tiles, &sizes, &values, jobs, &words, &mut found);
            self.compare_lists(&compared, &words, &mut found)?;
        }
        Ok(found)
    }

    /// The lists of every row, page by page, over the device's own words.
    fn compare_lists(
        &mut self,
        compared: &Compared,
        words: &[[u32; 2]],
        found: &mut KernelCheck,
    ) -> Result<()> {
        let Counted { row_words, settled } = compared.counted(self.device, &self.jobs)?;
        found.settled += settled;
        let mut first = 0;
        while first < row_words.len() {
            let page = Page::next(first, &row_words, self.budget.lists as usize / 4);
            let rows = page.rows.clone();
            first = rows.end;
            let done = self.submit_page(compared, page)?;
            done.read(self.device, |lists| {
                for (index, row) in rows.enumerate() {
                    let sides = words.iter().skip(row).step_by(compared.rows.len());
                    let twin = twin::lists(&sides.copied().collect::<Vec<_>>(), compared.stamp);
                    found.listed += twin.len();
                    let is_same = lists[done.page.row(index)] == twin[..];
                    found.wrong_lists += usize::from(!is_same);
                }
                compared.stamp.check(lists[0])
            })??;
        }
        Ok(())
    }

    fn compare_bits(
        &self,
        tiles: &Tiles,
        sizes: &Sizes,
        values: &[f32],
        jobs: std::ops::Range<usize>,
        words: &[[u32; 2]],
        found: &mut KernelCheck,
    ) {
        let rows = self.jobs.rows(&jobs);
        for job in &self.jobs.list[jobs] {
            for block in 0..sizes.blocks {
                let twin = twin::bits(job, block, values, tiles, &self.plan.bounds);
                for (place, twin) in twin.into_iter().enumerate() {
                    let row = job.first_row as usize - rows.start + place;
                    let words = words[block * rows.len() + row];
                    found.bits += BLOCK;
                    found.decided += (words[0] ^ words[1]).count_ones() as usize;
                    let differing = (words[0] ^ twin[0]) | (words[1] ^ twin[1]);
                    // a device may round the difference or the bound to the other neighbour; a side must not turn
                    let turned = (words[0] & !words[1] & twin[1] & !twin[0])
                        | (words[1] & !words[0] & twin[0] & !twin[1]);
                    let closed = twin[0] & twin[1] & (words[0] ^ words[1]);
                    found.closed += closed.count_ones() as usize;
                    let combination = self.jobs.combinations[job.first_row as usize + place];
                    let turned = turned | self.unlike_sums(combination, block, closed, words[0]);
                    let missing = !(words[0] | words[1]);
                    found.wrong_bits += (turned | missing).count_ones() as usize;
                    found.rounded_bits += differing.count_ones() as usize;
                }
            }
        }
    }
}

impl Run<'_> {
    /// Which of some bits of a block are not what the sums say of them.
    fn unlike_sums(&self, combination: u32, block: usize, bits: u32, above: u32) -> u32 {
        let Some(sums) = self.settler.as_ref().and_then(Settler::sums) else {
            return 0;
        };
        let (fast, slow) = self.question.grid().pairs()[combination as usize];
        let first = self.question.first_bar(combination as usize);
        (0..BLOCK).fold(0, |unlike, bit| {
            let bar = block * BLOCK + bit;
            if bits >> bit & 1 == 0 || bar < first || bar >= self.question.series().bars() {
                return unlike;
            }
            let ordering = sums.decide(fast as usize, slow as usize, bar);
            let is_same =
                ordering.is_none_or(|o| o.is_ne() && o.is_gt() == (above >> bit & 1 == 1));
            unlike | u32::from(!is_same) << bit
        })
    }
}

fn compare_values(
    plan: &Plan,
    tiles: &Tiles,
    values: &[f32],
    twin: &Rows,
    found: &mut KernelCheck,
) {
    for (row, bound) in plan.bounds.iter().enumerate() {
        for step in 0..BLOCK {
            for block in 0..tiles.blocks {
                let at = (row * BLOCK + step) * tiles.blocks + block;
                let largest = tiles.largest[bound.reach as usize * tiles.blocks + block];
                let bound = f64::from(bound.factor) * f64::from(largest);
                let difference = (f64::from(values[at]) - f64::from(twin.values[at])).abs();
                found.values += 1;
                let ratio = difference / bound;
                // not `max`, which would lose a NaN
                if ratio.is_nan() || ratio > found.largest_difference {
                    found.largest_difference = ratio;
                }
            }
        }
    }
}
