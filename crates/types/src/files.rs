//! Opening, reading and writing files with untrusted names.
//!
//! Only regular files are read, and pipes where a caller offers it ([`open_stream`]). A pipe, a socket, a
//! device or a file of the kernel (`/proc`, `/sys`) may block a reader forever, or never end. The check is on
//! the opened file, not on what was at the path a moment before.
//!
//! Files are written completely or not at all ([`Pending`]): a regular file is replaced by a rename, through
//! a symbolic link the file that the link points to. Devices and pipes are never replaced, but written to.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Opens a regular file for reading. Never blocks, and refuses everything else.
pub fn open(path: impl AsRef<Path>) -> io::Result<File> {
    open_with(OpenOptions::new().read(true), path)
}

/// Opens a regular file, or a pipe such as a shell's `<(command)`, whose writer it waits for: what a command
/// reads once from beginning to end, as it would read standard input.
pub fn open_stream(path: impl AsRef<Path>) -> io::Result<File> {
    let path = path.as_ref();
    match open(path) {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput && kind(&fs::metadata(path)?) == PIPE => {
            File::open(path)
        }
        opened => opened,
    }
}

/// [`open`] with other options. A file that the options create is allowed, because it is a regular one.
pub fn open_with(options: &mut OpenOptions, path: impl AsRef<Path>) -> io::Result<File> {
    let path = path.as_ref();
    match check(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        checked => checked?,
    }
    let file = without_waiting(options).open(path)?;
    expect_regular(&file.metadata()?)?;
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd as _;
        // Without a mounted /proc, the file cannot be from there.
        if let Ok(opened) = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())) {
            expect_stored(&opened)?;
        }
    }
    Ok(file)
}

/// The contents of a regular file.
pub fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let mut file = open(path)?;
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut file, &mut bytes)?;
    Ok(bytes)
}

/// The format of a file that should be text but is not, by its first bytes.
///
/// ```
/// assert_eq!(ck_select_types::files::not_text(b"\x1f\x8b\x08\0"), Some("gzip data"));
/// ```
pub fn not_text(start: &[u8]) -> Option<&'static str> {
    const KNOWN: [(&[u8], &str); 8] = [
        (b"\x1f\x8b", "gzip data"),
        (b"\x28\xb5\x2f\xfd", "Zstandard data"),
        (b"\xfd7zXZ", "xz data"),
        (b"BZh", "bzip2 data"),
        (b"PK\x03\x04", "a zip archive"),
        (b"PAR1", "a Parquet file"),
        (b"\xff\xfe", "UTF-16 text"),
        (b"\xfe\xff", "UTF-16 text"),
    ];
    KNOWN.iter().find(|(magic, _)| start.starts_with(magic)).map(|&(_, format)| format)
}

/// The byte-order mark that some editors put before a text.
const MARK: &str = "\u{feff}";

/// The contents of a text file without a byte-order mark.
pub fn without_bom(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(MARK.as_bytes()).unwrap_or(bytes)
}

/// A text without a byte-order mark.
pub fn text_without_bom(text: &str) -> &str {
    text.strip_prefix(MARK).unwrap_or(text)
}

/// The contents of a regular UTF-8 file.
pub fn read_to_string(path: impl AsRef<Path>) -> io::Result<String> {
    io::read_to_string(open(path)?)
}

/// Refuses anything but regular files, for callers that pass the path to other code that opens it.
pub fn check(path: impl AsRef<Path>) -> io::Result<()> {
    let path = path.as_ref();
    // Checked before opening: opening a device can have side effects, and a socket's error would explain
    // nothing.
    expect_regular(&fs::metadata(path)?)?;
    match path.canonicalize() {
        Ok(path) => expect_stored(&path),
        Err(_) => Ok(()),
    }
}

/// Opening a pipe without this waits until somebody opens its other end.
pub fn without_waiting(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    {
        /// `O_NONBLOCK`, which regular files ignore.
        const FLAG: i32 = if cfg!(target_os = "linux") { 0o4000 } else { 4 };
        std::os::unix::fs::OpenOptionsExt::custom_flags(options, FLAG)
    }
    #[cfg(not(unix))]
    options
}

#[cfg(all(target_os = "linux", any(target_arch = "mips", target_arch = "mips64", target_arch = "sparc64")))]
compile_error!("O_NONBLOCK is another number here");

fn expect_regular(metadata: &fs::Metadata) -> io::Result<()> {
    if metadata.is_file() { Ok(()) } else { Err(unexpected(kind(metadata), metadata.is_dir())) }
}

/// The kernel's files claim to be regular, and need not end.
fn expect_stored(path: &Path) -> io::Result<()> {
    let made_up = cfg!(target_os = "linux") && (path.starts_with("/proc") || path.starts_with("/sys"));
    if made_up { Err(unexpected("a file of /proc or /sys", false)) } else { Ok(()) }
}

fn unexpected(shown: &str, folder: bool) -> io::Error {
    let kind = if folder { io::ErrorKind::IsADirectory } else { io::ErrorKind::InvalidInput };
    io::Error::new(kind, format!("found {shown}, expected a regular file"))
}

const PIPE: &str = "a pipe";

fn kind(metadata: &fs::Metadata) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        let file_type = metadata.file_type();
        if file_type.is_fifo() {
            return PIPE;
        }
        if file_type.is_socket() {
            return "a socket";
        }
    }
    if metadata.is_dir() { "a folder" } else { "a device" }
}

/// A file being written. [`Pending::commit`] gives it its name once it is completely on disk; if it is
/// dropped before that, it disappears and the old file stays. Output to a device or a pipe is written
/// immediately.
#[derive(Debug)]
pub struct Pending {
    file: File,
    destination: Option<Destination>,
}

#[derive(Debug)]
struct Destination {
    temporary: PathBuf,
    target: PathBuf,
}

impl Pending {
    /// Begins a file of this name. Blocks on a pipe until it has a reader.
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let target = target(path)?;
        match fs::metadata(path) {
            Ok(there) if there.is_dir() => return Err(unexpected("a folder", true)),
            Ok(there) if !there.is_file() || is_descriptor(&target) => {
                // Standard output may be a file that others write to, too.
                let file = OpenOptions::new().append(true).open(path)?;
                return Ok(Self { file, destination: None });
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        remove_left_over(folder_of(&target));
        loop {
            static COUNT: AtomicU64 = AtomicU64::new(0);
            let (process, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
            let temporary = folder_of(&target).join(format!("{TEMPORARY}{process}-{count}.tmp"));
            match File::create_new(&temporary) {
                Ok(file) => {
                    // For `remove_left_over`; not every file system has locks.
                    let _ = file.try_lock();
                    return Ok(Self { file, destination: Some(Destination { temporary, target }) });
                }
                // Left by a killed process with this ID, or used by one in another container.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Writes to standard output.
    #[cfg(unix)]
    pub fn standard_output() -> io::Result<Self> {
        use std::os::fd::AsFd as _;
        let file = io::stdout().as_fd().try_clone_to_owned()?;
        Ok(Self { file: file.into(), destination: None })
    }

    /// Gives the file its name, with the permissions of the file that it replaces.
    pub fn commit(mut self) -> io::Result<()> {
        let Some(Destination { temporary, target }) = &self.destination else { return self.file.flush() };
        match fs::metadata(target) {
            Ok(old) => {
                expect_regular(&old)?;
                self.file.set_permissions(old.permissions())?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        self.file.sync_all()?;
        fs::rename(temporary, target)?;
        let folder = folder_of(target).to_owned();
        self.destination = None;
        match sync_folder(&folder) {
            // Not every file system supports it, and not every folder can be opened.
            Err(error)
                if error.kind() == io::ErrorKind::PermissionDenied
                    || error.raw_os_error() == Some(EINVAL) =>
            {
                Ok(())
            }
            synced => synced,
        }
    }
}

/// How the names of temporary files begin; the number of their process follows.
const TEMPORARY: &str = ".ck-select-";

/// Removes the temporary files of killed processes from a folder. A process of another container or host may
/// have a number that no process has here, so only a file that can be locked is left over. What cannot be
/// removed stays.
fn remove_left_over(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_name().to_str().is_some_and(is_left_over)) {
        if let Ok(file) = open(entry.path())
            && file.try_lock().is_ok()
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Whether a name is that of a temporary file whose process has ended.
fn is_left_over(name: &str) -> bool {
    let numbers = name.strip_prefix(TEMPORARY).and_then(|name| name.strip_suffix(".tmp"));
    let process = numbers.and_then(|numbers| numbers.split_once('-')).map(|(process, _)| process);
    let is_number = |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // Without /proc nobody knows.
    let processes = Path::new("/proc");
    process
        .filter(is_number)
        .is_some_and(|process| processes.join("self").exists() && !processes.join(process).exists())
}

/// The number of "invalid argument", which is one on all platforms.
const EINVAL: i32 = 22;

impl Write for Pending {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(destination) = &self.destination {
            // The earlier error is the one to report.
            let _ = fs::remove_file(&destination.temporary);
        }
    }
}

/// Writes a whole file; see [`Pending`].
pub fn write(path: impl AsRef<Path>, bytes: &[u8]) -> io::Result<()> {
    let mut pending = Pending::create(path)?;
    pending.write_all(bytes)?;
    pending.commit()
}

/// The target of a path after following symbolic links, whether or not the file exists.
pub fn target(path: &Path) -> io::Result<PathBuf> {
    /// The most links in a row: as many as Linux follows.
    const LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        if is_descriptor(&path) {
            return Ok(path);
        }
        match fs::read_link(&path) {
            Ok(next) => path = folder_of(&path).join(next),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("found too many levels of symbolic links"))
}

/// Whether a path is an open file of some process, such as `/dev/stdout`: such a link is not a name that can
/// be replaced.
fn is_descriptor(path: &Path) -> bool {
    cfg!(target_os = "linux")
        && folder_of(path).canonicalize().is_ok_and(|folder| folder.starts_with("/proc"))
}

/// The folder that contains a file.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// Syncs the names in a folder to disk.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _, symlink};
    use std::process::Command;
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    fn pipe(path: &Path) {
        assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    }

    /// Fails if `work` blocks forever.
    fn soon<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || sender.send(work()));
        receiver.recv_timeout(Duration::from_secs(10)).unwrap()
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn only_regular_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "text").unwrap();
        symlink(at("file"), at("link")).unwrap();
        pipe(&at("pipe"));
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        for name in ["file", "link"] {
            assert_eq!(read_to_string(at(name)).unwrap(), "text");
        }
        let refused = [
            (at("pipe"), "a pipe"),
            (at("socket"), "a socket"),
            (folder.path().to_owned(), "a folder"),
            ("/dev/zero".into(), "a device"),
        ];
        #[cfg(target_os = "linux")]
        let refused = refused.into_iter().chain([("/proc/self/status".into(), "a file of /proc or /sys")]);
        for (path, found) in refused {
            let expected = format!("found {found}, expected a regular file");
            assert_eq!(check(&path).unwrap_err().to_string(), expected);
            assert_eq!(soon(move || read(path)).unwrap_err().to_string(), expected);
        }
        assert_eq!(read(at("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    /// Commands refused pipes that a shell's `<(command)` made, where they read standard input (b51a5af9).
    #[test]
    fn streams_may_be_pipes_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        pipe(&path);
        let writer = std::thread::spawn({
            let path = path.clone();
            move || fs::write(path, "text").unwrap()
        });
        assert_eq!(soon(move || io::read_to_string(open_stream(path).unwrap())).unwrap(), "text");
        writer.join().unwrap();
        for (path, found) in [("/dev/zero", "a device"), ("/", "a folder")] {
            let error = soon(move || open_stream(path)).unwrap_err().to_string();
            assert_eq!(error, format!("found {found}, expected a regular file"));
        }
    }

    #[test]
    fn a_pipe_that_takes_the_place_of_a_file_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        pipe(&path);
        let opened = soon(move || without_waiting(OpenOptions::new().read(true)).open(path)).unwrap();
        assert!(expect_regular(&opened.metadata().unwrap()).is_err());
    }

    /// Each kill in a write left a file for good.
    #[test]
    #[cfg(target_os = "linux")]
    fn temporary_files_of_dead_processes_go_with_the_next_write() {
        let folder = tempfile::tempdir().unwrap();
        let dead = {
            let mut child = Command::new("true").spawn().unwrap();
            child.wait().unwrap();
            child.id()
        };
        let name = |process: u32| format!(".ck-select-{process}-0.tmp");
        let alive = std::process::id();
        for left in [name(dead), name(alive), ".ck-select-.tmp".to_owned(), ".ck-select-x-0.tmp".to_owned()] {
            fs::write(folder.path().join(left), "half").unwrap();
        }
        // A process of another container.
        let elsewhere = folder.path().join(format!(".ck-select-{dead}-1.tmp"));
        let locked = File::create_new(&elsewhere).unwrap();
        locked.lock().unwrap();
        write(folder.path().join("file"), b"text").unwrap();
        assert!(!folder.path().join(name(dead)).exists());
        assert!(folder.path().join(name(alive)).exists() && elsewhere.exists());
        assert_eq!(names(folder.path()).len(), 5);
        // The one that is being written is locked itself.
        let pending = Pending::create(folder.path().join("file")).unwrap();
        let temporary = &pending.destination.as_ref().unwrap().temporary;
        assert!(File::open(temporary).unwrap().try_lock().is_err());
    }

    #[test]
    fn files_appear_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write(&path, b"first").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let mut pending = Pending::create(&path).unwrap();
        pending.write_all(b"second").unwrap();
        assert_eq!(read(&path).unwrap(), b"first");
        drop(pending);
        assert_eq!(
            (names(folder.path()), read(&path).unwrap()),
            (vec!["file".to_owned()], b"first".to_vec())
        );
        write(&path, b"third").unwrap();
        assert_eq!(read(&path).unwrap(), b"third");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(names(folder.path()), ["file"]);
        assert!(write(folder.path(), b"").is_err() && write(path.join("inside"), b"").is_err());
    }

    #[test]
    fn links_stay_and_what_they_point_to_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("there")).unwrap();
        symlink("there/file", at("link")).unwrap();
        symlink("link", at("second")).unwrap();
        for text in [b"first", b"later"] {
            write(at("second"), text).unwrap();
            assert_eq!(read(at("there/file")).unwrap(), text);
            assert!(at("link").is_symlink() && at("second").is_symlink());
        }
        assert_eq!(names(&at("there")), ["file"]);
        symlink("round", at("round")).unwrap();
        assert!(write(at("round"), b"").is_err());
    }

    #[test]
    fn devices_and_pipes_are_written_to() {
        write("/dev/null", b"gone").unwrap();
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
        #[cfg(target_os = "linux")]
        {
            assert_eq!(write("/dev/full", b"more").unwrap_err().kind(), io::ErrorKind::StorageFull);
            assert!(fs::metadata("/dev/full").unwrap().file_type().is_char_device());
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        pipe(&path);
        let reader = std::thread::spawn({
            let path = path.clone();
            move || io::read_to_string(File::open(path).unwrap()).unwrap()
        });
        let mut pending = Pending::create(&path).unwrap();
        pending.write_all(b"text").unwrap();
        pending.commit().unwrap();
        assert_eq!(reader.join().unwrap(), "text");
        assert!(fs::metadata(&path).unwrap().file_type().is_fifo());
        assert_eq!(names(folder.path()), ["pipe"]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn an_open_file_is_written_to_under_the_name_of_its_descriptor() {
        use std::os::fd::AsRawFd as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let mut file = File::create_new(&path).unwrap();
        file.write_all(b"before ").unwrap();
        write(format!("/dev/fd/{}", file.as_raw_fd()), b"after").unwrap();
        assert_eq!(
            (read(&path).unwrap(), names(folder.path())),
            (b"before after".to_vec(), vec!["file".to_owned()])
        );
    }
}
