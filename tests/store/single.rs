//! The store as one process uses it.

use std::fs;
use std::path::{Path, PathBuf};

use ck_select::problem::{GemmProblem, Problem};
use ck_select::tuning::store::{
    Merged, Mode, PoolHash, Record, Saved, Scope, Store, Winner, Winners, json_lines,
};
use tempfile::TempDir;

use crate::common::{gemm, scope, winner};

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn open(path: &Path) -> Store {
    Store::open(path, Mode::ReadWrite).unwrap()
}

fn winners_of(path: &Path) -> Winners {
    open(path).winners(scope()).unwrap()
}

/// The winners of a new store, and where it is.
fn made() -> (TempDir, PathBuf, Winners) {
    let folder = folder();
    let path = folder.path().join("s.jsonl");
    let winners = winners_of(&path);
    (folder, path, winners)
}

fn kernel_of(store: &Store, scope: &Scope, problem: &Problem) -> Option<String> {
    let winners = store.winners(scope.clone()).unwrap();
    let snapshot = winners.snapshot();
    snapshot.get(problem).map(|winner| winner.kernel.to_string())
}

#[test]
fn winners_outlive_the_store_that_took_them() {
    let folder = folder();
    let path = folder.path().join("deep/er/winners.jsonl");
    let conv: Problem = crate::common::conv(16).into();
    let winners = winners_of(&path);
    assert_eq!(winners.put(&conv, &winner("kernel_a")), Ok(Saved::Disk));
    assert_eq!(winners.put(&gemm(1), &winner("kernel_b")), Ok(Saved::Disk));
    drop(winners);

    let store = open(&path);
    assert_eq!(kernel_of(&store, &scope(), &conv).as_deref(), Some("kernel_a"));
    assert_eq!(kernel_of(&store, &scope(), &gemm(1)).as_deref(), Some("kernel_b"));
    assert_eq!(kernel_of(&store, &scope(), &gemm(2)), None);
    store.check().unwrap();
}

#[test]
fn any_change_of_scope_hides_the_winner() {
    let folder = folder();
    let store = open(&folder.path().join("s.jsonl"));
    store.winners(scope()).unwrap().put(&gemm(1), &winner("kernel_a")).unwrap();
    for changed in [
        Scope { arch: "gfx942".parse().unwrap(), ..scope() },
        Scope { device: "AMD Instinct MI350X".into(), ..scope() },
        Scope { pool: PoolHash::from_names(["kernel_a", "kernel_b", "kernel_c"]), ..scope() },
        Scope { library: "99.0.0".into(), ..scope() },
        Scope { driver: "hip 70051832".into(), ..scope() },
    ] {
        assert_eq!(kernel_of(&store, &changed, &gemm(1)), None, "{changed:?}");
    }
    assert!(kernel_of(&store, &scope(), &gemm(1)).is_some());
}

#[test]
fn the_architecture_of_a_problem_is_the_scopes_or_none() {
    let (_folder, _, winners) = made();
    let on = |arch: &str| {
        Problem::Gemm(GemmProblem { arch: Some(arch.parse().unwrap()), ..GemmProblem::new(1, 2, 3) })
    };
    winners.put(&on("gfx950"), &winner("kernel_a")).unwrap();
    assert!(winners.snapshot().get(&GemmProblem::new(1, 2, 3).into()).is_some());
    assert!(winners.snapshot().get(&on("gfx950")).is_some());
    assert!(winners.snapshot().get(&on("gfx942")).is_none());
    let error = winners.put(&on("gfx942"), &winner("kernel_a")).unwrap_err();
    assert_eq!(error.to_string(), "arch: found gfx942, expected gfx950, the scope's");
}

#[test]
fn a_put_replaces_even_a_winner_from_the_future() {
    let (_folder, path, winners) = made();
    winners.put(&gemm(1), &Winner { measured_at: 4_000_000_000, ..winner("kernel_a") }).unwrap();
    winners.put(&gemm(1), &winner("kernel_b")).unwrap();
    assert_eq!(&*winners.snapshot().get(&gemm(1)).unwrap().kernel, "kernel_b");
    assert_eq!(kernel_of(&open(&path), &scope(), &gemm(1)).as_deref(), Some("kernel_b"));
}

#[test]
fn refreshing_takes_in_what_others_wrote_and_removed() {
    let folder = folder();
    let path = folder.path().join("s.jsonl");
    let (mine, theirs) = (winners_of(&path), winners_of(&path));
    assert!(!mine.refresh().unwrap(), "nothing is new");
    for m in 1..=600 {
        theirs.put(&gemm(m), &winner("kernel_a")).unwrap();
    }
    assert_eq!((mine.snapshot().count(), theirs.snapshot().count()), (0, 600));
    assert!(mine.refresh().unwrap());
    assert!(!mine.refresh().unwrap(), "nothing is new any more");
    assert_eq!(mine.snapshot().count(), 600);

    theirs.put(&gemm(1), &winner("kernel_b")).unwrap();
    mine.put(&gemm(601), &winner("kernel_b")).unwrap();
    assert!(mine.refresh().unwrap());
    assert_eq!(&*mine.snapshot().get(&gemm(1)).unwrap().kernel, "kernel_b");
    assert_eq!(mine.snapshot().count(), 601);

    assert_eq!(theirs.store().remove(|record| &*record.winner.kernel == "kernel_a").unwrap(), 599);
    theirs.put(&gemm(700), &winner("kernel_b")).unwrap();
    assert!(mine.refresh().unwrap());
    let left = [1, 601, 700].map(|m| mine.snapshot().get(&gemm(m)).is_some());
    assert_eq!((left, mine.snapshot().count()), ([true; 3], 3));
}

#[test]
fn a_disabled_store_remembers_for_the_process_only() {
    let store = Store::disabled();
    let winners = store.winners(scope()).unwrap();
    assert_eq!(winners.put(&gemm(1), &winner("kernel_a")), Ok(Saved::MemoryOnly));
    assert!(winners.snapshot().get(&gemm(1)).is_some());
    assert!(!winners.refresh().unwrap());
    assert!(winners.snapshot().get(&gemm(1)).is_some());
    assert_eq!(store.count(), Ok(0));
}

#[test]
fn a_store_for_reading_waits_for_its_file_and_never_makes_it() {
    let folder = folder();
    let path = folder.path().join("s.jsonl");
    let reader = Store::open(&path, Mode::ReadOnly).unwrap().winners(scope()).unwrap();
    assert!(!reader.refresh().unwrap());
    assert!(!path.exists());
    let error = reader.put(&gemm(1), &winner("kernel_a")).unwrap_err();
    assert!(error.to_string().ends_with("read-only: it was opened read-only"), "{error}");
    assert!(reader.snapshot().get(&gemm(1)).is_some(), "known to this process");

    let writer = winners_of(&path);
    writer.put(&gemm(2), &winner("kernel_b")).unwrap();
    assert!(reader.refresh().unwrap());
    assert!(reader.snapshot().get(&gemm(2)).is_some());
}

#[test]
fn a_store_that_is_deleted_is_made_anew() {
    let (folder, path, winners) = made();
    winners.put(&gemm(1), &winner("kernel_a")).unwrap();
    for file in fs::read_dir(folder.path()).unwrap() {
        fs::remove_file(file.unwrap().path()).unwrap();
    }
    assert_eq!(winners.put(&gemm(2), &winner("kernel_b")), Ok(Saved::Disk));
    assert_eq!(kernel_of(&open(&path), &scope(), &gemm(2)).as_deref(), Some("kernel_b"));
    assert!(winners.refresh().unwrap());
    assert_eq!(winners.snapshot().count(), 1, "what the file holds now");
}

#[test]
fn lines_that_cannot_be_read_are_counted_and_passed_over() {
    let (_folder, path, winners) = made();
    for m in 1..=3 {
        winners.put(&gemm(m), &winner("kernel_a")).unwrap();
    }
    // A word and a field of a later version.
    let text = fs::read_to_string(&path).unwrap();
    let [first, second, third] = *text.lines().collect::<Vec<_>>() else { panic!("{text}") };
    let (first, second) = (first.replace("search", "oracle"), second.replace("\"op\"", "\"more\":1,\"op\""));
    let text = format!("{first}\n{second}\n{third}\n");
    fs::write(&path, &text).unwrap();
    let fresh = winners_of(&path);
    assert_eq!((fresh.snapshot().count(), fresh.store().records().unwrap().1), (1, 2));
    let fault = fresh.store().check().unwrap_err().to_string();
    assert!(fault.contains("damaged: line 1: unknown source 'oracle', expected one of"), "{fault}");
    fresh.put(&gemm(1), &winner("kernel_b")).unwrap();
    assert!(winners.refresh().unwrap() && fresh.refresh().unwrap());
    for winners in [winners, fresh] {
        assert_eq!((winners.snapshot().count(), winners.store().records().unwrap().1), (2, 2));
    }
    // The version that can read them finds them after a prune, too.
    assert_eq!(open(&path).remove(|record| &*record.winner.kernel == "kernel_b"), Ok(1));
    assert_eq!(open(&path).records().map(|(records, other)| (records.len(), other)), Ok((1, 2)));
}

/// Whatever an editor, a shell or another program does to the file, readers go on with what it holds.
#[test]
fn a_file_that_is_changed_by_hand_is_read_again() {
    let (folder, path, winners) = made();
    let line = |m: i64, kernel: &str| json_lines(&[Record::new(scope(), &gemm(m), winner(kernel)).unwrap()]);
    let known = || {
        assert!(winners.refresh().unwrap());
        assert!(!winners.refresh().unwrap(), "nothing is new any more");
        let snapshot = winners.snapshot();
        let kernels = (1..=3).map(|m| snapshot.get(&gemm(m)).map(|winner| winner.kernel.to_string()));
        kernels.map(Option::unwrap_or_default).collect::<Vec<_>>().join(" ")
    };
    fs::write(&path, [line(1, "one"), line(2, "two")].concat()).unwrap();
    assert_eq!(known(), "one two ");
    // The same file, overwritten with a longer text and one of the same length, cut, emptied, without its
    // last end, and finished.
    fs::write(&path, [line(3, "three"), line(1, "four"), line(2, "five")].concat()).unwrap();
    assert_eq!(known(), "four five three");
    fs::write(&path, [line(3, "three"), line(1, "nine"), line(2, "five")].concat()).unwrap();
    assert_eq!(known(), "nine five three");
    fs::write(&path, line(2, "six")).unwrap();
    assert_eq!(known(), " six ");
    fs::write(&path, "").unwrap();
    assert_eq!(known(), "  ");
    fs::write(&path, line(1, "seven").trim_ascii_end()).unwrap();
    assert_eq!(known(), "seven  ");
    assert_eq!(winners.put(&gemm(2), &winner("eight")), Ok(Saved::Disk));
    assert_eq!(known(), "seven eight ");
    winners.store().check().unwrap();
    // Another file in its place, and several in one.
    let other = folder.path().join("other.jsonl");
    fs::write(&other, [line(1, "nine"), line(1, "ten")].concat()).unwrap();
    fs::rename(&other, &path).unwrap();
    assert_eq!(known(), "ten  ");
    let twice = [fs::read(&path).unwrap(), line(1, "eleven"), line(3, "twelve")].concat();
    fs::write(&path, twice).unwrap();
    assert_eq!(known(), "eleven  twelve");
}

#[test]
fn a_line_torn_by_a_kill_is_cut_off() {
    let (_folder, path, winners) = made();
    winners.put(&gemm(1), &winner("kernel_a")).unwrap();
    let whole = fs::read(&path).unwrap();
    for cut in [1, 9, 30, whole.len() - 2] {
        fs::write(&path, [&whole, &whole[..cut]].concat()).unwrap();
        assert_eq!(open(&path).records().unwrap().1, 0);
        winners_of(&path).put(&gemm(2), &winner("kernel_b")).unwrap();
        open(&path).check().unwrap();
        assert_eq!(open(&path).count(), Ok(2), "{cut}");
        // Also if it is all that there is.
        fs::write(&path, &whole[..cut]).unwrap();
        winners_of(&path).put(&gemm(2), &winner("kernel_b")).unwrap();
        open(&path).check().unwrap();
        assert_eq!(open(&path).count(), Ok(1), "{cut}");
    }
    // A text that is not of a store is left, and the next line does not continue it.
    fs::write(&path, [&whole[..], b"# a note"].concat()).unwrap();
    winners_of(&path).put(&gemm(2), &winner("kernel_b")).unwrap();
    let counts = open(&path).records().map(|(records, other)| (records.len(), other));
    assert_eq!(counts, Ok((2, 1)));
}

/// All ranks of a job measure the same problems, so most lines may be replaced by later ones.
#[test]
fn a_file_of_replaced_lines_does_not_grow_for_ever() {
    let folder = folder();
    let (path, link) = (folder.path().join("s.jsonl"), folder.path().join("link"));
    std::os::unix::fs::symlink("s.jsonl", &link).unwrap();
    let line = |m: i64| Record::new(scope(), &gemm(m), winner("kernel_a")).unwrap();
    fs::write(&path, json_lines(&[line(1), line(2)]).repeat(1_500)).unwrap();
    let winners = open(&link).winners(scope()).unwrap();
    winners.put(&gemm(3), &winner("kernel_b")).unwrap();
    assert!(fs::metadata(&path).unwrap().len() < 2_000);
    assert!(link.is_symlink());
    assert!(winners.refresh().unwrap());
    assert_eq!((winners.snapshot().count(), winners.store().count()), (3, Ok(3)));
}

#[test]
fn merging_keeps_the_newer_whatever_the_order() {
    let folder = folder();
    let record = |m: i64, kernel: &str, measured_at: u64, median_ms: f64| {
        Record::new(scope(), &gemm(m), Winner { measured_at, median_ms, ..winner(kernel) }).unwrap()
    };
    let ours = [
        record(1, "kernel_a", 100, 1.0),
        record(2, "kernel_a", 100, 1.0),
        record(3, "kernel_a", 100, 1.0),
        record(4, "kernel_a", 100, 1.0),
    ];
    let theirs = [
        record(1, "kernel_a", 100, 1.0),
        record(2, "kernel_b", 101, 9.0),
        record(3, "kernel_b", 99, 0.1),
        record(4, "kernel_b", 100, 0.9),
        record(5, "kernel_b", 100, 1.0),
    ];
    let merged = |name: &str, parts: [&[Record]; 2]| {
        let store = open(&folder.path().join(name));
        store.merge(parts[0]).unwrap();
        let counts = store.merge(parts[1]).unwrap();
        let mut records = store.records().unwrap().0;
        records.sort_by_key(|record| record.problem.to_string());
        (counts, records)
    };
    let (counts, one) = merged("one", [&ours, &theirs]);
    assert_eq!(counts, Merged { added: 1, same: 1, replaced: 2, kept: 1 });
    let (_, other) = merged("other", [&theirs, &ours]);
    assert_eq!(one, other);
    let kernels: Vec<&str> = one.iter().map(|record| &*record.winner.kernel).collect();
    assert_eq!(kernels, ["kernel_a", "kernel_b", "kernel_a", "kernel_b", "kernel_b"]);
}

#[test]
fn records_come_in_the_order_in_which_they_were_written() {
    let folder = folder();
    let store = open(&folder.path().join("s.jsonl"));
    let other = Scope { arch: "gfx942".parse().unwrap(), pool: PoolHash::from_names(["x"]), ..scope() };
    let mut records: Vec<Record> = (1..=10)
        .map(|m| {
            let scope = if m % 2 == 0 { scope() } else { other.clone() };
            Record::new(scope, &gemm(m), winner("kernel_a")).unwrap()
        })
        .collect();
    store.merge(&records).unwrap();
    assert_eq!(store.records().unwrap(), (records.clone(), 0));
    store.winners(scope()).unwrap().put(&gemm(2), &winner("kernel_a")).unwrap();
    let second = records.remove(1);
    records.push(second);
    assert_eq!(store.records().unwrap(), (records.clone(), 0));
    assert_eq!(store.remove(|record| record.scope == other), Ok(5));
    records.retain(|record| record.scope != other);
    assert_eq!(store.records().unwrap(), (records, 0));
}
