//! What the command line refuses, and what it says.

use super::*;

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
        (
            with(&["sweep", WALK, "--metric", "compounded_pct"], &GRID),
            "give --compound, or another --metric",
        ),
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

#[test]
fn numbers_that_make_no_sense_are_refused() {
    for (arguments, remedy) in [
        (["--chunk", "0"], "1 or more"),
        (["--periods-per-year", "0"], "above 0"),
        (
            ["--fee-pct", "-1"],
            "a fee of -1 % a round trip: give 0 or more",
        ),
        (["--fast", "hma:5,9,5"], "hma:5 is there twice"),
    ] {
        let mut all = vec!["sweep", WALK, "--slow", "hma3:24"];
        if arguments[0] != "--fast" {
            all.extend(["--fast", "hma:20"]);
        }
        let error = fail(&with(&all, &arguments), 2);
        assert!(error.contains(remedy), "{arguments:?}: {error}");
    }
}

#[test]
fn limits_and_endings_that_make_no_sense_are_refused() {
    for limit in ["NaN", "-1", "inf"] {
        let parity = with(&["parity", WALK], &["--max-pnl-pp", limit]);
        assert!(fail(&parity, 2).contains("0 or more"), "{limit}");
    }
    let trades = ["trades", WALK, "--fast", "sma:5", "--slow", "sma:5"];
    let error = fail(&with(&trades, &["--out", "trades.parquet"]), 2);
    assert!(error.contains("name the file .csv"), "{error}");
    let said = succeed(&trades);
    assert!(said.contains("0 trades, 0.0"), "{said}");
}

/// The first bytes of a pipe are there once: looking at them must not take them from the reader.
#[cfg(unix)]
#[test]
fn prices_from_a_pipe_are_those_of_the_file() {
    let folder = TempDir::new().unwrap();
    let (file, pipe) = (price_file(&folder, 300), folder.path().join("pipe"));
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let sweep = |prices: &str| {
        let rows = folder.path().join("rows.csv");
        let grid = ["--fast", "sma:1", "--slow", "sma:3"];
        succeed(&with(&["sweep", prices, "--out", text(&rows)], &grid));
        fs::read_to_string(rows).unwrap()
    };
    let expected = sweep(text(&file));
    let writer = std::thread::spawn({
        let (bytes, pipe) = (fs::read(&file).unwrap(), pipe.clone());
        move || fs::write(pipe, bytes).unwrap()
    });
    assert_eq!(sweep(text(&pipe)), expected);
    writer.join().unwrap();
}

#[test]
fn the_longest_need_is_named() {
    let error = fail(&["ladder", "--bars", "30", "--engines", "m2"], 1);
    assert!(
        error.contains("hma:200 needs 213 bars, the series has 30"),
        "{error}"
    );
}

#[test]
fn a_timeframe_longer_than_the_file_says_so() {
    let folder = TempDir::new().unwrap();
    let prices = price_file(&folder, 100);
    let error = fail(
        &with(&["sweep", text(&prices), "--timeframe", "1d"], &GRID),
        1,
    );
    says(
        &error,
        &[
            "prices.csv",
            "no bar of 1d",
            "100 bars of 1m",
            "shorter --timeframe",
        ],
    );
}

#[test]
fn paths_that_are_not_there_come_with_a_remedy() {
    let folder = TempDir::new().unwrap();
    let missing = folder.path().join("missing.csv");
    let error = fail(&["check", text(&missing)], 1);
    assert!(
        error.contains("missing.csv") && error.contains("a file that is there"),
        "{error}"
    );
    let nowhere = folder.path().join("no").join("rows.csv");
    for arguments in [
        with(&["sweep", WALK, "--out", text(&nowhere)], &GRID),
        vec!["trap", "--bars", "2000", "--json", text(&nowhere)],
        vec![
            "ladder",
            "--bars",
            "2000",
            "--engines",
            "m2",
            "--json",
            text(&nowhere),
        ],
    ] {
        let error = fail(&arguments, 1);
        assert!(
            error.contains("rows.csv") && error.contains("make it first"),
            "{error}"
        );
    }
}

#[test]
fn one_fault_is_no_faults_and_huge_prices_are_short() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("prices.csv");
    fs::write(&path, "timestamp,close\n60,1\n60,2\n").unwrap();
    assert!(fail(&["check", text(&path)], 1).contains("has 1 fault\n"));
    let rows: Vec<_> = (0..60)
        .map(|bar| format!("{}e300\n", 1 + bar * bar % 7))
        .collect();
    fs::write(&path, format!("close\n{}", rows.concat())).unwrap();
    let said = succeed(&["check", text(&path), "--reading", "binary"]);
    assert!(said.contains("1e300 to 5e300"), "{said}");
    let trades = [
        "trades",
        text(&path),
        "--reading",
        "binary",
        "--fast",
        "sma:1",
        "--slow",
        "sma:9",
    ];
    let table = succeed(&trades);
    assert!(
        table.contains("e300") && table.lines().all(|line| line.len() < 120),
        "{table}"
    );
    fs::write(&path, "close\n1e300\n-1e300\n").unwrap();
    let error = fail(&with(&trades[..2], &trades[2..]), 1);
    assert!(error.contains("line 3: close is -1e300"), "{error}");
}

#[test]
fn two_close_columns_are_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("prices.csv");
    fs::write(&path, "date,close,volume,Close\n2025-01-01,1,1,2\n").unwrap();
    let error = fail(&with(&["sweep", text(&path)], &GRID), 1);
    assert!(error.contains("columns 2 'close' and 4 'Close'"), "{error}");
}

#[test]
fn bars_that_are_open_at_the_end_of_a_time_frame_are_refused() {
    let folder = TempDir::new().unwrap();
    let prices = folder.path().join("offset.csv");
    let row = |bar: i64| {
        let time = 1_735_696_800_000 + bar * 14_400_000;
        format!("{time},{}\n", 100 + bar % 7)
    };
    let rows: String = (0..60).map(row).collect();
    fs::write(&prices, format!("timestamp,close\n{rows}")).unwrap();
    let grid = ["--fast", "sma:2", "--slow", "sma:3"];
    let error = fail(
        &with(&["sweep", text(&prices), "--timeframe", "1d"], &grid),
        1,
    );
    says(
        &error,
        &[
            "offset.csv: bar 5, of 4h from 2025-01-01T22:00:00Z",
            "ends at 2025-01-02T00:00:00Z",
            "whole multiples of 4h",
        ],
    );
}

#[test]
fn columns_may_begin_with_one_that_is_passed_over() {
    let folder = TempDir::new().unwrap();
    let prices = folder.path().join("bare.csv");
    fs::write(&prices, "7,1.5\n8,2.5\n9,1.25\n").unwrap();
    let apart = succeed(&["check", text(&prices), "--columns", "-,close"]);
    assert_eq!(
        apart,
        succeed(&["check", text(&prices), "--columns=-,close"])
    );
    assert!(apart.contains("closes            1.25 to 2.5"), "{apart}");
}

#[test]
fn check_writes_json_of_files_that_are_not_read_at_all() {
    let folder = TempDir::new().unwrap();
    let utf16 = folder.path().join("utf16.csv");
    fs::write(&utf16, b"\xff\xfec\0l\0o\0s\0e\0\n\x001\0\n\0").unwrap();
    let missing = folder.path().join("missing.csv");
    for path in [&utf16, &missing, &folder.path().to_path_buf()] {
        let output = crosscheck(&["check", text(path), "--json"]);
        assert_eq!(output.status.code(), Some(1));
        let json: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        let reason = json["error"].as_str().unwrap();
        assert_eq!(error, format!("error: {reason}\n"));
        assert!(reason.contains(text(path)), "{reason}");
    }
}
