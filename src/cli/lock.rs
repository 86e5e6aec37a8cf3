//! One writer for each file: an advisory lock beside it, which ends with the process however that ends.
//!
//! The lock is on a file of its own, since the rows move to their place when they are done and the lock must not move
//! with them.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

use same_file::Handle;

use super::output::{check_place, partial_of, with_suffix};
use super::{Failure, Outcome};

/// How often a lock file may vanish between opening and locking it, before that is taken for a fault.
const TRIES: usize = 100;

/// The right to write a file, held until it is dropped or the process ends.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    /// Unlocked when it is closed.
    _file: File,
}

impl Lock {
    /// Takes the lock of an output, and refuses where another process holds it.
    ///
    /// A lock file that a killed process left behind is not locked and does not hinder.
    pub(crate) fn hold(output: &Path) -> Outcome<Self> {
        check_place(output)?;
        let path = with_suffix(&partial_of(output), ".lock");
        check_place(&path)?;
        let fail = |error| Failure::file(output, error);
        for _ in 0..TRIES {
            let mut options = OpenOptions::new();
            let opened = options.write(true).create(true).truncate(false).open(&path);
            let file = opened.map_err(fail)?;
            if let Some(warning) = judge(file.try_lock(), output, &path)? {
                eprintln!("warning: {warning}");
                return Ok(Self { path, _file: file });
            }
            // Its last owner may have removed it after it was opened here: then the lock is on a file that has no name.
            let held = file.try_clone().and_then(Handle::from_file).map_err(fail)?;
            if Handle::from_path(&path).is_ok_and(|named| named == held) {
                return Ok(Self { path, _file: file });
            }
        }
        Err(Failure::Data(format!(
            "{} is removed again and again by another program: write elsewhere",
            path.display()
        )))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
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
    use std::io::{Error, ErrorKind};

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
}
