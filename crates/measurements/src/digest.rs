//! SHA-256 in hexadecimal, to recognise files.

use std::io;
use std::path::{Path, PathBuf};

use crate::read::DataError;
use crate::tuned::json_files;
use ck_select_types::files;
use sha2::{Digest, Sha256};

/// The digest of a file; of a folder of tables, that of its files' names and digests.
pub fn of_file(path: &Path) -> Result<String, DataError> {
    if path.is_dir() {
        let digested = |file: PathBuf| {
            let name = file.strip_prefix(path).unwrap_or(&file).display().to_string();
            Ok(format!("{}  {name}\n", of_file(&file)?))
        };
        let lines = json_files(path)?.into_iter().map(digested).collect::<Result<String, DataError>>()?;
        return Ok(of_bytes(lines.as_bytes()));
    }
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
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("inner")).unwrap();
        std::fs::write(folder.path().join("inner/a.json"), "abc").unwrap();
        std::fs::write(folder.path().join("README"), "not a table").unwrap();
        let lines = format!("{known}  inner/a.json\n");
        assert_eq!(of_file(folder.path()).unwrap(), of_bytes(lines.as_bytes()));
    }
}
