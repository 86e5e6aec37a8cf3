//! The speed ladder: combinations a second of every engine, as bars on a logarithmic scale.

use std::path::Path;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use super::axes::{decades, number, power};
use super::canvas::{Area, BLUE, Drawn, MUTED, Picture, RULE, TEXT, caption, refuse, save, text};
use crate::error::Result;

/// The measured speed of one engine.
#[derive(Debug, Clone, PartialEq)]
pub struct Rung {
    /// What the bar is called, such as `M2 sequential`.
    pub name: String,
    /// Combinations a second.
    pub per_second: f64,
}

/// Draws the speed ladder, one bar an engine in the given order; `note` says what was swept, on what machine.
///
/// # Errors
/// [`Error::Picture`](crate::Error::Picture) where there is no rung, a speed is not positive and finite, or the extension
/// is neither `svg` nor `png`; [`Error::Io`](crate::Error::Io) where the file cannot be written.
///
/// # Examples
/// ```
/// use crosscheck::plot::{Rung, ladder};
/// let rung = |name: &str, per_second| Rung { name: name.into(), per_second };
/// let path = std::env::temp_dir().join("crosscheck-doc-ladder.svg");
/// ladder(&[rung("slow", 2.5), rung("fast", 9_000.0)], "an example", &path)?;
/// assert!(std::fs::read_to_string(&path).is_ok_and(|svg| svg.contains("9,000 (3,600x)")));
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), crosscheck::Error>(())
/// ```
pub fn ladder(rungs: &[Rung], note: &str, path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    if rungs.is_empty() {
        return Err(refuse(path, "a ladder needs at least one rung"));
    }
    if let Some(rung) = rungs
        .iter()
        .find(|r| !(r.per_second > 0.0 && r.per_second.is_finite()))
    {
        let reason = format!(
            "{} runs {} combinations a second; a speed is above 0",
            rung.name, rung.per_second
        );
        return Err(refuse(path, reason));
    }
    save(&Ladder { rungs, note }, path)
}

struct Ladder<'a> {
    rungs: &'a [Rung],
    note: &'a str,
}

/// Left, top, right and bottom edge of the bars, in pixels of the sheet.
const FRAME: (i32, i32, i32, i32) = (190, 84, 810, 540);

impl Picture for Ladder<'_> {
    fn draw<DB: DrawingBackend>(&self, sheet: &Area<DB>) -> Drawn<DB> {
        caption(sheet, "Speed ladder: combinations a second", self.note)?;
        let (left, top, right, bottom) = FRAME;
        let scale = decades(self.rungs.iter().map(|rung| rung.per_second));
        let span = (scale.end / scale.start).log10();
        let x = |speed: f64| {
            left + (f64::from(right - left) * (speed / scale.start).log10() / span) as i32
        };
        for decade in 0..=span.round() as i32 {
            let speed = scale.start * 10_f64.powi(decade);
            sheet.draw(&PathElement::new(
                [(x(speed), top), (x(speed), bottom)],
                RULE,
            ))?;
            let below = text(14, TEXT, HPos::Center, VPos::Top);
            sheet.draw_text(&power(speed), &below, (x(speed), bottom + 8))?;
        }
        let below = text(15, TEXT, HPos::Center, VPos::Top);
        let middle = (i32::midpoint(left, right), bottom + 34);
        sheet.draw_text("combinations a second, logarithmic", &below, middle)?;
        let slot = (bottom - top) / self.rungs.len() as i32;
        let slowest = self
            .rungs
            .iter()
            .map(|r| r.per_second)
            .fold(f64::INFINITY, f64::min);
        for (rung, index) in self.rungs.iter().zip(0..) {
            let centre = top + slot * index + slot / 2;
            let half = (slot * 35 / 100).min(30);
            let end = x(rung.per_second).max(left + 2);
            let corners = [(left, centre - half), (end, centre + half)];
            sheet.draw(&Rectangle::new(corners, BLUE.filled()))?;
            let name = text(15, TEXT, HPos::Right, VPos::Center);
            sheet.draw_text(&rung.name, &name, (left - 10, centre))?;
            let ratio = number(rung.per_second / slowest);
            let label = format!("{} ({ratio}x)", number(rung.per_second));
            sheet.draw_text(
                &label,
                &text(14, TEXT, HPos::Left, VPos::Center),
                (end + 8, centre),
            )?;
        }
        sheet.draw(&PathElement::new([(left, top), (left, bottom)], MUTED))
    }
}
