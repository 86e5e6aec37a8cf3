//! The filters' values in 16-bit fixed point, for the bulk of the comparisons.
// A kernel has the instructions of the function it is inlined into: these must be, or they run without SIMD.
#![allow(clippy::inline_always)]

use bytemuck::{Pod, Zeroable};

use super::blocks::{BLOCKS, Row};
use super::lanes::Lanes;
use super::plan::BLOCK;

/// Steps of the quantum in the sampled spread; some are left for the bars between the samples.
const STEPS: f64 = 24_000.0;
/// Values beyond are cut; two that are cut alike compare as too close to call.
const LARGEST_STEP: f64 = i16::MAX as f64;

/// The values on the bars of a word, in whole quanta.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
pub(super) struct Steps(pub(super) [i16; BLOCK]);

/// Rows of a cell.
pub(super) type Rows = [Row; BLOCK];

/// How far rows are from the reference row at most, in a sample: one row in eight.
#[derive(Debug, Default)]
pub(super) struct Spread([f64; BLOCKS]);

impl Spread {
    /// Widens the spread to a filter's rows.
    #[inline(always)]
    pub(super) fn widen(&mut self, values: &Rows, reference: &Rows) {
        for (values, reference) in values.iter().zip(reference).step_by(8) {
            for block in 0..BLOCKS {
                let distance = (values.0[block] - reference.0[block]).abs();
                self.0[block] = if distance > self.0[block] {
                    distance
                } else {
                    self.0[block]
                };
            }
        }
    }

    /// The scale of the steps. A quantum is at least four times the largest bound, so that rows two steps apart, which
    /// are one quantum apart at the least, are apart in truth; `None` where nothing is proven or nothing moves.
    pub(super) fn scale(&self, bound: f64) -> Option<Scale> {
        let spread = self.0.into_iter().fold(0.0, f64::max);
        let quantum = (spread / STEPS).max(4.000_01 * bound);
        let largest = LARGEST_STEP * quantum;
        (quantum > 0.0 && largest.is_finite()).then(|| Scale {
            inverse: 1.0 / quantum,
            largest,
        })
    }
}

/// What turns a distance into steps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    /// One over the quantum.
    pub(super) inverse: f64,
    /// The distance of [`LARGEST_STEP`] steps, at which others are cut.
    pub(super) largest: f64,
}

impl Scale {
    /// Added to a size below 2^51 it rounds to a whole number, which then stands in the low bits.
    pub(super) const ROUNDER: f64 = 6_755_399_441_055_744.0;

    /// Whole steps in 16 bits.
    #[inline(always)]
    pub(super) fn steps(self, distance: f64) -> u64 {
        let mut cut = distance;
        cut = if cut < -self.largest {
            -self.largest
        } else {
            cut
        };
        cut = if cut > self.largest {
            self.largest
        } else {
            cut
        };
        (cut * self.inverse + Self::ROUNDER).to_bits() & 0xffff
    }
}

/// Rounds a filter's rows to whole quanta, relative to the reference row, and turns them to one run of bars a block.
#[inline(always)]
pub(super) fn round<L: Lanes>(
    lanes: L,
    values: &Rows,
    reference: &Rows,
    scale: Scale,
    out: &mut [Steps; BLOCKS],
) {
    let (values, _) = values.as_chunks::<32>();
    let (reference, _) = reference.as_chunks::<32>();
    for (half, (values, reference)) in values.iter().zip(reference).enumerate() {
        let (values, _) = values.as_chunks::<4>();
        let (reference, _) = reference.as_chunks::<4>();
        let mut units = [[0; BLOCKS]; 8];
        for ((values, reference), units) in values.iter().zip(reference).zip(&mut units) {
            *units = lanes.pack(values, reference, scale);
        }
        for (steps, run) in out.iter_mut().zip(lanes.transpose(&units)) {
            let run: [i16; 32] = bytemuck::cast(run);
            steps.0[32 * half..][..32].copy_from_slice(&run);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::lanes::{SimdPath, WithLanes};
    use super::*;

    struct Round<'a> {
        values: &'a Rows,
        reference: &'a Rows,
        scale: Scale,
    }

    impl WithLanes for Round<'_> {
        type Output = [Steps; BLOCKS];

        #[inline(always)]
        fn with_lanes<L: Lanes>(self, lanes: L) -> Self::Output {
            let mut out = [Steps([0; BLOCK]); BLOCKS];
            round(lanes, self.values, self.reference, self.scale, &mut out);
            out
        }
    }

    /// Values that may be alike in truth, each off by the bound, are never two steps apart: four bounds are less than a
    /// quantum. At one quantum exactly halves that round to even could be.
    #[test]
    fn values_within_their_bounds_are_too_close_to_call() {
        let bound = 0.75;
        let scale = Spread::default().scale(bound).unwrap();
        let quantum = 1.0 / scale.inverse;
        let steps = |distance: f64| scale.steps(distance) as u16 as i16;
        for half in -2_000..2_000 {
            for place in [2.0 * bound, 0.5 * quantum] {
                let slow = f64::from(half) * place;
                let apart = steps(slow + 4.0 * bound) - steps(slow);
                assert!(apart < 2, "{slow}: {apart}");
            }
        }
        assert!(steps(3.0 * quantum) - steps(0.0) > 2);
    }

    /// Halves round to even, values beyond 16 bits are cut, and bar `b` of block `j` lands in run `j`, place `b`.
    #[test]
    fn rows_become_runs_of_whole_steps_on_every_path() {
        let value = |bar: usize, block: usize| (bar as f64 - 31.5) * (block as f64 + 0.5) * 300.25;
        let (mut values, mut reference) = ([Row::default(); BLOCK], [Row::default(); BLOCK]);
        for bar in 0..BLOCK {
            for block in 0..BLOCKS {
                reference[bar].0[block] = 7.0;
                values[bar].0[block] = 7.0 + value(bar, block);
            }
        }
        let scale = Scale {
            inverse: 2.0,
            largest: 0.5 * LARGEST_STEP,
        };
        let mut cut = 0;
        for path in SimdPath::all() {
            let found = path.run(Round {
                values: &values,
                reference: &reference,
                scale,
            });
            for bar in 0..BLOCK {
                for block in 0..BLOCKS {
                    let exact = 2.0 * value(bar, block);
                    let expected = exact.clamp(-LARGEST_STEP, LARGEST_STEP);
                    cut += usize::from(exact != expected);
                    let expected = expected.round_ties_even() as i16;
                    assert_eq!(found[block].0[bar], expected, "{path:?} {bar} {block}");
                }
            }
        }
        assert!(cut > 100, "{cut}");
    }
}
