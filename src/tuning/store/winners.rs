//! One scope of a store: lookups in memory, writes through to the disk.

use std::ops::Deref;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;

use super::contents::lines;
use super::exchange::Line;
use super::file::{Seen, StoreFile};
use super::snapshot::{Snapshot, WinnerMap};
use super::winner::key_of;
use super::{Record, Scope, Store, StoreError, Winner, lock};
use crate::log::{self, Level};
use crate::problem::Problem;

/// So many lines may be replaced by later ones, or as many as count, before the file is written anew.
const MOST_REPLACED: usize = 1000;

/// Where a winner is after a successful put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saved {
    /// On disk, even after a crash of the process or the machine.
    Disk,
    /// In this process only: the store is switched off.
    MemoryOnly,
    /// In this process, until the store can be written: it recently failed, and is left alone for a while.
    Later,
}

/// The winners of one scope of a [`Store`].
///
/// [`Winners::snapshot`] is for the hot path: it takes no lock, reads no file, makes no system call, and
/// allocates nothing after a thread's first call. [`Winners::put`] and [`Winners::refresh`] may wait for
/// other processes; call them elsewhere.
pub struct Winners {
    store: Store,
    scope: Scope,
    snapshot: ArcSwap<Snapshot>,
    /// For changing the snapshot, one thread at a time.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    seen: Option<Seen>,
    is_loaded: bool,
    /// Winners that could not be written, known only to this process.
    unsaved: WinnerMap,
}

impl Winners {
    /// Does not read anything yet.
    pub(super) fn new(store: Store, scope: Scope) -> Result<Self, StoreError> {
        scope.validate()?;
        let snapshot = ArcSwap::from_pointee(Snapshot::empty(scope.arch));
        Ok(Self { store, scope, snapshot, state: Mutex::default() })
    }

    /// The scope.
    pub const fn scope(&self) -> &Scope {
        &self.scope
    }

    /// The store.
    pub const fn store(&self) -> &Store {
        &self.store
    }

    /// The currently known winners. Do not keep them longer than one selection: an old snapshot stays in
    /// memory.
    pub fn snapshot(&self) -> impl Deref<Target = Arc<Snapshot>> + use<> {
        self.snapshot.load()
    }

    /// Whether a winner for this problem could be kept: the problem must not name another architecture.
    pub(crate) fn takes(&self, problem: &Problem) -> Result<(), StoreError> {
        key_of(&self.scope, problem).map(drop)
    }

    /// Keeps the winner for a problem, replacing an older one: the last measurement counts, even if another
    /// process measured the same problem.
    ///
    /// The winner is put into memory first, so lookups find it regardless of the file. When this returns
    /// [`Saved::Disk`], it is on the disk, too. After an error and after [`Saved::Later`] it is only known to
    /// this process, and is written together with a later winner, by [`Winners::refresh`], by
    /// [`Store::flush`], or when the store is dropped, unless the store was opened for reading. After an
    /// error the store is left alone for a second, and twice as long after each further failure, up to a
    /// minute. A winner with invalid fields, or for another architecture, is refused and not kept anywhere.
    pub fn put(&self, problem: &Problem, winner: &Winner) -> Result<Saved, StoreError> {
        let record = Record::new(self.scope.clone(), problem, winner.clone())?;
        let key = record.problem;
        let mut state = lock(&self.state);
        state.unsaved.insert(key, winner.clone());
        let mut next = Snapshot::clone(&self.snapshot.load());
        next.winners.insert(key, winner.clone());
        self.snapshot.store(Arc::new(next));
        let Some(file) = self.store.file() else { return Ok(Saved::MemoryOnly) };
        let saved = lock(file).keep(record)?;
        if saved == Saved::Disk {
            state.unsaved.remove(&key);
        }
        Ok(saved)
    }

    /// Reads what other processes wrote, and writes what waits. Takes a few microseconds if there is neither.
    /// True if there was something to read.
    pub fn refresh(&self) -> Result<bool, StoreError> {
        self.exchange().0
    }

    /// The same, and what became of those that waited: what cannot be written can often be read.
    pub(crate) fn exchange(&self) -> (Result<bool, StoreError>, Result<(), StoreError>) {
        let Some(file) = self.store.file() else { return (Ok(false), Ok(())) };
        let mut state = lock(&self.state);
        let mut file = lock(file);
        let written = file.catch_up();
        let read = self.read(&mut state, &mut file);
        file.note_read(&read);
        (read, written)
    }

    /// Reads the winners if that has failed so far, unless the store should be left alone for now. Returns
    /// whether there are any.
    pub(crate) fn load_late(&self) -> bool {
        let loaded = lock(&self.state).is_loaded;
        let rests = || self.store.file().is_none_or(|file| lock(file).backlog.rests());
        !loaded && !rests() && self.refresh().unwrap_or(false)
    }

    fn read(&self, state: &mut State, file: &mut StoreFile) -> Result<bool, StoreError> {
        let text = file.news(&mut state.seen)?;
        state.is_loaded = true;
        let Some(text) = text else { return Ok(false) };
        // Lines that no longer count, because later ones replaced them.
        let (mut next, mut replaced) = (Snapshot::empty(self.scope.arch), 0);
        for (_, line) in lines(&text) {
            match Line::parse(line).map(|line| line.is_of(&self.scope).then(|| line.record())) {
                Ok(None) => {}
                Ok(Some(Ok(record))) => {
                    let before = next.winners.insert(record.problem, record.winner);
                    replaced += usize::from(before.is_some());
                }
                Ok(Some(Err(_))) | Err(_) => next.unreadable += 1,
            }
        }
        if next.unreadable > self.snapshot.load().unreadable {
            let (path, count) = (file.path.display(), next.unreadable);
            log::line(Level::Warn, "store", format_args!("store {path}: {count} lines cannot be read"));
        }
        file.is_crowded |= replaced > next.len().max(MOST_REPLACED);
        let is_newer = |key: &Problem, winner: &Winner| {
            next.winners.get(key).is_none_or(|saved| winner.supersedes(saved))
        };
        state.unsaved.retain(|key, winner| is_newer(key, winner));
        next.winners.extend(state.unsaved.clone());
        self.snapshot.store(Arc::new(next));
        Ok(true)
    }
}
