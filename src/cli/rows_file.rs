//! The file of a sweep's rows: written chunk by chunk beside its place, moved there whole, and gone on with after an
//! interruption.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::output::{check_place, partial_of, with_suffix};
use super::{Failure, Outcome};

/// Rows being written.
#[derive(Debug)]
pub(crate) struct RowsFile {
    path: PathBuf,
    partial: PathBuf,
    /// Which sweep the partial file is of.
    question: PathBuf,
    file: BufWriter<File>,
    rows: usize,
    is_finished: bool,
}

impl RowsFile {
    /// Finds out whether the file can be written, before anything is computed.
    pub(crate) fn probe(path: &Path) -> Outcome {
        check_place(path)?;
        let partial = partial_of(path);
        let is_new = !partial.exists();
        let opened = OpenOptions::new().append(true).create(true).open(&partial);
        opened.map_err(|error| Failure::file(path, error))?;
        if is_new {
            fs::remove_file(&partial).map_err(|error| Failure::file(path, error))?;
        }
        Ok(())
    }

    /// Starts the file, or goes on with the rows that an interrupted sweep left; returns those lines too.
    pub(crate) fn open(
        path: &Path,
        question: &Value,
        header: Option<&str>,
        resumes: bool,
    ) -> Outcome<(Self, Vec<String>)> {
        let partial = partial_of(path);
        let identity = with_suffix(&partial, ".json");
        let lines = if partial.exists() {
            kept_lines(&partial, &identity, question, header, resumes)?
        } else {
            Vec::new()
        };
        let fail = |error| Failure::file(&partial, error);
        fs::write(&identity, format!("{question:#}\n")).map_err(fail)?;
        let mut file = BufWriter::new(File::create(&partial).map_err(fail)?);
        let all = header.into_iter().chain(lines.iter().map(String::as_str));
        for line in all {
            writeln!(file, "{line}").map_err(fail)?;
        }
        file.flush().map_err(fail)?;
        let rows = Self {
            path: path.to_path_buf(),
            partial,
            question: identity,
            file,
            rows: lines.len(),
            is_finished: false,
        };
        Ok((rows, lines))
    }

    /// Writes the rows of a chunk and hands them to the system.
    pub(crate) fn write(&mut self, lines: &[String]) -> Outcome {
        let mut write = || {
            lines
                .iter()
                .try_for_each(|line| writeln!(self.file, "{line}"))?;
            self.file.flush()
        };
        write().map_err(|error| Failure::file(&self.partial, error))?;
        self.rows += lines.len();
        Ok(())
    }

    /// Moves the file to its place, and writes what it is of beside it as `NAME.meta.json`.
    pub(crate) fn finish(mut self, meta: &Value) -> Outcome {
        let beside = with_suffix(&self.path, ".meta.json");
        let finish = || {
            self.file.get_ref().sync_all()?;
            fs::rename(&self.partial, &self.path)?;
            fs::write(&beside, format!("{meta:#}\n"))?;
            fs::remove_file(&self.question)
        };
        let finished = finish().map_err(|error| Failure::file(&self.path, error));
        self.is_finished = true;
        finished
    }
}

/// A run that failed before its first row leaves nothing behind.
impl Drop for RowsFile {
    fn drop(&mut self) {
        if !self.is_finished && self.rows == 0 {
            let _ = fs::remove_file(&self.partial);
            let _ = fs::remove_file(&self.question);
        }
    }
}

/// The whole lines that an interrupted sweep left, its header aside.
fn kept_lines(
    partial: &Path,
    identity: &Path,
    question: &Value,
    header: Option<&str>,
    resumes: bool,
) -> Outcome<Vec<String>> {
    let name = partial.display();
    if !resumes {
        return Err(Failure::Usage(format!(
            "{name} holds the rows of an interrupted sweep: go on with --resume, or remove it"
        )));
    }
    let before = fs::read_to_string(identity)
        .ok()
        .and_then(|text| serde_json::from_str::<Value>(&text).ok());
    if before.as_ref() != Some(question) {
        return Err(Failure::Usage(format!(
            "{name} is of another sweep, or of another version: repeat its command, or remove the file"
        )));
    }
    let text = fs::read_to_string(partial).map_err(|error| Failure::file(partial, error))?;
    // A line without its end was cut off in the middle.
    let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
    let skipped = usize::from(header.is_some());
    Ok(whole.lines().skip(skipped).map(str::to_owned).collect())
}
