//! The command line as a user meets it: what it writes, what it says, and its exit codes.

#[path = "cli/faults.rs"]
mod faults;
#[path = "cli/kept.rs"]
mod kept;
#[cfg(target_os = "linux")]
#[path = "cli/memory.rs"]
mod memory;
#[path = "cli/messages.rs"]
mod messages;
#[path = "cli/outputs.rs"]
mod outputs;
#[path = "cli/own_files.rs"]
mod own_files;
#[path = "cli/page.rs"]
mod page;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

const GRID: [&str; 4] = ["--fast", "hma:20,40", "--slow", "hma3:24,48"];
const WALK: &str = "random-walk:3000:7";

fn crosscheck(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crosscheck"));
    command.args(arguments).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Runs a command that must succeed.
fn succeed(arguments: &[&str]) -> String {
    let output = crosscheck(arguments);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {error}");
    stdout(&output)
}

/// Runs a command that must fail with the exit code; returns what it said.
fn fail(arguments: &[&str], code: i32) -> String {
    let output = crosscheck(arguments);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {error}");
    error
}

/// Holds that a text has each of these parts.
fn says(said: &str, parts: &[&str]) {
    for part in parts {
        assert!(said.contains(part), "{part} is not in {said}");
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn with<'a>(start: &[&'a str], rest: &[&'a str]) -> Vec<&'a str> {
    [start, rest].concat()
}

fn names_in(folder: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(folder.path()).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// A file of rising and falling minutes in ticks of 0.01.
fn price_file(folder: &TempDir, bars: usize) -> std::path::PathBuf {
    let path = folder.path().join("prices.csv");
    let row = |bar: usize| {
        let cents = 10_000 + (bar * bar) % 97 + 200 * ((bar / 50) % 2);
        let close = cents as f64 / 100.0;
        format!(
            "{},{close},{close},{close},{close},1\n",
            1_747_699_200_000 + bar * 60_000
        )
    };
    let rows: String = (0..bars).map(row).collect();
    fs::write(
        &path,
        format!("timestamp,open,high,low,close,volume\n{rows}"),
    )
    .unwrap();
    path
}

#[test]
fn sweep_writes_the_rows_in_the_order_of_the_grid() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("rows.csv");
    let said = succeed(&with(
        &with(&["sweep", WALK], &GRID),
        &["--out", text(&path), "--top", "1"],
    ));
    assert!(said.contains("4 combinations"), "{said}");
    let rows = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = rows.lines().collect();
    assert!(
        lines[0].starts_with("fast,slow,trades,pnl_pct,wins"),
        "{rows}"
    );
    let names = [
        "hma:20,hma3:24,",
        "hma:20,hma3:48,",
        "hma:40,hma3:24,",
        "hma:40,hma3:48,",
    ];
    assert_eq!(lines.len(), 5);
    for (line, name) in lines[1..].iter().zip(names) {
        assert!(line.starts_with(name), "{rows}");
    }
    assert_eq!(names_in(&folder), ["rows.csv", "rows.csv.meta.json"]);
    let meta: serde_json::Value = serde_json::from_str(
        &fs::read_to_string(folder.path().join("rows.csv.meta.json")).unwrap(),
    )
    .unwrap();
    assert_eq!(
        (&meta["engine"], &meta["bars"]),
        (&"m4".into(), &3_000.into())
    );
}

#[test]
fn every_engine_writes_the_same_bytes() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("rows.csv");
    let mut files = Vec::new();
    for engine in ["m0", "m1", "m2", "m4"] {
        let arguments = with(
            &[
                "sweep",
                WALK,
                "--quiet",
                "--engine",
                engine,
                "--out",
                text(&path),
            ],
            &GRID,
        );
        assert_eq!(succeed(&arguments), "", "--quiet says nothing");
        files.push(fs::read(&path).unwrap());
    }
    assert!(files[0].len() > 100);
    assert!(files.iter().all(|file| *file == files[0]));
}

#[test]
fn la_04_trades_bear_the_time_at_which_they_are_known() {
    let folder = TempDir::new().unwrap();
    let (prices, path) = (price_file(&folder, 400), folder.path().join("trades.csv"));
    let arguments = [
        "trades",
        text(&prices),
        "--fast",
        "sma:1",
        "--slow",
        "sma:20",
        "--out",
        text(&path),
    ];
    succeed(&arguments);
    let rows = fs::read_to_string(&path).unwrap();
    let mut lines = rows.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    let at = |name| head.iter().position(|column| *column == name).unwrap();
    let mut count = 0;
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let bar: i64 = cells[at("entry_bar")].parse().unwrap();
        let time: i64 = cells[at("entry_time_ms")].parse().unwrap();
        assert_eq!(time, 1_747_699_200_000 + (bar + 1) * 60_000);
        assert_eq!(cells[at("crosses_gap")], "false");
        count += 1;
    }
    assert!(count > 10, "{count} trades");
    let table = succeed(&arguments[..6]);
    assert!(
        table.contains("2025-05-20T") && table.contains("times are those of the fills"),
        "{table}"
    );
}

#[test]
fn na_10_trades_across_a_gap_are_marked() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("gap.csv");
    let minute = |bar: usize| if bar < 30 { bar } else { bar + 100 };
    let close = |bar: usize| {
        if (bar / 5).is_multiple_of(2) {
            1.0
        } else {
            2.0
        }
    };
    let row = |bar| format!("{},{}\n", minute(bar) * 60, close(bar));
    let rows: Vec<String> = (0..60).map(row).collect();
    fs::write(&path, format!("timestamp,close\n{}", rows.concat())).unwrap();
    let arguments = ["trades", text(&path), "--fast", "sma:1", "--slow", "sma:3"];
    let output = crosscheck(&arguments);
    let warning = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(warning.contains("100 bars are missing"), "{warning}");
    let table = stdout(&output);
    assert_eq!(
        table.lines().filter(|line| line.ends_with("gap")).count(),
        1,
        "{table}"
    );
    let refused = fail(&with(&arguments, &["--refuse-gaps"]), 1);
    assert!(refused.contains("100 bars are missing"), "{refused}");
}

#[test]
fn io_10_timeframes_are_declared_and_resampled() {
    let folder = TempDir::new().unwrap();
    let prices = price_file(&folder, 400);
    let grid = ["--fast", "sma:2", "--slow", "sma:5"];
    let said = succeed(&with(&["sweep", text(&prices), "--timeframe", "5m"], &grid));
    assert!(said.contains("80 bars, ticks reading"), "{said}");
    let error = fail(&with(&["sweep", text(&prices), "--bar", "1d"], &grid), 1);
    assert!(
        error.contains("60 s does not match the declared 86400 s"),
        "{error}"
    );
    let error = fail(
        &with(&["sweep", text(&prices), "--timeframe", "90s"], &grid),
        2,
    );
    assert!(error.contains("multiple"), "{error}");
}

#[test]
fn check_reports_everything_and_exits_with_1_on_faults() {
    let folder = TempDir::new().unwrap();
    let prices = price_file(&folder, 100);
    let said = succeed(&["check", text(&prices)]);
    says(
        &said,
        &[
            "rows              100",
            "Unix milliseconds",
            "bar length        1m",
            "perhaps unfinished",
        ],
    );
    let json: serde_json::Value =
        serde_json::from_str(&succeed(&["check", text(&prices), "--json"])).unwrap();
    assert_eq!(json["series"]["bars"], 100);
    let bad = folder.path().join("bad.csv");
    fs::write(&bad, "timestamp,close\n60,1\n60,2\n30,1\n120,nan\n").unwrap();
    let output = crosscheck(&["check", text(&bad)]);
    assert_eq!(output.status.code(), Some(1));
    let said = stdout(&output);
    says(
        &said,
        &[
            "duplicate timestamps: 1, the first on line 3",
            "unsorted rows: 1",
            "unreadable rows: 1",
        ],
    );
}

#[test]
fn ladder_writes_one_object_an_engine() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("ladder.json");
    let said = succeed(&[
        "ladder",
        "--bars",
        "2000",
        "--engines",
        "m0,m1,m2,m4",
        "--threads",
        "2",
        "--json",
        text(&path),
    ]);
    assert!(said.contains("extrapolated from 5"), "{said}");
    let json: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let rungs = json.as_array().unwrap();
    assert_eq!(rungs.len(), 4);
    for (rung, engine) in rungs.iter().zip(["m0", "m1", "m2", "m4"]) {
        assert_eq!(rung["engine"], engine);
        assert_eq!(
            (&rung["strict"], &rung["combinations"]),
            (&true.into(), &80.into())
        );
        assert_eq!(rung["extrapolated"], engine == "m0");
        let (speed, seconds) = (
            rung["combinations_per_s"].as_f64(),
            rung["seconds"].as_f64(),
        );
        assert!((speed.unwrap() * seconds.unwrap() - 80.0).abs() < 1e-6);
    }
    assert_eq!(rungs[3]["threads"], 2);
    assert_eq!(rungs[0]["ratio_to_m0"], 1.0);
}

#[test]
fn json_lines_hold_the_same_rows() {
    let folder = TempDir::new().unwrap();
    let (csv, jsonl) = (
        folder.path().join("rows.csv"),
        folder.path().join("rows.jsonl"),
    );
    for path in [&csv, &jsonl] {
        succeed(&with(
            &["sweep", WALK, "--quiet", "--out", text(path)],
            &GRID,
        ));
    }
    let table = fs::read_to_string(&csv).unwrap();
    let mut lines = table.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    assert!(
        head.contains(&"sharpe") && head.contains(&"profit_factor"),
        "{head:?}"
    );
    let objects = fs::read_to_string(&jsonl).unwrap();
    assert_eq!(objects.lines().count(), 4);
    for (line, object) in lines.zip(objects.lines()) {
        let row: serde_json::Value = serde_json::from_str(object).unwrap();
        assert_eq!(row.as_object().unwrap().len(), head.len());
        for (name, cell) in head.iter().zip(line.split(',')) {
            let value = &row[*name];
            let is_same = match value {
                serde_json::Value::String(text) => text == cell,
                serde_json::Value::Null => cell.is_empty(),
                serde_json::Value::Bool(value) => cell.parse() == Ok(*value),
                value => cell
                    .parse::<f64>()
                    .is_ok_and(|number| value.as_f64() == Some(number)),
            };
            assert!(is_same, "{name}: {value} and {cell}");
        }
    }
}

#[cfg(not(feature = "gpu"))]
#[test]
fn raw_gpu_values_need_a_build_with_the_gpu() {
    let error = fail(&["parity", WALK, "--engine", "m5-raw"], 2);
    assert!(error.contains("--features cli,gpu"), "{error}");
}

/// Without an adapter the error says so, unless the machine is known to have one.
#[cfg(feature = "gpu")]
#[test]
fn raw_gpu_values_are_judged_like_any_engine() {
    let arguments = with(&["parity", WALK, "--engine", "m5-raw"], &GRID);
    let output = crosscheck(&arguments);
    if !output.status.success() && std::env::var_os("CROSSCHECK_REQUIRE_GPU").is_none() {
        assert!(fail(&arguments, 1).contains("no GPU adapter"));
        return;
    }
    let report = succeed(&arguments);
    assert!(report.contains("parity of m5-raw against m4"), "{report}");
    let line = report
        .lines()
        .find(|line| line.contains("filter error, relative"))
        .unwrap();
    let error: f64 = line
        .split_whitespace()
        .nth(5)
        .unwrap()
        .trim_end_matches(':')
        .parse()
        .unwrap();
    assert!(
        error > 1e-8 && error < 1e-5,
        "fp32 values, neither exact nor broken: {line}"
    );
}
