//! SHA-256 in hexadecimal, to recognise files.

use std::io;
use std::path::Path;

use crate::read::DataError;
use ck_select_types::files;
use sha2::{Digest, Sha256};

/// The digest of a file.
pub fn of_file(path: &Path) -> Result<String, DataError> {
    let mut hash = Sha256::new();
    let read = files::open(path).and_then(|mut file| io::copy(&mut file, &mut hash));
    read.map_err(|error| DataError::io(path.display(), error))?;
    Ok(format!("{:x}", hash.finalize()))
}

/// The digest of bytes, as bytes.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// The digest of bytes.
pub fn of_bytes(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_bytes_have_the_digests_that_sha256sum_prints() {
        let path = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&path, "abc").unwrap();
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!((of_file(path.path()).unwrap().as_str(), of_bytes(b"abc").as_str()), (known, known));
    }
}
