//! What the command line says: in one style, about the right thing, with a remedy that the command line has.

use super::*;

fn written(folder: &TempDir, name: &str, content: &str) -> std::path::PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, content).unwrap();
    path
}

#[test]
fn questions_too_large_to_hold_are_refused_with_their_size() {
    let grid = ["--fast", "sma:1..=1000000", "--slow", "wma:1..=1000"];
    let error = fail(&with(&["sweep", WALK], &grid), 2);
    assert!(
        error.contains("1,000,000,000 combinations, the limit is 134,217,728: take larger steps"),
        "{error}"
    );
    let pictures = TempDir::new().unwrap();
    let grid = ["--fast", "sma:1..=1000", "--slow", "wma:1..=1000"];
    let arguments = with(&["sweep", WALK, "--plot", text(pictures.path())], &grid);
    let error = fail(&arguments, 2);
    assert!(error.contains("the grid has 1,000,000"), "{error}");
}

#[test]
fn options_that_would_change_nothing_are_refused() {
    for (arguments, said) in [
        (
            ["--engine", "m0", "--threads", "2"],
            "--threads changes nothing",
        ),
        (
            ["--engine", "auto", "--threads", "2"],
            "--threads changes nothing",
        ),
        (
            ["--engine", "m0", "--bar", "1m"],
            "--bar is for price files",
        ),
        (
            ["--top", "1", "--duplicates", "last"],
            "--duplicates is for price files",
        ),
    ] {
        let error = fail(&with(&with(&["sweep", WALK], &GRID), &arguments), 2);
        assert!(error.contains(said), "{error}");
    }
    let dropped = with(&with(&["sweep", WALK], &GRID), &["--drop-last"]);
    assert!(fail(&dropped, 2).contains("--drop-last is for price files"));
}

#[test]
fn fills_at_opens_that_are_not_there_name_the_option() {
    for command in ["sweep", "trades"] {
        let grid = ["--fast", "hma:20", "--slow", "hma3:48"];
        let arguments = with(&with(&[command, WALK], &grid), &["--fill", "next-open"]);
        let error = fail(&arguments, 1);
        assert!(error.contains("or --fill next-close"), "{error}");
    }
}

#[test]
fn kinds_may_be_mixed_in_one_list() {
    let grid = ["--fast", "sma:5,10,wma:6..=7", "--slow", "sma:20"];
    let said = succeed(&with(&["sweep", WALK], &grid));
    assert!(said.contains("4 combinations on 3,000 bars"), "{said}");
    says(&said, &["sma:5 ", "sma:10 ", "wma:6 ", "wma:7 "]);
}

#[test]
fn long_input_is_not_echoed_in_full() {
    let digits = "9".repeat(3_000);
    let (fast, walk) = (format!("sma:{digits}"), format!("random-walk:{digits}"));
    let folder = TempDir::new().unwrap();
    let prices = written(&folder, "long.csv", &format!("close\n1\nx{digits}\n"));
    for (arguments, code) in [
        (vec!["sweep", WALK, "--fast", &fast, "--slow", "sma:9"], 2),
        (with(&["sweep", &walk], &GRID), 2),
        (with(&["sweep", WALK, "--metric", &digits], &GRID), 2),
        (with(&["sweep", WALK, "--engine", &digits], &GRID), 2),
        (with(&["sweep", text(&prices)], &GRID), 1),
    ] {
        let error = fail(&arguments, code);
        assert!(error.len() < 600 && error.contains("3,00"), "{error}");
    }
}

#[test]
fn check_says_what_is_wrong_and_nothing_else() {
    let folder = TempDir::new().unwrap();
    let small = written(&folder, "small.csv", "close\n1\n1e-324\n");
    let output = crosscheck(&["check", text(&small)]);
    let said = stdout(&output);
    assert!(
        said.contains("line 3: close is '1e-324', below the smallest f64"),
        "{said}"
    );

    let gap = written(
        &folder,
        "gap.csv",
        "timestamp,close\n60,1\n120,1\n180,x\n240,1\n300,1\n",
    );
    let said = stdout(&crosscheck(&["check", text(&gap)]));
    for line in [
        "rows              5\n",
        "usable bars       4\n",
        "gaps              1, 1 bar missing\n",
        "warning: 1 bar is missing in 1 gap, the largest of 1 before bar 2",
        "note: 1 row with faults left out, which may be what is missing\n",
        "unreadable rows: 1, the first on line 4",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }

    let returns = written(
        &folder,
        "mac.csv",
        "timestamp,close\r60,1\r\r120,2\r180,x\r",
    );
    let said = stdout(&crosscheck(&["check", text(&returns)]));
    assert!(
        said.contains("rows              3\n") && said.contains("line 5: close is 'x'"),
        "{said}"
    );
}

#[cfg(unix)]
#[test]
fn a_device_that_never_ends_is_no_price_file() {
    for command in [
        vec!["check", "/dev/zero"],
        with(&["sweep", "/dev/zero"], &GRID),
    ] {
        let error = fail(&command, 1);
        assert!(error.contains("more than 1048576 bytes"), "{error}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn help_that_cannot_be_written_is_no_success() {
    let run = |argument: &str, out: fs::File| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_crosscheck"));
        command.arg(argument).stdout(out).output().unwrap()
    };
    for argument in ["--help", "--version"] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let output = run(argument, full);
        assert_eq!(output.status.code(), Some(1), "{argument}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("standard output"));
    }
    assert!(succeed(&["--help"]).contains("Exit codes: 0 done"));
}

#[test]
fn a_broken_engine_fails_where_that_is_asked() {
    let parity = ["parity", "random-walk:30000:42", "--engine"];
    let grid = ["--fast", "hma:20", "--slow", "hma3:24"];
    let broken = with(&with(&parity, &["prefix-f32"]), &grid);
    assert!(succeed(&broken).contains("BROKEN"));
    let error = fail(&with(&broken, &["--fail-on-broken"]), 1);
    assert!(error.contains("BROKEN: prefix-f32"), "{error}");
    succeed(&with(
        &with(&with(&parity, &["m2"]), &grid),
        &["--fail-on-broken"],
    ));
}

#[test]
fn a_damaged_note_of_progress_says_so() {
    let folder = TempDir::new().unwrap();
    let rows = folder.path().join("rows.csv");
    let arguments = with(&["sweep", WALK, "--resume", "--out", text(&rows)], &GRID);
    written(&folder, "rows.csv.partial", "fast,slow\n");
    let error = fail(&arguments, 1);
    assert!(error.contains("partial.json cannot be read"), "{error}");
    for note in ["", "{\"question\": 1", "[]", "{}"] {
        written(&folder, "rows.csv.partial.json", note);
        let error = fail(&arguments, 1);
        assert!(
            error.contains("partial.json is damaged")
                && error.contains("remove both and start again"),
            "{error}"
        );
    }
    assert_eq!(
        names_in(&folder),
        ["rows.csv.partial", "rows.csv.partial.json"]
    );
}

#[test]
fn check_exits_as_sweep_does_under_the_same_reading_options() {
    let folder = TempDir::new().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let gap = file("gap.csv", "timestamp,close\n60,1\n120,2\n180,3\n360,2\n");
    let double = file("double.csv", "timestamp,close\n60,1\n60,2\n120,3\n180,2\n");
    let bare = file("bare.csv", "close\n1\n2\n3\n");
    let single = file("single.csv", "timestamp,close\n60,1\n");
    let grid = ["--fast", "sma:1", "--slow", "sma:2"];
    let mut refused = 0;
    for (path, options) in [
        (&gap, &["--refuse-gaps"][..]),
        (&gap, &["--refuse-gaps", "--drop-last"]),
        (&gap, &["--bar", "1m"]),
        (&gap, &["--bar", "5m"]),
        (&bare, &["--bar", "1m"]),
        (&bare, &[]),
        (&double, &[]),
        (&double, &["--duplicates", "first"]),
        (&double, &["--duplicates", "last", "--bar", "1m"]),
        (&single, &["--drop-last"]),
    ] {
        let check = crosscheck(&with(&["check", text(path)], options));
        let sweep = crosscheck(&with(&with(&["sweep", text(path)], &grid), options));
        let said = String::from_utf8_lossy(&check.stderr);
        assert_eq!(
            check.status.code(),
            sweep.status.code(),
            "{path:?} {options:?}: {said}"
        );
        refused += usize::from(check.status.code() == Some(1));
    }
    assert_eq!(refused, 5);
    let hint = |options: &[&str]| {
        let said = succeed(&with(&["check", text(&gap)], options));
        said.contains("--drop-last drops it")
    };
    assert!(hint(&[]) && !hint(&["--drop-last"]));
    let error = fail(&["check", text(&gap), "--refuse-gaps", "--json"], 1);
    assert!(error.contains("2 bars are missing"), "{error}");
}
