//! A metric over the grid: one cell a combination.

use std::collections::HashMap;
use std::path::Path;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use super::axes::{extent, number};
use super::canvas::{Area, Drawn, Picture, RULE, TEXT, VERMILLION, caption, refuse, save, text};
use crate::error::Result;
use crate::sweep::{Sweep, SweepRow};

/// Draws a metric over the grid of a sweep: fast filters to the right, slow ones upwards, one cell a combination.
///
/// `title` names the metric and its unit; `value` reads it from a row. The highest cell is framed and named. Combinations
/// that the grid left out stay blank, values that are not finite are grey. A grid of one row, one column or one cell works.
///
/// # Errors
/// [`Error::Picture`](crate::Error::Picture) where the sweep has no rows or the extension is neither `svg` nor `png`;
/// [`Error::Io`](crate::Error::Io) where the file cannot be written.
///
/// # Examples
/// ```
/// use crosscheck::{Backend, Grid, Rules, Sequential, plot, random_walk};
/// let walk = random_walk(5_000, 42)?;
/// let grid = Grid::parse("hma:20..=60:20", "hma3:24..=72:24")?;
/// let sweep = Sequential::new().sweep(&walk, &grid, &Rules::published())?;
/// let path = std::env::temp_dir().join("crosscheck-doc-heatmap.svg");
/// plot::heatmap(&sweep, "PnL, percent of entry", |row| row.totals.pnl_pct, &path)?;
/// assert!(std::fs::read_to_string(&path).is_ok_and(|svg| svg.contains("hma3 period")));
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), crosscheck::Error>(())
/// ```
pub fn heatmap(
    sweep: &Sweep,
    title: &str,
    value: impl Fn(&SweepRow) -> f64,
    path: impl AsRef<Path>,
) -> Result<()> {
    let path = path.as_ref();
    if sweep.rows.is_empty() {
        return Err(refuse(
            path,
            "the sweep has no rows, so there is nothing to draw",
        ));
    }
    save(&Heatmap::of(sweep, title, value), path)
}

/// Index of the highest finite value, the first where several are equal.
fn highest(cells: &[Cell]) -> Option<usize> {
    let finite = cells
        .iter()
        .enumerate()
        .filter(|(_, cell)| cell.value.is_finite());
    finite
        .reduce(|best, next| {
            if next.1.value > best.1.value {
                next
            } else {
                best
            }
        })
        .map(|b| b.0)
}

struct Cell {
    column: usize,
    row: usize,
    value: f64,
}

/// The distinct filters of one side, in the order of the grid, and how to label them.
struct Axis {
    positions: HashMap<String, usize>,
    title: String,
    labels: Vec<String>,
}

impl Axis {
    fn of<'a>(rows: impl Iterator<Item = &'a str>) -> Self {
        let (mut names, mut positions) = (Vec::new(), HashMap::new());
        for name in rows {
            if !positions.contains_key(name) {
                positions.insert(name.to_owned(), names.len());
                names.push(name);
            }
        }
        let parts: Option<Vec<_>> = names.iter().map(|name| name.split_once(':')).collect();
        let (title, labels) = match parts {
            Some(parts) if parts.iter().all(|part| part.0 == parts[0].0) => (
                format!("{} period, bars", parts[0].0),
                parts.iter().map(|part| part.1.to_owned()).collect(),
            ),
            _ => (
                "filter".to_owned(),
                names.iter().map(ToString::to_string).collect(),
            ),
        };
        Self {
            positions,
            title,
            labels,
        }
    }

    fn position(&self, name: &str) -> usize {
        self.positions.get(name).copied().unwrap_or_default()
    }
}

struct Heatmap<'a> {
    title: &'a str,
    note: String,
    fast: Axis,
    slow: Axis,
    cells: Vec<Cell>,
    best: Option<usize>,
    range: (f64, f64),
}

/// Left, top, right and bottom edge of the cells, in pixels of the sheet.
const FRAME: (i32, i32, i32, i32) = (110, 84, 850, 550);

impl Picture for Heatmap<'_> {
    fn draw<DB: DrawingBackend>(&self, sheet: &Area<DB>) -> Drawn<DB> {
        caption(sheet, self.title, &self.note)?;
        for cell in &self.cells {
            let [from, to] = self.corners(cell);
            sheet.draw(&Rectangle::new([from, to], self.color(cell.value).filled()))?;
        }
        self.draw_values(sheet)?;
        if let Some(best) = self.best {
            let style = VERMILLION.stroke_width(3);
            sheet.draw(&Rectangle::new(self.corners(&self.cells[best]), style))?;
        }
        self.draw_labels(sheet)?;
        self.draw_scale(sheet)
    }
}

impl<'a> Heatmap<'a> {
    fn of(sweep: &Sweep, title: &'a str, value: impl Fn(&SweepRow) -> f64) -> Self {
        let fast = Axis::of(sweep.rows.iter().map(|row| row.fast.as_str()));
        let slow = Axis::of(sweep.rows.iter().map(|row| row.slow.as_str()));
        let cell = |row: &SweepRow| Cell {
            column: fast.position(&row.fast),
            row: slow.position(&row.slow),
            value: value(row),
        };
        let cells: Vec<Cell> = sweep.rows.iter().map(cell).collect();
        let best = highest(&cells);
        let note = best.map_or("no finite value".to_owned(), |best| {
            let row = &sweep.rows[best];
            let value = number(cells[best].value);
            format!("highest: {} over {}, {value}", row.fast, row.slow)
        });
        let range = extent(cells.iter().map(|cell| cell.value)).unwrap_or((0.0, 1.0));
        Self {
            title,
            note,
            fast,
            slow,
            cells,
            best,
            range,
        }
    }

    fn corners(&self, cell: &Cell) -> [(i32, i32); 2] {
        let (left, top, right, bottom) = FRAME;
        let (columns, rows) = (self.fast.labels.len() as i32, self.slow.labels.len() as i32);
        let x = |column: i32| left + (right - left) * column / columns;
        let y = |row: i32| bottom - (bottom - top) * row / rows;
        let (column, row) = (cell.column as i32, cell.row as i32);
        [(x(column), y(row + 1)), (x(column + 1), y(row))]
    }

    fn share(&self, value: f64) -> f64 {
        let (low, high) = self.range;
        if low < high {
            (value - low) / (high - low)
        } else {
            0.5
        }
    }

    fn color(&self, value: f64) -> RGBColor {
        if !value.is_finite() {
            return RULE;
        }
        ViridisRGB::get_color(self.share(value))
    }

    /// The values themselves, where the cells are large enough to read them.
    fn draw_values<DB: DrawingBackend>(&self, sheet: &Area<DB>) -> Drawn<DB> {
        for cell in &self.cells {
            let [(left, top), (right, bottom)] = self.corners(cell);
            if right - left < 56 || bottom - top < 22 || !cell.value.is_finite() {
                continue;
            }
            // viridis is dark in its lower two thirds
            let color = if self.share(cell.value) < 0.6 {
                RGBColor(255, 255, 255)
            } else {
                TEXT
            };
            let style = text(14, color, HPos::Center, VPos::Center);
            let middle = (i32::midpoint(left, right), i32::midpoint(top, bottom));
            sheet.draw_text(&number(cell.value), &style, middle)?;
        }
        Ok(())
    }

    fn draw_labels<DB: DrawingBackend>(&self, sheet: &Area<DB>) -> Drawn<DB> {
        let (left, top, right, bottom) = FRAME;
        self.draw_periods(sheet)?;
        let title = format!("fast: {}", self.fast.title);
        let middle = (i32::midpoint(left, right), bottom + 34);
        sheet.draw_text(&title, &text(16, TEXT, HPos::Center, VPos::Top), middle)?;
        let mut upright = text(16, TEXT, HPos::Center, VPos::Top);
        upright.font = upright.font.transform(FontTransform::Rotate270);
        let title = format!("slow: {}", self.slow.title);
        sheet.draw_text(&title, &upright, (20, i32::midpoint(top, bottom)))
    }

    fn draw_periods<DB: DrawingBackend>(&self, sheet: &Area<DB>) -> Drawn<DB> {
        let (left, top, right, bottom) = FRAME;
        let at = |column, row| {
            let value = 0.0;
            self.corners(&Cell { column, row, value })
        };
        let labels = &self.fast.labels;
        let longest = labels.iter().map(|label| label.chars().count()).max();
        let width = 9 * longest.unwrap_or(1) as i32 + 12;
        let step = spacing(labels.len(), right - left, width);
        let below = text(14, TEXT, HPos::Center, VPos::Top);
        for (column, label) in labels.iter().enumerate().step_by(step) {
            let [(from, _), (to, _)] = at(column, 0);
            sheet.draw_text(label, &below, (i32::midpoint(from, to), bottom + 8))?;
        }
        let labels = &self.slow.labels;
        let step = spacing(labels.len(), bottom - top, 20);
        let beside = text(14, TEXT, HPos::Right, VPos::Center);
        for (row, label) in labels.iter().enumerate().step_by(step) {
            let [(_, from), (_, to)] = at(0, row);
            sheet.draw_text(label, &beside, (left - 8, i32::midpoint(from, to)))?;
        }
        Ok(())
    }

    fn draw_scale<DB: DrawingBackend>(&self, sheet: &Area<DB>) -> Drawn<DB> {
        let (_, top, right, bottom) = FRAME;
        let (low, high) = self.range;
        let (left, width, steps) = (right + 30, 18, 100);
        let y = |step: i32| bottom - (bottom - top) * step / steps;
        for step in 0..steps {
            let color = ViridisRGB::get_color((f64::from(step) + 0.5) / f64::from(steps));
            let corners = [(left, y(step + 1)), (left + width, y(step))];
            sheet.draw(&Rectangle::new(corners, color.filled()))?;
        }
        let beside = text(14, TEXT, HPos::Left, VPos::Center);
        let marks: &[i32] = if low < high {
            &[0, 25, 50, 75, 100]
        } else {
            &[50]
        };
        for &mark in marks {
            let value = tick(low, high, f64::from(mark) / 100.0);
            sheet.draw_text(&number(value), &beside, (left + width + 8, y(mark)))?;
        }
        Ok(())
    }
}

/// The value at a share of a range; 0 where it is 0 but for the rounding.
fn tick(low: f64, high: f64, share: f64) -> f64 {
    let value = low + (high - low) * share;
    if value.abs() < 1e-12 * (high - low) {
        return 0.0;
    }
    value
}

/// Every how many labels one fits, where each takes `size` of `room` pixels.
fn spacing(labels: usize, room: i32, size: i32) -> usize {
    (labels as f64 * f64::from(size) / f64::from(room))
        .ceil()
        .max(1.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_that_is_0_but_for_the_rounding_is_0() {
        let marks = [0.0, 0.25, 0.5, 0.75, 1.0].map(|share| tick(-0.3, 0.1, share));
        assert_eq!(number(marks[3]), "0", "{marks:?}");
        assert_eq!([marks[0], marks[4]].map(number), ["-0.3", "0.1"]);
        assert_eq!(number(tick(0.0, 1e-15, 0.5)), "5.0e-16");
    }
}
