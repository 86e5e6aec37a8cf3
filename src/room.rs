//! Whether the machine gives the memory that a question needs, asked before it is used.
//!
//! An allocation that fails ends the process, and most are made where no error can be returned: so the sum of what is
//! to come is asked for at once, and given back.

use crate::error::{Result, SizeError};

/// Less than this is not worth a call of the system.
const LITTLE: usize = 1 << 20;

/// Asks for so many bytes for each of so many bars or combinations.
pub(crate) fn check(count: usize, noun: &'static str, each: usize) -> Result<()> {
    let bytes = count.saturating_mul(each);
    if bytes >= LITTLE && Vec::<u8>::new().try_reserve_exact(bytes).is_err() {
        return Err(SizeError::OutOfMemory { count, noun, bytes }.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    #[test]
    fn what_no_machine_has_is_refused_with_what_was_asked() {
        assert!(check(1_000, "bar", 4_096).is_ok());
        for (count, each) in [(1 << 45, 64), (usize::MAX, 8)] {
            let error = check(count, "bar", each).unwrap_err();
            assert!(
                matches!(
                    error,
                    Error::Size(SizeError::OutOfMemory { noun: "bar", .. })
                ),
                "{error}"
            );
            assert!(error.to_string().contains("bytes of memory"), "{error}");
        }
    }
}
