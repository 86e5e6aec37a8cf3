//! Hints to the processor's cache: they change no result, and are nothing on machines without them.
// A hint that is called like a function takes longer than what it saves.
#![allow(clippy::inline_always)]

/// Bytes of a cache line.
const LINE: usize = 64;

/// Asks for the cache line of an address, legal or not, so that a store to it need not wait.
#[inline(always)]
pub(crate) fn line(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
        // SAFETY: a prefetch reads and writes nothing and faults at no address; the pointer is never dereferenced.
        unsafe { _mm_prefetch::<_MM_HINT_ET0>(address.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Asks for all lines of a value that another core may have changed last.
#[inline(always)]
pub(crate) fn value<T: ?Sized>(value: &T) {
    let start = std::ptr::from_ref(value).cast::<u8>();
    for offset in (0..size_of_val(value)).step_by(LINE) {
        line(start.wrapping_add(offset));
    }
}
