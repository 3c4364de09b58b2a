//! The schema of a store's file, and the check that a file has exactly this schema.

use rusqlite::{Connection, Row, ffi};

/// `CKsw` in the header of the file, so that `file` and other programs can identify it.
const APPLICATION_ID: i64 = 0x434b_7377;
/// Increased when the meaning of a table changes, or the text of its definition. A newer file is refused.
pub(super) const VERSION: i64 = 1;

/// A row of `sqlite_schema`.
struct Object {
    kind: &'static str,
    name: &'static str,
    table: &'static str,
    /// `None` for the indexes that SQLite makes itself.
    sql: Option<&'static str>,
}

impl Object {
    const fn table(name: &'static str, sql: &'static str) -> Self {
        Self { kind: "table", name, table: name, sql: Some(sql) }
    }

    const fn index(name: &'static str, table: &'static str, sql: Option<&'static str>) -> Self {
        Self { kind: "index", name, table, sql }
    }
}

/// Everything in a store. SQLite keeps definitions verbatim, so files are compared with these texts: a view
/// or a trigger in an untrusted file could run anything, as could an expression in a table's definition.
///
/// `id` is never reused (AUTOINCREMENT) and every write takes a new one, so that readers can ask for rows
/// newer than those they know. `key` is the stable hash of `problem`: an index over the texts would double
/// the file.
const OBJECTS: [Object; 6] = [
    Object::table(
        "scope",
        "CREATE TABLE scope (
    id INTEGER PRIMARY KEY,
    arch TEXT NOT NULL,
    device TEXT NOT NULL,
    pool TEXT NOT NULL,
    library TEXT NOT NULL,
    driver TEXT NOT NULL,
    UNIQUE (arch, device, pool, library, driver)
) STRICT",
    ),
    Object::index("sqlite_autoindex_scope_1", "scope", None),
    Object::table(
        "winner",
        "CREATE TABLE winner (
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
) STRICT",
    ),
    Object::index("sqlite_autoindex_winner_1", "winner", None),
    // SQLite's own, for AUTOINCREMENT.
    Object::table("sqlite_sequence", "CREATE TABLE sqlite_sequence(name,seq)"),
    Object::index("winner_by_scope", "winner", Some("CREATE INDEX winner_by_scope ON winner (scope)")),
];

/// The kind of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Contents {
    /// Empty: the tables must still be created.
    Nothing,
    /// A store of this version.
    Winners,
    /// A store of a later version.
    Newer(i64),
    /// Something else.
    Foreign { application: i64, objects: usize },
}

/// Identifies a file, inside a transaction. A store that differs in any way from what this library creates is
/// damaged.
pub(super) fn inspect(connection: &Connection) -> rusqlite::Result<Contents> {
    // As statements, because tables in a hostile file may be named like the equivalent functions.
    let number = |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let (application, version) = (number("application_id")?, number("user_version")?);
    match (application, version) {
        (APPLICATION_ID, VERSION) => match difference(connection)? {
            Some(difference) => Err(damaged(difference)),
            None => Ok(Contents::Winners),
        },
        (APPLICATION_ID, newer) if newer > VERSION => Ok(Contents::Newer(newer)),
        (APPLICATION_ID, other) => Err(damaged(format!("schema version {other}, expected {VERSION}"))),
        _ => {
            let objects = count(connection)?;
            let empty = (application, version, objects) == (0, 0, 0);
            Ok(if empty { Contents::Nothing } else { Contents::Foreign { application, objects } })
        }
    }
}

/// A number that changes whenever anybody changes the schema.
pub(super) fn cookie(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "schema_version", |row| row.get(0))
}

/// Creates the tables in an empty file.
pub(super) fn create(connection: &Connection) -> rusqlite::Result<()> {
    for sql in
        OBJECTS.iter().filter(|object| object.name != "sqlite_sequence").filter_map(|object| object.sql)
    {
        connection.execute(sql, [])?;
    }
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", VERSION)
}

/// An error that says what is wrong with a file that SQLite itself can read.
pub(super) fn damaged(reason: String) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_CORRUPT), Some(reason))
}

fn count(connection: &Connection) -> rusqlite::Result<usize> {
    let mut statement = connection.prepare("SELECT 1 FROM sqlite_schema")?;
    let mut rows = statement.query([])?;
    let mut count = 0;
    while rows.next()?.is_some() {
        count += 1;
    }
    Ok(count)
}

/// The first difference between a file and a store.
fn difference(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let mut missing: Vec<&Object> = OBJECTS.iter().collect();
    let mut statement = connection.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let text = |column| row.get_ref(column).ok()?.as_str_or_null().ok()?;
        let same = |object: &&Object| {
            text(0) == Some(object.kind)
                && text(1) == Some(object.name)
                && text(2) == Some(object.table)
                && text(3) == object.sql
        };
        let Some(at) = missing.iter().position(same) else {
            let (kind, name) = (shown(row, 0), shown(row, 1));
            let ours = OBJECTS.iter().any(|object| text(1) == Some(object.name));
            let what = if ours { "is not as ck_select makes it" } else { "does not belong to it" };
            return Ok(Some(format!("the {kind} '{name}' {what}")));
        };
        missing.swap_remove(at);
    }
    Ok(missing.first().map(|object| format!("the {} '{}' is missing", object.kind, object.name)))
}

/// A name from an untrusted file, safe for a message.
fn shown(row: &Row<'_>, column: usize) -> String {
    const LONGEST: usize = 64;
    let text = row.get::<_, String>(column).unwrap_or_default();
    let mut shown: String = text.escape_debug().take(LONGEST).collect();
    if text.escape_debug().nth(LONGEST).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(sql: &str) -> Result<Contents, String> {
        let connection = Connection::open_in_memory().unwrap();
        create(&connection).unwrap();
        connection.execute_batch(sql).unwrap();
        inspect(&connection).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_made_is_a_store_and_nothing_else_is() {
        assert_eq!(inspect(&Connection::open_in_memory().unwrap()), Ok(Contents::Nothing));
        assert_eq!(contents(""), Ok(Contents::Winners));
        assert_eq!(contents("PRAGMA user_version = 7"), Ok(Contents::Newer(7)));
        assert_eq!(
            contents("PRAGMA application_id = 7"),
            Ok(Contents::Foreign { application: 7, objects: 6 })
        );
        for (sql, reason) in [
            ("PRAGMA user_version = -1", "schema version -1, expected 1"),
            ("DROP INDEX winner_by_scope", "the index 'winner_by_scope' is missing"),
            ("CREATE TABLE \"a\nb\" (x)", "the table 'a\\nb' does not belong to it"),
            ("ALTER TABLE scope ADD COLUMN more TEXT", "the table 'scope' is not as ck_select makes it"),
            (
                "DROP INDEX winner_by_scope; CREATE INDEX winner_by_scope ON scope (id)",
                "the index 'winner_by_scope' is not as ck_select makes it",
            ),
        ] {
            assert_eq!(contents(sql), Err(reason.to_owned()), "{sql}");
        }
        let long = format!("CREATE TABLE t{} (x)", "o".repeat(10_000));
        assert_eq!(contents(&long), Err(format!("the table 't{}…' does not belong to it", "o".repeat(63))));
    }
}
