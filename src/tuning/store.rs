//! The store: measured winners, kept on disk for many processes at once.
//!
//! A [`Store`] is one file, an SQLite database, that all ranks of a job read and write. [`Store::winners`]
//! loads one [`Scope`] of it (a device, a pool, the versions) into memory; from then on lookups use an
//! immutable table, and measurements are written through.
//!
//! ```
//! use ck_select::problem::{GemmProblem, Problem};
//! use ck_select::tuning::store::{Mode, PoolHash, Saved, Scope, Store, Winner, WinnerSource};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("winners.db");
//! let store = Store::open(&path, Mode::ReadWrite)?;
//! let pool = PoolHash::of_names(["kernel_a", "kernel_b"]);
//! let winners = store.winners(Scope::new("gfx950".parse()?, "AMD Instinct MI355X", pool, "hip 70051831"))?;
//!
//! let problem = Problem::Gemm(GemmProblem::new(128, 1536, 7168));
//! assert!(winners.snapshot().get(&problem).is_none());
//! let measured = Winner {
//!     kernel: "kernel_b".into(),
//!     median_ms: 0.0123,
//!     cv: 0.004,
//!     repeats: 20,
//!     candidates: 2,
//!     measured_at: Winner::now(),
//!     source: WinnerSource::Search,
//! };
//! assert_eq!(winners.put(&problem, &measured)?, Saved::Disk);
//! assert_eq!(&*winners.snapshot().get(&problem).unwrap().kernel, "kernel_b");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Which winner counts
//! The key is the problem and the scope. A put replaces the previous value: the last measurement counts. When
//! whole stores are merged ([`Store::merge`]), the newer winner is kept, or the faster of two from the same
//! second.
//!
//! # Crashes
//! A winner whose put returned [`Saved::Disk`] survives `kill -9` of any process and power loss, as far as
//! the disk keeps what it acknowledges (`synchronous=FULL`). A file that is damaged, newer than this library,
//! or not a store is refused and not modified. A store that is deleted while in use is recreated by the next
//! put.
//!
//! # Several hosts
//! On a local disk the store uses a write-ahead log, which needs memory shared by all its processes: one
//! host. On a file system that hosts share (NFS, Lustre, and so on; detected from Linux's mount table) the
//! store is created with a rollback journal instead, which is as correct as the file system's locks (NFS from
//! version 4 on, Lustre mounted with `flock`). Otherwise give each host its own file and merge them
//! afterwards.
//!
//! # Threads and forks
//! Everything here may be used from many threads. After `fork`, the child reopens the file by itself, if no
//! other thread was using the store at that moment. Several copies of this library in one process may use one
//! store on Linux (x86-64 and 64-bit ARM). Elsewhere do not open the file with another copy of SQLite in the
//! same process: closing it there would drop this copy's locks.

mod backlog;
mod connect;
mod database;
mod error;
mod exchange;
mod hash;
mod location;
mod locks;
mod rows;
mod schema;
mod scope;
mod snapshot;
mod winner;
mod winners;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use database::Database;
pub use error::StoreError;
pub use exchange::{RecordFormat, read_records, write_records};
pub(crate) use hash::StableHash;
pub use location::Location;
pub(crate) use location::cache_folder;
pub use rows::Merged;
pub use scope::{PoolHash, Scope};
pub use snapshot::{Snapshot, SnapshotRef};
pub use winner::{Record, Winner, WinnerSource};
pub use winners::{Saved, Winners};

use crate::vocab::{Arch, Op};

/// How a store is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Read and write; missing files, folders and tables are created. A store that is not writable is opened
    /// read-only, and [`Store::read_only`] says why.
    ReadWrite,
    /// Read only. A missing file counts as empty.
    ReadOnly,
    /// No file at all: winners live as long as their [`Winners`].
    Disabled,
}

/// How SQLite makes commits atomic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Journal {
    /// A write-ahead log: one disk write per commit, readers never wait. One host.
    Wal,
    /// A rollback journal: slower, for files shared between hosts.
    Delete,
}

impl Journal {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Wal => "wal",
            Self::Delete => "delete",
        }
    }
}

/// Settings of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreOptions {
    /// How long to wait for other processes.
    pub wait: Duration,
    /// Time limit of one transaction. A damaged file can make a query run forever; it is then stopped, and
    /// the file is refused.
    pub limit: Duration,
    /// The journal; `None` decides by the file system, and keeps that of an existing file on a local disk.
    pub journal: Option<Journal>,
}

impl Default for StoreOptions {
    /// Ten seconds of waiting for other processes, a minute per transaction, and the journal that suits the
    /// file system.
    fn default() -> Self {
        Self { wait: Duration::from_secs(10), limit: Duration::from_secs(60), journal: None }
    }
}

impl StoreOptions {
    /// The deadline for waiting, from now.
    fn until(&self) -> Instant {
        Instant::now() + self.wait
    }

    const fn wait_ms(&self) -> u64 {
        self.wait.as_millis() as u64
    }
}

/// The last known state of a store.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StoreStatus {
    /// Number of winners in memory that still have to be written.
    pub waiting: usize,
    /// Why the last use of the store failed; `None` if it did not.
    pub reason: Option<String>,
}

/// A filter for winners. Unset fields match all; the default matches all winners.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// Of this architecture.
    pub arch: Option<Arch>,
    /// Of this device.
    pub device: Option<String>,
    /// Of this pool.
    pub pool: Option<PoolHash>,
    /// Of any other pool.
    pub not_pool: Option<PoolHash>,
    /// Of this version of the library.
    pub library: Option<String>,
    /// Of this driver.
    pub driver: Option<String>,
    /// Of this operation.
    pub op: Option<Op>,
    /// Won by this kernel.
    pub kernel: Option<String>,
    /// Measured before this time, in seconds since 1970.
    pub measured_before: Option<u64>,
}

/// A file of measured winners. Copies of a `Store` share one connection.
#[derive(Clone)]
pub struct Store {
    database: Option<Arc<Mutex<Database>>>,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.database {
            Some(database) => write!(f, "Store({})", lock(database).path().display()),
            None => f.write_str("Store(disabled)"),
        }
    }
}

/// A panic elsewhere leaves nothing half done: transactions roll back, and snapshots are replaced as a whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Store {
    /// Opens the store at `path`.
    pub fn open(path: impl AsRef<Path>, mode: Mode) -> Result<Self, StoreError> {
        Self::open_with(path, mode, StoreOptions::default())
    }

    /// Opens the store at `path` with the given settings.
    pub fn open_with(path: impl AsRef<Path>, mode: Mode, options: StoreOptions) -> Result<Self, StoreError> {
        if mode == Mode::Disabled {
            return Ok(Self::disabled());
        }
        let store = Self::at(path.as_ref(), mode, options);
        if let Some(database) = store.database() {
            lock(database).open()?;
        }
        Ok(store)
    }

    /// The store at `path`, which is opened on first use.
    pub(crate) fn at(path: &Path, mode: Mode, options: StoreOptions) -> Self {
        Self { database: Some(Arc::new(Mutex::new(Database::new(path, mode, options)))) }
    }

    /// Whether it is the store that [`Store::at`] would give.
    pub(crate) fn is_at(&self, path: &Path, mode: Mode) -> bool {
        self.database().map(lock).is_some_and(|database| database.path() == path && database.mode() == mode)
    }

    /// A store without a file.
    pub const fn disabled() -> Self {
        Self { database: None }
    }

    fn database(&self) -> Option<&Mutex<Database>> {
        self.database.as_deref()
    }

    /// Whether it has no file.
    pub const fn is_disabled(&self) -> bool {
        self.database.is_none()
    }

    /// Its file.
    pub fn path(&self) -> Option<PathBuf> {
        Some(lock(self.database()?).path().to_owned())
    }

    /// Why it is read-only; `None` if it is writable or disabled.
    pub fn read_only(&self) -> Option<String> {
        lock(self.database()?).read_only()
    }

    /// How many winners wait to be written, and why. Waits while another thread uses the file.
    pub fn status(&self) -> StoreStatus {
        let Some(database) = self.database() else { return StoreStatus::default() };
        let database = lock(database);
        StoreStatus { waiting: database.backlog.len(), reason: database.backlog.reason().map(str::to_owned) }
    }

    /// Writes the waiting winners, all or none.
    pub fn flush(&self) -> Result<(), StoreError> {
        self.database().map_or(Ok(()), |database| lock(database).catch_up())
    }

    /// Loads the winners of one scope.
    pub fn winners(&self, scope: Scope) -> Result<Winners, StoreError> {
        let winners = Winners::new(self.clone(), scope)?;
        winners.refresh()?;
        Ok(winners)
    }

    /// The same for a caller who continues without the store: if it cannot be used, no winners are known yet.
    pub(crate) fn winners_or_none(&self, scope: Scope) -> Result<Winners, StoreError> {
        let winners = Winners::new(self.clone(), scope)?;
        let Some(database) = self.database() else { return Ok(winners) };
        let rests = lock(database).backlog.rests();
        // The store's status has the error, and so has the log.
        if !rests && winners.refresh().is_ok() {
            lock(database).note_read_only();
        }
        Ok(winners)
    }

    /// The records that match a filter, in the order in which they were written, and the number of rows that
    /// this version of the library cannot read.
    pub fn records(&self, filter: &Filter) -> Result<(Vec<Record>, usize), StoreError> {
        self.read(|connection| rows::list(connection, filter))
    }

    /// The number of winners that match a filter.
    pub fn count(&self, filter: &Filter) -> Result<usize, StoreError> {
        self.read(|connection| rows::count(connection, filter))
    }

    /// Imports records, all or none. Of two winners for one key the newer is kept, then the faster.
    pub fn merge(&self, records: &[Record]) -> Result<Merged, StoreError> {
        match self.database() {
            Some(database) => lock(database).write(|transaction| rows::merge(transaction, records)),
            None => Ok(Merged::default()),
        }
    }

    /// Removes the winners that match a filter; returns their number.
    pub fn remove(&self, filter: &Filter) -> Result<usize, StoreError> {
        match self.database() {
            Some(database) => lock(database).write(|transaction| rows::remove(transaction, filter)),
            None => Ok(0),
        }
    }

    /// Checks every page of the file; an error says what is damaged.
    pub fn check(&self) -> Result<(), StoreError> {
        self.database().map_or(Ok(()), |database| lock(database).check())
    }

    fn read<T: Default>(
        &self,
        work: impl FnMut(&rusqlite::Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        match self.database() {
            Some(database) => Ok(lock(database).read(work)?.unwrap_or_default()),
            None => Ok(T::default()),
        }
    }
}
