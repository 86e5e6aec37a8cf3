//! Measures the GPU engine on this machine, and checks it against M4 while it does: the source of `docs/gpu.md`.
//!
//! `cargo run --release --features gpu --example gpu_report -- [scale] [adapter]`: a scale of 1 is the whole report, for real
//! hardware; without one it is a glance at the two smaller grids on short series, which an adapter in software can do too.

use std::time::{Duration, Instant};

use crosscheck::gpu::{GpuTimings, Summation};
use crosscheck::{
    Backend, Gpu, GpuOptions, Grid, Pool, Rules, Sequential, Series, Sweep, random_walk,
};

/// Name, bars, fast filters, slow filters.
const SIZES: [(&str, usize, &str, &str); 4] = [
    ("80", 150_000, "hma:20..=200:20", "hma3:24..=192:24"),
    ("1,000", 150_000, "hma:5..=200:5", "hma3:8..=200:8"),
    ("10,000", 150_000, "hma:2..=200:2", "hma3:4..=202:2"),
    ("60,000", 200_000, "hma:2..=301", "hma3:4..=402:2"),
];

/// The scale of a first look; below `WHOLE`, the two large grids are left out.
const GLANCE: f64 = 0.02;
const WHOLE: f64 = 0.1;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let scale: f64 = arguments.next().map_or(Ok(GLANCE), |text| text.parse())?;
    let adapter = arguments.next();
    let began = Instant::now();
    let adapters = Gpu::list();
    println!("adapters: {adapters:#?}");
    if adapters.is_empty() {
        println!("nothing to measure here");
        return Ok(());
    }
    let threads = std::thread::available_parallelism()?;
    println!("host threads: {threads}");
    let open = |summation, has_checks| {
        let options = GpuOptions::default()
            .with_summation(summation)
            .with_runtime_checks(has_checks)
            .with_profile();
        Gpu::with_options(match &adapter {
            Some(adapter) => options.with_adapter(adapter),
            None => options,
        })
    };
    let started = Instant::now();
    let (staged, composite) = (Summation::Staged, Summation::Composite);
    let engines = [
        ("staged checked", open(staged, true)?),
        ("staged unchecked", open(staged, false)?),
        ("composite checked", open(composite, true)?),
        ("composite unchecked", open(composite, false)?),
    ];
    println!(
        "using: {:?}; four engines opened in {:.2?}",
        engines[0].1.adapter(),
        started.elapsed()
    );
    println!("arithmetic: {:?}", engines[0].1.arithmetic());
    windows(&engines, scale)?;
    let sizes = if scale < WHOLE {
        &SIZES[..2]
    } else {
        &SIZES[..]
    };
    for &(name, bars, fast, slow) in sizes {
        let series = random_walk((bars as f64 * scale) as usize, 42)?;
        let grid = Grid::parse(fast, slow)?;
        size(name, &engines, &series, &grid)?;
        println!("elapsed {:.1?}\n", began.elapsed());
    }
    Ok(())
}

/// Kernel (a) over the closes: 199 windows of 2 to 200 bars.
fn windows(engines: &[(&str, Gpu)], scale: f64) -> Outcome<()> {
    let series = random_walk((150_000.0 * scale) as usize, 42)?;
    let grid = Grid::parse("wma:2..=200", "wma:2")?;
    let products = 2.0 * (2..=200).sum::<usize>() as f64 * series.bars() as f64;
    println!("\n== kernel (a): {} bars x 199 windows", series.bars());
    for (name, gpu) in engines {
        let mut best = f64::MAX;
        for _ in 0..8 {
            gpu.sides_only(&series, &grid)?;
            best = best.min(gpu.timings().conv);
        }
        println!(
            "{name:20} {:8.3} ms  {:6.2} TFLOP/s",
            best * 1e3,
            products / best / 1e12
        );
    }
    Ok(())
}

fn size(name: &str, engines: &[(&str, Gpu)], series: &Series, grid: &Grid) -> Outcome<()> {
    let decisions = grid.combinations() as f64 * series.bars() as f64;
    println!(
        "== {name} combinations x {} bars, {} filters",
        series.bars(),
        grid.filters().len()
    );
    let rules = Rules::published();
    let m4 = Pool::new(None);
    let (pool, expected) = best(5, || m4.sweep(series, grid, &rules))?;
    line("M4", pool, decisions, expected.trades());
    if decisions < 2e9 {
        let (one, _) = best(2, || Sequential::new().sweep(series, grid, &rules))?;
        line("M2", one, decisions, expected.trades());
    }
    for (name, gpu) in engines {
        let (seconds, sweep) = best(7, || gpu.sweep(series, grid, &rules))?;
        line(&format!("M5 {name}"), seconds, decisions, sweep.trades());
        println!(
            "    x{:.2} of M4; {}",
            pool / seconds,
            judge(&sweep, &expected)
        );
        parts(&gpu.timings());
        let (sides, _) = best(3, || gpu.sides_only(series, grid))?;
        println!("    without trades {:.3} ms", sides * 1e3);
    }
    if decisions < 3e8 {
        let (lists, expected) = (
            engines[3].1.trades(series, grid, &rules)?,
            m4.trades(series, grid, &rules)?,
        );
        let moved = lists.iter().zip(&expected).filter(|(a, b)| a != b).count();
        println!("    trade lists that differ from M4's: {moved}");
    }
    Ok(())
}

/// Runs until so many times, or 10 s, have passed; the fastest time and its result.
fn best<T, E>(times: usize, mut run: impl FnMut() -> Result<T, E>) -> Result<(f64, T), E> {
    let began = Instant::now();
    let mut fastest: Option<(f64, T)> = None;
    for _ in 0..times {
        let start = Instant::now();
        let result = run()?;
        let seconds = start.elapsed().as_secs_f64();
        if fastest.as_ref().is_none_or(|(best, _)| seconds < *best) {
            fastest = Some((seconds, result));
        }
        if began.elapsed() > Duration::from_secs(10) {
            break;
        }
    }
    Ok(fastest.expect("it ran at least once"))
}

fn line(name: &str, seconds: f64, decisions: f64, trades: u64) {
    println!(
        "{name:24} {:10.3} ms  {:8.2}e9 bar-combinations/s  {trades} trades",
        seconds * 1e3,
        decisions / seconds / 1e9
    );
}

fn judge(sweep: &Sweep, expected: &Sweep) -> String {
    let rows = sweep.rows.iter().zip(&expected.rows);
    let differing = rows.clone().filter(|(a, b)| a != b).count();
    let moved: u64 = rows
        .map(|(a, b)| a.totals.trades.abs_diff(b.totals.trades))
        .sum();
    let diagnostics = &sweep.diagnostics;
    format!(
        "trades moved {moved}, rows differing {differing}; undecided {:.5} % ({} by float, {} exact), ties {}",
        diagnostics.undecided_share() * 100.0,
        diagnostics.by_float,
        diagnostics.by_integer + diagnostics.by_big_integer,
        diagnostics.ties
    )
}

/// The parts of the last run, in milliseconds.
fn parts(timings: &GpuTimings) {
    let ms = |seconds: f64| format!("{:.3}", seconds * 1e3);
    println!(
        "    device: conv {} stage2 {} bits {} exact {} lists {} ({} of {} passes timed)",
        ms(timings.conv),
        ms(timings.stage2),
        ms(timings.bits),
        ms(timings.exact),
        ms(timings.lists),
        timings.passes.0,
        timings.passes.1
    );
    println!(
        "    host: plan {} pack {} upload {} submit {} wait {} sums {} decode+trades {} (settle {} thread-ms) engine {}; {} chunks, {:.1} MB back",
        ms(timings.plan),
        ms(timings.pack),
        ms(timings.upload),
        ms(timings.submit),
        ms(timings.wait),
        ms(timings.sums),
        ms(timings.decode),
        ms(timings.settle),
        ms(timings.total),
        timings.chunks,
        timings.bytes_back as f64 / 1e6
    );
}
