//! Aligned tables of text: names to the left, numbers to the right.

use std::io::{self, Write};

/// A table that is aligned when it is printed.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
    left: usize,
}

impl Table {
    /// Makes a table of the named columns; the first `left` are aligned to the left.
    pub(crate) fn new(columns: &[&str], left: usize) -> Self {
        let head = columns.iter().map(ToString::to_string).collect();
        Self {
            rows: vec![head],
            left,
        }
    }

    /// Adds a row.
    pub(crate) fn push(&mut self, row: impl IntoIterator<Item = String>) {
        self.rows.push(row.into_iter().collect());
    }

    /// Prints it, two spaces between the columns, none at the ends.
    pub(crate) fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut widths = vec![0; self.rows[0].len()];
        self.rows.iter().for_each(|row| widen(&mut widths, row));
        let mut rows = self.rows.iter();
        rows.try_for_each(|row| line(out, row, &widths, self.left))
    }
}

/// Prints a table whose rows are made twice, for their widths and for themselves: of millions none is kept.
pub(crate) fn print<R: Iterator<Item = Vec<String>>>(
    out: &mut dyn Write,
    columns: &[&str],
    left: usize,
    rows: impl Fn() -> R,
) -> io::Result<()> {
    let head: Vec<String> = columns.iter().map(ToString::to_string).collect();
    let mut widths = vec![0; columns.len()];
    widen(&mut widths, &head);
    rows().for_each(|row| widen(&mut widths, &row));
    line(out, &head, &widths, left)?;
    rows().try_for_each(|row| line(out, &row, &widths, left))
}

fn widen(widths: &mut [usize], row: &[String]) {
    for (width, cell) in widths.iter_mut().zip(row) {
        *width = (*width).max(cell.chars().count());
    }
}

fn line(out: &mut dyn Write, row: &[String], widths: &[usize], left: usize) -> io::Result<()> {
    let mut line = String::new();
    for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
        if column > 0 {
            line.push_str("  ");
        }
        let pad = " ".repeat(width - cell.chars().count());
        line.extend(if column < left {
            [cell.as_str(), &pad]
        } else {
            [&pad, cell.as_str()]
        });
    }
    writeln!(out, "{}", line.trim_end())
}

/// Writes a result in four decimals, and with an exponent where it has more digits than a table.
pub(crate) fn decimals(value: f64) -> String {
    if value.abs() < 1e12 {
        format!("{value:.4}")
    } else {
        format!("{value:.4e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(&["name", "trades"], 1);
        table.push(["hma:20".to_owned(), "7".to_owned()]);
        table.push(["a".to_owned(), "12,345".to_owned()]);
        let mut text = Vec::new();
        table.print(&mut text).unwrap();
        let expected = "name    trades\nhma:20       7\na       12,345\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
        let rows = || table.rows[1..].iter().cloned();
        let mut text = Vec::new();
        print(&mut text, &["name", "trades"], 1, rows).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    #[test]
    fn long_results_get_an_exponent() {
        assert_eq!([0.25, 1e300].map(decimals), ["0.2500", "1.0000e300"]);
    }
}
