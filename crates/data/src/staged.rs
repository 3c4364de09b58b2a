//! Folders that are written completely or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read as _, Write};
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

    /// Takes space for a folder of this name on its disk, before the work for it. The file has no name, so
    /// nothing stays of it, however the process ends.
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

    /// Where to write.
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
            Ok(_) if !replace => return Err(io::Error::new(io::ErrorKind::AlreadyExists, "already exists")),
            Ok(_) => self.exchange()?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => fs::rename(from, to)?,
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
            Err(error) if matches!(error.raw_os_error(), Some(EINVAL | ENOSYS)) => {}
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

const EINVAL: i32 = 22;
const ENOSYS: i32 = 38;

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn swap(from: &Path, to: &Path) -> io::Result<()> {
    use std::ffi::{CString, c_char, c_int, c_uint};
    use std::os::unix::ffi::OsStrExt as _;
    unsafe extern "C" {
        fn renameat2(a: c_int, from: *const c_char, b: c_int, to: *const c_char, flags: c_uint) -> c_int;
    }
    const AT_FDCWD: c_int = -100;
    const RENAME_EXCHANGE: c_uint = 2;
    let text = |path: &Path| CString::new(path.as_os_str().as_bytes());
    let (from, to) = (text(from)?, text(to)?);
    // SAFETY: two paths that live until the call returns.
    let answer = unsafe { renameat2(AT_FDCWD, from.as_ptr(), AT_FDCWD, to.as_ptr(), RENAME_EXCHANGE) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn swap(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::Error::from_raw_os_error(ENOSYS))
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
