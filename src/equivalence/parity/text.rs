//! The report as text and as CSV.

use std::fmt;
use std::io;

use super::{Disagreement, ParityReport, Verdict, WorstValue};
use crate::crossover::Side;
use crate::equivalence::audit::Short;

impl ParityReport {
    /// Writes one line a combination as CSV, after a header.
    ///
    /// # Errors
    /// Those of `out`.
    ///
    /// # Examples
    /// ```
    /// use crosscheck::equivalence::report_fp32;
    /// use crosscheck::{Formula, Grid, Naive, Precision, Rules, Uncertified, random_walk};
    /// let (walk, grid) = (random_walk(500, 42)?, Grid::parse("hma:20", "hma3:24,48")?);
    /// let engine = Uncertified::new(Formula::DirectWindows, Precision::Single);
    /// let report = report_fp32(&Naive::new(), &engine, &walk, &grid, &Rules::default())?;
    /// let mut csv = Vec::new();
    /// report.write_csv(&mut csv).unwrap();
    /// let text = String::from_utf8(csv).unwrap();
    /// assert!(text.starts_with("fast,slow,reference_trades,") && text.lines().count() == 3);
    /// # Ok::<(), crosscheck::Error>(())
    /// ```
    pub fn write_csv(&self, mut out: impl io::Write) -> io::Result<()> {
        writeln!(
            out,
            "fast,slow,reference_trades,candidate_trades,missing,invented,moved,trade_count_drift_pct,\
             reference_pnl_pct,candidate_pnl_pct,pnl_difference_pp,disagreements,close_calls"
        )?;
        for row in &self.combinations {
            writeln!(
                out,
                "{},{},{},{},{},{},{},{},{},{},{},{},{}",
                quoted(&row.fast),
                quoted(&row.slow),
                row.reference_trades,
                row.candidate_trades,
                row.missing,
                row.invented,
                row.moved(),
                row.trade_count_drift_pct(),
                row.reference_pnl_pct,
                row.candidate_pnl_pct,
                row.pnl_difference_pp(),
                row.disagreements,
                row.close_calls,
            )?;
        }
        Ok(())
    }
}

/// Names of custom kernels may hold commas and quotes.
fn quoted(name: &str) -> String {
    if name.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.to_owned()
    }
}

/// Rounds to 15 digits: the last two of a reference's value are its own rounding, and no part of the story.
fn significant(value: f64) -> f64 {
    format!("{value:.14e}").parse().unwrap_or(value)
}

impl fmt::Display for ParityReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (reference, candidate) = (&self.reference, &self.candidate);
        writeln!(f, "parity of {candidate} against {reference}")?;
        match &self.verdict {
            Verdict::Correct => writeln!(f, "  verdict          Correct")?,
            Verdict::Broken { reason } => writeln!(f, "  verdict          BROKEN: {reason}")?,
        }
        self.write_totals(f)?;
        if !self.explained.is_empty() {
            let precision = self.limits.precision;
            let shown = self.explained.len();
            let all = self.disagreements();
            writeln!(
                f,
                "  the first {shown} of {all} disagreements (bound: direct windows in {precision}):"
            )?;
        }
        for disagreement in &self.explained {
            writeln!(f, "{disagreement}")?;
        }
        write!(
            f,
            "  decoy: {} of {} combinations differ (one turned close call is enough; no verdict rests on it)",
            self.combinations_that_differ(),
            self.combinations.len()
        )
    }
}

impl ParityReport {
    fn write_totals(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "  trades           {} against {}; counts off by {} in sum, {} ({} %) at most",
            self.candidate_trades(),
            self.reference_trades(),
            self.trade_count_drift(),
            self.max_trade_count_drift(),
            Short(self.max_trade_count_drift_pct()),
        )?;
        writeln!(
            f,
            "  trades moved     {} ({} %), by entry bar and side",
            self.moved(),
            Short(self.moved_pct())
        )?;
        writeln!(
            f,
            "  PnL              off by {:.3} pp ({} %) at most",
            self.max_pnl_difference_pp(),
            Short(self.max_pnl_difference_pct())
        )?;
        let precision = self.limits.precision;
        write_worst(f, "relative", &self.worst_relative, "")?;
        write_worst(f, "ulp", &self.worst_ulp, &format!(" ulp of {precision}"))?;
        writeln!(
            f,
            "  disagreements    {}, of which {} start on a close call",
            self.disagreements(),
            self.close_calls()
        )
    }
}

fn write_worst(
    f: &mut fmt::Formatter<'_>,
    what: &str,
    worst: &WorstValue,
    unit: &str,
) -> fmt::Result {
    let (filter, bar) = (&worst.filter, worst.bar);
    let (found, expected) = (worst.candidate, significant(worst.reference));
    let title = format!("filter error, {what}");
    let error = Short(worst.error);
    writeln!(
        f,
        "  {title:<23}at most {error}{unit}: {filter} bar {bar}, {found} against {expected}"
    )
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = |side: Option<Side>| match side {
            Some(Side::Long) => "long",
            Some(Side::Short) => "short",
            None => "flat",
        };
        writeln!(
            f,
            "    {} / {} bar {} (for {}): {}, not {}",
            self.fast,
            self.slow,
            self.bar,
            self.bars,
            side(self.candidate_side),
            side(self.reference_side),
        )?;
        let ([a, b], [c, d]) = (
            self.candidate_values,
            self.reference_values.map(significant),
        );
        writeln!(f, "      fast, slow {a}, {b}; reference {c}, {d}")?;
        let (difference, bound) = (self.exact_difference, Short(self.bound));
        write!(f, "      exact difference ")?;
        if difference == 0.0 {
            return write!(f, "0: a true tie, which keeps the side before it");
        }
        let distance = Short(self.distance());
        let why = if self.is_close_call() {
            "a close call"
        } else {
            "no close call: the formula is at fault"
        };
        write!(f, "{difference:e}, {distance} of the bound {bound}: {why}")
    }
}
