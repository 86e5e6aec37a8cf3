//! The claims of `docs/numerics.md`, sections 3 and 4: the filters' bounds and the stages of the predicate.

use std::cmp::Ordering;
use std::sync::Arc;

use crosscheck::equivalence::measure;
use crosscheck::{
    Backend, Error, Expr, Filter, FilterMatrix, Formula, Grid, Naive, Pool, Precision, Question,
    Result, Rules, Sequential, Series, Stage, UNIT_ROUNDOFF, Uncertified, random_walk,
};

fn series(closes: impl Iterator<Item = f64>) -> Series {
    Series::from_closes(&closes.collect::<Vec<_>>()).unwrap()
}

/// Series on which rounding has something to bite on.
fn hostile() -> Vec<(&'static str, Series)> {
    let walk = random_walk(4_000, 9).unwrap();
    let steps = |t: usize| 0.1 + (t / 90 * 37 % 11) as f64 * 0.01;
    vec![
        ("flat stretches", series((0..3_000).map(steps))),
        ("ramp", series((0..2_000).map(|t| 0.1 + f64::from(t) * 0.1))),
        (
            "alternating",
            series((0..2_000).map(|t| if t % 2 == 0 { 0.1 } else { 0.3 })),
        ),
        (
            "spikes",
            series((0..2_000).map(|t| if t % 333 == 7 { 1e6 } else { 0.7 })),
        ),
        ("tiny", series(walk.closes().iter().map(|x| x * 1e-12))),
        ("huge", series(walk.closes().iter().map(|x| x * 1e8))),
        ("walk", walk),
    ]
}

fn grid() -> Grid {
    Grid::parse("hma:4,9,20,77", "hma3:6,24,60").unwrap()
}

#[test]
fn values_stay_within_their_bounds() {
    let (grid, mut compared) = (grid(), 0);
    let engines: [&dyn Backend; 3] = [&Naive::new(), &Sequential::new(), &Pool::new(Some(2))];
    for (name, series) in hostile() {
        let question = Question::new(&series, &grid).unwrap();
        let largest = series.closes().iter().copied().fold(0.0, f64::max);
        for engine in engines {
            let matrix = engine.filters(&question).unwrap();
            let bounds = matrix.relative_bounds.expect("certified");
            for ((row, filter), bound) in matrix
                .values
                .rows()
                .into_iter()
                .zip(grid.filters())
                .zip(bounds)
            {
                let error =
                    measure(filter, series.closes(), &row.to_vec(), Precision::Double).unwrap();
                let (found, limit) = (error.max_absolute, bound * largest);
                assert!(
                    found <= limit,
                    "{} {name} {filter}: {found:e} above {limit:e}",
                    engine.name()
                );
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 7 * 3 * 7);
}

/// Section 3's table, applied by hand.
#[test]
fn bounds_follow_the_derivation() {
    let g = crosscheck::gamma;
    let window = |p: usize, (size, error): (f64, f64)| (size, error + g(p + 4) * (size + error));
    let close = (1.0, 0.0);
    let combine = |terms: &[(f64, (f64, f64))]| {
        let size: f64 = terms.iter().map(|(c, node)| c * node.0).sum();
        let error: f64 = terms.iter().map(|(c, node)| c * node.1).sum();
        (size, error + g(terms.len() + 1) * (size + error))
    };
    let hma = |n: usize, s| {
        window(
            s,
            combine(&[(2.0, window(n / 2, close)), (1.0, window(n, close))]),
        )
    };
    let hma3 = |p: usize| {
        let inner = [(3.0, p / 3), (1.0, p / 2), (1.0, p)];
        window(
            p,
            combine(&inner.map(|(c, period)| (c, window(period, close)))),
        )
    };
    for (filter, (size, error)) in [
        (Filter::sma(7), window(7, close)),
        (Filter::wma(200), window(200, close)),
        (Filter::hma(9), hma(9, 3)),
        (Filter::hma(200), hma(200, 14)),
        (Filter::hma3(192), hma3(96)),
    ] {
        let filter = filter.unwrap();
        let bound = filter.relative_error_bound();
        assert!(
            (error * (1.0 + 0.9e-9)..error * 1.000_001).contains(&bound),
            "{filter}: {bound:e} {error:e}"
        );
        assert!(filter.magnification() <= size, "{filter}");
        assert!(
            (size * (1.0 + 0.9e-9)..size * 1.000_001).contains(&filter.magnification_bound()),
            "{filter}"
        );
    }
    // k*u / (1 - k*u) at k*u = 2^-23: the second order is there
    let second_order = g(1 << 30) * f64::from(1 << 23) - 1.0;
    assert!((second_order * f64::from(1 << 23) - 1.0).abs() < 1e-6);
    let units = Filter::hma(9).unwrap().relative_error_bound() / UNIT_ROUNDOFF;
    assert!((58.99..59.01).contains(&units), "{units}");
}

/// Prefix sums in `f64` that claim the bound of direct windows, times a factor.
struct Claims(f64);

impl Backend for Claims {
    fn name(&self) -> &'static str {
        "claims"
    }

    fn filters(&self, question: &Question<'_>) -> Result<FilterMatrix> {
        let prefix = Uncertified::new(Formula::PrefixSums, Precision::Double);
        let mut matrix = prefix.filters(question)?;
        let bound = |filter: &Filter| filter.relative_error_bound() * self.0;
        matrix.relative_bounds = Some(question.filters().iter().map(bound).collect());
        Ok(matrix)
    }
}

#[test]
fn a_bound_that_does_not_hold_is_noticed() {
    let steps = |t: usize| 0.1 + (t / 90 * 37 % 11) as f64 * 0.01;
    let (flat, grid) = (series((0..30_000).map(steps)), grid());
    let trades = |engine: &dyn Backend| engine.trades(&flat, &grid, &Rules::default()).unwrap();
    let truth = trades(&Naive::new());
    assert!(truth.iter().map(Vec::len).sum::<usize>() > 5_000);
    assert_ne!(trades(&Claims(1.0)), truth);
    // the same values with a bound that holds for them are as good as any: the predicate decides what it leaves open
    assert_eq!(trades(&Claims(1e9)), truth);
}

/// Series for the integers: 128 bits are not enough for prices of 1e-9 beside 1e15 in one window.
fn undecided() -> Vec<Series> {
    let mut all: Vec<Series> = hostile().into_iter().map(|(_, series)| series).collect();
    all.push(series(
        (0..600).map(|t| if t % 2 == 0 { 1e15 } else { 1e-9 }),
    ));
    let ticks: Vec<i64> = (0..3_000)
        .map(|t| 600 + (t / 40 * 7) % 5 + i64::from(t % 61 == 0))
        .collect();
    all.push(Series::from_ticks(&ticks, 1e-8).unwrap());
    all
}

/// Hull averages, two simple ones that tie where prices alternate, and some whose weights do not sum to 1: thirds in
/// binary beside exact ones, which differ by less than a rounding, and twice an average beside an average.
fn pairs() -> Grid {
    let pair = |fast: Result<Filter>, slow: Result<Filter>| (fast.unwrap(), slow.unwrap());
    let average = Arc::new(Expr::Sma {
        period: 3,
        of: Arc::new(Expr::Close),
    });
    let twice = Expr::Combination(vec![(2, average)]);
    Grid::from_pairs(&[
        pair(Filter::hma(4), Filter::hma3(24)),
        pair(Filter::hma(20), Filter::hma3(6)),
        pair(Filter::sma(2), Filter::sma(4)),
        pair(Filter::fir("thirds", &[1.0 / 3.0; 3]), Filter::sma(3)),
        pair(Filter::fir("seventh", &[1.0 / 7.0; 7]), Filter::sma(7)),
        pair(Filter::from_expr("twice", twice), Filter::sma(5)),
    ])
    .unwrap()
}

#[test]
fn stages_agree_with_integers() {
    let grid = pairs();
    let mut met = [0_u64; 4];
    for series in undecided() {
        let question = Question::new(&series, &grid).unwrap();
        for combination in 0..grid.combinations() {
            let predicate = question.predicate(combination);
            for bar in question.first_bar(combination)..series.bars() {
                let decision = predicate.decide(bar);
                assert_eq!(
                    decision.ordering,
                    predicate.decide_exactly(bar),
                    "bar {bar}"
                );
                met[match decision.stage {
                    Stage::Flat => 0,
                    Stage::Float => 1,
                    Stage::Integer => 2,
                    Stage::BigInteger => 3,
                }] += 1;
            }
        }
    }
    assert!(met.iter().all(|&count| count > 0), "{met:?}");
}

#[test]
fn exact_differences_have_the_decided_sign() {
    let grid = pairs();
    let mut signs = [0_u64; 3];
    for series in undecided() {
        let question = Question::new(&series, &grid).unwrap();
        for combination in 0..grid.combinations() {
            let predicate = question.predicate(combination);
            for bar in (question.first_bar(combination)..series.bars()).step_by(7) {
                let sign = predicate
                    .exact_difference(bar)
                    .partial_cmp(&0.0)
                    .expect("a number");
                assert_eq!(sign, predicate.decide_exactly(bar), "bar {bar}");
                signs[(sign as i8 + 1) as usize] += 1;
            }
        }
    }
    assert!(signs.iter().all(|&count| count > 10), "{signs:?}");
    let close = |difference: f64, exact: f64| (difference / exact - 1.0).abs() < 1e-15;
    let walk = random_walk(40, 1).unwrap();
    let pair = Grid::parse("sma:1", "sma:2").unwrap();
    let question = Question::new(&walk, &pair).unwrap();
    let [before, last] = [walk.closes()[30], walk.closes()[31]];
    assert!(close(
        question.predicate(0).exact_difference(31),
        (last - before) / 2.0
    ));
    assert_eq!(
        question.predicate(0).decide_exactly(31),
        last.partial_cmp(&before).unwrap_or(Ordering::Equal)
    );
}

/// Which stage settles the only bar of a pair of kernels.
fn stage(closes: &[f64], fast: &[f64], slow: &[f64]) -> (Stage, Ordering) {
    let series = Series::from_closes(closes).unwrap();
    let [fast, slow] = [fast, slow].map(|weights| Filter::fir("kernel", weights).unwrap());
    let grid = Grid::cross(&[fast], &[slow]).unwrap();
    let question = Question::new(&series, &grid).unwrap();
    let predicate = question.predicate(0);
    let decision = predicate.decide(closes.len() - 1);
    assert_eq!(
        decision.ordering,
        predicate.decide_exactly(closes.len() - 1)
    );
    (decision.stage, decision.ordering)
}

/// Kernels of one weight: 9 roundings of a term, twice, of terms that sum to 2: `36 u = 18` last places of a close of 1.
#[test]
fn the_float_stage_decides_beyond_its_bound_only() {
    let of = |places: f64| stage(&[1.0], &[1.0 + places * f64::EPSILON], &[1.0]).0;
    assert_ne!(of(17.0), Stage::Float);
    assert_eq!(of(19.0), Stage::Float);
    let below = |places: f64| stage(&[1.0], &[1.0], &[1.0 + places * f64::EPSILON]);
    assert_ne!(below(17.0).0, Stage::Float);
    assert_eq!(below(19.0), (Stage::Float, Ordering::Less));
}

/// Closes of the least number there is: products round to it or to 0, whatever the weights say. Windows of two leave
/// room for eight of them.
#[test]
fn underflow_is_left_to_the_integers() {
    let least = f64::from_bits(1);
    let closes = [least, least];
    // 0.6 rounds up to 1, both 0.4 round down to 0: the sums turn the side
    assert_eq!(stage(&closes, &[0.6], &[0.4, 0.4]).1, Ordering::Less);
    assert_ne!(stage(&closes, &[7.0], &[0.4, 0.4]).0, Stage::Float);
    assert_eq!(stage(&closes, &[9.0], &[0.4, 0.4]).0, Stage::Float);
}

/// What a filter may be, at the edges: weights and gains down to 1e-60, and denominators up to 800 bits.
#[test]
fn filters_are_taken_up_to_the_edge_of_what_is_proven() {
    for (weight, is_taken) in [
        (1e-60, true),
        (0.9e-60, false),
        (0.9e60, true),
        (1.1e60, false),
    ] {
        let filter = Filter::fir("edge", &[weight]);
        assert_eq!(filter.is_ok(), is_taken, "{weight:e}");
        let is_named = matches!(filter, Err(Error::InvalidWeight { index: 0, .. }));
        assert_eq!(is_named, !is_taken, "{weight:e}");
    }
    let nested = |count: usize, weight: f64| {
        let fir = |of, _| {
            Arc::new(Expr::Fir {
                weights: [weight].as_slice().into(),
                of,
            })
        };
        let expr = (0..count).fold(Arc::new(Expr::Close), fir);
        Filter::from_expr("nested", Expr::Combination(vec![(1, expr)]))
    };
    // a weight of 1 is a whole number over at most 2^54, as far as the bound knows
    assert!(nested(14, 1.0).is_ok());
    assert!(matches!(
        nested(15, 1.0),
        Err(Error::FilterOutOfRange { .. })
    ));
    // a gain of 1e-45, then of 1e-75
    assert!(nested(3, 1e-15).is_ok());
    assert!(matches!(
        nested(5, 1e-15),
        Err(Error::FilterOutOfRange { .. })
    ));
}
