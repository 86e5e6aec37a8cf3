//! What is the user's stays: files of names that only unfinished outputs have, and notes that are of other rows.

use super::*;

const SMA: [&str; 4] = ["--fast", "sma:2", "--slow", "sma:5"];

/// Commands that write one file, and the option that names it.
fn writers() -> [(Vec<&'static str>, &'static str); 5] {
    let ladder = vec!["ladder", "--bars", "600", "--engines", "m2"];
    [
        (with(&["sweep", WALK], &GRID), "--out"),
        (with(&["trades", WALK], &SMA), "--out"),
        (vec!["parity", WALK, "--engine", "m4"], "--csv"),
        (ladder, "--json"),
        (vec!["trap", "--bars", "2000"], "--json"),
    ]
}

#[test]
fn a_file_that_no_sweep_wrote_is_never_written_over() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("x.csv");
    let own = folder.path().join("x.csv.partial");
    for contents in ["mine\n", ""] {
        fs::write(&own, contents).unwrap();
        // A sweep starts over where an earlier one was killed before its first row: an empty file holds nothing.
        let skipped = usize::from(contents.is_empty());
        for (command, option) in &writers()[skipped..] {
            let error = fail(&with(command, &[option, text(&out)]), 1);
            for part in ["x.csv.partial is there already", "move or remove it"] {
                assert!(error.contains(part), "{command:?}: {error}");
            }
            assert_eq!(fs::read_to_string(&own).unwrap(), contents);
        }
    }
    let page = folder.path().join("page.md");
    let marks = "<!-- generated: begin sweeps -->\n<!-- generated: end sweeps -->\n";
    fs::write(&page, marks).unwrap();
    fs::rename(&own, folder.path().join("page.md.partial")).unwrap();
    let error = fail(
        &with(&["ladder", "--bars", "600"], &["--doc", text(&page)]),
        1,
    );
    assert!(
        error.contains("page.md.partial is there already"),
        "{error}"
    );
    assert_eq!(names_in(&folder), ["page.md", "page.md.partial"]);
}

#[test]
fn a_sweep_writes_over_no_note_that_is_not_its_own() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("x.csv");
    let sweep = with(&["sweep", WALK, "--out", text(&out)], &GRID);
    for name in [
        "x.csv.meta.json",
        "x.csv.partial.json",
        "x.csv.partial.json.next",
        "x.csv.partial.table",
    ] {
        let own = folder.path().join(name);
        fs::write(&own, "{\"mine\": 1}").unwrap();
        for options in [&[][..], &["--resume"]] {
            let error = fail(&with(&sweep, options), 1);
            assert!(
                error.contains(name) && error.contains("move or remove"),
                "{error}"
            );
        }
        assert_eq!(fs::read_to_string(&own).unwrap(), "{\"mine\": 1}");
        fs::remove_file(own).unwrap();
    }
    // Its own note of an earlier sweep is replaced.
    succeed(&sweep);
    succeed(&with(&sweep, &["--fee-pct", "0.5"]));
    let note = fs::read_to_string(folder.path().join("x.csv.meta.json")).unwrap();
    assert!(note.contains("0.25"), "half a round trip: {note}");
}

/// Trades in the place of rows must not stand beside what says that they are rows.
#[test]
fn the_note_of_rows_goes_with_them() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("x.csv");
    let sweep = with(&["sweep", WALK, "--out", text(&out)], &GRID);
    for (command, option) in &writers()[1..] {
        succeed(&sweep);
        assert_eq!(names_in(&folder), ["x.csv", "x.csv.meta.json"]);
        succeed(&with(command, &[option, text(&out)]));
        assert_eq!(names_in(&folder), ["x.csv"], "{command:?}");
    }
    let own = folder.path().join("x.csv.meta.json");
    fs::write(&own, "{\"mine\": 1}").unwrap();
    succeed(&with(&writers()[1].0, &["--out", text(&out)]));
    assert_eq!(fs::read_to_string(own).unwrap(), "{\"mine\": 1}");
}

/// A command that is stopped leaves neither an unfinished file nor a lock, and the page as it was.
#[cfg(unix)]
#[test]
fn ctrl_c_leaves_nothing_unfinished() {
    let folder = TempDir::new().unwrap();
    let page = folder.path().join("page.md");
    let marks = "<!-- generated: begin sweeps -->\n<!-- generated: end sweeps -->\n";
    fs::write(&page, marks).unwrap();
    let long = [
        "parity",
        "random-walk:3000000:1",
        "--engine",
        "m0",
        "--json",
    ];
    let json = folder.path().join("x.json");
    for (command, unfinished) in [
        (vec!["ladder", "--doc", text(&page)], "page.md.partial"),
        (with(&long, &[text(&json)]), "x.json.partial"),
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_crosscheck"));
        let mut child = child.args(&command).spawn().unwrap();
        while !folder.path().join(unfinished).exists() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let mut kill = Command::new("kill");
        let killed = kill.args(["-INT", &child.id().to_string()]).status();
        assert!(killed.unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(130));
        assert_eq!(names_in(&folder), ["page.md"], "{command:?}");
    }
    assert_eq!(fs::read_to_string(page).unwrap(), marks);
}

/// What a kill leaves between the making of the rows' file and its first note is started over, with --resume or without.
#[test]
fn a_sweep_that_was_killed_before_its_first_row_starts_over() {
    let names: &[&str] = if cfg!(feature = "parquet") {
        &["x.csv", "x.jsonl", "x.parquet"]
    } else {
        &["x.csv", "x.jsonl"]
    };
    for name in names {
        let folder = TempDir::new().unwrap();
        let file = |suffix: &str| folder.path().join(format!("{name}{suffix}"));
        let out = file("");
        let sweep = with(&["sweep", WALK, "--out", text(&out)], &GRID);
        succeed(&sweep);
        let (whole, files) = (fs::read(&out).unwrap(), names_in(&folder));
        let csv = folder.path().join("head.csv");
        succeed(&with(&["sweep", WALK, "--out", text(&csv)], &GRID));
        let rows = fs::read_to_string(&csv).unwrap();
        for made in ["head.csv", "head.csv.meta.json"] {
            fs::remove_file(folder.path().join(made)).unwrap();
        }
        let head = format!("{}\n", rows.lines().next().unwrap());
        let kept: &[&str] = if *name == "x.jsonl" {
            &[""]
        } else {
            &["", &head]
        };
        for contents in kept {
            for options in [&["--resume"][..], &[]] {
                for note in [None, Some("")] {
                    fs::write(file(".partial"), contents).unwrap();
                    fs::write(file(".partial.lock"), "").unwrap();
                    if let Some(note) = note {
                        fs::write(file(".partial.json.next"), note).unwrap();
                    }
                    fs::remove_file(&out).unwrap();
                    succeed(&with(&sweep, options));
                    assert!(fs::read(&out).unwrap() == whole, "{name} {options:?}");
                    assert_eq!(names_in(&folder), files);
                }
            }
        }
        // One more character makes it a file of somebody's.
        let more = format!("{head}x");
        fs::write(file(".partial"), &more).unwrap();
        for options in [&["--resume"][..], &[]] {
            fail(&with(&sweep, options), 1);
            assert_eq!(fs::read_to_string(file(".partial")).unwrap(), more);
        }
    }
}

/// A lock that nobody holds says that the unfinished file beside it is of a killed command.
#[test]
fn the_unfinished_file_of_a_killed_command_is_replaced() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("x.csv");
    let [unfinished, lock] =
        ["x.csv.partial", "x.csv.partial.lock"].map(|name| folder.path().join(name));
    for (command, option) in writers() {
        fs::write(&unfinished, "half a li").unwrap();
        fs::write(&lock, "").unwrap();
        succeed(&with(&command, &[option, text(&out)]));
        let left = names_in(&folder);
        assert!(
            left.iter().all(|name| !name.contains("partial")),
            "{command:?}: {left:?}"
        );
        assert!(!fs::read_to_string(&out).unwrap().contains("half a li"));
    }
}

/// The permission bits count, whoever runs the command.
#[test]
fn a_write_protected_file_is_not_replaced() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("x.csv");
    fs::write(&out, "precious").unwrap();
    let mut permissions = fs::metadata(&out).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&out, permissions).unwrap();
    for (command, option) in writers() {
        let error = fail(&with(&command, &[option, text(&out)]), 1);
        for part in ["x.csv is read-only", "chmod u+w", "name another"] {
            assert!(error.contains(part), "{command:?}: {error}");
        }
    }
    assert_eq!(fs::read_to_string(&out).unwrap(), "precious");
    assert_eq!(names_in(&folder), ["x.csv"]);
}
