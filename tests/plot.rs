//! Pictures: every shape of result gives a file that holds what it should, or an error that says why not.
#![cfg(feature = "plot")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;

use crosscheck::plot::{Curve, ErrorCurve, Rung, equity, formula_error, heatmap, ladder, price};
use crosscheck::{
    Backend, Error, Filter, Grid, Rules, Sequential, Series, Sweep, SweepRow, random_walk,
};
use tempfile::TempDir;

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn sweep(fast: &str, slow: &str) -> Sweep {
    let walk = random_walk(1_000, 42).unwrap();
    let grid = Grid::parse(fast, slow).unwrap();
    Sequential::new()
        .sweep(&walk, &grid, &Rules::published())
        .unwrap()
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

fn refusal(drawn: Result<(), Error>) -> String {
    match drawn {
        Err(Error::Picture { reason, .. }) => reason,
        other => panic!("not refused: {other:?}"),
    }
}

/// Width, height and all pixels of a PNG, decoded.
fn pixels(path: &Path) -> (u32, u32, Vec<u8>) {
    let file = std::io::BufReader::new(std::fs::File::open(path).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    (info.width, info.height, bytes)
}

#[test]
fn heatmaps_of_every_grid_shape_show_one_cell_a_combination() {
    let folder = folder();
    for (fast, slow, cells) in [
        ("sma:5", "sma:20", 1),
        ("sma:5,6,7", "sma:20", 3),
        ("sma:5", "sma:20..=29", 10),
        ("hma:4..=9", "hma3:20..=32:2", 42),
    ] {
        let path = folder.path().join("heatmap.svg");
        heatmap(&sweep(fast, slow), "PnL", |row| row.totals.pnl_pct, &path).unwrap();
        let svg = read(&path);
        // the sheet's white, the 100 steps of the colour scale, and the frame of the highest cell
        let others = 1 + 100 + 1;
        assert_eq!(
            svg.matches("<rect").count() - others,
            cells,
            "{fast} {slow}"
        );
        assert!(svg.contains("highest: "));
    }
}

#[test]
fn heatmaps_name_the_highest_cell_and_survive_values_that_are_not_finite() {
    let folder = folder();
    let path = folder.path().join("heatmap.svg");
    let mut sweep = sweep("sma:2,3,4", "wma:10,20");
    let best = |row: &SweepRow| if row.fast == "sma:3" { 7.0 } else { f64::NAN };
    heatmap(&sweep, "odd", best, &path).unwrap();
    assert!(read(&path).contains("highest: sma:3 over wma:10, 7"));
    heatmap(&sweep, "nothing", |_| f64::INFINITY, &path).unwrap();
    assert!(read(&path).contains("no finite value"));
    sweep.rows.clear();
    assert!(refusal(heatmap(&sweep, "none", |_| 0.0, &path)).contains("no rows"));
}

#[test]
fn equity_takes_one_bar_and_refuses_what_cannot_be_read() {
    let folder = folder();
    let path = folder.path().join("equity.svg");
    let curve = |values: &[f64]| Curve {
        name: "a curve".to_owned(),
        equity: values.to_vec(),
    };
    equity(&[curve(&[1.0])], &path).unwrap();
    equity(
        &[curve(&[1.0; 50]), curve(&[1.0, 0.5, f64::NAN, 2.0])],
        &path,
    )
    .unwrap();
    assert_eq!(read(&path).matches("a curve").count(), 2);
    assert!(refusal(equity(&[], &path)).contains("needs a curve"));
    assert!(refusal(equity(&[curve(&[])], &path)).contains("each curve a bar"));
    let many = vec![curve(&[1.0, 2.0]); 8];
    assert!(refusal(equity(&many, &path)).contains("8 curves"));
}

#[test]
fn prices_show_their_trades_or_none() {
    let folder = folder();
    let path = folder.path().join("price.svg");
    let walk = random_walk(1_000, 42).unwrap();
    let grid = Grid::parse("hma:9", "hma3:20").unwrap();
    let trades = Sequential::new()
        .trades(&walk, &grid, &Rules::default())
        .unwrap();
    let pair = grid.combination(0);
    price(&walk, pair, &trades[0], 300..400, &path).unwrap();
    let entries = trades[0]
        .iter()
        .filter(|t| (300..400).contains(&t.entry_bar))
        .count();
    assert!(entries > 3);
    assert_eq!(read(&path).matches("<polygon").count(), entries);
    price(&walk, pair, &[], 0..5_000, &path).unwrap();
    assert!(read(&path).contains("0 trades in these 1,000 bars"));
    assert_eq!(read(&path).matches("<polygon").count(), 0);
    for (first, end) in [(5, 5), (5, 6), (999, 2_000), (2_000, 3_000), (9, 3)] {
        let drawn = price(&walk, pair, &[], first..end, &path);
        assert!(refusal(drawn).contains("no window"), "{first}..{end}");
    }
}

#[test]
fn prices_show_time_where_the_series_has_it_and_flat_prices_draw() {
    let folder = folder();
    let path = folder.path().join("price.svg");
    let times = (0..100)
        .map(|bar| 1_700_000_000_000 + 60_000 * bar)
        .collect();
    let series = Series::from_closes(&[5.0; 100])
        .unwrap()
        .with_timestamps(times)
        .unwrap();
    let (fast, slow) = (Filter::sma(2).unwrap(), Filter::sma(200).unwrap());
    price(&series, (&fast, &slow), &[], 0..100, &path).unwrap();
    assert!(read(&path).contains("2023-11-14 22:"));
}

#[test]
fn ladders_show_speeds_and_ratios_and_refuse_zero() {
    let folder = folder();
    let path = folder.path().join("ladder.svg");
    let rung = |per_second| Rung {
        name: "M0 naive".to_owned(),
        per_second,
    };
    ladder(&[rung(4.0), rung(8_000.0)], "a machine", &path).unwrap();
    let svg = read(&path);
    assert!(svg.contains("8,000 (2,000x)") && svg.contains("a machine"));
    ladder(&[rung(10.0)], "", &path).unwrap();
    assert!(refusal(ladder(&[], "", &path)).contains("at least one rung"));
    for speed in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(refusal(ladder(&[rung(speed)], "", &path)).contains("above 0"));
    }
}

#[test]
fn formula_errors_skip_zero_and_refuse_nothing_to_draw() {
    let folder = folder();
    let path = folder.path().join("error.svg");
    let curve = |points: &[(usize, f64)]| ErrorCurve {
        formula: "direct".to_owned(),
        points: points.to_vec(),
    };
    let points = [(1_000, 1e-7), (10_000, 0.0), (100_000, 2e-7)];
    formula_error(&[curve(&points)], &path).unwrap();
    assert_eq!(read(&path).matches("<circle").count(), 2);
    assert!(refusal(formula_error(&[], &path)).contains("no formula"));
    let nothing = curve(&[(10, 0.0), (0, 1.0), (5, f64::NAN)]);
    assert!(refusal(formula_error(&[nothing], &path)).contains("no formula"));
    let many = vec![curve(&[(10, 1.0)]); 8];
    assert!(refusal(formula_error(&many, &path)).contains("8 formulas"));
}

#[test]
fn png_holds_the_whole_sheet_with_text_on_it() {
    let folder = folder();
    let path = folder.path().join("ladder.PNG");
    let rungs = [Rung {
        name: "M2".to_owned(),
        per_second: 900.0,
    }];
    ladder(&rungs, "", &path).unwrap();
    let (width, height, without_note) = pixels(&path);
    assert_eq!(
        (width, height, without_note.len()),
        (1_000, 620, 1_000 * 620 * 3)
    );
    // the note is text: it alone makes pixels differ
    ladder(&rungs, "on some machine", &path).unwrap();
    let differing = pixels(&path)
        .2
        .iter()
        .zip(&without_note)
        .filter(|(a, b)| a != b)
        .count();
    assert!(differing > 300, "{differing} bytes of text");
}

#[test]
fn other_extensions_and_missing_folders_are_errors() {
    let folder = folder();
    let rungs = [Rung {
        name: "M2".to_owned(),
        per_second: 900.0,
    }];
    for name in ["ladder.pdf", "ladder"] {
        let drawn = ladder(&rungs, "", folder.path().join(name));
        assert!(refusal(drawn).contains("name the file .svg or .png"));
    }
    let missing = folder.path().join("none").join("ladder.svg");
    assert!(matches!(ladder(&rungs, "", missing), Err(Error::Io { .. })));
}
