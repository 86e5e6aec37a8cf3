//! How sizes and errors grow over the tree of a filter, for each formula (`docs/numerics.md`, section 6).
//!
//! Notation: `u` unit round-off, `p` period, `n` values of the input, `X` a bound on their computed size, `W` the sum of
//! the weights (`p(p+1)/2` linear, `p` uniform). Every rounding is off by at most `u` times its result. The worst case is
//! proven; the typical one takes each rounding as an independent draw of standard deviation `u/sqrt(3)` of its result.

use super::window::Window;
use super::{Prediction, Scale};
use crate::backend::{Formula, Precision};
use crate::filter::Expr;

/// Lifts a bound above the roundings of its own computation and the second-order terms left out of the text.
const SLACK: f64 = 1.0 + 1e-6;

/// What is known of the values of a node.
#[derive(Debug, Clone, Copy)]
struct Growth {
    /// Number of values.
    values: usize,
    /// Bounds the exact size.
    size: f64,
    /// Bounds the exact distance of any two values.
    range: f64,
    /// Bounds the error.
    worst: f64,
    /// Estimates the largest error.
    typical: f64,
    /// Bounds every intermediate so far.
    largest: f64,
}

/// The formula and the arithmetic.
#[derive(Clone, Copy)]
struct Model {
    formula: Formula,
    precision: Precision,
    /// Unit round-off.
    u: f64,
}

pub(super) fn predict(
    expr: &Expr,
    formula: Formula,
    scale: Scale,
    precision: Precision,
) -> Prediction {
    let model = Model {
        formula,
        precision,
        u: precision.unit_roundoff(),
    };
    let found = model.node(expr, scale);
    let (mut worst, mut typical) = (found.worst, found.typical);
    if formula == Formula::CentredDirect {
        // the centre times the gain is added in f64: a product and a sum, after the roundings of the gain itself
        let (gain, roundings) = gain(expr);
        let size = found.size + found.worst + gain * scale.largest;
        let adding = (roundings + 3.0) * f64::EPSILON / 2.0 * size;
        worst += adding;
        typical += adding;
    }
    let sum = match formula {
        Formula::PrefixSums | Formula::CentredPrefixSums if has_linear_window(expr) => "S2",
        Formula::PrefixSums | Formula::CentredPrefixSums => "S1",
        Formula::SlidingUpdate => "the running sum",
        Formula::DirectWindows => "a window's sum",
        Formula::CentredDirect => "a window's sum of moves",
    };
    let found = (found.largest * SLACK, worst * SLACK, typical);
    Prediction::new(precision, sum, scale, found)
}

/// The sum of the sizes of the weights, from above, and the roundings of summing them (none without a kernel).
fn gain(expr: &Expr) -> (f64, f64) {
    match expr {
        Expr::Close => (1.0, 0.0),
        Expr::Sma { of, .. } | Expr::Wma { of, .. } => gain(of),
        Expr::Fir { weights, of } => {
            let (inner, roundings) = gain(of);
            let size: f64 = weights.iter().map(|w| w.abs()).sum();
            (size * inner, roundings + weights.len() as f64 + 1.0)
        }
        Expr::Combination(terms) => {
            let (mut size, mut roundings) = (0.0, 0.0_f64);
            for (coefficient, of) in terms {
                let (inner, more) = gain(of);
                size += f64::from(*coefficient).abs() * inner;
                roundings = roundings.max(more);
            }
            (
                size,
                if roundings > 0.0 {
                    roundings + terms.len() as f64 + 1.0
                } else {
                    0.0
                },
            )
        }
    }
}

fn has_linear_window(expr: &Expr) -> bool {
    match expr {
        Expr::Close => false,
        Expr::Wma { .. } => true,
        Expr::Sma { of, .. } | Expr::Fir { of, .. } => has_linear_window(of),
        Expr::Combination(terms) => terms.iter().any(|(_, of)| has_linear_window(of)),
    }
}

impl Model {
    fn node(self, expr: &Expr, scale: Scale) -> Growth {
        match expr {
            Expr::Close => self.close(scale),
            Expr::Sma { period, of } => {
                self.window(&Window::uniform(*period), self.node(of, scale))
            }
            Expr::Wma { period, of } => self.window(&Window::linear(*period), self.node(of, scale)),
            Expr::Fir { weights, of } => {
                self.direct(&Window::kernel(weights), self.node(of, scale))
            }
            Expr::Combination(terms) => {
                let term =
                    |coefficient: i32, of| (f64::from(coefficient).abs(), self.node(of, scale));
                let terms: Vec<_> = terms.iter().map(|(c, of)| term(*c, of)).collect();
                self.combination(&terms)
            }
        }
    }

    /// Closes are `f64`, so only `f32` rounds them, once. Centred tiles hold their moves instead, each rounded from
    /// an `f64` difference that is itself rounded.
    fn close(self, scale: Scale) -> Growth {
        let range = scale.largest - scale.smallest;
        let is_centred = self.formula == Formula::CentredDirect;
        let size = if is_centred { range } else { scale.largest };
        let mut rounding = if self.precision == Precision::Single {
            self.u * size
        } else {
            0.0
        };
        if is_centred {
            rounding += f64::EPSILON / 2.0 * size;
        }
        let underflow = self.precision.smallest();
        Growth {
            values: scale.bars,
            size,
            range,
            worst: rounding + underflow,
            typical: rounding,
            largest: size * (1.0 + self.u),
        }
    }

    /// A coefficient of 1 or 2 multiplies exactly and 3 rounds; the first sum starts from 0 and is exact: a term meets
    /// as many roundings as there are terms, at the most.
    fn combination(self, terms: &[(f64, Growth)]) -> Growth {
        let sum = |part: fn(&Growth) -> f64| terms.iter().map(|(c, g)| c * part(g)).sum::<f64>();
        let (size, worst) = (sum(|g| g.size), sum(|g| g.worst));
        let rounding = self.gamma(terms.len() as f64) * (size + worst);
        let largest = terms
            .iter()
            .map(|(_, g)| g.largest)
            .fold(size + worst + rounding, f64::max);
        Growth {
            values: terms.iter().map(|(_, g)| g.values).min().unwrap_or(0),
            size,
            range: sum(|g| g.range),
            worst: worst + rounding,
            typical: sum(|g| g.typical) + self.u * size,
            largest,
        }
    }

    fn window(self, window: &Window, input: Growth) -> Growth {
        match self.formula {
            Formula::DirectWindows | Formula::CentredDirect => self.direct(window, input),
            Formula::PrefixSums => self.prefix(window, input),
            Formula::CentredPrefixSums => self.centred_prefix(window, input),
            Formula::SlidingUpdate => self.sliding(window, input),
        }
    }

    /// Term `k` meets one rounding of its weight (in `f32` a quotient in `f64` before it), a product and its additions,
    /// `m` in all, each factor `1 + theta` with `|theta| <= m*u/(1 - m*u)`. Over the weights that sums to
    /// `(additions + 2)*u*X`.
    fn direct(self, window: &Window, input: Growth) -> Growth {
        let computed = input.size + input.worst;
        let most = (window.period + 3.0) * self.u;
        let roundings = (window.additions + 2.0 * window.gain) * self.u;
        let quotient =
            f64::EPSILON / 2.0 * window.gain * f64::from(self.precision == Precision::Single);
        let rounding = (roundings + quotient) / (1.0 - most) * computed;
        let rounding = if most < 1.0 { rounding } else { f64::INFINITY };
        // a product or a weight below the normal range is off by the smallest number instead
        let underflow = (window.period + 3.0) * self.precision.smallest() * (1.0 + computed);
        let typical = self.draw(input.values) * window.walk * input.size;
        self.after(
            window,
            input,
            rounding + underflow,
            typical,
            window.gain * computed + rounding,
        )
    }

    /// Additions of a scan: `S1 <= n*X*e^(n*u)` and `S2 <= n^2/2*X*e^((n+2)u)`. The two ends of a window share every
    /// rounding before it, so a difference holds the `p` of the window only: `p*u*S1`, and `p*u*S2` with the products'
    /// `2*u*p*n*X`. The shift `(t-p) * (S1 - S1)` multiplies the first by `n` and rounds twice at `n*p*X`; three more
    /// subtractions and the division round what is left. In sum about `3*u*n^2/p` of `X`, linear weights.
    fn prefix(self, window: &Window, input: Growth) -> Growth {
        let (found, typical, largest) =
            self.prefix_error(window, input.values, input.size, input.size + input.worst);
        self.after(window, input, found, typical, largest)
    }

    fn prefix_error(
        self,
        window: &Window,
        values: usize,
        size: f64,
        computed: f64,
    ) -> (f64, f64, f64) {
        let (u, p, n, x) = (self.u, window.period, values as f64, computed);
        let plain = n * x * (n * u).exp();
        let weighted = n * n / 2.0 * x * ((n + 2.0) * u).exp();
        let sum = p * u * plain;
        let sum = sum + u * (p * x + sum);
        let draw = self.draw(values) * p.sqrt();
        if !window.is_linear {
            return (
                sum / p + 3.0 * u * (x + sum / p),
                draw * n * size / p,
                plain,
            );
        }
        let products = p * 2.0 * u * n * x * (1.0 + u);
        let scan = p * u * weighted + products;
        let difference = scan + u * (p * n * x + scan);
        let shift = n * sum + 2.0 * u * (1.0 + u) * n * (p * x + sum);
        let total = difference + shift;
        let total = total + u * (window.divisor() * x + total);
        let error = total / window.divisor();
        // the shift's own rounding is a draw at n*p*X; the scans' are p draws at n^2/2*X and n*(n*X)
        let typical = draw * 1.118 * n * n * size / window.divisor();
        (error + 3.0 * u * (x + error), typical, weighted.max(plain))
    }

    /// Prefix sums of moves from the first value, which round once, as does adding it back.
    fn centred_prefix(self, window: &Window, input: Growth) -> Growth {
        let (u, computed) = (self.u, input.size + input.worst);
        let range = (input.range + 2.0 * input.worst) * (1.0 + u);
        let (found, typical, largest) = self.prefix_error(window, input.values, input.range, range);
        let worst = found + u * range + u * (computed + range + found) * (1.0 + u);
        self.after(
            window,
            input,
            worst,
            typical + u * input.size,
            largest.max(computed),
        )
    }

    /// The plain sum makes two roundings a step, of `2X` and of the sum: its error after `n` steps is at most
    /// `(e^(n*u) - 1)(p+2)X`. The weighted sum gathers that error each step, `n/2` of it on average since it grows no
    /// faster than it did, and rounds `p*X`, `2p*X` and itself: a bound of order `u*n^2/p` of `X`, although by chance
    /// the errors grow as a walk does, by `n^(3/2)`.
    fn sliding(self, window: &Window, input: Growth) -> Growth {
        let (u, p, n) = (self.u, window.period, input.values as f64);
        let x = input.size + input.worst;
        let growth = (n * u).exp_m1() * (1.0 + 4.0 * u);
        let plain = growth * (p + 2.0) * x;
        let draw = self.draw(input.values);
        if !window.is_linear {
            let typical = draw * n.sqrt() * input.size;
            let error = plain / p;
            let largest = p * x + plain;
            return self.after(
                window,
                input,
                error + 3.0 * u * (x + error),
                typical,
                largest,
            );
        }
        let divisor = window.divisor();
        let own = growth * (divisor * x + 3.0 * p * x + plain);
        let gathered = (n + 1.0) / 2.0 * plain * (n * u).exp();
        let weighted = own + gathered;
        let error = weighted / divisor;
        let walk = p * (n * n * n / 3.0).sqrt() / divisor + n.sqrt();
        let typical = draw * walk * input.size;
        let largest = divisor * x + weighted + p * x;
        self.after(
            window,
            input,
            error + 3.0 * u * (x + error),
            typical,
            largest,
        )
    }

    /// The node after a window: the input's error passes with the gain, the window's own is added.
    fn after(
        self,
        window: &Window,
        input: Growth,
        worst: f64,
        typical: f64,
        largest: f64,
    ) -> Growth {
        Growth {
            values: input.values.saturating_sub(window.period as usize - 1),
            size: window.gain * input.size,
            range: window.gain * input.range,
            worst: window.gain * input.worst + worst + 2.0 * self.precision.smallest(),
            typical: window.gain * input.typical + typical,
            largest: input.largest.max(largest),
        }
    }

    fn gamma(self, roundings: f64) -> f64 {
        let ku = roundings * self.u;
        ku / (1.0 - ku)
    }

    /// The largest of `values` normal draws whose standard deviation is that of a rounding.
    fn draw(self, values: usize) -> f64 {
        self.u / f64::sqrt(3.0) * (2.0 * (2.0 * values.max(2) as f64).ln()).sqrt()
    }
}
