#![no_main]
//! Any bytes as a store's file, and as records to be imported: an answer or an error that names them, and a
//! damaged file is left as it is.

use std::fs;
use std::path::Path;

use ck_select::tuning::store::{Filter, Mode, RecordFormat, Store, read_records, write_records};
use libfuzzer_sys::fuzz_target;

fn as_file(bytes: &[u8], folder: &Path) {
    let path = folder.join("winners.db");
    fs::write(&path, bytes).expect("a scratch file");
    for mode in [Mode::ReadOnly, Mode::ReadWrite] {
        let Ok(store) = Store::open(&path, mode) else {
            assert_eq!(fs::read(&path).expect("still there"), bytes, "a refused file is not touched");
            continue;
        };
        let everything = Filter::default();
        if let (Ok((records, unreadable)), Ok(count)) = (store.records(&everything), store.count(&everything))
        {
            assert_eq!(records.len() + unreadable, count);
        }
        let _ = store.check();
    }
}

fn as_records(bytes: &[u8]) {
    match read_records("fuzz", bytes) {
        Err(error) => assert!(error.to_string().contains("fuzz"), "{error}"),
        Ok(records) => {
            let mut text = Vec::new();
            write_records(RecordFormat::JsonLines, &records, &mut text).expect("memory");
            assert_eq!(read_records("again", &text).expect("what was written"), records);
            let store = Store::disabled();
            store.merge(&records).expect("nothing to write");
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    thread_local!(
        static FOLDER: tempfile::TempDir = tempfile::tempdir_in("/dev/shm").expect("a scratch folder")
    );
    FOLDER.with(|folder| {
        as_file(bytes, folder.path());
        for entry in fs::read_dir(folder.path()).expect("a folder").flatten() {
            fs::remove_file(entry.path()).expect("a file of the store");
        }
    });
    as_records(bytes);
});
