//! Rows that an interrupted sweep leaves, and tables that are made of them.

use super::*;

#[test]
fn an_interrupted_sweep_goes_on_and_ends_with_the_same_bytes() {
    let folder = TempDir::new().unwrap();
    let file = |name: &str| folder.path().join(name);
    for name in ["rows.csv", "rows.jsonl"] {
        let path = file(name);
        let of = ["sweep", WALK, "--top", "2", "--metric", "sharpe", "--out"];
        let arguments = with(&with(&of, &[text(&path)]), &GRID);
        let whole_said = succeed(&arguments);
        let (whole, meta) = (
            fs::read_to_string(&path).unwrap(),
            fs::read(file(&format!("{name}.meta.json"))).unwrap(),
        );
        fs::remove_file(&path).unwrap();
        let partial = interrupted(&folder, name, &arguments, 2);

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
        // A few hundredths of a second, so that Ctrl-C waits for its end on the slowest machine.
        "--chunk",
        "3",
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
    // Whole chunks are on the disk, below the header; minutes of work are left.
    let whole = rows() - 1;
    assert!(
        whole >= 3 && whole % 3 == 0 && whole < 9_000 && !path.exists(),
        "{whole}"
    );
    assert!(!folder.path().join("rows.csv.partial.lock").exists());
}

/// What a sweep kept is gone on with only if it is what the sweep wrote.
#[test]
fn rows_that_were_changed_are_not_gone_on_with() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("rows.csv");
    let arguments = with(
        &["sweep", WALK, "--chunk", "1", "--out", text(&path)],
        &GRID,
    );
    let partial = interrupted(&folder, "rows.csv", &arguments, 2);
    let kept = fs::read_to_string(&partial).unwrap();
    let end = kept.rfind('\n').unwrap();
    let digit = kept[..end].rfind(|c: char| c.is_ascii_digit()).unwrap();
    let other = if &kept[digit..=digit] == "1" {
        "2"
    } else {
        "1"
    };
    for changed in [
        format!("{}{other}{}", &kept[..digit], &kept[digit + 1..]),
        kept[..end].to_owned(),
        String::new(),
    ] {
        fs::write(&partial, changed).unwrap();
        let error = fail(&with(&arguments, &["--resume"]), 1);
        says(
            &error,
            &["rows.csv.partial", "checksum differs", "start again"],
        );
    }
    fs::write(&partial, &kept).unwrap();
    succeed(&with(&arguments, &["--resume"]));
}

/// Leaves what a sweep that was killed after some rows leaves: runs it whole, and takes its file apart.
fn interrupted(
    folder: &TempDir,
    name: &str,
    arguments: &[&str],
    rows: usize,
) -> std::path::PathBuf {
    let file = |suffix: &str| folder.path().join(format!("{name}{suffix}"));
    // A CSV of the same rows, which is also how the rows of a Parquet file are kept.
    let kept_as = if name.ends_with("jsonl") {
        "jsonl"
    } else {
        "csv"
    };
    let twin = folder.path().join(format!("twin.{kept_as}"));
    let out = file("");
    let of_twin: Vec<&str> = arguments
        .iter()
        .map(|argument| {
            if *argument == text(&out) {
                text(&twin)
            } else {
                argument
            }
        })
        .collect();
    succeed(&of_twin);
    let whole = fs::read_to_string(&twin).unwrap();
    let meta = folder.path().join(format!("twin.{kept_as}.meta.json"));
    let question: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&meta).unwrap()).unwrap();
    let header = usize::from(kept_as == "csv");
    let end = whole.match_indices('\n').nth(header + rows - 1).unwrap().0 + 1;
    let progress = serde_json::json!({
        "question": question,
        "bytes": end,
        "sha256": sha256(&whole.as_bytes()[..end]),
    });
    // The beginning of a row that was not noted any more.
    fs::write(file(".partial"), &whole[..end + 9]).unwrap();
    fs::write(file(".partial.json"), progress.to_string()).unwrap();
    fs::remove_file(twin).unwrap();
    fs::remove_file(meta).unwrap();
    file(".partial")
}

fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest;
    let digest = sha2::Sha256::digest(bytes);
    let digits: Vec<_> = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    digits.concat()
}

#[cfg(not(feature = "parquet"))]
#[test]
fn parquet_needs_a_build_that_has_it() {
    let arguments = with(&["sweep", WALK, "--out", "rows.parquet"], &GRID);
    assert!(fail(&arguments, 2).contains("--features cli,parquet"));
}

#[cfg(feature = "parquet")]
mod parquet_out {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    fn open(path: &Path) -> SerializedFileReader<fs::File> {
        SerializedFileReader::new(fs::File::open(path).unwrap()).unwrap()
    }

    /// Floats are binary unless ticks are asked for; a column of results does for prices.
    #[test]
    fn floats_are_ticks_where_that_is_asked() {
        let folder = TempDir::new().unwrap();
        let table = folder.path().join("rows.parquet");
        succeed(&with(&["sweep", WALK, "--out", text(&table)], &GRID));
        let arguments = [
            "sweep",
            text(&table),
            "--close-column",
            "win_rate",
            "--fast",
            "sma:1",
            "--slow",
            "sma:2",
        ];
        assert!(succeed(&arguments).contains("4 bars, binary reading"));
        let said = succeed(&with(&arguments, &["--reading", "ticks"]));
        assert!(said.contains("4 bars, ticks reading"), "{said}");
    }

    #[test]
    fn tables_hold_the_rows_of_the_csv_and_what_they_are_of() {
        let folder = TempDir::new().unwrap();
        let (csv, table) = (
            folder.path().join("rows.csv"),
            folder.path().join("rows.parquet"),
        );
        for path in [&csv, &table] {
            let arguments = ["sweep", WALK, "--quiet", "--out", text(path)];
            succeed(&with(&arguments, &GRID));
        }
        assert_eq!(
            names_in(&folder),
            ["rows.csv", "rows.csv.meta.json", "rows.parquet"]
        );
        let text = fs::read_to_string(&csv).unwrap();
        let head: Vec<&str> = text.lines().next().unwrap().split(',').collect();
        let table = open(&table);
        let mut count = 0;
        for (line, row) in text.lines().skip(1).zip(table.get_row_iter(None).unwrap()) {
            let row = row.unwrap();
            let cells: Vec<(&String, &Field)> = row.get_column_iter().collect();
            assert_eq!(cells.len(), head.len());
            for ((name, field), (due, cell)) in
                cells.into_iter().zip(head.iter().zip(line.split(',')))
            {
                assert_eq!(name, due);
                let is_same = match field {
                    Field::Str(text) => text == cell,
                    Field::Long(count) => cell.parse() == Ok(*count),
                    Field::Bool(flag) => cell.parse() == Ok(*flag),
                    Field::Double(value) => cell.parse() == Ok(*value),
                    Field::Null => cell.is_empty(),
                    _ => false,
                };
                assert!(is_same, "{name}: {field:?} and {cell}");
            }
            count += 1;
        }
        assert_eq!(count, 4);
        let facts = table
            .metadata()
            .file_metadata()
            .key_value_metadata()
            .unwrap()
            .clone();
        let fact = |name: &str| {
            let pair = facts
                .iter()
                .find(|pair| pair.key == format!("crosscheck.{name}"));
            pair.and_then(|pair| pair.value.clone()).unwrap()
        };
        assert_eq!(fact("version"), env!("CARGO_PKG_VERSION"));
        assert_eq!(
            (fact("engine"), fact("adapter")),
            ("m4".to_owned(), "null".to_owned())
        );
        assert_eq!(fact("closes_sha256").len(), 64);
        assert!(fact("rules").contains("signal_close"), "{}", fact("rules"));
    }

    #[test]
    fn an_interrupted_table_ends_with_the_same_bytes() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("rows.parquet");
        let arguments = with(&["sweep", WALK, "--out", text(&path)], &GRID);
        succeed(&arguments);
        let whole = fs::read(&path).unwrap();
        for rows in 1..=4 {
            interrupted(&folder, "rows.parquet", &arguments, rows.min(3));
            fs::remove_file(&path).unwrap();
            succeed(&with(&arguments, &["--resume", "--chunk", "1"]));
            assert!(fs::read(&path).unwrap() == whole, "after {rows} rows");
            assert_eq!(names_in(&folder), ["rows.parquet"]);
        }
    }
}
