//! A registry in a process that forks. A program of its own: a child of a process with other threads may find
//! locks held that nobody will ever give back.

mod common;

use std::time::Duration;

use ck_select::problem::Problem;
use ck_select::registry::{Options, Source, TuneBudget};
use ck_select::tuning::device::Stream;
use ck_select::tuning::search::{RunOutcome, SearchOptions};
use ck_select_testing::faulty_calls::times;
use common::{kernels, running, small_conv as problem};

const LONG: TuneBudget = TuneBudget::new(Duration::from_secs(60));

unsafe extern "C" {
    fn fork() -> i32;
    fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
    fn _exit(status: i32) -> !;
}

/// A registry that counts, has measured and has an open store goes on in a child and in its parent.
#[test]
fn a_fork_after_use_serves_both() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("winners.db");
    let measuring = SearchOptions { warmup: 0, repeats: 2, ..SearchOptions::default() };
    let arch = Some("gfx942".parse().unwrap());
    let options = Options { arch, store: Some(store), measuring, ..Options::default() };
    let kernels = kernels().into_iter().take(4);
    let registry = running(options, kernels, |_, _| |_: &Problem, _: Stream| RunOutcome::Milliseconds(1.0));
    registry.tune(&LONG).unwrap();
    registry.select(&problem(1)).unwrap();
    registry.tune(&LONG).unwrap();
    let ends_well = |number: i64| {
        let guess = registry.select(&problem(number)).is_ok_and(|one| one.source == Source::Estimate);
        let tuned = registry.tune(&LONG).is_ok_and(|report| report.measured == 1);
        // A busy machine may have left a winner in memory, which a child that ends by `_exit` would lose.
        for _ in 0..100 {
            if registry.store_status().waiting == 0 {
                break;
            }
            let _ = registry.refresh_store();
        }
        let known = [1, number].map(|number| registry.select(&problem(number)));
        guess && tuned && known.iter().all(|one| one.as_ref().is_ok_and(|one| one.source == Source::Store))
    };
    for round in 0..5 * i64::from(times()) {
        // SAFETY: the child uses the registry alone, which no other thread does now, and ends by `_exit`.
        let child = unsafe { fork() };
        assert!(child >= 0);
        if child == 0 {
            let well = ends_well(1000 + round);
            // SAFETY: ends the process and touches nothing.
            unsafe { _exit(i32::from(!well)) }
        }
        assert!(ends_well(2000 + round));
        let mut status = -1;
        // SAFETY: `status` lives until the call returns.
        assert_eq!(unsafe { waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(status, 0, "the child's selections or winners went wrong");
    }
    // The child's winners are in the store.
    registry.refresh_store().unwrap();
    assert_eq!(registry.select(&problem(1000)).unwrap().source, Source::Store);
}
