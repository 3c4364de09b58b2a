//! One scope of a store: lookups in memory, writes through to the disk.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::ops::Deref;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use ck_select_model::hash::FastHasher;

use super::contents::Contents;
use super::file::{FileSnapshot, StoreFile};
use super::winner::key_of;
use super::{Record, Scope, Store, StoreError, Winner, lock};
use crate::log::{self, Level};
use crate::problem::Problem;
use crate::vocab::Arch;

/// This many lines may be replaced by later ones, or as many as still count, before the file is written anew.
const MOST_REPLACED: usize = 1000;

/// The state of a winner after a successful put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saved {
    /// The winner is on disk, even after a crash of the process or the machine.
    Disk,
    /// The winner is in this process only: the store is switched off.
    MemoryOnly,
    /// The winner is in this process until the store can be written: writing recently failed, and waits for a while.
    Pending,
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
    /// The state for changing the snapshot, by one thread at a time.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    seen: Option<FileSnapshot>,
    is_loaded: bool,
    /// The number of lines that this version of the library cannot read.
    unreadable: usize,
}

impl Winners {
    /// Does not read anything yet.
    pub(crate) fn new(store: Store, scope: Scope) -> Result<Self, StoreError> {
        scope.validate()?;
        let snapshot = ArcSwap::from_pointee(Snapshot::empty(scope.arch));
        Ok(Self { store, scope, snapshot, state: Mutex::default() })
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
    /// [`Saved::Disk`], it is on the disk, too. After an error and after [`Saved::Pending`] it is only known
    /// to this process, and is written together with a later winner, by [`Winners::refresh`], by
    /// [`Store::flush`], or when the store is dropped. A store that was opened for reading refuses it, and it
    /// is known until the file changes. After an error the store is left alone for a second, and twice as
    /// long after each further failure, up to a minute. A winner with invalid fields, or for another
    /// architecture, is refused and not kept anywhere.
    pub fn put(&self, problem: &Problem, winner: &Winner) -> Result<Saved, StoreError> {
        let record = Record::new(self.scope.clone(), problem, winner.clone())?;
        let _one_at_a_time = lock(&self.state);
        let mut next = Snapshot::clone(&self.snapshot.load());
        next.winners.insert(record.problem, winner.clone());
        self.snapshot.store(Arc::new(next));
        let Some(file) = self.store.file() else { return Ok(Saved::MemoryOnly) };
        lock(file).keep(record)
    }

    /// Reads what other processes wrote, and writes what waits. Takes a few microseconds if there is neither.
    /// True if there was something to read. What others wrote is read even if it is an error that what waits
    /// cannot be written.
    pub fn refresh(&self) -> Result<bool, StoreError> {
        let Some(file) = self.store.file() else { return Ok(false) };
        let (mut state, mut file) = (lock(&self.state), lock(file));
        let written = file.catch_up();
        let read = self.read(&mut state, &mut file);
        file.note_read(&read);
        written.and(read)
    }

    /// Reads the winners if that has failed so far, unless the store should be left alone for now. For a
    /// caller who continues without them: the store's status has an error, and so has the log.
    pub(crate) fn load_late(&self) {
        let loaded = lock(&self.state).is_loaded;
        let is_paused = || self.store.file().is_none_or(|file| lock(file).backlog.is_paused());
        if !loaded && !is_paused() {
            let _ = self.refresh();
        }
    }

    fn read(&self, state: &mut State, file: &mut StoreFile) -> Result<bool, StoreError> {
        let news = file.news(&mut state.seen)?;
        state.is_loaded = true;
        let Some(Contents { records, replaced, unreadable }) = news else { return Ok(false) };
        if unreadable.len() > state.unreadable {
            let (path, count) = (file.path.display(), unreadable.len());
            log::line(Level::Warn, "store", format_args!("store {path}: {count} lines cannot be read"));
        }
        state.unreadable = unreadable.len();
        file.is_crowded |= replaced > records.len().max(MOST_REPLACED);
        let mut next = Snapshot::empty(self.scope.arch);
        let mine = |record: &&Record| record.scope == self.scope;
        for Record { problem, winner, .. } in records.iter().chain(&file.backlog.waiting).filter(mine) {
            if next.winners.get(problem).is_none_or(|saved| winner.supersedes(saved)) {
                next.winners.insert(*problem, winner.clone());
            }
        }
        self.snapshot.store(Arc::new(next));
        Ok(true)
    }
}

type WinnerMap = HashMap<Problem, Winner, BuildHasherDefault<FastHasher>>;

/// The winners of one scope at one moment, immutable.
#[derive(Debug, Clone)]
pub struct Snapshot {
    arch: Arch,
    winners: WinnerMap,
}

impl Snapshot {
    fn empty(arch: Arch) -> Self {
        Self { arch, winners: WinnerMap::default() }
    }

    /// The measured winner for a problem. A problem for another architecture than the scope's has none.
    pub fn get(&self, problem: &Problem) -> Option<&Winner> {
        match problem.arch() {
            None => self.winners.get(problem),
            Some(arch) if arch == self.arch => self.winners.get(&problem.on(None)),
            Some(_) => None,
        }
    }

    /// How many problems have a winner.
    pub fn count(&self) -> usize {
        self.winners.len()
    }
}
