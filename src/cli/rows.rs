//! Rows of a sweep as text: CSV or JSON lines, by the name of the file.

use std::path::Path;

use crosscheck::{Metric, SweepRow};
use serde_json::Value;

use super::number::quoted;
use super::{Failure, Outcome};

/// The metrics by the names of their columns.
pub(crate) const METRICS: &[(&str, Metric)] = &[
    ("trades", Metric::Trades),
    ("pnl_pct", Metric::Pnl),
    ("fees_pct", Metric::Fees),
    ("win_rate", Metric::WinRate),
    ("profit_factor", Metric::ProfitFactor),
    ("average_trade_pct", Metric::AverageTrade),
    ("best_trade_pct", Metric::BestTrade),
    ("worst_trade_pct", Metric::WorstTrade),
    ("compounded_pct", Metric::Compounded),
    ("exposure", Metric::Exposure),
    ("average_bars", Metric::AverageBars),
    ("turnover", Metric::Turnover),
    ("closed_drawdown", Metric::ClosedDrawdown),
    ("max_drawdown", Metric::MaxDrawdown),
    ("sharpe", Metric::Sharpe),
    ("sortino", Metric::Sortino),
    ("calmar", Metric::Calmar),
];

/// Metrics that the totals hold anyway, at no further cost.
const IN_TOTALS: usize = 4;

/// Finds a metric by the name of its column.
pub(crate) fn metric(name: &str) -> Outcome<Metric> {
    let found = METRICS.iter().find(|(known, _)| *known == name);
    found.map(|(_, metric)| *metric).ok_or_else(|| {
        let known: Vec<&str> = METRICS.iter().map(|(name, _)| *name).collect();
        Failure::Usage(format!(
            "no metric {}, the metrics are {}",
            quoted(name),
            known.join(", ")
        ))
    })
}

/// Says whether a metric must be measured, beyond the totals.
pub(crate) fn is_measured(metric: Metric) -> bool {
    METRICS[IN_TOTALS..]
        .iter()
        .any(|(_, other)| *other == metric)
}

/// How rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Csv,
    JsonLines,
    /// Kept as CSV until all rows are there, and made into one table then.
    Parquet,
}

impl Format {
    /// Chooses by the extension.
    pub(crate) fn of(path: &Path) -> Outcome<Self> {
        let extension = path.extension().and_then(|extension| extension.to_str());
        match extension.map(str::to_ascii_lowercase).as_deref() {
            Some("csv") => Ok(Self::Csv),
            None => Err(Failure::Usage(format!(
                "{} does not say in which form rows are to be written: name the file .csv, .jsonl or .parquet",
                path.display()
            ))),
            Some("jsonl" | "ndjson") => Ok(Self::JsonLines),
            Some("parquet" | "pq") if cfg!(feature = "parquet") => Ok(Self::Parquet),
            Some("parquet" | "pq") => Err(Failure::Usage(
                "writing Parquet needs a build with the feature parquet: install with --features cli,parquet, or name \
                 the file .csv or .jsonl"
                    .to_owned(),
            )),
            Some(other) => Err(Failure::Usage(format!(
                "cannot write rows as .{other}: name the file .csv, .jsonl or .parquet"
            ))),
        }
    }

    fn is_json(self) -> bool {
        self == Self::JsonLines
    }

    /// Returns the line before the rows, if there is one.
    pub(crate) fn header(self, with_metrics: bool) -> Option<String> {
        let mut names = vec![
            "fast",
            "slow",
            "trades",
            "pnl_pct",
            "wins",
            "has_open_trade",
            "fees_pct",
            "unfilled",
        ];
        if with_metrics {
            names.extend(METRICS[3..].iter().map(|(name, _)| *name));
        }
        (!self.is_json()).then(|| names.join(","))
    }

    /// Writes a row as one line.
    pub(crate) fn line(self, row: &SweepRow) -> String {
        let cells = cells(row);
        if self.is_json() {
            // A map would sort the names; the columns are to be in one order in every format.
            let named = cells.into_iter();
            let named = named.map(|(name, cell)| format!("{}:{}", Value::from(name), cell.json()));
            return format!("{{{}}}", named.collect::<Vec<_>>().join(","));
        }
        let texts: Vec<String> = cells.into_iter().map(|(_, cell)| cell.text()).collect();
        texts.join(",")
    }

    /// Reads back what the table of the best rows needs from a line and the header before it.
    pub(crate) fn record(self, line: &str, header: &str, metric: &str) -> Option<Record> {
        let cell = |name: &str| {
            if self.is_json() {
                let row: Value = serde_json::from_str(line).ok()?;
                let value = row.get(name)?;
                let text = value.as_str().map(str::to_owned);
                return Some(text.unwrap_or_else(|| value.to_string()));
            }
            let at = header.split(',').position(|column| column == name)?;
            line.split(',').nth(at).map(str::to_owned)
        };
        let (trades, wins): (u64, u64) =
            (cell("trades")?.parse().ok()?, cell("wins")?.parse().ok()?);
        let value = match cell(metric) {
            // among the totals, which have no column for it
            None if metric == "win_rate" && trades > 0 => Some(wins as f64 / trades as f64),
            cell => cell.and_then(|text| text.parse().ok()),
        };
        Some(Record {
            fast: cell("fast")?,
            slow: cell("slow")?,
            trades,
            pnl_pct: cell("pnl_pct")?.parse().ok()?,
            wins,
            value,
        })
    }
}

/// One value of a row.
#[derive(Debug, Clone, PartialEq)]
enum Cell {
    Text(String),
    Count(u64),
    Flag(bool),
    /// `None` where the metric is undefined; finite otherwise, since a sweep refuses totals that are not.
    Number(Option<f64>),
}

impl Cell {
    /// The text that reads back as the same value: blank where there is none.
    fn text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Number(None) => String::new(),
            cell => cell.json().to_string(),
        }
    }

    /// Null where there is no value.
    fn json(self) -> Value {
        match self {
            Self::Text(text) => text.into(),
            Self::Count(count) => count.into(),
            Self::Flag(flag) => flag.into(),
            Self::Number(value) => value.map_or(Value::Null, Value::from),
        }
    }
}

/// What the table of the best rows shows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Record {
    pub(crate) fast: String,
    pub(crate) slow: String,
    pub(crate) trades: u64,
    pub(crate) pnl_pct: f64,
    pub(crate) wins: u64,
    pub(crate) value: Option<f64>,
}

impl Record {
    /// Takes a row and its value of the metric.
    pub(crate) fn of(row: &SweepRow, metric: Metric) -> Self {
        Self {
            fast: row.fast.clone(),
            slow: row.slow.clone(),
            trades: row.totals.trades,
            pnl_pct: row.totals.pnl_pct,
            wins: row.totals.wins,
            value: row.value(metric),
        }
    }
}

fn cells(row: &SweepRow) -> Vec<(&'static str, Cell)> {
    let totals = row.totals;
    let mut cells = vec![
        ("fast", Cell::Text(row.fast.clone())),
        ("slow", Cell::Text(row.slow.clone())),
        ("trades", Cell::Count(totals.trades)),
        ("pnl_pct", Cell::Number(Some(totals.pnl_pct))),
        ("wins", Cell::Count(totals.wins)),
        ("has_open_trade", Cell::Flag(totals.has_open_trade)),
        ("fees_pct", Cell::Number(Some(totals.fees_pct))),
        ("unfilled", Cell::Count(totals.unfilled)),
    ];
    if row.metrics.is_some() {
        let measured = METRICS[3..].iter();
        cells.extend(measured.map(|(name, metric)| (*name, Cell::Number(row.value(*metric)))));
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_to_the_last_bit_and_nothing_as_a_blank() {
        let texts = [1e300, 0.1 + 0.2].map(|value| Cell::Number(Some(value)).text());
        assert_eq!(texts, ["1e+300", "0.30000000000000004"]);
        assert_eq!(Cell::Number(None).text(), "");
        assert_eq!(Cell::Number(None).json(), Value::Null);
    }

    #[test]
    fn lines_of_either_form_read_back() {
        let header = "fast,slow,trades,pnl_pct,wins,sharpe";
        let csv = Format::Csv
            .record("a,b,3,-0.5,1,", header, "sharpe")
            .unwrap();
        assert_eq!((csv.pnl_pct, csv.value), (-0.5, None));
        let json = r#"{"fast":"a","slow":"b","trades":3,"pnl_pct":2.5,"wins":1,"sharpe":0.25}"#;
        let json = Format::JsonLines.record(json, "", "sharpe").unwrap();
        assert_eq!((json.pnl_pct, json.value), (2.5, Some(0.25)));
        let totals = Format::Csv.record("a,b,4,2.5,1", "fast,slow,trades,pnl_pct,wins", "win_rate");
        assert_eq!(totals.unwrap().value, Some(0.25));
    }
}
