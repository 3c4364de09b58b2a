//! Predicting takes no memory beyond what the first calls took.

mod support;

use ck_select_testing::counting::{ALLOCATIONS, Counting};
use support::{Call, GEMM, Model, rows};

#[global_allocator]
static COUNTING: Counting = Counting;

#[test]
fn after_the_first_calls_predicting_allocates_nothing() {
    const ROWS: usize = 300;
    let model = Model::load(GEMM);
    // Rows with tiny values among them, which count as zero.
    let values = rows(ROWS, 72);
    let (mut written, mut results) = (0, vec![0.0; ROWS * model.1]);
    let parameter = c"num_threads=1 predict_disable_shape_check=true".as_ptr();
    let call = Call::new(&model, &values, 72, (&raw mut written, results.as_mut_ptr()));
    let predict = |nrow, is_row_major, predict_type, start| {
        let call = Call { nrow, is_row_major, predict_type, start, parameter, ..call };
        assert_eq!(call.status(), 0);
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
}
