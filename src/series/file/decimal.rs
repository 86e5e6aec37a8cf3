//! Decimal text, exactly: an integer and a power of ten beside the nearest `f64`.

use crate::error::quoted;

/// A number as its text says it: `mantissa * 10^exponent`, the mantissa without trailing zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Decimal {
    pub(super) mantissa: i64,
    pub(super) exponent: i32,
}

/// The nearest `f64`, and the exact value where its digits fit 64 bits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Number {
    pub(super) value: f64,
    pub(super) exact: Option<Decimal>,
}

/// Reads plain or scientific notation: digits with one point, sign and exponent optional; nothing else.
pub(super) fn parse(text: &str) -> Result<Number, String> {
    let text = text.trim();
    let exact = scan(text)?;
    let value: f64 = text.parse().map_err(|_| refusal(text))?;
    if !value.is_finite() {
        return Err(format!("is {}, too large for an f64", quoted(text)));
    }
    if value == 0.0 && has_digit(text) {
        return Err(format!(
            "is {}, below the smallest f64 (5e-324), which would be 0: scale the column",
            quoted(text)
        ));
    }
    Ok(Number { value, exact })
}

/// The exact value; `None` where its digits do not fit.
fn scan(text: &str) -> Result<Option<Decimal>, String> {
    let (digits, power) = match text.find(['e', 'E']) {
        Some(at) => (
            &text[..at],
            power(&text[at + 1..]).ok_or_else(|| refusal(text))?,
        ),
        None => (text, 0),
    };
    let is_negative = digits.starts_with('-');
    let digits = digits.strip_prefix(['+', '-']).unwrap_or(digits);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let bytes = whole.bytes().chain(fraction.bytes());
    if whole.len() + fraction.len() == 0 || !bytes.clone().all(|byte| byte.is_ascii_digit()) {
        return Err(refusal(text));
    }
    let mut mantissa = Some(0_i64);
    let mut zeros = 0;
    for digit in bytes.map(|byte| i64::from(byte - b'0')) {
        if digit == 0 {
            zeros += 1;
            continue;
        }
        let shift = if mantissa == Some(0) { 1 } else { zeros + 1 };
        mantissa = mantissa.and_then(|m| {
            m.checked_mul(10_i64.checked_pow(shift)?)?
                .checked_add(digit)
        });
        zeros = 0;
    }
    let decimal = mantissa.map(|mantissa| Decimal {
        mantissa: if is_negative { -mantissa } else { mantissa },
        exponent: power
            .saturating_sub(fraction.len() as i32)
            .saturating_add(zeros as i32),
    });
    Ok(decimal)
}

/// The power of ten after the `e`; one that no number can use is as good as any larger.
fn power(text: &str) -> Option<i32> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let size = digits.parse::<i32>().unwrap_or(i32::MAX).min(1_000_000);
    Some(if text.starts_with('-') { -size } else { size })
}

/// Whether a number that was read as 0 says something else.
fn has_digit(text: &str) -> bool {
    let digits = text.split(['e', 'E']).next().unwrap_or_default();
    digits.bytes().any(|byte| (b'1'..=b'9').contains(&byte))
}

fn refusal(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let unsigned = lower.trim_start_matches(['+', '-']);
    if text.is_empty() {
        "is blank: drop the row or repair the file".to_owned()
    } else if ["nan", "null", "none", "na", "n/a"].contains(&unsigned) {
        format!(
            "is {}, a missing value: drop the row or repair the file",
            quoted(text)
        )
    } else if text.contains(',') {
        format!(
            "is {}: write a point for decimals and nothing between thousands",
            quoted(text)
        )
    } else {
        format!("is {}, which is no decimal number", quoted(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_exactly() {
        for (text, mantissa, exponent) in [
            ("7.77e-06", 777, -8),
            ("0.00000777", 777, -8),
            ("7.77E-6", 777, -8),
            (" 0.00000777 ", 777, -8),
            ("1e-8", 1, -8),
            (".5", 5, -1),
            ("+5.", 5, 0),
            ("105554.320000", 10_555_432, -2),
            ("1000", 1, 3),
            ("1002000", 1002, 3),
            ("-0.10", -1, -1),
            ("9223372036854775807", i64::MAX, 0),
            ("1.2e+3", 12, 2),
            ("00012.50", 125, -1),
        ] {
            let number = parse(text).unwrap();
            assert_eq!(number.exact, Some(Decimal { mantissa, exponent }), "{text}");
            assert_eq!(number.value, text.trim().parse::<f64>().unwrap(), "{text}");
        }
        assert_eq!(parse("0.000").unwrap().value, 0.0);
        assert_eq!(parse("0e-9999").unwrap().value, 0.0);
        assert_eq!(parse("5e-324").unwrap().value, f64::from_bits(1));
    }

    #[test]
    fn long_text_keeps_its_nearest_float_only() {
        let number = parse("0.1000000000000000055511151231257827").unwrap();
        assert_eq!((number.value, number.exact), (0.1, None));
    }

    #[test]
    fn other_text_is_refused() {
        for (text, reason) in [
            ("1,234.5", "nothing between thousands"),
            ("0,00000777", "point for decimals"),
            ("", "blank"),
            ("  ", "blank"),
            ("nan", "missing"),
            ("NaN", "missing"),
            ("nan?", "no decimal"),
            ("--", "no decimal"),
            ("inf", "no decimal"),
            ("1e", "no decimal"),
            ("1e5.0", "no decimal"),
            ("0x10", "no decimal"),
            ("1_000", "no decimal"),
            (".", "no decimal"),
            ("1.2.3", "no decimal"),
            ("1e400", "too large"),
            ("1e99999999999", "too large"),
            ("1e-324", "below the smallest f64"),
            ("-0.001e-400", "below the smallest f64"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
