//! Winners that could not be written yet, and when to try again.

use std::path::Path;
use std::time::{Duration, Instant};

use super::{Record, StoreError, StoreStatus};
use crate::log::{self, Level};

/// How long a store is left alone after a failure; doubled with each further failure.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Winners that a store still has to write, and why they wait.
#[derive(Default)]
pub(super) struct Backlog {
    pub(super) waiting: Vec<Record>,
    trouble: Option<Trouble>,
}

struct Trouble {
    reason: String,
    pause: Duration,
    again: Instant,
}

impl Backlog {
    pub(super) fn status(&self) -> StoreStatus {
        let reason = self.trouble.as_ref().map(|trouble| trouble.reason.clone());
        StoreStatus { waiting: self.waiting.len(), reason }
    }

    /// Whether the store is still left alone after a failure.
    pub(super) fn is_paused(&self) -> bool {
        self.trouble.as_ref().is_some_and(|trouble| Instant::now() < trouble.again)
    }

    /// Adds a winner, in place of an earlier one for its problem.
    pub(super) fn push(&mut self, record: Record) {
        let same = |known: &&mut Record| known.problem == record.problem && known.scope == record.scope;
        match self.waiting.iter_mut().find(same) {
            Some(known) => *known = record,
            None => self.waiting.push(record),
        }
    }

    /// Notes a failure: the store is left alone for a while. A new reason is logged.
    pub(super) fn failed(&mut self, error: &StoreError) {
        let reason = error.to_string();
        let pause =
            self.trouble.as_ref().map_or(FIRST_PAUSE, |trouble| (trouble.pause * 2).min(LONGEST_PAUSE));
        if self.trouble.as_ref().is_none_or(|trouble| trouble.reason != reason) {
            let then = "until it can be used, selections continue and new winners are kept in memory";
            log::line(Level::Warn, "store", format_args!("{reason}; {then}"));
        }
        self.trouble = Some(Trouble { reason, pause, again: Instant::now() + pause });
    }

    /// Notes a success: those that waited are written.
    pub(super) fn recovered(&mut self, path: &Path) {
        let written = std::mem::take(&mut self.waiting).len();
        if self.trouble.take().is_some() {
            let path = path.display();
            let text =
                format_args!("store {path}: can be used again; {written} waiting winners were written");
            log::line(Level::Info, "store", text);
        }
    }
}
