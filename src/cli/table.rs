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
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.rows[0].len()).map(width).collect();
        for row in &self.rows {
            let mut line = String::new();
            for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
                if column > 0 {
                    line.push_str("  ");
                }
                let pad = " ".repeat(width - cell.chars().count());
                let is_left = column < self.left;
                line.extend(if is_left {
                    [cell.as_str(), &pad]
                } else {
                    [&pad, cell.as_str()]
                });
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
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
    }

    #[test]
    fn long_results_get_an_exponent() {
        assert_eq!([0.25, 1e300].map(decimals), ["0.2500", "1.0000e300"]);
    }
}
