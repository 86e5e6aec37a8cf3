//! One writer for each file: an advisory lock beside it, which ends with the process however that ends.
//!
//! The lock is on a file of its own, since the rows move to their place when they are done and the lock must not move
//! with them.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use same_file::Handle;

use super::interrupt::Leftover;
use super::output::{check_kind, check_place, lock_of};
use super::{Failure, Outcome};

/// How often a lock file may vanish between opening and locking it, before that is taken for a fault.
const TRIES: usize = 100;

/// The right to write a file, held until it is dropped or the process ends.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    /// Unlocked when it is closed.
    _file: File,
    /// Whether a killed process left its lock file here: then the unfinished file beside it is no user's.
    pub(crate) was_left: bool,
    _leftover: Leftover,
}

impl Lock {
    fn new(path: PathBuf, file: File, was_left: bool) -> Self {
        Self {
            _leftover: Leftover::note(&path),
            path,
            _file: file,
            was_left,
        }
    }
}

impl Lock {
    /// Takes the lock of an output, and refuses where another process holds it.
    ///
    /// A lock file that a killed process left behind is not locked and does not hinder. It is always empty: a file with
    /// anything in it is somebody's, and is neither locked nor removed.
    pub(crate) fn hold(output: &Path) -> Outcome<Self> {
        check_place(output)?;
        let path = lock_of(output);
        check_kind(&path)?;
        let fail = |error| Failure::file(output, error);
        for _ in 0..TRIES {
            let Some((file, was_left)) = open(output, &path)? else {
                continue;
            };
            if file.metadata().map_err(fail)?.len() > 0 {
                return Err(foreign(output, &path));
            }
            if let Some(warning) = judge(file.try_lock(), output, &path)? {
                eprintln!("warning: {warning}");
                return Ok(Self::new(path, file, false));
            }
            // Its last owner may have removed it after it was opened here: then the lock is on a file that has no name.
            let held = file.try_clone().and_then(Handle::from_file).map_err(fail)?;
            if Handle::from_path(&path).is_ok_and(|named| named == held) {
                return Ok(Self::new(path, file, was_left));
            }
        }
        Err(Failure::Data(format!(
            "{} is removed again and again by another program: write elsewhere",
            path.display()
        )))
    }
}

/// Makes the lock file, or opens the one that is there; `None` where that one is gone meanwhile.
fn open(output: &Path, path: &Path) -> Outcome<Option<(File, bool)>> {
    let mut options = OpenOptions::new();
    options.write(true);
    let made = options.clone().create_new(true).open(path);
    let (opened, was_there) = match made {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => (options.open(path), true),
        made => (made, false),
    };
    match opened {
        Ok(file) => Ok(Some((file, was_there))),
        Err(error) if was_there && error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unopened(output, path, error)),
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if fs::symlink_metadata(&self.path).is_ok_and(|found| found.is_file() && found.len() == 0) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Says that the name of the lock is taken by a file that holds something.
fn foreign(output: &Path, path: &Path) -> Failure {
    Failure::Data(format!(
        "{} is not empty, so it is no lock, and {} cannot be locked: move it, or name another output",
        path.display(),
        output.display()
    ))
}

/// Says why the lock cannot be opened: one that is there is in the way itself, else the folder is at fault.
fn unopened(output: &Path, path: &Path, error: io::Error) -> Failure {
    if error.kind() != ErrorKind::PermissionDenied || !path.exists() {
        return Failure::file(output, error);
    }
    Failure::Data(format!(
        "{} cannot be locked: {} is there and may not be opened ({error}): remove it once nothing writes there, or name another output",
        output.display(),
        path.display()
    ))
}

/// What an attempt to lock means: nothing to say, a warning, or a refusal.
///
/// A file system without locks is written to all the same: nothing is wrong there until two commands write one file.
fn judge(attempt: Result<(), TryLockError>, output: &Path, path: &Path) -> Outcome<Option<String>> {
    let output = output.display();
    match attempt {
        Ok(()) => Ok(None),
        Err(TryLockError::WouldBlock) => Err(Failure::Data(format!(
            "{output} is being written by another process, which holds {}: wait for its end, or name another file",
            path.display()
        ))),
        Err(TryLockError::Error(error)) => Ok(Some(format!(
            "{output} cannot be locked here ({error}): see to it that no other command writes it"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Error;

    #[test]
    fn a_file_system_without_locks_is_written_to_with_a_warning() {
        let (output, path) = (Path::new("rows.csv"), Path::new("rows.csv.partial.lock"));
        let judged = |attempt| judge(attempt, output, path);
        assert!(matches!(judged(Ok(())), Ok(None)));
        let unsupported = TryLockError::Error(Error::from(ErrorKind::Unsupported));
        let warning = judged(Err(unsupported)).unwrap().unwrap();
        assert!(
            warning.contains("rows.csv cannot be locked here"),
            "{warning}"
        );
        let refused = judged(Err(TryLockError::WouldBlock)).unwrap_err();
        assert!(
            matches!(refused, Failure::Data(reason) if reason.contains("rows.csv.partial.lock"))
        );
    }

    #[test]
    fn a_lock_that_may_not_be_opened_is_named() {
        let denied = |path| {
            let error = ErrorKind::PermissionDenied.into();
            match unopened(Path::new("rows.csv"), Path::new(path), error) {
                Failure::Data(reason) => reason,
                other => panic!("{other:?}"),
            }
        };
        // Cargo.toml stands for a lock, since it is certain to be there.
        let reason = denied("Cargo.toml");
        assert!(
            reason.contains("Cargo.toml is there") && reason.contains("remove it"),
            "{reason}"
        );
        assert!(denied("nosuch.lock").contains("name another place"));
    }
}
