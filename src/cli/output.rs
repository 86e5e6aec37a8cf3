//! Files that are whole or absent: written beside their place, moved there when done.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::{Failure, Outcome};

/// A file being written under the name `NAME.partial` beside its place.
#[derive(Debug)]
pub(crate) struct OutFile {
    path: PathBuf,
    partial: PathBuf,
    file: BufWriter<File>,
    is_finished: bool,
}

impl OutFile {
    /// Starts the file, so that a path that cannot be written is known before anything is computed.
    pub(crate) fn create(path: &Path) -> Outcome<Self> {
        check_place(path)?;
        let partial = partial_of(path);
        let file = File::create(&partial).map_err(|error| Failure::file(path, error))?;
        Ok(Self {
            path: path.to_path_buf(),
            partial,
            file: BufWriter::new(file),
            is_finished: false,
        })
    }

    /// Returns the file's final path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes out what is buffered and moves the file to its place.
    pub(crate) fn finish(mut self) -> Outcome {
        let moved = self
            .file
            .flush()
            .and_then(|()| self.file.get_ref().sync_all())
            .and_then(|()| fs::rename(&self.partial, &self.path));
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

/// Refuses what a finished file must not take the place of: a folder, a link, a device.
pub(crate) fn check_place(path: &Path) -> Outcome {
    let Ok(found) = fs::symlink_metadata(path) else {
        return Ok(());
    };
    let reason = if found.is_dir() {
        "is a folder, name a file"
    } else if found.is_symlink() {
        "is a link, name the file itself"
    } else if !found.is_file() {
        "is no regular file, name another"
    } else {
        return Ok(());
    };
    let error = io::Error::new(io::ErrorKind::InvalidInput, reason);
    Err(Failure::file(path, error))
}

/// The name under which an unfinished file waits.
pub(crate) fn partial_of(path: &Path) -> PathBuf {
    with_suffix(path, ".partial")
}

/// A name beside the file's, longer by the suffix.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(suffix);
    path.with_file_name(name)
}
