//! The file as one process sees it: transactions, and a connection that is renewed when it must be.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::connect::{self, Live, Refused, retry};
use super::{Mode, StoreError, StoreOptions};

/// What a reader has seen: while it is the same, there is nothing new.
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
    options: StoreOptions,
    /// Why nothing is written.
    read_only: Option<String>,
    live: Option<Live>,
    opened: u64,
    commits: u64,
}

impl Database {
    pub(super) fn open(path: &Path, mode: Mode, options: StoreOptions) -> Result<Self, StoreError> {
        let mut database =
            Self { path: path.to_owned(), options, read_only: None, live: None, opened: 0, commits: 0 };
        if mode == Mode::ReadOnly {
            database.read_only = Some("it was opened for reading".to_owned());
        }
        database.connect()?;
        Ok(database)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn read_only(&self) -> Option<&str> {
        self.read_only.as_deref()
    }

    fn connect(&mut self) -> Result<(), StoreError> {
        self.live = if self.read_only.is_some() {
            connect::read_only(&self.path, &self.options)?
        } else {
            match connect::read_write(&self.path, &self.options) {
                Ok(live) => Some(live),
                Err(Refused::NotWritable(error)) => {
                    // Without a file that can be read, the first error is the one that helps.
                    let Ok(Some(live)) = connect::read_only(&self.path, &self.options) else {
                        return Err(error);
                    };
                    self.read_only = Some(match error {
                        StoreError::ReadOnly { reason, .. } | StoreError::Unreachable { reason, .. } => {
                            reason
                        }
                        other => other.to_string(),
                    });
                    Some(live)
                }
                Err(Refused::Unusable(error)) => return Err(error),
            }
        };
        self.opened += 1;
        Ok(())
    }

    /// The connection, a new one where the old must not be used any more. `None` when there is nothing to read yet.
    fn connection(&mut self) -> Result<Option<&mut Connection>, StoreError> {
        if self.live.as_ref().is_some_and(|live| live.pid != std::process::id()) {
            // It belongs to the parent of this process, which even closing would disturb.
            std::mem::forget(self.live.take());
        }
        if self.live.as_ref().is_some_and(|live| !live.is_current(&self.path)) {
            self.live = None;
        }
        if self.live.is_none() {
            self.connect()?;
        }
        Ok(self.live.as_mut().map(|live| &mut live.connection))
    }

    pub(super) fn version(&mut self) -> Result<Option<Version>, StoreError> {
        let (wait, own) = (self.options.wait, self.commits);
        let Some(connection) = self.connection()? else { return Ok(None) };
        let others = retry(wait, || connection.query_row("PRAGMA data_version", [], |row| row.get(0)))
            .map_err(|error| self.error(&error))?;
        Ok(Some(Version { connection: self.opened, others, own }))
    }

    /// Runs `work` on one consistent state. `None` when there is nothing to read yet.
    pub(super) fn read<T>(
        &mut self,
        mut work: impl FnMut(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        let wait = self.options.wait;
        // A file that is read without locks may change meanwhile; then what was read counts for nothing.
        for _ in 0..4 {
            let Some(connection) = self.connection()? else { return Ok(None) };
            let result = retry(wait, || work(&connection.transaction()?));
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
        let wait = self.options.wait;
        if self.read_only.is_none() {
            // A renewed connection may turn out to be for reading only.
            self.connection()?;
        }
        let (None, Some(live)) = (&self.read_only, &mut self.live) else {
            return Err(StoreError::ReadOnly {
                path: self.path.display().to_string(),
                reason: self.read_only.clone().unwrap_or_default(),
            });
        };
        let connection = &mut live.connection;
        let result = retry(wait, || {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let value = work(&transaction)?;
            transaction.commit()?;
            Ok(value)
        });
        match result {
            Ok(value) => {
                self.commits += 1;
                Ok(value)
            }
            Err(error) => Err(self.error(&error)),
        }
    }

    /// Looks at every page of the file.
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
