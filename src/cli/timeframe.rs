//! Times and lengths of bars as people write them: `90s`, `5m`, `4h`, `1d`, `1w`.

use std::str::FromStr;

/// The length of a bar, in whole seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Timeframe(i64);

impl Timeframe {
    /// Returns the length in milliseconds.
    pub(crate) fn milliseconds(self) -> i64 {
        self.0
    }
}

impl FromStr for Timeframe {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = || {
            let unit = text.chars().last()?;
            let seconds = match unit {
                's' => 1,
                'm' => 60,
                'h' => 3_600,
                'd' => 86_400,
                'w' => 7 * 86_400,
                _ => return None,
            };
            let count: u32 = text.strip_suffix(unit)?.parse().ok()?;
            (count > 0).then_some(Self(i64::from(count) * seconds * 1_000))
        };
        parse().ok_or_else(|| "write a count and a unit of s, m, h, d or w, such as 5m".to_owned())
    }
}

/// Writes milliseconds in the largest unit that divides them.
pub(crate) fn in_words(milliseconds: i64) -> String {
    let units = [
        (604_800_000, "w"),
        (86_400_000, "d"),
        (3_600_000, "h"),
        (60_000, "m"),
        (1_000, "s"),
    ];
    let unit = units.iter().find(|(length, _)| milliseconds % length == 0);
    unit.map_or_else(
        || format!("{milliseconds}ms"),
        |(length, name)| format!("{}{name}", milliseconds / length),
    )
}

/// Writes Unix milliseconds as ISO 8601.
pub(crate) fn utc(milliseconds: i64) -> String {
    jiff::Timestamp::from_millisecond(milliseconds)
        .map_or_else(|_| milliseconds.to_string(), |time| time.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_read_and_write_alike() {
        for (text, milliseconds) in [
            ("90s", 90_000),
            ("5m", 300_000),
            ("4h", 14_400_000),
            ("1d", 86_400_000),
        ] {
            assert_eq!(text.parse(), Ok(Timeframe(milliseconds)));
            assert_eq!(in_words(milliseconds), text);
        }
        for text in [
            "",
            "5",
            "m",
            "0m",
            "-1m",
            "1.5h",
            "5M",
            "5min",
            "99999999999d",
        ] {
            assert!(text.parse::<Timeframe>().is_err(), "{text}");
        }
    }
}
