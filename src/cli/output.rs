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
}

impl OutFile {
    /// Starts the file, so that a path that cannot be written is known before anything is computed.
    pub(crate) fn create(path: &Path) -> Outcome<Self> {
        if path.is_dir() {
            let error = io::Error::new(io::ErrorKind::IsADirectory, "is a folder, name a file");
            return Err(Failure::file(path, error));
        }
        let partial = partial_of(path);
        let file = File::create(&partial).map_err(|error| Failure::file(&partial, error))?;
        Ok(Self {
            path: path.to_path_buf(),
            partial,
            file: BufWriter::new(file),
        })
    }

    /// Returns the file's final path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes out what is buffered and moves the file to its place.
    pub(crate) fn finish(mut self) -> Outcome {
        self.file
            .flush()
            .and_then(|()| self.file.get_ref().sync_all())
            .and_then(|()| fs::rename(&self.partial, &self.path))
            .map_err(|error| Failure::file(&self.path, error))
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

/// The name under which an unfinished file waits.
pub(crate) fn partial_of(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".partial");
    path.with_file_name(name)
}
