//! Why a command failed, and the exit code that says whose fault it was.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::process::ExitCode;

use crosscheck::{Error, SizeError, TimeframeError};

/// The result of a command.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line was at fault: exit code 2.
    Usage(String),
    /// The data, a file or an engine was at fault: exit code 1.
    Data(String),
    /// The machine has too little memory for so much at once: exit code 1.
    Memory(String),
    /// Ctrl-C was pressed: exit code 130.
    Interrupted(String),
    /// The reader of our output went away, as `head` does: no fault at all.
    Closed,
}

impl Failure {
    /// Names the file that could not be written, and what to do.
    pub(crate) fn file(path: &Path, source: io::Error) -> Self {
        let remedy = match source.kind() {
            ErrorKind::NotFound => " (its folder does not exist: make it first, or name another)",
            ErrorKind::PermissionDenied => " (it may not be written there: name another place)",
            ErrorKind::StorageFull => " (the disk is full: free some space, or name another place)",
            _ => "",
        };
        let path = path.to_path_buf();
        Self::Data(format!("{}{remedy}", Error::Io { path, source }))
    }

    /// Returns what was at fault, in words.
    pub(crate) fn reason(&self) -> Option<&str> {
        match self {
            Self::Usage(reason)
            | Self::Data(reason)
            | Self::Memory(reason)
            | Self::Interrupted(reason) => Some(reason),
            Self::Closed => None,
        }
    }

    /// Says it on the standard error and returns the exit code.
    pub(crate) fn report(self) -> ExitCode {
        match self {
            Self::Usage(reason) => {
                eprintln!("error: {reason}\n\nFor more information, try '--help'.");
                ExitCode::from(2)
            }
            Self::Data(reason) | Self::Memory(reason) => {
                eprintln!("error: {reason}");
                ExitCode::FAILURE
            }
            Self::Interrupted(reason) => {
                eprintln!("{reason}");
                ExitCode::from(super::interrupt::EXIT_CODE)
            }
            Self::Closed => ExitCode::SUCCESS,
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let reason = match &error {
            Error::Io { source, .. } if source.kind() == ErrorKind::NotFound => {
                format!("{error} (name a file that is there)")
            }
            _ => error.to_string(),
        };
        match error {
            Error::InvalidSpec { .. }
            | Error::ZeroPeriod { .. }
            | Error::PeriodTooLarge { .. }
            | Error::EmptyGrid { .. }
            | Error::InvalidRules { .. }
            | Error::InvalidTick { .. }
            | Error::Timeframe(TimeframeError::NotMultiple { .. })
            | Error::Size(SizeError::TooManyCombinations { .. }) => Self::Usage(reason),
            Error::Size(SizeError::OutOfMemory { .. }) => Self::Memory(reason),
            _ => Self::Data(reason),
        }
    }
}

/// Failures to write to the standard output.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == ErrorKind::BrokenPipe {
            return Self::Closed;
        }
        Self::Data(format!("cannot write to the standard output: {error}"))
    }
}
