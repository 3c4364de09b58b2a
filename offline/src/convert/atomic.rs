//! A file that appears whole or not at all.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::measurements::DataError;

/// A temporary file beside the one that [`Pending::commit`] makes of it. Dropped before, it disappears.
pub(super) struct Pending {
    temporary: NamedTempFile,
    path: PathBuf,
}

impl Pending {
    /// Folders on the way are made.
    pub(super) fn create(path: &Path) -> Result<Self, DataError> {
        let name = path.display().to_string();
        let folder = match path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let made = std::fs::create_dir_all(folder).and_then(|()| NamedTempFile::new_in(folder));
        let temporary = made.map_err(|error| DataError::io(&name, error))?;
        Ok(Self { temporary, path: path.to_owned() })
    }

    /// A handle to write through.
    pub(super) fn file(&self) -> Result<File, DataError> {
        self.temporary.reopen().map_err(|error| DataError::io(&self.name(), error))
    }

    /// What errors call it.
    pub(super) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// Gives the file its name, after its bytes are on the disk.
    pub(super) fn commit(self) -> Result<(), DataError> {
        let name = self.name();
        publish(self.temporary, &self.path).map_err(|error| DataError::io(&name, error))
    }
}

fn publish(temporary: NamedTempFile, path: &Path) -> io::Result<()> {
    // Temporary files are private; a result is as readable as any file that the user makes.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(path).map_or(0o644, |old| old.permissions().mode());
        temporary.as_file().set_permissions(std::fs::Permissions::from_mode(mode))?;
    }
    temporary.as_file().sync_all()?;
    temporary.persist(path).map_err(|error| error.error)?;
    Ok(())
}
