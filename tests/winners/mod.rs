//! Winners to put into stores.

use ck_select::problem::{GemmProblem, Problem};
use ck_select::tuning::store::{PoolHash, Scope, Winner, WinnerSource};

pub(crate) fn scope() -> Scope {
    let pool = PoolHash::of_names(["kernel_a", "kernel_b"]);
    Scope::new("gfx950".parse().unwrap(), "AMD Instinct MI355X", pool, "hip 70051831")
}

pub(crate) fn gemm(m: i64) -> Problem {
    GemmProblem::new(m, 64, 64).into()
}

pub(crate) fn winner(kernel: &str) -> Winner {
    Winner {
        kernel: kernel.into(),
        split_k: 1,
        median_ms: 0.5,
        cv: 0.01,
        repeats: 10,
        candidates: 30,
        measured_at: 1_800_000_000,
        source: WinnerSource::Search,
    }
}
