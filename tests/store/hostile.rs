//! Stores that a stranger made: refused soon, said once and left as they are, or read without what is no
//! winner.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ck_select::kernel::Kernel;
use ck_select::problem::Problem;
use ck_select::registry::{Mode, Options, Registry, Source};
use ck_select::tuning::device::Stream;
use ck_select::tuning::mock::MockDevice;
use ck_select::tuning::search::RunOutcome;
use ck_select::tuning::store::{Mode as StoreMode, Saved, Store};
use tempfile::TempDir;

use crate::common::{gemm, logged, new, scope, winner};

/// Far less than for ever, and far more than a busy machine needs.
const SOON: Duration = Duration::from_secs(20);

/// A store of one winner.
fn made() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let winners = Store::open(&path, StoreMode::ReadWrite).unwrap().winners(scope()).unwrap();
    winners.put(&gemm(1), &winner("kernel")).unwrap();
    (folder, path)
}

#[test]
fn files_that_are_no_store_are_refused_and_left_alone() {
    let (folder, path) = made();
    let good = fs::read(&path).unwrap();
    let too_large = [&good[..], &vec![b'\n'; 64 << 20]].concat();
    for (text, message) in [
        (&b"N,C,K\n1,2,3\n"[..], "not a store of winners: it begins with \"N,C,K\\n1,\", expected"),
        (b"\x1b[2J", "it begins with \"\\u{1b}[2J\", expected \"{\\\"arch\\\":\""),
        (b"{\"name\": 1}\n", "it begins with \"{\\\"name\\\":\", expected"),
        (b"\0\0\0", "it begins with"),
        (b"\n", "it begins with"),
        (b"SQLite format 3\0", "it begins with \"SQLite f\", expected"),
        (&too_large, "damaged: it has 6710"),
    ] {
        fs::write(&path, text).unwrap();
        for mode in [StoreMode::ReadWrite, StoreMode::ReadOnly] {
            let error = Store::open(&path, mode).err().expect(message).to_string();
            assert!(error.contains(message), "{error}");
        }
        assert!(fs::read(&path).unwrap() == text, "{message}");
    }
    for mode in [StoreMode::ReadWrite, StoreMode::ReadOnly] {
        let error = Store::open(folder.path(), mode).err().unwrap().to_string();
        assert!(error.contains("found a folder, expected a regular file"), "{error}");
    }
}

/// Whoever may write the file may change it while it is used.
#[test]
fn a_store_that_becomes_another_file_is_refused_until_it_is_one_again() {
    let (_folder, path) = made();
    let good = fs::read(&path).unwrap();
    let store = Store::open(&path, StoreMode::ReadWrite).unwrap();
    let winners = store.winners(scope()).unwrap();
    fs::write(&path, "something else").unwrap();
    let refused = "not a store of winners: it begins with \"somethin\"";
    assert!(winners.put(&gemm(2), &winner("kernel")).unwrap_err().to_string().contains(refused));
    assert!(store.count().unwrap_err().to_string().contains(refused));
    assert!(store.remove(|_| true).unwrap_err().to_string().contains(refused));
    assert!(winners.refresh().unwrap_err().to_string().contains(refused));
    assert_eq!((winners.snapshot().count(), store.status().waiting), (2, 1));
    assert_eq!(fs::read(&path).unwrap(), b"something else");
    fs::write(&path, good).unwrap();
    assert_eq!(winners.refresh(), Ok(true));
    assert_eq!(store.count(), Ok(2), "nothing is lost, and what waited is written");
    assert_eq!(store.status().reason, None);
}

#[test]
fn lines_that_are_no_winners_are_passed_over() {
    let (_folder, path) = made();
    let good = fs::read_to_string(&path).unwrap();
    let second = good.replace("M=1", "M=2");
    let nested = format!("{}{}", "[".repeat(16_000), "\n");
    let long = second.replace("\"kernel\":\"kernel\"", &format!("\"kernel\":\"{}\"", "k".repeat(1 << 20)));
    let bad = [
        nested,
        long,
        "\0\0\0\n".to_owned(),
        "{}\n".to_owned(),
        "null\n".to_owned(),
        good.replace("0.5", "1e999"),
        good.replace("0.5", "-1.0"),
        good.replace("0.5", "\"fast\""),
        good.replace("0.5", "NaN"),
        good.replace("0.01", "null"),
        good.replace(":10,", ":1.5,"),
        good.replace(":30,", ":1099511627776,"),
        good.replace("1800000000", "-1"),
        good.replace("1800000000", "1800000000000"),
        good.replace("search", "oracle"),
        good.replace("\"op\":", "\"op\":\"fmha\",\"op\":"),
        good.replace("M=1", "M=x"),
        good.replace("gfx950", "950"),
        good.replace("\"kernel\"}", "\"\u{7}\"}").replace("\"kernel\",", "\"a\\nb\","),
        good.trim_end().to_owned() + &good,
    ];
    fs::write(&path, good.clone() + &bad.concat() + &second).unwrap();
    let start = Instant::now();
    let store = Store::open(&path, StoreMode::ReadWrite).unwrap();
    let (records, unreadable) = store.records().unwrap();
    assert_eq!((records.len(), unreadable), (2, bad.len()));
    let winners = store.winners(scope()).unwrap();
    assert_eq!(winners.snapshot().count(), 2);
    assert_eq!(winners.put(&gemm(99), &winner("kernel")), Ok(Saved::Disk));
    assert!(winners.refresh().unwrap());
    assert_eq!(winners.snapshot().count(), 3);
    let fault = store.check().unwrap_err().to_string();
    assert!(fault.contains("damaged: line 2: "), "{fault}");
    // No message has the megabyte.
    fs::write(&path, good + &bad[1]).unwrap();
    let fault = store.check().unwrap_err().to_string();
    assert!(fault.contains("line 2: 1048") && fault.ends_with("the file is left as it is"), "{fault}");
    assert!(start.elapsed() < SOON);
}

#[test]
fn selections_go_on_without_a_hostile_store_and_say_so_once() {
    let (_folder, path) = made();
    fs::write(&path, "N,C,K\n1,2,3\n").unwrap();
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
                "gemm_universal_fp8_rcr_compv3_cshuffle_intrawave_True_True_True_False_{tile}_2x2x1\
                 _32x32x16"
            );
            // Each kernel makes another pool, for which the store is asked anew.
            let runs = runs.clone();
            let run = move |_: &Problem, _: Stream| {
                *runs.lock().unwrap() += 1;
                RunOutcome::Milliseconds(1.0)
            };
            let kernel = Kernel::from_name(&name).unwrap();
            registry.add_all(vec![new(kernel, Some(Box::new(run)))]).unwrap();
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
        assert!(reason.contains("not a store of winners: it begins with"), "{reason}");
        assert!(registry.explain(&gemm(7)).unwrap().contains("not a store of winners"));
        assert_eq!(logged(&path).len() - said, 1, "{:?}", logged(&path));
    }
    assert_eq!(fs::read(&path).unwrap(), before);
}
