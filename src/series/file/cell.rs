//! A cell of a typed table, read by the rules for text wherever a type leaves a choice.

use super::decimal::{self, Decimal, Number};
use super::time::{self, TimeFormat};

/// One value as the table holds it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Missing,
    Text(String),
    Integer(i128),
    /// `unscaled / 10^scale`.
    Decimal {
        unscaled: i128,
        scale: i32,
    },
    Single(f32),
    Double(f64),
    /// A count of the unit since 1970, and whether it counts from midnight in UTC.
    Time {
        count: i64,
        unit: TimeFormat,
        is_utc: bool,
    },
    /// A value that fits no type above, in words.
    Foreign(&'static str),
}

/// How the cells of a table are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct CellRules {
    /// Whether a float stands for the shortest decimal text that reads back as the same float.
    pub(super) floats_are_decimal: bool,
    pub(super) time_format: Option<TimeFormat>,
    pub(super) utc_offset: i64,
}

impl Cell {
    /// Reads a number: exact where it is an integer, a decimal or text.
    pub(super) fn number(&self, rules: CellRules) -> Result<Number, String> {
        match self {
            Self::Missing => Err(MISSING.to_owned()),
            Self::Text(text) => decimal::parse(text),
            Self::Integer(value) => decimal::parse(&value.to_string()),
            Self::Decimal { unscaled, scale } => decimal::parse(&format!("{unscaled}e{}", -scale)),
            Self::Single(value) => float(f64::from(*value), || format!("{value:e}"), rules),
            Self::Double(value) => float(*value, || format!("{value:e}"), rules),
            Self::Time { .. } => Err("is a time, which is no price".to_owned()),
            Self::Foreign(what) => Err(format!("is {what}: write it as a number or as text")),
        }
    }

    /// Reads a time as Unix milliseconds, anything finer cut off.
    pub(super) fn time(&self, rules: CellRules) -> Result<(i64, TimeFormat), String> {
        let parse = |text: &str| time::parse(text, rules.time_format, rules.utc_offset);
        match self {
            Self::Missing => Err(format!("timestamp {MISSING}")),
            Self::Text(text) => parse(text),
            Self::Integer(value) => parse(&value.to_string()),
            Self::Decimal { unscaled, scale } => parse(&format!("{unscaled}e{}", -scale)),
            Self::Single(value) => parse(&value.to_string()),
            Self::Double(value) => parse(&value.to_string()),
            Self::Time {
                count,
                unit,
                is_utc,
            } => unit
                .of_count(*count)
                .and_then(|time| time.checked_sub(if *is_utc { 0 } else { rules.utc_offset }))
                .map(|time| (time, *unit))
                .ok_or_else(|| unit.refuse_count(*count)),
            Self::Foreign(what) => Err(format!(
                "timestamp is {what}: write Unix time or a timestamp"
            )),
        }
    }
}

const MISSING: &str = "is null, a missing value: drop the row or repair the file";

/// The float itself, and the exact decimal where floats stand for one.
fn float(value: f64, text: impl Fn() -> String, rules: CellRules) -> Result<Number, String> {
    if value.is_nan() {
        return Err("is NaN, a missing value: drop the row or repair the file".to_owned());
    }
    if value.is_infinite() {
        return Err(format!(
            "is {value}: numbers must be finite; drop the row or repair the file"
        ));
    }
    let exact: Option<Decimal> = if rules.floats_are_decimal {
        decimal::parse(&text())?.exact
    } else {
        None
    };
    Ok(Number { value, exact })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: CellRules = CellRules {
        floats_are_decimal: true,
        time_format: None,
        utc_offset: 0,
    };

    #[test]
    fn numbers_are_exact_where_their_type_is() {
        for (cell, mantissa, exponent) in [
            (Cell::Integer(1_200), 12, 2),
            (
                Cell::Decimal {
                    unscaled: 10_555_432_000,
                    scale: 5,
                },
                10_555_432,
                -2,
            ),
            (
                Cell::Decimal {
                    unscaled: 5,
                    scale: -3,
                },
                5,
                3,
            ),
            (Cell::Text("7.77e-06".to_owned()), 777, -8),
            (Cell::Double(0.1), 1, -1),
            (Cell::Double(1e22), 1, 22),
            (Cell::Single(0.1), 1, -1),
        ] {
            let exact = cell.number(RULES).unwrap().exact;
            assert_eq!(exact, Some(Decimal { mantissa, exponent }), "{cell:?}");
        }
        let as_binary = CellRules {
            floats_are_decimal: false,
            ..RULES
        };
        let single = Cell::Single(0.1).number(as_binary).unwrap();
        assert_eq!((single.value, single.exact), (f64::from(0.1_f32), None));
        let wide = Cell::Decimal {
            unscaled: i128::MAX,
            scale: 38,
        };
        let wide = wide.number(RULES).unwrap();
        assert_eq!((wide.value, wide.exact), (1.7014118346046923, None));
    }

    #[test]
    fn what_is_no_number_says_why() {
        for (cell, reason) in [
            (Cell::Missing, "null"),
            (Cell::Double(f64::NAN), "NaN"),
            (Cell::Single(f32::INFINITY), "finite"),
            (Cell::Text("1,5".to_owned()), "point for decimals"),
            (Cell::Foreign("true"), "as a number"),
        ] {
            let error = cell.number(RULES).unwrap_err();
            assert!(error.contains(reason), "{cell:?}: {error}");
        }
    }

    #[test]
    fn times_of_any_type_are_milliseconds() {
        let time = |count, unit, is_utc| Cell::Time {
            count,
            unit,
            is_utc,
        };
        let new_year = 1_735_689_600_000;
        for cell in [
            Cell::Integer(1_735_689_600),
            Cell::Integer(1_735_689_600_000_000),
            Cell::Text("2025-01-01".to_owned()),
            Cell::Double(1_735_689_600.0),
            time(new_year, TimeFormat::Milliseconds, true),
            time(new_year * 1_000 + 999, TimeFormat::Microseconds, true),
            time(new_year * 1_000_000, TimeFormat::Nanoseconds, false),
            time(20_089, TimeFormat::Days, false),
        ] {
            assert_eq!(cell.time(RULES).unwrap().0, new_year, "{cell:?}");
        }
        let tokyo = CellRules {
            utc_offset: 9 * 3_600_000,
            ..RULES
        };
        let found = [false, true].map(|is_utc| {
            let cell = time(new_year, TimeFormat::Milliseconds, is_utc);
            cell.time(tokyo).unwrap().0
        });
        assert_eq!(found, [new_year - 9 * 3_600_000, new_year]);
        assert!(time(i64::MAX, TimeFormat::Days, true).time(RULES).is_err());
    }
}
