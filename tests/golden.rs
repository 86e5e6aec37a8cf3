//! Golden trades: counts and `PnL` that a Python program decided in exact integer arithmetic, reproduced by every engine.
//!
//! The files are not part of the project; where the shared folder is missing, every test here shows as ignored.
//! Provenance: `golden/README.md` and `peers/exact_golden.py` of that folder.

#[path = "support/shared.rs"]
mod shared;

use std::process::ExitCode;

use crosscheck::equivalence::assert_strict;
use crosscheck::{
    Backend, Filter, Grid, Naive, Pool, Rules, Sequential, Series, Vectorized, parse_filters,
    random_walk,
};
use libtest_mimic::{Arguments, Trial};

/// Expected trades: their file, the prices they are of, and how many are due in each reading.
#[derive(Clone, Copy)]
struct Golden {
    file: &'static str,
    /// Price file and its decimals; none for the random walk.
    prices: Option<(&'static str, usize)>,
    in_ticks: u64,
    in_binary: u64,
}

const GOLDEN: [Golden; 4] = [
    Golden {
        file: "golden/algobtc_1m.hma-hma3.csv",
        prices: Some(("data/algobtc_1m.csv", 8)),
        in_ticks: 103_130,
        in_binary: 103_130,
    },
    Golden {
        file: "golden/algobtc_1m.sma-wma.csv",
        prices: Some(("data/algobtc_1m.csv", 8)),
        in_ticks: 74_208,
        in_binary: 74_270,
    },
    Golden {
        file: "golden/btcusdt_1m.hma-hma3.csv",
        prices: Some(("data/btcusdt_1m.csv", 2)),
        in_ticks: 278_795,
        in_binary: 278_795,
    },
    Golden {
        file: "golden/random_walk_150k.hma-hma3.csv",
        prices: None,
        in_ticks: 0,
        in_binary: 315_561,
    },
];

const ENGINES: [&str; 4] = ["m0", "m1", "m2", "m4"];

fn engine(name: &str) -> Box<dyn Backend> {
    match name {
        "m0" => Box::new(Naive::new()),
        "m1" => Box::new(Vectorized::new()),
        "m2" => Box::new(Sequential::new()),
        _ => Box::new(Pool::new(None)),
    }
}

fn main() -> ExitCode {
    let mut trials = Vec::new();
    for golden in GOLDEN {
        // the random walk has no decimal text
        let readings = [("ticks", golden.in_ticks), ("binary", golden.in_binary)];
        for (reading, due) in readings.into_iter().filter(|(_, due)| *due > 0) {
            for name in ENGINES {
                let files = [Some(golden.file), golden.prices.map(|prices| prices.0)];
                let title = format!("{name} {} {reading}", golden.file);
                trials.push(trial(title, &files, move || {
                    reproduce(name, golden, reading, due);
                }));
            }
        }
    }
    for (id, file, decimals) in [
        ("CR-09", "data/algobtc_1m.csv", 8),
        ("RG-01", "data/btcusdt_1m_7d.csv", 2),
    ] {
        for name in ENGINES {
            let files = [Some("cases/cases.json"), Some(file)];
            trials.push(trial(format!("{name} {id}"), &files, move || {
                crossings(name, id, file, decimals);
            }));
        }
    }
    let title = "NA-08 volumes play no part".to_owned();
    trials.push(trial(
        title,
        &[Some("data/algobtc_1m.csv")],
        volumes_play_no_part,
    ));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// A test that shows as ignored where one of its files is missing.
fn trial(title: String, files: &[Option<&str>], run: impl FnOnce() + Send + 'static) -> Trial {
    let is_there = files
        .iter()
        .flatten()
        .all(|file| shared::shared(file).is_some());
    let run = move || {
        run();
        Ok(())
    };
    Trial::test(title, run).with_ignored_flag(!is_there)
}

struct Row {
    fast: Filter,
    slow: Filter,
    trades: u64,
    pnl_pct: f64,
}

fn rows(file: &str, reading: &str) -> Vec<Row> {
    let text = shared::text(file);
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    let column = |name: &str| head.iter().position(|&field| field == name).unwrap();
    let trades = column(&format!("trades_{reading}"));
    let pnl_pct = column(&format!("pnl_pct_{reading}"));
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        Row {
            fast: parse_filters(fields[0]).unwrap().remove(0),
            slow: parse_filters(fields[1]).unwrap().remove(0),
            trades: fields[trades].parse().unwrap(),
            pnl_pct: fields[pnl_pct].parse().unwrap(),
        }
    };
    lines.map(row).collect()
}

fn series(prices: Option<(&str, usize)>, reading: &str) -> Series {
    let Some((file, decimals)) = prices else {
        return random_walk(150_000, 42).unwrap();
    };
    let series = shared::ticks(file, decimals);
    if reading == "ticks" {
        series
    } else {
        series.into_binary()
    }
}

/// M0 costs a window a bar and a combination, so it answers for every ninth row; the others for all.
fn reproduce(name: &str, golden: Golden, reading: &str, due: u64) {
    let mut rows = rows(golden.file, reading);
    assert_eq!(
        rows.iter().map(|row| row.trades).sum::<u64>(),
        due,
        "the file is another one"
    );
    if name == "m0" {
        rows = rows.into_iter().step_by(9).collect();
    }
    let pairs: Vec<_> = rows
        .iter()
        .map(|row| (row.fast.clone(), row.slow.clone()))
        .collect();
    let grid = Grid::from_pairs(&pairs).unwrap();
    let sweep = engine(name)
        .sweep(&series(golden.prices, reading), &grid, &Rules::default())
        .unwrap();
    assert!(sweep.diagnostics.certified);
    for (row, found) in rows.iter().zip(&sweep.rows) {
        let at = format!("{} / {}", row.fast, row.slow);
        assert_eq!(found.totals.trades, row.trades, "{at}");
        let off = (found.totals.pnl_pct - row.pnl_pct).abs();
        assert!(
            off <= 1e-6,
            "{at}: PnL {} is off by {off:e}",
            found.totals.pnl_pct
        );
    }
}

/// A case of the list with one row a combination: count of crossings, the first three, the last, and the exact ties.
fn crossings(name: &str, id: &str, file: &str, decimals: usize) {
    let cases: serde_json::Value = serde_json::from_str(&shared::text("cases/cases.json")).unwrap();
    let case = cases
        .as_array()
        .unwrap()
        .iter()
        .find(|case| case["id"] == id)
        .unwrap();
    let rows = case["expected"]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 9);
    let series = shared::ticks(file, decimals);
    for row in rows {
        let kind = row["kind"].as_str().unwrap();
        let filter = |side: &str| format!("{kind}:{}", row[side]);
        let grid = Grid::parse(&filter("fast"), &filter("slow")).unwrap();
        let question = crosscheck::Question::new(&series, &grid).unwrap();
        assert_eq!(question.first_bar(0) as u64, row["first_index"]);
        let bars = engine(name).crossovers(&series, &grid).unwrap().remove(0);
        assert_eq!(bars.len() as u64, row["crosses"], "{row}");
        let signed = |bar: u32| {
            let sign = question.predicate(0).decide_exactly(bar as usize) as i8;
            serde_json::json!([bar, sign])
        };
        let first: Vec<_> = bars.iter().take(3).map(|&bar| signed(bar)).collect();
        assert_eq!(serde_json::Value::from(first), row["first3"], "{row}");
        assert_eq!(signed(*bars.last().unwrap()), row["last"], "{row}");
        if name == "m2" {
            let all = question.first_bar(0)..series.bars();
            let ties = all
                .filter(|&bar| question.predicate(0).decide(bar).ordering.is_eq())
                .count();
            assert_eq!(ties as u64, row["exact_ties"], "{row}");
        }
    }
}

fn volumes_play_no_part() {
    let text = shared::text("data/algobtc_1m.csv");
    let volumes: Vec<f64> = text
        .lines()
        .skip(1)
        .map(|line| line.rsplit(',').next().unwrap().parse().unwrap())
        .collect();
    assert_eq!(
        volumes.iter().filter(|&&volume| volume == 0.0).count(),
        21_935
    );
    let closes = shared::ticks("data/algobtc_1m.csv", 8);
    let with = closes.clone().with_volumes(volumes).unwrap();
    let without = closes.with_volumes(vec![0.0; with.bars()]).unwrap();
    let grid = Grid::parse("hma:20,60", "hma3:24,96").unwrap();
    for name in ENGINES {
        let engine = engine(name);
        let trades = |series| engine.trades(series, &grid, &Rules::published()).unwrap();
        assert_eq!(trades(&with), trades(&without));
        assert_strict(&Naive::new(), &*engine, &without, &grid, &Rules::default());
    }
}
