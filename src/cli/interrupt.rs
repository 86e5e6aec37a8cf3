//! Ctrl-C: the chunk at hand is finished first, so that nothing computed is lost; a second one ends at once.

use std::sync::atomic::{AtomicBool, Ordering};

static IS_ASKED: AtomicBool = AtomicBool::new(false);

/// Exit code of a command that was interrupted, as shells have it: 128 and the number of the signal.
pub(crate) const EXIT_CODE: u8 = 130;

/// Listens for Ctrl-C from here on.
pub(crate) fn listen() {
    // Without a handler Ctrl-C ends the process, which only loses the chunk at hand.
    let _ = ctrlc::set_handler(|| {
        if IS_ASKED.swap(true, Ordering::SeqCst) {
            std::process::exit(i32::from(EXIT_CODE));
        }
        eprintln!("finishing the chunk at hand; Ctrl-C again stops at once");
    });
}

/// Says whether Ctrl-C was pressed.
pub(crate) fn is_asked() -> bool {
    IS_ASKED.load(Ordering::SeqCst)
}
