//! Where the store is, and whether its file system is shared between hosts.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::StoreError;
use crate::environment;

/// Where the store is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// Nowhere: the store is switched off.
    Off,
    /// In this file.
    File(PathBuf),
}

impl Location {
    /// The environment variable with the location of the store; `off` switches it off.
    pub const VARIABLE: &str = "CK_SELECT_STORE";

    /// Decides from an option and from the values of environment variables: the option, otherwise
    /// `CK_SELECT_STORE`, otherwise `$XDG_CACHE_HOME/ck-select/winners.db`, otherwise
    /// `$HOME/.cache/ck-select/winners.db`.
    ///
    /// The word `off`, as option or as value, switches the store off. Empty values count as unset, and so
    /// does a relative `XDG_CACHE_HOME`, as its specification requires.
    ///
    /// ```
    /// use ck_select::tuning::store::Location;
    ///
    /// let environment = |name: &str| (name == "HOME").then(|| "/home/ada".into());
    /// let location = Location::resolve(None, environment)?;
    /// assert_eq!(location, Location::File("/home/ada/.cache/ck-select/winners.db".into()));
    /// assert_eq!(Location::resolve(Some("off".as_ref()), environment)?, Location::Off);
    /// # Ok::<(), ck_select::tuning::store::StoreError>(())
    /// ```
    pub fn resolve(
        option: Option<&Path>,
        environment: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, StoreError> {
        let said = option.map(Path::to_owned).filter(|path| !path.as_os_str().is_empty());
        if let Some(said) = said.or_else(|| path(&environment, Self::VARIABLE)) {
            return Ok(if said.as_os_str().eq_ignore_ascii_case("off") {
                Self::Off
            } else {
                Self::File(said)
            });
        }
        let folder = cache_folder(environment).ok_or(StoreError::NoPath)?;
        Ok(Self::File(folder.join("winners.db")))
    }

    /// [`Location::resolve`] with the variables of this process.
    pub fn from_environment(option: Option<&Path>) -> Result<Self, StoreError> {
        Self::resolve(option, environment::variable)
    }
}

/// The default folder for this library's files: `$XDG_CACHE_HOME/ck-select`, otherwise
/// `$HOME/.cache/ck-select`.
pub(crate) fn cache_folder(environment: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let cache = path(&environment, "XDG_CACHE_HOME").filter(|path| path.is_absolute());
    let cache = cache.or_else(|| path(&environment, "HOME").map(|home| home.join(".cache")))?;
    Some(cache.join("ck-select"))
}

/// The path in a variable, if it is not empty.
fn path(environment: impl Fn(&str) -> Option<OsString>, name: &str) -> Option<PathBuf> {
    environment(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// File systems that several hosts may share, or that a user-space server implements: there, two processes
/// that map a file need not share memory, which SQLite's write-ahead log requires.
const SHARED: &[&str] = &[
    "9p",
    "afs",
    "beegfs",
    "ceph",
    "cifs",
    "gfs2",
    "glusterfs",
    "gpfs",
    "lustre",
    "nfs",
    "nfs4",
    "ocfs2",
    "panfs",
    "pvfs2",
    "smb3",
    "smbfs",
    "vboxsf",
    "virtiofs",
    "wekafs",
];

/// File systems that write every page to a new place. SQLite's write-ahead log has an index in shared memory,
/// a mapped file: if the disk or the quota is full, there is no place for its page, and the process dies of
/// SIGBUS.
const COPY_ON_WRITE: [&str; 3] = ["btrfs", "zfs", "bcachefs"];

/// The type of the file system that holds `path`, if a write-ahead log is not safe there.
pub(super) fn without_log(path: &Path) -> Option<String> {
    let folder = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let folder = std::fs::canonicalize(folder).ok()?;
    // Linux only; elsewhere the type is unknown, and the write-ahead log is used.
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    unsafe_mount(&mounts, &folder)
}

fn unsafe_mount(mounts: &str, folder: &Path) -> Option<String> {
    let mut deepest: Option<(usize, &str)> = None;
    for line in mounts.lines() {
        // "36 35 98:0 /root /mount/point options optional… - type source options"
        let Some((before, after)) = line.split_once(" - ") else { continue };
        let (Some(point), Some(kind)) = (before.split(' ').nth(4), after.split(' ').next()) else { continue };
        let point = unescaped(point);
        let depth = point.components().count();
        // Of two mounts on one mount point, the later hides the earlier.
        if folder.starts_with(&point) && deepest.is_none_or(|(known, _)| depth >= known) {
            deepest = Some((depth, kind));
        }
    }
    let (_, kind) = deepest?;
    (SHARED.contains(&kind) || COPY_ON_WRITE.contains(&kind) || kind.starts_with("fuse."))
        .then(|| kind.to_owned())
}

/// Mount tables escape blanks and the like as `\040`.
fn unescaped(text: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let code = tail.get(..3).filter(|_| byte == b'\\').and_then(|digits| {
            let digits = std::str::from_utf8(digits).ok()?;
            u8::from_str_radix(digits, 8).ok()
        });
        bytes.push(code.unwrap_or(byte));
        rest = if code.is_some() { &tail[3..] } else { tail };
    }
    PathBuf::from(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(option: Option<&str>, variables: &[(&str, &str)]) -> Result<Location, StoreError> {
        Location::resolve(option.map(Path::new), |name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
        })
    }

    fn file(path: &str) -> Location {
        Location::File(path.into())
    }

    #[test]
    fn the_option_comes_first_then_the_variables() {
        let all = [("CK_SELECT_STORE", "/s.db"), ("XDG_CACHE_HOME", "/x"), ("HOME", "/h")];
        assert_eq!(resolved(Some("/o.db"), &all), Ok(file("/o.db")));
        assert_eq!(resolved(None, &all), Ok(file("/s.db")));
        assert_eq!(resolved(None, &all[1..]), Ok(file("/x/ck-select/winners.db")));
        assert_eq!(resolved(None, &all[2..]), Ok(file("/h/.cache/ck-select/winners.db")));
        assert_eq!(resolved(None, &[]), Err(StoreError::NoPath));
    }

    #[test]
    fn off_switches_it_off_and_empty_is_unset() {
        assert_eq!(resolved(Some("off"), &[("CK_SELECT_STORE", "/s.db")]), Ok(Location::Off));
        assert_eq!(resolved(None, &[("CK_SELECT_STORE", "off")]), Ok(Location::Off));
        assert_eq!(resolved(Some("./off"), &[]), Ok(file("./off")));
        let empty = [("CK_SELECT_STORE", ""), ("XDG_CACHE_HOME", ""), ("HOME", "/h")];
        assert_eq!(resolved(Some(""), &empty), Ok(file("/h/.cache/ck-select/winners.db")));
        let relative = [("XDG_CACHE_HOME", "cache"), ("HOME", "/h")];
        assert_eq!(resolved(None, &relative), Ok(file("/h/.cache/ck-select/winners.db")));
    }

    #[test]
    fn file_systems_without_a_log_are_found_by_their_deepest_mount() {
        let mounts = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
                      30 22 0:40 / /home rw shared:1 - nfs4 server:/home rw\n\
                      31 30 8:2 / /home/local rw - xfs /dev/sdb rw\n\
                      32 22 0:41 / /my\\040disk rw - lustre mgs:/l rw\n\
                      33 22 0:42 / /cloud rw - fuse.sshfs host:/ rw\n\
                      34 22 0:43 / /snap rw - btrfs /dev/sdc rw\n";
        let kind = |path: &str| unsafe_mount(mounts, Path::new(path));
        assert_eq!(kind("/home/ada/.cache").as_deref(), Some("nfs4"));
        assert_eq!(kind("/home/local/ada"), None);
        assert_eq!(kind("/my disk/x").as_deref(), Some("lustre"));
        assert_eq!(kind("/cloud").as_deref(), Some("fuse.sshfs"));
        assert_eq!(kind("/snap/cache").as_deref(), Some("btrfs"));
        assert_eq!(kind("/homes"), None);
        assert_eq!(unsafe_mount("", Path::new("/")), None);
        assert_eq!(unsafe_mount("nonsense\n - \n", Path::new("/")), None);
    }
}
