//! Where results go: one writer for each file, and nothing of the user's written over.

use super::*;

/// Starts a sweep that takes minutes, and waits for its first rows.
fn long_sweep(rows: &Path) -> std::process::Child {
    let grid = ["--fast", "hma:20..=400:2", "--slow", "hma3:24..=400:4"];
    let walk = ["sweep", "random-walk:60000:7", "--engine", "m0"];
    let arguments = with(&with(&walk, &grid), &["--out", text(rows)]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_crosscheck"));
    command.stderr(std::process::Stdio::piped());
    let child = command.args(&arguments).spawn().unwrap();
    let partial = rows.with_extension("csv.partial");
    while fs::read_to_string(&partial).map_or(0, |text| text.lines().count()) < 2 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    child
}

#[test]
fn a_second_writer_is_refused_until_the_first_ends_however_it_ends() {
    let folder = TempDir::new().unwrap();
    let rows = folder.path().join("rows.csv");
    let mut first = long_sweep(&rows);
    let partial = folder.path().join("rows.csv.partial");
    let sweep = with(&["sweep", WALK, "--out", text(&rows)], &GRID);
    let trades = ["trades", WALK, "--fast", "sma:5", "--slow", "sma:9"];
    for second in [
        sweep.clone(),
        with(&sweep, &["--resume"]),
        with(&trades, &["--out", text(&rows)]),
    ] {
        let error = fail(&second, 1);
        says(
            &error,
            &[
                "rows.csv",
                "another process",
                "rows.csv.partial.lock",
                "name another",
            ],
        );
    }
    first.kill().unwrap();
    first.wait().unwrap();
    // The file of the lock is still there, the lock is not.
    assert!(folder.path().join("rows.csv.partial.lock").exists());
    assert!(fail(&sweep, 2).contains("--resume"));
    // Nor does another command write over the rows that are kept.
    let kept = fs::read(&partial).unwrap();
    let error = fail(&with(&trades, &["--out", text(&rows)]), 2);
    assert!(error.contains("sweep --resume"), "{error}");
    assert!(fs::read(&partial).unwrap() == kept);
    fs::remove_file(partial).unwrap();
    succeed(&sweep);
    assert_eq!(fs::read_to_string(&rows).unwrap().lines().count(), 5);
}

/// Of many writers at once each either writes the whole file or is refused, and no lock is left behind.
#[test]
fn writers_at_once_leave_one_whole_file() {
    let folder = TempDir::new().unwrap();
    let rows = folder.path().join("rows.csv");
    let sweep = with(&["sweep", WALK, "--quiet", "--out", text(&rows)], &GRID);
    succeed(&sweep);
    let whole = fs::read(&rows).unwrap();
    let writers: Vec<_> = (0..12)
        .map(|_| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_crosscheck"));
            command.stderr(std::process::Stdio::null());
            command.args(&sweep).spawn().unwrap()
        })
        .collect();
    let codes: Vec<_> = writers
        .into_iter()
        .map(|mut writer| writer.wait().unwrap().code().unwrap())
        .collect();
    assert!(codes.iter().all(|code| [0, 1].contains(code)), "{codes:?}");
    assert!(codes.contains(&0), "{codes:?}");
    assert!(fs::read(&rows).unwrap() == whole);
    assert_eq!(names_in(&folder), ["rows.csv", "rows.csv.meta.json"]);
}

/// A second Ctrl-C does not wait for the chunk, and what was written before it is gone on with.
#[cfg(unix)]
#[test]
fn a_second_ctrl_c_ends_at_once_and_keeps_what_is_written() {
    let folder = TempDir::new().unwrap();
    let rows = folder.path().join("rows.csv");
    // One row on the disk, and then a combination of minutes.
    let arguments = [
        "sweep",
        "random-walk:400000:7",
        "--engine",
        "m0",
        "--fast",
        "sma:1,100000",
        "--slow",
        "sma:2",
        "--chunk",
        "1",
        "--out",
        text(&rows),
    ];
    let mut command = Command::new(env!("CARGO_BIN_EXE_crosscheck"));
    command.stderr(std::process::Stdio::piped());
    let child = command.args(arguments).spawn().unwrap();
    let partial = folder.path().join("rows.csv.partial");
    let kept = || fs::read_to_string(&partial).unwrap_or_default();
    while kept().lines().count() < 2 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let note = folder.path().join("rows.csv.partial.json");
    while !fs::read_to_string(&note)
        .unwrap()
        .contains(&format!("{}", kept().len()))
    {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let interrupt = || {
        let mut kill = Command::new("kill");
        assert!(
            kill.args(["-INT", &child.id().to_string()])
                .status()
                .unwrap()
                .success()
        );
    };
    interrupt();
    std::thread::sleep(std::time::Duration::from_millis(300));
    interrupt();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(
        said.contains("Ctrl-C again stops at once") && said.contains("--resume"),
        "{said}"
    );
    assert_eq!(kept().lines().count(), 2);
    assert!(!folder.path().join("rows.csv.partial.lock").exists());
    let other: Vec<&str> = arguments
        .iter()
        .map(|&a| if a == "m0" { "m2" } else { a })
        .collect();
    let refused = fail(&with(&other, &["--resume"]), 2);
    assert!(refused.contains("engine was m0, is m2"), "{refused}");
}

/// A chunk of some seconds is waited for: its rows are kept with those before it, and the lock is gone.
#[cfg(unix)]
#[test]
fn ctrl_c_waits_for_a_long_chunk() {
    let folder = TempDir::new().unwrap();
    let rows = folder.path().join("rows.csv");
    let of = [
        "sweep",
        "random-walk:400000:7",
        "--engine",
        "m0",
        "--chunk",
        "1",
    ];
    let grid = [
        "--fast",
        "sma:1,12000,12001",
        "--slow",
        "sma:2",
        "--out",
        text(&rows),
    ];
    let mut command = Command::new(env!("CARGO_BIN_EXE_crosscheck"));
    command.stderr(std::process::Stdio::piped());
    let child = command.args(with(&of, &grid)).spawn().unwrap();
    let partial = folder.path().join("rows.csv.partial");
    let kept = || fs::read_to_string(&partial).map_or(0, |text| text.lines().count());
    while kept() < 2 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let mut kill = Command::new("kill");
    let killed = kill.args(["-INT", &child.id().to_string()]).status();
    assert!(killed.unwrap().success());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{said}");
    let last = said.lines().last().unwrap();
    assert!(
        last.contains("2 of 3 combinations") && last.contains("--resume"),
        "{said}"
    );
    assert_eq!(kept(), 3);
    assert_eq!(
        names_in(&folder),
        ["rows.csv.partial", "rows.csv.partial.json"]
    );
}

#[test]
fn pictures_and_notes_never_take_the_place_of_the_prices() {
    let folder = TempDir::new().unwrap();
    let prices = price_file(&folder, 300);
    let before = fs::read(&prices).unwrap();
    let grid = ["--fast", "sma:2", "--slow", "sma:5"];
    for name in [
        "rows.csv.meta.json",
        "rows.csv.partial",
        "rows.csv.partial.json.next",
        "heatmap.svg",
    ] {
        let named = folder.path().join(name);
        fs::rename(&prices, &named).unwrap();
        let out = folder.path().join("rows.csv");
        let options = if name == "heatmap.svg" {
            ["--plot", text(folder.path())]
        } else {
            ["--out", text(&out)]
        };
        let error = fail(&with(&with(&["sweep", text(&named)], &grid), &options), 2);
        assert!(error.contains("price file itself"), "{error}");
        assert!(fs::read(&named).unwrap() == before);
        fs::rename(&named, &prices).unwrap();
    }
}

#[test]
fn outputs_that_cannot_be_are_refused_before_anything_runs() {
    let folder = TempDir::new().unwrap();
    let file = |name: &str| folder.path().join(name);
    fs::create_dir(file("taken.csv.partial")).unwrap();
    fs::write(file("picture"), "x").unwrap();
    let [taken, picture, bare, one] = ["taken.csv", "picture", "bare", "one.csv"].map(file);
    let sweep = |option: &'static str, value: &str| -> Vec<String> {
        let all = with(&with(&["sweep", WALK], &GRID), &[option, value]);
        all.into_iter().map(str::to_owned).collect()
    };
    for (arguments, code, remedy) in [
        (sweep("--out", "-"), 2, "name a file, such as rows.csv"),
        (
            sweep("--out", text(&bare)),
            2,
            "name the file .csv, .jsonl or .parquet",
        ),
        (
            sweep("--out", text(&taken)),
            1,
            "taken.csv.partial is a folder",
        ),
        (sweep("--plot", text(&picture)), 1, "pictures need a folder"),
    ] {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let error = fail(&arguments, code);
        assert!(error.contains(remedy), "{error}");
    }
    let parity = [
        "parity",
        WALK,
        "--engine",
        "m4",
        "--csv",
        text(&one),
        "--json",
        text(&one),
    ];
    assert!(fail(&parity, 2).contains("--csv and --json both name"));
    let again = folder.path().join(".").join("one.csv");
    let again = with(&parity[..7], &[text(&again)]);
    assert!(fail(&again, 2).contains("--csv and --json both name"));
    assert_eq!(names_in(&folder), ["picture", "taken.csv.partial"]);
}

/// A lock is an empty file: whatever holds something is the user's, and the prices are so even when they are empty.
#[test]
fn a_file_in_the_place_of_a_lock_is_neither_taken_nor_removed() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("x.csv");
    let lock = folder.path().join("x.csv.partial.lock");
    let sma = ["--fast", "sma:2", "--slow", "sma:5"];
    let ladder = ["ladder", "--bars", "600", "--engines", "m2"];
    let before = fs::read(price_file(&folder, 300)).unwrap();
    fs::rename(folder.path().join("prices.csv"), &lock).unwrap();
    for (command, option) in [
        (with(&["sweep", WALK], &GRID), "--out"),
        (with(&["trades", WALK], &sma), "--out"),
        (vec!["parity", WALK, "--engine", "m4"], "--csv"),
        (ladder.to_vec(), "--json"),
    ] {
        let error = fail(&with(&command, &[option, text(&out)]), 1);
        assert!(
            error.contains("x.csv.partial.lock is not empty") && error.contains("move it"),
            "{error}"
        );
    }
    for name in ["x.csv.partial.lock", "x.csv.partial"] {
        let prices = folder.path().join(name);
        fs::rename(&lock, &prices).unwrap();
        for (command, option) in [
            ("sweep", "--out"),
            ("trades", "--out"),
            ("parity", "--json"),
        ] {
            let run = with(&[command, text(&prices)], &sma);
            let error = fail(&with(&run, &[option, text(&out)]), 2);
            assert!(error.contains("price file itself"), "{error}");
        }
        assert!(fs::read(&prices).unwrap() == before);
        fs::rename(&prices, &lock).unwrap();
    }
    assert_eq!(names_in(&folder), ["x.csv.partial.lock"]);
    fs::write(&lock, "").unwrap();
    succeed(&with(
        &with(&["trades", WALK], &sma),
        &["--out", text(&out)],
    ));
    assert_eq!(names_in(&folder), ["x.csv"]);
}

/// A picture is drawn into its own file: not through a link over another, and not into a pipe that nobody reads.
#[cfg(unix)]
#[test]
fn pictures_are_refused_where_a_link_or_a_pipe_has_their_name() {
    let folder = TempDir::new().unwrap();
    let [pictures, precious, gone] =
        ["pictures", "precious", "gone"].map(|name| folder.path().join(name));
    fs::create_dir(&pictures).unwrap();
    fs::write(&precious, "mine").unwrap();
    let sweep = with(&["sweep", WALK], &GRID);
    let short = ["ladder", "--bars", "600", "--engines", "m2"];
    let plot = ["--plot", text(&pictures)];
    for (command, name, is_pipe) in [
        (&sweep[..], "equity.svg", false),
        (&sweep, "heatmap.svg", true),
        (&short, "ladder.png", true),
        (&["trap", "--bars", "2000"], "formula-error.png", false),
    ] {
        let path = pictures.join(name);
        let reason = if is_pipe {
            let made = Command::new("mkfifo").arg(&path).status();
            assert!(made.unwrap().success());
            "is no regular file"
        } else {
            std::os::unix::fs::symlink("../precious", &path).unwrap();
            "is a link"
        };
        let error = fail(&with(command, &plot), 1);
        assert!(error.contains(name) && error.contains(reason), "{error}");
        assert_eq!(fs::read_dir(&pictures).unwrap().count(), 1);
        fs::remove_file(path).unwrap();
    }
    assert_eq!(fs::read_to_string(precious).unwrap(), "mine");
    std::os::unix::fs::symlink("nowhere", &gone).unwrap();
    let error = fail(&with(&sweep, &["--plot", text(&gone)]), 1);
    assert!(error.contains("gone is a link to nothing"), "{error}");
}

/// Rows that were private stay so.
#[cfg(unix)]
#[test]
fn a_file_that_is_replaced_hands_on_its_mode() {
    use std::os::unix::fs::PermissionsExt;
    let folder = TempDir::new().unwrap();
    let rows = folder.path().join("rows.csv");
    let trades = ["trades", WALK, "--fast", "sma:5", "--slow", "sma:9"];
    for command in [with(&["sweep", WALK], &GRID), trades.to_vec()] {
        fs::write(&rows, "earlier").unwrap();
        fs::set_permissions(&rows, fs::Permissions::from_mode(0o600)).unwrap();
        succeed(&with(&command, &["--out", text(&rows)]));
        let mode = fs::metadata(&rows).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(fs::read_to_string(&rows).unwrap().lines().count() > 4);
    }
}
