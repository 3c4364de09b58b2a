//! Stores that a stranger made: refused as damaged, soon, said once, and left as they are.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

use ck_select::kernel::Kernel;
use ck_select::log::{self, Level};
use ck_select::problem::{GemmProblem, Problem};
use ck_select::registry::{Hooks, Mode, NewKernel, Options, Priority, Registry, Source, UserData};
use ck_select::tuning::device::Stream;
use ck_select::tuning::mock::MockDevice;
use ck_select::tuning::search::RunOutcome;
use ck_select::tuning::store::{
    Filter, Journal, Mode as StoreMode, PoolHash, Record, Saved, Scope, Store, StoreError, StoreOptions,
    Winner, WinnerSource, Winners,
};
use rusqlite::Connection;
use tempfile::TempDir;

/// Far less than for ever, and far more than a busy machine needs.
const SOON: Duration = Duration::from_secs(20);

/// Rows without end, under the names of a winner's columns.
const ENDLESS: &str = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r)
    SELECT x AS id, 1 AS scope, x'00' AS key, 'gemm_universal' AS op, 'M=1,N=1,K=1' AS problem, 'k' AS kernel,
    1.0 AS median_ms, 0.0 AS cv, 1 AS repeats, 1 AS candidates, 1 AS measured_at, 'search' AS source,
    'gfx950' AS arch, 'test' AS device, '0' AS pool, '0' AS library, '' AS driver FROM r";

fn scope() -> Scope {
    Scope::new("gfx950".parse().unwrap(), "test", PoolHash::of_names(["kernel"]), "")
}

fn gemm(m: i64) -> Problem {
    GemmProblem::new(m, 64, 64).into()
}

fn winner() -> Winner {
    Winner {
        kernel: "kernel".into(),
        median_ms: 0.5,
        cv: 0.01,
        repeats: 10,
        candidates: 30,
        measured_at: 1_800_000_000,
        source: WinnerSource::Search,
    }
}

/// A store in one file, with so many winners.
fn made(count: i64) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let options = StoreOptions { journal: Some(Journal::Delete), ..StoreOptions::default() };
    let store = Store::open_with(&path, StoreMode::ReadWrite, options).unwrap();
    let records: Vec<Record> =
        (1..=count).map(|m| Record::new(scope(), &gemm(m), winner()).unwrap()).collect();
    store.merge(&records).unwrap();
    (folder, path)
}

fn sql(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

/// The definition of a table in a store.
fn definition(path: &Path, name: &str) -> String {
    let sql = "SELECT sql FROM sqlite_schema WHERE name = ?1";
    Connection::open(path).unwrap().query_row(sql, [name], |row| row.get(0)).unwrap()
}

/// Replaces a table by one with another definition.
fn redefine(path: &Path, name: &str, from: &str, to: &str) {
    let known = definition(path, name);
    let new = known.replace(from, to);
    assert_ne!(known, new);
    let index = if name == "winner" { "CREATE INDEX winner_by_scope ON winner (scope);" } else { "" };
    sql(path, &format!("PRAGMA foreign_keys=OFF; DROP TABLE {name}; {new}; {index}"));
}

fn damage<T>(result: Result<T, StoreError>) -> String {
    match result {
        Err(error @ StoreError::Damaged { .. }) => error.to_string(),
        Err(error) => panic!("not said to be damaged: {error}"),
        Ok(_) => panic!("taken for a store"),
    }
}

#[test]
fn a_schema_that_is_not_exactly_ours_is_refused() {
    type Change = Box<dyn Fn(&Path)>;
    let run = |text: &str| -> Change {
        let text = text.to_owned();
        Box::new(move |path| sql(path, &text))
    };
    let other = |name: &'static str, from: &'static str, to: &'static str| -> Change {
        Box::new(move |path| redefine(path, name, from, to))
    };
    let cases: Vec<(&str, Change)> = vec![
        ("'winner' is not as", run(&format!("DROP TABLE winner; CREATE VIEW winner AS {ENDLESS}"))),
        (
            "'scope' is not as",
            run(&format!("PRAGMA foreign_keys=OFF; DROP TABLE scope; CREATE VIEW scope AS {ENDLESS}")),
        ),
        (
            "view 'pragma_application_id' does",
            run(&format!("CREATE VIEW pragma_application_id AS {ENDLESS}")),
        ),
        ("trigger 't' does", run("CREATE TRIGGER t AFTER INSERT ON winner BEGIN DELETE FROM winner; END")),
        ("index 'more' does", run("CREATE INDEX more ON winner (kernel)")),
        ("index 'more' does", run("CREATE UNIQUE INDEX more ON winner (problem)")),
        ("index 'more' does", run("CREATE INDEX more ON winner (upper(kernel)) WHERE cv > 0")),
        ("table 'sqlite_stat1' does", run("ANALYZE")),
        ("table 'words' does", run("CREATE VIRTUAL TABLE words USING fts5(x)")),
        ("'winner_by_scope' is missing", run("DROP INDEX winner_by_scope")),
        (
            "'winner_by_scope' is not",
            run("DROP INDEX winner_by_scope; CREATE INDEX winner_by_scope ON winner (op)"),
        ),
        ("'winner' is not as", run("ALTER TABLE winner ADD COLUMN more TEXT")),
        ("'winner' is not as", run("ALTER TABLE winner RENAME COLUMN kernel TO kernels")),
        ("'scope' is not as", run("ALTER TABLE scope ADD COLUMN more TEXT DEFAULT 'x'")),
        ("'winner' is not as", other("winner", "cv REAL NOT NULL", "cv REAL AS (median_ms * 2)")),
        ("'winner' is not as", other("winner", "cv REAL NOT NULL", "cv REAL NOT NULL CHECK (cv > 1e9)")),
        ("'winner' is not as", other("winner", "cv REAL NOT NULL", "cv REAL NOT NULL DEFAULT (random())")),
        ("'winner' is not as", other("winner", "cv REAL NOT NULL", "cv REAL NOT NULL ON CONFLICT REPLACE")),
        (
            "'winner' is not as",
            other("winner", "REFERENCES scope (id)", "REFERENCES scope (id) ON DELETE CASCADE"),
        ),
        ("'winner' is not as", other("winner", "UNIQUE (scope, key)", "UNIQUE (key, scope)")),
        ("'scope' is not as", other("scope", ") STRICT", ")")),
        ("'scope' is not as", other("scope", ") STRICT", ") STRICT, WITHOUT ROWID")),
        ("schema version -7, expected 1", run("PRAGMA user_version = -7")),
        (
            "malformed",
            run("PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = 'CREATE TABLE winner (' WHERE \
                 name = 'winner'"),
        ),
        (
            "",
            run("PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = sql || printf('%*c', 200000, \
                 ' ') WHERE name = 'winner'"),
        ),
    ];
    for (at, (message, change)) in cases.into_iter().enumerate() {
        let (_folder, path) = made(3);
        change(&path);
        let before = fs::read(&path).unwrap();
        let start = Instant::now();
        for mode in [StoreMode::ReadWrite, StoreMode::ReadOnly] {
            let said = damage(Store::open(&path, mode));
            assert!(said.contains(message), "case {at}: {said}");
        }
        assert!(start.elapsed() < SOON, "case {at}");
        assert_eq!(fs::read(&path).unwrap(), before, "case {at}: the file is left as it is");
    }
}

/// Whoever may write the file may change it while it is open.
#[test]
fn a_schema_that_changes_while_the_store_is_open_is_refused() {
    let (_folder, path) = made(400);
    let store = Store::open(&path, StoreMode::ReadWrite).unwrap();
    let winners: Winners = store.winners(scope()).unwrap();
    assert_eq!(winners.snapshot().len(), 400);
    sql(&path, "CREATE TRIGGER t AFTER INSERT ON winner BEGIN DELETE FROM winner WHERE id <> new.id; END");
    let said = damage(winners.put(&gemm(1000), &winner()));
    assert!(said.contains("the trigger 't' does not belong to it"), "{said}");
    damage(store.count(&Filter::default()));
    damage(winners.refresh());
    assert_eq!((winners.snapshot().len(), store.status().waiting), (401, 1));
    sql(&path, "DROP TRIGGER t");
    assert_eq!(winners.refresh(), Ok(true));
    assert_eq!(store.count(&Filter::default()), Ok(401), "nothing is lost, and what waited is written");
    assert_eq!(store.status().reason, None);

    sql(&path, &format!("ALTER TABLE winner RENAME TO hidden; CREATE VIEW winner AS {ENDLESS}"));
    let start = Instant::now();
    damage(store.records(&Filter::default()));
    damage(store.remove(&Filter::default()));
    damage(store.merge(&[]));
    damage(winners.refresh());
    assert!(start.elapsed() < SOON);
}

/// Our own definitions over rows that they do not allow.
#[test]
fn rows_of_wrong_types_are_passed_over() {
    let changes = [
        "key = 7",
        "op = x'00'",
        "problem = 12345678901234567",
        "problem = CAST(x'fffefd' AS TEXT)",
        "kernel = NULL",
        "kernel = replace(hex(zeroblob(30000)), '00', 'k')",
        "kernel = x'6b'",
        "median_ms = 'fast'",
        // What SQLite makes of NaN.
        "median_ms = NULL",
        "median_ms = 9e999",
        "median_ms = -1.0",
        "cv = -9e999",
        "repeats = 1099511627776",
        "repeats = 1.5",
        "candidates = -9223372036854775808",
        "measured_at = -1",
        "source = 'oracle'",
    ];
    let (_folder, path) = made(2 + changes.len() as i64);
    let ours = definition(&path, "winner");
    let loose = ours.replace(" NOT NULL", "").replace(") STRICT", ")");
    let mut script = format!(
        "PRAGMA foreign_keys=OFF; CREATE TEMP TABLE kept AS SELECT * FROM winner; DROP TABLE winner; {loose};
         CREATE INDEX winner_by_scope ON winner (scope); INSERT INTO winner SELECT * FROM kept;"
    );
    for (id, change) in (3..).zip(changes) {
        write!(script, "UPDATE winner SET {change} WHERE id = {id};").unwrap();
    }
    let ours = ours.replace('\'', "''");
    let set = "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql";
    write!(script, "{set} = '{ours}' WHERE name = 'winner';").unwrap();
    sql(&path, &script);

    let store = Store::open(&path, StoreMode::ReadWrite).unwrap();
    let (records, unreadable) = store.records(&Filter::default()).unwrap();
    assert_eq!((records.len(), unreadable), (2, changes.len()));
    let winners = store.winners(scope()).unwrap();
    assert_eq!((winners.snapshot().len(), winners.snapshot().unreadable()), (2, changes.len()));
    assert_eq!(winners.put(&gemm(99), &winner()), Ok(Saved::Disk));
    assert!(winners.refresh().unwrap());
    assert_eq!(winners.snapshot().len(), 3);
}

#[test]
fn a_row_of_a_megabyte_is_damage() {
    let (_folder, path) = made(2);
    sql(&path, "UPDATE winner SET kernel = hex(zeroblob(1000000)) WHERE id = 2");
    let store = Store::open(&path, StoreMode::ReadOnly).unwrap();
    let said = damage(store.records(&Filter::default()));
    assert!(said.contains("too big"), "{said}");
    damage(store.winners(scope()));
}

#[test]
fn numbers_that_are_used_up_are_an_error_of_the_put() {
    let (_folder, path) = made(2);
    sql(&path, "UPDATE sqlite_sequence SET seq = 9223372036854775807");
    let store = Store::open(&path, StoreMode::ReadWrite).unwrap();
    let winners = store.winners(scope()).unwrap();
    assert!(winners.put(&gemm(9), &winner()).is_err());
    assert_eq!((winners.snapshot().len(), store.status().waiting), (3, 1));
}

/// Pages of a tree, by their type: 5 is within a table, 2 within an index.
fn interior(bytes: &[u8], kind: u8) -> Vec<usize> {
    (1..bytes.len() / 4096).filter(|page| bytes[page * 4096] == kind).collect()
}

/// Lets all the entries of an interior page lead to one page, counted from 1.
fn lead_to(page: &mut [u8], child: u32) {
    let cells = usize::from(u16::from_be_bytes([page[3], page[4]]));
    assert!(cells > 3);
    for cell in 0..cells {
        let at = 12 + 2 * cell;
        let start = usize::from(u16::from_be_bytes([page[at], page[at + 1]]));
        page[start..start + 4].copy_from_slice(&child.to_be_bytes());
    }
    page[8..12].copy_from_slice(&child.to_be_bytes());
}

fn first_child(page: &[u8]) -> u32 {
    let start = usize::from(u16::from_be_bytes([page[12], page[13]]));
    u32::from_be_bytes(page[start..start + 4].try_into().unwrap())
}

#[test]
fn pages_that_lead_to_each_other_end_a_query() {
    for kind in [5, 2] {
        let (_folder, path) = made(4000);
        let mut bytes = fs::read(&path).unwrap();
        let pages = interior(&bytes, kind);
        assert!(!pages.is_empty());
        for page in pages {
            let page = &mut bytes[page * 4096..(page + 1) * 4096];
            let child = first_child(page);
            lead_to(page, child);
        }
        fs::write(&path, &bytes).unwrap();
        let store = Store::open(&path, StoreMode::ReadOnly).unwrap();
        let start = Instant::now();
        if kind == 5 {
            damage(store.records(&Filter::default()));
        }
        damage(store.winners(scope()));
        damage(store.check());
        assert!(start.elapsed() < SOON);
    }
}

/// A tree of six more levels, all of whose ways lead to one leaf: some hundred thousand million rows in a
/// small file.
#[test]
fn a_query_has_a_time_limit() {
    let (_folder, path) = made(4000);
    let mut bytes = fs::read(&path).unwrap();
    let of_winners =
        |page: &usize| usize::from(u16::from_be_bytes([bytes[page * 4096 + 3], bytes[page * 4096 + 4]]));
    let root = interior(&bytes, 5).into_iter().max_by_key(of_winners).unwrap();
    let page = bytes[root * 4096..(root + 1) * 4096].to_vec();
    let leaf = first_child(&page);
    let first = (bytes.len() / 4096 + 1) as u32;
    lead_to(&mut bytes[root * 4096..(root + 1) * 4096], first);
    for level in 1..=6 {
        let mut copy = page.clone();
        lead_to(&mut copy, if level == 6 { leaf } else { first + level });
        bytes.extend(copy);
    }
    let pages = (bytes.len() / 4096) as u32;
    bytes[28..32].copy_from_slice(&pages.to_be_bytes());
    fs::write(&path, &bytes).unwrap();
    let limit = Duration::from_millis(500);
    let options = StoreOptions { limit, ..StoreOptions::default() };
    let store = Store::open_with(&path, StoreMode::ReadOnly, options).unwrap();
    let start = Instant::now();
    let said = damage(store.count(&Filter::default()));
    assert!(said.contains("a query did not end within 500 ms"), "{said}");
    assert!(start.elapsed() >= limit && start.elapsed() < SOON);
    damage(store.records(&Filter::default()));
}

#[test]
fn logs_that_lie_beside_a_store_are_judged_as_it_is() {
    let (_folder, path) = made(3);
    let beside = |suffix: &str| PathBuf::from(format!("{}{suffix}", path.display()));
    sql(&path, "PRAGMA journal_mode=WAL");
    fs::write(beside("-wal"), vec![0xa5; 40_000]).unwrap();
    fs::write(beside("-shm"), vec![0xa5; 32_768]).unwrap();
    assert_eq!(Store::open(&path, StoreMode::ReadWrite).unwrap().count(&Filter::default()), Ok(3));

    // A log that is whole, and holds a trigger that the file itself has not.
    let writer = Connection::open(&path).unwrap();
    writer
        .execute_batch(
            "PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0;
             CREATE TRIGGER t AFTER INSERT ON winner BEGIN DELETE FROM winner; END",
        )
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("s.db");
    fs::copy(&path, &copy).unwrap();
    fs::copy(beside("-wal"), folder.path().join("s.db-wal")).unwrap();
    let said = damage(Store::open(&copy, StoreMode::ReadWrite));
    assert!(said.contains("trigger 't'"), "{said}");
}

#[test]
fn another_encoding_and_other_page_sizes_are_fine() {
    let (_folder, path) = made(1);
    let made_as = |pragma: &str| {
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join("s.db");
        let scripts: Vec<String> =
            ["scope", "winner", "winner_by_scope"].map(|name| definition(&path, name)).into();
        sql(
            &copy,
            &format!(
                "{pragma}; {}; PRAGMA application_id=1129018231; PRAGMA user_version=1",
                scripts.join(";")
            ),
        );
        (folder, copy)
    };
    for pragma in [
        "PRAGMA encoding='UTF-16be'",
        "PRAGMA page_size=512",
        "PRAGMA page_size=65536",
        "PRAGMA auto_vacuum=FULL",
    ] {
        let (_folder, path) = made_as(pragma);
        let store = Store::open(&path, StoreMode::ReadWrite).unwrap();
        let winners = store.winners(scope()).unwrap();
        for m in 1..=50 {
            assert_eq!(winners.put(&gemm(m), &winner()), Ok(Saved::Disk), "{pragma}");
        }
        let other = Store::open(&path, StoreMode::ReadOnly).unwrap();
        assert_eq!(other.winners(scope()).unwrap().snapshot().len(), 50, "{pragma}");
    }
}

/// What the library logs in this process, whatever the test.
fn logged(about: &Path) -> Vec<String> {
    static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());
    static ONCE: Once = Once::new();
    let lines = || LINES.lock().unwrap_or_else(PoisonError::into_inner);
    ONCE.call_once(|| {
        let sink = move |level: Level, _: &str, text: &str| {
            if level <= Level::Warn {
                LINES.lock().unwrap_or_else(PoisonError::into_inner).push(text.to_owned());
            }
        };
        log::set_sink(Level::Warn, Some(Box::new(sink)));
    });
    let about = about.display().to_string();
    lines().iter().filter(|line| line.contains(&about)).cloned().collect()
}

struct Runs(Arc<Mutex<usize>>);

impl Hooks for Runs {
    fn can_run(&self) -> bool {
        true
    }

    fn run(&self, _: &Problem, _: Stream) -> RunOutcome {
        *self.0.lock().unwrap() += 1;
        RunOutcome::Milliseconds(1.0)
    }
}

#[test]
fn selections_go_on_without_a_hostile_store_and_say_so_once() {
    let (_folder, path) = made(400);
    sql(&path, &format!("DROP TABLE winner; CREATE VIEW winner AS {ENDLESS}"));
    let before = fs::read(&path).unwrap();
    assert_eq!(logged(&path), Vec::<String>::new());
    for mode in [Mode::Search, Mode::Model] {
        let said = logged(&path).len();
        let options =
            Options { mode, arch: "gfx942".parse().ok(), store: Some(path.clone()), ..Options::default() };
        let registry = Registry::with_device(options, Box::new(MockDevice::new())).unwrap();
        let runs = Arc::new(Mutex::new(0));
        let start = Instant::now();
        for tile in ["128x128x64", "64x64x64"] {
            let name = format!(
                "gemm_universal_fp8_rcr_compv3_cshuffle_intrawave_False_False_False_False_{tile}_2x2x1\
                 _32x32x16"
            );
            // Each kernel makes another pool, for which the store is asked anew.
            let hooks: Box<dyn Hooks> = Box::new(Runs(runs.clone()));
            registry
                .add_all(vec![NewKernel {
                    kernel: Kernel::from_name(&name).unwrap(),
                    priority: Priority::NORMAL,
                    user: UserData::default(),
                    hooks: Some(hooks),
                }])
                .unwrap();
            for m in 1..=3 {
                let expected = if mode == Mode::Search { Source::Search } else { Source::Estimate };
                assert_eq!(registry.select(&gemm(m * 64)).unwrap().source, expected);
            }
        }
        assert!(start.elapsed() < SOON);
        let tried = *runs.lock().unwrap();
        if mode == Mode::Search {
            assert_eq!(registry.select(&gemm(64)).unwrap().source, Source::Store, "kept in memory");
            assert_eq!(*runs.lock().unwrap(), tried);
            assert_eq!(registry.store_status().waiting, 6);
        }
        let reason = registry.store_status().reason.unwrap();
        assert!(reason.contains("damaged: the view 'winner' is not as ck_select makes it"), "{reason}");
        assert!(registry.explain(&gemm(7)).unwrap().contains("damaged: the view 'winner'"));
        assert_eq!(logged(&path).len() - said, 1, "{:?}", logged(&path));
    }
    assert_eq!(fs::read(&path).unwrap(), before);
}
