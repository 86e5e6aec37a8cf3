//! Memory for the sums of a filter, kept by each thread for the next one: fresh memory costs a page fault per 4 KB, which
//! takes longer than a long window itself.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

use super::lanes::Row;

/// Buffers that a thread keeps, and the most rows of one: the longest window in lanes, and some.
const KEPT: usize = 8;
const KEPT_ROWS: usize = 5 << 10;

thread_local! {
    static SPARE: RefCell<Vec<Vec<Row>>> = const { RefCell::new(Vec::new()) };
}

/// Rows that hold what was left there, at first zeros: for rings, whose old rows belong to windows that began before the
/// series, which nobody asks for.
#[derive(Debug)]
pub(super) struct Scratch(Vec<Row>);

impl Scratch {
    pub(super) fn new(rows: usize) -> Self {
        let spare = SPARE.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            let fits = (0..spare.len()).filter(|&index| spare[index].capacity() >= rows);
            let smallest = fits.min_by_key(|&index| spare[index].capacity());
            smallest.map(|index| spare.swap_remove(index))
        });
        let mut buffer = spare.ok().flatten().unwrap_or_default();
        buffer.resize(rows, Row::ZERO);
        Self(buffer)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let buffer = std::mem::take(&mut self.0);
        if buffer.capacity() > KEPT_ROWS {
            return;
        }
        // a thread that ends frees its buffers
        let _ = SPARE.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            spare.push(buffer);
            if spare.len() > KEPT {
                let smallest = (0..spare.len()).min_by_key(|&index| spare[index].capacity());
                smallest.map(|index| spare.swap_remove(index));
            }
        });
    }
}

impl Deref for Scratch {
    type Target = [Row];

    fn deref(&self) -> &[Row] {
        &self.0
    }
}

impl DerefMut for Scratch {
    fn deref_mut(&mut self) -> &mut [Row] {
        &mut self.0
    }
}
