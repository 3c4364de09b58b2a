//! A registry whose store another process holds: selections go on, and nothing that was measured is lost.
//!
//! The children are this test program again: `child` does nothing unless the environment names a file.

use std::ffi::{CStr, c_char};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Stdio};
use std::ptr::{null, null_mut};
use std::time::{Duration, Instant};

use ck_select::ffi::{
    CkRegistry, CkStatus, ck_registry_refresh_store, ck_registry_store_status, ck_string_free,
};
use ck_select::kernel::Kernel;
use ck_select::problem::{GemmProblem, Problem};
use ck_select::registry::{Mode, Options, Registry, Source};
use ck_select::tuning::device::Stream;
use ck_select::tuning::search::RunOutcome;
use ck_select::tuning::store::{Mode as StoreMode, Store, StoreStatus};

use crate::common::logged;

const PATH: &str = "CK_SELECT_TEST_PATH";
/// Ten selections took a hundred seconds and more when each of them waited.
const SOON: Duration = Duration::from_secs(8);

const NAME: &str =
    "gemm_universal_fp8_rcr_compv3_cshuffle_intrawave_True_True_True_False_128x128x64_2x2x1_32x32x16";

/// The child holds its lock until it is told to stop.
#[test]
fn child() {
    let Ok(path) = std::env::var(PATH) else { return };
    let file = std::fs::File::open(path).unwrap();
    file.lock().unwrap();
    std::io::stdout().write_all(b"@@held\n").unwrap();
    std::io::stdout().flush().unwrap();
    let _ = std::io::stdin().read_line(&mut String::new());
}

struct Holder {
    child: Child,
    /// Kept open for what the test harness prints in the end.
    _output: ChildStdout,
}

impl Holder {
    fn new(path: &Path) -> Self {
        let mut command = crate::common::child("locked::child");
        command.env(PATH, path).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut output = child.stdout.take().unwrap();
        let mut lines = BufReader::new(&mut output).lines();
        assert!(lines.any(|line| line.unwrap().contains("@@held")), "the child holds the lock");
        Self { child, _output: output }
    }

    /// Gives the lock back.
    fn release(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}

fn run(_: &Problem, _: Stream) -> RunOutcome {
    RunOutcome::Milliseconds(1.0)
}

/// A registry that measures, into this store.
fn searching(path: &Path) -> Registry {
    let options = Options { mode: Mode::Search, store: Some(path.to_owned()), ..crate::common::on("gfx942") };
    crate::common::running(options, [Kernel::from_name(NAME).unwrap()], |_, _| run)
}

fn gemm(m: i64) -> Problem {
    GemmProblem::new(64 * m, 64, 64).into()
}

/// Measures these, one after the other.
fn measure(registry: &Registry, problems: std::ops::Range<i64>) {
    for m in problems {
        assert_eq!(registry.select(&gemm(m)).unwrap().source, Source::Search);
        assert_eq!(registry.select(&gemm(m)).unwrap().source, Source::Store, "kept in memory at least");
    }
}

/// A store that is there, empty.
fn store() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("winners.jsonl");
    Store::open(&path, StoreMode::ReadWrite).unwrap();
    (folder, path)
}

fn on_disk(path: &Path) -> usize {
    Store::open(path, StoreMode::ReadOnly).unwrap().count().unwrap()
}

/// What C programs are told of the store of a registry.
fn status(registry: *const CkRegistry) -> (usize, Option<String>) {
    let (mut waiting, mut reason): (usize, *mut c_char) = (usize::MAX, null_mut());
    // SAFETY: the registry lives, and the outputs live through the call.
    let answer = unsafe { ck_registry_store_status(registry, &raw mut waiting, &raw mut reason) };
    assert_eq!(answer, CkStatus::Ok);
    if reason.is_null() {
        return (waiting, None);
    }
    // SAFETY: the text was given by the library, and is freed once.
    let text = unsafe { CStr::from_ptr(reason) }.to_str().unwrap().to_owned();
    // SAFETY: as above.
    unsafe { ck_string_free(reason) };
    (waiting, Some(text))
}

#[test]
fn a_locked_store_stalls_nothing_and_gets_its_winners_later() {
    let (_folder, path) = store();
    assert_eq!(logged(&path), Vec::<String>::new());
    let holder = Holder::new(&path);
    let registry = searching(&path);
    let start = Instant::now();
    measure(&registry, 1..11);
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    // C's handle of a registry points to it.
    let handle = (&raw const registry).cast::<CkRegistry>().cast_mut();
    let (waiting, reason) = status(handle);
    assert_eq!(waiting, 10);
    assert!(reason.unwrap().contains("in use by other processes"));
    let said = logged(&path);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("kept in memory"), "{said:?}");
    let refused = registry.refresh_store().unwrap_err().to_string();
    assert!(refused.contains("in use by other processes"), "{refused}");
    // SAFETY: the registry lives.
    let refresh = || unsafe { ck_registry_refresh_store(handle) };
    assert_eq!(refresh(), CkStatus::Io);

    holder.release();
    assert_eq!(refresh(), CkStatus::Ok);
    assert_eq!(registry.store_status(), StoreStatus::default());
    assert_eq!(status(handle), (0, None));
    // SAFETY: as above; outputs may be null.
    unsafe {
        assert_eq!(ck_registry_store_status(handle, null_mut(), null_mut()), CkStatus::Ok);
        assert_eq!(ck_registry_store_status(null(), null_mut(), null_mut()), CkStatus::NullPointer);
    }
    assert_eq!(on_disk(&path), 10);
    // And so it goes on.
    measure(&registry, 11..12);
    assert_eq!(on_disk(&path), 11);
    assert_eq!(logged(&path).len(), 1);
}

#[test]
fn pending_winners_are_written_with_a_later_one() {
    let (_folder, path) = store();
    let holder = Holder::new(&path);
    let registry = searching(&path);
    measure(&registry, 1..4);
    holder.release();
    // Longer than the store is left alone after its first failures.
    let mut m = 4;
    let start = Instant::now();
    while registry.store_status().waiting > 0 {
        assert!(start.elapsed() < Duration::from_secs(30));
        std::thread::sleep(Duration::from_millis(300));
        measure(&registry, m..m + 1);
        m += 1;
    }
    assert_eq!(on_disk(&path) as i64, m - 1);
}

#[test]
fn pending_winners_are_written_when_the_registry_ends_whatever_became_of_its_pool() {
    let (_folder, path) = store();
    let holder = Holder::new(&path);
    let registry = searching(&path);
    measure(&registry, 1..4);
    let other = Kernel::from_name(&NAME.replace("128x128x64", "64x64x64")).unwrap();
    registry.add_all(vec![crate::common::new(other, Some(Box::new(run)))]).unwrap();
    measure(&registry, 1..4);
    assert_eq!(registry.store_status().waiting, 6, "three for each pool");
    holder.release();
    drop(registry);
    assert_eq!(on_disk(&path), 6);
}

#[test]
fn winners_that_cannot_be_written_to_the_end_are_named_in_the_log() {
    let (_folder, path) = store();
    logged(&path);
    let holder = Holder::new(&path);
    let registry = searching(&path);
    measure(&registry, 1..4);
    let start = Instant::now();
    drop(registry);
    assert!(start.elapsed() < SOON);
    let said = logged(&path);
    assert!(said.iter().any(|line| line.starts_with("3 winners are lost: ")), "{said:?}");
    holder.release();
    assert_eq!(on_disk(&path), 0);
}

#[test]
fn a_locked_store_is_read() {
    let (_folder, path) = store();
    measure(&searching(&path), 1..4);
    let holder = Holder::new(&path);
    let second = searching(&path);
    assert_eq!(second.select(&gemm(1)).unwrap().source, Source::Store);
    measure(&second, 7..8);
    assert_eq!((second.store_status().waiting, on_disk(&path)), (1, 3));
    holder.release();
    drop(second);
    assert_eq!(on_disk(&path), 4);
}

#[test]
fn a_private_store_waits_as_long_as_configured() {
    let (_folder, path) = store();
    let holder = Holder::new(&path);
    let wait = Duration::from_millis(300);
    let store = Store::open_with(&path, StoreMode::ReadWrite, wait).unwrap();
    let start = Instant::now();
    let error = store.remove(|_| true).unwrap_err().to_string();
    assert!(error.ends_with("in use by other processes for more than 300 ms"), "{error}");
    assert!(start.elapsed() >= wait && start.elapsed() < SOON);
    holder.release();
}
