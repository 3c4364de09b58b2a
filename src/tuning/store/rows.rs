//! Winners as rows of the file.

use std::collections::HashSet;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension as _, Row, Statement, named_params, params};

use super::hash::StableHash;
use super::schema::damaged;
use super::{Filter, PoolHash, Record, Scope, Winner};
use crate::problem::{Problem, ProblemDefaults};
use crate::vocab::Op;

/// The contents of a scope, or what is new in it.
#[derive(Default)]
pub(super) struct Loaded {
    pub(super) winners: Vec<(Problem, Winner)>,
    /// Rows that this version cannot read.
    pub(super) unreadable: usize,
    /// The newest row.
    pub(super) last: i64,
    /// The number of rows of the scope, including known ones.
    pub(super) total: usize,
}

/// Kernel names that many winners share, each stored once.
#[derive(Default)]
struct Names(HashSet<Arc<str>>);

impl Names {
    fn shared(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.0.get(name) {
            return Arc::clone(known);
        }
        let name: Arc<str> = name.into();
        self.0.insert(Arc::clone(&name));
        name
    }
}

const WINNER_COLUMNS: &str = "w.op, w.problem, w.key, w.kernel, w.median_ms, w.cv, w.repeats, w.candidates,
    w.measured_at, w.source";

/// The winner in the columns from `at` on; `None` if this version cannot read it, or if the key does not
/// match the problem.
fn winner(row: &Row<'_>, at: usize, names: &mut Names) -> Option<(Problem, Winner)> {
    let text = |column: usize| row.get_ref(at + column).ok()?.as_str().ok();
    let (op, problem) = (text(0)?.parse::<Op>().ok()?, text(1)?);
    if row.get_ref(at + 2).ok()?.as_blob().ok()? != key(problem) {
        return None;
    }
    let problem = Problem::parse(op, problem, &ProblemDefaults::of(op)).ok()?;
    let winner = Winner {
        kernel: names.shared(text(3)?),
        median_ms: row.get(at + 4).ok()?,
        cv: row.get(at + 5).ok()?,
        repeats: row.get(at + 6).ok()?,
        candidates: row.get(at + 7).ok()?,
        measured_at: row.get(at + 8).ok()?,
        source: text(9)?.parse().ok()?,
    };
    winner.validate().is_ok().then_some((problem, winner))
}

fn key(problem: &str) -> [u8; 16] {
    StableHash::of(problem.as_bytes()).to_be_bytes()
}

/// The winners of a scope that were written after row `since`.
pub(super) fn load(connection: &Connection, scope: &Scope, since: i64) -> rusqlite::Result<Loaded> {
    let mut loaded = Loaded { last: since, ..Loaded::default() };
    let Some(id) = scope_id(connection, scope)? else { return Ok(loaded) };
    loaded.total =
        connection.query_row("SELECT count(*) FROM winner WHERE scope = ?1", [id], |row| row.get(0))?;
    let sql =
        format!("SELECT w.id, {WINNER_COLUMNS} FROM winner w WHERE w.scope = ?1 AND w.id > ?2 ORDER BY w.id");
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([id, since])?;
    let mut names = Names::default();
    while let Some(row) = rows.next()? {
        loaded.last = rising(loaded.last, row)?;
        match winner(row, 1, &mut names) {
            Some(found) => loaded.winners.push(found),
            None => loaded.unreadable += 1,
        }
    }
    Ok(loaded)
}

/// The number of a winner in the first column, which must be above the one before it: the pages of a damaged
/// file may form a cycle with endless rows.
fn rising(last: i64, row: &Row<'_>) -> rusqlite::Result<i64> {
    let id = row.get(0)?;
    if id > last { Ok(id) } else { Err(damaged(format!("winner {id} comes after winner {last}"))) }
}

fn scope_id(connection: &Connection, scope: &Scope) -> rusqlite::Result<Option<i64>> {
    connection
        .query_row(
            "SELECT id FROM scope WHERE arch = ?1 AND device = ?2 AND pool = ?3 AND library = ?4 \
             AND driver = ?5",
            scope_values(scope),
            |row| row.get(0),
        )
        .optional()
}

fn scope_values(scope: &Scope) -> [String; 5] {
    [
        scope.arch.to_string(),
        scope.device.clone(),
        scope.pool.to_string(),
        scope.library.clone(),
        scope.driver.clone(),
    ]
}

/// The scope's number, a new one if necessary.
fn scope_id_or_new(connection: &Connection, scope: &Scope) -> rusqlite::Result<i64> {
    if let Some(id) = scope_id(connection, scope)? {
        return Ok(id);
    }
    connection.execute(
        "INSERT INTO scope (arch, device, pool, library, driver) VALUES (?1, ?2, ?3, ?4, ?5)",
        scope_values(scope),
    )?;
    Ok(connection.last_insert_rowid())
}

/// Writes a winner, replacing any with the same key.
pub(super) fn replace(connection: &Connection, record: &Record) -> rusqlite::Result<()> {
    let scope = scope_id_or_new(connection, &record.scope)?;
    let (op, problem) = (record.problem.op(), record.problem.to_string());
    write(&mut connection.prepare(REPLACE)?, scope, op, &problem, &record.winner)
}

const REPLACE: &str = "INSERT OR REPLACE INTO winner
    (scope, key, op, problem, kernel, median_ms, cv, repeats, candidates, measured_at, source)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";

fn write(
    statement: &mut Statement<'_>,
    scope: i64,
    op: Op,
    problem: &str,
    winner: &Winner,
) -> rusqlite::Result<()> {
    statement.execute(params![
        scope,
        key(problem),
        op.as_str(),
        problem,
        &*winner.kernel,
        winner.median_ms,
        winner.cv,
        winner.repeats,
        winner.candidates,
        winner.measured_at.cast_signed(),
        winner.source.as_str(),
    ])?;
    Ok(())
}

/// The result of importing records into a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Merged {
    /// Winners for keys that the store did not have.
    pub added: usize,
    /// Winners that the store already had, equal in every field.
    pub same: usize,
    /// Conflicts in which the record was newer and replaced the store's winner.
    pub replaced: usize,
    /// Conflicts in which the store's winner was newer and stayed.
    pub kept: usize,
}

impl Merged {
    /// Keys for which store and records had different winners.
    pub const fn conflicts(&self) -> usize {
        self.replaced + self.kept
    }
}

pub(super) fn merge(connection: &Connection, records: &[Record]) -> rusqlite::Result<Merged> {
    let mut merged = Merged::default();
    let sql = format!("SELECT {WINNER_COLUMNS} FROM winner w WHERE w.scope = ?1 AND w.key = ?2");
    let mut known = connection.prepare(&sql)?;
    let mut insert = connection.prepare(REPLACE)?;
    let mut names = Names::default();
    let mut last: Option<(&Scope, i64)> = None;
    for record in records {
        let scope = match last {
            Some((scope, id)) if *scope == record.scope => id,
            _ => scope_id_or_new(connection, &record.scope)?,
        };
        last = Some((&record.scope, scope));
        let problem = record.problem.to_string();
        let found = known
            .query_row(params![scope, key(&problem)], |row| Ok(winner(row, 0, &mut names)))
            .optional()?;
        match found {
            None => merged.added += 1,
            Some(Some((_, winner))) if winner == record.winner => {
                merged.same += 1;
                continue;
            }
            Some(Some((_, winner))) if !record.winner.supersedes(&winner) => {
                merged.kept += 1;
                continue;
            }
            // A winner that cannot be read is not worth keeping.
            Some(_) => merged.replaced += 1,
        }
        write(&mut insert, scope, record.problem.op(), &problem, &record.winner)?;
    }
    Ok(merged)
}

/// The condition of a [`Filter`]; unset fields match all rows.
const CONDITION: &str = "
    (:arch IS NULL OR s.arch = :arch) AND (:device IS NULL OR s.device = :device)
    AND (:pool IS NULL OR s.pool = :pool) AND (:not_pool IS NULL OR s.pool <> :not_pool)
    AND (:library IS NULL OR s.library = :library) AND (:driver IS NULL OR s.driver = :driver)
    AND (:op IS NULL OR w.op = :op) AND (:kernel IS NULL OR w.kernel = :kernel)
    AND (:before IS NULL OR w.measured_at < :before)";

/// Runs `work` with a statement's parameters bound to a filter.
fn filtered<T>(
    filter: &Filter,
    work: impl FnOnce(&[(&str, &dyn rusqlite::ToSql)]) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    let (pool, not_pool) =
        (filter.pool.map(|hash| hash.to_string()), filter.not_pool.map(|hash| hash.to_string()));
    let before = filter.measured_before.map(|time| i64::try_from(time).unwrap_or(i64::MAX));
    work(named_params! {
        ":arch": filter.arch.map(|arch| arch.to_string()),
        ":device": filter.device,
        ":pool": pool,
        ":not_pool": not_pool,
        ":library": filter.library,
        ":driver": filter.driver,
        ":op": filter.op.map(Op::as_str),
        ":kernel": filter.kernel,
        ":before": before,
    })
}

/// Records and how many rows this version cannot read, in the order in which they were written.
pub(super) fn list(connection: &Connection, filter: &Filter) -> rusqlite::Result<(Vec<Record>, usize)> {
    // The CROSS join makes SQLite read winners in order instead of sorting them: the rows of a damaged file
    // may never end.
    let sql = format!(
        "SELECT w.id, s.arch, s.device, s.pool, s.library, s.driver, {WINNER_COLUMNS}
         FROM winner w CROSS JOIN scope s ON s.id = w.scope WHERE {CONDITION} ORDER BY w.id"
    );
    let mut statement = connection.prepare(&sql)?;
    let mut names = Names::default();
    filtered(filter, |parameters| {
        let mut rows = statement.query(parameters)?;
        let (mut records, mut unreadable, mut last) = (Vec::new(), 0, i64::MIN);
        while let Some(row) = rows.next()? {
            last = rising(last, row)?;
            let record = scope(row, 1).zip(winner(row, 6, &mut names));
            match record {
                Some((scope, (problem, winner))) => records.push(Record { scope, problem, winner }),
                None => unreadable += 1,
            }
        }
        Ok((records, unreadable))
    })
}

/// The scope in the columns from `at` on; `None` if this version cannot read it.
fn scope(row: &Row<'_>, at: usize) -> Option<Scope> {
    let scope = Scope {
        arch: row.get_ref(at).ok()?.as_str().ok()?.parse().ok()?,
        device: row.get(at + 1).ok()?,
        pool: row.get_ref(at + 2).ok()?.as_str().ok()?.parse::<PoolHash>().ok()?,
        library: row.get(at + 3).ok()?,
        driver: row.get(at + 4).ok()?,
    };
    scope.validate().is_ok().then_some(scope)
}

pub(super) fn count(connection: &Connection, filter: &Filter) -> rusqlite::Result<usize> {
    let sql = format!("SELECT count(*) FROM winner w CROSS JOIN scope s ON s.id = w.scope WHERE {CONDITION}");
    filtered(filter, |parameters| connection.query_row(&sql, parameters, |row| row.get(0)))
}

pub(super) fn remove(connection: &Connection, filter: &Filter) -> rusqlite::Result<usize> {
    let sql = format!(
        "DELETE FROM winner WHERE id IN
         (SELECT w.id FROM winner w CROSS JOIN scope s ON s.id = w.scope WHERE {CONDITION})"
    );
    let removed = filtered(filter, |parameters| connection.execute(&sql, parameters))?;
    connection.execute("DELETE FROM scope WHERE id NOT IN (SELECT scope FROM winner)", [])?;
    Ok(removed)
}
