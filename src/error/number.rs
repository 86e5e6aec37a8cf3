//! Numbers in messages: as people write them while that is short, with an exponent beyond.

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
}
