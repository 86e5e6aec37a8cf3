//! One average over 150,000 bars by crosscheck and by other crates: best, median and worst time, and the largest error
//! against a direct sum on prices near 100, taken about the window's first price. Then sweeps of 80 combinations.
//!
//! Run from the folder of this package: `cargo run --release`, pinned to one core if the system can
//! (`taskset -c 1`). Each crate's answer is checked before its time is printed.

mod sweep;

use std::hint::black_box;
use std::time::Instant;

use yata::prelude::Method;

const BARS: usize = 150_000;
const CALLS: usize = 300;

/// Writes the averages so that the last one lies at the end of the slice.
type Average = Box<dyn FnMut(&[f64], &mut [f64])>;

/// The weighted average of each full window, as deviations from the window's first price: below 1e-15 off.
fn weighted(closes: &[f64], period: usize) -> Vec<f64> {
    let divisor = (period * (period + 1) / 2) as f64;
    let mean = |window: &[f64]| {
        let terms = window.iter().zip(1..).map(|(x, k)| f64::from(k) * (x - window[0]));
        window[0] + terms.sum::<f64>() / divisor
    };
    closes.windows(period).map(mean).collect()
}

fn hull(closes: &[f64], period: usize) -> Vec<f64> {
    let half = period / 2;
    let (short, long) = (weighted(closes, half), weighted(closes, period));
    let inner: Vec<f64> = short[period - half..].iter().zip(&long).map(|(s, l)| 2.0 * s - l).collect();
    weighted(&inner, period.isqrt())
}

fn ours(spec: &str) -> Average {
    let filter = crosscheck::parse_filters(spec).expect("a known kind").remove(0);
    Box::new(move |closes, out| filter.evaluate_into(closes, out).expect("equal lengths"))
}

/// An average that returns a new vector; copied out on the first call only, which is not timed.
fn allocating(average: impl Fn(&[f64]) -> Vec<f64> + 'static) -> Average {
    let mut is_first = true;
    Box::new(move |closes, out| {
        let values = average(closes);
        if is_first {
            out.copy_from_slice(&values);
            is_first = false;
        }
        black_box(values);
    })
}

fn weighted_averages(period: usize) -> Vec<(&'static str, Average)> {
    let core = ta_lib::Core::new();
    vec![
        ("crosscheck", ours(&format!("wma:{period}"))),
        (
            "yata 0.7.0 (stream)",
            Box::new(move |closes, out| {
                let mut average = yata::methods::WMA::new(period as u16, &closes[0]).expect("a legal period");
                for (out, close) in out.iter_mut().zip(closes) {
                    *out = average.next(close);
                }
            }),
        ),
        (
            "ferro_ta_core 1.6.0 (allocates)",
            allocating(move |closes| ferro_ta_core::overlap::wma(closes, period)),
        ),
        (
            "ta-lib 0.8.3",
            Box::new(move |closes, out| {
                let out = &mut out[period - 1..];
                core.wma(0, closes.len() - 1, closes, period as i32, out).expect("legal arguments");
            }),
        ),
        (
            "wickra-core 2.1.1",
            Box::new(move |closes, out| {
                use wickra_core::Indicator;
                wickra_core::Wma::new(period).expect("a legal period").batch_nan_into(closes, out);
            }),
        ),
        #[cfg(feature = "vector-ta")]
        (
            "vector-ta 0.3.1",
            Box::new(move |closes, out| {
                use vector_ta::indicators::moving_averages::wma::{WmaInput, WmaParams, wma_into_slice};
                let input = WmaInput::from_slice(closes, WmaParams { period: Some(period) });
                wma_into_slice(out, &input, vector_ta::utilities::enums::Kernel::Auto).expect("legal");
            }),
        ),
    ]
}

fn hull_averages(period: usize) -> Vec<(&'static str, Average)> {
    let core = ta_lib::Core::new();
    vec![
        ("crosscheck", ours(&format!("hma:{period}"))),
        (
            "yata 0.7.0 (stream)",
            Box::new(move |closes, out| {
                let mut average = yata::methods::HMA::new(period as u16, &closes[0]).expect("a legal period");
                for (out, close) in out.iter_mut().zip(closes) {
                    *out = average.next(close);
                }
            }),
        ),
        (
            "ferro_ta_core 1.6.0 (allocates)",
            allocating(move |closes| ferro_ta_core::extended::hull_ma(closes, period)),
        ),
        (
            "ta-lib 0.8.3",
            Box::new(move |closes, out| {
                let lookback = core.hma_lookback(period as i32).expect("a legal period");
                let out = &mut out[lookback..];
                core.hma(0, closes.len() - 1, closes, period as i32, out).expect("legal arguments");
            }),
        ),
        (
            "wickra-core 2.1.1",
            Box::new(move |closes, out| {
                use wickra_core::Indicator;
                wickra_core::Hma::new(period).expect("a legal period").batch_nan_into(closes, out);
            }),
        ),
    ]
}

/// Best, median and worst time of one call, in milliseconds.
fn time(average: &mut Average, closes: &[f64], out: &mut [f64]) -> [f64; 3] {
    let call = |_| {
        let start = Instant::now();
        average(black_box(closes), black_box(&mut *out));
        start.elapsed().as_secs_f64() * 1e3
    };
    let mut times: Vec<f64> = (0..CALLS).map(call).collect();
    times.sort_by(f64::total_cmp);
    [times[0], times[CALLS / 2], times[CALLS - 1]]
}

fn report(what: &str, averages: Vec<(&'static str, Average)>, closes: &[f64], exact: &[f64]) {
    let mut out = vec![f64::NAN; closes.len()];
    for (name, mut average) in averages {
        average(closes, &mut out);
        let values = &out[out.len() - exact.len()..];
        let errors = values.iter().zip(exact).map(|(a, b)| (a - b).abs());
        let error = errors.fold(0.0, |worst: f64, e| if e > worst || e.is_nan() { e } else { worst });
        // formulas that drift are reported, formulas that compute something else are refused
        assert!(error < 1e-3, "{name} computes another average than {what}: off by {error}");
        let [best, median, worst] = time(&mut average, closes, &mut out);
        println!("| {what} | {name} | {best:.3} | {median:.3} | {worst:.3} | {error:.1e} |");
    }
}

/// The best time of each weighted mean from 5 to 1,000 bars, with both arrays so many bytes behind a cache line.
fn every_period(closes: &[f64]) {
    const PASSES: usize = 8;
    const CALLS_A_PASS: usize = 10;
    println!("| WMA 5 to 1,000, arrays behind a line | typical best ms | slowest best ms | at |");
    println!("| --- | --- | --- | --- |");
    let filter = |period| crosscheck::Filter::wma(period).expect("a legal period");
    let filters: Vec<_> = (5..=1_000).map(filter).collect();
    let (mut source, mut target) = (vec![0.0; closes.len() + 16], vec![0.0; closes.len() + 16]);
    for bytes in [0, 16, 32, 48] {
        let place = |array: &[f64]| array.as_ptr().align_offset(64) + bytes / size_of::<f64>();
        let (from, to) = (place(&source), place(&target));
        source[from..][..closes.len()].copy_from_slice(closes);
        let mut bests = vec![(f64::INFINITY, 0); filters.len()];
        for _ in 0..PASSES {
            for (filter, best) in filters.iter().zip(&mut bests) {
                for _ in 0..CALLS_A_PASS {
                    let (input, out) = (&source[from..][..closes.len()], &mut target[to..][..closes.len()]);
                    let start = Instant::now();
                    filter.evaluate_into(black_box(input), black_box(out)).expect("equal lengths");
                    best.0 = best.0.min(start.elapsed().as_secs_f64() * 1e3);
                }
                best.1 = filter.warm_up() + 1;
            }
        }
        bests.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (slowest, period) = bests[bests.len() - 1];
        println!("| {bytes} bytes | {:.3} | {slowest:.3} | {period} |", bests[bests.len() / 2].0);
    }
}

fn main() {
    let walk = crosscheck::random_walk(BARS, 42).expect("a legal length");
    let closes: Vec<f64> = walk.closes().iter().map(|close| close / 300.0).collect();
    println!("| average | crate | best ms | median ms | worst ms | largest error |");
    println!("| --- | --- | --- | --- | --- | --- |");
    let copy: Average = Box::new(|closes, out| out.copy_from_slice(closes));
    report("-", vec![("a copy, the floor", copy)], &closes, &closes);
    for period in [5, 14, 32, 100, 200, 333, 1000] {
        let exact = weighted(&closes, period);
        report(&format!("WMA {period}"), weighted_averages(period), &closes, &exact);
    }
    for period in [20, 100] {
        report(&format!("HMA {period}"), hull_averages(period), &closes, &hull(&closes, period));
    }
    println!();
    every_period(&closes);
    sweep::report(&walk);
}
