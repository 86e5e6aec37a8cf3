//! Ctrl-C: a sweep finishes the chunk at hand first, so that nothing computed is lost; any other command, and a second
//! Ctrl-C, ends at once. No unfinished file and no lock is left behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::{Failure, Outcome};

static IS_ASKED: AtomicBool = AtomicBool::new(false);
static STAGE: AtomicU8 = AtomicU8::new(Stage::AtOnce as u8);
static LEFTOVERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
static LAST_WORDS: Mutex<String> = Mutex::new(String::new());
static BUSY: Mutex<()> = Mutex::new(());

/// Exit code of a command that was interrupted, as shells have it: 128 and the number of the signal.
pub(crate) const EXIT_CODE: u8 = 130;

/// How long Ctrl-C waits where nothing is computed yet: a person takes what is longer for a hang.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a command is at, and so what Ctrl-C costs.
#[derive(Debug, Clone, Copy)]
#[repr(u8)]
pub(crate) enum Stage {
    /// Nothing that is kept is under way: no command looks for Ctrl-C here.
    AtOnce,
    /// Nothing is computed yet.
    SetUp,
    /// Rows are computed, and printed at the end.
    Printing,
    /// Rows are computed, and written chunk by chunk.
    Writing,
}

/// Listens for Ctrl-C from here on.
pub(crate) fn listen() {
    // Without a handler Ctrl-C ends the process, which loses the chunk at hand and leaves unfinished files.
    let _ = ctrlc::set_handler(|| {
        let stage = STAGE.load(Ordering::SeqCst);
        if IS_ASKED.swap(true, Ordering::SeqCst) || stage == Stage::AtOnce as u8 {
            end(None);
        }
        eprintln!("{}", promise(stage));
        if stage == Stage::SetUp as u8 {
            thread::spawn(|| {
                thread::sleep(PATIENCE);
                end(Some(&lock(&LAST_WORDS)));
            });
        }
    });
}

/// Ends the process, not amid a write: what is on the disk is whole.
fn end(words: Option<&str>) -> ! {
    let _idle = lock(&BUSY);
    for path in lock(&LEFTOVERS).iter() {
        let _ = fs::remove_file(path);
    }
    if let Some(words) = words {
        eprintln!("{words}");
    }
    std::process::exit(i32::from(EXIT_CODE));
}

/// Keeps Ctrl-C from ending the process until it is dropped.
pub(crate) fn busy() -> MutexGuard<'static, ()> {
    lock(&BUSY)
}

/// Says what the command is at.
pub(crate) fn enter(stage: Stage) {
    STAGE.store(stage as u8, Ordering::SeqCst);
}

/// Says what is to be said where Ctrl-C ends the process from here on.
pub(crate) fn last_words(words: String) {
    *lock(&LAST_WORDS) = words;
}

/// Says whether Ctrl-C was pressed.
pub(crate) fn is_asked() -> bool {
    IS_ASKED.load(Ordering::SeqCst)
}

/// Ends the set-up where Ctrl-C was pressed.
pub(crate) fn check() -> Outcome {
    if !is_asked() {
        return Ok(());
    }
    Err(Failure::Interrupted(NOTHING.to_owned()))
}

/// What there is before the first combination.
pub(crate) const NOTHING: &str = "stopped before the first combination: nothing was computed";

/// A file that is removed where Ctrl-C ends the process before this is dropped.
#[derive(Debug)]
pub(crate) struct Leftover(PathBuf);

impl Leftover {
    /// Takes the file down, before it is made.
    pub(crate) fn note(path: &Path) -> Self {
        lock(&LEFTOVERS).push(path.to_path_buf());
        Self(path.to_path_buf())
    }
}

impl Drop for Leftover {
    fn drop(&mut self) {
        lock(&LEFTOVERS).retain(|path| *path != self.0);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the first Ctrl-C brings about, and the second.
fn promise(stage: u8) -> &'static str {
    const PRINTING: u8 = Stage::Printing as u8;
    const WRITING: u8 = Stage::Writing as u8;
    match stage {
        WRITING => {
            "finishing the chunk at hand; Ctrl-C again stops at once: the rows before that chunk are kept for --resume"
        }
        PRINTING => "finishing the chunk at hand; Ctrl-C again stops at once",
        _ => "stopping; Ctrl-C again stops at once",
    }
}
