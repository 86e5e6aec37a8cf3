//! From a grid's filters to what the kernels run: windows in groups of four, second-stage rows, weights, bounds.
//!
//! Every unique window over the closes is one row, whichever filters use it. A filter that is a window over a linear
//! combination of such rows takes the second stage; any other tree is run by its composite weights, one window.

use std::collections::HashMap;
use std::sync::Arc;

use rayon::prelude::*;

use super::Summation;
use super::bound;
use crate::filter::{Expr, Filter};

/// Longest window that the device takes, in bars: above it a direct sum loses to the host's running sums anyway.
pub(super) const MAX_WINDOW: usize = 1 << 14;
/// Bars of a block: one bit each of a word.
pub(super) const BLOCK: usize = 32;
pub(super) const NOWHERE: u32 = u32::MAX;
pub(super) const INNER: u32 = 1 << 31;

/// Four windows that one thread of kernel (a) sums together; as the kernel reads it.
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct Group {
    pub(super) first_weight: u32,
    pub(super) steps: u32,
    pub(super) first: u32,
    pub(super) unused: u32,
    pub(super) outputs: [u32; 4],
}

/// One row of kernel (b); as the kernel reads it.
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct Row {
    pub(super) first_weight: u32,
    pub(super) steps: u32,
    pub(super) output: u32,
    pub(super) terms: u32,
    pub(super) rows: [u32; 4],
    pub(super) coefficients: [f32; 4],
}

/// The bound of a filter; as kernel (c) reads it.
#[derive(Debug, Clone, Copy, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct Bound {
    /// Relative to the largest centred close of the reach.
    pub(super) factor: f32,
    /// Index into [`Plan::reaches`].
    pub(super) reach: u32,
}

/// What the kernels run for one question.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) groups: Vec<Group>,
    pub(super) rows: Vec<Row>,
    pub(super) weights: Vec<[f32; 4]>,
    pub(super) inner_rows: usize,
    /// Positions of a tile before its own bars: the longest window but one bar, in whole blocks.
    pub(super) halo: usize,
    /// Own bars of a tile, in whole blocks of 64 bars.
    pub(super) tile_bars: usize,
    /// One a row of `values`.
    pub(super) bounds: Vec<Bound>,
    /// Blocks before a block that a filter's window can touch; ascending, each once.
    pub(super) reaches: Vec<usize>,
    /// Row of `values` of each filter of the grid; `None` where the host computes it.
    pub(super) device_row: Vec<Option<u32>>,
    /// Whether closes are sent relative to a tile's centre.
    pub(super) is_centred: bool,
}

/// A window of one filter over the closes, or over rows that are.
struct Shape<'a> {
    weights: Vec<f64>,
    terms: Vec<(i32, &'a Arc<Expr>)>,
}

impl Plan {
    pub(super) fn new(filters: &[Filter], summation: Summation, wants_centre: bool) -> Self {
        let is_centred = wants_centre && filters.iter().all(bound::has_unit_gain);
        let mut builder = Builder::default();
        let mut device_row = Vec::with_capacity(filters.len());
        // exact integers first: with hundreds of filters that takes longer than all else
        let composite = |filter: &Filter| {
            let wants = summation == Summation::Composite && filter.warm_up() < MAX_WINDOW;
            wants.then(|| filter.exact_weights().to_f64())
        };
        let weights: Vec<_> = filters.par_iter().map(composite).collect();
        for (filter, weights) in filters.iter().zip(weights) {
            device_row.push(builder.add(filter, weights, summation));
        }
        builder.finish(device_row, is_centred)
    }

    /// Positions of a tile: halo and own bars.
    pub(super) fn positions(&self) -> usize {
        self.halo + self.tile_bars
    }

    pub(super) fn values(&self) -> usize {
        self.bounds.len()
    }
}

/// A second-stage window: its weights, its filter's row, and the rows it combines with their coefficients.
type Second = (Vec<f64>, u32, Vec<(i32, u32)>);

#[derive(Default)]
struct Builder {
    /// Windows over the closes: weights oldest first, and where the sums go.
    windows: Vec<(Vec<f64>, u32)>,
    inner: HashMap<Key, u32>,
    second: Vec<Second>,
    factors: Vec<(f64, usize)>,
}

/// Identity of a window over the closes.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Close,
    Sma(usize),
    Wma(usize),
    Fir(Vec<u64>),
}

impl Builder {
    fn add(
        &mut self,
        filter: &Filter,
        weights: Option<Vec<f64>>,
        summation: Summation,
    ) -> Option<u32> {
        let window = filter.warm_up() + 1;
        if window > MAX_WINDOW {
            return None;
        }
        let row = self.factors.len() as u32;
        let staged = (summation == Summation::Staged)
            .then(|| shape(filter.expr()))
            .flatten();
        let factor = if let Some(shape) = staged {
            let factor = bound::staged(filter)?;
            let terms: Option<Vec<_>> = shape
                .terms
                .iter()
                .map(|(coefficient, of)| Some((*coefficient, self.inner_row(of)?)))
                .collect();
            match terms {
                Some(terms) if terms.is_empty() => self.windows.push((shape.weights, row)),
                Some(terms) => self.second.push((shape.weights, row, terms)),
                None => return None,
            }
            factor
        } else {
            let weights = weights.unwrap_or_else(|| filter.exact_weights().to_f64());
            let factor = bound::composite(&weights)?;
            self.windows.push((weights, row));
            factor
        };
        self.factors.push((factor, window));
        Some(row)
    }

    /// The row of a window over the closes, made once.
    fn inner_row(&mut self, expr: &Expr) -> Option<u32> {
        let (key, weights) = match expr {
            Expr::Close => (Key::Close, vec![1.0]),
            _ => (key(expr)?, window_weights(expr)?),
        };
        let next = self.inner.len() as u32;
        let row = *self.inner.entry(key).or_insert(next);
        if row == next {
            self.windows.push((weights, INNER | next));
        }
        Some(row)
    }

    fn finish(mut self, device_row: Vec<Option<u32>>, is_centred: bool) -> Plan {
        let longest = self.factors.iter().map(|f| f.1).max().unwrap_or(1);
        let halo = (longest - 1).next_multiple_of(BLOCK);
        let inner_reach = self.second.iter().map(|s| s.0.len()).max().unwrap_or(0);
        let inner_first = halo.saturating_sub(inner_reach.next_multiple_of(8) + 8);
        // neighbours in a group share the longest one's loop, so like goes with like
        self.windows.sort_by_key(|(weights, _)| weights.len());
        let mut weights = Vec::new();
        let groups: Vec<Group> = self
            .windows
            .chunks(4)
            .map(|windows| group(windows, &mut weights, halo, inner_first))
            .collect();
        let rows: Vec<Row> = self
            .second
            .iter()
            .map(|(own, filter, terms)| second_row(own, *filter, terms, &mut weights))
            .collect();
        let mut reaches: Vec<usize> = self.factors.iter().map(|f| reach(f.1)).collect();
        reaches.sort_unstable();
        reaches.dedup();
        let bound = |&(factor, window): &(f64, usize)| Bound {
            factor: bound::round_up(factor),
            reach: reaches.partition_point(|&r| r < reach(window)) as u32,
        };
        let bounds = self.factors.iter().map(bound).collect();
        Plan {
            groups,
            rows,
            weights,
            inner_rows: self.inner.len(),
            halo,
            tile_bars: tile_bars(halo, !self.second.is_empty()),
            bounds,
            reaches,
            device_row,
            is_centred,
        }
    }
}

/// Small tiles keep the centred closes small, and with them the bounds. Only the second stage computes on the halo, so
/// only there must a tile be long against it.
fn tile_bars(halo: usize, has_halo_work: bool) -> usize {
    let bars = if has_halo_work {
        (4 * halo).max(512)
    } else {
        256.max(halo / 4)
    };
    bars.next_multiple_of(256)
}

/// Blocks before its own that a window ending in a block can touch.
fn reach(window: usize) -> usize {
    (window - 1).div_ceil(BLOCK)
}

/// Reads a tree as a window over at most four windows over the closes, or over the closes themselves.
fn shape(expr: &Expr) -> Option<Shape<'_>> {
    let weights = window_weights(expr)?;
    let (Expr::Sma { of, .. } | Expr::Wma { of, .. } | Expr::Fir { of, .. }) = expr else {
        return None;
    };
    let terms = match &**of {
        Expr::Close => Vec::new(),
        Expr::Combination(terms) if terms.len() <= 4 => {
            terms.iter().map(|(c, of)| (*c, of)).collect()
        }
        Expr::Sma { .. } | Expr::Wma { .. } | Expr::Fir { .. } => vec![(1, of)],
        Expr::Combination(_) => return None,
    };
    let is_flat = terms
        .iter()
        .all(|(_, of)| matches!(***of, Expr::Close) || key(of).is_some());
    is_flat.then_some(Shape { weights, terms })
}

/// The window's own weights, oldest first.
fn window_weights(expr: &Expr) -> Option<Vec<f64>> {
    match expr {
        Expr::Sma { period, .. } => Some(vec![1.0 / *period as f64; *period]),
        Expr::Wma { period, .. } => {
            let divisor = *period as f64 * (*period as f64 + 1.0) / 2.0;
            Some((1..=*period).map(|k| k as f64 / divisor).collect())
        }
        Expr::Fir { weights, .. } => Some(weights.to_vec()),
        Expr::Close | Expr::Combination(_) => None,
    }
}

fn key(expr: &Expr) -> Option<Key> {
    match expr {
        Expr::Sma { period, of } if **of == Expr::Close => Some(Key::Sma(*period)),
        Expr::Wma { period, of } if **of == Expr::Close => Some(Key::Wma(*period)),
        Expr::Fir { weights, of } if **of == Expr::Close => {
            Some(Key::Fir(weights.iter().map(|w| w.to_bits()).collect()))
        }
        _ => None,
    }
}

fn group(
    windows: &[(Vec<f64>, u32)],
    weights: &mut Vec<[f32; 4]>,
    halo: usize,
    inner_first: usize,
) -> Group {
    let longest = windows.iter().map(|w| w.0.len()).max().unwrap_or(0);
    let first_weight = weights.len() as u32;
    let steps = longest.div_ceil(4);
    for step in 0..steps {
        for window in 0..4 {
            let taps = windows
                .get(window)
                .map_or([0.0; 4], |(own, _)| taps(own, step));
            weights.push(taps);
        }
    }
    let is_inner = windows.iter().any(|(_, output)| output & INNER != 0);
    let mut outputs = [NOWHERE; 4];
    for (output, (_, to)) in outputs.iter_mut().zip(windows) {
        *output = *to;
    }
    Group {
        first_weight,
        steps: steps as u32,
        first: (if is_inner { inner_first } else { halo }) as u32,
        unused: 0,
        outputs,
    }
}

/// Four taps, newest first; 0 behind the window's end.
fn taps(weights: &[f64], step: usize) -> [f32; 4] {
    std::array::from_fn(|tap| {
        let age = 4 * step + tap;
        weights
            .len()
            .checked_sub(age + 1)
            .map_or(0.0, |k| weights[k] as f32)
    })
}

fn second_row(own: &[f64], output: u32, terms: &[(i32, u32)], weights: &mut Vec<[f32; 4]>) -> Row {
    let first_weight = weights.len() as u32;
    let steps = own.len().div_ceil(4);
    weights.extend((0..steps).map(|step| taps(own, step)));
    let (mut rows, mut coefficients) = ([0; 4], [0.0; 4]);
    for (index, (coefficient, row)) in terms.iter().enumerate() {
        (rows[index], coefficients[index]) = (*row, *coefficient as f32);
    }
    Row {
        first_weight,
        steps: steps as u32,
        output,
        terms: terms.len() as u32,
        rows,
        coefficients,
    }
}
