//! Faults that users of other software met, each a test named after its case: windows, crossovers, grids, threads.
//!
//! Expected values are those of the case list: exact or high-precision arithmetic, rounded once. The cases on recorded
//! prices are in `golden.rs`.

#[path = "support/scripted.rs"]
#[allow(dead_code, unreachable_pub)]
mod scripted;

use crosscheck::{
    Backend, Error, Filter, Grid, Naive, Pool, RootRounding, Rules, Sequential, Series, Vectorized,
    parse_filters, random_walk,
};
use scripted::Scripted;

fn engines() -> Vec<Box<dyn Backend>> {
    vec![
        Box::new(Naive::new()),
        Box::new(Vectorized::new()),
        Box::new(Sequential::new()),
        Box::new(Pool::new(Some(3))),
    ]
}

fn series(closes: &[f64]) -> Series {
    Series::from_closes(closes).unwrap()
}

fn values(filter: &Filter, closes: &[f64]) -> Vec<f64> {
    filter.evaluate(closes).unwrap()
}

fn squares() -> Vec<f64> {
    (0..60).map(|i| f64::from(i * i)).collect()
}

fn ramp(bars: u32) -> Vec<f64> {
    (0..bars).map(f64::from).collect()
}

fn near(found: f64, expected: f64) {
    let off = (found - expected).abs();
    assert!(off <= 1e-12 * expected.abs().max(1.0), "{found} {expected}");
}

fn first_valid(values: &[f64]) -> usize {
    values.iter().position(|value| !value.is_nan()).unwrap()
}

/// Crossovers of one combination by every engine, with the side each turns to.
fn crossings(series: &Series, fast: &str, slow: &str) -> Vec<(u32, i8)> {
    let grid = Grid::parse(fast, slow).unwrap();
    let question = crosscheck::Question::new(series, &grid).unwrap();
    let mut answers = engines().into_iter().map(|engine| {
        let bars = engine.crossovers(series, &grid).unwrap().remove(0);
        let sign = |bar: u32| question.predicate(0).decide_exactly(bar as usize) as i8;
        bars.into_iter()
            .map(|bar| (bar, sign(bar)))
            .collect::<Vec<_>>()
    });
    let first = answers.next().unwrap();
    assert!(answers.all(|answer| answer == first));
    first
}

#[test]
fn wu_01_first_valid_bars_and_values() {
    let closes = ramp(30);
    for (period, wma, hma, value) in [(4, 3, 4, 4.0), (9, 8, 10, 10.0), (16, 15, 18, 52.0 / 3.0)] {
        assert_eq!(
            first_valid(&values(&Filter::wma(period).unwrap(), &closes)),
            wma
        );
        let hull = values(&Filter::hma(period).unwrap(), &closes);
        assert_eq!(first_valid(&hull), hma);
        near(hull[hma], value);
    }
    // on x[i] = i: WMA = i - (n-1)/3, HMA3 = i + (b - 3a + 2)/3
    for period in 1..=14_u32 {
        let p = (period / 2).max(1);
        let (a, b) = ((p / 3).max(1), (p / 2).max(1));
        let period = period as usize;
        near(
            values(&Filter::wma(period).unwrap(), &closes)[29],
            29.0 - (period as f64 - 1.0) / 3.0,
        );
        let shift = (f64::from(b) - 3.0 * f64::from(a) + 2.0) / 3.0;
        near(
            values(&Filter::hma3(period).unwrap(), &closes)[29],
            29.0 + shift,
        );
    }
}

#[test]
fn wu_02_no_partial_windows() {
    let found = values(&Filter::wma(3).unwrap(), &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert!(found[0].is_nan() && found[1].is_nan());
    for (found, thirds) in found[2..].iter().zip([7.0, 10.0, 13.0, 16.0]) {
        near(*found, thirds / 3.0);
    }
}

#[test]
fn wu_04_outputs_are_as_long_as_inputs() {
    for bars in [0, 1, 2, 5, 30, 63, 64, 65] {
        for text in ["wma:9", "hma:9", "hma3:12", "sma:9"] {
            let filter = &parse_filters(text).unwrap()[0];
            let found = values(filter, &ramp(bars));
            assert_eq!(found.len(), bars as usize);
            let valid = found.iter().filter(|value| !value.is_nan()).count();
            assert_eq!(valid, (bars as usize).saturating_sub(filter.warm_up()));
        }
    }
}

#[test]
fn wu_05_the_first_known_side_is_no_crossover() {
    let rising = series(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    assert_eq!(crossings(&rising, "wma:2", "wma:4"), []);
    let turning = series(&[10.0, 9.0, 8.0, 7.0, 8.0, 9.0, 10.0, 11.0]);
    assert_eq!(crossings(&turning, "wma:2", "wma:4"), [(5, 1)]);
}

#[test]
fn wu_07_bars_in_front_change_nothing_once_the_window_is_full() {
    let walk = random_walk(1_500, 8).unwrap();
    let later = walk.slice(500..1_500).unwrap();
    for text in ["sma:40", "wma:40", "hma:40", "hma3:96"] {
        let filter = &parse_filters(text).unwrap()[0];
        let whole = values(filter, walk.closes());
        let part = values(filter, later.closes());
        for bar in filter.warm_up()..1_000 {
            near(part[bar] / whole[500 + bar], 1.0);
        }
    }
    let grid = Grid::parse("hma:20", "hma3:48").unwrap();
    for engine in engines() {
        let whole = engine.crossovers(&walk, &grid).unwrap().remove(0);
        let part = engine.crossovers(&later, &grid).unwrap().remove(0);
        // the first decided side of the part only arms; from its second crossover on both are in step
        let shifted: Vec<u32> = part.iter().map(|bar| bar + 500).collect();
        assert!(
            shifted.len() > 40 && whole.ends_with(&shifted),
            "{}",
            engine.name()
        );
    }
}

#[test]
fn wr_01_and_wr_04_halves_are_floored_and_roots_as_named() {
    let closes = squares();
    let floored = values(&Filter::hma(15).unwrap(), &closes);
    assert_eq!(first_valid(&floored), 16);
    near(floored[40], 14_212.0 / 9.0);
    let nearest = Filter::hma_rounded(15, RootRounding::Nearest).unwrap();
    let nearest = values(&nearest, &closes);
    assert_eq!(first_valid(&nearest), 17);
    near(nearest[40], 1_553.0);
    for (period, ninths) in [(5, 14_615.0), (7, 14_594.0), (9, 14_329.0)] {
        near(
            values(&Filter::hma(period).unwrap(), &closes)[40],
            ninths / 9.0,
        );
    }
}

#[test]
fn wr_02_roots_are_whole_and_exact() {
    let root = |period: usize| Filter::hma(period).unwrap().warm_up() + 2 - period;
    for k in 1..=256_usize {
        assert_eq!(root(k * k), k);
        if k > 1 {
            assert_eq!(root(k * k - 1), k - 1);
        }
    }
    for (period, expected) in [
        (8, 2),
        (15, 3),
        (24, 4),
        (48, 6),
        (99, 9),
        (9_999, 99),
        (65_535, 255),
    ] {
        assert_eq!(root(period), expected);
    }
}

#[test]
fn wr_05_the_newest_bar_weighs_most() {
    near(
        values(&Filter::wma(3).unwrap(), &[1.0, 2.0, 4.0])[2],
        17.0 / 6.0,
    );
}

#[test]
fn wr_07_hma3_halves_first_so_neighbours_are_equal() {
    for (period, first, ninths) in [
        (12, 10, 22_160.0),
        (13, 10, 22_160.0),
        (24, 22, 21_155.0),
        (25, 22, 21_155.0),
    ] {
        let found = values(&Filter::hma3(period).unwrap(), &squares());
        assert_eq!(first_valid(&found), first);
        near(found[50], ninths / 9.0);
    }
    assert_eq!(
        Filter::hma3(12).unwrap().expr(),
        Filter::hma3(13).unwrap().expr()
    );
    assert_eq!(
        Filter::hma3_from_half(6).unwrap().expr(),
        Filter::hma3(12).unwrap().expr()
    );
}

/// Name, signs of fast - slow, and the crossings of the last-sign rule.
type Crossings = (&'static str, &'static [i8], &'static [(u32, i8)]);

const CROSSINGS: [Crossings; 6] = [
    ("CR-01 touch", &[-1, -1, 0, -1, -1], &[]),
    ("CR-02 touch, then cross", &[-1, -1, 0, 1, 1], &[(3, 1)]),
    ("CR-04 plateau, then back", &[-1, 0, 0, 0, -1, -1], &[]),
    ("CR-05 always equal", &[0, 0, 0, 0], &[]),
    (
        "CR-07 whipsaw",
        &[-1, 1, -1, 1, -1],
        &[(1, 1), (2, -1), (3, 1), (4, -1)],
    ),
    (
        "CR-10 cross, touch back, leave",
        &[-1, 1, 0, 1, 0, 1],
        &[(1, 1)],
    ),
];

#[test]
fn cr_01_to_cr_10_a_tie_keeps_the_side() {
    for (name, signs, expected) in CROSSINGS {
        let given = Scripted::one(signs);
        let flat = series(&vec![1.0; signs.len()]);
        let bars = given.crossovers(&flat, &given.grid()).unwrap().remove(0);
        assert_eq!(
            bars,
            expected.iter().map(|c| c.0).collect::<Vec<_>>(),
            "{name}"
        );
        for &(bar, side) in expected {
            assert_eq!(signs[bar as usize], side, "{name}");
        }
        // the same signs made by prices: the close against the one before it
        let mut closes = vec![50.0];
        for sign in signs {
            closes.push(closes[closes.len() - 1] + f64::from(*sign));
        }
        let pair = (
            Filter::sma(1).unwrap(),
            Filter::fir("before", &[1.0, 0.0]).unwrap(),
        );
        let grid = Grid::from_pairs(&[pair]).unwrap();
        for engine in engines() {
            let bars = engine
                .crossovers(&series(&closes), &grid)
                .unwrap()
                .remove(0);
            let expected: Vec<u32> = expected.iter().map(|c| c.0 + 1).collect();
            assert_eq!(bars, expected, "{} {name}", engine.name());
        }
    }
}

#[test]
fn cx_05_no_absolute_epsilon_at_any_scale() {
    let ticks = [
        24, 24, 23, 24, 23, 23, 24, 24, 25, 25, 26, 24, 23, 22, 22, 23, 25, 26, 26, 24,
    ];
    for tick in [1.0, 1e-8, f64::powi(2.0, -27), 1e6] {
        let series = Series::from_ticks(&ticks, tick).unwrap();
        let expected = [(6, 1), (11, -1), (15, 1), (19, -1)];
        assert_eq!(
            crossings(&series, "wma:2", "wma:4"),
            expected,
            "tick {tick}"
        );
    }
}

#[test]
fn cx_07_hma3_gains_five_and_undershoots() {
    let closes: Vec<f64> = (0..18)
        .map(|bar| if bar < 9 { 100.0 } else { 1.0 })
        .collect();
    let hull = Filter::hma3(12).unwrap();
    let found = values(&hull, &closes);
    let expected = [
        2441.0 / 98.0,
        197.0 / 98.0,
        -151.0 / 14.0,
        -15.5,
        -195.0 / 14.0,
        -107.0 / 14.0,
    ];
    for (found, expected) in found[10..].iter().zip(expected) {
        near(*found, expected);
    }
    near(found[17], -6.0 / 49.0);
    assert!((4.0..=5.0 + 1e-8).contains(&hull.magnification_bound()));
}

#[test]
fn cx_08_powers_of_two_scale_everything_exactly() {
    let walk = random_walk(2_000, 4).unwrap();
    let grid = Grid::parse("hma:9,20", "hma3:24,48").unwrap();
    let rules = Rules::published();
    for exponent in [-40, -27, 20] {
        let factor = f64::powi(2.0, exponent);
        let closes: Vec<f64> = walk.closes().iter().map(|close| close * factor).collect();
        let scaled = series(&closes);
        for filter in grid.filters() {
            let (a, b) = (values(filter, walk.closes()), values(filter, &closes));
            let pairs = a.iter().zip(&b).skip(filter.warm_up());
            assert!(pairs.into_iter().all(|(a, b)| a * factor == *b), "{filter}");
        }
        for engine in engines() {
            let answers = |series| {
                let bars = engine.crossovers(series, &grid).unwrap();
                (bars, engine.sweep(series, &grid, &rules).unwrap().rows)
            };
            assert_eq!(
                answers(&walk),
                answers(&scaled),
                "{} 2^{exponent}",
                engine.name()
            );
        }
    }
}

#[test]
fn gv_01_refused_combinations_are_counted() {
    let (fast, slow) = (
        parse_filters("wma:2..=5").unwrap(),
        parse_filters("wma:3..=6").unwrap(),
    );
    assert_eq!(Grid::cross(&fast, &slow).unwrap().combinations(), 16);
    let grid =
        Grid::cross_where(&fast, &slow, |fast, slow| fast.warm_up() < slow.warm_up()).unwrap();
    assert_eq!((grid.combinations(), grid.refused()), (10, 6));
    let none = Grid::cross_where(&fast, &slow, |_, _| false);
    assert!(matches!(none, Err(Error::EmptyGrid { refused: 16 })));
}

#[test]
fn gv_02_impossible_periods_are_typed_errors() {
    for make in [
        Filter::sma,
        Filter::wma,
        Filter::hma,
        Filter::hma3,
        Filter::hma3_from_half,
    ] {
        assert!(matches!(make(0), Err(Error::ZeroPeriod { .. })));
        assert!(matches!(
            make(usize::MAX),
            Err(Error::PeriodTooLarge { .. })
        ));
    }
    for text in ["wma:-1", "wma:2.5", "wma:", "wma:18446744073709551616"] {
        assert!(
            matches!(parse_filters(text), Err(Error::InvalidSpec { .. })),
            "{text}"
        );
    }
    let ten = series(&ramp(11)[1..]);
    for engine in engines() {
        let whole = Grid::parse("wma:10", "sma:10").unwrap();
        let sweep = engine.sweep(&ten, &whole, &Rules::default()).unwrap();
        assert_eq!((sweep.diagnostics.decisions, sweep.trades()), (1, 0));
        let longer = Grid::parse("wma:10", "sma:11").unwrap();
        let refused = engine.sweep(&ten, &longer, &Rules::default());
        assert!(matches!(
            refused,
            Err(Error::PeriodTooLong {
                needed: 11,
                bars: 10,
                ..
            })
        ));
    }
    // n*(n+1)/2 passes 2^32 from 92,682 on
    for period in [65_536, 92_682, 100_000] {
        let filter = Filter::wma(period).unwrap();
        near(
            filter.evaluate(&vec![3.0; period]).unwrap()[period - 1],
            3.0,
        );
    }
}

#[test]
fn gv_04_degenerate_grids_work_or_say_why_not() {
    let walk = random_walk(300, 1).unwrap();
    for (fast, slow, combinations) in [
        ("sma:3", "sma:9", 1),
        ("sma:3", "sma:9,10,11", 3),
        ("sma:2,3", "sma:9", 2),
    ] {
        for engine in engines() {
            let grid = Grid::parse(fast, slow).unwrap();
            let sweep = engine.sweep(&walk, &grid, &Rules::default()).unwrap();
            assert_eq!(sweep.rows.len(), combinations);
            assert!(sweep.rows.iter().all(|row| row.totals.trades > 5));
        }
    }
    assert!(matches!(
        Grid::cross(&[], &[]),
        Err(Error::EmptyGrid { refused: 0 })
    ));
    assert!(matches!(
        Grid::from_pairs(&[]),
        Err(Error::EmptyGrid { .. })
    ));
}

#[test]
fn gv_05_the_best_row_alone_is_the_same_to_the_bit() {
    let walk = random_walk(4_000, 12).unwrap();
    let grid = Grid::parse("hma:9..=60:3", "hma3:24..=96:12").unwrap();
    let rules = Rules::published();
    for engine in engines() {
        let sweep = engine.sweep(&walk, &grid, &rules).unwrap();
        let pnl = |index: &usize| sweep.rows[*index].totals.pnl_pct;
        let best = (0..grid.combinations())
            .max_by(|a, b| pnl(a).total_cmp(&pnl(b)))
            .unwrap();
        let (fast, slow) = grid.combination(best);
        let alone = Grid::from_pairs(&[(fast.clone(), slow.clone())]).unwrap();
        assert_eq!(
            engine.sweep(&walk, &alone, &rules).unwrap().rows[0],
            sweep.rows[best]
        );
        assert!(sweep.rows[best].totals.trades > 20);
    }
}

#[test]
fn ms_01_a_large_grid_holds_no_table_of_combinations_by_bars() {
    let walk = random_walk(130_708, 6).unwrap();
    let pairs: Vec<_> = (1..=200)
        .flat_map(|slow| (1..slow).map(move |fast| (fast, slow)))
        .map(|(fast, slow)| (Filter::sma(fast).unwrap(), Filter::sma(slow).unwrap()))
        .collect();
    let grid = Grid::from_pairs(&pairs).unwrap();
    assert_eq!(grid.combinations(), 19_900);
    let sweep = Sequential::new()
        .sweep(&walk, &grid, &Rules::default())
        .unwrap();
    assert!(sweep.rows.len() == 19_900 && sweep.rows.iter().all(|row| row.totals.trades > 50));
    // a table of f64 would take 20.8 GB, one of bits 325 MB; the filters alone are 209 MB
    if let Ok(status) = std::fs::read_to_string("/proc/self/status") {
        let peak = status
            .lines()
            .find(|line| line.starts_with("VmHWM"))
            .unwrap();
        let kilobytes: u64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
        assert!(kilobytes < 600_000, "{peak}");
    }
}

#[test]
fn ms_02_a_month_of_minutes_and_its_neighbours() {
    let walk = random_walk(44_641, 21).unwrap();
    let grid = Grid::parse("hma:20,60", "hma3:24,96").unwrap();
    for bars in [44_639, 44_640, 44_641] {
        let part = walk.slice(0..bars).unwrap();
        let serial = Sequential::new()
            .sweep(&part, &grid, &Rules::published())
            .unwrap();
        assert!(serial.trades() > 5_000);
        for threads in [2, 3, 8] {
            let pool = Pool::new(Some(threads))
                .sweep(&part, &grid, &Rules::published())
                .unwrap();
            assert_eq!(pool.rows, serial.rows, "{bars} bars, {threads} threads");
        }
    }
}

#[test]
fn pn_01_every_thread_count_gives_the_same_bits() {
    let walk = random_walk(10_000, 2).unwrap();
    let grid = Grid::parse("hma:9..=60:5", "hma3:24..=96:8").unwrap();
    let serial = Sequential::new()
        .sweep(&walk, &grid, &Rules::published())
        .unwrap();
    for threads in [1, 2, 3, 4, 8, 16] {
        let pool = Pool::new(Some(threads))
            .sweep(&walk, &grid, &Rules::published())
            .unwrap();
        for (a, b) in pool.rows.iter().zip(&serial.rows) {
            assert_eq!(a.totals.pnl_pct.to_bits(), b.totals.pnl_pct.to_bits());
            assert_eq!(a, b);
        }
    }
}

#[test]
fn pn_02_workers_get_every_setting() {
    let walk = random_walk(5_000, 13).unwrap();
    let grid = Grid::parse("hma:9,20", "hma3:24,48").unwrap();
    for rules in [
        Rules::default(),
        Rules::default().with_fee_pct(0.1).unwrap(),
    ] {
        let serial = Sequential::new().sweep(&walk, &grid, &rules).unwrap();
        let pool = Pool::new(Some(4)).sweep(&walk, &grid, &rules).unwrap();
        assert_eq!(serial.rows, pool.rows);
    }
    let total = |fee: f64| {
        let rules = Rules::default().with_fee_pct(fee).unwrap();
        Pool::new(Some(4)).sweep(&walk, &grid, &rules).unwrap().rows[0].totals
    };
    let (free, paid) = (total(0.0), total(0.1));
    near(free.pnl_pct - paid.pnl_pct, 0.1 * free.trades as f64);
}

#[test]
fn pn_04_a_hundred_runs_have_one_answer() {
    let walk = random_walk(1_500, 17).unwrap();
    let grid = Grid::parse("hma:9..=40:4", "hma3:24..=72:8").unwrap();
    let pool = Pool::new(Some(4));
    let first = pool.sweep(&walk, &grid, &Rules::published()).unwrap();
    for _ in 0..100 {
        assert_eq!(
            pool.sweep(&walk, &grid, &Rules::published()).unwrap().rows,
            first.rows
        );
    }
}

#[test]
fn la_02_a_run_cut_short_has_the_same_closed_trades() {
    let walk = random_walk(1_200, 19).unwrap();
    let grid = Grid::parse("hma:9,20", "hma3:24,48").unwrap();
    for engine in engines() {
        let whole = engine.trades(&walk, &grid, &Rules::published()).unwrap();
        let mut compared = 0;
        for bars in (100..1_200).step_by(50) {
            let part = walk.slice(0..bars).unwrap();
            let part = engine.trades(&part, &grid, &Rules::published()).unwrap();
            for (part, whole) in part.iter().zip(&whole) {
                let closed = part.iter().filter(|trade| !trade.is_open);
                for (a, b) in closed.zip(whole) {
                    assert_eq!(a, b, "{} cut at {bars}", engine.name());
                    compared += 1;
                }
            }
        }
        assert!(compared > 2_000, "{compared}");
    }
}
