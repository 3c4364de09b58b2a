//! One scope of a store: lookups in memory, writes through to the disk.

use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;

use super::database::{Database, Version};
use super::snapshot::{Snapshot, SnapshotRef, WinnerMap};
use super::winner::key_of;
use super::{Record, Scope, Store, StoreError, Winner, lock, rows};
use crate::problem::Problem;

/// After this many puts of this process the recent winners join the others.
const MOST_RECENT: usize = 256;

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
    /// The last version that was read.
    version: Option<Version>,
    /// The newest row that was read.
    last: i64,
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

    /// The currently known winners.
    pub fn snapshot(&self) -> SnapshotRef {
        SnapshotRef(self.snapshot.load())
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
        self.show(&state, key, winner.clone());
        let Some(database) = self.store.database() else { return Ok(Saved::MemoryOnly) };
        let saved = lock(database).keep(record)?;
        if saved == Saved::Disk {
            state.unsaved.remove(&key);
        }
        Ok(saved)
    }

    /// Puts a winner where lookups find it.
    fn show(&self, state: &State, key: Problem, winner: Winner) {
        let mut next = Snapshot::clone(&self.snapshot.load());
        next.recent.insert(key, winner);
        if next.recent.len() >= state.unsaved.len() + MOST_RECENT {
            let mut base = WinnerMap::clone(&next.base);
            let saved = |key: &Problem| !state.unsaved.contains_key(key);
            base.extend(next.recent.extract_if(|key, _| saved(key)));
            next.base = Arc::new(base);
        }
        self.snapshot.store(Arc::new(next));
    }

    /// Reads what other processes wrote, and writes what waits. Takes a few microseconds if there is neither.
    /// True if there was something to read.
    pub fn refresh(&self) -> Result<bool, StoreError> {
        self.exchange().0
    }

    /// The same, and what became of those that waited: what cannot be written can often be read.
    pub(crate) fn exchange(&self) -> (Result<bool, StoreError>, Result<(), StoreError>) {
        let Some(database) = self.store.database() else { return (Ok(false), Ok(())) };
        let mut state = lock(&self.state);
        let mut database = lock(database);
        let written = database.catch_up();
        let read = self.read(&mut state, &mut database);
        database.was_read(&read);
        (read, written)
    }

    /// Reads the winners if that has failed so far, unless the store should be left alone for now. Returns
    /// whether there are any.
    pub(crate) fn load_late(&self) -> bool {
        let loaded = lock(&self.state).version.is_some();
        let rests = || self.store.database().is_none_or(|database| lock(database).backlog.rests());
        !loaded && !rests() && self.refresh().unwrap_or(false)
    }

    fn read(&self, state: &mut State, database: &mut Database) -> Result<bool, StoreError> {
        let version = database.version()?;
        if version.is_none() || version == state.version {
            return Ok(false);
        }
        let same_file =
            version.map(|version| version.connection) == state.version.map(|version| version.connection);
        let since = if same_file { state.last } else { 0 };
        let Some(mut loaded) = database.read(|transaction| rows::load(transaction, &self.scope, since))?
        else {
            return Ok(false);
        };
        let current = self.snapshot.load();
        let (mut base, mut unreadable) = if since > 0 {
            (WinnerMap::clone(&current.base), current.unreadable)
        } else {
            Default::default()
        };
        base.extend(loaded.winners.drain(..));
        unreadable += loaded.unreadable;
        // The file's rows are a subset of those known here; if they are fewer, some were removed.
        if since > 0 && base.len() + unreadable != loaded.total {
            let Some(whole) = database.read(|transaction| rows::load(transaction, &self.scope, 0))? else {
                return Ok(false);
            };
            loaded = whole;
            base = loaded.winners.drain(..).collect();
            unreadable = loaded.unreadable;
        }
        state.unsaved.retain(|key, winner| base.get(key).is_none_or(|saved| winner.supersedes(saved)));
        let next = Snapshot {
            arch: self.scope.arch,
            base: Arc::new(base),
            recent: state.unsaved.clone(),
            unreadable,
        };
        self.snapshot.store(Arc::new(next));
        state.version = version;
        state.last = loaded.last;
        Ok(true)
    }
}
