#![no_main]
//! Any bytes as a store's file, and as records to be imported: an answer or an error that names them. A
//! refused file is left as it is, and a new winner costs none of those that were there.

use std::fs;
use std::path::Path;

use ck_select::problem::GemmProblem;
use ck_select::tuning::store::{
    Mode, PoolHash, Record, Saved, Scope, Store, Winner, WinnerSource, json_lines, read_records,
};
use libfuzzer_sys::fuzz_target;

fn record() -> Record {
    let winner = Winner {
        kernel: "fuzz".into(),
        split_k: 1,
        median_ms: 0.5,
        cv: 0.0,
        repeats: 1,
        candidates: 1,
        measured_at: 1,
        source: WinnerSource::Search,
    };
    let scope = Scope::new("gfx950".parse().expect("a word"), "fuzz", PoolHash::from_names(["fuzz"]), "");
    Record::new(scope, &GemmProblem::new(1, 2, 3).into(), winner).expect("valid")
}

fn as_file(bytes: &[u8], folder: &Path) {
    let path = folder.join("winners.jsonl");
    fs::write(&path, bytes).expect("a scratch file");
    let reader = Store::open(&path, Mode::ReadOnly);
    let Ok(store) = Store::open(&path, Mode::ReadWrite) else {
        assert!(
            reader.is_err() && fs::read(&path).expect("still there") == bytes,
            "a refused file is not touched"
        );
        return;
    };
    let (mut records, unreadable) = reader.and_then(|reader| reader.records()).expect("a store");
    assert_eq!(store.check().is_ok(), unreadable == 0);
    let new = record();
    let winners = store.winners(new.scope.clone()).expect("a store");
    assert_eq!(winners.put(&new.problem, &new.winner), Ok(Saved::Disk));
    records.retain(|old| old.scope != new.scope || old.problem != new.problem);
    records.push(new);
    let same = |store: &Store| store.records().expect("a store").0 == records;
    assert!(same(&store));
    store.remove(|_| false).expect("a store");
    assert!(same(&store));
}

fn as_records(bytes: &[u8]) {
    match read_records("fuzz", bytes) {
        Err(error) => assert!(error.to_string().contains("fuzz"), "{error}"),
        Ok(records) => {
            assert_eq!(read_records("again", &json_lines(&records)).expect("what was written"), records);
            Store::disabled().merge(&records).expect("nothing to write");
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    thread_local!(
        static FOLDER: tempfile::TempDir = tempfile::tempdir_in("/dev/shm").expect("a scratch folder")
    );
    FOLDER.with(|folder| as_file(bytes, folder.path()));
    as_records(bytes);
});
