//! The text form of filters: `hma:20..=200:20`, `hma:9,16,55`, `sma:5`.

use std::collections::HashSet;

use super::{Filter, RootRounding};
use crate::error::{Error, Result, grouped, quoted};

/// Most filters that one text may name.
const MAX_FILTERS: usize = 1_000_000;

/// Reads filters from text: a kind, a colon, and periods as a list or a range with an optional step; more kinds after
/// commas.
///
/// Kinds: `sma`, `wma`, `hma`, `hma-nearest` (root rounded to nearest), `hma3`. The order of the text is the
/// order of the filters. A filter that is there twice is refused: its rows in a result would have the same name.
///
/// # Errors
/// [`Error::InvalidSpec`] with what is wrong, or the error of the filter's constructor.
///
/// # Examples
/// ```
/// let names = |text| -> Result<Vec<String>, crosscheck::Error> {
///     Ok(crosscheck::parse_filters(text)?.iter().map(ToString::to_string).collect())
/// };
/// assert_eq!(names("hma:20..=60:20")?, ["hma:20", "hma:40", "hma:60"]);
/// assert_eq!(names("hma:9,16,55")?, ["hma:9", "hma:16", "hma:55"]);
/// assert_eq!(names("sma:2..4")?, ["sma:2", "sma:3"]);
/// assert_eq!(names("sma:5,10,wma:6..=7")?, ["sma:5", "sma:10", "wma:6", "wma:7"]);
/// # Ok::<(), crosscheck::Error>(())
/// ```
pub fn parse_filters(text: &str) -> Result<Vec<Filter>> {
    let refuse = |reason: String| Error::InvalidSpec {
        text: text.to_owned(),
        reason,
    };
    let (mut filters, mut seen) = (Vec::new(), HashSet::new());
    for group in groups(text.trim()) {
        let (kind, periods) = group
            .split_once(':')
            .ok_or_else(|| refuse("no ':' between kind and periods".to_owned()))?;
        let make = constructor(kind).map_err(refuse)?;
        let periods = parse_periods(periods).map_err(refuse)?;
        let count = filters.len() + periods.len();
        if count > MAX_FILTERS {
            return Err(refuse(too_many(count as u128)));
        }
        for period in periods {
            if !seen.insert((kind, period)) {
                let reason =
                    format!("{kind}:{period} is there twice, and its rows could not be told apart");
                return Err(refuse(reason));
            }
            filters.push(make(period)?);
        }
    }
    Ok(filters)
}

/// The parts of one kind each: a comma before a letter begins the next.
fn groups(text: &str) -> Vec<&str> {
    let (mut groups, mut start) = (Vec::new(), 0);
    for (comma, _) in text.match_indices(',') {
        let rest = text[comma + 1..].trim_start();
        if rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
            groups.push(text[start..comma].trim());
            start = comma + 1;
        }
    }
    groups.push(text[start..].trim());
    groups
}

type Constructor = fn(usize) -> Result<Filter>;

fn constructor(kind: &str) -> std::result::Result<Constructor, String> {
    Ok(match kind {
        "sma" => Filter::sma,
        "wma" => Filter::wma,
        "hma" => Filter::hma,
        "hma-nearest" => |period| Filter::hma_rounded(period, RootRounding::Nearest),
        "hma3" => Filter::hma3,
        _ => {
            let known = "sma, wma, hma, hma-nearest, hma3";
            return Err(format!(
                "no filter kind {}, the kinds are {known}",
                quoted(kind)
            ));
        }
    })
}

fn too_many(filters: u128) -> String {
    let [filters, limit] = [filters, MAX_FILTERS as u128].map(grouped);
    format!("{filters} filters, the limit is {limit}")
}

fn parse_periods(text: &str) -> std::result::Result<Vec<usize>, String> {
    let Some((first, rest)) = text.split_once("..") else {
        return text.split(',').map(parse_period).collect();
    };
    let (last, step) = rest.split_once(':').unwrap_or((rest, "1"));
    let (last, is_inclusive) = match last.strip_prefix('=') {
        Some(last) => (last, true),
        None => (last, false),
    };
    let (first, last, step) = (
        parse_period(first)?,
        parse_period(last)?,
        parse_period(step)?,
    );
    if step == 0 {
        return Err("a step of 0 never ends".to_owned());
    }
    // An end that is left out is one more than the last: the last of all numbers has none after it.
    let last = if is_inclusive {
        Some(last)
    } else {
        last.checked_sub(1)
    };
    let Some(last) = last.filter(|last| first <= *last) else {
        return Err(format!("the range {} is empty", quoted(text)));
    };
    let count = ((last - first) / step) as u128 + 1;
    if count > MAX_FILTERS as u128 {
        return Err(too_many(count));
    }
    Ok((first..=last).step_by(step).collect())
}

fn parse_period(text: &str) -> std::result::Result<usize, String> {
    let text = text.trim();
    text.parse()
        .map_err(|_| format!("{} is no whole number of bars", quoted(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_text_is_refused_with_the_reason() {
        for (text, reason) in [
            ("hma", "no ':'"),
            ("ema:5", "no filter kind 'ema'"),
            ("hma:5..=4", "empty"),
            ("hma:5..5", "empty"),
            ("hma:1..=9:0", "never ends"),
            ("hma:2.5", "no whole number"),
            ("hma:-1", "no whole number"),
            ("hma:1,,2", "no whole number"),
            ("hma:1..=99999999999", "limit"),
            ("hma:5..0", "empty"),
            (
                "sma:1..=18446744073709551615",
                "18,446,744,073,709,551,615 filters",
            ),
            (
                "sma:0..=18446744073709551615",
                "18,446,744,073,709,551,616 filters",
            ),
            (
                "sma:1..18446744073709551615:3",
                "6,148,914,691,236,517,205 filters",
            ),
            ("hma:", "no whole number"),
            ("hma:5,9,5", "hma:5 is there twice"),
            ("sma:5,hma:5,sma:5", "sma:5 is there twice"),
            ("sma:5,ema:6", "no filter kind 'ema'"),
            ("sma:5,wma", "no ':'"),
            (
                "sma:1..=600000,wma:1..=600000",
                "1,200,000 filters, the limit",
            ),
        ] {
            let error = parse_filters(text).unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
        assert!(matches!(
            parse_filters("hma:0"),
            Err(Error::ZeroPeriod { .. })
        ));
    }
}
