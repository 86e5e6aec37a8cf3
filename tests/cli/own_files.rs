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
        for (command, option) in writers() {
            let error = fail(&with(&command, &[option, text(&out)]), 1);
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
