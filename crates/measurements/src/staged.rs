//! Folders that are written completely or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Read as _, Write};
use std::path::{Path, PathBuf};

use ck_select_types::files;
use tempfile::{Builder, TempDir};

/// A folder that is being written next to its final place. [`Staged::commit`] moves it there once it is
/// completely on disk; if it is dropped before that, it disappears.
#[derive(Debug)]
pub struct Staged {
    folder: TempDir,
    target: PathBuf,
}

impl Staged {
    /// Begins a folder with this name. For a link, it is the link's target.
    pub fn create(path: &Path) -> io::Result<Self> {
        let target = files::target(path)?;
        let parent = files::folder_of(&target);
        fs::create_dir_all(parent)?;
        Ok(Self { folder: private(".ckselect-", parent)?, target })
    }

    /// Reserves space on the disk of a folder that is still to be made, before the work for it. The file that
    /// holds the space has no name, so nothing of it stays, however the process ends.
    pub fn reserve(path: &Path, bytes: u64) -> io::Result<File> {
        let target = files::target(path)?;
        let there = files::folder_of(&target).ancestors().find(|folder| folder.exists());
        let space = tempfile::tempfile_in(there.unwrap_or(Path::new(".")))?;
        let mut zeros = BufWriter::with_capacity(1 << 20, &space);
        io::copy(&mut io::repeat(0).take(bytes), &mut zeros)?;
        zeros.flush()?;
        drop(zeros);
        space.sync_all()?;
        Ok(space)
    }

    /// The folder to write to.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes one of its files.
    pub fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut file = File::create_new(self.path().join(name))?;
        file.write_all(bytes)?;
        file.sync_all()
    }

    /// Gives the folder its name. An existing folder with the name is replaced if `replace` is set, and an
    /// error otherwise.
    pub fn commit(self, replace: bool) -> io::Result<()> {
        let (from, to) = (self.folder.path(), self.target.as_path());
        readable(from)?;
        files::sync_folder(from)?;
        match fs::symlink_metadata(to) {
            Ok(_) if !replace => return Err(io::Error::new(ErrorKind::AlreadyExists, "already exists")),
            Ok(_) => self.exchange()?,
            Err(error) if error.kind() == ErrorKind::NotFound => fs::rename(from, to)?,
            Err(error) => return Err(error),
        }
        // The replaced folder is deleted under the temporary name.
        files::sync_folder(files::folder_of(to))
    }

    /// Exchanges the names of the two folders.
    fn exchange(&self) -> io::Result<()> {
        let (from, to) = (self.folder.path(), self.target.as_path());
        match swap(from, to) {
            // Not every file system supports this: then there is a moment without either.
            Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => {}
            done => return done,
        }
        let aside = private(".ckselect-old-", files::folder_of(to))?;
        let old = aside.path().join("old");
        fs::rename(to, &old)?;
        let Err(error) = fs::rename(from, to) else { return Ok(()) };
        if fs::rename(&old, to).is_ok() {
            return Err(error);
        }
        let kept = aside.keep().join("old");
        Err(io::Error::new(error.kind(), format!("{error}; what was there is in {}", kept.display())))
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn swap(from: &Path, to: &Path) -> io::Result<()> {
    use std::ffi::CString;
    use std::os::unix::ffi::OsStrExt as _;
    let text = |path: &Path| CString::new(path.as_os_str().as_bytes());
    let (from, to, at) = (text(from)?, text(to)?, libc::AT_FDCWD);
    // SAFETY: two paths that live until the call returns.
    let answer = unsafe { libc::renameat2(at, from.as_ptr(), at, to.as_ptr(), libc::RENAME_EXCHANGE) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn swap(_: &Path, _: &Path) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

/// A temporary folder that its owner can use, whatever the process' umask takes from new files.
fn private(prefix: &str, parent: &Path) -> io::Result<TempDir> {
    let folder = Builder::new().prefix(prefix).tempdir_in(parent)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700))?;
    }
    Ok(folder)
}

/// Temporary folders are private; the result gets the user's usual permissions.
fn readable(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_replaced_as_a_whole_or_not_at_all() {
        let parent = tempfile::tempdir().unwrap();
        let target = parent.path().join("model");
        let commit = |file: &str, replace| {
            let staged = Staged::create(&target).unwrap();
            staged.write(file, b"x").unwrap();
            staged.commit(replace).map_err(|error| error.kind())
        };
        let files = |folder: &Path| -> Vec<String> {
            let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
            fs::read_dir(folder).unwrap().map(name).collect()
        };
        assert_eq!(commit("first", false), Ok(()));
        assert_eq!(commit("second", false), Err(ErrorKind::AlreadyExists));
        assert_eq!(files(&target), ["first"]);
        assert_eq!(commit("third", true), Ok(()));
        assert_eq!((files(&target), files(parent.path())), (vec!["third".into()], vec!["model".into()]));
    }
}
