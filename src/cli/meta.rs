//! What a file of rows is of: enough to repeat it, and to know that an interrupted sweep is the same one.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crosscheck::Reading;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::output::with_suffix;
use super::sweep::{Args, Job};

/// Describes a sweep: version, engine, prices with their digest, grid, rules and metrics.
///
/// It holds no time and no path, so that the same question has the same text.
pub(crate) fn question(args: &Args, job: &Job) -> Value {
    let (engine, series) = (&job.engine, &job.series);
    json!({
        "crosscheck": env!("CARGO_PKG_VERSION"),
        "engine": engine.name(),
        "adapter": engine.adapter,
        "fast": args.fast,
        "slow": args.slow,
        "combinations": job.grid.combinations(),
        "rules": job.rules,
        "metrics": job.set,
        "bars": series.bars(),
        "bar_length_ms": series.bar_length(),
        "first_timestamp_ms": series.timestamps().map(|times| times[0]),
        "reading": match series.reading() {
            Reading::Ticks => "ticks",
            Reading::Binary => "binary",
        },
        "closes_sha256": digest(series.closes()),
        "opens_sha256": series.opens().map(digest),
    })
}

/// The file beside rows that says what they are of.
pub(crate) fn beside(rows: &Path) -> PathBuf {
    with_suffix(rows, ".meta.json")
}

/// Removes what a sweep wrote beside its rows, since they are about to be replaced.
pub(crate) fn forget(rows: &Path) -> io::Result<()> {
    let beside = beside(rows);
    if read(&beside).is_some_and(|facts| is_question(&facts)) {
        fs::remove_file(beside)?;
    }
    Ok(())
}

/// Reads a small JSON file; `None` where there is no such file.
pub(crate) fn read(path: &Path) -> Option<Value> {
    const MOST: u64 = 1 << 20;
    let found = fs::symlink_metadata(path).ok()?;
    if !found.is_file() || found.len() > MOST {
        return None;
    }
    serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
}

/// Says whether these facts are of a sweep, of this or an earlier version.
pub(crate) fn is_question(facts: &Value) -> bool {
    let has = |name| facts.get(name).is_some_and(Value::is_string);
    has("crosscheck") && has("closes_sha256")
}

/// SHA-256 of prices as little-endian `f64`, in hexadecimal.
fn digest(prices: &[f64]) -> String {
    let mut hasher = Sha256::new();
    for price in prices {
        hasher.update(price.to_le_bytes());
    }
    hexadecimal(hasher)
}

/// Finishes a digest as text.
pub(crate) fn hexadecimal(hasher: Sha256) -> String {
    let mut text = String::new();
    for byte in hasher.finalize() {
        write!(text, "{byte:02x}").expect("writing to a String never fails");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_of_the_walk_is_the_published_one() {
        let walk = crosscheck::random_walk(150_000, 42).unwrap();
        let published = "8b88b1ba4bb9b6481cd46068ea87a3162f54e111b6bc0bbd05eac00bb15431d5";
        assert_eq!(digest(walk.closes()), published);
    }
}
