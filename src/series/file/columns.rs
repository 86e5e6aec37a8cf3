//! Which column holds what, by the names that exchanges and backtest programs give them.

use crate::error::quoted;

/// Indices of the columns that a series is made of.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Columns {
    pub(super) timestamp: Option<usize>,
    pub(super) open: Option<usize>,
    pub(super) high: Option<usize>,
    pub(super) low: Option<usize>,
    pub(super) close: usize,
    pub(super) volume: Option<usize>,
    /// Fields that each row must have.
    pub(super) fields: usize,
}

/// Names of times: ours, Binance (`open_time`), freqtrade (`date`), yfinance (`Date`, `Datetime`).
const TIMES: &[&str] = &[
    "timestamp",
    "open_time",
    "opentime",
    "time",
    "datetime",
    "date",
    "unix",
    "ts",
];
const VOLUMES: &[&str] = &["volume", "vol", "v"];

impl Columns {
    /// Finds the columns by their names; `close` overrides which one is the close.
    pub(super) fn named(given: &[String], close: Option<&str>) -> Result<Self, String> {
        let names: Vec<String> = given.iter().map(|name| plain(name)).collect();
        let find = |known: &[&str]| {
            let mut known = known.iter();
            known.find_map(|known| names.iter().position(|name| name == known))
        };
        // pandas leaves the name of an index of times blank.
        let unnamed = (names.len() > 1 && names[0].is_empty()).then_some(0);
        let close_names = close.map_or_else(
            || vec!["close".to_owned(), "c".to_owned()],
            |c| vec![plain(c)],
        );
        let close_names: Vec<&str> = close_names.iter().map(String::as_str).collect();
        let close_at = find(&close_names).ok_or_else(|| missing(&close_names, &names))?;
        // Opens, highs and lows belong to the column `close`, not to an adjusted one.
        let is_close = close.is_none_or(|close| plain(close) == "close");
        let price = |known: &[&str]| find(known).filter(|_| is_close);
        let (open, high, low) = (
            price(&["open", "o"]),
            price(&["high", "h"]),
            price(&["low", "l"]),
        );
        let is_bar = open.is_some() && high.is_some() && low.is_some();
        let columns = Self {
            timestamp: find(TIMES).or(unnamed),
            open,
            high: high.filter(|_| is_bar),
            low: low.filter(|_| is_bar),
            close: close_at,
            volume: find(VOLUMES),
            fields: names.len(),
        };
        columns.refuse_twins(&names, given)?;
        Ok(columns)
    }

    /// Two columns of one name: which is meant is a guess.
    fn refuse_twins(&self, names: &[String], given: &[String]) -> Result<(), String> {
        for at in self.used() {
            let twin = |(other, name): (usize, &String)| other != at && *name == names[at];
            let Some(other) = names.iter().enumerate().position(twin) else {
                continue;
            };
            let (first, second) = (at.min(other), at.max(other));
            return Err(format!(
                "columns {} {} and {} {} have one name: rename or remove one of them",
                first + 1,
                quoted(given[first].trim()),
                second + 1,
                quoted(given[second].trim())
            ));
        }
        Ok(())
    }

    /// The columns that are read.
    pub(super) fn used(&self) -> Vec<usize> {
        let optional = [self.timestamp, self.open, self.high, self.low, self.volume];
        let optional = optional.into_iter().flatten();
        std::iter::once(self.close).chain(optional).collect()
    }

    /// The usual order of a file without names, by its count of fields.
    pub(super) fn unnamed(fields: usize) -> Result<Self, String> {
        let order: &[&str] = match fields {
            1 => &["close"],
            2 => &["timestamp", "close"],
            5.. => &["timestamp", "open", "high", "low", "close", "volume"],
            _ => {
                return Err(format!(
                    "there is no header, and the order of {fields} columns is not known: state the columns"
                ));
            }
        };
        let mut names: Vec<String> = order.iter().take(fields).map(ToString::to_string).collect();
        names.resize(fields, "-".to_owned());
        Self::named(&names, None)
    }

    /// Says which fields were taken, for the report.
    pub(super) fn describe(&self) -> String {
        let close = Some(self.close);
        let all = [
            ("timestamp", self.timestamp),
            ("open", self.open),
            ("high", self.high),
            ("low", self.low),
            ("close", close),
            ("volume", self.volume),
        ];
        let found = all.iter().filter(|(_, at)| at.is_some());
        found.map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
    }
}

fn plain(name: &str) -> String {
    name.trim().to_lowercase().replace([' ', '-'], "_")
}

fn missing(wanted: &[&str], names: &[String]) -> String {
    format!(
        "no column is named {}, the names are {}; rename one or state the columns",
        quoted(wanted[0]),
        quoted(&names.join(", "))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(header: &str) -> Columns {
        let names: Vec<String> = header.split(',').map(str::to_owned).collect();
        Columns::named(&names, None).unwrap()
    }

    #[test]
    fn known_programs_are_understood() {
        let at = |columns: Columns| {
            let Columns {
                timestamp,
                open,
                high,
                low,
                close,
                volume,
                ..
            } = columns;
            [timestamp, open, high, low, Some(close), volume].map(|at| at.map_or(99, |at| at))
        };
        let usual = [0, 1, 2, 3, 4, 5];
        for (header, expected) in [
            ("timestamp,open,high,low,close,volume", usual),
            (
                "open_time,open,high,low,close,volume,close_time,quote_volume,count",
                usual,
            ),
            (
                "Open time,Open,High,Low,Close,Volume,Close time,Quote asset volume",
                usual,
            ),
            ("date,open,high,low,close,volume", usual),
            (",Open,High,Low,Close,Volume", usual),
            (
                "Date,Open,High,Low,Close,Adj Close,Volume",
                [0, 1, 2, 3, 4, 6],
            ),
            ("Price,Close,High,Low,Open,Volume", [99, 4, 2, 3, 1, 5]),
            (
                "unix,date,symbol,open,high,low,close,Volume BTC",
                [1, 3, 4, 5, 6, 99],
            ),
            ("close", [99, 99, 99, 99, 0, 99]),
        ] {
            assert_eq!(at(named(header)), expected, "{header}");
        }
        assert_eq!(at(Columns::unnamed(12).unwrap()), usual);
        assert_eq!(at(Columns::unnamed(2).unwrap()), [0, 99, 99, 99, 1, 99]);
        assert!(
            Columns::unnamed(3)
                .unwrap_err()
                .contains("state the columns")
        );
    }

    #[test]
    fn two_columns_of_one_name_are_refused_by_both_names() {
        let names = ["date", "Close", "volume", " close"].map(str::to_owned);
        let error = Columns::named(&names, None).unwrap_err();
        assert!(error.contains("columns 2 'Close' and 4 'close'"), "{error}");
        // A name that is not read may stand as often as it likes.
        let names = ["date", "close", "note", "note", "-", "-"].map(str::to_owned);
        assert!(Columns::named(&names, None).is_ok());
    }

    #[test]
    fn another_close_leaves_the_other_prices_out() {
        let names: Vec<String> = "Date,Open,High,Low,Close,Adj Close,Volume"
            .split(',')
            .map(str::to_owned)
            .collect();
        let columns = Columns::named(&names, Some("adj close")).unwrap();
        assert_eq!((columns.close, columns.open, columns.high), (5, None, None));
        let refused = Columns::named(&names, Some("mid")).unwrap_err();
        assert!(
            refused.contains("'mid'") && refused.contains("adj_close"),
            "{refused}"
        );
    }
}
