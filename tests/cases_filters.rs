//! The cases on evaluating one filter, each test named after its case, and what they stand for on other inputs.
//!
//! Expected values are those of the case list: exact rational arithmetic, rounded once.

#![allow(clippy::unwrap_used, clippy::float_cmp, clippy::pedantic)]

use crosscheck::{Filter, parse_filters, random_walk};
use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive, Zero};

const NAN: f64 = f64::NAN;

fn wma(period: usize, closes: &[f64]) -> Vec<f64> {
    Filter::wma(period).unwrap().evaluate(closes).unwrap()
}

fn near(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (bar, (a, b)) in found.iter().zip(expected).enumerate() {
        let is_near = (a - b).abs() <= tolerance * b.abs().max(1e-300);
        assert!(
            is_near || (a.is_nan() && b.is_nan()),
            "bar {bar}: {a} for {b}"
        );
    }
}

fn nan_bars(values: &[f64]) -> Vec<usize> {
    (0..values.len())
        .filter(|&bar| values[bar].is_nan())
        .collect()
}

/// The tick walk of the cases.
fn tick_walk(seed: u64, start: i64, step: i64, low: i64, bars: usize) -> Vec<i64> {
    let (mut state, mut tick, mut ticks) = (seed, start, Vec::with_capacity(bars));
    for _ in 0..bars {
        ticks.push(tick);
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        tick += ((state >> 33) as i64) % (2 * step + 1) - step;
        if tick < low {
            tick = 2 * low - tick;
        }
    }
    ticks
}

fn prices(ticks: &[i64]) -> Vec<f64> {
    ticks.iter().map(|&tick| tick as f64 / 100.0).collect()
}

/// Filters of every step and of every length that the blocks treat differently.
fn filters() -> Vec<Filter> {
    let text = [
        "sma:1,2,8,9,16,40,200,333",
        "wma:1,2,3,5,6,7,8,9,10,11,13,14,15,16,17,22,23,24,33,41,72,100,200,271,999,1000,4095,4096,5000",
        "hma:4,9,100",
        "hma3:12,50",
    ];
    let mut filters: Vec<_> = text
        .iter()
        .flat_map(|t| parse_filters(t).unwrap())
        .collect();
    filters.push(Filter::fir("fir", &[0.5, -0.25, 0.125, 1.0, 3.0]).unwrap());
    filters.push(Filter::fir("negative", &[-1.0; 5_000]).unwrap());
    filters
}

/// Exact value at one bar, as numerator over denominator in units of `2^-1074`.
fn exact(filter: &Filter, closes: &[f64], bar: usize) -> (BigInt, BigInt) {
    let weights = filter.exact_weights();
    let numerators = weights.numerators();
    let window = &closes[bar + 1 - numerators.len()..=bar];
    let terms = numerators.iter().zip(window).map(|(w, &x)| w * integer(x));
    (terms.sum(), weights.denominator())
}

/// A finite value as a whole number of `2^-1074`.
fn integer(value: f64) -> BigInt {
    let bits = value.abs().to_bits();
    let (biased, fraction) = ((bits >> 52) as u32, bits & ((1 << 52) - 1));
    let size = match biased {
        0 => BigInt::from(fraction),
        _ => BigInt::from(fraction | (1 << 52)) << (biased - 1),
    };
    if value < 0.0 { -size } else { size }
}

/// `|value - exact|` over `scale`, to a few digits.
fn relative_error(value: f64, (numerator, denominator): &(BigInt, BigInt), scale: f64) -> f64 {
    let difference = (integer(value) * denominator - numerator).abs();
    if difference.is_zero() {
        return 0.0;
    }
    let unit = integer(scale) * denominator;
    let scaled: BigInt = (difference << 200_usize) / unit;
    scaled.to_f64().unwrap() / 2.0_f64.powi(200)
}

#[test]
fn nd_01_errors_do_not_grow_with_the_series() {
    let ticks = tick_walk(20_240_101, 10_000, 150, 100, 200_000);
    assert_eq!(ticks[..5], [10_000, 10_016, 10_043, 10_014, 10_119]);
    assert_eq!(ticks[199_999], 49_356);
    let closes = prices(&ticks);
    let (mut worst, mut compared) = (0.0_f64, 0);
    for period in [5, 14, 30, 100, 1_000] {
        let values = wma(period, &closes);
        let divisor = (period * (period + 1) / 2) as f64 * 100.0;
        for bar in period - 1..closes.len() {
            let window = ticks[bar + 1 - period..=bar].iter();
            let sum: i64 = window.zip(1..).map(|(tick, weight)| tick * weight).sum();
            worst = worst.max((values[bar] - sum as f64 / divisor).abs());
            compared += 1;
        }
    }
    assert!(compared > 990_000 && worst <= 4e-12, "{worst:e}");
    assert!((wma(14, &closes)[199_999] - 2_601_299.0 / 5_250.0).abs() < 1e-12);
}

#[test]
fn nd_02_a_window_of_zeros_is_zero() {
    let values = wma(2, &[7.25, 1.9, 0.0, 0.0, 0.0, 0.0]);
    near(&values[..3], &[NAN, 221.0 / 60.0, 19.0 / 30.0], 1e-15);
    assert!(values[3..].iter().all(|value| value.to_bits() == 0));
}

#[test]
fn nd_04_no_residue_stays() {
    let mut closes = vec![0.8, 0.8];
    closes.resize(10, 0.0);
    let values = wma(3, &closes);
    near(&values[..4], &[NAN, NAN, 0.4, 2.0 / 15.0], 1e-15);
    assert!(values[4..].iter().all(|value| value.to_bits() == 0));
}

/// ND-02 and ND-04 on every filter, in the middle of a long series.
#[test]
fn zeros_are_positive_zero_in_every_filter() {
    let walk = random_walk(40_000, 11).unwrap();
    for filter in filters() {
        let mut closes = walk.closes().to_vec();
        closes[20_000..30_000].fill(0.0);
        let values = filter.evaluate(&closes).unwrap();
        let zeros = &values[20_000 + filter.warm_up()..30_000];
        assert!(zeros.len() > 4_000);
        assert!(zeros.iter().all(|value| value.to_bits() == 0), "{filter}");
        closes[20_000..30_000].fill(-0.0);
        let values = filter.evaluate(&closes).unwrap();
        let zeros = &values[20_000 + filter.warm_up()..30_000];
        assert!(
            zeros.iter().all(|value| value.to_bits() == 0),
            "{filter} -0"
        );
    }
}

#[test]
fn nd_05_a_million_flat_bars() {
    let mut closes = vec![100_000.0; 1_000_000];
    for (add, close) in closes[999_995..].iter_mut().enumerate() {
        *close += add as f64;
    }
    let last = wma(5, &closes)[999_999];
    assert!((last - 300_008.0 / 3.0).abs() < 1e-10, "{last}");
}

#[test]
fn nd_07_history_before_the_window_does_not_matter() {
    let closes = prices(&tick_walk(7, 50_000, 40, 10, 300));
    assert!((wma(20, &closes)[299] - 419_501.0 / 840.0).abs() < 1e-12);
    let walk = random_walk(20_000, 8).unwrap();
    for filter in filters() {
        let whole = filter.evaluate(walk.closes()).unwrap();
        let bound = 2.0 * filter.relative_error_bound();
        for from in [1, 150, 2_088, 9_999] {
            let part = filter.evaluate(&walk.closes()[from..]).unwrap();
            let largest = walk.closes().iter().copied().fold(0.0, f64::max);
            for bar in filter.warm_up()..part.len() {
                let difference = (part[bar] - whole[from + bar]).abs();
                assert!(
                    difference <= bound * largest,
                    "{filter} {from} {bar}: {difference:e}"
                );
            }
        }
    }
}

#[test]
fn cx_01_a_spike_leaves_no_trace() {
    let closes = [1.0, 2.0, 1e17, 3.0, 4.0, 5.0, 6.0, 7.0];
    let expected = [
        NAN,
        NAN,
        300_000_000_000_000_005.0 / 6.0,
        200_000_000_000_000_011.0 / 6.0,
        50_000_000_000_000_009.0 / 3.0,
        13.0 / 3.0,
        16.0 / 3.0,
        19.0 / 3.0,
    ];
    near(&wma(3, &closes), &expected, 1e-15);
}

#[test]
fn cx_02_small_prices_around_a_bad_print() {
    let closes = [
        0.000042, 0.000043, 0.000057, 0.000059, 92439.0, 0.000052, 0.000051, 0.000042, 0.000043,
        0.000041,
    ];
    let values = wma(3, &closes);
    let expected = [7.0 / 150_000.0, 11.0 / 250_000.0, 251.0 / 6_000_000.0];
    near(&values[7..], &expected, 1e-15);
    near(&values[4..5], &[11_092_680_007.0 / 240_000.0], 1e-15);
}

#[test]
fn cx_04_what_leaves_leaves_wholly() {
    let values = wma(3, &[4_503_599_627_370_497.0, 0.0, 0.0, 0.0]);
    near(&values[2..3], &[4_503_599_627_370_497.0 / 6.0], 1e-15);
    assert_eq!(values[3].to_bits(), 0);
}

/// CX-01 to CX-04 on every filter: values whose window holds no spike are those of a series without it, to the bit.
#[test]
fn spikes_nan_and_infinity_stay_in_their_windows() {
    let walk = random_walk(20_000, 12).unwrap();
    // every place in a block among them
    let places = [0, 99, 2_087, 2_088, 19_999]
        .into_iter()
        .chain(9_001..9_009);
    for filter in filters() {
        let clean = filter.evaluate(walk.closes()).unwrap();
        for spike in [1e300, f64::INFINITY, f64::NEG_INFINITY, NAN] {
            for at in places.clone() {
                let mut closes = walk.closes().to_vec();
                closes[at] = spike;
                let values = filter.evaluate(&closes).unwrap();
                for bar in 0..closes.len() {
                    let holds = (at..=at + filter.warm_up()).contains(&bar);
                    let same = values[bar].to_bits() == clean[bar].to_bits();
                    if !holds {
                        assert!(same, "{filter} {spike} at {at}: bar {bar}");
                    } else if !spike.is_finite() && bar >= filter.warm_up() {
                        assert!(
                            !values[bar].is_finite(),
                            "{filter} {spike} at {at}: bar {bar}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn cx_07_hma3_undershoots_a_fall() {
    let mut closes = vec![100.0; 9];
    closes.resize(18, 1.0);
    let values = Filter::hma3(12).unwrap().evaluate(&closes).unwrap();
    let expected = [
        2_441.0 / 98.0,
        197.0 / 98.0,
        -151.0 / 14.0,
        -31.0 / 2.0,
        -195.0 / 14.0,
        -107.0 / 14.0,
        -116.0 / 49.0,
        -6.0 / 49.0,
    ];
    assert_eq!(nan_bars(&values), (0..10).collect::<Vec<_>>());
    near(&values[10..], &expected, 2e-13);
}

#[test]
fn cx_08_powers_of_two_scale_every_bit() {
    let walk = random_walk(12_000, 13).unwrap();
    for filter in filters() {
        let values = filter.evaluate(walk.closes()).unwrap();
        for exponent in [-40, -27, 20] {
            let factor = 2.0_f64.powi(exponent);
            let scaled: Vec<f64> = walk.closes().iter().map(|close| close * factor).collect();
            let scaled = filter.evaluate(&scaled).unwrap();
            for bar in filter.warm_up()..walk.bars() {
                assert_eq!(
                    scaled[bar],
                    values[bar] * factor,
                    "{filter} {exponent} {bar}"
                );
            }
        }
    }
}

#[test]
fn na_01_nan_lasts_as_long_as_its_window() {
    let mut closes: Vec<f64> = (1..=14).map(f64::from).collect();
    closes[3] = NAN;
    let values = wma(3, &closes);
    assert_eq!(nan_bars(&values), [0, 1, 3, 4, 5]);
    let expected: Vec<f64> = (19..=40)
        .step_by(3)
        .map(|third| f64::from(third) / 3.0)
        .collect();
    near(&values[6..], &expected, 1e-15);
}

#[test]
fn na_02_leading_nan_shifts_the_warm_up() {
    let values = wma(3, &[NAN, NAN, 3.0, 4.0, 5.0, 6.0]);
    near(
        &values,
        &[NAN, NAN, NAN, NAN, 13.0 / 3.0, 16.0 / 3.0],
        1e-15,
    );
}

#[test]
fn na_05_chained_averages_recover() {
    let mut closes: Vec<f64> = (0..60).map(f64::from).collect();
    closes[30] = NAN;
    let values = Filter::hma(9).unwrap().evaluate(&closes).unwrap();
    assert_eq!(nan_bars(&values), (0..10).chain(30..41).collect::<Vec<_>>());
    near(&[values[10], values[41]], &[10.0, 41.0], 1e-15);
}

#[test]
fn wu_02_no_partial_windows() {
    let closes: Vec<f64> = (1..=6).map(f64::from).collect();
    let expected = [NAN, NAN, 7.0 / 3.0, 10.0 / 3.0, 13.0 / 3.0, 16.0 / 3.0];
    near(&wma(3, &closes), &expected, 1e-15);
}

#[test]
fn wu_04_one_value_a_bar() {
    let closes = random_walk(5_000, 14).unwrap();
    for filter in filters() {
        for bars in [0, 1, 2, 7, 8, 9, 99, 100, 101, 5_000] {
            let values = filter.evaluate(&closes.closes()[..bars]).unwrap();
            assert_eq!(
                nan_bars(&values),
                (0..bars.min(filter.warm_up())).collect::<Vec<_>>()
            );
        }
    }
}

#[test]
fn wr_05_the_newest_bar_weighs_most() {
    let last = wma(2, &[1.0, 2.0, 4.0])[2];
    assert!((last - 10.0 / 3.0).abs() < 1e-15);
    assert!((wma(2, &[1.0, 2.0, 4.0])[1] - 5.0 / 3.0).abs() < 1e-15);
}

/// Every filter against exact integers on series made to hurt: within the bound, and the bound is no idle number.
#[test]
fn errors_stay_below_the_bound_and_the_bound_is_earned() {
    let walk = random_walk(9_000, 15).unwrap();
    let series: Vec<Vec<f64>> = vec![
        walk.closes().to_vec(),
        walk.closes().iter().map(|close| close * 1e-12).collect(),
        (0..9_000)
            .map(|t| if t % 333 == 7 { 1e9 } else { 0.7 })
            .collect(),
        (0..9_000)
            .map(|t| if t % 2 == 0 { 0.1 } else { 0.3 })
            .collect(),
        (0..9_000).map(|t| 0.1 + f64::from(t) * 0.1).collect(),
        (0..9_000)
            .map(|t| f64::from(t % 7 - 3) * 1e5 + 1.0 / f64::from(t + 1))
            .collect(),
    ];
    let mut compared = 0;
    for filter in filters() {
        let (bound, window) = (filter.relative_error_bound(), filter.warm_up() + 1);
        let mut worst = 0.0_f64;
        for closes in &series {
            let values = filter.evaluate(closes).unwrap();
            for bar in (window - 1..closes.len()).step_by(1 + window / 2 + 37) {
                let sizes = closes[bar + 1 - window..=bar]
                    .iter()
                    .map(|close| close.abs());
                let largest = sizes.fold(0.0, f64::max);
                let error = relative_error(values[bar], &exact(&filter, closes, bar), largest);
                assert!(
                    error <= bound,
                    "{filter} bar {bar}: {error:e} above {bound:e}"
                );
                worst = worst.max(error);
                compared += 1;
            }
        }
        // a bound far above what occurs would hide a fault; a bound of 0 fails above
        let least = bound / (8.0 * (window as f64 + 8.0));
        let is_earned = window == 1 || (worst > 0.0 && worst >= least);
        assert!(is_earned, "{filter}: {worst:e} of {bound:e}");
    }
    assert!(compared > 10_000, "{compared}");
}
