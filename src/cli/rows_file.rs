//! The file of a sweep's rows: written chunk by chunk beside its place, moved there whole, and gone on with after an
//! interruption.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::interrupt;
#[cfg(feature = "parquet")]
use super::interrupt::Leftover;
use super::kept::Kept;
use super::lock::Lock;
use super::meta::hexadecimal;
use super::output::{
    check_place, partial_of, progress_of, put_in_place, refuse_foreign, with_suffix,
};
use super::rows::Format;
use super::{Failure, Outcome, meta};

/// The place of a file of rows, found to be writable and closed to other processes.
#[derive(Debug)]
pub(crate) struct Place {
    path: PathBuf,
    pub(crate) format: Format,
    partial: PathBuf,
    /// Which sweep the partial file is of, and the checksum of what is in it.
    progress: PathBuf,
    _lock: Lock,
}

impl Place {
    /// Takes the place before anything is computed: hours of work must not end at a path that cannot be written.
    pub(crate) fn take(path: &Path, resumes: bool) -> Outcome<Self> {
        check_place(path)?;
        let format = Format::of(path)?;
        let lock = Lock::hold(path)?;
        let beside = beside(path);
        beside.iter().try_for_each(|path| check_place(path))?;
        clear_rowless(&beside, format, lock.was_left && !resumes)?;
        refuse_taken(&beside, format, resumes)?;
        let [partial, progress, ..] = beside;
        Ok(Self {
            path: path.to_path_buf(),
            format,
            partial,
            progress,
            _lock: lock,
        })
    }
}

/// Removes what a sweep leaves that was killed before its first note, when its file is empty or holds the header alone;
/// and whatever else a killed command left where `is_abandoned` says that nobody wants it.
fn clear_rowless(beside: &[PathBuf; 5], format: Format, is_abandoned: bool) -> Outcome {
    let [partial, progress, next, ..] = beside;
    if !partial.exists() || progress.exists() {
        return Ok(());
    }
    let is_rowless = is_rowless(partial, format);
    let is_ours = is_rowless || is_abandoned;
    let is_cut_note = fs::metadata(next).is_ok_and(|found| found.len() == 0);
    let has_own_next = is_cut_note || is_note(next);
    let gone = [(partial, is_ours), (next, is_ours && has_own_next)];
    for (path, _) in gone.iter().filter(|(_, is_gone)| *is_gone) {
        fs::remove_file(path).map_err(|error| Failure::file(path, error))?;
    }
    Ok(())
}

/// Says whether a file holds nothing, or the header of a sweep and no row: neither is of value to anybody.
fn is_rowless(partial: &Path, format: Format) -> bool {
    let heads = [false, true].map(|with_metrics| format.header(with_metrics));
    let is_head = |text: &str| {
        heads
            .iter()
            .flatten()
            .any(|head| text == format!("{head}\n"))
    };
    let longest = heads.iter().flatten().map(String::len).max().unwrap_or(0);
    match fs::metadata(partial).map(|found| found.len()) {
        Ok(0) => true,
        Ok(bytes) if bytes <= longest as u64 + 1 => {
            fs::read_to_string(partial).is_ok_and(|text| is_head(&text))
        }
        _ => false,
    }
}

fn is_note(path: &Path) -> bool {
    meta::read(path).is_some_and(|note| meta::is_question(&note["question"]))
}

/// Refuses to write over what no sweep wrote, and over the rows of an interrupted one.
fn refuse_taken(beside: &[PathBuf; 5], format: Format, resumes: bool) -> Outcome {
    let [partial, progress, next, table, facts] = beside;
    if partial.exists() {
        if !resumes && is_note(progress) {
            return Err(Failure::Usage(format!(
                "{} holds the rows of an interrupted sweep: go on with --resume, or remove it",
                partial.display()
            )));
        }
        if !resumes {
            refuse_foreign(partial)?;
        }
    } else {
        // A sweep that was killed when its rows had moved to their place leaves its note.
        if !is_note(progress) {
            refuse_foreign(progress)?;
        }
        refuse_foreign(next)?;
        refuse_foreign(table)?;
    }
    let is_facts = |path| meta::read(path).is_some_and(|facts| meta::is_question(&facts));
    if format != Format::Parquet && !is_facts(facts) {
        refuse_foreign(facts)?;
    }
    Ok(())
}

/// The files that a sweep writes beside its rows: the unfinished rows, the note of their progress, the next of either
/// until it is whole, and what the rows are of.
pub(crate) fn beside(path: &Path) -> [PathBuf; 5] {
    let partial = partial_of(path);
    let progress = progress_of(&partial);
    let (next, table) = (next_of(&progress), table_of(&partial));
    [partial, progress, next, table, meta::beside(path)]
}

/// The note that is to replace the one of the chunk before.
fn next_of(progress: &Path) -> PathBuf {
    with_suffix(progress, ".next")
}

/// The Parquet table that is made of the rows.
fn table_of(partial: &Path) -> PathBuf {
    with_suffix(partial, ".table")
}

/// Rows being written.
#[derive(Debug)]
pub(crate) struct RowsFile {
    file: BufWriter<File>,
    question: Value,
    rows: usize,
    bytes: u64,
    hasher: Sha256,
    is_finished: bool,
    /// Dropped last, since it is the right to write.
    place: Place,
}

impl RowsFile {
    /// Starts the file, or goes on with the rows that an interrupted sweep left, each of which is handed to `keep`.
    pub(crate) fn open(
        place: Place,
        question: &Value,
        header: Option<&str>,
        keep: impl FnMut(&str) -> Outcome,
    ) -> Outcome<Self> {
        let fail = |error| Failure::file(&place.partial, error);
        let is_new = !place.partial.exists();
        let kept = if is_new {
            // The note of rows that have moved to their place must not stand beside the new ones.
            if place.progress.exists() {
                fs::remove_file(&place.progress).map_err(fail)?;
            }
            Kept::nothing(File::create_new(&place.partial).map_err(fail)?)
        } else {
            Kept::open(&place.partial, &place.progress, question)?
        };
        let rows = kept.each_row(&place.partial, usize::from(header.is_some()), keep)?;
        let mut rows = Self {
            file: BufWriter::new(kept.file),
            question: question.clone(),
            rows,
            bytes: kept.bytes,
            hasher: kept.hasher,
            is_finished: false,
            place,
        };
        if is_new {
            rows.append(header.map(str::to_owned))?;
            rows.note_progress()?;
        }
        Ok(rows)
    }

    /// Writes the rows of a chunk, hands them to the disk, and notes their checksum.
    pub(crate) fn write(&mut self, lines: impl ExactSizeIterator<Item = String>) -> Outcome {
        let rows = lines.len();
        self.append(lines)?;
        self.rows += rows;
        self.note_progress()
    }

    fn append(&mut self, lines: impl IntoIterator<Item = String>) -> Outcome {
        for mut line in lines {
            line.push('\n');
            self.hasher.update(&line);
            self.bytes += line.len() as u64;
            let written = self.file.write_all(line.as_bytes());
            written.map_err(|error| Failure::file(&self.place.partial, error))?;
        }
        Ok(())
    }

    /// The rows reach the disk before the note that counts them, and the note is replaced as a whole.
    fn note_progress(&mut self) -> Outcome {
        let progress = json!({
            "question": self.question,
            "bytes": self.bytes,
            "sha256": hexadecimal(self.hasher.clone()),
        });
        let next = next_of(&self.place.progress);
        let noted = self
            .file
            .flush()
            .and_then(|()| self.file.get_ref().sync_data())
            .and_then(|()| fs::write(&next, format!("{progress:#}\n")))
            .and_then(|()| fs::rename(&next, &self.place.progress));
        noted.map_err(|error| Failure::file(&self.place.progress, error))
    }

    /// Moves the file to its place; what it is of goes into the table itself, or beside it as `NAME.meta.json`.
    pub(crate) fn finish(mut self, facts: &Value) -> Outcome {
        let is_table = self.place.format == Format::Parquet;
        if is_table {
            self.make_table(facts)?;
        }
        let Place {
            path,
            partial,
            progress,
            ..
        } = &self.place;
        let _busy = interrupt::busy();
        let finish = || {
            if is_table {
                fs::remove_file(partial)?;
            } else {
                // At no time do rows stand beside the facts of others.
                meta::forget(path)?;
                put_in_place(partial, path)?;
                fs::write(meta::beside(path), format!("{facts:#}\n"))?;
            }
            fs::remove_file(progress)
        };
        let finished = finish().map_err(|error| Failure::file(path, error));
        self.is_finished = true;
        finished
    }

    /// Should this be interrupted, the rows are still there, and --resume makes the table anew.
    #[cfg(feature = "parquet")]
    fn make_table(&self, facts: &Value) -> Outcome {
        let Place { path, partial, .. } = &self.place;
        let table = table_of(partial);
        let _leftover = Leftover::note(&table);
        super::parquet::write(partial, &table, facts)?;
        put_in_place(&table, path).map_err(|error| Failure::file(path, error))
    }

    #[cfg(not(feature = "parquet"))]
    fn make_table(&self, _: &Value) -> Outcome {
        Format::of(&self.place.path).map(|_| ())
    }
}

/// A run that failed before its first row leaves nothing behind.
impl Drop for RowsFile {
    fn drop(&mut self) {
        if !self.is_finished && self.rows == 0 {
            let _ = fs::remove_file(&self.place.partial);
            let _ = fs::remove_file(&self.place.progress);
        }
    }
}
