//! The file: lines that are appended under a lock and read without one.
//!
//! Whoever writes opens the file, takes its advisory lock, appends whole lines, syncs them and gives the lock
//! back. Nothing stays locked or open for writing in between, so a forked child inherits neither. A reader
//! takes no lock: it uses the lines that have an end. Only
//! [`StoreFile::replace`] removes lines, by a new file in the place of the old one; a writer who has waited
//! for the lock of the old one notices, and begins again.

use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::backlog::Backlog;
use super::contents::Contents;
use super::lines::{LONGEST_LINE, START, is_start, parse, whole_lines};
use super::{Fault, Mode, StoreError};
use crate::files;
use crate::size_limit::without_signal;

/// Largest file, more than a hundred thousand winners, so that reading a file from a stranger ends.
const MOST_BYTES: u64 = 64 << 20;

/// Between two attempts to get the lock. About as long as another process writes.
const PAUSE: Duration = Duration::from_millis(5);

/// A store's file, as one process uses it.
pub(super) struct StoreFile {
    pub(super) path: PathBuf,
    pub(super) mode: Mode,
    pub(super) wait: Duration,
    pub(super) backlog: Backlog,
    /// Most lines no longer count: the next writer removes them.
    pub(super) is_crowded: bool,
}

/// The file, locked against other writers.
pub(super) struct FileLock(pub(super) File);

impl Drop for FileLock {
    fn drop(&mut self) {
        // A child that was forked meanwhile has the file open, too, so closing it would not be enough.
        let _ = self.0.unlock();
    }
}

/// The file as a reader saw it last. It stays open, because the number of a deleted file may be given to
/// another.
pub(super) struct FileSnapshot(File, Metadata);

impl StoreFile {
    /// The file at a path, which is opened on first use.
    pub(super) fn new(path: &Path, mode: Mode, wait: Duration) -> Self {
        Self { path: path.to_owned(), mode, wait, backlog: Backlog::default(), is_crowded: false }
    }

    pub(super) fn error(&self, fault: Fault) -> StoreError {
        StoreError::File { path: self.path.display().to_string(), fault }
    }

    fn unreachable(&self, error: &io::Error) -> StoreError {
        self.error(Fault::Unreachable(error.to_string()))
    }

    /// Makes a file that is to be written, unless it is there. One that cannot be written may be readable.
    pub(super) fn open(&self) -> Result<(), StoreError> {
        let made = if self.mode == Mode::ReadWrite { self.open_to_write().map(drop) } else { Ok(()) };
        match self.open_to_read() {
            Ok(Some(_)) => Ok(()),
            // If the file cannot be read either, the first error is the more helpful one.
            read => made.and(read.map(drop)),
        }
    }

    /// `None` if there is no file.
    fn open_to_read(&self) -> Result<Option<(File, Metadata)>, StoreError> {
        match files::open(&self.path) {
            Ok(file) => self.checked(file).map(Some),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.unreachable(&error)),
        }
    }

    /// Refuses to write what was opened for reading.
    pub(super) fn check_mode(&self) -> Result<(), StoreError> {
        match self.mode {
            Mode::ReadWrite => Ok(()),
            Mode::ReadOnly => Err(self.error(Fault::ReadOnly("it was opened read-only".to_owned()))),
        }
    }

    fn open_to_write(&self) -> Result<File, StoreError> {
        self.check_mode()?;
        let mut options = OpenOptions::new();
        let mut open = || files::open_with(options.read(true).append(true).create(true), &self.path);
        let opened = open().or_else(|error| match error.kind() {
            ErrorKind::NotFound => fs::create_dir_all(files::folder_of(&self.path)).and_then(|()| open()),
            _ => Err(error),
        });
        match opened {
            Ok(file) => self.checked(file).map(|(file, _)| file),
            Err(error) if is_refusal(&error) && self.path.exists() => {
                Err(self.error(Fault::ReadOnly(error.to_string())))
            }
            Err(error) => Err(self.unreachable(&error)),
        }
    }

    /// Refuses what is not a store.
    fn checked(&self, mut file: File) -> Result<(File, Metadata), StoreError> {
        let mut start = Vec::new();
        let read = (&mut file).take(START.len() as u64).read_to_end(&mut start).and_then(|_| file.metadata());
        let data = read.map_err(|error| self.unreachable(&error))?;
        Err(self.error(if !is_start(&start) {
            let [start, expected] = [&start, START].map(String::from_utf8_lossy);
            Fault::NotAStore(format!("it begins with {start:?}, expected {expected:?}"))
        } else if data.len() > MOST_BYTES {
            Fault::Damaged(format!("it has {} bytes, expected at most {MOST_BYTES}", data.len()))
        } else {
            return Ok((file, data));
        }))
    }

    /// All of the file.
    pub(super) fn contents(&self) -> Result<Contents, StoreError> {
        Ok(self.news(&mut None)?.unwrap_or_default())
    }

    pub(super) fn contents_of(&self, mut file: &File) -> Result<Contents, StoreError> {
        let mut text = Vec::new();
        let read = file.rewind().and_then(|()| file.take(MOST_BYTES).read_to_end(&mut text));
        read.map(|_| Contents::parse(&text)).map_err(|error| self.unreachable(&error))
    }

    /// All of the file, unless it is as it was the last time.
    pub(super) fn news(&self, seen: &mut Option<FileSnapshot>) -> Result<Option<Contents>, StoreError> {
        if let (Some(FileSnapshot(file, data)), Ok(metadata)) = (&*seen, fs::metadata(&self.path))
            && data.len() == metadata.len()
            && data.modified().ok() == metadata.modified().ok()
            && is_same(file, &metadata)
        {
            return Ok(None);
        }
        let Some((file, data)) = self.open_to_read()? else {
            return Ok(seen.take().map(|_| Contents::default()));
        };
        let contents = self.contents_of(&file)?;
        *seen = Some(FileSnapshot(file, data));
        Ok(Some(contents))
    }

    /// Waits for the lock of the file that the path names.
    pub(super) fn lock(&self) -> Result<FileLock, StoreError> {
        let until = Instant::now() + self.wait;
        loop {
            let file = self.open_to_write()?;
            match file.try_lock() {
                Ok(()) => {
                    let locked = FileLock(file);
                    // Whoever had the lock may have put another file in the place of this one.
                    if fs::metadata(&self.path).is_ok_and(|metadata| is_same(&locked.0, &metadata)) {
                        return Ok(locked);
                    }
                }
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => {
                    return Err(self.error(Fault::NotWritten(format!("no lock: {error}"))));
                }
            }
            if Instant::now() >= until {
                return Err(self.error(Fault::Busy(self.wait.as_millis())));
            }
            thread::sleep(PAUSE);
        }
    }

    /// Adds lines: when this returns, they are on the disk.
    pub(super) fn append(&self, FileLock(file): &mut FileLock, lines: &[u8]) -> Result<(), StoreError> {
        let end = without_signal(|| finish_last_line(file)).map_err(|error| self.not_written(&error))?;
        self.expect_room(end + lines.len() as u64)?;
        if let Err(error) = without_signal(|| file.write_all(lines)).and_then(|()| file.sync_data()) {
            // If this fails, too, what is left is a whole winner or is cut off by the next writer.
            let _ = file.set_len(end);
            return Err(self.not_written(&error));
        }
        if end == 0 {
            // Not every file system supports it.
            let _ = files::sync_folder(files::folder_of(&self.path));
        }
        Ok(())
    }

    /// Puts a new file in the place of the locked one.
    pub(super) fn replace(&self, _: &FileLock, lines: &[u8]) -> Result<(), StoreError> {
        self.expect_room(lines.len() as u64)?;
        without_signal(|| files::write(&self.path, lines)).map_err(|error| match error {
            error if is_refusal(&error) => self.error(Fault::ReadOnly(format!("its folder: {error}"))),
            error => self.not_written(&error),
        })
    }

    fn expect_room(&self, bytes: u64) -> Result<(), StoreError> {
        if bytes <= MOST_BYTES {
            return Ok(());
        }
        let reason = "it would have more than 64 MiB: `ckselect store prune` removes winners";
        Err(self.error(Fault::NotWritten(reason.to_owned())))
    }

    fn not_written(&self, error: &io::Error) -> StoreError {
        self.error(Fault::NotWritten(error.to_string()))
    }
}

fn is_refusal(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
}

fn is_same(file: &File, other: &Metadata) -> bool {
    file.metadata().is_ok_and(|file| (file.dev(), file.ino()) == (other.dev(), other.ino()))
}

/// The end of a file, where the next line begins. What a killed process left of a line is cut off; whatever
/// else has no end gets one.
fn finish_last_line(file: &mut File) -> io::Result<u64> {
    let len = file.metadata()?.len();
    let from = len.saturating_sub(LONGEST_LINE as u64);
    let mut tail = Vec::new();
    file.seek(SeekFrom::Start(from))?;
    file.read_to_end(&mut tail)?;
    let (whole, rest) = tail.split_at(whole_lines(&tail));
    if rest.is_empty() {
        return Ok(len);
    }
    if is_start(rest) && parse(rest).is_err() && (from == 0 || !whole.is_empty()) {
        let end = from + whole.len() as u64;
        file.set_len(end)?;
        return Ok(end);
    }
    file.write_all(b"\n")?;
    Ok(len + 1)
}
