//! The stages of M2 and M4 one by one, and whole sweeps: `cargo bench --bench sweep`.
//!
//! The published sweep of 150,000 bars x 80 combinations, whose trades are known: 315,561 in `golden`'s exact
//! arithmetic. Every engine's count is checked before it is timed. Throughput is in bars x combinations, but for the
//! filters, which cost bars x filters.

use std::hint::black_box;
use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use crosscheck::{
    Backend, Diagnostics, FilterMatrix, Grid, Pool, Question, Result, Rules, Sequential, Series,
    SideWriter, SimdPath, random_walk,
};

const EXACT_TRADES: u64 = 315_561;

fn walk() -> Series {
    random_walk(150_000, 42).expect("the walk is valid")
}

fn published() -> Grid {
    Grid::parse("hma:20..=200:20", "hma3:24..=192:24").expect("the grid is valid")
}

fn group<'a>(
    criterion: &'a mut Criterion,
    name: &str,
    elements: usize,
) -> BenchmarkGroup<'a, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group
        .sample_size(20)
        .throughput(Throughput::Elements(elements as u64));
    group
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(3));
    group
}

/// An engine that knows the answer: what is left is finding the crossovers and counting the money.
struct Recorded(Vec<Vec<u64>>);

impl Recorded {
    /// Side words from the crossovers that M2 finds; the first side of each combination is taken as short.
    fn new(series: &Series, grid: &Grid) -> Self {
        let crossovers = Sequential::new()
            .crossovers(series, grid)
            .expect("no device");
        let words = |crossovers: &Vec<u32>| {
            let mut words = vec![0_u64; series.bars().div_ceil(64)];
            let (mut bars, mut is_above) = (crossovers.iter().peekable(), false);
            for bar in 0..series.bars() {
                is_above ^= bars.next_if(|&&next| next as usize == bar).is_some();
                words[bar / 64] |= u64::from(is_above) << (bar % 64);
            }
            words
        };
        Self(crossovers.iter().map(words).collect())
    }
}

impl Backend for Recorded {
    fn name(&self) -> &str {
        "recorded"
    }

    fn filters(&self, _: &Question<'_>) -> Result<FilterMatrix> {
        unreachable!("sides are written directly")
    }

    fn sides(&self, _: &Question<'_>, writers: &mut [SideWriter<'_>]) -> Result<Diagnostics> {
        for (writer, words) in writers.iter_mut().zip(&self.0) {
            let first = writer.next_word();
            writer.write(first, &words[first..], None);
        }
        Ok(Diagnostics::new("recorded", true))
    }
}

fn filters(criterion: &mut Criterion) {
    let (walk, grid) = (walk(), published());
    let question = Question::new(&walk, &grid).expect("the grid fits");
    let mut group = group(
        criterion,
        "filters in plan",
        walk.bars() * grid.filters().len(),
    );
    for path in SimdPath::all() {
        let engine = Sequential::with_path(path);
        let sweep = engine
            .sweep(&walk, &grid, &Rules::default())
            .expect("no device");
        assert_eq!(sweep.trades(), EXACT_TRADES);
        group.bench_function(
            format!("{path:?}").split('(').next().unwrap_or("path"),
            |bencher| {
                // without writers an engine evaluates every filter and compares none
                bencher.iter(|| engine.sides(black_box(&question), &mut []));
            },
        );
    }
}

fn trades(criterion: &mut Criterion) {
    let (walk, grid) = (walk(), published());
    let recorded = Recorded::new(&walk, &grid);
    let sweep = recorded
        .sweep(&walk, &grid, &Rules::default())
        .expect("no device");
    assert_eq!(sweep.trades(), EXACT_TRADES);
    let mut group = group(
        criterion,
        "extraction and money",
        walk.bars() * grid.combinations(),
    );
    group.bench_function("from words of sides", |bencher| {
        bencher.iter(|| recorded.sweep(black_box(&walk), &grid, &Rules::default()));
    });
}

fn sides(criterion: &mut Criterion) {
    let (walk, grid) = (walk(), published());
    let engine = Sequential::new();
    let found = engine.crossovers(&walk, &grid).expect("no device");
    // every trade but the open one has a crossover at both ends; the open one ends with the series
    assert_eq!(
        found.iter().map(Vec::len).sum::<usize>() as u64,
        EXACT_TRADES
    );
    let mut group = group(criterion, "sides", walk.bars() * grid.combinations());
    group.bench_function(
        "m2, filters and sides into lists of crossovers",
        |bencher| {
            bencher.iter(|| engine.crossovers(black_box(&walk), &grid));
        },
    );
}

fn sweeps(criterion: &mut Criterion) {
    let (walk, grid) = (walk(), published());
    let large = Grid::parse("hma:10..=208:2", "hma3:12..=210:2").expect("the grid is valid");
    let rules = Rules::published();
    let pool = Pool::new(None);
    let engines: [&dyn Backend; 2] = [&Sequential::new(), &pool];
    for (name, grid) in [("sweep 80", &grid), ("sweep 10000", &large)] {
        let mut group = group(criterion, name, walk.bars() * grid.combinations());
        group.sample_size(10);
        for engine in engines {
            let sweep = engine.sweep(&walk, grid, &rules).expect("no device");
            let exact = if grid.combinations() == 80 {
                EXACT_TRADES
            } else {
                41_065_787
            };
            assert_eq!(sweep.trades(), exact);
            group.bench_function(engine.name(), |bencher| {
                bencher.iter(|| engine.sweep(black_box(&walk), grid, &rules));
            });
        }
    }
}

criterion_group!(benches, filters, sides, trades, sweeps);
criterion_main!(benches);
