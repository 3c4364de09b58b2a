//! Inflates gzip within a limit, so that a small untrusted file does not become an endless one.

use std::fs::File;
use std::io::{self, BufReader, Read};

use flate2::bufread::MultiGzDecoder;

/// Tables of measurements and forests become 4 to 30 times as long; beyond this factor a file is malicious.
const MOST_TIMES: u64 = 200;
/// Size that is always allowed.
const ALWAYS: u64 = 64 << 20;
const BUFFER: usize = 1 << 18;

/// The inflated bytes of a gzip file; an error if there are more than is plausible.
pub(crate) fn inflated(file: File) -> io::Result<impl Read> {
    let limit = file.metadata()?.len().saturating_mul(MOST_TIMES).saturating_add(ALWAYS);
    Ok(within(MultiGzDecoder::new(BufReader::with_capacity(BUFFER, file)), limit))
}

fn within(inner: impl Read, limit: u64) -> impl Read {
    Limited { inner, limit, left: limit }
}

struct Limited<R> {
    inner: R,
    limit: u64,
    left: u64,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.left = self.left.checked_sub(count as u64).ok_or_else(|| {
            let limit = self.limit;
            io::Error::other(format!(
                "inflates to more than {limit} bytes, {MOST_TIMES} times its own length"
            ))
        })?;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn what_was_made_to_be_long_is_refused() {
        let mut bomb = tempfile::tempfile().unwrap();
        let mut packed = GzEncoder::new(&mut bomb, Compression::best());
        let zeros = vec![0; 1 << 20];
        (0..160).for_each(|_| packed.write_all(&zeros).unwrap());
        packed.finish().unwrap();
        io::Seek::rewind(&mut bomb).unwrap();
        let size = bomb.metadata().unwrap().len();
        let limit = size * MOST_TIMES + ALWAYS;
        assert!(limit < 160 << 20, "{size}");
        let mut read = 0;
        let mut text = inflated(bomb).unwrap();
        let mut buffer = vec![0; 1 << 16];
        let error = loop {
            match text.read(&mut buffer) {
                Ok(0) => panic!("all of it was read"),
                Ok(count) => read += count as u64,
                Err(error) => break error.to_string(),
            }
        };
        assert_eq!(error, format!("inflates to more than {limit} bytes, 200 times its own length"));
        assert!(read <= limit);
    }

    #[test]
    fn a_limit_is_what_is_allowed() {
        let read = |limit| io::read_to_string(within(&b"12345"[..], limit));
        assert_eq!(read(5).unwrap(), "12345");
        assert!(read(4).is_err());
    }
}
