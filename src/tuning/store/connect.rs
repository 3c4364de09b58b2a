//! Opens the file: what it is, whether it is writable, which journal it has.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior, ffi};

use super::error::reason;
use super::location::without_log;
use super::locks;
use super::schema::{self, Contents};
use super::{Journal, StoreError, StoreOptions};
use crate::files;

/// A connection, and the conditions for its further use.
pub(super) struct Live {
    pub(super) connection: Connection,
    /// SQLite's locks belong to a process: a forked child must not use its parent's connection.
    pub(super) pid: u32,
    /// The identity of the file at the path: a store that was deleted or replaced is reopened.
    identity: Option<(u64, u64)>,
    /// For a file that is read without locks: the state that it must still have.
    frozen: Option<Stamp>,
    /// Why it is read-only, although its user wants to write it.
    pub(super) read_only: Option<StoreError>,
    watch: Watch,
    /// The schema cookie for which the tables were found to be ours.
    confirmed: Option<i64>,
}

/// Stops statements that run longer than in a healthy store.
struct Watch {
    base: Instant,
    /// When to end, in milliseconds since `base`.
    until: Arc<AtomicU64>,
    limit: Duration,
}

impl Watch {
    /// Instructions of SQLite's virtual machine between two clock checks: less than a millisecond.
    const STEPS: i32 = 4096;

    fn new(connection: &Connection, limit: Duration) -> rusqlite::Result<Self> {
        let (base, until) = (Instant::now(), Arc::new(AtomicU64::new(0)));
        let watched = Arc::clone(&until);
        let is_over = move || base.elapsed().as_millis() as u64 > watched.load(Ordering::Relaxed);
        connection.progress_handler(Self::STEPS, Some(is_over))?;
        let watch = Self { base, until, limit };
        watch.start();
        Ok(watch)
    }

    fn start(&self) {
        let until = self.base.elapsed().saturating_add(self.limit).as_millis();
        self.until.store(u64::try_from(until).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// An error that says what was stopped.
    fn explain(&self, error: rusqlite::Error) -> rusqlite::Error {
        if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) {
            let ms = self.limit.as_millis();
            return schema::damaged(format!("a query did not end within {ms} ms"));
        }
        error
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    len: u64,
    modified: Option<SystemTime>,
    journals: bool,
}

impl Live {
    fn new((connection, watch): (Connection, Watch), path: &Path, frozen: Option<Stamp>) -> Self {
        Self {
            connection,
            pid: std::process::id(),
            identity: identity(path),
            frozen,
            read_only: None,
            watch,
            confirmed: None,
        }
    }

    /// Whether the path still names the opened file, with the same contents if it is read without locks.
    pub(super) fn is_current(&self, path: &Path) -> bool {
        self.identity == identity(path) && (self.frozen.is_none() || self.frozen == Some(stamp(path)))
    }

    /// Runs `work` in a transaction, after checking that the tables are ours: anyone with write access may
    /// change them at any time.
    pub(super) fn transact<T>(
        &mut self,
        behavior: TransactionBehavior,
        work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        self.watch.start();
        let confirmed = &mut self.confirmed;
        let checked = |transaction: Transaction<'_>| {
            let cookie = schema::cookie(&transaction)?;
            if *confirmed != Some(cookie) {
                if schema::inspect(&transaction)? != Contents::Winners {
                    return Err(schema::damaged("it is no longer a store of winners".to_owned()));
                }
                *confirmed = Some(cookie);
            }
            let value = work(&transaction)?;
            transaction.commit()?;
            Ok(value)
        };
        let result = self.connection.transaction_with_behavior(behavior).and_then(checked);
        result.map_err(|error| self.watch.explain(error))
    }

    /// SQLite's count of what other connections committed.
    pub(super) fn data_version(&self) -> rusqlite::Result<i64> {
        self.watch.start();
        self.connection.query_row("PRAGMA data_version", [], |row| row.get(0))
    }
}

#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).ok().map(|data| (data.dev(), data.ino()))
}

#[cfg(not(unix))]
fn identity(path: &Path) -> Option<(u64, u64)> {
    path.exists().then_some((0, 0))
}

fn stamp(path: &Path) -> Stamp {
    let data = fs::metadata(path).ok();
    Stamp {
        len: data.as_ref().map_or(0, fs::Metadata::len),
        modified: data.and_then(|data| data.modified().ok()),
        journals: has_journal(path),
    }
}

/// Whether a log or a rollback journal beside the file holds what the file lacks.
fn has_journal(path: &Path) -> bool {
    ["-wal", "-journal"].into_iter().any(|suffix| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        fs::metadata(PathBuf::from(name)).is_ok_and(|data| data.len() > 0)
    })
}

/// Why a store cannot be written.
pub(super) enum Refused {
    /// The file or its folder is not writable; it may be readable.
    NotWritable(StoreError),
    /// It cannot be used at all.
    Unusable(StoreError),
}

/// Opens for writing, and creates the file, its folder and its tables if they are missing.
pub(super) fn read_write(path: &Path, options: &StoreOptions) -> Result<Live, Refused> {
    let unusable = |reason: String| {
        Refused::Unusable(StoreError::Unreachable { path: path.display().to_string(), reason })
    };
    let regular = files::check(path).or_else(|error| if is_missing(&error) { Ok(()) } else { Err(error) });
    regular.map_err(|error| unusable(error.to_string()))?;
    if let Some(folder) = path.parent().filter(|folder| *folder != Path::new("")) {
        fs::create_dir_all(folder).map_err(|error| unusable(format!("{}: {error}", folder.display())))?;
    }
    let until = options.until();
    let failed = |error: &rusqlite::Error| {
        let known = StoreError::of(path, error, options.wait_ms());
        if may_be_readable(error) { Refused::NotWritable(known) } else { Refused::Unusable(known) }
    };
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    // Otherwise SQLite gives paths such as `file:a` and `:memory:` a special meaning.
    let full = std::path::absolute(path).map_err(|error| unusable(error.to_string()))?;
    let mut opened = open(&full, flags, options, until).map_err(|error| failed(&error))?;
    // Nothing is written before the file is identified.
    let fresh = check(path, &opened, options, until).map_err(Refused::Unusable)? == Contents::Nothing;
    let connection = &mut opened.0;
    if connection.is_readonly("main").map_err(|error| failed(&error))? {
        return Err(Refused::NotWritable(StoreError::ReadOnly {
            path: path.display().to_string(),
            reason: "the file is not writable".to_owned(),
        }));
    }
    let journal = options.journal.or_else(|| match without_log(path) {
        Some(_) => Some(Journal::Delete),
        None => fresh.then_some(Journal::Wal),
    });
    if let Some(journal) = journal {
        retry(until, || set_journal(connection, journal)).map_err(|error| failed(&error))?;
    }
    let prepared = if fresh {
        retry(until, || prepare(connection))
    } else {
        // If another process holds the lock, the store is writable, so there is no reason to wait.
        connection.busy_timeout(Duration::ZERO).map_err(|error| failed(&error))?;
        let prepared = prepare(connection).or_else(|error| if is_busy(&error) { Ok(()) } else { Err(error) });
        prepared.and_then(|()| connection.busy_timeout(options.wait / 4))
    };
    prepared.map_err(|error| failed(&error))?;
    Ok(Live::new(opened, path, None))
}

fn is_missing(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::NotFound
}

/// Opens for reading. `None` if there is no store yet.
pub(super) fn read_only(path: &Path, options: &StoreOptions) -> Result<Option<Live>, StoreError> {
    let unreachable = |error: std::io::Error| StoreError::Unreachable {
        path: path.display().to_string(),
        reason: error.to_string(),
    };
    match files::check(path) {
        Err(error) if is_missing(&error) => return Ok(None),
        checked => checked.map_err(unreachable)?,
    }
    let until = options.until();
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let known = |error: &rusqlite::Error| StoreError::of(path, error, options.wait_ms());
    let full = std::path::absolute(path).map_err(unreachable)?;
    let live = |opened: (Connection, Watch), frozen| {
        let contents = check(path, &opened, options, until)?;
        Ok((contents == Contents::Winners).then(|| Live::new(opened, path, frozen)))
    };
    let opened = open(&full, flags, options, until)
        .and_then(|opened| retry(until, || schema::cookie(&opened.0)).map(|_| opened));
    match opened {
        Ok(opened) => live(opened, None),
        // The write-ahead log needs files next to the store, and the folder is not writable.
        Err(error) if may_be_readable(&error) => {
            let before = stamp(path);
            if before.journals {
                return Err(StoreError::Unreachable {
                    path: path.display().to_string(),
                    reason: format!(
                        "{}; its journal holds winners that only a process with write access to the folder \
                         can recover",
                        reason(&error)
                    ),
                });
            }
            let uri = immutable_uri(&full);
            let flags = flags | OpenFlags::SQLITE_OPEN_URI;
            let opened = open(Path::new(&uri), flags, options, until).map_err(|error| known(&error))?;
            live(opened, Some(before))
        }
        Err(error) => Err(known(&error)),
    }
}

/// Limits for what a file can make SQLite do: far above what a store needs, far below what is harmful.
const LIMITS: &[(Limit, i32)] = &[
    // Bytes of a row; names and problems have a few hundred.
    (Limit::SQLITE_LIMIT_LENGTH, 1 << 16),
    (Limit::SQLITE_LIMIT_SQL_LENGTH, 1 << 16),
    (Limit::SQLITE_LIMIT_COLUMN, 64),
    (Limit::SQLITE_LIMIT_EXPR_DEPTH, 64),
    (Limit::SQLITE_LIMIT_VDBE_OP, 1 << 16),
    (Limit::SQLITE_LIMIT_ATTACHED, 0),
    (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1),
];

fn open(
    path: &Path,
    flags: OpenFlags,
    options: &StoreOptions,
    until: Instant,
) -> rusqlite::Result<(Connection, Watch)> {
    locks::install();
    let connection = Connection::open_with_flags(path, flags)?;
    // SQLite itself waits for most locks, and `retry` for all of them.
    connection.busy_timeout(options.wait / 4)?;
    for &(limit, most) in LIMITS {
        connection.set_limit(limit, most)?;
    }
    for (setting, on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
    ] {
        connection.set_db_config(setting, on)?;
    }
    let watch = Watch::new(&connection, options.limit)?;
    // A committed winner has reached the disk. The cache size that the file asks for is ignored, because it
    // may be anything.
    let settings = || {
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "cache_size", -2000)?;
        connection.pragma_update(None, "cell_size_check", true)
    };
    retry(until, settings).map_err(|error| watch.explain(error))?;
    Ok((connection, watch))
}

/// The path as a URI that tells SQLite to take no locks.
fn immutable_uri(path: &Path) -> String {
    use std::fmt::Write as _;
    let mut uri = "file:".to_owned();
    for &byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(uri, "%{byte:02x}");
        }
    }
    uri + "?immutable=1"
}

fn check(
    path: &Path,
    (connection, watch): &(Connection, Watch),
    options: &StoreOptions,
    until: Instant,
) -> Result<Contents, StoreError> {
    watch.start();
    let inspect = || schema::inspect(&*connection.unchecked_transaction()?);
    let contents = retry(until, inspect)
        .map_err(|error| StoreError::of(path, &watch.explain(error), options.wait_ms()))?;
    let path = || path.display().to_string();
    match contents {
        Contents::Nothing | Contents::Winners => Ok(contents),
        Contents::Newer(found) => {
            Err(StoreError::NewerSchema { path: path(), found, supported: schema::VERSION })
        }
        Contents::Foreign { application, objects } => Err(StoreError::NotAStore {
            path: path(),
            found: format!(
                "an SQLite file of another program (application id {application}, \
                 {objects} tables and indices)"
            ),
        }),
    }
}

fn set_journal(connection: &Connection, journal: Journal) -> rusqlite::Result<()> {
    let mode: String =
        connection.pragma_update_and_check(None, "journal_mode", journal.as_str(), |row| row.get(0))?;
    if journal == Journal::Wal {
        // The log shrinks again after a large import.
        connection.pragma_update_and_check(None, "journal_size_limit", 4 << 20, |_| Ok(()))?;
    }
    if mode.eq_ignore_ascii_case(journal.as_str()) {
        Ok(())
    } else {
        Err(rusqlite::Error::SqliteFailure(
            // A limitation of the host is not the file's fault.
            ffi::Error::new(ffi::SQLITE_NOLFS),
            Some(format!("journal mode {} is not possible here, SQLite keeps {mode}", journal.as_str())),
        ))
    }
}

/// Creates the tables, unless another process was faster. Taking the lock shows whether the store can be
/// written.
fn prepare(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if schema::inspect(&transaction)? == Contents::Nothing {
        schema::create(&transaction)?;
    }
    transaction.commit()
}

pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed)
    )
}

fn may_be_readable(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied)
    )
}

/// Retries what other processes' locks prevent, until a deadline. SQLite's own waiting does not cover
/// changing the journal, recovery after a crash, and races for the log's locks.
pub(super) fn retry<T>(
    until: Instant,
    mut attempt: impl FnMut() -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    let mut pause = Duration::from_millis(1);
    loop {
        match attempt() {
            Err(error) if is_busy(&error) && Instant::now() < until => {
                // Adds jitter from the clock's last digits, so that ranks that collided do not collide again.
                let spread = until.saturating_duration_since(Instant::now()).subsec_nanos() % 1000;
                thread::sleep(pause + pause * spread / 1000);
                pause = (pause * 2).min(Duration::from_millis(50));
            }
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_uris() {
        assert_eq!(immutable_uri(Path::new("/a b/ü?#%.db")), "file:/a%20b/%c3%bc%3f%23%25.db?immutable=1");
    }
}
