//! What `crosscheck sweep` prints: the best rows, their sums, and how the sides were decided.

use std::cmp::Ordering;
use std::io::Write;

use crosscheck::{Diagnostics, Metric, Series};

use super::Outcome;
use super::number::{counted, grouped};
use super::prices;
use super::rows::Record;
use super::table::{Table, decimals};

/// Notes that are printed: each chunk of a sweep may bring its own.
const NOTES: usize = 3;

/// The best rows so far, and what all rows add up to: memory does not grow with the grid.
#[derive(Debug)]
pub(crate) struct Tally<'a> {
    /// The metric by the name of its column, and as itself.
    name: &'a str,
    metric: Metric,
    top: usize,
    /// Candidates with their scores, the better the higher; in grid order where scores are equal.
    best: Vec<(f64, Record)>,
    trades: u64,
    rows: usize,
}

/// Candidates that are kept beside the best, so that they need not be sorted at every row.
const SPARE: usize = 1024;

impl<'a> Tally<'a> {
    /// Starts without rows.
    pub(crate) fn new(name: &'a str, metric: Metric, top: usize) -> Self {
        Self {
            name,
            metric,
            top,
            best: Vec::new(),
            trades: 0,
            rows: 0,
        }
    }

    /// Returns the name of the metric's column.
    pub(crate) fn name(&self) -> &'a str {
        self.name
    }

    /// Returns the number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Adds a row; one whose metric is undefined or infinite is not among the best.
    pub(crate) fn push(&mut self, record: Record) {
        self.rows += 1;
        self.trades += record.trades;
        let sign = if self.metric.is_better_low() {
            -1.0
        } else {
            1.0
        };
        let score = record.value.map(|value| sign * value);
        if let Some(score) = score.filter(|score| score.is_finite()) {
            self.best.push((score, record));
        }
        if self.best.len() >= self.top.saturating_mul(2).saturating_add(SPARE) {
            self.settle();
        }
    }

    /// Sorts the candidates and drops what is not among the best; equal scores keep the order of the grid.
    fn settle(&mut self) {
        self.best
            .sort_by(|a, b| b.0.partial_cmp(&a.0).unwrap_or(Ordering::Equal));
        self.best.truncate(self.top);
    }

    /// Prints the best rows.
    pub(crate) fn print_best(&mut self, out: &mut dyn Write) -> Outcome {
        self.settle();
        if self.best.is_empty() {
            return Ok(());
        }
        let is_shown = ["trades", "pnl_pct"].contains(&self.name);
        let mut columns = vec!["fast", "slow", "trades", "pnl_pct", "wins"];
        columns.extend((!is_shown).then_some(self.name));
        let mut table = Table::new(&columns, 2);
        for (_, record) in &self.best {
            let mut row = vec![
                record.fast.clone(),
                record.slow.clone(),
                grouped(record.trades),
            ];
            row.extend([decimals(record.pnl_pct), grouped(record.wins)]);
            row.extend(record.value.filter(|_| !is_shown).map(decimals));
            table.push(row);
        }
        table.print(out)?;
        writeln!(out)?;
        Ok(())
    }

    /// Prints what all rows add up to, on which prices, by which engine.
    pub(crate) fn print_sums(&self, out: &mut dyn Write, series: &Series, engine: &str) -> Outcome {
        writeln!(
            out,
            "{} of {} on {}; engine {engine}",
            counted(self.trades, "trade"),
            counted(self.rows as u64, "combination"),
            prices::describe(series)
        )?;
        Ok(())
    }
}

/// Prints what the bounds left open, and what settled it.
pub(crate) fn print_diagnostics(out: &mut dyn Write, diagnostics: &Diagnostics) -> Outcome {
    writeln!(
        out,
        "{} of {} undecided by the bound ({:.2e}), {} among them",
        grouped(diagnostics.undecided),
        counted(diagnostics.decisions, "decision"),
        diagnostics.undecided_share(),
        counted(diagnostics.ties, "exact tie"),
    )?;
    let stages = [
        (diagnostics.by_flat, "a flat stretch"),
        (diagnostics.by_float, "the window's own bound"),
        (diagnostics.by_integer, "128-bit integers"),
        (diagnostics.by_big_integer, "larger integers"),
    ];
    let met = stages.iter().filter(|(count, _)| *count > 0);
    let met: Vec<String> = met
        .map(|(count, stage)| format!("{} by {stage}", grouped(*count)))
        .collect();
    if !met.is_empty() {
        writeln!(out, "settled: {}", met.join(", "))?;
    }
    for note in diagnostics.notes.iter().take(NOTES) {
        writeln!(out, "note: {note}")?;
    }
    let more = diagnostics.notes.len().saturating_sub(NOTES);
    if more > 0 {
        writeln!(
            out,
            "and {} of the other chunks",
            counted(more as u64, "note")
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosscheck::rank;

    fn record(at: usize, value: f64) -> Record {
        Record {
            fast: at.to_string(),
            slow: String::new(),
            trades: 1,
            pnl_pct: value,
            wins: 0,
            value: Some(value),
        }
    }

    /// A tally that forgets most rows on the way ranks as the library does with all of them at hand.
    #[test]
    fn the_best_of_many_rows_are_those_of_the_library() {
        let value = |at: usize| match at % 7 {
            0 => f64::NAN,
            1 => f64::INFINITY,
            _ => (at * 7919 % 1013) as f64,
        };
        let scores: Vec<f64> = (0..10_000).map(value).collect();
        let mut tally = Tally::new("pnl_pct", Metric::Pnl, 300);
        for (at, &score) in scores.iter().enumerate() {
            tally.push(record(at, score));
        }
        tally.settle();
        let found: Vec<usize> = tally
            .best
            .iter()
            .map(|(_, r)| r.fast.parse().unwrap())
            .collect();
        assert_eq!(found, rank(&scores)[..300]);
        assert_eq!((tally.rows(), tally.trades), (10_000, 10_000));
        assert!(tally.best.capacity() < 4_000, "{}", tally.best.capacity());
    }
}
