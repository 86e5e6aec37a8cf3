//! Price files that broke on their way: gzip that is cut off or damaged, pipes without an end, times of a wrong unit.

use std::fs;
use std::io::Write;
use std::path::Path;

use crosscheck::{Error, FaultKind, FileError, FileReport, ReadOptions, Series, TimeFormat};
use flate2::{Compression, write::GzEncoder};
use tempfile::TempDir;

/// Minutes whose closes repeat late enough that the packed file has many blocks.
fn minutes(bars: u64) -> String {
    let row = |bar: u64| {
        let cents = 10_000 + bar * bar % 9_973;
        let (time, close) = (1_747_699_200_000 + bar * 60_000, cents as f64 / 100.0);
        format!("{time},{close},{close},{close},{close},1\n")
    };
    (0..bars).map(row).collect()
}

fn packed(text: &str) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(text.as_bytes()).unwrap();
    gzip.finish().unwrap()
}

/// The line and the reason of a refused row.
fn refused(path: &Path) -> (u64, String) {
    match Series::from_file(path, &ReadOptions::default()) {
        Err(Error::File(FileError::Row { line, reason, .. })) => (line, reason),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_gzip_file_that_is_cut_off_says_where() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("prices.csv.gz");
    let bytes = packed(&minutes(40_000));
    let mut last = 0;
    for part in [3, 2, 1] {
        fs::write(&path, &bytes[..bytes.len() - part * bytes.len() / 4]).unwrap();
        let (line, reason) = refused(&path);
        assert!(
            reason.contains("gzip file is cut off: fetch it anew"),
            "{reason}"
        );
        // A quarter of the file is some 10,000 lines.
        let due = 40_000 * (4 - part as u64) / 4;
        assert!(
            line > last && line.abs_diff(due) < 2_000,
            "{line}, due {due}"
        );
        last = line;
        let report = FileReport::from_file(&path, &ReadOptions::default()).unwrap();
        let kinds: Vec<_> = report.faults.iter().map(|fault| fault.kind).collect();
        assert_eq!(kinds, [FaultKind::BrokenOff]);
        assert_eq!(report.faults[0].first_line, line);
        assert!(report.series.unwrap().bars as u64 + 1 >= line);
    }
}

/// Whatever one byte does to it: the text before the checksum, the checksum, the head of the file.
#[test]
fn a_damaged_gzip_file_is_blamed_and_not_the_prices() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("prices.csv.gz");
    let (text, reader) = (minutes(4_000), ReadOptions::default());
    let bytes = packed(&text);
    let whole = Series::from_csv_reader(text.as_bytes(), &reader).unwrap();
    let mut damaged = 0;
    for at in (10..bytes.len()).step_by(bytes.len() / 150) {
        let mut bytes = bytes.clone();
        bytes[at] ^= 0x15;
        fs::write(&path, &bytes).unwrap();
        let error = Series::from_file(&path, &reader).map(|series| series == whole);
        let error = error.unwrap_err().to_string();
        damaged += usize::from(error.contains("gzip file is"));
        assert!(error.contains("prices.csv.gz"), "{error}");
    }
    // Odd text may have times out of order, which are named as such.
    assert!(damaged > 140, "{damaged}");
}

#[cfg(unix)]
#[test]
fn a_pipe_without_an_end_is_given_up() {
    let folder = TempDir::new().unwrap();
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || {
            let mut pipe = fs::File::create(pipe).unwrap();
            pipe.write_all(b"close\n1\n").unwrap();
            let blank = vec![b'\n'; 1 << 16];
            while pipe.write_all(&blank).is_ok() {}
        }
    });
    let error = Series::from_file(&pipe, &ReadOptions::default()).unwrap_err();
    writer.join().unwrap();
    let error = error.to_string();
    for part in ["33,554,432 lines", "still no end", "write it to a file"] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn a_stated_unit_that_gives_impossible_dates_is_refused_by_its_line() {
    let text = "timestamp,close\n1735689600000,1\n1735689660000,2\n";
    let options = ReadOptions::new().with_time_format(TimeFormat::Seconds);
    let error = Series::from_csv_reader(text.as_bytes(), &options).unwrap_err();
    let Error::File(FileError::Row {
        line: 2, reason, ..
    }) = error
    else {
        panic!("{error}");
    };
    for part in [
        "'1735689600000'",
        "Unix seconds",
        "years 1700 and 2300",
        "Unix milliseconds",
    ] {
        assert!(reason.contains(part), "{reason}");
    }
    let report = FileReport::from_reader(text.as_bytes(), &options).unwrap();
    assert_eq!(
        (report.faults[0].count, report.faults[0].first_line),
        (2, 2)
    );
}
