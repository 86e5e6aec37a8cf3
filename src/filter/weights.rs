//! The exact composite weights of a filter, derived from its tree: integers over a common denominator.
//!
//! They are what the predicate's exact stage sums, so they are first derived in `i128` with every step checked,
//! and in big integers where that overflows (periods of many thousands, custom kernels of wide range).

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{CheckedAdd, CheckedMul, CheckedSub, Signed, ToPrimitive};

use super::Expr;

/// The weights of a filter on the closes, exactly.
///
/// *Shape*: one integer a bar of the window, the oldest bar first, over [`ExactWeights::denominator`].
///
/// # Examples
/// ```
/// use crosscheck::Filter;
/// let weights = Filter::wma(3)?.exact_weights();
/// assert_eq!(weights.to_f64(), [1.0 / 6.0, 2.0 / 6.0, 3.0 / 6.0]);
/// assert_eq!(weights.denominator(), 6.into());
/// # Ok::<(), crosscheck::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ExactWeights(pub(crate) Form);

/// The integers in the narrowest type that holds them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Form {
    Small(IntegerWeights<i128>),
    Big(IntegerWeights<BigInt>),
}

/// Integer weights, oldest first, over a positive denominator.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct IntegerWeights<T> {
    pub(crate) weights: Vec<T>,
    pub(crate) denominator: T,
}

impl ExactWeights {
    pub(crate) fn of(expr: &Expr) -> Self {
        match derive::<i128>(expr) {
            Some(small) => Self(Form::Small(small)),
            None => Self(Form::Big(
                derive(expr).expect("big integers do not overflow"),
            )),
        }
    }

    /// Returns the integer weights, oldest bar first.
    pub fn numerators(&self) -> Vec<BigInt> {
        self.to_big().weights
    }

    /// Returns the common denominator, above 0.
    pub fn denominator(&self) -> BigInt {
        self.to_big().denominator
    }

    /// Returns the sum of the sizes of the weights.
    pub fn magnification(&self) -> f64 {
        self.to_f64().into_iter().map(f64::abs).sum()
    }

    /// Returns the weights as `f64`, each within three roundings of its exact value; NaN where the integers
    /// are too large to convert.
    pub fn to_f64(&self) -> Vec<f64> {
        fn divide<T: ToPrimitive>(integers: &IntegerWeights<T>) -> Vec<f64> {
            let denominator = integers.denominator.to_f64().unwrap_or(f64::NAN);
            let divide = |w: &T| w.to_f64().unwrap_or(f64::NAN) / denominator;
            integers.weights.iter().map(divide).collect()
        }
        match &self.0 {
            Form::Small(integers) => divide(integers),
            Form::Big(integers) => divide(integers),
        }
    }

    pub(crate) fn to_big(&self) -> IntegerWeights<BigInt> {
        match &self.0 {
            Form::Big(integers) => integers.clone(),
            Form::Small(integers) => IntegerWeights {
                weights: integers.weights.iter().map(|&w| w.into()).collect(),
                denominator: integers.denominator.into(),
            },
        }
    }
}

/// What the derivation needs of an integer type.
pub(crate) trait Exact:
    Clone + Integer + Signed + CheckedAdd + CheckedSub + CheckedMul + From<i64>
{
    /// `mantissa * 2^shift`, or `None` where it does not fit.
    fn shifted(mantissa: i64, shift: u32) -> Option<Self>;
}

impl Exact for i128 {
    fn shifted(mantissa: i64, shift: u32) -> Option<Self> {
        let fits = shift < 64;
        fits.then(|| i128::from(mantissa) << shift)
    }
}

impl Exact for BigInt {
    fn shifted(mantissa: i64, shift: u32) -> Option<Self> {
        Some(BigInt::from(mantissa) << shift)
    }
}

fn derive<T: Exact>(expr: &Expr) -> Option<IntegerWeights<T>> {
    match expr {
        Expr::Close => Some(IntegerWeights {
            weights: vec![T::one()],
            denominator: T::one(),
        }),
        Expr::Sma { period, of } => {
            let inner = derive::<T>(of)?;
            let denominator = inner.denominator.checked_mul(&T::from(*period as i64))?;
            Some(IntegerWeights {
                weights: sums(&inner.weights, *period)?,
                denominator,
            })
        }
        Expr::Wma { period, of } => {
            let inner = derive::<T>(of)?;
            let p = *period as i64;
            let denominator = inner.denominator.checked_mul(&T::from(p * (p + 1) / 2))?;
            Some(IntegerWeights {
                weights: weighted_sums(&inner.weights, *period)?,
                denominator,
            })
        }
        Expr::Fir { weights, of } => {
            let inner = derive::<T>(of)?;
            let kernel = dyadic(weights)?;
            Some(IntegerWeights {
                weights: convolve(&inner.weights, &kernel.weights)?,
                denominator: inner.denominator.checked_mul(&kernel.denominator)?,
            })
        }
        Expr::Combination(terms) => combine(terms),
    }
}

/// Convolution with a window of ones, by a running sum.
fn sums<T: Exact>(inner: &[T], period: usize) -> Option<Vec<T>> {
    let mut sum = T::zero();
    let step = |index: usize| {
        if let Some(entering) = inner.get(index) {
            sum = sum.checked_add(entering)?;
        }
        if let Some(leaving) = index.checked_sub(period).and_then(|i| inner.get(i)) {
            sum = sum.checked_sub(leaving)?;
        }
        Some(sum.clone())
    };
    (0..inner.len() + period - 1).map(step).collect()
}

/// Convolution with 1, 2, ..., period: a step adds the running sum and takes the leaving value `period` times.
fn weighted_sums<T: Exact>(inner: &[T], period: usize) -> Option<Vec<T>> {
    let times = T::from(period as i64);
    let mut weighted = T::zero();
    let running = sums(inner, period)?;
    let step = |(index, sum): (usize, &T)| {
        weighted = weighted.checked_add(sum)?;
        if let Some(leaving) = index.checked_sub(period).and_then(|i| inner.get(i)) {
            weighted = weighted.checked_sub(&times.checked_mul(leaving)?)?;
        }
        Some(weighted.clone())
    };
    running.iter().enumerate().map(step).collect()
}

fn convolve<T: Exact>(a: &[T], b: &[T]) -> Option<Vec<T>> {
    let mut out = vec![T::zero(); a.len() + b.len() - 1];
    for (i, x) in a.iter().enumerate() {
        for (j, y) in b.iter().enumerate() {
            out[i + j] = out[i + j].checked_add(&x.checked_mul(y)?)?;
        }
    }
    Some(out)
}

/// Terms of different length are aligned on their newest bar.
fn combine<T: Exact>(terms: &[(i32, std::sync::Arc<Expr>)]) -> Option<IntegerWeights<T>> {
    let inner: Vec<_> = terms
        .iter()
        .map(|(_, of)| derive::<T>(of))
        .collect::<Option<_>>()?;
    let mut denominator = T::one();
    for term in &inner {
        let scale = term.denominator.clone() / denominator.gcd(&term.denominator);
        denominator = denominator.checked_mul(&scale)?;
    }
    let window = inner.iter().map(|term| term.weights.len()).max()?;
    let mut weights = vec![T::zero(); window];
    for ((coefficient, _), term) in terms.iter().zip(&inner) {
        let scale = denominator.clone() / term.denominator.clone();
        let scale = scale.checked_mul(&T::from(i64::from(*coefficient)))?;
        for (sum, w) in weights[window - term.weights.len()..]
            .iter_mut()
            .zip(&term.weights)
        {
            *sum = sum.checked_add(&w.checked_mul(&scale)?)?;
        }
    }
    Some(IntegerWeights {
        weights,
        denominator,
    })
}

/// Splits a finite value into `mantissa * 2^exponent`, exactly, the mantissa odd or 0.
pub(crate) fn split(value: f64) -> (i64, i32) {
    let bits = value.to_bits();
    let biased = ((bits >> 52) & 0x7ff) as i32;
    let fraction = (bits & ((1 << 52) - 1)) as i64;
    let (mantissa, exponent) = if biased == 0 {
        (fraction, -1074)
    } else {
        (fraction | (1 << 52), biased - 1075)
    };
    if mantissa == 0 {
        return (0, 0);
    }
    let zeros = mantissa.trailing_zeros();
    let sign = if value < 0.0 { -1 } else { 1 };
    (sign * (mantissa >> zeros), exponent + zeros as i32)
}

/// Reads finite `f64` weights as integers over a power of two.
fn dyadic<T: Exact>(values: &[f64]) -> Option<IntegerWeights<T>> {
    let parts: Vec<_> = values.iter().map(|&v| split(v)).collect();
    let lowest = parts
        .iter()
        .filter(|p| p.0 != 0)
        .map(|p| p.1)
        .min()
        .unwrap_or(0)
        .min(0);
    let shift = |&(mantissa, exponent): &(i64, i32)| match mantissa {
        0 => Some(T::zero()),
        _ => T::shifted(mantissa, (exponent - lowest) as u32),
    };
    let weights = parts.iter().map(shift).collect::<Option<_>>()?;
    Some(IntegerWeights {
        weights,
        denominator: T::shifted(1, lowest.unsigned_abs())?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Filter;

    #[test]
    fn weights_reproduce_the_filter_on_an_impulse() {
        for filter in [
            Filter::sma(5).unwrap(),
            Filter::wma(7).unwrap(),
            Filter::hma(16).unwrap(),
            Filter::hma3(24).unwrap(),
            Filter::fir("fir", &[0.1, -2.5, 3.0]).unwrap(),
        ] {
            let weights = filter.exact_weights().to_f64();
            let window = weights.len();
            assert_eq!(window, filter.warm_up() + 1);
            for position in 0..window {
                let mut impulse = vec![0.0; window];
                impulse[position] = 1.0;
                let value = filter.evaluate(&impulse).unwrap()[window - 1];
                assert!(
                    (value - weights[position]).abs() < 1e-14,
                    "{filter} {position}"
                );
            }
        }
    }

    #[test]
    fn long_periods_fall_back_to_big_integers_and_keep_unit_gain() {
        let weights = Filter::hma3(100_000).unwrap().exact_weights();
        let big = weights.to_big();
        assert_eq!(big.weights.iter().sum::<BigInt>(), big.denominator);
        assert_eq!(big.weights.len(), 99_999);
    }

    #[test]
    fn both_integer_types_agree() {
        let expr = Filter::hma3(96).unwrap();
        let small = derive::<i128>(expr.expr()).unwrap();
        let big = derive::<BigInt>(expr.expr()).unwrap();
        assert_eq!(ExactWeights(Form::Small(small)).to_big(), big);
    }

    #[test]
    fn splitting_is_exact() {
        for value in [0.1, -3.5, 1e-300, 5e-324, 1e12, 0.0] {
            let (mantissa, exponent) = split(value);
            let scaled = if exponent < -1000 {
                mantissa as f64 * f64::powi(2.0, exponent + 100) * f64::powi(2.0, -100)
            } else {
                mantissa as f64 * f64::powi(2.0, exponent)
            };
            assert_eq!(scaled, value);
        }
    }
}
