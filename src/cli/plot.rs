//! The option `--plot`: pictures of what a command found, as SVG and PNG.

use std::ops::Range;
use std::path::{Path, PathBuf};

use crosscheck::equivalence::measure;
pub(crate) use crosscheck::plot::Rung;
use crosscheck::plot::{self, Curve, ErrorCurve};
use crosscheck::{
    Backend, Evaluation, Filter, Formula, Grid, Metric, Precision, Rules, Series, Sweep, Trade,
    equity, random_walk,
};

use super::number::{counted, grouped};
use super::output::check_place;
use super::prices::PriceArgs;
use super::{Failure, Outcome, room};

/// Where pictures go.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct PlotArgs {
    /// Draw the results into this folder, as SVG and PNG
    #[arg(long, value_name = "DIR")]
    plot: Option<PathBuf>,
}

/// Combinations in the equity picture.
const BEST: usize = 3;

/// Trades that the price picture is to show.
const TRADES: usize = 12;

/// Names of the pictures of a sweep.
pub(crate) const SWEEP: [&str; 3] = ["heatmap", "equity", "price"];

/// Name of the picture of a ladder.
pub(crate) const LADDER: [&str; 1] = ["ladder"];

/// Name of the picture of the trap.
pub(crate) const TRAP: [&str; 1] = ["formula-error"];

/// Formats of every picture.
const FORMATS: [&str; 2] = ["svg", "png"];

/// Most cells of a heatmap: more are smaller than a pixel.
const CELLS: usize = 100_000;

impl PlotArgs {
    /// Says whether pictures are wanted.
    pub(crate) fn is_asked(&self) -> bool {
        self.plot.is_some()
    }

    /// Refuses to draw over the price file.
    pub(crate) fn keep_from(&self, prices: &PriceArgs, names: &[&str]) -> Outcome {
        let Some(folder) = &self.plot else {
            return Ok(());
        };
        pictures(folder, names).try_for_each(|path| prices.keep_from(&path))
    }

    /// Refuses a picture of more combinations than can be seen.
    pub(crate) fn check_cells(&self, combinations: usize) -> Outcome {
        if self.plot.is_none() || combinations <= CELLS {
            return Ok(());
        }
        Err(Failure::Usage(format!(
            "--plot draws {} at most, the grid has {}: take larger steps, or leave it out",
            counted(CELLS as u64, "combination"),
            grouped(combinations as u64)
        )))
    }

    /// Makes the folder, if one was named, so that a name that cannot be one is known before anything is computed; so is
    /// a place in it through which a picture would be drawn over another file, or into a pipe.
    pub(crate) fn folder(&self, names: &[&str]) -> Outcome<Option<&Path>> {
        let Some(folder) = self.plot.as_deref() else {
            return Ok(None);
        };
        if folder.exists() && !folder.is_dir() {
            return Err(Failure::Data(format!(
                "--plot {} is a file, pictures need a folder: name another",
                folder.display()
            )));
        }
        if folder.is_symlink() && !folder.exists() {
            return Err(Failure::Data(format!(
                "--plot {} is a link to nothing: make the folder that it is to, or name another",
                folder.display()
            )));
        }
        std::fs::create_dir_all(folder).map_err(|error| Failure::file(folder, error))?;
        pictures(folder, names).try_for_each(|path| check_place(&path))?;
        Ok(Some(folder))
    }
}

/// Where pictures of these names are drawn.
fn pictures(folder: &Path, names: &[&str]) -> impl Iterator<Item = PathBuf> {
    let of_name = |name| FORMATS.map(|format| folder.join(name).with_extension(format));
    names.iter().flat_map(of_name)
}

/// Draws a sweep: the metric over the grid, and the best combinations' equity and last trades.
pub(crate) fn sweep(
    folder: &Path,
    (series, grid, rules): (&Series, &Grid, &Rules),
    engine: &dyn Backend,
    sweep: &Sweep,
    (metric, title): (Metric, &str),
) -> Outcome {
    let value = |row: &crosscheck::SweepRow| row.value(metric).unwrap_or(f64::NAN);
    each(folder, "heatmap", |path| {
        plot::heatmap(sweep, title, value, path)
    })?;
    let best = best(grid, sweep, metric);
    if best.is_empty() {
        return Ok(()); // nothing traded: the heatmap says all there is
    }
    let best = Grid::from_pairs(&best)?;
    check_room(series)?;
    let trades = engine.trades(series, &best, rules)?;
    let curve = |(combination, trades): (usize, &Vec<_>)| {
        let (fast, slow) = best.combination(combination);
        let equity = equity(series, rules, trades);
        Curve {
            name: format!("{fast} over {slow}"),
            equity,
        }
    };
    let curves: Vec<_> = trades.iter().enumerate().map(curve).collect();
    each(folder, "equity", |path| plot::equity(&curves, path))?;
    let bars = window(series, &trades[0]);
    each(folder, "price", |path| {
        plot::price(series, best.combination(0), &trades[0], bars.clone(), path)
    })
}

/// Refuses pictures whose curves the memory cannot hold: equity and drawdown of each combination, the averages, and the
/// trades, of which there can be as many as bars.
fn check_room(series: &Series) -> Outcome {
    const OF_A_BAR: usize = (2 * BEST + 4) * size_of::<f64>() + size_of::<Trade>();
    let bytes = series.bars().saturating_mul(OF_A_BAR);
    let what = format!("pictures of {} need", counted(series.bars() as u64, "bar"));
    room::ask(bytes, &what, "take fewer bars, or leave --plot out")
}

/// The best combinations that traded.
fn best(grid: &Grid, sweep: &Sweep, metric: Metric) -> Vec<(Filter, Filter)> {
    sweep
        .rank(metric)
        .into_iter()
        .filter(|&combination| sweep.rows[combination].totals.trades > 0)
        .take(BEST)
        .map(|combination| grid.combination(combination))
        .map(|(fast, slow)| (fast.clone(), slow.clone()))
        .collect()
}

/// The bars of the last trades, two at least.
fn window(series: &Series, trades: &[Trade]) -> Range<usize> {
    let shown = &trades[trades.len().saturating_sub(TRADES)..];
    let first = shown.first().map_or(0, |trade| trade.entry_bar as usize);
    let last = series.bars().saturating_sub(2);
    first.saturating_sub(10).min(last)..series.bars()
}

/// Draws the speed ladder.
pub(crate) fn ladder(folder: &Path, rungs: &[Rung], note: &str) -> Outcome {
    each(folder, LADDER[0], |path| plot::ladder(rungs, note, path))
}

/// Lengths of the series on which formulas are measured, in bars.
const LENGTHS: [usize; 7] = [1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000];

/// The formulas of the error picture: as many as can be told apart, the ones that people use.
const FORMULAS: [(Formula, Precision); 7] = [
    (Formula::PrefixSums, Precision::Single),
    (Formula::SlidingUpdate, Precision::Single),
    (Formula::DirectWindows, Precision::Single),
    (Formula::CentredDirect, Precision::Single),
    (Formula::PrefixSums, Precision::Double),
    (Formula::SlidingUpdate, Precision::Double),
    (Formula::DirectWindows, Precision::Double),
];

/// Measures a plain average of the random walk by each formula on ever longer series, and draws its error.
pub(crate) fn trap(folder: &Path) -> Outcome {
    let filter = Filter::wma(14)?;
    let walk = random_walk(LENGTHS[LENGTHS.len() - 1], 42)?;
    let curve = |(formula, precision): (Formula, Precision)| {
        let (name, evaluate): (_, fn(Formula, &Filter, &[f64]) -> Evaluation) = match precision {
            Precision::Single => ("f32", Formula::evaluate::<f32>),
            Precision::Double => ("f64", Formula::evaluate::<f64>),
        };
        let error = |bars: usize| {
            let closes = &walk.closes()[..bars];
            let values = evaluate(formula, &filter, closes).values;
            let error = measure(&filter, closes, &values, precision)?;
            Some((bars, error.max_relative))
        };
        let points = LENGTHS.into_iter().filter_map(error).collect();
        ErrorCurve {
            formula: format!("{formula}, {name}"),
            points,
        }
    };
    let curves = FORMULAS.map(curve);
    each(folder, TRAP[0], |path| plot::formula_error(&curves, path))
}

/// Draws one picture in both formats.
fn each(folder: &Path, name: &str, draw: impl Fn(PathBuf) -> crosscheck::Result<()>) -> Outcome {
    for format in FORMATS {
        draw(folder.join(name).with_extension(format))?;
    }
    Ok(())
}
