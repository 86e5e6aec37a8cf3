//! What `crosscheck sweep` prints: the best rows, their sums, and how the sides were decided.

use std::io::Write;

use crosscheck::{Metric, Series, Sweep, rank};

use super::Outcome;
use super::prices;
use super::rows::Record;
use super::table::{Table, counted, decimals, grouped};

/// Notes that are printed: each chunk of a sweep may bring its own.
const NOTES: usize = 3;

/// Prints the best rows by a metric, given by its name and as itself.
pub(crate) fn print(
    out: &mut dyn Write,
    records: &[Record],
    (name, metric): (&str, Metric),
    top: usize,
) -> Outcome {
    let sign = if metric.is_better_low() { -1.0 } else { 1.0 };
    let scores: Vec<f64> = records
        .iter()
        .map(|r| r.value.map_or(f64::NAN, |value| sign * value))
        .collect();
    let is_finite = |index: &usize| scores[*index].is_finite();
    let best: Vec<usize> = rank(&scores)
        .into_iter()
        .filter(is_finite)
        .take(top)
        .collect();
    if best.is_empty() {
        return Ok(());
    }
    let is_shown = ["trades", "pnl_pct"].contains(&name);
    let mut columns = vec!["fast", "slow", "trades", "pnl_pct", "wins"];
    columns.extend((!is_shown).then_some(name));
    let mut table = Table::new(&columns, 2);
    for record in best.into_iter().map(|index| &records[index]) {
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
pub(crate) fn print_sums(
    out: &mut dyn Write,
    records: &[Record],
    series: &Series,
    engine: &str,
) -> Outcome {
    let trades: u64 = records.iter().map(|record| record.trades).sum();
    let (trades, count) = (grouped(trades), grouped(records.len() as u64));
    let prices = prices::describe(series);
    writeln!(
        out,
        "{trades} trades of {count} combinations on {prices}; engine {engine}"
    )?;
    Ok(())
}

/// Prints what the bounds left open, and what settled it.
pub(crate) fn print_diagnostics(out: &mut dyn Write, sweep: &Sweep) -> Outcome {
    let diagnostics = &sweep.diagnostics;
    writeln!(
        out,
        "{} of {} decisions undecided by the bound ({:.2e}), {} exact ties among them",
        grouped(diagnostics.undecided),
        grouped(diagnostics.decisions),
        diagnostics.undecided_share(),
        grouped(diagnostics.ties),
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
