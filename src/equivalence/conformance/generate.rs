//! The five kinds of series that the suite asks about, made from a fixed seed: the same on every machine.

use crate::series::{Series, random_walk};

/// A named series: the name is what a failing check shows.
pub type Named = (String, Series);

const FITS: &str = "generated prices are finite and above 0";

/// Makes walks of a few ticks, on which averages tie often.
pub fn ticks() -> Vec<Named> {
    [(1_000, 2, 1_500), (24, 1, 700), (2_000_000, 3, 700)]
        .into_iter()
        .map(|(start, step, bars)| {
            let walk = tick_walk(start, step, bars);
            (format!("ticks around {start}"), in_ticks(&walk))
        })
        .collect()
}

/// Makes walks that stand still most of the time, for longer than most windows.
pub fn flat_stretches() -> Vec<Named> {
    let mut draw = draws(11);
    let (mut tick, mut walk) = (777_i64, Vec::new());
    while walk.len() < 1_500 {
        let bars = [1, 2, 5, 40, 150][draw(5) as usize];
        walk.extend(std::iter::repeat_n(tick, bars));
        tick = (tick + draw(5) as i64 - 2).max(1);
    }
    vec![
        ("flat stretches in ticks".to_owned(), in_ticks(&walk)),
        (
            "flat stretches in binary".to_owned(),
            in_ticks(&walk).into_binary(),
        ),
    ]
}

/// Makes walks whose level jumps by factors, up and down.
pub fn gaps() -> Vec<Named> {
    let factors = [1, 1_000, 3, 100_000, 1];
    let walk: Vec<i64> = tick_walk(5_000, 20, 1_000)
        .iter()
        .enumerate()
        .map(|(bar, tick)| tick * factors[bar / 201 % 5])
        .collect();
    vec![
        ("gaps in ticks".to_owned(), in_ticks(&walk)),
        ("gaps in binary".to_owned(), in_ticks(&walk).into_binary()),
    ]
}

/// Makes random walks with no two closes alike.
pub fn continuous() -> Vec<Named> {
    [1, 2]
        .into_iter()
        .map(|seed| {
            (
                format!("random walk {seed}"),
                random_walk(1_300, seed).expect(FITS),
            )
        })
        .collect()
}

/// Makes what breaks a formula: spikes, ramps, plateaus, alternation, tiny, huge and mixed scales, one-ulp noise.
pub fn hostile() -> Vec<Named> {
    let mut draw = draws(23);
    let mut noise = move |size: u64| draw(size) as f64;
    let mut made = Vec::new();
    let mut add = |name: &str, price: &mut dyn FnMut(usize) -> f64| {
        let closes: Vec<f64> = (0..460).map(price).collect();
        made.push((name.to_owned(), Series::from_closes(&closes).expect(FITS)));
    };
    add("spikes", &mut |bar| {
        100.0 + noise(9) + if bar % 97 == 50 { 1e14 } else { 0.0 }
    });
    add("tiny prices", &mut |_| (20.0 + noise(9)) * 1e-8);
    add("huge prices", &mut |_| 1e12 + noise(9));
    add("ramp", &mut |bar| 1.0 + bar as f64);
    add("falling ramp of tenths", &mut |bar| {
        100.0 - 0.1 * bar as f64
    });
    add("plateaus", &mut |bar| 0.1 + 0.2 * (bar / 70 % 3) as f64);
    add("alternating", &mut |bar| {
        if bar % 2 == 0 { 1.1 } else { 1.3 }
    });
    add("mixed scales", &mut |bar| {
        [1e-8, 1.0, 1e12, 3.0][bar / 60 % 4] * (1.0 + noise(100) / 1e3)
    });
    add("one-ulp noise", &mut |_| {
        f64::from_bits(0.3_f64.to_bits() + noise(3) as u64)
    });
    add("one-ulp noise on a level", &mut |_| {
        f64::from_bits(30_000.1_f64.to_bits() + noise(2) as u64)
    });
    add("near the largest number", &mut |_| {
        (1.0 + noise(50) / 1e3) * 1e307
    });
    add("subnormal", &mut |_| (3.0 + noise(50)) * 1e-320);
    made
}

/// Makes walks of a few ticks, of lengths at which words of 64 bars, vectors and tiles end, and one bar more or less.
pub fn lengths() -> Vec<Named> {
    [
        63, 64, 65, 127, 128, 129, 191, 255, 256, 257, 511, 513, 1_023, 1_025, 2_047, 2_049, 4_097,
    ]
    .into_iter()
    .map(|bars| (format!("{bars} bars"), in_ticks(&tick_walk(900, 3, bars))))
    .collect()
}

/// Makes a walk in whole ticks, at least 1.
pub fn tick_walk(start: i64, step: u64, bars: usize) -> Vec<i64> {
    let mut draw = draws(start as u64 ^ step << 40);
    let mut tick = start;
    let next = |_| {
        let before = tick;
        tick = (tick + draw(2 * step + 1) as i64 - step as i64).max(1);
        before
    };
    (0..bars).map(next).collect()
}

fn in_ticks(ticks: &[i64]) -> Series {
    Series::from_ticks(ticks, 0.01).expect(FITS)
}

/// Whole numbers below a limit: Knuth's linear congruential generator, its high bits.
fn draws(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed;
    move |limit| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % limit
    }
}
