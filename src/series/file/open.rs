//! From a path to text: gzip is unpacked, other binary files are refused by what they are.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use super::source::PARQUET;
use crate::error::{Error, FileError, Result, grouped};

/// The first bytes of a gzip file.
const GZIP: &[u8] = &[0x1f, 0x8b];

/// Enough for the system calls to cost nothing.
const BUFFER: usize = 1 << 18;

/// What is lost of a gzip file before the place where it is damaged.
const UNPACKED: usize = 1 << 14;

/// Wraps a reader as text.
pub(super) fn reader<'r>(reader: impl Read + 'r, path: &Path) -> Result<Box<dyn BufRead + 'r>> {
    text(BufReader::with_capacity(BUFFER, reader), path)
}

fn text<'r>(mut raw: impl BufRead + 'r, path: &Path) -> Result<Box<dyn BufRead + 'r>> {
    let start = raw.fill_buf().map_err(|source| io_error(path, source))?;
    let mut text: Box<dyn BufRead + 'r> = if start.starts_with(GZIP) {
        let unpacked = Unpacked(MultiGzDecoder::new(raw));
        Box::new(BufReader::with_capacity(UNPACKED, unpacked))
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

/// Text unpacked from gzip, whose errors say what is wrong with the file.
struct Unpacked<R>(MultiGzDecoder<R>);

impl<R: BufRead> Read for Unpacked<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.0.read(out).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => damaged("is cut off"),
            ErrorKind::InvalidInput | ErrorKind::InvalidData => damaged("is damaged"),
            _ => error,
        })
    }
}

/// Adds to what is wrong with a row that its gzip file is damaged, if that is so: unpacked on, damage becomes odd text
/// before it is noticed.
pub(super) fn blame_gzip(mut error: Error, path: &Path) -> Error {
    if let Error::File(FileError::Row { reason, .. }) = &mut error
        && let Some(cause) = fault_of_gzip(path)
        && !reason.contains(&cause)
    {
        *reason = format!("{reason}; {cause}");
    }
    error
}

/// Unpacks a whole gzip file, to see whether it is damaged; only a regular file can be read twice.
fn fault_of_gzip(path: &Path) -> Option<String> {
    // Opened again, a pipe would wait for a writer.
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let file = File::open(path).ok()?;
    let mut packed = BufReader::with_capacity(BUFFER, file);
    if !packed.fill_buf().ok()?.starts_with(GZIP) {
        return None;
    }
    let mut unpacked = Unpacked(MultiGzDecoder::new(packed));
    let fault = io::copy(&mut unpacked, &mut io::sink()).err()?;
    Some(fault.to_string())
}

fn damaged(how: &str) -> io::Error {
    let reason = format!(
        "the gzip file {how}: fetch it anew, or keep the lines before this one, which `gzip -dc` still unpacks"
    );
    io::Error::new(ErrorKind::InvalidData, reason)
}

/// What other files begin with, and what to do with them.
const FOREIGN: &[(&[u8], &str)] = &[
    (
        b"PK\x03\x04",
        "this is a zip archive: unpack it and give the file inside; a workbook, save it as CSV",
    ),
    (
        PARQUET,
        "this is a Parquet file: read it as one, with a build that has the feature parquet",
    ),
    (b"\xff\xfe", "this is UTF-16 text: save it as UTF-8"),
    (b"\xfe\xff", "this is UTF-16 text: save it as UTF-8"),
    (
        b"ARROW1",
        "this is an Arrow (Feather) file: write it as Parquet or CSV",
    ),
    (
        b"\x89HDF",
        "this is an HDF5 file: write it as Parquet or CSV",
    ),
    (
        b"\x28\xb5\x2f\xfd",
        "this is packed by zstd: unpack it, or pack it by gzip",
    ),
    (
        b"\xfd7zXZ",
        "this is packed by xz: unpack it, or pack it by gzip",
    ),
    (
        b"BZh",
        "this is packed by bzip2: unpack it, or pack it by gzip",
    ),
    (b"{", "this is JSON: write it as CSV"),
    (b"[", "this is JSON: write it as CSV"),
];

fn foreign(start: &[u8]) -> Option<&'static str> {
    let found = FOREIGN.iter().find(|(head, _)| start.starts_with(head));
    found.map(|(_, reason)| *reason)
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
    left: Room,
}

/// Lines and bytes that a text may still have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    lines: usize,
    bytes: usize,
}

impl Room {
    /// For a file, which has an end.
    pub(super) const ANY: Self = Self {
        lines: usize::MAX,
        bytes: usize::MAX,
    };

    /// For a pipe or a device, which may have none: a year of seconds or 60 years of minutes, 2 GB in memory at most.
    pub(super) const OF_A_PIPE: Self = Self {
        lines: 1 << 25,
        bytes: 1 << 32,
    };

    fn take(&mut self, lines: usize, bytes: usize) -> io::Result<()> {
        let left = self
            .lines
            .checked_sub(lines)
            .zip(self.bytes.checked_sub(bytes));
        let Some((lines, bytes)) = left else {
            let limit = Self::OF_A_PIPE;
            let reason = format!(
                "this is a pipe or a device, and after {} lines or {} bytes there is still no end: write it to a file \
                 and give that",
                grouped(limit.lines as u64),
                grouped(limit.bytes as u64)
            );
            return Err(io::Error::new(ErrorKind::InvalidData, reason));
        };
        *self = Self { lines, bytes };
        Ok(())
    }
}

/// Bytes of a line beyond which a file is no table of prices: a device that never ends would fill the memory.
const MAX_LINE: usize = 1 << 20;

impl<R> PlainLines<R> {
    /// Makes it of a text that may have so much. Takes the byte that ends a line, as [`line_end`] finds it.
    pub(super) fn new(inner: R, end: u8, left: Room) -> Self {
        Self {
            inner,
            is_line_start: true,
            length: 0,
            end,
            left,
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
        let (mut taken, mut made, mut lines) = (0, 0, 0);
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
            lines += usize::from(self.is_line_start);
            self.length = if self.is_line_start {
                0
            } else {
                self.length + 1
            };
            (taken, made) = (taken + 1, made + 1);
        }
        self.inner.consume(taken);
        self.left.take(lines, taken)?;
        if self.length > MAX_LINE {
            let reason =
                format!("it has more than {MAX_LINE} bytes, so this is no table of prices");
            return Err(io::Error::new(ErrorKind::InvalidData, reason));
        }
        Ok(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_without_an_end_is_given_up_by_its_lines_or_its_bytes() {
        let read = |text: &str, lines, bytes| {
            let room = Room { lines, bytes };
            let mut found = Vec::new();
            let read = PlainLines::new(text.as_bytes(), b'\n', room).read_to_end(&mut found);
            read.map_err(|error| error.to_string())
        };
        assert_eq!(read("1\n2\n3\n", 3, 6), Ok(6));
        for error in [read("1\n2\n3\n", 2, 6), read("1\n2\n3\n", 3, 5)] {
            assert!(error.unwrap_err().contains("still no end"));
        }
    }
}
