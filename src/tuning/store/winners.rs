//! One scope of a store: lookups in memory, writes through to the disk.

use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;

use super::database::Version;
use super::snapshot::{Snapshot, SnapshotRef, WinnerMap};
use super::winner::key_of;
use super::{Scope, Store, StoreError, Winner, lock, rows};
use crate::problem::Problem;

/// After so many puts of this process the recent winners join the others.
const MOST_RECENT: usize = 256;

/// Where a winner is after a put that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saved {
    /// On the disk, also after a crash of the process or of the machine.
    Disk,
    /// In this process only: the store is switched off.
    MemoryOnly,
}

/// The winners of one scope of a [`Store`].
///
/// [`Winners::snapshot`] is for the hot path: it takes no lock, reads no file, makes no system call, and allocates
/// nothing after a thread's first call. [`Winners::put`] and [`Winners::refresh`] may wait for other processes; call
/// them elsewhere.
pub struct Winners {
    store: Store,
    scope: Scope,
    snapshot: ArcSwap<Snapshot>,
    /// For those who change the snapshot, one at a time.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// What was read last.
    version: Option<Version>,
    /// The newest row that was read.
    last: i64,
    /// What could not be written: known to this process only.
    unsaved: WinnerMap,
}

impl Winners {
    pub(super) fn load(store: Store, scope: Scope) -> Result<Self, StoreError> {
        scope.validate()?;
        let snapshot = ArcSwap::from_pointee(Snapshot::empty(scope.arch));
        let winners = Self { store, scope, snapshot, state: Mutex::default() };
        winners.refresh()?;
        Ok(winners)
    }

    /// The scope.
    pub const fn scope(&self) -> &Scope {
        &self.scope
    }

    /// The store.
    pub const fn store(&self) -> &Store {
        &self.store
    }

    /// The winners that are known now.
    pub fn snapshot(&self) -> SnapshotRef {
        SnapshotRef(self.snapshot.load())
    }

    /// Keeps the winner for a problem, in place of an older one: what was measured last counts, also when another
    /// process measured the same.
    ///
    /// The winner is in memory first, so lookups find it whatever happens to the file. When this returns
    /// [`Saved::Disk`], it is on the disk, too. After an error it is known to this process only. A winner with
    /// senseless fields, or for another architecture, is refused and kept nowhere.
    pub fn put(&self, problem: &Problem, winner: &Winner) -> Result<Saved, StoreError> {
        winner.validate()?;
        let key = key_of(&self.scope, problem)?;
        let mut state = lock(&self.state);
        state.unsaved.insert(key, winner.clone());
        self.publish(&state, key, winner.clone());
        let Some(database) = self.store.database() else { return Ok(Saved::MemoryOnly) };
        lock(database).write(|transaction| rows::replace(transaction, &self.scope, &key, winner))?;
        state.unsaved.remove(&key);
        Ok(Saved::Disk)
    }

    fn publish(&self, state: &State, key: Problem, winner: Winner) {
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

    /// Takes in what other processes wrote. Costs a few microseconds when they wrote nothing. True when there was
    /// something to read.
    pub fn refresh(&self) -> Result<bool, StoreError> {
        let Some(database) = self.store.database() else { return Ok(false) };
        let mut state = lock(&self.state);
        let mut database = lock(database);
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
        // The file's rows are among those known here; when they are fewer, some were removed.
        if since > 0 && base.len() + unreadable != loaded.total {
            let Some(whole) = database.read(|transaction| rows::load(transaction, &self.scope, 0))? else {
                return Ok(false);
            };
            loaded = whole;
            base = loaded.winners.drain(..).collect();
            unreadable = loaded.unreadable;
        }
        drop(database);
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
