//! Memory that the machine does not give: refused with what was asked and what to make smaller, never an abort.

use super::*;

/// Runs a command that may use so many megabytes of addresses and must be refused; returns what it said.
fn refused(megabytes: usize, arguments: &[&str]) -> String {
    let script = format!("ulimit -v {}; exec \"$0\" \"$@\"", megabytes * 1024);
    let mut command = Command::new("sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_crosscheck")]);
    let output = command.args(arguments).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {error}");
    assert!(
        error.contains("bytes of memory, which could not be had"),
        "{error}"
    );
    error
}

#[test]
fn what_the_memory_cannot_hold_is_refused_with_what_to_make_smaller() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("trades.csv");
    let hma = ["--fast", "hma:20", "--slow", "hma3:24"];
    let sma = ["--fast", "sma:1", "--slow", "sma:2"];
    let large = [
        "--fast",
        "sma:2..=401",
        "--slow",
        "sma:3..=402",
        "--chunk",
        "160000",
    ];
    let long = "random-walk:3000000:1";
    for (megabytes, arguments, remedies) in [
        (
            600,
            with(&["sweep", "random-walk:100000000:1"], &hma),
            ["100,000,000 bars", "fewer bars"],
        ),
        (
            350,
            with(&["sweep", "random-walk:1000:1"], &large),
            ["fewer combinations", "a smaller --chunk than 160000"],
        ),
        (
            500,
            with(&["sweep", long, "--engine", "m1"], &hma),
            ["engine m1", "take engine m2 or m4"],
        ),
        (
            250,
            with(&["trades", long, "--out", text(&out)], &sma),
            ["trades need", "longer periods"],
        ),
        (
            500,
            with(&["parity", long, "--engine", "direct-f32"], &[]),
            ["the report on", "fewer filters"],
        ),
    ] {
        let error = refused(megabytes, &arguments);
        for part in remedies {
            assert!(error.contains(part), "{error}");
        }
    }
    assert!(names_in(&folder).is_empty());
}

/// The size of a chunk that nobody asked for is halved until the memory holds it.
#[test]
fn chunks_shrink_to_the_memory_and_change_no_byte() {
    let folder = TempDir::new().unwrap();
    let [free, tight] = ["free.csv", "tight.csv"].map(|name| folder.path().join(name));
    let walk = ["sweep", "random-walk:1000:1", "--totals-only", "--quiet"];
    let grid = ["--fast", "sma:2..=401", "--slow", "sma:3..=402"];
    let sweep = with(&with(&walk, &grid), &["--threads", "2", "--out"]);
    succeed(&with(&sweep, &[text(&free)]));
    let script = "ulimit -v 250000; exec \"$0\" \"$@\"";
    let limited = |arguments: &[&str]| {
        let mut command = Command::new("sh");
        command.args(["-c", script, env!("CARGO_BIN_EXE_crosscheck")]);
        command.args(arguments).output().unwrap()
    };
    let output = limited(&with(&sweep, &[text(&tight)]));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    assert!(fs::read(&tight).unwrap() == fs::read(&free).unwrap());
    // The first chunk, of 80,000 combinations, is one that the memory does not hold.
    let asked = with(&sweep, &[text(&tight), "--chunk", "80000"]);
    assert!(
        String::from_utf8_lossy(&limited(&asked).stderr).contains("smaller --chunk than 80000")
    );
}

/// How many rows a file has is not known before its end.
#[test]
fn rows_of_a_file_are_asked_for_as_they_come() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("prices.csv");
    fs::write(&path, format!("close\n{}", "1\n2\n".repeat(4_000_000))).unwrap();
    for command in ["check", "sweep"] {
        let grid = ["--fast", "sma:2", "--slow", "sma:5"];
        let rest = if command == "sweep" { &grid[..] } else { &[] };
        let error = refused(250, &with(&[command, text(&path)], rest));
        assert!(error.contains("bars need"), "{error}");
    }
}
