//! All rungs on the seed's sweep, 150,000 bars x 80 combinations: `cargo bench --bench ladder`.
//!
//! Every engine's trades are compared with M0's before anything is timed. M0 costs a window a bar and a combination,
//! so it is timed, and compared with, on every sixteenth combination; the unit, bars x combinations, makes rates comparable.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use crosscheck::equivalence::assert_strict;
use crosscheck::{Backend, Grid, Naive, Pool, Rules, Sequential, Vectorized, random_walk};

fn every_sixteenth(grid: &Grid) -> Grid {
    let pair = |combination| {
        let (fast, slow) = grid.combination(combination);
        (fast.clone(), slow.clone())
    };
    let pairs: Vec<_> = (0..grid.combinations()).step_by(16).map(pair).collect();
    Grid::from_pairs(&pairs).expect("every sixteenth of 80 is 5")
}

fn ladder(criterion: &mut Criterion) {
    let walk = random_walk(150_000, 42).expect("the walk is valid");
    let grid = Grid::parse("hma:20..=200:20", "hma3:24..=192:24").expect("the grid is valid");
    let sample = every_sixteenth(&grid);
    let rules = Rules::default();
    let mut group = criterion.benchmark_group("ladder");
    group.sampling_mode(SamplingMode::Flat).sample_size(10);
    group
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(5));
    let pool = Pool::new(None);
    let rungs: [(&dyn Backend, &Grid); 4] = [
        (&Naive, &sample),
        (&Vectorized, &grid),
        (&Sequential::new(), &grid),
        (&pool, &grid),
    ];
    for (engine, grid) in rungs {
        let report = assert_strict(&Naive, engine, &walk, &sample, &rules);
        assert!(report.trades > 15_000, "{report}");
        group.throughput(Throughput::Elements(
            (walk.bars() * grid.combinations()) as u64,
        ));
        group.bench_function(engine.name(), |bencher| {
            bencher.iter(|| engine.sweep(black_box(&walk), black_box(grid), &rules));
        });
    }
    group.finish();
}

criterion_group!(benches, ladder);
criterion_main!(benches);
