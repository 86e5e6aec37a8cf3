//! Prices, both averages and the trades of a window of bars: what a combination did, seen.

use std::ops::Range;
use std::path::Path;

use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use super::axes::{number, padded, thinned};
use super::canvas::{
    Area, BLUE, Drawn, FONT, GREEN, LINES, MUTED, Picture, RULE, TEXT, VERMILLION, caption, legend,
    refuse, save,
};
use crate::crossover::Side;
use crate::error::{Result, counted, grouped};
use crate::filter::Filter;
use crate::series::Series;
use crate::trade::Trade;

/// Draws the closes, the fast and the slow average, and the trades of one combination over a window of bars.
///
/// A triangle upwards is an entry of a long trade, one downwards of a short one; a line joins entry and exit. `bars` is
/// cut at the end of the series. The trades may be empty. The time axis shows timestamps where the series has them.
///
/// # Errors
/// [`Error::Picture`](crate::Error::Picture) where the window holds fewer than two bars or the extension is neither `svg`
/// nor `png`; [`Error::Io`](crate::Error::Io) where the file cannot be written.
///
/// # Examples
/// ```
/// use crosscheck::{Backend, Grid, Rules, Sequential, plot, random_walk};
/// let walk = random_walk(2_000, 42)?;
/// let grid = Grid::parse("hma:20", "hma3:48")?;
/// let trades = Sequential::new().trades(&walk, &grid, &Rules::published())?;
/// let (fast, slow) = grid.combination(0);
/// let path = std::env::temp_dir().join("crosscheck-doc-price.svg");
/// plot::price(&walk, (fast, slow), &trades[0], 500..800, &path)?;
/// assert!(std::fs::read_to_string(&path).is_ok_and(|svg| svg.contains("hma3:48")));
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), crosscheck::Error>(())
/// ```
pub fn price(
    series: &Series,
    (fast, slow): (&Filter, &Filter),
    trades: &[Trade],
    bars: Range<usize>,
    path: impl AsRef<Path>,
) -> Result<()> {
    let path = path.as_ref();
    let bars = bars.start..bars.end.min(series.bars());
    if bars.len() < 2 {
        let reason = format!(
            "bars {}..{} of a series of {} are no window; give two bars at least",
            bars.start,
            bars.end,
            series.bars()
        );
        return Err(refuse(path, reason));
    }
    let seen = trades.iter().filter(|trade| {
        (trade.entry_bar as usize) < bars.end && trade.exit_bar as usize >= bars.start
    });
    let picture = Price {
        series,
        names: [fast.name(), slow.name()],
        averages: [values(fast, series, &bars)?, values(slow, series, &bars)?],
        trades: seen.copied().collect(),
        bars,
    };
    save(&picture, path)
}

/// The filter's values on a window of bars, from no more closes than they depend on.
fn values(filter: &Filter, series: &Series, bars: &Range<usize>) -> Result<Vec<f64>> {
    let first = bars.start.saturating_sub(filter.warm_up());
    let mut values = filter.evaluate(&series.closes()[first..bars.end])?;
    values.drain(..bars.start - first);
    Ok(values)
}

struct Price<'a> {
    series: &'a Series,
    names: [&'a str; 2],
    averages: [Vec<f64>; 2],
    trades: Vec<Trade>,
    bars: Range<usize>,
}

const CLOSE: RGBColor = RGBColor(0x88, 0x88, 0x88);
const COLUMNS: usize = 880;

impl Picture for Price<'_> {
    fn draw<DB: DrawingBackend>(&self, sheet: &Area<DB>) -> Drawn<DB> {
        let body = self.draw_head(sheet)?;
        let (first, last) = (self.bars.start as f64, self.bars.end as f64 - 1.0);
        let averages = self.averages.iter().flatten();
        let prices = self.closes().iter().chain(averages).copied();
        let mut chart = ChartBuilder::on(&body.margin(26, 0, 0, 0))
            .x_label_area_size(50)
            .y_label_area_size(90)
            .build_cartesian_2d(first..last, padded(prices))?;
        let (labels, axis) = match self.series.timestamps() {
            Some(_) => (5, "time (UTC)"),
            None => (8, "bar"),
        };
        chart
            .configure_mesh()
            .x_labels(labels)
            .y_labels(8)
            .x_desc(axis)
            .y_desc("price")
            .axis_style(MUTED)
            .bold_line_style(RULE)
            .light_line_style(TRANSPARENT)
            .label_style((FONT, 14, &TEXT))
            .axis_desc_style((FONT, 15, &TEXT))
            .x_label_formatter(&|&bar| self.label(bar))
            .y_label_formatter(&|&value| number(value))
            .draw()?;
        self.draw_lines(&mut chart)?;
        self.draw_trades(&mut chart)
    }
}

/// The plane of bars and prices.
type Chart<'c, DB> = ChartContext<'c, DB, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

impl Price<'_> {
    fn closes(&self) -> &[f64] {
        &self.series.closes()[self.bars.clone()]
    }

    fn draw_head<DB: DrawingBackend>(&self, sheet: &Area<DB>) -> Drawn<DB, Area<DB>> {
        let title = format!("{} over {}", self.names[0], self.names[1]);
        let note = format!(
            "{} in these {} bars",
            counted(self.trades.len() as u64, "trade"),
            grouped(self.bars.len() as u64)
        );
        let body = caption(sheet, &title, &note)?;
        let names = [
            ("close", CLOSE),
            (self.names[0], BLUE),
            (self.names[1], LINES[4]),
            ("long", GREEN),
            ("short", VERMILLION),
        ];
        legend(&body, &names, (96, 10))?;
        Ok(body)
    }

    fn draw_lines<DB: DrawingBackend>(&self, chart: &mut Chart<'_, DB>) -> Drawn<DB> {
        let lines = [
            (self.closes(), CLOSE, 1),
            (&self.averages[0], BLUE, 2),
            (&self.averages[1], LINES[4], 2),
        ];
        let first = self.bars.start as f64;
        for (values, color, width) in lines {
            let points = thinned(values, COLUMNS)
                .into_iter()
                .map(|(bar, value)| (first + bar, value));
            chart.draw_series(LineSeries::new(points, color.stroke_width(width)))?;
        }
        Ok(())
    }

    fn draw_trades<DB: DrawingBackend>(&self, chart: &mut Chart<'_, DB>) -> Drawn<DB> {
        for trade in &self.trades {
            let (color, down) = match trade.side {
                Side::Long => (GREEN, 1),
                Side::Short => (VERMILLION, -1),
            };
            let (entry, exit) = self.ends(trade);
            chart.draw_series(LineSeries::new([entry, exit], color.stroke_width(2)))?;
            if self.bars.contains(&(trade.entry_bar as usize)) {
                // in pixels from the entry, its tip on the price
                let corners = vec![(0, 0), (-6, 11 * down), (6, 11 * down)];
                let triangle = |at| EmptyElement::at(at) + Polygon::new(corners.clone(), color);
                chart.draw_series([entry].map(triangle))?;
            }
        }
        Ok(())
    }

    /// Entry and exit of a trade, cut at the window's edges along the line that joins them.
    fn ends(&self, trade: &Trade) -> ((f64, f64), (f64, f64)) {
        let (entry, exit) = (f64::from(trade.entry_bar), f64::from(trade.exit_bar));
        let slope = (trade.exit_price - trade.entry_price) / (exit - entry).max(1.0);
        let (first, last) = (self.bars.start as f64, self.bars.end as f64 - 1.0);
        let at = |bar: f64| (bar, trade.entry_price + slope * (bar - entry));
        (at(entry.clamp(first, last)), at(exit.clamp(first, last)))
    }

    fn label(&self, bar: f64) -> String {
        let time = self
            .series
            .timestamps()
            .and_then(|times| times.get(bar.round() as usize));
        let time = time.and_then(|&time| jiff::Timestamp::from_millisecond(time).ok());
        time.map_or_else(
            || number(bar),
            |time| {
                time.to_string()
                    .replace('T', " ")
                    .chars()
                    .take(16)
                    .collect()
            },
        )
    }
}
