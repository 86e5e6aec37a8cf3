//! A column of a Parquet table, decoded into cells by its physical and its logical type.

use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::Result;
use parquet::schema::types::ColumnDescriptor;

use super::cell::Cell;
use super::time::TimeFormat;

/// What the values of a column mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Signed,
    Unsigned,
    Float,
    Decimal { scale: i32 },
    Time { unit: TimeFormat, is_utc: bool },
    Text,
    Foreign(&'static str),
}

impl Kind {
    /// Reads it from the schema.
    pub(super) fn of(column: &ColumnDescriptor) -> Self {
        let Some(logical) = column.logical_type_ref() else {
            return Self::of_converted(column);
        };
        match logical {
            LogicalType::Decimal(decimal) => Self::Decimal {
                scale: decimal.scale,
            },
            LogicalType::Timestamp(time) => Self::Time {
                unit: match time.unit {
                    TimeUnit::MILLIS => TimeFormat::Milliseconds,
                    TimeUnit::MICROS => TimeFormat::Microseconds,
                    TimeUnit::NANOS => TimeFormat::Nanoseconds,
                },
                is_utc: time.is_adjusted_to_u_t_c,
            },
            LogicalType::Date => Self::DAYS,
            LogicalType::Integer(integer) if !integer.is_signed => Self::Unsigned,
            LogicalType::Integer(_) => Self::Signed,
            LogicalType::String | LogicalType::Enum | LogicalType::Json => Self::Text,
            LogicalType::Time(_) => Self::Foreign("a time of day"),
            LogicalType::Float16 => Self::Foreign("a float of 16 bits"),
            _ => Self::Foreign("of a type that holds no number"),
        }
    }

    /// Files of older programs state a converted type, or none at all.
    fn of_converted(column: &ColumnDescriptor) -> Self {
        let utc = |unit| Self::Time { unit, is_utc: true };
        match column.converted_type() {
            ConvertedType::DECIMAL => Self::Decimal {
                scale: column.type_scale(),
            },
            ConvertedType::TIMESTAMP_MILLIS => utc(TimeFormat::Milliseconds),
            ConvertedType::TIMESTAMP_MICROS => utc(TimeFormat::Microseconds),
            ConvertedType::DATE => Self::DAYS,
            ConvertedType::UINT_8
            | ConvertedType::UINT_16
            | ConvertedType::UINT_32
            | ConvertedType::UINT_64 => Self::Unsigned,
            ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON => Self::Text,
            ConvertedType::NONE
            | ConvertedType::INT_8
            | ConvertedType::INT_16
            | ConvertedType::INT_32
            | ConvertedType::INT_64 => Self::of_physical(column.physical_type()),
            _ => Self::Foreign("of a type that holds no number"),
        }
    }

    fn of_physical(physical: Type) -> Self {
        match physical {
            Type::INT32 | Type::INT64 => Self::Signed,
            Type::INT96 => Self::Time {
                unit: TimeFormat::Milliseconds,
                is_utc: false,
            },
            Type::FLOAT | Type::DOUBLE => Self::Float,
            Type::BYTE_ARRAY => Self::Text,
            Type::BOOLEAN => Self::Foreign("a boolean"),
            Type::FIXED_LEN_BYTE_ARRAY => Self::Foreign("a row of bytes"),
        }
    }

    const DAYS: Self = Self::Time {
        unit: TimeFormat::Days,
        is_utc: false,
    };

    pub(super) fn is_float(self) -> bool {
        self == Self::Float
    }

    pub(super) fn is_time(self) -> bool {
        matches!(self, Self::Time { .. })
    }

    fn integer(self, value: i64, unsigned: u64) -> Cell {
        match self {
            Self::Unsigned => Cell::Integer(unsigned.into()),
            Self::Decimal { scale } => Cell::Decimal {
                unscaled: value.into(),
                scale,
            },
            Self::Time { unit, is_utc } => Cell::Time {
                count: value,
                unit,
                is_utc,
            },
            Self::Foreign(what) => Cell::Foreign(what),
            Self::Signed | Self::Float | Self::Text => Cell::Integer(value.into()),
        }
    }

    fn bytes(self, bytes: &[u8]) -> Cell {
        match self {
            Self::Decimal { scale } => match big_endian(bytes) {
                Some(unscaled) => Cell::Decimal { unscaled, scale },
                None => Cell::Foreign("a decimal of more than 128 bits"),
            },
            Self::Text => match std::str::from_utf8(bytes) {
                Ok(text) => Cell::Text(text.to_owned()),
                Err(_) => Cell::Foreign("text that is no UTF-8"),
            },
            Self::Foreign(what) => Cell::Foreign(what),
            _ => Cell::Foreign("a row of bytes"),
        }
    }
}

/// Two's complement, the highest byte first; `None` where 128 bits do not hold it.
fn big_endian(bytes: &[u8]) -> Option<i128> {
    let fill = if bytes.first().is_some_and(|&byte| byte >= 0x80) {
        0xff
    } else {
        0
    };
    let (front, last) = bytes.split_at(bytes.len().saturating_sub(16));
    let mut wide = [fill; 16];
    wide[16 - last.len()..].copy_from_slice(last);
    let value = i128::from_be_bytes(wide);
    let is_same_sign = (value < 0) == (fill == 0xff);
    (front.iter().all(|&byte| byte == fill) && is_same_sign).then_some(value)
}

/// The values of a column in one row group, from the first on.
pub(super) struct ColumnChunk {
    reader: ColumnReader,
    kind: Kind,
    is_optional: bool,
}

impl ColumnChunk {
    pub(super) fn new(reader: ColumnReader, kind: Kind, is_optional: bool) -> Self {
        Self {
            reader,
            kind,
            is_optional,
        }
    }

    /// Appends the cells of the next rows, at most `count`; none at the end.
    pub(super) fn read(&mut self, count: usize, out: &mut Vec<Cell>) -> Result<()> {
        let (kind, nulls) = (self.kind, self.is_optional);
        let int = |value: i64, unsigned: u64| kind.integer(value, unsigned);
        match &mut self.reader {
            ColumnReader::BoolColumnReader(r) => {
                records(r, nulls, count, out, |_| Cell::Foreign("a boolean"))
            }
            ColumnReader::Int32ColumnReader(r) => records(r, nulls, count, out, |value| {
                int(value.into(), value.cast_unsigned().into())
            }),
            ColumnReader::Int64ColumnReader(r) => records(r, nulls, count, out, |value| {
                int(value, value.cast_unsigned())
            }),
            ColumnReader::Int96ColumnReader(r) => {
                records(r, nulls, count, out, |value| int(value.to_millis(), 0))
            }
            ColumnReader::FloatColumnReader(r) => records(r, nulls, count, out, Cell::Single),
            ColumnReader::DoubleColumnReader(r) => records(r, nulls, count, out, Cell::Double),
            ColumnReader::ByteArrayColumnReader(r) => {
                records(r, nulls, count, out, |value: ByteArray| {
                    kind.bytes(value.data())
                })
            }
            ColumnReader::FixedLenByteArrayColumnReader(r) => {
                records(r, nulls, count, out, |value| kind.bytes(value.data()))
            }
        }
    }
}

fn records<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    is_optional: bool,
    count: usize,
    out: &mut Vec<Cell>,
    cell: impl Fn(T::T) -> Cell,
) -> Result<()> {
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    let wanted = is_optional.then_some(&mut levels);
    reader.read_records(count, wanted, None, &mut values)?;
    let mut values = values.into_iter().map(cell);
    if is_optional {
        out.extend(levels.iter().map(|&level| {
            let value = if level > 0 { values.next() } else { None };
            value.unwrap_or(Cell::Missing)
        }));
    } else {
        out.extend(values);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_twos_complement_of_any_length() {
        for (bytes, value) in [
            (&[][..], Some(0)),
            (&[0x01, 0x00], Some(256)),
            (&[0xff], Some(-1)),
            (&[0xff, 0x00], Some(-256)),
            (&[0x00; 20], Some(0)),
            (&[0xff; 20], Some(-1)),
        ] {
            assert_eq!(big_endian(bytes), value, "{bytes:?}");
        }
        let mut wide = [0_u8; 17];
        wide[1] = 0x80;
        assert_eq!(big_endian(&wide), None, "2^127");
        wide[0] = 1;
        assert_eq!(big_endian(&wide), None, "beyond 2^128");
    }
}
