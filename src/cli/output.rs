//! Files that are whole or absent: written beside their place, moved there when done.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::interrupt::{self, Leftover};
use super::lock::Lock;
use super::{Failure, Outcome, meta};

/// A file being written under the name `NAME.partial` beside its place.
#[derive(Debug)]
pub(crate) struct OutFile {
    path: PathBuf,
    partial: PathBuf,
    file: BufWriter<File>,
    is_finished: bool,
    _leftover: Leftover,
    /// Dropped last, when the file is in its place or gone.
    _lock: Lock,
}

impl OutFile {
    /// Starts the file, so that a path that cannot be written is known before anything is computed.
    pub(crate) fn create(path: &Path) -> Outcome<Self> {
        let lock = Lock::hold(path)?;
        let partial = partial_of(path);
        check_place(&partial)?;
        if partial.exists() && progress_of(&partial).exists() {
            return Err(Failure::Usage(format!(
                "{} holds the rows of an interrupted sweep: go on with sweep --resume, remove it, or name another file",
                partial.display()
            )));
        }
        clear(&partial, lock.was_left)?;
        let leftover = Leftover::note(&partial);
        let file = File::create_new(&partial).map_err(|error| Failure::file(path, error))?;
        Ok(Self {
            path: path.to_path_buf(),
            partial,
            file: BufWriter::new(file),
            is_finished: false,
            _leftover: leftover,
            _lock: lock,
        })
    }

    /// Returns the file's final path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes out what is buffered and moves the file to its place. The note of a sweep whose rows were there goes with
    /// them: it would vouch for another file.
    pub(crate) fn finish(mut self) -> Outcome {
        let _busy = interrupt::busy();
        let moved = self
            .file
            .flush()
            .and_then(|()| self.file.get_ref().sync_all())
            .and_then(|()| meta::forget(&self.path))
            .and_then(|()| put_in_place(&self.partial, &self.path));
        self.is_finished = moved.is_ok();
        moved.map_err(|error| Failure::file(&self.path, error))
    }
}

/// A command that failed leaves nothing behind.
impl Drop for OutFile {
    fn drop(&mut self) {
        if !self.is_finished {
            let _ = fs::remove_file(&self.partial);
        }
    }
}

impl Write for OutFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Moves a finished file to its place; one that was there hands on who may read and write it.
pub(crate) fn put_in_place(finished: &Path, path: &Path) -> io::Result<()> {
    if let Ok(before) = fs::metadata(path) {
        // A file system that refuses this has no permissions of its own to keep.
        let _ = fs::set_permissions(finished, before.permissions());
    }
    fs::rename(finished, path)
}

/// Refuses what a finished file must not take the place of: a folder, a link, a device, and a file that its owner closed
/// to writing. The permission bits say so; the administrator may open such a file all the same.
pub(crate) fn check_place(path: &Path) -> Outcome {
    check_kind(path)?;
    if !fs::symlink_metadata(path).is_ok_and(|found| found.permissions().readonly()) {
        return Ok(());
    }
    Err(Failure::Data(format!(
        "{} is read-only: make it writable (chmod u+w), or name another file",
        path.display()
    )))
}

/// Refuses a folder, a link and a device.
pub(crate) fn check_kind(path: &Path) -> Outcome {
    if path == Path::new("-") {
        let reason =
            "- is no file, and the standard output has the table: name a file, such as rows.csv";
        return Err(Failure::Usage(reason.to_owned()));
    }
    let Ok(found) = fs::symlink_metadata(path) else {
        return Ok(());
    };
    let reason = if found.is_dir() {
        "is a folder: name a file, or move the folder"
    } else if found.is_symlink() {
        "is a link: name the file itself"
    } else if !found.is_file() {
        "is no regular file: name another"
    } else {
        return Ok(());
    };
    Err(Failure::Data(format!("{} {reason}", path.display())))
}

/// Removes the unfinished file of a killed command, which its lock beside it tells from a file of the user.
pub(crate) fn clear(partial: &Path, was_left: bool) -> Outcome {
    if was_left && partial.exists() {
        return fs::remove_file(partial).map_err(|error| Failure::file(partial, error));
    }
    refuse_foreign(partial)
}

/// Refuses to write over a file of a name that only an unfinished output has: nothing says that this is one.
pub(crate) fn refuse_foreign(path: &Path) -> Outcome {
    if fs::symlink_metadata(path).is_err() {
        return Ok(());
    }
    Err(Failure::Data(format!(
        "{} is there already, and would be written over: it is yours, or of a command that was killed; move or remove \
         it, or name another output",
        path.display()
    )))
}

/// Says whether two names are of one regular file; nothing else is opened, since a pipe would wait for its other end.
pub(crate) fn is_same(one: &Path, other: &Path) -> bool {
    one.is_file() && other.is_file() && same_file::is_same_file(one, other).unwrap_or(false)
}

/// Says whether two names that need not be there yet are of one place.
fn is_one_place(one: &Path, other: &Path) -> bool {
    place_of(one).is_some_and(|place| Some(place) == place_of(other))
}

/// The folder, whatever it is called by, and the name in it.
fn place_of(path: &Path) -> Option<(PathBuf, &OsStr)> {
    let folder = path.parent()?;
    let is_here = folder.as_os_str().is_empty();
    let folder = if is_here { Path::new(".") } else { folder };
    Some((folder.canonicalize().ok()?, path.file_name()?))
}

/// Refuses two outputs of one command on one file.
pub(crate) fn keep_apart(outputs: &[(&str, Option<&Path>)]) -> Outcome {
    for (at, (option, path)) in outputs.iter().enumerate() {
        for (other, earlier) in &outputs[..at] {
            let (Some(path), Some(earlier)) = (path, earlier) else {
                continue;
            };
            if path == earlier || is_same(path, earlier) || is_one_place(path, earlier) {
                return Err(Failure::Usage(format!(
                    "{other} and {option} both name {}: name two files",
                    path.display()
                )));
            }
        }
    }
    Ok(())
}

/// The name under which an unfinished file waits.
pub(crate) fn partial_of(path: &Path) -> PathBuf {
    with_suffix(path, ".partial")
}

/// The file whose lock is the right to write.
pub(crate) fn lock_of(path: &Path) -> PathBuf {
    with_suffix(&partial_of(path), ".lock")
}

/// The note of what an unfinished file of rows holds.
pub(crate) fn progress_of(partial: &Path) -> PathBuf {
    with_suffix(partial, ".json")
}

/// A name beside the file's, longer by the suffix.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(suffix);
    path.with_file_name(name)
}
