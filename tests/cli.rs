//! The command line as a user meets it: what it writes, what it says, and its exit codes.

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
fn usage_errors_exit_with_2_and_say_the_remedy() {
    for (arguments, remedy) in [
        (
            vec!["sweep", WALK, "--fast", "ema:5", "--slow", "sma:9"],
            "the kinds are sma",
        ),
        (
            vec!["sweep", WALK, "--fast", "sma:0", "--slow", "sma:9"],
            "periods start at 1",
        ),
        (
            with(&["sweep", WALK, "--engine", "m9"], &GRID),
            "this build has m0",
        ),
        (
            with(&["sweep", WALK, "--threads", "0"], &GRID),
            "give 1 or more",
        ),
        (
            with(&["sweep", WALK, "--fee-pct", "-1"], &GRID),
            "0 or more",
        ),
        (
            with(&["sweep", "random-walk:x", "--top", "1"], &GRID),
            "random-walk:BARS:SEED",
        ),
        (
            with(&["sweep", WALK, "--reading", "ticks"], &GRID),
            "no ticks",
        ),
        (
            with(&["sweep", WALK, "--timeframe", "5"], &GRID),
            "such as 5m",
        ),
        (with(&["trades", WALK], &GRID), "takes one"),
        (vec!["ladder", "--engines", "m7"], "this build has m0"),
        (
            vec![
                "ladder",
                "--bars",
                "400",
                "--engines",
                "m0",
                "--threads",
                "0",
            ],
            "give 1 or more",
        ),
    ] {
        let error = fail(&arguments, 2);
        assert!(error.contains(remedy), "{arguments:?}: {error}");
    }
}

#[test]
fn data_errors_exit_with_1_and_name_the_place() {
    let folder = TempDir::new().unwrap();
    let bad = folder.path().join("bad.csv");
    fs::write(&bad, "timestamp,close\n60,1\n120,\"1,5\"\n").unwrap();
    let nowhere = folder.path().join("no").join("rows.csv");
    for (arguments, place) in [
        (with(&["sweep", text(&bad)], &GRID), "bad.csv, line 3"),
        (with(&["sweep", "missing.csv"], &GRID), "missing.csv"),
        (
            with(&["sweep", WALK, "--out", text(&nowhere)], &GRID),
            "rows.csv",
        ),
        (
            with(&["sweep", WALK, "--out", text(folder.path())], &GRID),
            "is a folder",
        ),
        (with(&["sweep", "random-walk:10:1"], &GRID), "needs"),
        (with(&["sweep", "random-walk:0:1"], &GRID), "no bars"),
    ] {
        let error = fail(&arguments, 1);
        assert!(error.contains(place), "{arguments:?}: {error}");
    }
}

#[test]
fn a_failed_sweep_leaves_the_earlier_file_alone() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("rows.csv");
    fs::write(&path, "earlier work").unwrap();
    fail(
        &with(&["sweep", "random-walk:10:1", "--out", text(&path)], &GRID),
        1,
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), "earlier work");
    assert_eq!(names_in(&folder), ["rows.csv"]);
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
    for fact in [
        "rows              100",
        "Unix milliseconds",
        "bar length        1m",
        "perhaps unfinished",
    ] {
        assert!(said.contains(fact), "{said}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&succeed(&["check", text(&prices), "--json"])).unwrap();
    assert_eq!(json["series"]["bars"], 100);
    let bad = folder.path().join("bad.csv");
    fs::write(&bad, "timestamp,close\n60,1\n60,2\n30,1\n120,nan\n").unwrap();
    let output = crosscheck(&["check", text(&bad)]);
    assert_eq!(output.status.code(), Some(1));
    let said = stdout(&output);
    for fault in [
        "duplicate timestamps: 1, the first on line 3",
        "unsorted rows: 1",
        "unreadable rows: 1",
    ] {
        assert!(said.contains(fault), "{said}");
    }
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
fn an_interrupted_sweep_goes_on_and_ends_with_the_same_bytes() {
    let folder = TempDir::new().unwrap();
    let file = |name: &str| folder.path().join(name);
    for name in ["rows.csv", "rows.jsonl"] {
        let path = file(name);
        let arguments = with(
            &[
                "sweep",
                WALK,
                "--top",
                "2",
                "--metric",
                "sharpe",
                "--out",
                text(&path),
            ],
            &GRID,
        );
        let whole_said = succeed(&arguments);
        let (whole, meta) = (
            fs::read_to_string(&path).unwrap(),
            fs::read(file(&format!("{name}.meta.json"))).unwrap(),
        );
        // What a run that was killed in its third row leaves behind.
        let header = usize::from(name == "rows.csv");
        let ends: Vec<usize> = whole.match_indices('\n').map(|(end, _)| end + 1).collect();
        let partial = file(&format!("{name}.partial"));
        fs::write(&partial, &whole[..ends[header + 1] + 9]).unwrap();
        fs::write(file(&format!("{name}.partial.json")), &meta).unwrap();
        fs::remove_file(&path).unwrap();

        let refused = fail(&arguments, 2);
        assert!(refused.contains("--resume"), "{refused}");
        let other = fail(&with(&arguments, &["--resume", "--fee-pct", "0.1"]), 2);
        assert!(other.contains("another sweep"), "{other}");
        let said = succeed(&with(&arguments, &["--resume", "--chunk", "1"]));
        assert_eq!(fs::read_to_string(&path).unwrap(), whole);
        assert_eq!(fs::read(file(&format!("{name}.meta.json"))).unwrap(), meta);
        assert_eq!(said.lines().next(), whole_said.lines().next());
        assert_eq!(
            said.lines().nth(1),
            whole_said.lines().nth(1),
            "the best row of both parts"
        );
        assert!(!partial.exists());
    }
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
            &["sweep", WALK, "--quiet", "--metrics", "--out", text(path)],
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

#[cfg(unix)]
#[test]
fn ctrl_c_finishes_the_chunk_and_says_how_to_go_on() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("rows.csv");
    let grid = [
        "--fast",
        "hma:20..=400:2",
        "--slow",
        "hma3:24..=400:4",
        "--chunk",
        "20",
        "--out",
        text(&path),
    ];
    let arguments = with(&["sweep", "random-walk:60000:7", "--engine", "m0"], &grid);
    let mut command = Command::new(env!("CARGO_BIN_EXE_crosscheck"));
    let child = command
        .args(&arguments)
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let partial = folder.path().join("rows.csv.partial");
    // The first chunk on disk is the sign that the handler is in place.
    let rows = || fs::read_to_string(&partial).map_or(0, |text| text.lines().count());
    while rows() < 2 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let id = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &id])
            .status()
            .unwrap()
            .success()
    );
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("--resume goes on"), "{said}");
    assert!(rows() >= 21 && !path.exists());
}

#[test]
fn a_result_never_takes_the_place_of_the_prices_or_of_a_device() {
    let folder = TempDir::new().unwrap();
    let prices = folder.path().join("prices.csv");
    let rows: Vec<String> = (0..200)
        .map(|bar| format!("{}\n", 100 + bar * bar % 17))
        .collect();
    let before = format!("close\n{}", rows.concat());
    fs::write(&prices, &before).unwrap();
    let arguments = [
        "sweep",
        text(&prices),
        "--fast",
        "sma:2",
        "--slow",
        "sma:5",
        "--out",
    ];
    let same = folder.path().join(".").join("prices.csv");
    assert!(fail(&with(&arguments, &[text(&same)]), 2).contains("price file itself"));
    assert_eq!(fs::read_to_string(&prices).unwrap(), before);
    #[cfg(unix)]
    {
        let link = folder.path().join("link.csv");
        std::os::unix::fs::symlink(&prices, &link).unwrap();
        assert!(fail(&with(&arguments, &[text(&link)]), 2).contains("price file itself"));
        let elsewhere = folder.path().join("elsewhere.csv");
        fs::write(&elsewhere, "x").unwrap();
        fs::remove_file(&link).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &link).unwrap();
        assert!(fail(&with(&arguments, &[text(&link)]), 1).contains("is a link"));
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "x");
    }
}

#[test]
fn thousands_of_threads_are_refused() {
    let arguments = with(&["sweep", WALK, "--threads", "100000"], &GRID);
    assert!(fail(&arguments, 2).contains("limit is 1024"));
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
