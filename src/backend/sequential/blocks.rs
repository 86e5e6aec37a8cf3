//! Prefix sums of eight blocks side by side, and the filters as dot products of them.
//!
//! A row holds one bar of each block. Reading a lag back is reading so many rows back: every load is aligned, whatever
//! the lag, where eight neighbouring bars in a register cross two cache lines at seven lags out of eight.
// A kernel has the instructions of the function it is inlined into: these must be, or they run without SIMD.
#![allow(clippy::inline_always)]

use bytemuck::{Pod, Zeroable};

use super::lanes::Lanes;
use super::plan::{BLOCK, CELL, Class, TapRow};
use super::taps::{MAX_LEVEL, Tap};

/// Blocks of a cell.
pub(super) const BLOCKS: usize = CELL / BLOCK;

/// One bar of each block of a cell.
#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
#[repr(C, align(64))]
pub(super) struct Row(pub(super) [f64; BLOCKS]);

/// Centred closes of the blocks of one cell and of the run-up before each, and the prefix sums of one class.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    closes: Vec<Row>,
    sums: Vec<Row>,
}

impl Blocks {
    /// Makes room for the longest run-up.
    pub(super) fn fit(&mut self, run_up: usize) {
        self.closes.resize(run_up + BLOCK, Row::default());
        self.sums.resize(run_up + BLOCK, Row::default());
    }

    /// Lays out the closes of a cell and of the run-up before it.
    #[inline(always)]
    pub(super) fn lay_out(&mut self, closes: &[f64]) {
        let (first, rest) = self.closes.split_at_mut(BLOCK);
        for (bar, row) in first.iter_mut().enumerate() {
            for (block, slot) in row.0.iter_mut().enumerate() {
                *slot = closes[bar + block * BLOCK];
            }
        }
        // the bars of the other rows, but for the last block's, are those of the next block a block of rows before
        let newest = &closes[CELL..];
        let (mut before, mut rest) = (first, rest);
        let mut newest = newest.iter();
        while !rest.is_empty() {
            let (rows, after) = rest.split_at_mut(BLOCK.min(rest.len()));
            for ((row, before), &close) in rows.iter_mut().zip(before.iter()).zip(&mut newest) {
                let [_, a, b, c, d, e, f, g] = before.0;
                row.0 = [a, b, c, d, e, f, g, close];
            }
            (before, rest) = (rows, after);
        }
    }

    /// Computes the prefix sums that a class reads.
    #[inline(always)]
    pub(super) fn scan(&mut self, class: &Class) {
        let length = class.run_up + BLOCK;
        let closes = &self.closes[self.closes.len() - length..];
        let sums = &mut self.sums[..length];
        match class.level {
            0 => sums.copy_from_slice(closes),
            1 => scan::<1>(closes, sums),
            2 => scan::<2>(closes, sums),
            3 => scan::<3>(closes, sums),
            _ => scan::<MAX_LEVEL>(closes, sums),
        }
    }

    /// Adds up the taps of a filter of the class scanned last.
    #[inline(always)]
    pub(super) fn dot<L: Lanes>(
        &self,
        lanes: L,
        class: &Class,
        row: &TapRow,
        out: &mut [Row; BLOCK],
    ) {
        let sums = &self.sums[..class.run_up + BLOCK];
        // half of the registers: 32 with AVX-512, 16 elsewhere
        if size_of::<L::f64s>() == size_of::<Row>() {
            dot::<L, 16>(lanes, &row.taps, sums, out);
        } else {
            dot::<L, 8>(lanes, &row.taps, sums, out);
        }
    }
}

/// Prefix sums of prefix sums, of which the last are kept: a chain of additions a level, each in eight blocks at once.
#[inline(always)]
fn scan<const LEVEL: usize>(closes: &[Row], sums: &mut [Row]) {
    let mut sum = [[0.0; BLOCKS]; LEVEL];
    for (close, out) in closes.iter().zip(sums) {
        let mut below = close.0;
        for sum in &mut sum {
            for block in 0..BLOCKS {
                sum[block] += below[block];
            }
            below = *sum;
        }
        out.0 = below;
    }
}

/// Adds up taps on sums whose last block of rows are the bars to fill, so many vectors at a time.
#[inline(always)]
fn dot<L: Lanes, const VECTORS: usize>(
    lanes: L,
    taps: &[Tap],
    sums: &[Row],
    out: &mut [Row; BLOCK],
) {
    let newest = sums.len() - BLOCK;
    let (out, _) = L::as_mut_simd_f64s(bytemuck::cast_slice_mut(out));
    let (out, _) = out.as_chunks_mut::<VECTORS>();
    for (group, out) in out.iter_mut().enumerate() {
        let mut sum = [lanes.splat_f64s(0.0); VECTORS];
        for tap in taps {
            let source = bytemuck::cast_slice(&sums[newest - tap.lag..][..BLOCK]);
            let (source, _) = L::as_simd_f64s(source);
            let (source, _) = source.as_chunks::<VECTORS>();
            let coefficient = lanes.splat_f64s(tap.coefficient);
            for (sum, &value) in sum.iter_mut().zip(&source[group]) {
                *sum = lanes.mul_add_e_f64s(coefficient, value, *sum);
            }
        }
        *out = sum;
    }
}
