//! Predicting takes no memory beyond what the first calls took.

#[path = "../../../tests/counting/mod.rs"]
mod counting;
mod support;

use std::ffi::CString;
use std::ptr;

use ck_select_lgbm::{LGBM_BoosterCreateFromModelfile, LGBM_BoosterFree, LGBM_BoosterPredictForMat};
use counting::ALLOCATIONS;
use support::{GEMM, rows};

#[test]
fn after_the_first_calls_predicting_allocates_nothing() {
    const ROWS: usize = 300;
    let path = CString::new(GEMM).unwrap();
    let (mut iterations, mut handle, mut written) = (0, ptr::null_mut(), 0);
    // SAFETY: a C string and two places to write to.
    let status =
        unsafe { LGBM_BoosterCreateFromModelfile(path.as_ptr(), &raw mut iterations, &raw mut handle) };
    assert_eq!(status, 0);
    // Rows with tiny values among them, which count as zero.
    let values = rows(ROWS, 72);
    let mut results = vec![0.0; ROWS * iterations as usize];
    let mut predict = |rows: i32, is_row_major, predict_type, start| {
        let (data, results) = (values.as_ptr().cast(), results.as_mut_ptr());
        // SAFETY: at most as many rows and results as there are.
        let status = unsafe {
            LGBM_BoosterPredictForMat(
                handle,
                data,
                1,
                rows,
                72,
                is_row_major,
                predict_type,
                start,
                0,
                c"num_threads=1 predict_disable_shape_check=true".as_ptr(),
                &raw mut written,
                results,
            )
        };
        assert_eq!(status, 0);
    };
    // The second call of few rows lays out the forest; each thread keeps what its largest call needed.
    for rows in [1, 1, ROWS as i32] {
        predict(rows, 1, 0, 0);
    }
    predict(ROWS as i32, 1, 0, 1);
    predict(1, 1, 2, 0);
    let before = ALLOCATIONS.get();
    for _ in 0..100 {
        predict(1, 1, 0, 0);
    }
    for predict_type in 0..3 {
        for is_row_major in 0..2 {
            predict(ROWS as i32, is_row_major, predict_type, 0);
            predict(ROWS as i32, is_row_major, predict_type, 1);
        }
    }
    assert_eq!(ALLOCATIONS.get() - before, 0);
    // SAFETY: nobody uses it any more.
    assert_eq!(unsafe { LGBM_BoosterFree(handle) }, 0);
}
