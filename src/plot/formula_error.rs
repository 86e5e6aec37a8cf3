//! How the error of a formula grows with the length of the series.

use std::path::Path;

use plotters::prelude::*;

use super::axes::{decades, power};
use super::canvas::{
    Area, Drawn, FONT, LINES, MUTED, Picture, RULE, TEXT, caption, legend, refuse, save,
};
use crate::error::Result;

/// The error of one formula on series of growing length.
#[derive(Debug, Clone, PartialEq)]
pub struct ErrorCurve {
    /// Name in the legend, such as `prefix sums, f32`.
    pub formula: String,
    /// Length of the series in bars, and the largest relative error of a value there; points of error 0 are not drawn.
    pub points: Vec<(usize, f64)>,
}

/// Draws the largest relative error of up to seven formulas against the length of the series, both axes logarithmic.
///
/// # Errors
/// [`Error::Picture`](crate::Error::Picture) where no formula has a positive finite error, there are more than seven
/// formulas, or the extension is neither `svg` nor `png`; [`Error::Io`](crate::Error::Io) where the file cannot be
/// written.
///
/// # Examples
/// ```
/// use crosscheck::plot::{ErrorCurve, formula_error};
/// let curve = ErrorCurve { formula: "prefix sums, f32".into(), points: vec![(1_000, 0.1), (10_000, 2.0)] };
/// let path = std::env::temp_dir().join("crosscheck-doc-formula-error.svg");
/// formula_error(&[curve], &path)?;
/// assert!(std::fs::read_to_string(&path).is_ok_and(|svg| svg.contains("prefix sums, f32")));
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), crosscheck::Error>(())
/// ```
pub fn formula_error(curves: &[ErrorCurve], path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    if curves.len() > LINES.len() {
        let reason = format!(
            "{} formulas, more than {} cannot be told apart",
            curves.len(),
            LINES.len()
        );
        return Err(refuse(path, reason));
    }
    if curves.iter().all(|curve| drawable(curve).next().is_none()) {
        return Err(refuse(
            path,
            "no formula has a positive, finite error to draw",
        ));
    }
    save(&FormulaError(curves), path)
}

fn drawable(curve: &ErrorCurve) -> impl Iterator<Item = (f64, f64)> + '_ {
    let points = curve
        .points
        .iter()
        .map(|&(bars, error)| (bars as f64, error));
    points.filter(|&(bars, error)| bars > 0.0 && error > 0.0 && error.is_finite())
}

struct FormulaError<'a>(&'a [ErrorCurve]);

impl Picture for FormulaError<'_> {
    fn draw<DB: DrawingBackend>(&self, sheet: &Area<DB>) -> Drawn<DB> {
        let body = self.draw_head(sheet)?;
        let points = || self.0.iter().flat_map(drawable);
        let (x, y) = (
            decades(points().map(|p| p.0)),
            decades(points().map(|p| p.1)),
        );
        let mut chart = ChartBuilder::on(&body.margin(46, 0, 0, 0))
            .x_label_area_size(50)
            .y_label_area_size(90)
            .build_cartesian_2d(x.log_scale(), y.log_scale())?;
        chart
            .configure_mesh()
            .x_labels(8)
            .y_labels(12)
            .x_desc("bars")
            .y_desc("relative error")
            .axis_style(MUTED)
            .bold_line_style(RULE)
            .light_line_style(TRANSPARENT)
            .label_style((FONT, 14, &TEXT))
            .axis_desc_style((FONT, 15, &TEXT))
            .x_label_formatter(&|&bars| power(bars))
            .y_label_formatter(&|&error| power(error))
            .draw()?;
        for (curve, color) in self.0.iter().zip(LINES) {
            chart.draw_series(LineSeries::new(drawable(curve), color.stroke_width(2)))?;
            chart
                .draw_series(drawable(curve).map(|point| Circle::new(point, 4, color.filled())))?;
        }
        Ok(())
    }
}

impl FormulaError<'_> {
    fn draw_head<DB: DrawingBackend>(&self, sheet: &Area<DB>) -> Drawn<DB, Area<DB>> {
        let title = "Error of each formula against the length of the series";
        let note = "largest relative error of a filter value; 1 is an error as large as the value";
        let body = caption(sheet, title, note)?;
        let curves = self.0.iter().zip(LINES);
        let names: Vec<_> = curves
            .map(|(curve, color)| (curve.formula.as_str(), color))
            .collect();
        // seven names do not fit one row
        let rows = if names.len() > 4 { 2 } else { 1 };
        let (first, second) = names.split_at(names.len().div_ceil(rows));
        legend(&body, first, (90, 10))?;
        legend(&body, second, (90, 32))?;
        Ok(body)
    }
}
