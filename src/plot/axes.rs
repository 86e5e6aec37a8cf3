//! Ranges, thinning and number formats that the pictures share.

use std::ops::Range;

use crate::error::grouped;

/// The smallest range with a margin that holds every finite value; one of width 2 around a constant.
pub(super) fn padded(values: impl Iterator<Item = f64>) -> Range<f64> {
    let (low, high) = extent(values).unwrap_or((0.0, 1.0));
    if low < high {
        let margin = 0.05 * (high - low);
        return low - margin..high + margin;
    }
    let margin = if low == 0.0 { 1.0 } else { 0.05 * low.abs() };
    low - margin..high + margin
}

/// The smallest and the largest finite value, if there is one.
pub(super) fn extent(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values
        .filter(|value| value.is_finite())
        .fold(None, |extent, value| {
            let (low, high) = extent.unwrap_or((value, value));
            Some((low.min(value), high.max(value)))
        })
}

/// A range of decades around positive values.
pub(super) fn decades(values: impl Iterator<Item = f64>) -> Range<f64> {
    let (low, high) = extent(values.filter(|&value| value > 0.0)).unwrap_or((1.0, 10.0));
    let first = 10_f64.powf(low.log10().floor());
    let last = 10_f64.powf(high.log10().ceil());
    if first < last {
        first..last
    } else {
        first..10.0 * first
    }
}

/// Keeps the lowest and the highest value of each of about `columns` runs of bars, in their order: a line over
/// millions of bars then looks the same and its file stays small.
pub(super) fn thinned(values: &[f64], columns: usize) -> Vec<(f64, f64)> {
    let run = values.len().div_ceil(columns).max(1);
    let mut points = Vec::with_capacity(2 * columns + 2);
    for (index, chunk) in values.chunks(run).enumerate() {
        let bars = chunk
            .iter()
            .enumerate()
            .filter(|(_, value)| !value.is_nan());
        let lowest = bars.clone().min_by(|a, b| a.1.total_cmp(b.1));
        let highest = bars.max_by(|a, b| a.1.total_cmp(b.1));
        let (Some(lowest), Some(highest)) = (lowest, highest) else {
            continue;
        };
        let mut pair = [lowest, highest];
        pair.sort_by_key(|(bar, _)| *bar);
        let kept = if pair[0].0 == pair[1].0 {
            &pair[..1]
        } else {
            &pair[..]
        };
        points.extend(
            kept.iter()
                .map(|(bar, value)| ((index * run + bar) as f64, **value)),
        );
    }
    points
}

/// Writes a number for a label: thousands in groups, as many decimals as its size needs.
pub(super) fn number(value: f64) -> String {
    let size = value.abs();
    if size >= 1e7 || (size > 0.0 && size < 1e-3) {
        return format!("{value:.1e}");
    }
    let decimals = match size {
        s if s >= 100.0 || s == 0.0 => 0,
        s if s >= 10.0 => 1,
        s if s >= 1.0 => 2,
        _ => 3,
    };
    let rounded = format!("{size:.decimals$}");
    let (whole, rest) = rounded.split_once('.').unwrap_or((&rounded, ""));
    let rest = rest.trim_end_matches('0');
    let sign = if value < 0.0 { "-" } else { "" };
    let point = if rest.is_empty() { "" } else { "." };
    let whole = whole
        .parse::<u64>()
        .map_or_else(|_| whole.to_owned(), grouped);
    format!("{sign}{whole}{point}{rest}")
}

/// Writes a power of ten, such as 1e-7 or 1,000.
pub(super) fn power(value: f64) -> String {
    // a decade found by logarithms can be a rounding below 1
    if (0.999..1e7).contains(&value) {
        number(value)
    } else {
        format!("{value:.0e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        let cases = [
            (0.0, "0"),
            (1_234_567.0, "1,234,567"),
            (-12.34, "-12.3"),
            (0.05, "0.05"),
            (1e-5, "1.0e-5"),
            (100.0, "100"),
            (1e9, "1.0e9"),
        ];
        for (value, expected) in cases {
            assert_eq!(number(value), expected);
        }
    }

    #[test]
    fn powers_read_well() {
        for (value, expected) in [
            (1e-7, "1e-7"),
            (1.0, "1"),
            (1.0 - 1e-12, "1"),
            (1e6, "1,000,000"),
        ] {
            assert_eq!(power(value), expected);
        }
    }

    #[test]
    fn ranges_never_have_width_zero() {
        for values in [
            vec![],
            vec![0.0],
            vec![5.0, 5.0],
            vec![f64::NAN],
            vec![-1.0, 3.0],
        ] {
            let range = padded(values.iter().copied());
            assert!(range.start < range.end, "{values:?}");
            let range = decades(values.iter().copied());
            assert!(0.0 < range.start && range.start < range.end, "{values:?}");
        }
    }

    #[test]
    fn thinning_keeps_extremes_and_order() {
        let values: Vec<f64> = (0..10_000).map(|bar| f64::from(bar % 97)).collect();
        let points = thinned(&values, 50);
        assert!(points.len() <= 100);
        assert!(points.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert!(points.iter().any(|p| p.1 == 96.0) && points.iter().any(|p| p.1 == 0.0));
        assert_eq!(thinned(&[f64::NAN, 2.0], 10), [(1.0, 2.0)]);
        assert!(thinned(&[], 10).is_empty());
    }
}
