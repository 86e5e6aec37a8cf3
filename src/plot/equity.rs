//! Equity of a few combinations, one value a bar, and the drawdown below it.

use std::path::Path;

use plotters::prelude::*;

use super::axes::{number, padded, thinned};
use super::canvas::{
    Area, Drawn, FONT, LINES, MUTED, Picture, RULE, TEXT, caption, legend, refuse, save,
};
use crate::error::Result;

/// The equity of one combination, ready to draw.
///
/// *Shape*: one value a bar. *Unit*: multiples of the capital at the start, so 1 on the first bar.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// Name in the legend, such as `hma:20 over hma3:48`.
    pub name: String,
    /// Equity on every bar, as [`crate::equity`] computes it.
    pub equity: Vec<f64>,
}

/// Draws the equity of up to seven combinations, and below it each one's drawdown in percent of its running peak.
///
/// Long series are thinned to the lowest and highest value of each pixel column. NaN is skipped.
///
/// # Errors
/// [`Error::Picture`](crate::Error::Picture) where there is no curve, an empty one, more than seven, or the extension is
/// neither `svg` nor `png`; [`Error::Io`](crate::Error::Io) where the file cannot be written.
///
/// # Examples
/// ```
/// use crosscheck::{Backend, Grid, Rules, Sequential, equity, plot, random_walk};
/// let (walk, rules) = (random_walk(2_000, 42)?, Rules::published());
/// let grid = Grid::parse("hma:20", "hma3:48")?;
/// let trades = Sequential::new().trades(&walk, &grid, &rules)?.remove(0);
/// let curve = plot::Curve {
///     name: "hma:20 over hma3:48".into(),
///     equity: equity(&walk, &rules, &trades),
/// };
/// let path = std::env::temp_dir().join("crosscheck-doc-equity.svg");
/// plot::equity(&[curve], &path)?;
/// assert!(std::fs::read_to_string(&path).is_ok_and(|svg| svg.contains("drawdown")));
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), crosscheck::Error>(())
/// ```
pub fn equity(curves: &[Curve], path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    if curves.is_empty() || curves.iter().any(|curve| curve.equity.is_empty()) {
        return Err(refuse(
            path,
            "an equity picture needs a curve, and each curve a bar",
        ));
    }
    if curves.len() > LINES.len() {
        let reason = format!(
            "{} curves, more than {} cannot be told apart",
            curves.len(),
            LINES.len()
        );
        return Err(refuse(path, reason));
    }
    save(&Equity(curves), path)
}

/// The fall from the running peak in percent, 0 at a peak and negative below it, so that it is drawn downwards.
fn fall(equity: &[f64]) -> Vec<f64> {
    let mut peak = f64::NEG_INFINITY;
    let fall = |&value: &f64| {
        peak = peak.max(value);
        100.0 * (value / peak - 1.0)
    };
    equity.iter().map(fall).collect()
}

struct Equity<'a>(&'a [Curve]);

impl Picture for Equity<'_> {
    fn draw<DB: DrawingBackend>(&self, sheet: &Area<DB>) -> Drawn<DB> {
        let note = "start = 1; below, drawdown from the running peak";
        let body = caption(sheet, "Equity", note)?;
        let names: Vec<_> = self
            .0
            .iter()
            .zip(LINES)
            .map(|(curve, color)| (curve.name.as_str(), color))
            .collect();
        legend(&body, &names, (90, 10))?;
        let (upper, lower) = body.margin(24, 0, 0, 0).split_vertically(350);
        let equity: Vec<_> = self.0.iter().map(|curve| curve.equity.clone()).collect();
        let falls: Vec<_> = self.0.iter().map(|curve| fall(&curve.equity)).collect();
        panel(&upper, &equity, "equity", "")?;
        panel(&lower, &falls, "drawdown, %", "bar")
    }
}

fn panel<DB: DrawingBackend>(
    area: &Area<DB>,
    lines: &[Vec<f64>],
    y_title: &str,
    x_title: &str,
) -> Drawn<DB> {
    let bars = lines.iter().map(Vec::len).max().unwrap_or(1).max(2) as f64 - 1.0;
    let mut chart = ChartBuilder::on(area)
        .margin_top(10)
        .x_label_area_size(if x_title.is_empty() { 8 } else { 46 })
        .y_label_area_size(84)
        .build_cartesian_2d(0.0..bars, padded(lines.iter().flatten().copied()))?;
    chart
        .configure_mesh()
        .x_labels(8)
        .y_labels(6)
        .x_desc(x_title)
        .y_desc(y_title)
        .axis_style(MUTED)
        .bold_line_style(RULE)
        .light_line_style(TRANSPARENT)
        .label_style((FONT, 14, &TEXT))
        .axis_desc_style((FONT, 15, &TEXT))
        .x_label_formatter(&|&bar| {
            if x_title.is_empty() {
                String::new()
            } else {
                number(bar)
            }
        })
        .y_label_formatter(&|&value| number(value))
        .draw()?;
    for (line, color) in lines.iter().zip(LINES) {
        chart.draw_series(LineSeries::new(thinned(line, 900), color.stroke_width(1)))?;
    }
    Ok(())
}
