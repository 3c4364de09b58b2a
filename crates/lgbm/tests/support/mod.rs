//! What the tests share: where things are, and programs that must succeed.
#![allow(dead_code, reason = "each test uses a part")]

use std::path::PathBuf;
use std::process::{Command, Output};

pub(crate) const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden");

/// 72 features, as upstream's GEMM heuristic has them; compressed.
pub(crate) const GEMM: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/models/gemm_small/model_tflops.lgbm.gz");

/// 68 features, as upstream's attention heuristic has them; compressed.
pub(crate) const FMHA: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/models/fmha_small/model_tflops.lgbm.gz");

/// The shared library, which cargo puts beside the tests.
pub(crate) fn library() -> PathBuf {
    let path = std::env::current_exe().unwrap().with_file_name("libck_select_lgbm.so");
    assert!(path.exists(), "{} was not built", path.display());
    path
}

/// Runs a program and gives what it printed, both outputs separately.
pub(crate) fn run(command: &mut Command) -> (Output, String, String) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    (output, out, err)
}

/// Runs a program that must succeed and print nothing on stderr; gives what it printed on stdout.
pub(crate) fn succeed(command: &mut Command) -> String {
    let (output, out, err) = run(command);
    assert!(output.status.success() && err.is_empty(), "{command:?}: {}\n{out}{err}", output.status);
    out
}

/// Rows with numbers of the size of upstream's features, and some NaN, infinities and zeros of either sign.
pub(crate) fn rows(count: usize, width: usize) -> Vec<f64> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, 1e-36, -1e-300, 1e300];
    let mut value = || match next() % 40 {
        index @ 0..8 => special[index as usize],
        8..16 => (next() % 64) as f64,
        16..28 => (1u64 << (next() % 16)) as f64,
        _ => (next() >> 11) as f64 / (1u64 << 40) as f64,
    };
    (0..count * width).map(|_| value()).collect()
}
