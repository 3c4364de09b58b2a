//! The store: measured winners, kept on disk for many processes at once.
//!
//! A [`Store`] is one file of JSON lines, one for each winner, that all ranks of a job read and write.
//! [`Store::winners`] loads one [`Scope`] of it (a device, a pool, the versions) into memory; from then on
//! lookups use an immutable table, and measurements are written through.
//!
//! ```
//! use ck_select::problem::{GemmProblem, Problem};
//! use ck_select::tuning::store::{Mode, PoolHash, Saved, Scope, Store, Winner, WinnerSource};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("winners.db");
//! let store = Store::open(&path, Mode::ReadWrite)?;
//! let pool = PoolHash::from_names(["kernel_a", "kernel_b"]);
//! let winners = store.winners(Scope::new("gfx950".parse()?, "AMD Instinct MI355X", pool, "hip 70051831"))?;
//!
//! let problem = Problem::Gemm(GemmProblem::new(128, 1536, 7168));
//! assert!(winners.snapshot().get(&problem).is_none());
//! let measured = Winner {
//!     kernel: "kernel_b".into(),
//!     split_k: 1,
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
//! The key is the problem and the scope. A put replaces the previous value: the last line counts. When whole
//! stores are merged ([`Store::merge`]), the newer winner is kept, or the faster of two from the same second.
//! A file that `cat` made of several is a store as well, in which the last one's winners count.
//!
//! # Crashes
//! A winner whose put returned [`Saved::Disk`] survives `kill -9` of any process and power loss, as far as
//! the disk keeps what it acknowledges. What a killed process left of a line does not count. A line that
//! cannot be read is passed over and counted; a file that does not begin as a store is refused and not
//! modified. A store that is deleted while in use is recreated by the next put.
//!
//! # Several processes and hosts
//! Writers exclude each other by an advisory lock of the file, on network file systems, too (NFS from version
//! 4 on, Lustre mounted with `flock`). Without such locks, give each host its own file and merge them
//! afterwards.
//!
//! # Threads and forks
//! Everything here may be used from many threads, from several copies of this library in one process, and
//! after `fork` in parent and child, if no other thread was using the store at that moment.

mod backlog;
mod contents;
mod error;
mod file;
mod lines;
mod location;
mod scope;
mod shared;
mod winner;
mod winners;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use contents::Contents;
pub use contents::Merged;
pub use error::{Fault, StoreError};
use file::StoreFile;
pub use lines::{json_lines, read_records};
pub use location::Location;
pub use scope::{PoolHash, Scope};
pub use winner::{Record, Winner};
pub use winners::{Saved, Snapshot, Winners};

pub use crate::vocab::WinnerSource;

/// How a store is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Read and write; a missing file is created, and so is its folder. A store that is not writable is
    /// only read, and the first put says why.
    ReadWrite,
    /// Read only. A missing file counts as empty.
    ReadOnly,
}

/// The last known state of a store.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StoreStatus {
    /// Number of winners in memory that still have to be written.
    pub waiting: usize,
    /// Why the last use of the store failed; `None` if it did not.
    pub reason: Option<String>,
}

/// A file of measured winners. Copies of a `Store` share what waits to be written.
#[derive(Clone)]
pub struct Store {
    file: Option<Arc<Mutex<StoreFile>>>,
}

/// How long to wait for other processes, unless the caller says.
const WAIT: Duration = Duration::from_secs(10);

/// A panic elsewhere leaves nothing half done: lines count when they are whole, and snapshots are replaced as
/// a whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Store {
    /// Opens the store at `path`; waits up to ten seconds whenever another process writes.
    pub fn open(path: impl AsRef<Path>, mode: Mode) -> Result<Self, StoreError> {
        Self::open_with(path, mode, WAIT)
    }

    /// Opens the store at `path`; waits up to `wait` whenever another process writes.
    pub fn open_with(path: impl AsRef<Path>, mode: Mode, wait: Duration) -> Result<Self, StoreError> {
        let store = Self::at(path.as_ref(), mode, wait);
        store.file().map_or(Ok(()), |file| lock(file).open())?;
        Ok(store)
    }

    /// The store at `path`, which is opened on first use.
    pub(crate) fn at(path: &Path, mode: Mode, wait: Duration) -> Self {
        Self { file: Some(Arc::new(Mutex::new(StoreFile::new(path, mode, wait)))) }
    }

    /// Whether the store is the one that [`Store::at`] would give.
    pub(crate) fn is_at(&self, path: &Path, mode: Mode) -> bool {
        self.file().map(lock).is_some_and(|file| file.path == path && file.mode == mode)
    }

    /// A store without a file: winners live as long as their [`Winners`].
    pub const fn disabled() -> Self {
        Self { file: None }
    }

    fn file(&self) -> Option<&Mutex<StoreFile>> {
        self.file.as_deref()
    }

    /// How many winners wait to be written, and why. Waits while another thread uses the file.
    pub fn status(&self) -> StoreStatus {
        self.file().map(|file| lock(file).backlog.status()).unwrap_or_default()
    }

    /// Writes the waiting winners.
    pub fn flush(&self) -> Result<(), StoreError> {
        self.with_file(StoreFile::catch_up)
    }

    /// Loads the winners of one scope.
    pub fn winners(&self, scope: Scope) -> Result<Winners, StoreError> {
        let winners = Winners::new(self.clone(), scope)?;
        winners.refresh()?;
        Ok(winners)
    }

    /// The records in the order in which they were written, and the number of lines that this version of the
    /// library cannot read.
    pub fn records(&self) -> Result<(Vec<Record>, usize), StoreError> {
        let contents = self.with_file(|file| file.contents())?;
        Ok((contents.records, contents.unreadable.len()))
    }

    /// The number of winners.
    pub fn count(&self) -> Result<usize, StoreError> {
        Ok(self.records()?.0.len())
    }

    /// Imports records, all or none. Of two winners for one key the newer is kept, then the faster.
    pub fn merge(&self, records: &[Record]) -> Result<Merged, StoreError> {
        self.change(|contents| {
            let (merged, better) = contents.merge(records);
            contents.records.extend(better.into_iter().cloned());
            merged
        })
    }

    /// Removes winners; returns their number.
    pub fn remove(&self, is_removed: impl Fn(&Record) -> bool) -> Result<usize, StoreError> {
        self.change(|contents| contents.records.extract_if(.., |record| is_removed(record)).count())
    }

    /// Checks every line of the file; an error names the first that cannot be read.
    pub fn check(&self) -> Result<(), StoreError> {
        self.with_file(|file| match file.contents()?.unreadable.last() {
            None => Ok(()),
            Some((line, _, fault)) => Err(file.error(Fault::Damaged(format!("line {line}: {fault}")))),
        })
    }

    fn change<T: Default>(&self, change: impl FnOnce(&mut Contents) -> T) -> Result<T, StoreError> {
        self.with_file(|file| file.rewrite(change))
    }

    fn with_file<T: Default>(
        &self,
        work: impl FnOnce(&mut StoreFile) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.file().map_or_else(|| Ok(T::default()), |file| work(&mut lock(file)))
    }
}
