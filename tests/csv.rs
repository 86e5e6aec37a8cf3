//! Price files: what is read, what is refused, and that every refusal names its line. Tests named after an id follow
//! the list of faults that users of such programs report.

use std::io::Write;

use crosscheck::{
    Duplicates, Error, FaultKind, FileError, FileReport, ReadOptions, Reading, Result, Series,
    TimeFormat,
};
use flate2::{Compression, write::GzEncoder};

fn read(text: &str) -> Result<Series> {
    Series::from_csv_reader(text.as_bytes(), &ReadOptions::default())
}

fn refusal(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

/// One row a time, each with a close of 1.
fn of_times(times: &[&str]) -> String {
    let rows: Vec<String> = times.iter().map(|time| format!("{time},1\n")).collect();
    format!("timestamp,close\n{}", rows.concat())
}

#[test]
fn io_01_units_are_told_apart_in_one_file() {
    let text = of_times(&["1735689540000", "1735689600000000", "1735689660000"]);
    let series = read(&text).unwrap();
    let expected = [1_735_689_540_000, 1_735_689_600_000, 1_735_689_660_000];
    assert_eq!(series.timestamps(), Some(&expected[..]));
    assert_eq!(series.bar_length(), Some(60_000));
    let report = FileReport::from_reader(text.as_bytes(), &ReadOptions::default()).unwrap();
    let counts: Vec<_> = report.time_formats.into_iter().collect();
    let expected = [(TimeFormat::Milliseconds, 2), (TimeFormat::Microseconds, 1)];
    assert_eq!(counts, expected);
}

#[test]
fn io_02_duplicates_are_refused_or_settled_by_option() {
    let text = "60000,1,1,1,1,5\n120000,2,2,2,2,7\n120000,2,3,2,3,1\n180000,3,3,3,3,4\n";
    let error = read(text).unwrap_err();
    assert!(
        matches!(
            error,
            Error::File(FileError::Duplicate {
                first_line: 2,
                line: 3,
                ..
            })
        ),
        "{error}"
    );
    let settled = |duplicates| {
        let options = ReadOptions::new()
            .with_duplicates(duplicates)
            .with_time_format(TimeFormat::Milliseconds);
        Series::from_csv_reader(text.as_bytes(), &options).unwrap()
    };
    let first = settled(Duplicates::KeepFirst);
    assert_eq!(
        (first.closes(), first.volumes().unwrap()[1]),
        (&[1.0, 2.0, 3.0][..], 7.0)
    );
    let last = settled(Duplicates::KeepLast);
    assert_eq!(
        (last.ticks(), last.volumes().unwrap()[1]),
        (Some(&[1, 3, 3][..]), 1.0)
    );
    assert_eq!(last.highs().unwrap()[1], 3.0);
    assert_eq!(last.timestamps(), Some(&[60_000, 120_000, 180_000][..]));
}

#[test]
fn io_05_naive_times_are_utc_unless_an_offset_is_given() {
    let text = "date,close\n2026-06-17 12:26:00,1\n";
    assert_eq!(
        read(text).unwrap().timestamps(),
        Some(&[1_781_699_160_000][..])
    );
    let options = ReadOptions::new().with_utc_offset(540);
    let series = Series::from_csv_reader(text.as_bytes(), &options).unwrap();
    assert_eq!(series.timestamps(), Some(&[1_781_666_760_000][..]));
}

#[test]
fn io_07_impossible_bars_are_refused() {
    for row in [
        "0,322.31,322.09,322.31,322.09,1", // really open, close, high, low
        "0,10,11,10.5,10,1",               // low above the open
        "0,10,11,9,12,1",                  // close above the high
        "0,10,11,9,8,1",                   // close below the low
    ] {
        let error = refusal(&format!("timestamp,open,high,low,close,volume\n{row}\n"));
        assert!(
            error.contains("line 2") && error.contains("order of the columns"),
            "{error}"
        );
    }
}

#[test]
fn io_08_decimal_text_is_exact() {
    let texts = [
        "7.77e-06",
        "0.00000777",
        "7.77E-6",
        " 0.00000777",
        "1e-8",
        ".5",
        "105554.320000",
        "+2",
    ];
    let series = read(&format!("close\n{}\n", texts.join("\n"))).unwrap();
    let ticks = [
        777,
        777,
        777,
        777,
        1,
        50_000_000,
        10_555_432_000_000,
        200_000_000,
    ];
    assert_eq!(series.ticks(), Some(&ticks[..]));
    let parsed: Vec<f64> = texts
        .iter()
        .map(|text| text.trim().parse().unwrap())
        .collect();
    assert_eq!(series.closes(), parsed);
    for bad in [
        "\"1,234.5\"",
        "\"0,00000777\"",
        "\"\"",
        "nan?",
        "--",
        "nan",
        "inf",
        "0",
        "-1",
    ] {
        let error = refusal(&format!("timestamp,close\n1,5\n2,{bad}\n3,5\n"));
        assert!(error.contains("line 3"), "{bad}: {error}");
    }
    let unquoted = refusal("timestamp,close\n1,5\n2,1,234.5\n");
    assert!(
        unquoted.contains("line 3") && unquoted.contains("3 fields"),
        "{unquoted}"
    );
}

#[test]
fn io_08_marks_line_ends_and_blank_lines_change_nothing() {
    let plain = "timestamp,close\n1,1.5\n2,2.5\n";
    let expected = read(plain).unwrap();
    for text in [
        format!("\u{feff}{plain}"),
        plain.replace('\n', "\r\n"),
        format!("{plain}\n"),
        format!("{plain}\r\n  \n\n"),
        plain.trim_end().to_owned(),
        plain.replace(',', ";"),
        plain.replace(',', "\t"),
        format!("# a comment\n{plain}"),
        "1,1.5\n2,2.5".to_owned(),
    ] {
        assert_eq!(read(&text).unwrap(), expected, "{text:?}");
    }
    let after_blank = refusal("# a comment, with a comma\ntimestamp,close\n1,1\n\n\r\n2,x\n");
    assert!(after_blank.contains("line 6"), "{after_blank}");
    let quoted = refusal("timestamp,close\r\n1,\"1\"\r\n\r\n2,\"x\"\r\n");
    assert!(quoted.contains("line 4"), "{quoted}");
}

#[test]
fn io_10_a_daily_file_is_no_minute_file() {
    let days: Vec<String> = (0..30)
        .map(|day| (day * 86_400_000_i64).to_string())
        .collect();
    let text = of_times(&days.iter().map(String::as_str).collect::<Vec<_>>());
    let minute = ReadOptions::new()
        .with_bar_length(60_000)
        .with_time_format(TimeFormat::Milliseconds);
    let error = Series::from_csv_reader(text.as_bytes(), &minute).unwrap_err();
    assert!(matches!(
        error,
        Error::File(FileError::BarLength {
            median: 86_400_000,
            declared: 60_000,
            ..
        })
    ));
    assert!(
        error
            .to_string()
            .contains("86400 s does not match the declared 60 s"),
        "{error}"
    );
    let day = minute.with_bar_length(86_400_000);
    assert_eq!(
        Series::from_csv_reader(text.as_bytes(), &day)
            .unwrap()
            .bars(),
        30
    );
    let without_times = Series::from_csv_reader("close\n1\n2\n".as_bytes(), &day);
    assert!(matches!(without_times, Err(Error::NoTimestamps { .. })));
}

#[test]
fn io_11_a_market_that_moves_two_hundredfold_is_doubted() {
    let series = Series::from_closes(&[90_530.5, 9507.9, 1_881_727.0, 90_530.5]).unwrap();
    let report = series.report();
    assert!((report.max_min_ratio() - 197.9).abs() < 0.05);
    let warnings = report.warnings().join("\n");
    assert!(
        warnings.contains("ratio of 197.9") && warnings.contains("in one bar"),
        "{warnings}"
    );
}

#[test]
fn na_10_gaps_are_counted_and_refused_by_option() {
    let text = "timestamp,close\n1700000000,1.00\n1700000060,1.01\n1700007200,10.9\n";
    let report = read(text).unwrap().report();
    assert_eq!((report.gaps, report.missing_bars), (1, 118));
    assert_eq!(
        report.largest_gap.map(|gap| (gap.bar, gap.missing_bars)),
        Some((2, 118))
    );
    let options = ReadOptions::new().without_gaps();
    let error = Series::from_csv_reader(text.as_bytes(), &options).unwrap_err();
    assert!(
        matches!(
            error,
            Error::File(FileError::Gap {
                gaps: 1,
                missing: 118,
                ..
            })
        ),
        "{error}"
    );
    let whole = of_times(&["60", "120", "180"]);
    assert!(Series::from_csv_reader(whole.as_bytes(), &options).is_ok());
}

#[test]
fn na_01_missing_prices_are_refused_at_the_line() {
    for missing in ["", "nan", "NaN", "null"] {
        let error = refusal(&format!(
            "timestamp,close\n1,1\n2,2\n3,3\n4,{missing}\n5,5\n"
        ));
        assert!(error.contains("line 5"), "{missing}: {error}");
    }
}

#[test]
fn la_04_a_close_is_known_a_bar_after_its_label() {
    let series = read(&of_times(&[
        "1747699200000",
        "1747699260000",
        "1747699320000",
    ]))
    .unwrap();
    assert_eq!(series.known_at(0), Some(1_747_699_260_000));
    assert_eq!(series.known_at(2), Some(1_747_699_380_000));
    assert_eq!(series.known_at(3), None);
}

#[test]
fn la_05_the_last_bar_is_dropped_when_asked_only() {
    let text = "timestamp,close\n60,1\n120,2.5\n180,3.25\n";
    assert_eq!(read(text).unwrap().bars(), 3);
    let options = ReadOptions::new().without_last_bar();
    let series = Series::from_csv_reader(text.as_bytes(), &options).unwrap();
    assert_eq!(series.closes(), [1.0, 2.5]);
    assert_eq!(series.timestamps(), Some(&[60_000, 120_000][..]));
    let one = Series::from_csv_reader("close\n1\n".as_bytes(), &options);
    assert!(matches!(one, Err(Error::EmptySeries)));
}

#[test]
fn unsorted_rows_are_refused() {
    let error = read(&of_times(&["60", "180", "120"])).unwrap_err();
    assert!(
        matches!(error, Error::File(FileError::Unsorted { line: 4, .. })),
        "{error}"
    );
}

#[test]
fn formats_of_known_programs_are_read() {
    let expected = [101.5, 102.25];
    for text in [
        "open_time,open,high,low,close,volume,close_time,quote_volume,count,taker_buy_volume,taker_buy_quote_volume,ignore\n\
         1700000000000,100,103,99,101.5,7,1700000059999,1,1,1,1,0\n1700000060000,100,103,99,102.25,7,1700000119999,1,1,1,1,0\n",
        "1700000000000,100,103,99,101.5,7,1700000059999,1,1,1,1,0\n1700000060000,100,103,99,102.25,7,1700000119999,1,1,1,1,0\n",
        "date,open,high,low,close,volume\n2023-11-14 22:13:20+00:00,100,103,99,101.5,7\n2023-11-14 22:14:20+00:00,100,103,99,102.25,7\n",
        ",Open,High,Low,Close,Volume\n2023-11-14 22:13:20,100,103,99,101.5,7\n2023-11-14 22:14:20,100,103,99,102.25,7\n",
        "Date,Open,High,Low,Close,Adj Close,Volume\n2023-11-14T22:13:20Z,100,103,99,101.5,50,7\n2023-11-14T22:14:20Z,100,103,99,102.25,50,7\n",
        "Price,Close,High,Low,Open,Volume\nTicker,X,X,X,X,X\nDate,,,,,\n2023-11-14 17:13:20-05:00,101.5,103,99,100,7\n\
         2023-11-14 17:14:20-05:00,102.25,103,99,100,7\n",
    ] {
        let series = read(text).unwrap();
        assert_eq!(series.closes(), expected, "{text}");
        assert_eq!(series.timestamps().unwrap()[0], 1_700_000_000_000, "{text}");
        assert_eq!(
            (series.opens().unwrap()[0], series.volumes().unwrap()[1]),
            (100.0, 7.0)
        );
    }
}

#[test]
fn closes_outside_ticks_fall_back_only_when_asked() {
    for text in [
        "close\n1e-19\n5\n",
        "close\n0.1000000000000000055511\n5\n",
        "close\n9e18\n0.1\n",
    ] {
        let error = read(text).unwrap_err();
        assert!(
            matches!(error, Error::File(FileError::TickRange { .. })),
            "{error}"
        );
        assert!(error.to_string().contains("binary reading"), "{error}");
        let fallback = ReadOptions::new().with_binary_fallback();
        let series = Series::from_csv_reader(text.as_bytes(), &fallback).unwrap();
        assert_eq!((series.reading(), series.bars()), (Reading::Binary, 2));
        let binary = ReadOptions::new().with_reading(Reading::Binary);
        assert_eq!(
            Series::from_csv_reader(text.as_bytes(), &binary).unwrap(),
            series
        );
    }
    assert_eq!(
        read("close\n9223372036854775807\n").unwrap().ticks(),
        Some(&[i64::MAX][..])
    );
}

#[test]
fn both_readings_have_the_same_closes() {
    let text = "close\n0.00000777\n0.1\n123456.7\n";
    let binary = ReadOptions::new().with_reading(Reading::Binary);
    let binary = Series::from_csv_reader(text.as_bytes(), &binary).unwrap();
    let ticks = read(text).unwrap();
    assert_eq!(ticks.closes(), binary.closes());
    assert_eq!(
        (ticks.reading(), binary.reading()),
        (Reading::Ticks, Reading::Binary)
    );
    assert_eq!(ticks.clone().into_binary(), binary);
}

#[test]
fn gzip_is_read_by_its_content_and_other_archives_are_named() {
    let text = of_times(&["60", "120"]);
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(text.as_bytes()).unwrap();
    let bytes = gzip.finish().unwrap();
    let series = Series::from_csv_reader(&bytes[..], &ReadOptions::default()).unwrap();
    assert_eq!(series, read(&text).unwrap());
    let cut = Series::from_csv_reader(&bytes[..bytes.len() - 9], &ReadOptions::default());
    assert!(
        cut.is_err(),
        "a cut-off archive must not pass for a short file"
    );
    for (start, name) in [
        (&b"PK\x03\x04.."[..], "zip"),
        (b"PAR1...", "Parquet"),
        (b"\xff\xfec\0", "UTF-16"),
        (b"ARROW1\0\0", "Feather"),
        (b"\x89HDF\r\n", "HDF5"),
        (b"\x28\xb5\x2f\xfd\x04", "zstd"),
        (b"\xfd7zXZ\0", "xz"),
        (b"BZh91AY", "bzip2"),
        (b"[[1735689540000, 1]]", "JSON"),
        (b"{\"close\": [1]}", "JSON"),
    ] {
        let error = Series::from_csv_reader(start, &ReadOptions::default()).unwrap_err();
        assert!(error.to_string().contains(name), "{error}");
    }
}

#[test]
fn files_without_rows_or_a_close_are_refused() {
    for text in ["", "\n\n", "timestamp,close\n"] {
        assert!(matches!(read(text), Err(Error::EmptySeries)), "{text:?}");
    }
    let error = refusal("timestamp,price\n1,2\n");
    assert!(
        error.contains("'close'") && error.contains("timestamp, price"),
        "{error}"
    );
    let missing = Series::from_csv("no-such-file.csv").unwrap_err();
    assert!(matches!(missing, Error::Io { .. }));
}

#[test]
fn report_lists_every_kind_of_fault_with_its_first_line() {
    let text = "timestamp,open,high,low,close,volume\n60,1,1,1,1,0\n120,1,1,1,x,0\n180,1,1,1,,0\n240,1,1,1,0,0\n\
                300,2,1,1,1,0\n360,1,1,1,1,0\n360,1,1,1,1,0\n180,1,1,1,1,0\n420,1,1\n480,1,1,1,1e-30,0\n";
    let text = text.replace("480,1,1,1,1e-30", "480,1,1,1e-30,1e-30");
    let report = FileReport::from_reader(text.as_bytes(), &ReadOptions::default()).unwrap();
    let found: Vec<_> = report
        .faults
        .iter()
        .map(|f| (f.kind, f.count, f.first_line))
        .collect();
    let expected = [
        (FaultKind::Unreadable, 3, 3),
        (FaultKind::NotPositive, 1, 5),
        (FaultKind::ImpossibleBar, 1, 6),
        (FaultKind::Duplicate, 1, 8),
        (FaultKind::Unsorted, 1, 9),
        (FaultKind::NotInTicks, 1, 11),
    ];
    assert_eq!(found, expected);
    assert_eq!(report.rows, 10);
    assert_eq!(report.series.map(|series| series.bars), Some(3));
}
