//! What an interrupted sweep left: its rows, and the note that says of which sweep they are and vouches for them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::meta::hexadecimal;
use super::{Failure, Outcome};

/// Rows on the disk that are what a sweep wrote.
#[derive(Debug)]
pub(crate) struct Kept {
    /// Open behind the last of them.
    pub(crate) file: File,
    pub(crate) bytes: u64,
    pub(crate) hasher: Sha256,
}

impl Kept {
    /// A new file, without rows.
    pub(crate) fn nothing(file: File) -> Self {
        Self {
            file,
            bytes: 0,
            hasher: Sha256::new(),
        }
    }

    /// Opens the rows that the note vouches for, and drops what is behind them: it comes from a chunk whose end is not
    /// known.
    pub(crate) fn open(partial: &Path, progress: &Path, question: &Value) -> Outcome<Self> {
        let note = read_note(partial, progress)?;
        refuse_other(partial, &note["question"], question)?;
        let opened = OpenOptions::new().read(true).write(true).open(partial);
        let file = opened.map_err(|error| Failure::file(partial, error))?;
        let damaged = || {
            Failure::Data(format!(
                "{} is not as the interrupted sweep left it, its checksum differs: remove it and start again",
                partial.display()
            ))
        };
        let bytes = note["bytes"].as_u64().ok_or_else(damaged)?;
        let vouched = vouched(file, bytes);
        let kept = vouched.map_err(|error| Failure::file(partial, error))?;
        if kept.bytes != bytes || note["sha256"] != hexadecimal(kept.hasher.clone()) {
            return Err(damaged());
        }
        let cut = kept.file.set_len(bytes);
        cut.map_err(|error| Failure::file(partial, error))?;
        Ok(kept)
    }

    /// Hands over each row after the `skipped` lines of the header; returns how many there are.
    pub(crate) fn each_row(
        &self,
        partial: &Path,
        skipped: usize,
        mut keep: impl FnMut(&str) -> Outcome,
    ) -> Outcome<usize> {
        if self.bytes == 0 {
            return Ok(0);
        }
        let fail = |error| Failure::file(partial, error);
        let text = File::open(partial).map_err(fail)?;
        let mut rows = 0;
        for line in BufReader::new(text).lines().skip(skipped) {
            keep(&line.map_err(fail)?)?;
            rows += 1;
        }
        Ok(rows)
    }
}

/// Reads as many bytes as are due, if there are so many.
fn vouched(mut file: File, bytes: u64) -> io::Result<Kept> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    let mut found = 0;
    loop {
        let due = usize::try_from(bytes - found).unwrap_or(usize::MAX);
        let room = buffer.len().min(due);
        let count = file.read(&mut buffer[..room])?;
        if count == 0 {
            break;
        }
        hasher.update(&buffer[..count]);
        found += count as u64;
    }
    file.seek(SeekFrom::Start(found))?;
    Ok(Kept {
        file,
        bytes: found,
        hasher,
    })
}

fn read_note(partial: &Path, progress: &Path) -> Outcome<Value> {
    let (rows, name) = (partial.display(), progress.display());
    let remedy = format!("nothing vouches for {rows}: remove both and start again");
    let text = fs::read_to_string(progress)
        .map_err(|error| Failure::Data(format!("{name} cannot be read ({error}), so {remedy}")))?;
    let note: Option<Value> = serde_json::from_str(&text).ok();
    note.filter(|note| note["question"].is_object())
        .ok_or_else(|| Failure::Data(format!("{name} is damaged, so {remedy}")))
}

/// Refuses rows of another sweep, and says in what it differs.
fn refuse_other(partial: &Path, before: &Value, now: &Value) -> Outcome {
    let differences = differences(before, now);
    if differences.is_empty() {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "{} is of another sweep: {}; repeat its command, or remove the file",
        partial.display(),
        differences.join("; ")
    )))
}

/// The facts that differ, by their names, with both values.
fn differences(before: &Value, now: &Value) -> Vec<String> {
    let nothing = Map::new();
    let [old, new] = [before, now].map(|facts| facts.as_object().unwrap_or(&nothing));
    let mut names: Vec<&String> = old.keys().chain(new.keys()).collect();
    names.sort();
    names.dedup();
    let mut found = Vec::new();
    for name in names {
        let (old, new) = (&before[name], &now[name]);
        if old.is_object() && new.is_object() {
            let inner = differences(old, new);
            found.extend(inner.into_iter().map(|text| format!("{name}.{text}")));
        } else if old != new {
            found.push(format!("{name} was {}, is {}", brief(old), brief(new)));
        }
    }
    found
}

/// A value in a message; of a digest its beginning tells enough.
fn brief(value: &Value) -> String {
    let is_digest = |text: &str| text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) if is_digest(text) => format!("{}...", &text[..12]),
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn differences_are_named_with_both_values() {
        let before = json!({"engine": "m4", "rules": {"fill": "next_open", "fees": 1}, "bars": 7});
        let now = json!({"engine": "m2", "rules": {"fill": "next_open", "fees": 2}, "bars": 7, "adapter": "x"});
        assert_eq!(
            differences(&before, &now),
            [
                "adapter was none, is x",
                "engine was m4, is m2",
                "rules.fees was 1, is 2"
            ]
        );
        assert!(differences(&now, &now).is_empty());
    }
}
