//! The file of a sweep's rows: written chunk by chunk beside its place, moved there whole, and gone on with after an
//! interruption.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::meta::hexadecimal;
use super::output::{check_place, partial_of, with_suffix};
use super::rows::Format;
use super::{Failure, Outcome};

/// Rows being written.
#[derive(Debug)]
pub(crate) struct RowsFile {
    path: PathBuf,
    format: Format,
    partial: PathBuf,
    /// Which sweep the partial file is of, and the checksum of what is in it.
    progress: PathBuf,
    question: Value,
    file: BufWriter<File>,
    rows: usize,
    bytes: u64,
    hasher: Sha256,
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
        format: Format,
        question: &Value,
        header: Option<&str>,
        resumes: bool,
    ) -> Outcome<(Self, Vec<String>)> {
        let partial = partial_of(path);
        let progress = with_suffix(&partial, ".json");
        let lines = if partial.exists() {
            kept_lines(&partial, &progress, question, header, resumes)?
        } else {
            Vec::new()
        };
        let fail = |error| Failure::file(&partial, error);
        let mut rows = Self {
            path: path.to_path_buf(),
            format,
            file: BufWriter::new(File::create(&partial).map_err(fail)?),
            partial,
            progress,
            question: question.clone(),
            rows: 0,
            bytes: 0,
            hasher: Sha256::new(),
            is_finished: false,
        };
        let head: Vec<String> = header.into_iter().map(str::to_owned).collect();
        rows.append(&head)?;
        rows.write(&lines)?;
        Ok((rows, lines))
    }

    /// Writes the rows of a chunk, hands them to the disk, and notes their checksum.
    pub(crate) fn write(&mut self, lines: &[String]) -> Outcome {
        self.append(lines)?;
        self.rows += lines.len();
        self.note_progress()
            .map_err(|error| Failure::file(&self.progress, error))
    }

    fn append(&mut self, lines: &[String]) -> Outcome {
        for line in lines {
            let line = format!("{line}\n");
            self.hasher.update(&line);
            self.bytes += line.len() as u64;
            let written = self.file.write_all(line.as_bytes());
            written.map_err(|error| Failure::file(&self.partial, error))?;
        }
        Ok(())
    }

    /// The rows reach the disk before the note that counts them, and the note is replaced as a whole.
    fn note_progress(&mut self) -> std::io::Result<()> {
        self.file.flush()?;
        self.file.get_ref().sync_data()?;
        let progress = json!({
            "question": self.question,
            "bytes": self.bytes,
            "sha256": hexadecimal(self.hasher.clone()),
        });
        let next = with_suffix(&self.progress, ".next");
        fs::write(&next, format!("{progress:#}\n"))?;
        fs::rename(&next, &self.progress)
    }

    /// Moves the file to its place; what it is of goes into the table itself, or beside it as `NAME.meta.json`.
    pub(crate) fn finish(mut self, meta: &Value) -> Outcome {
        if self.format == Format::Parquet {
            self.make_table(meta)?;
        }
        let beside = with_suffix(&self.path, ".meta.json");
        let finish = || {
            if self.format == Format::Parquet {
                fs::remove_file(&self.partial)?;
            } else {
                fs::rename(&self.partial, &self.path)?;
                fs::write(&beside, format!("{meta:#}\n"))?;
            }
            fs::remove_file(&self.progress)
        };
        let finished = finish().map_err(|error| Failure::file(&self.path, error));
        self.is_finished = true;
        finished
    }

    /// Should this be interrupted, the rows are still there, and --resume makes the table anew.
    #[cfg(feature = "parquet")]
    fn make_table(&self, meta: &Value) -> Outcome {
        let table = with_suffix(&self.partial, ".table");
        super::parquet::write(&self.partial, &table, meta)?;
        fs::rename(&table, &self.path).map_err(|error| Failure::file(&self.path, error))
    }

    #[cfg(not(feature = "parquet"))]
    fn make_table(&self, _: &Value) -> Outcome {
        Format::of(&self.path).map(|_| ())
    }
}

/// A run that failed before its first row leaves nothing behind.
impl Drop for RowsFile {
    fn drop(&mut self) {
        if !self.is_finished && self.rows == 0 {
            let _ = fs::remove_file(&self.partial);
            let _ = fs::remove_file(&self.progress);
        }
    }
}

/// The lines that an interrupted sweep left and vouched for, its header aside.
fn kept_lines(
    partial: &Path,
    progress: &Path,
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
    let before = fs::read_to_string(progress)
        .ok()
        .and_then(|text| serde_json::from_str::<Value>(&text).ok())
        .unwrap_or_default();
    if before["question"] != *question {
        return Err(Failure::Usage(format!(
            "{name} is of another sweep, or of another version: repeat its command, or remove the file"
        )));
    }
    let text = fs::read(partial).map_err(|error| Failure::file(partial, error))?;
    let kept = vouched(&text, &before).ok_or_else(|| {
        Failure::Data(format!(
            "{name} is not as the interrupted sweep left it, its checksum differs: remove it and start again"
        ))
    })?;
    let skipped = usize::from(header.is_some());
    Ok(kept.lines().skip(skipped).map(str::to_owned).collect())
}

/// The beginning of the text that the note counts, if it is what was written. Rows behind it come from a chunk whose
/// end is not known.
fn vouched<'t>(text: &'t [u8], note: &Value) -> Option<&'t str> {
    let kept = text.get(..usize::try_from(note["bytes"].as_u64()?).ok()?)?;
    let digest = hexadecimal(Sha256::new_with_prefix(kept));
    (note["sha256"] == digest).then(|| std::str::from_utf8(kept).ok())?
}
