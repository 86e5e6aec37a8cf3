//! The rows of a price file, whatever its form: told by its first bytes, not by its name.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::open::{self, Room, io_error};
use super::options::ReadOptions;
use super::row::{Row, RowFault};
use super::rows::Rows;
use crate::error::Result;
use crate::series::Reading;

/// The first bytes of a Parquet file.
pub(super) const PARQUET: &[u8] = b"PAR1";

/// Rows to come, and what is known of them.
pub(super) struct Source<'r> {
    pub(super) rows: Box<dyn Iterator<Item = std::result::Result<Row, RowFault>> + 'r>,
    /// The columns that were found, in words.
    pub(super) columns: String,
    /// What a place in the file counts: `line` or `row`.
    pub(super) unit: &'static str,
    pub(super) reading: Reading,
}

impl<'r> Source<'r> {
    /// Opens a file of any form that this build reads.
    pub(super) fn of_file(path: &Path, options: &'r ReadOptions) -> Result<Self> {
        #[cfg(feature = "parquet")]
        if starts_as_parquet(path)? {
            return super::parquet::open(path, options);
        }
        Self::of_text_file(path, options)
    }

    /// Opens a file of text.
    pub(super) fn of_text_file(path: &Path, options: &'r ReadOptions) -> Result<Self> {
        let refuse = |source| io_error(path, source);
        let file = File::open(path).map_err(refuse)?;
        let room = if file.metadata().map_err(refuse)?.is_file() {
            Room::ANY
        } else {
            Room::OF_A_PIPE
        };
        Self::of_text(file, room, path, options)
    }

    /// Reads text from anything that can be read, as long as it is no longer than the room for it.
    pub(super) fn of_text(
        reader: impl Read + 'r,
        room: Room,
        path: &Path,
        options: &'r ReadOptions,
    ) -> Result<Self> {
        let rows = Rows::new(open::reader(reader, path)?, room, path, options)?;
        Ok(Self {
            columns: rows.columns().describe(),
            rows: Box::new(rows),
            unit: "line",
            reading: options.reading.unwrap_or(Reading::Ticks),
        })
    }
}

/// What is read from a pipe is gone for the next reader, and a table is read from its end: only a regular file is one.
#[cfg(feature = "parquet")]
fn starts_as_parquet(path: &Path) -> Result<bool> {
    let about = std::fs::metadata(path).map_err(|source| io_error(path, source))?;
    if !about.is_file() {
        return Ok(false);
    }
    let file = File::open(path).map_err(|source| io_error(path, source))?;
    let mut start = Vec::new();
    let read = file.take(PARQUET.len() as u64).read_to_end(&mut start);
    read.map_err(|source| io_error(path, source))?;
    Ok(start == PARQUET)
}
