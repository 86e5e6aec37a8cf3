//! Ctrl-C: the chunk at hand is finished first, so that nothing computed is lost; a second one ends at once.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use super::{Failure, Outcome};

static IS_ASKED: AtomicBool = AtomicBool::new(false);
static STAGE: AtomicU8 = AtomicU8::new(Stage::SetUp as u8);

/// Exit code of a command that was interrupted, as shells have it: 128 and the number of the signal.
pub(crate) const EXIT_CODE: u8 = 130;

/// What a command is at, and so what Ctrl-C costs.
#[derive(Debug, Clone, Copy)]
#[repr(u8)]
pub(crate) enum Stage {
    /// Nothing is computed yet.
    SetUp,
    /// Rows are computed, and printed at the end.
    Printing,
    /// Rows are computed, and written chunk by chunk.
    Writing,
}

/// Listens for Ctrl-C from here on.
pub(crate) fn listen() {
    // Without a handler Ctrl-C ends the process, which only loses the chunk at hand.
    let _ = ctrlc::set_handler(|| {
        if IS_ASKED.swap(true, Ordering::SeqCst) {
            // What is on the disk is whole, and the lock ends with the process.
            std::process::exit(i32::from(EXIT_CODE));
        }
        eprintln!("{}", promise(STAGE.load(Ordering::SeqCst)));
    });
}

/// Says what the command is at.
pub(crate) fn enter(stage: Stage) {
    STAGE.store(stage as u8, Ordering::SeqCst);
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
    let reason = "stopped before the first combination: nothing was computed";
    Err(Failure::Interrupted(reason.to_owned()))
}

/// What the first Ctrl-C brings about, and the second.
fn promise(stage: u8) -> &'static str {
    const PRINTING: u8 = Stage::Printing as u8;
    const WRITING: u8 = Stage::Writing as u8;
    match stage {
        WRITING => {
            "finishing the chunk at hand; Ctrl-C again stops at once, without that chunk: the rows before it are kept \
             for --resume"
        }
        PRINTING => "finishing the chunk at hand; Ctrl-C again stops at once",
        _ => "stopping; Ctrl-C again stops at once",
    }
}
