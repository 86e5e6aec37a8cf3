//! From a path to text: gzip is unpacked, other binary files are refused by what they are.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use super::source::PARQUET;
use crate::error::{Error, FileError, Result};

/// Enough for the system calls to cost nothing.
const BUFFER: usize = 1 << 18;

/// Wraps a reader as text.
pub(super) fn reader<'r>(reader: impl Read + 'r, path: &Path) -> Result<Box<dyn BufRead + 'r>> {
    text(BufReader::with_capacity(BUFFER, reader), path)
}

fn text<'r>(mut raw: impl BufRead + 'r, path: &Path) -> Result<Box<dyn BufRead + 'r>> {
    let start = raw.fill_buf().map_err(|source| io_error(path, source))?;
    let mut text: Box<dyn BufRead + 'r> = if start.starts_with(&[0x1f, 0x8b]) {
        Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(raw)))
    } else {
        Box::new(raw)
    };
    let start = text.fill_buf().map_err(|source| io_error(path, source))?;
    if let Some(reason) = foreign(start) {
        let path = path.to_path_buf();
        let reason = reason.to_owned();
        return Err(FileError::Unreadable { path, reason }.into());
    }
    Ok(text)
}

fn foreign(start: &[u8]) -> Option<&'static str> {
    if start.starts_with(b"PK\x03\x04") {
        Some("this is a zip archive: unpack it and give the file inside")
    } else if start.starts_with(PARQUET) {
        Some("this is a Parquet file: read it as one, with a build that has the feature parquet")
    } else if start.starts_with(&[0xff, 0xfe]) || start.starts_with(&[0xfe, 0xff]) {
        Some("this is UTF-16 text: save it as UTF-8")
    } else {
        None
    }
}

pub(super) fn io_error(path: &Path, source: std::io::Error) -> Error {
    let path = path.to_path_buf();
    Error::Io { path, source }
}

/// Text whose lines the CSV reader counts as an editor does: a blank line holds a space, and lines end in `\n` alone.
///
/// The reader passes over empty lines without counting them, and counts a line that ends in `\r\n` one row late; the
/// line numbers of errors would be off. A carriage return becomes a space, which no cell keeps.
pub(super) struct PlainLines<R> {
    inner: R,
    is_line_start: bool,
    /// Bytes of the line so far.
    length: usize,
    end: u8,
}

/// Bytes of a line beyond which a file is no table of prices: a device that never ends would fill the memory.
const MAX_LINE: usize = 1 << 20;

impl<R> PlainLines<R> {
    /// Takes the byte that ends a line, as [`line_end`] finds it.
    pub(super) fn new(inner: R, end: u8) -> Self {
        Self {
            inner,
            is_line_start: true,
            length: 0,
            end,
        }
    }
}

/// Tells by the first bytes of a text what ends its lines: a line feed, or a carriage return alone, as on the first
/// Macs. A return at the very end of what is there may have its line feed to come.
pub(super) fn line_end(start: &[u8]) -> u8 {
    let has_inner_return = start.iter().rev().skip(1).any(|&byte| byte == b'\r');
    if start.contains(&b'\n') || !has_inner_return {
        b'\n'
    } else {
        b'\r'
    }
}

impl<R: BufRead> Read for PlainLines<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let input = self.inner.fill_buf()?;
        let (mut taken, mut made) = (0, 0);
        // A byte may become two.
        while taken < input.len() && made + 2 <= out.len() {
            let byte = if input[taken] == self.end {
                b'\n'
            } else {
                input[taken]
            };
            if self.is_line_start && byte == b'\n' {
                out[made] = b' ';
                made += 1;
            }
            out[made] = if byte == b'\r' { b' ' } else { byte };
            self.is_line_start = byte == b'\n';
            self.length = if self.is_line_start {
                0
            } else {
                self.length + 1
            };
            (taken, made) = (taken + 1, made + 1);
        }
        self.inner.consume(taken);
        if self.length > MAX_LINE {
            let reason =
                format!("it has more than {MAX_LINE} bytes, so this is no table of prices");
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        Ok(made)
    }
}
