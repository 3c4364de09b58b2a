//! What handles of a store share: reading all of its file, changing it, and winners that wait.

use std::mem;
use std::time::Duration;

use super::contents::{Contents, Merged, first_fault, json_lines};
use super::file::{OPENED_TO_READ, StoreFile};
use super::winners::Saved;
use super::{Fault, Mode, Record, StoreError};

/// How long a process that ends waits for others if it has unwritten winners, which took longer to measure.
const LAST_WAIT: Duration = Duration::from_secs(2);

impl StoreFile {
    /// Why it is read-only, as far as known.
    pub(super) fn read_only(&self) -> Option<String> {
        match &self.locked_out {
            _ if self.mode != Mode::ReadWrite => Some(OPENED_TO_READ.to_owned()),
            Some(StoreError::File { fault: Fault::ReadOnly(reason), .. }) => Some(reason.clone()),
            error => error.as_ref().map(ToString::to_string),
        }
    }

    /// The records, and the number of lines that cannot be read.
    pub(super) fn records(&self) -> Result<(Vec<Record>, usize), StoreError> {
        let text = self.text()?;
        let contents = Contents::of(&text);
        Ok((contents.records, contents.unreadable.len()))
    }

    /// An error names the first line that cannot be read.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        first_fault(&self.text()?).map_or(Ok(()), |fault| Err(self.error(Fault::Damaged(fault))))
    }

    /// Removes winners.
    pub(super) fn remove(&mut self, is_removed: impl Fn(&Record) -> bool) -> Result<usize, StoreError> {
        self.rewrite(|contents| contents.records.extract_if(.., |record| is_removed(record)).count())
    }

    /// Adds records, all or none, unless there are better ones.
    pub(super) fn merge(&mut self, records: &[Record]) -> Result<Merged, StoreError> {
        self.rewrite(|contents| {
            let (merged, better) = contents.merge(records);
            contents.records.extend(better.into_iter().cloned());
            merged
        })
    }

    fn rewrite<T>(&mut self, change: impl FnOnce(&mut Contents<'_>) -> T) -> Result<T, StoreError> {
        let locked = self.lock()?;
        let text = self.locked_text(&locked)?;
        let mut contents = Contents::of(&text);
        let value = change(&mut contents);
        self.replace(&locked, &contents.to_lines()).map(|()| value)
    }

    /// Adds the waiting winners, unless there are better ones meanwhile, and one that replaces any other.
    fn write(&mut self, put: Option<&Record>) -> Result<(), StoreError> {
        if mem::take(&mut self.is_crowded) {
            // Lines can be added even where a file cannot be replaced.
            let _ = self.rewrite(|_| ());
        }
        let mut locked = self.lock()?;
        let waiting = self.backlog.waiting();
        let text = if waiting.is_empty() { Vec::new() } else { self.locked_text(&locked)? };
        let (_, better) = Contents::of(&text).merge(waiting);
        self.append(&mut locked, &json_lines(better.into_iter().chain(put)))
    }

    /// Writes a winner, and the waiting ones. While the store is left alone, it joins them.
    pub(super) fn keep(&mut self, record: Record) -> Result<Saved, StoreError> {
        if self.mode != Mode::ReadWrite {
            return Err(self.error(Fault::ReadOnly(OPENED_TO_READ.to_owned())));
        }
        if self.backlog.rests() {
            self.backlog.push(record);
            return Ok(Saved::Later);
        }
        let written = self.write(Some(&record));
        if written.is_err() {
            self.backlog.push(record);
        }
        self.note_write(written).map(|()| Saved::Disk)
    }

    /// Writes the waiting winners, even if the store should be left alone.
    pub(super) fn catch_up(&mut self) -> Result<(), StoreError> {
        if self.backlog.waiting().is_empty() {
            return Ok(());
        }
        let written = self.write(None);
        self.note_write(written)
    }

    fn note_write(&mut self, written: Result<(), StoreError>) -> Result<(), StoreError> {
        match &written {
            Ok(()) => self.backlog.recovered(&self.path),
            Err(error) => self.backlog.failed(error),
        }
        written
    }

    pub(super) fn note_read<T>(&mut self, read: &Result<T, StoreError>) {
        match read {
            Err(error) => self.backlog.failed(error),
            Ok(_) if self.backlog.waiting().is_empty() && self.locked_out.is_none() => {
                self.backlog.recovered(&self.path);
            }
            Ok(_) => {}
        }
    }

    pub(super) fn note_read_only(&mut self) {
        if let (Some(error), None) = (&self.locked_out, self.backlog.reason()) {
            self.backlog.failed(error);
        }
    }
}

impl Drop for StoreFile {
    fn drop(&mut self) {
        self.wait = self.wait.max(LAST_WAIT);
        if let Err(error) = self.catch_up() {
            self.backlog.lost(&error);
        }
    }
}
