//! The best rows by a metric.

/// Returns the `count` rows with the largest metric: NaN and infinity never win, ties stay in the order of the grid.
pub(crate) fn best<T>(rows: &[T], count: usize, metric: impl Fn(&T) -> f64) -> Vec<&T> {
    let mut finite: Vec<&T> = rows.iter().filter(|row| metric(row).is_finite()).collect();
    // The sort is stable, which keeps ties in order.
    finite.sort_by(|a, b| metric(b).total_cmp(&metric(a)));
    finite.truncate(count);
    finite
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_and_infinity_never_win_and_ties_keep_their_order() {
        let rows = [
            ("nan", f64::NAN),
            ("first", 2.0),
            ("infinite", f64::INFINITY),
            ("second", 2.0),
            ("low", -1.0),
            ("best", 3.0),
        ];
        let names: Vec<_> = best(&rows, 4, |row| row.1)
            .iter()
            .map(|row| row.0)
            .collect();
        assert_eq!(names, ["best", "first", "second", "low"]);
        assert_eq!(best(&rows, 9, |row| row.1).len(), 4);
    }
}
