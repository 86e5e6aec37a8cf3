//! Series that are hard on single precision: flat, tied, jumping, tiny, huge, and far from their own scale.

use crosscheck::{Error, Series, random_walk};

/// A deterministic draw from 0 to `below`.
fn draws(seed: u64) -> impl FnMut(i64) -> i64 {
    let mut state = seed;
    move |below| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) as i64).rem_euclid(below)
    }
}

fn ticks(bars: usize, tick: f64, mut next: impl FnMut(usize) -> i64) -> Result<Series, Error> {
    let ticks: Vec<i64> = (0..bars).map(&mut next).collect();
    Series::from_ticks(&ticks, tick)
}

fn closes(bars: usize, next: impl FnMut(usize) -> f64) -> Result<Series, Error> {
    Series::from_closes(&(0..bars).map(next).collect::<Vec<_>>())
}

/// Named series, in both readings where they have ticks.
pub(crate) fn hostile(bars: usize) -> Result<Vec<(&'static str, Series)>, Error> {
    let walk = random_walk(bars, 11)?;
    let mut draw = draws(1);
    let mut level = 777;
    let flat = ticks(bars, 1e-8, |_| {
        if draw(4) == 0 {
            level = (level + draw(5) - 2).max(1);
        }
        level
    })?;
    let mut draw = draws(2);
    let cents = ticks(bars, 0.01, |_| 13_107_200 + draw(4))?;
    let mut draw = draws(3);
    let spikes = ticks(bars, 0.01, |_| {
        if draw(200) == 0 {
            900_000_000_000
        } else {
            100 + draw(3)
        }
    })?;
    let mut series = vec![
        ("walk", walk.clone()),
        ("flat stretches", flat.clone()),
        ("flat stretches, binary", flat.into_binary()),
        ("neighbouring cents", cents.clone()),
        ("neighbouring cents, binary", cents.into_binary()),
        ("spikes", spikes.clone()),
        ("spikes, binary", spikes.into_binary()),
        ("constant", closes(bars, |_| 0.1)?),
        ("ramp", closes(bars, |bar| 1.0 + bar as f64)?),
        (
            "plateaus",
            closes(bars, |bar| 100.0 + (bar / 97 % 5) as f64 * 0.1)?,
        ),
        (
            "alternating",
            closes(bars, |bar| if bar % 2 == 0 { 1.0 } else { 1.0 + 1e-9 })?,
        ),
        (
            "gaps in level",
            closes(bars, |bar| {
                walk.closes()[bar] * 10_f64.powi((bar / 500 % 7) as i32 * 3 - 9)
            })?,
        ),
    ];
    for (name, size) in [
        ("1e-8", 1e-8),
        ("1e12", 1e12),
        ("subnormal in f32", 1e-43),
        ("1e-300", 1e-300),
        ("1e300", 1e300),
    ] {
        series.push((name, closes(bars, |bar| walk.closes()[bar] / 3e4 * size)?));
    }
    Ok(series)
}
