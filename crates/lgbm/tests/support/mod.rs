//! What the tests share: where things are, and programs that must succeed.
#![allow(dead_code, reason = "each test uses a part")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::ptr;

use ck_select_lgbm::*;
use ck_select_testing::{Numbers as _, Random};

pub(crate) const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden");

/// 72 features, as upstream's GEMM heuristic has them; compressed.
pub(crate) const GEMM: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/models/gemm_small/model_tflops.lgbm.gz");

/// 68 features, as upstream's attention heuristic has them; compressed.
pub(crate) const FMHA: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/models/fmha_small/model_tflops.lgbm.gz");

/// What was wrong with this thread's last call that failed.
pub(crate) fn last_error() -> String {
    // SAFETY: a text that is valid until this thread's next error.
    unsafe { CStr::from_ptr(LGBM_GetLastError()) }.to_str().unwrap().to_owned()
}

/// A model, which is freed with the value, and its number of trees.
pub(crate) struct Model(pub(crate) *mut c_void, pub(crate) usize);

impl Model {
    pub(crate) fn load(path: &str) -> Model {
        let path = CString::new(path).unwrap();
        let (mut trees, mut handle) = (0, ptr::null_mut());
        // SAFETY: a C string and two places to write to.
        let status =
            unsafe { LGBM_BoosterCreateFromModelfile(path.as_ptr(), &raw mut trees, &raw mut handle) };
        assert_eq!(status, 0, "{}", last_error());
        assert!(trees > 0);
        Model(handle, trees as usize)
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        // SAFETY: nobody uses it any more.
        assert_eq!(unsafe { LGBM_BoosterFree(self.0) }, 0);
    }
}

/// The arguments of a prediction, right until a test changes one.
#[derive(Clone, Copy)]
pub(crate) struct Call {
    pub(crate) handle: *mut c_void,
    pub(crate) data: *const c_void,
    pub(crate) data_type: c_int,
    pub(crate) nrow: i32,
    pub(crate) ncol: i32,
    pub(crate) is_row_major: c_int,
    pub(crate) predict_type: c_int,
    pub(crate) start: c_int,
    pub(crate) parameter: *const c_char,
    pub(crate) length: *mut i64,
    pub(crate) results: *mut f64,
}

impl Call {
    /// Predictions of whole rows. The model, the rows and the places for the results must outlive the value.
    pub(crate) fn new(
        model: &Model,
        rows: &[f64],
        width: usize,
        (length, results): (*mut i64, *mut f64),
    ) -> Call {
        Call {
            handle: model.0,
            data: rows.as_ptr().cast(),
            data_type: 1,
            nrow: (rows.len() / width) as i32,
            ncol: width as i32,
            is_row_major: 1,
            predict_type: 0,
            start: 0,
            parameter: c"".as_ptr(),
            length,
            results,
        }
    }

    pub(crate) fn status(&self) -> c_int {
        let Call { handle, data, data_type, nrow, ncol, is_row_major, predict_type, start, .. } = *self;
        let Call { parameter, length, results, .. } = *self;
        // SAFETY: the tests' pointers are NULL or right for the sizes, or the sizes are refused.
        unsafe {
            LGBM_BoosterPredictForMat(
                handle, data, data_type, nrow, ncol, is_row_major, predict_type, start, 0, parameter, length,
                results,
            )
        }
    }
}

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
    let random = &mut Random(1);
    let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, 1e-36, -1e-300, 1e300];
    let mut value = || match random.below(40) {
        0..8 => random.pick(&special),
        8..16 => random.below(64) as f64,
        16..28 => (1u64 << random.below(16)) as f64,
        _ => random.unit() * 8192.0,
    };
    (0..count * width).map(|_| value()).collect()
}
