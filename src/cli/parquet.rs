//! The rows of a finished sweep as one Parquet table: typed columns, and what it is of as key-values.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Lines};
use std::path::Path;
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use serde_json::Value;

use super::{Failure, Outcome};

/// Rows of a row group: some megabytes, whatever the chunks were, so that the bytes do not depend on them.
const GROUP: usize = 1 << 16;

/// Writes lines of CSV, as the sweep kept them, as a table.
pub(crate) fn write(lines: &Path, table: &Path, meta: &Value) -> Outcome {
    let text = File::open(lines).map_err(|error| Failure::file(lines, error))?;
    let mut text = BufReader::new(text).lines();
    let head = text.next().transpose();
    let head = head
        .map_err(|error| Failure::file(lines, error))?
        .unwrap_or_default();
    let refuse = |error: ParquetError| Failure::file(table, io::Error::other(error));
    let mut writer = start(&head, table, meta)?;
    while let Some(columns) = next_group(&head, &mut text, lines)? {
        let mut group = writer.next_row_group().map_err(refuse)?;
        for column in &columns {
            if let Some(mut to) = group.next_column().map_err(refuse)? {
                let written = column.write(&mut to).and_then(|()| to.close());
                written.map_err(refuse)?;
            }
        }
        group.close().map_err(refuse)?;
    }
    let file = writer.into_inner().map_err(refuse)?;
    file.sync_all().map_err(|error| Failure::file(table, error))
}

/// The columns of the next rows; none at the end.
fn next_group(
    head: &str,
    text: &mut Lines<BufReader<File>>,
    lines: &Path,
) -> Outcome<Option<Vec<Column>>> {
    let mut columns: Vec<Column> = head.split(',').map(Column::of).collect();
    let mut rows = 0;
    for row in text.take(GROUP) {
        let row = row.map_err(|error| Failure::file(lines, error))?;
        let mut cells = row.split(',').zip(&mut columns);
        if !cells.all(|(cell, column)| column.push(cell).is_some()) {
            let reason = format!("{} has a line that is no row: remove it", lines.display());
            return Err(Failure::Data(reason));
        }
        rows += 1;
    }
    Ok((rows > 0).then_some(columns))
}

fn start(head: &str, table: &Path, meta: &Value) -> Outcome<SerializedFileWriter<File>> {
    let refuse = |error: ParquetError| Failure::file(table, io::Error::other(error));
    let fields: Vec<String> = head
        .split(',')
        .map(|name| Column::of(name).field(name))
        .collect();
    let schema = format!("message sweep {{ {} }}", fields.concat());
    let schema = parse_message_type(&schema).map_err(refuse)?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(key_values(meta)))
        .build();
    let file = File::create(table).map_err(|error| Failure::file(table, error))?;
    SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties)).map_err(refuse)
}

/// One key for each fact, `crosscheck.version` first; text as it is, anything else as JSON.
fn key_values(meta: &Value) -> Vec<KeyValue> {
    let facts = meta.as_object().into_iter().flatten();
    let pair = |(name, value): (&String, &Value)| {
        let name = if name == "crosscheck" {
            "version"
        } else {
            name
        };
        let text = value.as_str().map(str::to_owned);
        let text = text.unwrap_or_else(|| value.to_string());
        KeyValue::new(format!("crosscheck.{name}"), text)
    };
    facts.map(pair).collect()
}

/// Values of one column.
enum Column {
    Text(Vec<ByteArray>),
    Count(Vec<i64>),
    Flag(Vec<bool>),
    /// Values, and for each row whether it has one.
    Number(Vec<f64>, Vec<i16>),
}

impl Column {
    fn of(name: &str) -> Self {
        match name {
            "fast" | "slow" => Self::Text(Vec::new()),
            "trades" | "wins" | "unfilled" => Self::Count(Vec::new()),
            "has_open_trade" => Self::Flag(Vec::new()),
            _ => Self::Number(Vec::new(), Vec::new()),
        }
    }

    fn field(&self, name: &str) -> String {
        match self {
            Self::Text(_) => format!("REQUIRED BYTE_ARRAY {name} (STRING); "),
            Self::Count(_) => format!("REQUIRED INT64 {name}; "),
            Self::Flag(_) => format!("REQUIRED BOOLEAN {name}; "),
            Self::Number(..) => format!("OPTIONAL DOUBLE {name}; "),
        }
    }

    fn push(&mut self, cell: &str) -> Option<()> {
        match self {
            Self::Text(values) => values.push(cell.into()),
            Self::Count(values) => values.push(cell.parse().ok()?),
            Self::Flag(values) => values.push(cell.parse().ok()?),
            Self::Number(_, levels) if cell.is_empty() => levels.push(0),
            Self::Number(values, levels) => {
                values.push(cell.parse().ok()?);
                levels.push(1);
            }
        }
        Some(())
    }

    fn write(&self, to: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        match self {
            Self::Text(values) => to.typed::<ByteArrayType>().write_batch(values, None, None),
            Self::Count(values) => to.typed::<Int64Type>().write_batch(values, None, None),
            Self::Flag(values) => to.typed::<BoolType>().write_batch(values, None, None),
            Self::Number(values, levels) => {
                let writer = to.typed::<DoubleType>();
                writer.write_batch(values, Some(levels), None)
            }
        }?;
        Ok(())
    }
}
