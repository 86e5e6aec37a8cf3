//! A filter's tree laid out as steps over eight lanes, each step computed once however often the tree repeats it.

use super::Expr;
use super::kernel::Kernel;
use super::lanes::{Lanes, Row};
use super::window::{Kind, Window};

/// Longest window, in bars, that is evaluated in eight lanes; the lanes' memory grows with it.
pub(super) const LONGEST: usize = 1 << 12;

/// Means of at most this many bars are summed term by term, which then takes fewer operations.
const DIRECT: usize = 6;

/// Rows of a step that are computed before the next step.
const CHUNK: usize = 128;

/// What one step does with the columns of earlier steps.
#[derive(Debug, Clone)]
enum Step {
    Close,
    Mean { of: usize, window: Box<Window> },
    Sum { of: usize, kernel: Kernel },
    Combination(Vec<(f64, usize)>),
}

/// A step's rows: `history` rows that a later step still looks back to, then those of the current chunk.
#[derive(Debug, Clone)]
struct Column {
    warm_up: usize,
    rows: Vec<Row>,
}

/// The steps of one filter, the closes first and the filter last, with the memory that they need.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    exprs: Vec<Expr>,
    steps: Vec<Step>,
    columns: Vec<Column>,
    history: usize,
    chunk: usize,
}

impl Plan {
    pub(super) fn new(expr: &Expr) -> Self {
        let mut plan = Self {
            exprs: vec![Expr::Close],
            steps: vec![Step::Close],
            columns: Vec::new(),
            history: 0,
            chunk: 0,
        };
        plan.add(expr);
        let history = plan.steps.iter().map(Step::history).max().unwrap_or(0);
        plan.history = history.next_multiple_of(super::lanes::LANES);
        plan.chunk = CHUNK.max(2 * plan.history);
        let rows = vec![Row::ZERO; plan.history + plan.chunk];
        let column = |expr: &Expr| Column {
            warm_up: expr.warm_up(),
            rows: rows.clone(),
        };
        plan.columns = plan.exprs.iter().map(column).collect();
        plan
    }

    /// Adds the steps of a tree, unless an equal one is there, and returns the last one's index.
    fn add(&mut self, expr: &Expr) -> usize {
        if let Some(index) = self.exprs.iter().position(|known| known == expr) {
            return index;
        }
        let step = match expr {
            Expr::Close => Step::Close,
            Expr::Sma { period, of } => self.mean(Kind::Sma, *period, of),
            Expr::Wma { period, of } => self.mean(Kind::Wma, *period, of),
            Expr::Fir { weights, of } => Step::Sum {
                of: self.add(of),
                kernel: Kernel {
                    weights: weights.to_vec(),
                    scale: 1.0,
                },
            },
            Expr::Combination(terms) => {
                let term = |(coefficient, of): &(i32, std::sync::Arc<Expr>)| {
                    (f64::from(*coefficient), self.add(of))
                };
                Step::Combination(terms.iter().map(term).collect())
            }
        };
        self.exprs.push(expr.clone());
        self.steps.push(step);
        self.steps.len() - 1
    }

    fn mean(&mut self, kind: Kind, period: usize, of: &Expr) -> Step {
        let of = self.add(of);
        if period > DIRECT {
            let window = Box::new(Window::new(kind, period));
            return Step::Mean { of, window };
        }
        let terms = period as f64;
        let (weights, divisor) = match kind {
            Kind::Sma => (vec![1.0; period], terms),
            Kind::Wma => (
                (1..=period).map(|k| k as f64).collect(),
                terms * (terms + 1.0) / 2.0,
            ),
        };
        let scale = 1.0 / divisor;
        let kernel = Kernel { weights, scale };
        Step::Sum { of, kernel }
    }

    pub(super) fn chunk(&self) -> usize {
        self.chunk
    }

    /// Starts a new tile: nothing that came before matters.
    pub(super) fn restart(&mut self) {
        for step in &mut self.steps {
            if let Step::Mean { window, .. } = step {
                window.restart();
            }
        }
    }

    /// The rows of the closes that the next [`Plan::run`] takes.
    pub(super) fn closes(&mut self, rows: usize) -> &mut [Row] {
        &mut self.columns[0].rows[self.history..self.history + rows]
    }

    /// Computes every step over the chunk of `rows` rows that starts at row `first` of the lanes, and returns the
    /// filter's rows; those before its warm-up hold no value.
    #[inline(always)]
    pub(super) fn run<L: Lanes>(&mut self, simd: L, first: usize, rows: usize) -> &[Row] {
        let end = self.history + rows;
        for (index, step) in self.steps.iter_mut().enumerate() {
            let (earlier, later) = self.columns.split_at_mut(index);
            let column = &mut later[0];
            let from = self.history + column.warm_up.saturating_sub(first).min(rows);
            match step {
                Step::Close => {}
                Step::Mean { of, window } => {
                    let input = &earlier[*of];
                    let from = self.history + input.warm_up.saturating_sub(first).min(rows);
                    window.take(simd, &input.rows[..end], from, &mut column.rows[..end]);
                }
                Step::Sum { of, kernel } => {
                    let input = &earlier[*of].rows[..end];
                    kernel.take(simd, input, from, &mut column.rows[..end]);
                }
                Step::Combination(terms) => {
                    combine(simd, terms, earlier, from, &mut column.rows[..end]);
                }
            }
        }
        &self.columns.last().map_or(&[][..], |column| &column.rows)[self.history..end]
    }

    /// Keeps the last rows of a full chunk as the history of the next one.
    pub(super) fn keep_history(&mut self) {
        let chunk = self.chunk;
        if let Some((_, inner)) = self.columns.split_last_mut() {
            for column in inner {
                column.rows.copy_within(chunk.., 0);
            }
        }
    }
}

impl Step {
    /// Rows of the input before the current one that the step looks back to.
    fn history(&self) -> usize {
        match self {
            Self::Close | Self::Combination(_) => 0,
            Self::Mean { window, .. } => window.history(),
            Self::Sum { kernel, .. } => kernel.weights.len(),
        }
    }
}

#[inline(always)]
fn combine<L: Lanes>(
    simd: L,
    terms: &[(f64, usize)],
    earlier: &[Column],
    from: usize,
    out: &mut [Row],
) {
    for (position, &(coefficient, of)) in terms.iter().enumerate() {
        let coefficient = simd.splat(coefficient);
        let rows = earlier[of].rows[from..].iter().zip(&mut out[from..]);
        if position == 0 {
            for (row, out) in rows {
                simd.store(simd.mul(coefficient, simd.load(&row.0)), &mut out.0);
            }
        } else {
            for (row, out) in rows {
                let term = simd.mul(coefficient, simd.load(&row.0));
                simd.store(simd.add(simd.load(&out.0), term), &mut out.0);
            }
        }
    }
}
