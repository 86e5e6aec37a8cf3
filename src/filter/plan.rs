//! A filter's tree laid out as steps over eight lanes, each step computed once however often the tree repeats it.

use super::Expr;
use super::group::{Group, Node, Vectors, load_group, store_group};
use super::kernel::Kernel;
use super::lanes::{LANES, Lanes, Row};
use super::segments::OFFSET;
use super::window::{Kind, Window};

/// Longest window, in bars, that is evaluated in eight lanes; the lanes' memory grows with it.
pub(super) const LONGEST: usize = 1 << 12;

/// What one step does with the groups of earlier steps.
#[derive(Debug)]
enum Step {
    Close,
    Mean { of: usize, window: Box<Window> },
    Sum { of: usize, kernel: Kernel },
    Combination(Vec<(f64, usize)>),
}

/// The steps of one filter, the closes first and the filter last, with the memory that they need.
#[derive(Debug)]
pub(super) struct Plan {
    exprs: Vec<Expr>,
    steps: Vec<Step>,
    /// The first group in which each step's input has a value.
    starts: Vec<usize>,
    /// The rows of the current group, by step.
    groups: Vec<Group>,
    /// Groups since the start.
    number: usize,
}

impl Plan {
    pub(super) fn new(expr: &Expr) -> Self {
        let mut plan = Self {
            exprs: Vec::new(),
            steps: Vec::new(),
            starts: Vec::new(),
            groups: Vec::new(),
            number: 0,
        };
        plan.add(&Expr::Close);
        plan.add(expr);
        plan.groups = vec![[Row::ZERO; LANES]; plan.steps.len()];
        plan
    }

    /// Adds the steps of a tree, unless an equal one is there, and returns the last one's index.
    fn add(&mut self, expr: &Expr) -> usize {
        if let Some(index) = self.exprs.iter().position(|known| known == expr) {
            return index;
        }
        let (step, input_warm_up) = match expr {
            Expr::Close => (Step::Close, 0),
            Expr::Sma { period, of } => (self.mean(Kind::Sma, *period, of), of.warm_up()),
            Expr::Wma { period, of } => (self.mean(Kind::Wma, *period, of), of.warm_up()),
            Expr::Fir { weights, of } => {
                let kernel = Kernel::new(weights.to_vec(), 1.0);
                let of_index = self.add(of);
                (
                    Step::Sum {
                        of: of_index,
                        kernel,
                    },
                    of.warm_up(),
                )
            }
            Expr::Combination(terms) => {
                let term = |(coefficient, of): &(i32, std::sync::Arc<Expr>)| {
                    (f64::from(*coefficient), self.add(of))
                };
                (Step::Combination(terms.iter().map(term).collect()), 0)
            }
        };
        self.exprs.push(expr.clone());
        self.steps.push(step);
        self.starts.push((OFFSET + input_warm_up) / LANES);
        self.steps.len() - 1
    }

    fn mean(&mut self, kind: Kind, period: usize, of: &Expr) -> Step {
        let of = self.add(of);
        if period > LANES {
            let window = Box::new(Window::new(kind, period));
            return Step::Mean { of, window };
        }
        let terms = period as f64;
        let ramp = (1..=period).map(|k| k as f64);
        let kernel = match kind {
            Kind::Sma => Kernel::new(vec![1.0; period], 1.0 / terms),
            Kind::Wma => Kernel::new(ramp.collect(), 1.0 / (terms * (terms + 1.0) / 2.0)),
        };
        Step::Sum { of, kernel }
    }

    /// The one step over the closes that the filter is, if it is no more than that.
    pub(super) fn lone(&mut self) -> Lone<'_> {
        match self.steps.as_mut_slice() {
            [Step::Close, Step::Mean { window, .. }] => Lone::Mean(window),
            [Step::Close, Step::Sum { kernel, .. }] => Lone::Sum(kernel),
            _ => Lone::No,
        }
    }
}

/// A filter of one step.
pub(super) enum Lone<'a> {
    Mean(&'a mut Window),
    Sum(&'a mut Kernel),
    No,
}

impl Node for Plan {
    const IS_SMALL: bool = false;

    #[inline(always)]
    fn take<L: Lanes>(&mut self, simd: L, input: Vectors<L>) -> Vectors<L> {
        store_group(simd, input, &mut self.groups[0]);
        for (index, step) in self.steps.iter_mut().enumerate() {
            if self.number < self.starts[index] {
                continue;
            }
            let (earlier, later) = self.groups.split_at_mut(index);
            // each arm stores its own values: joined first, they would pass through memory once more
            match step {
                Step::Close => {}
                Step::Mean { of, window } => {
                    let values = window.take(simd, load_group(simd, &earlier[*of]));
                    store_group(simd, values, &mut later[0]);
                }
                Step::Sum { of, kernel } => {
                    let values = kernel.take(simd, load_group(simd, &earlier[*of]));
                    store_group(simd, values, &mut later[0]);
                }
                Step::Combination(terms) => combine(simd, terms, earlier, &mut later[0]),
            }
        }
        self.number += 1;
        load_group(simd, &self.groups[self.steps.len() - 1])
    }
}

#[inline(always)]
fn combine<L: Lanes>(simd: L, terms: &[(f64, usize)], earlier: &[Group], out: &mut Group) {
    for (position, &(coefficient, of)) in terms.iter().enumerate() {
        let coefficient = simd.splat(coefficient);
        for (row, out) in earlier[of].iter().zip(out.iter_mut()) {
            let term = simd.mul(coefficient, simd.load(&row.0));
            // from +0, as a sum of -0 would not be
            let sum = if position == 0 {
                simd.splat(0.0)
            } else {
                simd.load(&out.0)
            };
            simd.store(simd.add(sum, term), &mut out.0);
        }
    }
}
