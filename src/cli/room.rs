//! Whether the machine gives the memory that a command needs beside the library's own checks, asked before it is used:
//! an allocation that fails later ends the process without a word on what to make smaller.

use super::number::grouped;
use super::{Failure, Outcome};

/// Asks for so many bytes at once and gives them back; `what` needs them, and the remedy makes them fewer.
pub(crate) fn ask(bytes: usize, what: &str, remedy: &str) -> Outcome {
    if Vec::<u8>::new().try_reserve_exact(bytes).is_ok() {
        return Ok(());
    }
    Err(Failure::Memory(format!(
        "{what} {} bytes of memory, which could not be had: {remedy}",
        grouped(bytes as u64)
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_machine_has_is_refused_with_the_remedy() {
        assert!(ask(1 << 16, "a table needs", "take less").is_ok());
        let Err(Failure::Memory(reason)) = ask(1 << 50, "a table needs", "take less") else {
            panic!("a petabyte was had");
        };
        assert!(
            reason.starts_with("a table needs 1,125,899,906,842,624 bytes")
                && reason.ends_with("take less"),
            "{reason}"
        );
    }
}
