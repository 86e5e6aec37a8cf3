//! Price files in Parquet: every type that holds prices or times, exact where the type is, and refusals that name the row.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crosscheck::{Error, FileError, FileReport, ReadOptions, Reading, Series};
use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::data_type::{
    BoolType, ByteArrayType, DoubleType, FixedLenByteArrayType, FloatType, Int32Type, Int64Type,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use tempfile::TempDir;

/// Values of one column; `None` is null.
enum Column {
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Float(Vec<f32>),
    Double(Vec<Option<f64>>),
    Text(Vec<&'static str>),
    Bytes(Vec<Vec<u8>>),
    Bool(Vec<bool>),
}

impl Column {
    fn write(&self, writer: &mut SerializedColumnWriter<'_>) {
        match self {
            Self::Int32(values) => {
                let writer = writer.typed::<Int32Type>();
                writer.write_batch(values, None, None).unwrap();
            }
            Self::Int64(values) => {
                let writer = writer.typed::<Int64Type>();
                writer.write_batch(values, None, None).unwrap();
            }
            Self::Float(values) => {
                let writer = writer.typed::<FloatType>();
                writer.write_batch(values, None, None).unwrap();
            }
            Self::Double(values) => {
                let levels: Vec<i16> = values.iter().map(|v| i16::from(v.is_some())).collect();
                let present: Vec<f64> = values.iter().copied().flatten().collect();
                let writer = writer.typed::<DoubleType>();
                writer.write_batch(&present, Some(&levels), None).unwrap();
            }
            Self::Text(values) => {
                let values: Vec<_> = values.iter().map(|text| (*text).into()).collect();
                let writer = writer.typed::<ByteArrayType>();
                writer.write_batch(&values, None, None).unwrap();
            }
            Self::Bytes(values) => {
                let values: Vec<_> = values.iter().map(|bytes| bytes.clone().into()).collect();
                let writer = writer.typed::<FixedLenByteArrayType>();
                writer.write_batch(&values, None, None).unwrap();
            }
            Self::Bool(values) => {
                let writer = writer.typed::<BoolType>();
                writer.write_batch(values, None, None).unwrap();
            }
        }
    }
}

/// Writes a table of one or several row groups; returns its path.
fn table(folder: &TempDir, schema: &str, groups: &[Vec<Column>]) -> PathBuf {
    table_as(folder, schema, groups, Compression::SNAPPY)
}

fn table_as(
    folder: &TempDir,
    schema: &str,
    groups: &[Vec<Column>],
    compression: Compression,
) -> PathBuf {
    let path = folder.path().join("prices.parquet");
    let schema = parse_message_type(&format!("message prices {{ {schema} }}")).unwrap();
    let properties = WriterProperties::builder().set_compression(compression);
    let file = File::create(&path).unwrap();
    let properties = Arc::new(properties.build());
    let mut writer = SerializedFileWriter::new(file, Arc::new(schema), properties).unwrap();
    for columns in groups {
        let mut group = writer.next_row_group().unwrap();
        for column in columns {
            let mut to = group.next_column().unwrap().unwrap();
            column.write(&mut to);
            to.close().unwrap();
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
    path
}

fn read(path: &Path) -> Series {
    Series::from_parquet(path, &ReadOptions::new()).unwrap()
}

fn refusal(path: &Path) -> String {
    Series::from_parquet(path, &ReadOptions::new())
        .unwrap_err()
        .to_string()
}

const CLOSE: &str = "OPTIONAL DOUBLE close;";

#[test]
fn bars_of_floats_are_read_over_row_groups_and_batches() {
    let folder = TempDir::new().unwrap();
    let schema = "REQUIRED INT64 Timestamp (TIMESTAMP(MILLIS,true)); OPTIONAL DOUBLE Open; OPTIONAL DOUBLE High; \
                  OPTIONAL DOUBLE Low; OPTIONAL DOUBLE Close; OPTIONAL DOUBLE Volume;";
    let price = |bar: i64| 100.0 + (bar % 7) as f64 * 0.1;
    let group = |bars: std::ops::Range<i64>| {
        let prices = |of: &dyn Fn(i64) -> f64| {
            Column::Double(bars.clone().map(|bar| Some(of(bar))).collect())
        };
        vec![
            Column::Int64(bars.clone().map(|bar| bar * 60_000).collect()),
            prices(&|bar| price(bar - 1)),
            prices(&|bar| price(bar).max(price(bar - 1)) + 1.0),
            prices(&|bar| price(bar).min(price(bar - 1)) - 1.0),
            prices(&price),
            prices(&|_| 2.5),
        ]
    };
    for compression in [
        Compression::SNAPPY,
        Compression::UNCOMPRESSED,
        Compression::ZSTD(ZstdLevel::default()),
        Compression::GZIP(GzipLevel::default()),
        Compression::LZ4_RAW,
    ] {
        let groups = [group(1..20_001), group(20_001..20_003)];
        let series = read(&table_as(&folder, schema, &groups, compression));
        let closes: Vec<f64> = (1..20_003).map(price).collect();
        assert_eq!(series.closes(), closes, "{compression}");
        assert_eq!(
            series.reading(),
            Reading::Binary,
            "floats have no decimal text"
        );
        assert_eq!(series.timestamps().unwrap()[20_001], 20_002 * 60_000);
        assert_eq!(series.opens().unwrap()[1], price(1));
        assert_eq!(series.highs().unwrap()[0], price(1).max(price(0)) + 1.0);
        assert_eq!(series.volumes().unwrap()[20_001], 2.5);
    }
}

#[test]
fn decimals_integers_and_text_are_exact_ticks() {
    let folder = TempDir::new().unwrap();
    let wide = |value: i128| value.to_be_bytes().to_vec();
    for (schema, column, ticks, closes) in [
        (
            "REQUIRED INT64 close (DECIMAL(18,8));",
            Column::Int64(vec![777, 780, 1_000]),
            vec![777, 780, 1_000],
            vec![7.77e-6, 7.8e-6, 1e-5],
        ),
        (
            "REQUIRED INT32 close (DECIMAL(9,2));",
            Column::Int32(vec![10_001, 10_025]),
            vec![10_001, 10_025],
            vec![100.01, 100.25],
        ),
        (
            "REQUIRED FIXED_LEN_BYTE_ARRAY(16) close (DECIMAL(38,18));",
            Column::Bytes(vec![
                wide(105_554_320_000_000_000_000_000),
                wide(105_554_330_000_000_000_000_000),
            ]),
            vec![10_555_432, 10_555_433],
            vec![105_554.32, 105_554.33],
        ),
        (
            "REQUIRED INT64 close;",
            Column::Int64(vec![300, 305]),
            vec![300, 305],
            vec![300.0, 305.0],
        ),
        (
            "REQUIRED BYTE_ARRAY close (STRING);",
            Column::Text(vec!["0.00000777", "7.80e-6"]),
            vec![777, 780],
            vec![7.77e-6, 7.8e-6],
        ),
    ] {
        let series = read(&table(&folder, schema, &[vec![column]]));
        assert_eq!(series.ticks(), Some(&ticks[..]), "{schema}");
        assert_eq!(series.closes(), closes, "{schema}");
    }
}

#[test]
fn floats_stand_for_their_shortest_decimal_where_ticks_are_asked() {
    let folder = TempDir::new().unwrap();
    let ticks = ReadOptions::new().with_reading(Reading::Ticks);
    let closes = vec![Some(105_554.32), Some(0.1), Some(105_554.3)];
    let path = table(&folder, CLOSE, &[vec![Column::Double(closes)]]);
    let series = Series::from_parquet(&path, &ticks).unwrap();
    assert_eq!(series.ticks(), Some(&[10_555_432, 10, 10_555_430][..]));
    let single = vec![Column::Float(vec![0.1, 2.5])];
    let path = table(&folder, "REQUIRED FLOAT close;", &[single]);
    assert_eq!(read(&path).closes(), [f64::from(0.1_f32), 2.5]);
    let series = Series::from_parquet(&path, &ticks).unwrap();
    assert_eq!(series.ticks(), Some(&[1, 25][..]));
    // A computed price has more digits than 64-bit ticks of its last digit hold beside a large one.
    let closes = vec![Some(0.1 + 0.2), Some(1e6)];
    let path = table(&folder, CLOSE, &[vec![Column::Double(closes)]]);
    let error = Series::from_parquet(&path, &ticks).unwrap_err();
    assert!(
        matches!(
            error,
            Error::File(FileError::TickRange {
                line: 1,
                unit: "row",
                ..
            })
        ),
        "{error}"
    );
}

#[test]
fn times_of_every_type_are_read() {
    let folder = TempDir::new().unwrap();
    let start = 1_735_689_600_i64;
    let minutes = |unit: i64| vec![start * unit, (start + 60) * unit];
    for (schema, column) in [
        ("REQUIRED INT64 time;", Column::Int64(minutes(1))),
        ("REQUIRED INT64 time;", Column::Int64(minutes(1_000))),
        ("REQUIRED INT64 time;", Column::Int64(minutes(1_000_000))),
        (
            "REQUIRED INT64 time;",
            Column::Int64(minutes(1_000_000_000)),
        ),
        (
            "REQUIRED INT64 time (TIMESTAMP(MICROS,true));",
            Column::Int64(minutes(1_000_000)),
        ),
        (
            "REQUIRED INT64 time (TIMESTAMP(NANOS,false));",
            Column::Int64(minutes(1_000_000_000)),
        ),
        (
            "REQUIRED INT64 time (TIMESTAMP_MILLIS);",
            Column::Int64(minutes(1_000)),
        ),
        (
            "REQUIRED INT64 __index_level_0__ (TIMESTAMP(NANOS,false));",
            Column::Int64(minutes(1_000_000_000)),
        ),
        (
            "REQUIRED BYTE_ARRAY time (STRING);",
            Column::Text(vec!["2025-01-01T00:00:00Z", "2025-01-01 00:01"]),
        ),
    ] {
        let columns = vec![column, Column::Double(vec![Some(1.0), Some(2.0)])];
        let series = read(&table(&folder, &format!("{schema} {CLOSE}"), &[columns]));
        let expected = [start * 1_000, (start + 60) * 1_000];
        assert_eq!(series.timestamps(), Some(&expected[..]), "{schema}");
    }
    let days = vec![
        Column::Int32(vec![20_089, 20_090]),
        Column::Double(vec![Some(1.0), Some(2.0)]),
    ];
    let path = table(
        &folder,
        &format!("REQUIRED INT32 date (DATE); {CLOSE}"),
        &[days],
    );
    let tokyo = ReadOptions::new().with_utc_offset(540);
    let series = Series::from_parquet(&path, &tokyo).unwrap();
    assert_eq!(
        series.timestamps().unwrap()[0],
        start * 1_000 - 540 * 60_000
    );
}

#[test]
fn refusals_name_row_value_and_remedy() {
    let folder = TempDir::new().unwrap();
    let closes = |last: Option<f64>| vec![Column::Double(vec![Some(1.0), Some(2.0), last])];
    for (last, said) in [
        (None, ["row 3", "null", "drop the row"]),
        (Some(f64::NAN), ["row 3", "NaN", "drop the row"]),
        (Some(f64::INFINITY), ["row 3", "inf", "finite"]),
        (Some(0.0), ["row 3", "is 0", "above 0"]),
        (Some(-1e300), ["row 3", "is -1e300", "above 0"]),
    ] {
        let error = refusal(&table(&folder, CLOSE, &[closes(last)]));
        assert!(said.iter().all(|part| error.contains(part)), "{error}");
    }
    let flags = vec![Column::Bool(vec![true])];
    let error = refusal(&table(&folder, "REQUIRED BOOLEAN close;", &[flags]));
    assert!(error.contains("row 1: close is a boolean"), "{error}");
    let other = vec![Column::Int64(vec![1])];
    let error = refusal(&table(&folder, "REQUIRED INT64 price;", &[other]));
    assert!(
        error.contains("no column is named 'close'") && error.contains("price"),
        "{error}"
    );
    let list = "REQUIRED GROUP close (LIST) { REPEATED GROUP list { REQUIRED INT64 element; } } REQUIRED INT64 price;";
    let error = refusal(&table(&folder, list, &[]));
    assert!(
        error.contains("no column is named 'close'")
            && error.contains("('close' cannot be used: lists"),
        "{error}"
    );
    let twins = vec![Column::Int64(vec![1]), Column::Int64(vec![2])];
    let error = refusal(&table(
        &folder,
        "REQUIRED INT64 close; REQUIRED INT64 Close;",
        &[twins],
    ));
    assert!(error.contains("columns 1 'close' and 2 'Close'"), "{error}");
    let times = vec![
        Column::Int64(vec![60, 120, 120]),
        Column::Double(vec![Some(1.0), Some(2.0), Some(3.0)]),
    ];
    let path = table(&folder, &format!("REQUIRED INT64 time; {CLOSE}"), &[times]);
    assert!(refusal(&path).contains("rows 2 and 3 have the same timestamp"));
    let report = FileReport::from_file(&path, &ReadOptions::new()).unwrap();
    assert_eq!((report.rows, report.unit), (3, "row"));
    assert_eq!((report.faults.len(), report.faults[0].first_line), (1, 3));
}

#[test]
fn the_first_bytes_decide_what_a_file_is() {
    let folder = TempDir::new().unwrap();
    let column = vec![Column::Double(vec![Some(1.5), Some(2.5)])];
    let path = table(&folder, CLOSE, &[column]);
    let renamed = folder.path().join("prices.csv");
    std::fs::copy(&path, &renamed).unwrap();
    let series = Series::from_file(&renamed, &ReadOptions::new()).unwrap();
    assert_eq!(series.closes(), [1.5, 2.5]);
    let error = Series::from_csv(&renamed).unwrap_err().to_string();
    assert!(error.contains("Parquet file"), "{error}");
    std::fs::write(&renamed, "close\n1.5\n").unwrap();
    assert!(refusal(&renamed).contains("cannot be read as Parquet"));
}

#[test]
fn damaged_files_are_refused() {
    let folder = TempDir::new().unwrap();
    let closes: Vec<_> = (0..500)
        .map(|bar| Some(1.0 + f64::from(bar % 13)))
        .collect();
    let path = table(&folder, CLOSE, &[vec![Column::Double(closes)]]);
    let whole = std::fs::read(&path).unwrap();
    let mut refused = 0;
    for length in (0..whole.len()).step_by(97) {
        std::fs::write(&path, &whole[..length]).unwrap();
        refused += u32::from(Series::from_parquet(&path, &ReadOptions::new()).is_err());
    }
    assert_eq!(
        refused as usize,
        whole.len().div_ceil(97),
        "a cut-off file is none"
    );
}

/// Any outcome but a panic will do: a changed price is a price.
#[test]
fn damaged_bytes_never_panic() {
    let folder = TempDir::new().unwrap();
    let closes = (0..300).map(|bar| Some(1.0 + f64::from(bar % 13)));
    let times = Column::Int64((0..300).map(|bar| bar * 60_000).collect());
    let columns = vec![times, Column::Double(closes.collect())];
    let path = table(
        &folder,
        &format!("REQUIRED INT64 time; {CLOSE}"),
        &[columns],
    );
    let whole = std::fs::read(&path).unwrap();
    let (mut refused, mut read) = (0, 0);
    for at in (4..whole.len()).step_by(3) {
        for change in [0x01, 0xff] {
            let mut damaged = whole.clone();
            damaged[at] ^= change;
            std::fs::write(&path, &damaged).unwrap();
            match Series::from_parquet(&path, &ReadOptions::new()) {
                Ok(_) => read += 1,
                Err(_) => refused += 1,
            }
        }
    }
    assert!(refused > 100 && read > 10, "{refused} refused, {read} read");
}

/// Ten closes that pyarrow 26 wrote with `write_page_checksum=True`: no writer in Rust makes the checksums yet.
#[test]
fn a_page_that_does_not_match_its_checksum_is_refused() {
    let mut bytes = include_bytes!("support/checksums.parquet").to_vec();
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("prices.parquet");
    std::fs::write(&path, &bytes).unwrap();
    let series = Series::from_parquet(&path, &ReadOptions::default()).unwrap();
    assert_eq!((series.bars(), series.closes()[2]), (10, 99.25));
    let close = 99.25_f64.to_le_bytes();
    let at = bytes.windows(8).position(|bytes| bytes == close).unwrap();
    bytes[at + 5] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let error = Series::from_parquet(&path, &ReadOptions::default()).unwrap_err();
    assert!(error.to_string().contains("checksum"), "{error}");
}
