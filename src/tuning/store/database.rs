//! The file as one process sees it: transactions, and a connection that is renewed when necessary.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Transaction, TransactionBehavior};

use super::backlog::Backlog;
use super::connect::{self, Live, Refused, retry};
use super::winners::Saved;
use super::{Mode, Record, StoreError, StoreOptions, rows};

/// How long a process that ends waits for others if it has unwritten winners, which took longer to measure.
const LAST_WAIT: Duration = Duration::from_secs(2);

/// What a reader has seen: as long as it is unchanged, there is nothing new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Version {
    /// Which connection; a new one may be another file.
    pub(super) connection: u64,
    /// SQLite's count of what other connections committed.
    others: i64,
    /// What this connection committed.
    own: u64,
}

pub(super) struct Database {
    path: PathBuf,
    mode: Mode,
    options: StoreOptions,
    live: Option<Live>,
    opened: u64,
    commits: u64,
    pub(super) backlog: Backlog,
}

impl Database {
    /// The file at a path, which is opened on first use.
    pub(super) fn new(path: &Path, mode: Mode, options: StoreOptions) -> Self {
        let path = path.to_owned();
        Self { path, mode, options, live: None, opened: 0, commits: 0, backlog: Backlog::default() }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) const fn mode(&self) -> Mode {
        self.mode
    }

    /// Why it is read-only, as far as known.
    pub(super) fn read_only(&self) -> Option<String> {
        match (self.mode, self.live.as_ref().and_then(|live| live.read_only.as_ref())) {
            (Mode::ReadWrite, Some(error)) => Some(error.cause()),
            (Mode::ReadWrite, None) => None,
            (Mode::ReadOnly | Mode::Disabled, _) => Some("it was opened read-only".to_owned()),
        }
    }

    fn connect(&mut self) -> Result<(), StoreError> {
        self.live = if self.mode == Mode::ReadWrite {
            match connect::read_write(&self.path, &self.options) {
                Ok(live) => Some(live),
                Err(Refused::NotWritable(error)) => {
                    // If the file cannot be read either, the first error is the more helpful one.
                    let Ok(Some(mut live)) = connect::read_only(&self.path, &self.options) else {
                        return Err(error);
                    };
                    live.read_only = Some(error);
                    Some(live)
                }
                Err(Refused::Unusable(error)) => return Err(error),
            }
        } else {
            connect::read_only(&self.path, &self.options)?
        };
        self.opened += 1;
        Ok(())
    }

    /// Opens the file unless it is open, and reopens it if the connection must no longer be used. Returns
    /// `None` if there is nothing to read yet.
    pub(super) fn open(&mut self) -> Result<Option<&mut Live>, StoreError> {
        self.leave_to_parent();
        if self.live.as_ref().is_some_and(|live| !live.is_current(&self.path)) {
            self.live = None;
        }
        if self.live.is_none() {
            self.connect()?;
        }
        Ok(self.live.as_mut())
    }

    /// Forgets a connection that belongs to the parent process, which even closing it would disturb.
    fn leave_to_parent(&mut self) {
        if self.live.as_ref().is_some_and(|live| live.pid != std::process::id()) {
            std::mem::forget(self.live.take());
        }
    }

    pub(super) fn version(&mut self) -> Result<Option<Version>, StoreError> {
        let (until, own) = (self.options.until(), self.commits);
        let Some(live) = self.open()? else { return Ok(None) };
        let others = retry(until, || live.data_version()).map_err(|error| self.error(&error))?;
        Ok(Some(Version { connection: self.opened, others, own }))
    }

    /// Runs `work` on one consistent state. `None` if there is nothing to read yet.
    pub(super) fn read<T>(
        &mut self,
        mut work: impl FnMut(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        let until = self.options.until();
        // A file that is read without locks may change meanwhile; then the results are discarded.
        for _ in 0..4 {
            let Some(live) = self.open()? else { return Ok(None) };
            let result = retry(until, || live.transact(TransactionBehavior::Deferred, &mut work));
            if self.live.as_ref().is_some_and(|live| live.is_current(&self.path)) {
                return result.map(Some).map_err(|error| self.error(&error));
            }
        }
        Err(StoreError::Busy { path: self.path.display().to_string(), waited_ms: 0 })
    }

    /// Runs `work` and commits it; once this returns, it is on the disk.
    pub(super) fn write<T>(
        &mut self,
        mut work: impl FnMut(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let until = self.options.until();
        if self.mode == Mode::ReadWrite {
            // A read-only file may have become writable.
            self.live.take_if(|live| live.read_only.is_some() && live.pid == std::process::id());
            // A renewed connection may turn out to be read-only.
            self.open()?;
        }
        if self.mode != Mode::ReadWrite || self.is_locked_out() {
            return Err(self.not_writable());
        }
        let Some(live) = &mut self.live else { return Err(self.not_writable()) };
        match retry(until, || live.transact(TransactionBehavior::Immediate, &mut work)) {
            Ok(value) => {
                self.commits += 1;
                Ok(value)
            }
            Err(error) => Err(self.error(&error)),
        }
    }

    /// Writes a winner, and the waiting ones. While the store is left alone, it joins them.
    pub(super) fn keep(&mut self, record: Record) -> Result<Saved, StoreError> {
        if self.mode != Mode::ReadWrite {
            return Err(self.not_writable());
        }
        if self.backlog.rests() {
            self.backlog.push(record);
            return Ok(Saved::Later);
        }
        let waiting = self.backlog.take();
        let written = self.write(|transaction| {
            rows::merge(transaction, &waiting)?;
            rows::replace(transaction, &record)
        });
        let count = waiting.len();
        if written.is_err() {
            self.backlog.put_back(waiting);
            self.backlog.push(record);
        }
        self.wrote(written, count).map(|()| Saved::Disk)
    }

    /// Writes the waiting winners, even if the store should be left alone.
    pub(super) fn catch_up(&mut self) -> Result<(), StoreError> {
        let waiting = self.backlog.take();
        if waiting.is_empty() {
            return Ok(());
        }
        let written = self.write(|transaction| rows::merge(transaction, &waiting).map(|_| ()));
        let count = waiting.len();
        if written.is_err() {
            self.backlog.put_back(waiting);
        }
        self.wrote(written, count)
    }

    /// Records the result of an attempt to write, which included `count` waiting winners.
    fn wrote(&mut self, written: Result<(), StoreError>, count: usize) -> Result<(), StoreError> {
        match &written {
            Ok(()) => self.backlog.recovered(&self.path, count),
            Err(error) => self.backlog.failed(error),
        }
        written
    }

    /// Records the result of an attempt to read.
    pub(super) fn was_read<T>(&mut self, read: &Result<T, StoreError>) {
        match read {
            Err(error) => self.backlog.failed(error),
            Ok(_) if self.backlog.is_empty() && !self.is_locked_out() => {
                self.backlog.recovered(&self.path, 0);
            }
            Ok(_) => {}
        }
    }

    /// Records that a file is read-only.
    pub(super) fn note_read_only(&mut self) {
        if let Some(error) = self.live.as_ref().and_then(|live| live.read_only.as_ref())
            && self.backlog.reason().is_none()
        {
            self.backlog.failed(error);
        }
    }

    fn is_locked_out(&self) -> bool {
        self.live.as_ref().is_some_and(|live| live.read_only.is_some())
    }

    fn not_writable(&self) -> StoreError {
        let path = self.path.display().to_string();
        StoreError::ReadOnly { path, reason: self.read_only().unwrap_or_default() }
    }

    /// Checks every page of the file.
    pub(super) fn check(&mut self) -> Result<(), StoreError> {
        let found = self.read(|transaction| {
            transaction.query_row("PRAGMA integrity_check(1)", [], |row| row.get::<_, String>(0))
        })?;
        match found {
            Some(reason) if reason != "ok" => {
                Err(StoreError::Damaged { path: self.path.display().to_string(), reason })
            }
            _ => Ok(()),
        }
    }

    fn error(&self, error: &rusqlite::Error) -> StoreError {
        StoreError::of(&self.path, error, self.options.wait_ms())
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.options.wait = self.options.wait.max(LAST_WAIT);
        if let Err(error) = self.catch_up() {
            self.backlog.lost(&error);
        }
        self.leave_to_parent();
    }
}
