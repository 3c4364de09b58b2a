//! What handles of a store share: changing its file, and winners that wait.

use std::mem;
use std::time::Duration;

use super::contents::Contents;
use super::file::StoreFile;
use super::lines::json_lines;
use super::winners::Saved;
use super::{Record, StoreError};
use crate::log::{self, Level};

/// How long a process that ends waits for others if it has unwritten winners, which took longer to measure.
const LAST_WAIT: Duration = Duration::from_secs(2);

impl StoreFile {
    /// Puts changed contents in the place of the file.
    pub(super) fn rewrite<T>(&mut self, change: impl FnOnce(&mut Contents) -> T) -> Result<T, StoreError> {
        let locked = self.lock()?;
        let mut contents = self.contents_of(&locked.0)?;
        let value = change(&mut contents);
        self.replace(&locked, &contents.to_lines()).map(|()| value)
    }

    /// Adds the waiting winners, unless there are better ones meanwhile, and one that replaces any other.
    fn add(&mut self, put: Option<&Record>) -> Result<(), StoreError> {
        if mem::take(&mut self.is_crowded) {
            // Lines can be added even where a file cannot be replaced.
            let _ = self.rewrite(|_| ());
        }
        let mut locked = self.lock()?;
        let waiting = &self.backlog.waiting;
        let known = if waiting.is_empty() { Contents::default() } else { self.contents_of(&locked.0)? };
        let (_, better) = known.merge(waiting);
        self.append(&mut locked, &json_lines(better.into_iter().chain(put)))
    }

    /// Adds them, and lets wait what cannot be written.
    fn write(&mut self, put: Option<Record>) -> Result<(), StoreError> {
        let written = self.add(put.as_ref());
        match &written {
            Ok(()) => self.backlog.recovered(&self.path),
            Err(error) => {
                self.backlog.failed(error);
                if let Some(record) = put {
                    self.backlog.push(record);
                }
            }
        }
        written
    }

    /// Writes a winner, and the waiting ones. While the store is left alone, it joins them.
    pub(super) fn keep(&mut self, record: Record) -> Result<Saved, StoreError> {
        self.check_mode()?;
        if self.backlog.is_paused() {
            self.backlog.push(record);
            return Ok(Saved::Pending);
        }
        self.write(Some(record)).map(|()| Saved::Disk)
    }

    /// Writes the waiting winners, even if the store should be left alone.
    pub(super) fn catch_up(&mut self) -> Result<(), StoreError> {
        if self.backlog.waiting.is_empty() { Ok(()) } else { self.write(None) }
    }

    pub(super) fn note_read<T>(&mut self, read: &Result<T, StoreError>) {
        match read {
            Err(error) => self.backlog.failed(error),
            Ok(_) if self.backlog.waiting.is_empty() => self.backlog.recovered(&self.path),
            Ok(_) => {}
        }
    }
}

impl Drop for StoreFile {
    fn drop(&mut self) {
        self.wait = self.wait.max(LAST_WAIT);
        if let Err(error) = self.catch_up() {
            let count = self.backlog.waiting.len();
            log::line(Level::Warn, "store", format_args!("{count} winners are lost: {error}"));
        }
    }
}
