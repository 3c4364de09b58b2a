//! Opening the file: what it is, whether it may be written, which journal it has.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::error::reason;
use super::location::shared_file_system;
use super::{Journal, StoreError, StoreOptions};

/// `CKsw` in the header of the file, so that `file` and other programs can tell what it is.
const APPLICATION_ID: i64 = 0x434b_7377;
/// Raised when a table changes its meaning. A newer file is refused.
const SCHEMA_VERSION: i64 = 1;

/// `id` is never reused (AUTOINCREMENT) and every write takes a new one, so that readers ask for what is newer than
/// what they know. `key` is the stable hash of `problem`: an index over the texts would double the file.
const SCHEMA: &str = "
CREATE TABLE scope (
    id INTEGER PRIMARY KEY,
    arch TEXT NOT NULL,
    device TEXT NOT NULL,
    pool TEXT NOT NULL,
    library TEXT NOT NULL,
    driver TEXT NOT NULL,
    UNIQUE (arch, device, pool, library, driver)
) STRICT;
CREATE TABLE winner (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    scope INTEGER NOT NULL REFERENCES scope (id),
    key BLOB NOT NULL,
    op TEXT NOT NULL,
    problem TEXT NOT NULL,
    kernel TEXT NOT NULL,
    median_ms REAL NOT NULL,
    cv REAL NOT NULL,
    repeats INTEGER NOT NULL,
    candidates INTEGER NOT NULL,
    measured_at INTEGER NOT NULL,
    source TEXT NOT NULL,
    UNIQUE (scope, key)
) STRICT;
CREATE INDEX winner_by_scope ON winner (scope);
";

/// A connection, and what must hold for its further use.
pub(super) struct Live {
    pub(super) connection: Connection,
    /// SQLite's locks belong to a process: a forked child must not use its parent's connection.
    pub(super) pid: u32,
    /// The file behind the path: a store that was deleted or replaced is opened anew.
    identity: Option<(u64, u64)>,
    /// Of a file that is read without locks, the state that it must still have.
    frozen: Option<Stamp>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    len: u64,
    modified: Option<SystemTime>,
    journals: bool,
}

impl Live {
    fn new(connection: Connection, path: &Path, frozen: Option<Stamp>) -> Self {
        Self { connection, pid: std::process::id(), identity: identity(path), frozen }
    }

    /// Whether the path still names the file that was opened, and of one read without locks, the same contents.
    pub(super) fn is_current(&self, path: &Path) -> bool {
        self.identity == identity(path) && (self.frozen.is_none() || self.frozen == Some(stamp(path)))
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
    /// The file or its folder may not be written; maybe it can be read.
    NotWritable(StoreError),
    /// It cannot be used at all.
    Unusable(StoreError),
}

/// Opens for writing, and makes the file, its folder and its tables where they are missing.
pub(super) fn read_write(path: &Path, options: &StoreOptions) -> Result<Live, Refused> {
    let unusable = |reason: String| {
        Refused::Unusable(StoreError::Unreachable { path: path.display().to_string(), reason })
    };
    if path.is_dir() {
        return Err(unusable("is a directory, expected a file".to_owned()));
    }
    if let Some(folder) = path.parent().filter(|folder| *folder != Path::new("")) {
        fs::create_dir_all(folder).map_err(|error| unusable(format!("{}: {error}", folder.display())))?;
    }
    let failed = |error: &rusqlite::Error| {
        let known = StoreError::of(path, error, options.wait_ms());
        if may_be_readable(error) { Refused::NotWritable(known) } else { Refused::Unusable(known) }
    };
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = open(path, flags, options).map_err(|error| failed(&error))?;
    // Nothing is written before it is certain what the file is.
    let fresh = check(path, &connection, options).map_err(Refused::Unusable)? == Contents::Nothing;
    if connection.is_readonly("main").map_err(|error| failed(&error))? {
        return Err(Refused::NotWritable(StoreError::ReadOnly {
            path: path.display().to_string(),
            reason: "the file may not be written".to_owned(),
        }));
    }
    let journal = options.journal.or_else(|| match shared_file_system(path) {
        Some(_) => Some(Journal::Delete),
        None => fresh.then_some(Journal::Wal),
    });
    if let Some(journal) = journal {
        retry(options.wait, || set_journal(&connection, journal)).map_err(|error| failed(&error))?;
    }
    match retry(options.wait, || prepare(&mut connection)) {
        // Whoever holds the lock proves that the store can be written.
        Err(error) if is_busy(&error) && !fresh => {}
        result => result.map_err(|error| failed(&error))?,
    }
    Ok(Live::new(connection, path, None))
}

/// Opens for reading. `None` when there is no store yet.
pub(super) fn read_only(path: &Path, options: &StoreOptions) -> Result<Option<Live>, StoreError> {
    if !path.exists() {
        return Ok(None);
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let known = |error: &rusqlite::Error| StoreError::of(path, error, options.wait_ms());
    let opened = open(path, flags, options)
        .and_then(|connection| retry(options.wait, || header(&connection)).map(|_| connection));
    match opened {
        Ok(connection) => {
            let contents = check(path, &connection, options)?;
            Ok((contents == Contents::Winners).then(|| Live::new(connection, path, None)))
        }
        // The write-ahead log wants files beside the store, and the folder may not be written.
        Err(error) if may_be_readable(&error) => {
            let before = stamp(path);
            if before.journals {
                return Err(StoreError::Unreachable {
                    path: path.display().to_string(),
                    reason: format!(
                        "{}; its journal holds winners that only a process with write access to the folder can recover",
                        reason(&error)
                    ),
                });
            }
            let uri = immutable_uri(path);
            let flags = flags | OpenFlags::SQLITE_OPEN_URI;
            let connection = open(Path::new(&uri), flags, options).map_err(|error| known(&error))?;
            let contents = check(path, &connection, options)?;
            Ok((contents == Contents::Winners).then(|| Live::new(connection, path, Some(before))))
        }
        Err(error) => Err(known(&error)),
    }
}

fn open(path: &Path, flags: OpenFlags, options: &StoreOptions) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, flags)?;
    // SQLite waits for most locks itself, `retry` for all.
    connection.busy_timeout(options.wait / 4)?;
    // A committed winner has reached the disk; and a damaged or hostile file does no harm.
    retry(options.wait, || connection.pragma_update(None, "synchronous", "FULL"))?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    Ok(connection)
}

/// The path as a URI that tells SQLite to take no locks.
fn immutable_uri(path: &Path) -> String {
    use std::fmt::Write as _;
    let mut uri = "file:".to_owned();
    for &byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(uri, "%{byte:02x}");
        }
    }
    uri + "?immutable=1"
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Contents {
    Nothing,
    Winners,
}

struct Header {
    application: i64,
    schema: i64,
    tables: i64,
}

fn header(connection: &Connection) -> rusqlite::Result<Header> {
    let sql = "SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version),
               (SELECT count(*) FROM sqlite_schema)";
    connection.query_row(sql, [], |row| {
        Ok(Header { application: row.get(0)?, schema: row.get(1)?, tables: row.get(2)? })
    })
}

fn check(path: &Path, connection: &Connection, options: &StoreOptions) -> Result<Contents, StoreError> {
    let header = retry(options.wait, || header(connection))
        .map_err(|error| StoreError::of(path, &error, options.wait_ms()))?;
    let path = || path.display().to_string();
    match header {
        Header { application: 0, schema: 0, tables: 0 } => Ok(Contents::Nothing),
        Header { application: APPLICATION_ID, schema: SCHEMA_VERSION, .. } => Ok(Contents::Winners),
        Header { application: APPLICATION_ID, schema: found, .. } if found > SCHEMA_VERSION => {
            Err(StoreError::NewerSchema { path: path(), found, supported: SCHEMA_VERSION })
        }
        Header { application: APPLICATION_ID, schema, .. } => Err(StoreError::Damaged {
            path: path(),
            reason: format!("schema version {schema}, expected {SCHEMA_VERSION}"),
        }),
        Header { application, tables, .. } => Err(StoreError::NotAStore {
            path: path(),
            found: format!(
                "an SQLite file of another program (application id {application}, {tables} tables and indices)"
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
            rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_ERROR),
            Some(format!("journal mode {} is not possible here, SQLite keeps {mode}", journal.as_str())),
        ))
    }
}

/// Makes the tables unless another process was faster. Taking the lock shows whether the store can be written.
fn prepare(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found = header(&transaction)?;
    if found.application == 0 && found.schema == 0 && found.tables == 0 {
        transaction.execute_batch(SCHEMA)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
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

/// Repeats what other processes' locks prevented, for `limit` at most. SQLite's own waiting leaves out a few cases:
/// changing the journal, recovering after a crash, races for the log's locks.
pub(super) fn retry<T>(
    limit: Duration,
    mut attempt: impl FnMut() -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        match attempt() {
            Err(error) if is_busy(&error) && start.elapsed() < limit => {
                // Ranks that met once should not meet again: the clock's last digits differ.
                let spread = start.elapsed().subsec_nanos() % 1000;
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
