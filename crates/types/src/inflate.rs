//! Inflates gzip within a limit, so that a small untrusted file does not become an endless one.

use std::io::{self, BufRead, Read};

use flate2::bufread::MultiGzDecoder;

/// Tables of measurements and forests become 4 to 30 times as long; beyond this factor a file is malicious.
const MOST_TIMES: u64 = 200;
/// Size that is always allowed.
const ALWAYS: u64 = 64 << 20;

/// How many bytes a gzip file of this length may inflate to.
pub const fn most(size: u64) -> u64 {
    size.saturating_mul(MOST_TIMES).saturating_add(ALWAYS)
}

/// The inflated bytes of gzip data; an error, [`TooMuch`], if there are more than is plausible for the bytes
/// that were read so far.
pub fn inflated(bytes: impl BufRead) -> impl Read {
    Inflated { decoder: MultiGzDecoder::new(Counted { bytes, count: 0 }), inflated: 0 }
}

/// The inflated bytes of gzip data up to a limit.
pub fn inflated_to<R: BufRead>(bytes: R, limit: u64) -> Limited<MultiGzDecoder<R>> {
    Limited::new(MultiGzDecoder::new(bytes), TooMuch { limit, inflated: true })
}

struct Inflated<R> {
    decoder: MultiGzDecoder<Counted<R>>,
    inflated: u64,
}

impl<R: BufRead> Read for Inflated<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.decoder.read(buffer)?;
        self.inflated += count as u64;
        let limit = most(self.decoder.get_ref().count);
        if self.inflated > limit {
            return Err(io::Error::other(TooMuch { limit, inflated: true }));
        }
        Ok(count)
    }
}

/// Bytes that are counted as they are taken.
struct Counted<R> {
    bytes: R,
    count: u64,
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.bytes.read(buffer)?;
        self.count += count as u64;
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.bytes.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.count += count as u64;
        self.bytes.consume(count);
    }
}

/// A reader that fails after a number of bytes.
#[derive(Debug)]
pub struct Limited<R> {
    inner: R,
    left: u64,
    over: TooMuch,
}

/// There are more bytes than the limit allows.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("{} more than {limit} bytes", if *.inflated { "inflates to" } else { "has" })]
pub struct TooMuch {
    /// The limit.
    pub limit: u64,
    /// Whether the file itself is short enough.
    pub inflated: bool,
}

impl<R> Limited<R> {
    /// Reads so many bytes at most.
    pub const fn new(inner: R, over: TooMuch) -> Self {
        Self { inner, left: over.limit, over }
    }
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.left = self.left.checked_sub(count as u64).ok_or_else(|| io::Error::other(self.over))?;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_what_is_allowed() {
        let read =
            |limit| io::read_to_string(Limited::new(&b"12345"[..], TooMuch { limit, inflated: false }));
        assert_eq!(read(5).unwrap(), "12345");
        assert_eq!(read(4).unwrap_err().to_string(), "has more than 4 bytes");
    }
}
