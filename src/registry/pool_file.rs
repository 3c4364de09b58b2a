//! Files with the kernels of a pool, for `ckselect`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::environment;
use crate::files;
use crate::kernel::Kernel;
use crate::pool::{ExportOptions, Pool, export_json};
use crate::tuning::store::{StableHash, cache_folder};
use crate::vocab::Op;

/// Writes kernels, as `ckselect` reads them, into the user's cache folder. The file is named after its
/// contents, so that no other pool ever replaces it.
pub(super) fn write(op: Op, kernels: &[&Kernel]) -> Result<PathBuf, String> {
    let text = export_json(op, kernels.iter().copied(), &ExportOptions::default());
    let text = text.map_err(|error| error.to_string())?;
    // Exports have CK's fields. They lack what only a descriptor says about a kernel with a name of its own.
    let read = Pool::from_bytes("pool", text.as_bytes()).map_err(|error| error.to_string())?;
    if let Some(lost) = kernels.iter().zip(read.iter()).find(|(kernel, read)| *kernel != read) {
        return Err(format!("an export does not contain all fields of {}", lost.0.name));
    }
    let folder = cache_folder(environment::variable);
    let folder =
        folder.ok_or("no folder for the pool: neither XDG_CACHE_HOME nor HOME is set")?.join("pools");
    let path = folder.join(format!("{:032x}.json", StableHash::of(text.as_bytes())));
    write_once(&folder, &path, &text).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}

/// Writes a file if it does not exist yet, even if others write it at the same time.
fn write_once(folder: &Path, path: &Path, text: &str) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    files::write(path, text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_once_and_leaves_nothing_beside_it() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("pools");
        let path = folder.join("a.json");
        for text in ["first", "second"] {
            write_once(&folder, &path, text).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), "first");
        }
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        assert!(write_once(&path, &path.join("inside.json"), "").is_err(), "a file is no folder");
    }
}
