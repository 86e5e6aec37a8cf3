//! Rows of a sweep as text: CSV or JSON lines, by the name of the file.

use std::path::Path;

use crosscheck::{Metric, SweepRow};
use serde_json::{Map, Value};

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
            "no metric '{name}', the metrics are {}",
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
}

impl Format {
    /// Chooses by the extension.
    pub(crate) fn of(path: &Path) -> Outcome<Self> {
        let extension = path.extension().and_then(|extension| extension.to_str());
        match extension.map(str::to_ascii_lowercase).as_deref() {
            Some("csv") | None => Ok(Self::Csv),
            Some("jsonl" | "ndjson") => Ok(Self::JsonLines),
            Some(other) => Err(Failure::Usage(format!(
                "cannot write rows as .{other}: name the file .csv or .jsonl"
            ))),
        }
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
        (self == Self::Csv).then(|| names.join(","))
    }

    /// Writes a row as one line.
    pub(crate) fn line(self, row: &SweepRow) -> String {
        let cells = cells(row);
        match self {
            Self::Csv => {
                let texts = cells.iter().map(|(_, value)| match value {
                    Value::Null => String::new(),
                    Value::String(text) => text.clone(),
                    value => value.to_string(),
                });
                texts.collect::<Vec<_>>().join(",")
            }
            Self::JsonLines => {
                let named = cells
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value));
                Value::Object(named.collect::<Map<_, _>>()).to_string()
            }
        }
    }

    /// Reads back what the table of the best rows needs from a line and the header before it.
    pub(crate) fn record(self, line: &str, header: &str, metric: &str) -> Option<Record> {
        let cell = |name: &str| match self {
            Self::Csv => {
                let at = header.split(',').position(|column| column == name)?;
                line.split(',').nth(at).map(str::to_owned)
            }
            Self::JsonLines => {
                let row: Value = serde_json::from_str(line).ok()?;
                let value = row.get(name)?;
                Some(
                    value
                        .as_str()
                        .map_or_else(|| value.to_string(), str::to_owned),
                )
            }
        };
        Some(Record {
            fast: cell("fast")?,
            slow: cell("slow")?,
            trades: cell("trades")?.parse().ok()?,
            pnl_pct: cell("pnl_pct")?.parse().ok()?,
            wins: cell("wins")?.parse().ok()?,
            value: cell(metric).and_then(|text| text.parse().ok()),
        })
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

fn cells(row: &SweepRow) -> Vec<(&'static str, Value)> {
    let totals = row.totals;
    let mut cells = vec![
        ("fast", row.fast.clone().into()),
        ("slow", row.slow.clone().into()),
        ("trades", totals.trades.into()),
        ("pnl_pct", totals.pnl_pct.into()),
        ("wins", totals.wins.into()),
        ("has_open_trade", totals.has_open_trade.into()),
        ("fees_pct", totals.fees_pct.into()),
        ("unfilled", totals.unfilled.into()),
    ];
    if row.metrics.is_some() {
        let value = |metric| row.value(metric).map_or(Value::Null, Value::from);
        cells.extend(
            METRICS[3..]
                .iter()
                .map(|(name, metric)| (*name, value(*metric))),
        );
    }
    cells
}
