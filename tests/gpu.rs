//! M5 against the exact answer, on whatever adapter is here: lavapipe in CI, hardware where there is some.
//!
//! Own harness: without an adapter every test shows as ignored, and fails where `CROSSCHECK_REQUIRE_GPU=1`.

#[allow(clippy::unwrap_used, unreachable_pub, dead_code)]
#[path = "support/every_rule.rs"]
mod every_rule;
#[path = "support/gpu_faults.rs"]
mod gpu_faults;
#[path = "support/gpu_look_ahead.rs"]
mod gpu_look_ahead;
#[path = "support/gpu_series.rs"]
mod gpu_series;

use std::path::PathBuf;

use crosscheck::equivalence::conformance;
use crosscheck::gpu::{DeviceError, Summation, UncertifiedGpu};
use crosscheck::{
    Auto, Backend, Error, Filter, Gpu, GpuOptions, Grid, Question, Reading, Rules, Sequential,
    Series, parse_filters, random_walk,
};
use gpu_series::hostile;
use libtest_mimic::{Arguments, Failed, Trial};

pub(crate) type Outcome = Result<(), Failed>;

const SUMMATIONS: [Summation; 2] = [Summation::Staged, Summation::Composite];

fn main() {
    let tests: [(&str, fn() -> Outcome); 22] = [
        (
            "kernels_agree_with_their_twins",
            kernels_agree_with_their_twins,
        ),
        (
            "hostile_series_give_the_exact_trades",
            hostile_series_give_the_exact_trades,
        ),
        (
            "unchecked_kernels_give_the_exact_trades",
            unchecked_kernels_give_the_exact_trades,
        ),
        (
            "every_filter_kind_gives_the_exact_trades",
            every_filter_kind_gives_the_exact_trades,
        ),
        (
            "windows_beyond_the_device_run_on_the_host",
            windows_beyond_the_device_run_on_the_host,
        ),
        (
            "chunk_boundaries_move_no_trade",
            chunk_boundaries_move_no_trade,
        ),
        (
            "settling_on_device_and_on_host_agree",
            settling_on_device_and_on_host_agree,
        ),
        (
            "buffers_are_reused_without_a_trace",
            buffers_are_reused_without_a_trace,
        ),
        (
            "the_tail_of_a_large_grid_is_not_lost",
            the_tail_of_a_large_grid_is_not_lost,
        ),
        (
            "more_workgroups_than_a_dimension_holds",
            more_workgroups_than_a_dimension_holds,
        ),
        ("golden_trades", golden_trades),
        (
            "no_trade_before_a_bar_depends_on_bars_after_it",
            gpu_look_ahead::no_trade_before_a_bar_depends_on_bars_after_it,
        ),
        (
            "matrices_have_the_filters_mask_and_values",
            matrices_have_the_filters_mask_and_values,
        ),
        (
            "the_uncertified_engine_says_so",
            the_uncertified_engine_says_so,
        ),
        (
            "adapters_are_chosen_by_name_and_index",
            adapters_are_chosen_by_name_and_index,
        ),
        ("timings_are_told", timings_are_told),
        (
            "each_fault_is_a_typed_error",
            gpu_faults::each_fault_is_a_typed_error,
        ),
        (
            "a_loss_while_reading_returns_nothing_old",
            gpu_faults::a_loss_while_reading_returns_nothing_old,
        ),
        (
            "a_lost_device_stays_lost",
            gpu_faults::a_lost_device_stays_lost,
        ),
        (
            "no_adapter_says_what_is_there",
            gpu_faults::no_adapter_says_what_is_there,
        ),
        (
            "limits_too_small_for_a_tile_are_named",
            gpu_faults::limits_too_small_for_a_tile_are_named,
        ),
        (
            "auto_falls_back_to_the_pool",
            gpu_faults::auto_falls_back_to_the_pool,
        ),
    ];
    let arguments = Arguments::from_args();
    let is_required = std::env::var("CROSSCHECK_REQUIRE_GPU").is_ok_and(|value| value == "1");
    let is_absent = Gpu::list().is_empty();
    let is_ignored = is_absent && !is_required;
    let own = tests.map(|(name, run)| Trial::test(name, run));
    let trials = own
        .into_iter()
        .chain(conformance_trials())
        .map(|trial| trial.with_ignored_flag(is_ignored))
        .collect();
    libtest_mimic::run(&arguments, trials).exit();
}

type Check = fn(&dyn Backend) -> conformance::Compared;
type Open = fn() -> Result<Box<dyn Backend>, Error>;

/// The suite that every engine passes, for each way to sum, for unchecked kernels, and for `auto` with its device.
fn conformance_trials() -> Vec<Trial> {
    macro_rules! checks {
        ($($check:ident),* $(,)?) => {
            [$((stringify!($check), conformance::$check as Check)),*]
        };
    }
    let checks = checks![
        ticks,
        flat_stretches,
        gaps,
        continuous,
        hostile,
        lengths_around_words_and_tiles,
        equal_filters_never_cross,
        one_bar_windows,
        windows_as_long_as_the_series,
        custom_kernels,
        large_periods,
        answers_stand_alone,
        later_bars_change_nothing,
        totals_are_those_of_the_trades,
    ];
    let engines: [(&str, Open); 4] = [
        ("staged", || {
            let options = GpuOptions::default().with_summation(Summation::Staged);
            Ok(Box::new(Gpu::with_options(
                options.with_settling_on_device(true),
            )?))
        }),
        ("composite", || Ok(Box::new(open(Summation::Composite)?))),
        ("unchecked", || {
            let options = GpuOptions::default().with_runtime_checks(false);
            Ok(Box::new(Gpu::with_options(
                options.with_settling_on_device(true),
            )?))
        }),
        ("auto", || {
            let auto = Auto::new();
            auto.force_device(None)?;
            Ok(Box::new(auto))
        }),
    ];
    let trials = |(engine, open): (&'static str, Open)| {
        checks.map(|(name, run)| {
            Trial::test(format!("conformance::{engine}::{name}"), move || {
                let compared = run(&*open()?);
                check(compared.decisions > 0, "something was compared")
            })
        })
    };
    engines.into_iter().flat_map(trials).collect()
}

/// Fails unless two sweeps have equal rows, and returns how many trades were compared.
pub(crate) fn same_rows(
    gpu: &Gpu,
    series: &Series,
    grid: &Grid,
    what: &str,
) -> Result<u64, Failed> {
    let rules = Rules::default();
    let exact = Sequential::new().sweep(series, grid, &rules)?;
    let found = gpu.sweep(series, grid, &rules)?;
    for (found, exact) in found.rows.iter().zip(&exact.rows) {
        if found != exact {
            return Err(format!("{what}: {found:?} is not {exact:?}").into());
        }
    }
    let is_counted = found.diagnostics.decisions == exact.diagnostics.decisions;
    check(
        is_counted && found.diagnostics.certified,
        "every decision is counted",
    )?;
    Ok(exact.trades())
}

pub(crate) fn check(holds: bool, claim: &str) -> Outcome {
    if holds { Ok(()) } else { Err(claim.into()) }
}

pub(crate) fn grid() -> Result<Grid, Error> {
    Grid::parse("hma:4,9,20,60", "hma3:6,24,48,96")
}

fn open(summation: Summation) -> Result<Gpu, Error> {
    Gpu::with_options(GpuOptions::default().with_summation(summation))
}

fn kernels_agree_with_their_twins() -> Outcome {
    let grid = Grid::parse("hma:2,9,31,100", "hma3:8,49,120")?;
    let mixed = Grid::parse("sma:1,2,33", "wma:5,64,200")?;
    for summation in SUMMATIONS {
        let options = GpuOptions::default().with_summation(summation);
        let gpu = Gpu::with_options(options.with_settling_on_device(true))?;
        for (name, series) in hostile(3_000)? {
            for grid in [&grid, &mixed] {
                let found = gpu.check_kernels(&Question::new(&series, grid)?)?;
                let is_close = found.largest_difference <= 2.0;
                check(
                    is_close && found.wrong_bits == 0,
                    &format!("{name}: {found:?}"),
                )?;
                let is_full = found.values > 10_000 && found.bits > 10_000;
                check(is_full, &format!("{name} compares something: {found:?}"))?;
                let is_same = found.wrong_lists == 0 && found.listed >= 9;
                check(is_same, &format!("{name} has the twin's lists: {found:?}"))?;
            }
        }
        // three runs, of which the last is short
        let walk = random_walk(10_000, 1)?;
        let found = gpu.check_kernels(&Question::new(&walk, &grid)?)?;
        check(
            found.decided > found.bits / 2,
            "most bits of a walk are decided",
        )?;
        let is_settled = found.settled > 0 && found.closed as u64 >= found.settled;
        check(is_settled, &format!("open bits are settled: {found:?}"))?;
        check(
            found.wrong_lists == 0,
            "lists of several runs are the twin's",
        )?;
    }
    Ok(())
}

fn hostile_series_give_the_exact_trades() -> Outcome {
    let grid = grid()?;
    for summation in SUMMATIONS {
        let gpu = open(summation)?;
        let mut trades = 0;
        for (name, series) in hostile(4_000)? {
            trades += same_rows(&gpu, &series, &grid, name)?;
        }
        check(trades > 5_000, "trades were compared")?;
    }
    Ok(())
}

fn unchecked_kernels_give_the_exact_trades() -> Outcome {
    for summation in SUMMATIONS {
        let options = GpuOptions::default().with_summation(summation);
        let gpu = Gpu::with_options(options.with_runtime_checks(false))?;
        let trades = same_rows(&gpu, &random_walk(10_000, 2)?, &grid()?, "unchecked")?;
        check(trades > 1_000, "trades were compared")?;
    }
    Ok(())
}

/// Averages of averages, kernels with negative weights, gains other than 1, the close itself.
fn every_filter_kind_gives_the_exact_trades() -> Outcome {
    use crosscheck::Expr;
    use std::sync::Arc;
    let close = Arc::new(Expr::Close);
    let sma = |period, of: &Arc<Expr>| {
        Arc::new(Expr::Sma {
            period,
            of: Arc::clone(of),
        })
    };
    let dema = Expr::Combination(vec![(2, sma(5, &close)), (-1, sma(5, &sma(5, &close)))]);
    let deep = Expr::Wma {
        period: 4,
        of: sma(3, &sma(2, &close)),
    };
    let five = Expr::Sma {
        period: 3,
        of: Arc::new(Expr::Combination(vec![
            (3, sma(2, &close)),
            (-1, sma(3, &close)),
            (-1, sma(4, &close)),
            (-1, sma(5, &close)),
            (1, Arc::clone(&close)),
        ])),
    };
    let mut fast = parse_filters("sma:1,7")?;
    fast.extend(parse_filters("wma:2,33")?);
    fast.push(Filter::from_expr("dema", dema)?);
    fast.push(Filter::from_expr("deep", deep)?);
    fast.push(Filter::from_expr("five", five)?);
    let mut slow = parse_filters("hma-nearest:30")?;
    slow.push(Filter::hma3(50)?);
    let unit = Grid::cross(&fast, &slow)?;
    let weights: Vec<f64> = (1..40).map(|k| (f64::from(k) * 0.7).sin() / 10.0).collect();
    fast.push(Filter::fir("sine", &weights)?);
    fast.push(Filter::fir("tiny", &[1e-50, -2e-50])?);
    slow.push(Filter::fir("half", &[0.25, 0.25])?);
    let any = Grid::cross(&fast, &slow)?;
    for summation in SUMMATIONS {
        let gpu = open(summation)?;
        for (name, series) in hostile(2_000)? {
            for grid in [&unit, &any] {
                same_rows(&gpu, &series, grid, name)?;
            }
        }
    }
    Ok(())
}

fn windows_beyond_the_device_run_on_the_host() -> Outcome {
    let gpu = open(Summation::default())?;
    let mut fast = parse_filters("sma:5")?;
    fast.push(Filter::fir("large", &[1e40, -1e40, 1e40])?);
    let grid = Grid::cross(&fast, &parse_filters("wma:50,17000")?)?;
    let walk = random_walk(20_000, 8)?;
    let trades = same_rows(&gpu, &walk, &grid, "long windows")?;
    check(trades > 100, "trades were compared")?;
    let notes = gpu
        .sweep(&walk, &grid, &Rules::default())?
        .diagnostics
        .notes;
    check(
        notes[0].starts_with("3 combinations"),
        &format!("the note says so: {notes:?}"),
    )
}

fn chunk_boundaries_move_no_trade() -> Outcome {
    let (walk, grid) = (
        random_walk(9_001, 5)?,
        Grid::parse("hma:3..40:4", "hma3:6..80:3")?,
    );
    for summation in SUMMATIONS {
        for (bytes, workgroups) in [(1 << 17, 65_535), (1 << 18, 7), (1 << 20, 33)] {
            let options = GpuOptions::default()
                .with_summation(summation)
                .with_max_buffer_bytes(bytes)
                .with_max_workgroups(workgroups);
            let gpu = Gpu::with_options(options)?;
            let trades = same_rows(&gpu, &walk, &grid, &format!("{bytes} bytes"))?;
            check(trades > 10_000, "trades were compared")?;
            check(
                gpu.timings().chunks > 3,
                &format!("{} chunks at {bytes} bytes", gpu.timings().chunks),
            )?;
        }
    }
    Ok(())
}

/// In integers on the device, in integers on the host, and by the predicate: the same trades, and as many bars.
fn settling_on_device_and_on_host_agree() -> Outcome {
    let mut shares = Vec::new();
    for on_device in [true, false] {
        let options = GpuOptions::default().with_settling_on_device(on_device);
        let gpu = Gpu::with_options(options)?;
        for (name, series) in hostile(3_000)? {
            same_rows(&gpu, &series, &grid()?, name)?;
            same_rows(&gpu, &series.into_binary(), &grid()?, name)?;
        }
        let walk = random_walk(30_000, 3)?;
        let found = gpu.sweep(&walk, &grid()?, &Rules::default())?.diagnostics;
        check(found.undecided > 20, "something is undecided")?;
        let is_integer = found.by_integer == found.undecided;
        check(
            is_integer == on_device,
            &format!("settled as asked: {found:?}"),
        )?;
        shares.push(found.undecided);
        let kernel = Filter::fir("third", &[1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0])?;
        let kernels = Grid::cross(&[kernel], &parse_filters("sma:3,5,40")?)?;
        same_rows(&gpu, &walk, &kernels, "kernels have no taps")?;
    }
    check(
        shares[0] == shares[1],
        "the device leaves the same bars open",
    )
}

fn buffers_are_reused_without_a_trace() -> Outcome {
    let gpu = open(Summation::default())?;
    let small = Grid::parse("sma:2", "wma:9")?;
    for (bars, seed) in [(5_000, 1), (300, 2), (20_000, 3), (300, 2), (5_000, 4)] {
        let walk = random_walk(bars, seed)?;
        same_rows(&gpu, &walk, &grid()?, "large grid")?;
        same_rows(&gpu, &walk, &small, "small grid")?;
    }
    Ok(())
}

fn many_pairs(combinations: usize) -> Result<Grid, Error> {
    let (fast, slow) = (parse_filters("sma:1..=15")?, parse_filters("wma:2..=40")?);
    let pair = |index: usize| {
        let (a, b) = (index % fast.len(), index / fast.len() % slow.len());
        (fast[a].clone(), slow[b].clone())
    };
    Grid::from_pairs(&(0..combinations).map(pair).collect::<Vec<_>>())
}

fn the_tail_of_a_large_grid_is_not_lost() -> Outcome {
    let gpu = open(Summation::default())?;
    let walk = random_walk(64, 4)?;
    for combinations in [65_535, 65_536] {
        let trades = same_rows(&gpu, &walk, &many_pairs(combinations)?, "many")?;
        check(trades > 100_000, "trades were compared")?;
    }
    Ok(())
}

/// 65,535 workgroups of eight combinations are 524,280.
fn more_workgroups_than_a_dimension_holds() -> Outcome {
    let gpu = open(Summation::default())?;
    let walk = random_walk(64, 4)?;
    same_rows(&gpu, &walk, &many_pairs(524_281)?, "beyond a dimension")?;
    check(gpu.timings().chunks > 1, "it took more than one submission")
}

fn shared(file: &str) -> Option<PathBuf> {
    let folder = std::env::var("CROSSCHECK_SHARED").unwrap_or_else(|_| "../shared".to_owned());
    let path = PathBuf::from(folder).join(file);
    path.exists().then_some(path)
}

/// Decimal text as integers of the eighth decimal.
fn closes_of(csv: &str) -> Vec<i64> {
    let scaled = |text: &str| (text.parse::<f64>().expect("a price") * 1e8).round() as i64;
    csv.lines()
        .skip(1)
        .filter_map(|line| line.split(',').nth(4))
        .map(scaled)
        .collect()
}

/// Trades decided in exact rational arithmetic by another program; the files are not part of this repository.
fn golden_trades() -> Outcome {
    let gpu = open(Summation::default())?;
    let mut compared = 0;
    for (data, golden) in [
        (
            Some("data/algobtc_1m.csv"),
            "golden/algobtc_1m.hma-hma3.csv",
        ),
        (Some("data/algobtc_1m.csv"), "golden/algobtc_1m.sma-wma.csv"),
        (
            Some("data/btcusdt_1m.csv"),
            "golden/btcusdt_1m.hma-hma3.csv",
        ),
        (None, "golden/random_walk_150k.hma-hma3.csv"),
    ] {
        let Some(golden) = shared(golden) else {
            continue;
        };
        let series = match data.map(shared) {
            None => random_walk(150_000, 42)?,
            Some(Some(path)) => {
                Series::from_ticks(&closes_of(&std::fs::read_to_string(path)?), 1e-8)?
            }
            Some(None) => continue,
        };
        let text = std::fs::read_to_string(golden)?;
        let readings = [series.clone(), series.into_binary()];
        for series in &readings {
            compared += compare_golden(&gpu, series, &text)?;
        }
    }
    // without the files only the sweep's own comparison stands, which other tests make
    check(
        compared > 0 || shared("golden").is_none(),
        "rows were compared",
    )
}

fn compare_golden(gpu: &Gpu, series: &Series, text: &str) -> Result<usize, Failed> {
    let header: Vec<&str> = text.lines().next().unwrap_or_default().split(',').collect();
    let reading = if series.reading() == Reading::Ticks {
        "ticks"
    } else {
        "binary"
    };
    let column = |name: String| header.iter().position(|h| *h == name);
    let (Some(trades), Some(pnl)) = (
        column(format!("trades_{reading}")),
        column(format!("pnl_pct_{reading}")),
    ) else {
        return Ok(0);
    };
    let rows: Vec<Vec<&str>> = text
        .lines()
        .skip(1)
        .map(|line| line.split(',').collect())
        .collect();
    let pairs = rows
        .iter()
        .map(|row| {
            Ok((
                parse_filters(row[0])?.remove(0),
                parse_filters(row[1])?.remove(0),
            ))
        })
        .collect::<Result<Vec<_>, Error>>()?;
    let sweep = gpu.sweep(series, &Grid::from_pairs(&pairs)?, &Rules::default())?;
    for (found, row) in sweep.rows.iter().zip(&rows) {
        let is_equal = found.totals.trades.to_string() == row[trades]
            && (found.totals.pnl_pct - row[pnl].parse::<f64>()?).abs() < 1e-6;
        check(is_equal, &format!("{found:?} is not {row:?}"))?;
    }
    Ok(rows.len())
}

fn matrices_have_the_filters_mask_and_values() -> Outcome {
    let (walk, grid) = (random_walk(5_000, 6)?, grid()?);
    for summation in SUMMATIONS {
        let gpu = Gpu::with_options(
            GpuOptions::default()
                .with_summation(summation)
                .with_max_buffer_bytes(1 << 19),
        )?;
        let question = Question::new(&walk, &grid)?;
        let found = gpu.matrices(&question)?;
        for (row, filter) in found.rows().into_iter().zip(grid.filters()) {
            let exact = filter.evaluate(walk.closes())?;
            for (bar, (&found, &exact)) in row.iter().zip(&exact).enumerate() {
                let is_masked = found.is_nan() == (bar < filter.warm_up());
                let is_close = exact.is_nan() || (f64::from(found) / exact - 1.0).abs() < 1e-5;
                check(
                    is_masked && is_close,
                    &format!("{filter} bar {bar}: {found} {exact}"),
                )?;
            }
        }
    }
    Ok(())
}

fn the_uncertified_engine_says_so() -> Outcome {
    let engine = UncertifiedGpu::new(open(Summation::default())?);
    let (walk, grid) = (random_walk(20_000, 6)?, grid()?);
    let sweep = engine.sweep(&walk, &grid, &Rules::default())?;
    let exact = Sequential::new().sweep(&walk, &grid, &Rules::default())?;
    let moved: u64 = sweep
        .rows
        .iter()
        .zip(&exact.rows)
        .map(|(a, b)| a.totals.trades.abs_diff(b.totals.trades))
        .sum();
    check(!sweep.diagnostics.certified, "it is not certified")?;
    check(
        moved < exact.trades() / 100,
        &format!("{moved} of {} trades moved", exact.trades()),
    )
}

fn adapters_are_chosen_by_name_and_index() -> Outcome {
    let list = Gpu::list();
    let first = Gpu::new()?;
    check(
        first.adapter() == &list[0],
        "the first of the list is the default",
    )?;
    for adapter in &list {
        let by_index = Gpu::with_adapter(&adapter.index.to_string())?;
        check(by_index.adapter() == adapter, "by index")?;
    }
    let by_name = Gpu::with_adapter(&list[0].name.to_uppercase())?;
    check(
        by_name.adapter().name == list[0].name,
        "by name, whatever its case",
    )
}

fn timings_are_told() -> Outcome {
    let gpu = Gpu::with_options(GpuOptions::default().with_profile())?;
    gpu.sweep(&random_walk(5_000, 1)?, &grid()?, &Rules::default())?;
    let timings = gpu.timings();
    let is_told = timings.total > 0.0 && timings.chunks > 0 && timings.bytes_back > 0;
    check(is_told, &format!("{timings:?}"))
}

/// Faults are injected for the device that `auto` opens, too.
pub(crate) fn auto(options: GpuOptions) -> Auto {
    Auto::with_gpu_options(options)
}

/// Whether an error is the device's, and of which kind.
pub(crate) fn device_error(error: Error) -> Option<DeviceError> {
    match error {
        Error::Device(cause) => Some(cause),
        _ => None,
    }
}
