//! Numbers and quoted input in messages: as people write them while that is short.
//!
//! The library and the command line both use it, the latter by its path: text for people is no part of the interface.

/// Writes a number in full between 1e-9 and 1e15, and with an exponent outside, where the digits would be mere zeros.
///
/// Both forms read back as the same `f64`.
pub(crate) fn plain(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || !value.is_finite() || (1e-9..1e15).contains(&size) {
        value.to_string()
    } else {
        format!("{value:e}")
    }
}

/// Writes a whole number with a comma every three digits.
pub(crate) fn grouped(number: impl Into<u128>) -> String {
    let digits = number.into().to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Writes a count and what is counted: `1 gap`, `2 gaps`.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(number))
}

/// Quotes input in a message: whole where it is short, else its beginning and how long it is.
pub(crate) fn quoted(text: &str) -> String {
    const WHOLE: usize = 80;
    const START: usize = 40;
    let length = text.chars().count();
    // Control characters would break the line, or do worse to a terminal.
    let visible = |from: &mut dyn Iterator<Item = char>| -> String {
        from.map(|c| if c.is_control() { '\u{fffd}' } else { c })
            .collect()
    };
    if length <= WHOLE {
        return format!("'{}'", visible(&mut text.chars()));
    }
    let start = visible(&mut text.chars().take(START));
    format!("'{start}...' ({} characters)", grouped(length as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_numbers_get_an_exponent_and_read_back() {
        for (value, text) in [
            (0.0, "0"),
            (30_000.25, "30000.25"),
            (7.77e-6, "0.00000777"),
            (999_999_999_999_999.0, "999999999999999"),
            (1e15, "1e15"),
            (-1.5e300, "-1.5e300"),
            (5e-324, "5e-324"),
            (f64::INFINITY, "inf"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(plain(value), text);
            assert!(value.is_nan() || plain(value).parse() == Ok(value));
        }
    }

    #[test]
    fn thousands_are_grouped_and_one_is_no_plural() {
        let texts = [0_u64, 999, 1_000, 1_234_567].map(grouped);
        assert_eq!(texts, ["0", "999", "1,000", "1,234,567"]);
        let texts = [0, 1, 2_000].map(|count| counted(count, "gap"));
        assert_eq!(texts, ["0 gaps", "1 gap", "2,000 gaps"]);
    }

    #[test]
    fn long_input_is_quoted_by_its_beginning() {
        assert_eq!(quoted("hma:5"), "'hma:5'");
        assert_eq!(quoted("2\n3\u{1b}"), "'2\u{fffd}3\u{fffd}'");
        let quoted = quoted(&"9".repeat(3_000));
        assert!(quoted.ends_with("9...' (3,000 characters)") && quoted.len() < 80);
    }
}
