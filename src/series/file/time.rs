//! Timestamps of any unit, told apart one by one: Binance's files change from milliseconds to microseconds in 2025.

use jiff::tz::Offset;
use jiff::{Timestamp, civil};

use super::decimal::{self, Decimal};
use crate::error::quoted;

/// How a timestamp was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum TimeFormat {
    /// Unix seconds.
    Seconds,
    /// Unix milliseconds.
    Milliseconds,
    /// Unix microseconds.
    Microseconds,
    /// Unix nanoseconds.
    Nanoseconds,
    /// ISO 8601 with an offset, or `Z`.
    IsoOffset,
    /// ISO 8601 without an offset.
    IsoNaive,
    /// Days since 1970, the dates of a table.
    Days,
}

impl TimeFormat {
    /// Returns the format in words.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Seconds => "Unix seconds",
            Self::Milliseconds => "Unix milliseconds",
            Self::Microseconds => "Unix microseconds",
            Self::Nanoseconds => "Unix nanoseconds",
            Self::IsoOffset => "ISO 8601 with an offset",
            Self::IsoNaive => "ISO 8601 without an offset",
            Self::Days => "days",
        }
    }

    /// Powers of ten from this unit to milliseconds; days are milliseconds already.
    fn shift(self) -> i32 {
        match self {
            Self::Seconds => 3,
            Self::Microseconds => -3,
            Self::Nanoseconds => -6,
            Self::Milliseconds | Self::IsoOffset | Self::IsoNaive | Self::Days => 0,
        }
    }

    /// A count of this unit as Unix milliseconds, anything finer cut off.
    fn milliseconds(self, count: Decimal) -> Option<i64> {
        if self == Self::Days {
            return scaled(count, 0)?.checked_mul(86_400_000);
        }
        scaled(count, self.shift())
    }

    /// The same of a number, nearly.
    fn of_value(self, value: f64) -> Option<i64> {
        let time = value * 10_f64.powi(self.shift());
        (time.abs() < 1e18).then_some(time as i64)
    }

    /// The same of a whole number, if there can be a price at that time.
    #[cfg(feature = "parquet")]
    pub(super) fn of_count(self, count: i64) -> Option<i64> {
        possible(self.milliseconds(Decimal {
            mantissa: count,
            exponent: 0,
        }))
    }

    /// Says what is wrong with a count of this unit that is no time of a price.
    #[cfg(feature = "parquet")]
    pub(super) fn refuse_count(self, count: i64) -> String {
        impossible(&count.to_string(), self, None)
    }

    /// The unit whose count of that size falls between 1973 and 5138; seconds reach back to 1970 and before.
    fn of_size(value: f64) -> Self {
        let size = value.abs();
        if size < 1e11 {
            Self::Seconds
        } else if size < 1e14 {
            Self::Milliseconds
        } else if size < 1e17 {
            Self::Microseconds
        } else {
            Self::Nanoseconds
        }
    }
}

/// Reads a timestamp as Unix milliseconds, anything finer cut off; a time without an offset is `utc_offset`
/// milliseconds ahead of UTC.
pub(super) fn parse(
    text: &str,
    stated: Option<TimeFormat>,
    utc_offset: i64,
) -> Result<(i64, TimeFormat), String> {
    let text = text.trim();
    let is_stated_iso = matches!(stated, Some(TimeFormat::IsoNaive | TimeFormat::IsoOffset));
    if is_stated_iso || is_compact_date(text) && stated.is_none() {
        return iso(text, utc_offset);
    }
    match decimal::parse(text) {
        Ok(number) => {
            let format = stated.unwrap_or_else(|| TimeFormat::of_size(number.value));
            let milliseconds = number.exact.and_then(|exact| format.milliseconds(exact));
            let time = possible(milliseconds);
            let time = time.ok_or_else(|| {
                let likely = Some(TimeFormat::of_size(number.value));
                let is_likely = |other: &TimeFormat| {
                    *other != format && possible(other.of_value(number.value)).is_some()
                };
                impossible(&quoted(text), format, likely.filter(is_likely))
            })?;
            Ok((time, format))
        }
        Err(_) => iso(text, utc_offset),
    }
}

/// From 1700, so that the smallest number of 64 bits, which pandas writes for no time, is none; and to 2300, so that
/// milliseconds are not read as seconds from May 1970 on.
const POSSIBLE: std::ops::Range<i64> = -8_520_336_000_000..10_413_792_000_000;

/// A time at which there can be a price.
fn possible(milliseconds: Option<i64>) -> Option<i64> {
    milliseconds.filter(|time| POSSIBLE.contains(time))
}

/// Says why a text or number is no time in that format, and of which it may be.
fn impossible(text: &str, format: TimeFormat, likely: Option<TimeFormat>) -> String {
    let remedy = match likely {
        Some(likely) => format!(
            "by its size it is {}, so state that format, or none",
            likely.describe()
        ),
        None => "drop the row or repair the file".to_owned(),
    };
    format!(
        "timestamp {text} in {} is not between the years 1700 and 2300: {remedy}",
        format.describe()
    )
}

/// `20240102` is a day, not a second of 1970.
fn is_compact_date(text: &str) -> bool {
    let is_digits = text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit());
    is_digits && (text.starts_with("19") || text.starts_with("20"))
}

/// `decimal * 10^shift`, rounded down.
fn scaled(decimal: Decimal, shift: i32) -> Option<i64> {
    let exponent = decimal.exponent.checked_add(shift)?;
    let power = 10_i128.checked_pow(exponent.unsigned_abs())?;
    let mantissa = i128::from(decimal.mantissa);
    let value = if exponent < 0 {
        mantissa.div_euclid(power)
    } else {
        mantissa.checked_mul(power)?
    };
    i64::try_from(value).ok()
}

fn iso(text: &str, utc_offset: i64) -> Result<(i64, TimeFormat), String> {
    if text.is_empty() {
        return Err("timestamp is blank: drop the row or repair the file".to_owned());
    }
    let (time, format) = if let Ok(time) = text.parse::<Timestamp>() {
        (Some(milliseconds(time)), TimeFormat::IsoOffset)
    } else if let Ok(time) = text.parse::<civil::DateTime>() {
        let time = Offset::UTC.to_timestamp(time).ok();
        let time = time.map(|time| milliseconds(time) - utc_offset);
        (time, TimeFormat::IsoNaive)
    } else {
        return Err(format!(
            "timestamp {} is no time: write Unix time, or ISO 8601 such as 2025-01-01T00:00:00Z",
            quoted(text)
        ));
    };
    // Old prices are written as dates, but a year such as 9999 stands for none.
    let early = time.filter(|&time| time < POSSIBLE.end);
    let early = early.ok_or_else(|| impossible(&quoted(text), format, None));
    early.map(|time| (time, format))
}

fn milliseconds(time: Timestamp) -> i64 {
    time.as_nanosecond().div_euclid(1_000_000) as i64
}

/// Writes Unix milliseconds as ISO 8601 in UTC; the bare number where no calendar reaches.
pub(super) fn utc(milliseconds: i64) -> String {
    Timestamp::from_millisecond(milliseconds)
        .map_or_else(|_| milliseconds.to_string(), |time| time.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (i64, TimeFormat) {
        parse(text, None, 0).unwrap()
    }

    #[test]
    fn units_are_told_apart_one_by_one() {
        let new_year = 1_735_689_600_000;
        for (text, format) in [
            ("1735689600", TimeFormat::Seconds),
            ("1735689600.0", TimeFormat::Seconds),
            ("1735689600000", TimeFormat::Milliseconds),
            ("1.7356896e12", TimeFormat::Milliseconds),
            ("1735689600000999", TimeFormat::Microseconds),
            ("1735689600000000000", TimeFormat::Nanoseconds),
            ("2025-01-01T00:00:00Z", TimeFormat::IsoOffset),
            ("2025-01-01 00:00:00+00:00", TimeFormat::IsoOffset),
            ("2024-12-31 19:00:00-05:00", TimeFormat::IsoOffset),
            ("2025-01-01 09:00:00.000+0900", TimeFormat::IsoOffset),
            ("2025-01-01 00:00:00", TimeFormat::IsoNaive),
            ("2025-01-01T00:00", TimeFormat::IsoNaive),
            ("2025-01-01", TimeFormat::IsoNaive),
            ("20250101", TimeFormat::IsoNaive),
        ] {
            assert_eq!(read(text), (new_year, format), "{text}");
        }
        assert_eq!(read("-1").0, -1_000);
        assert_eq!(read("1735689600.5").0, new_year + 500);
    }

    #[test]
    fn naive_times_move_by_the_offset_and_others_do_not() {
        let hours = 3_600_000;
        let shifted = |text| parse(text, None, 9 * hours).unwrap().0;
        assert_eq!(shifted("2026-06-17 12:26:00"), 1_781_666_760_000);
        assert_eq!(shifted("2026-06-17T03:26:00Z"), 1_781_666_760_000);
        assert_eq!(shifted("1781666760000"), 1_781_666_760_000);
    }

    #[test]
    fn stated_format_wins_and_bad_text_is_refused() {
        let stated = parse("60000", Some(TimeFormat::Milliseconds), 0).unwrap();
        assert_eq!(stated, (60_000, TimeFormat::Milliseconds));
        for text in ["", "yesterday", "01/02/2024", "1e300", "2024-13-01"] {
            assert!(parse(text, None, 0).is_err(), "{text}");
        }
    }

    /// A unit that is a thousand times too long puts prices some 50,000 years ahead.
    #[test]
    fn a_stated_unit_that_gives_impossible_dates_is_refused_with_the_likely_one() {
        use TimeFormat::{Microseconds, Milliseconds, Nanoseconds, Seconds};
        for (text, stated, likely) in [
            ("1735689600000", Seconds, "Unix milliseconds"),
            ("1735689600000000", Milliseconds, "Unix microseconds"),
            ("1735689600000000", Seconds, "Unix microseconds"),
            ("1735689600000000000", Microseconds, "Unix nanoseconds"),
        ] {
            let error = parse(text, Some(stated), 0).unwrap_err();
            let is_named = error.contains(text) && error.contains(stated.describe());
            assert!(is_named && error.contains(likely), "{error}");
        }
        // pandas has no time, as an integer
        let nat = parse("-9223372036854775808", None, 0).unwrap_err();
        assert!(nat.contains("drop the row"), "{nat}");
        let ends = [
            ("-8520336000", true),
            ("-8520336001", false),
            ("10413791999", true),
            ("10413792000", false),
        ];
        for (text, is_possible) in ends {
            assert_eq!(parse(text, Some(Seconds), 0).is_ok(), is_possible, "{text}");
        }
        assert!(parse("1735689600000000000", Some(Nanoseconds), 0).is_ok());
        assert!(parse("9999-12-31", None, 0).unwrap_err().contains("2300"));
        assert!(parse("1270-01-01", None, 0).is_ok());
    }
}
