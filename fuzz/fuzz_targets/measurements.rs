#![no_main]
//! No text makes a reader of measurements panic, errors name the file, and every row names a problem and a
//! kernel.

use ck_select::vocab::Op;
use ck_select_measurements::{Measurements, RowScope};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for name in ["fuzz.csv", "fuzz.json", "fuzz.log", "fuzz"] {
        for op in [Op::Conv, Op::Gemm] {
            let mut data = Measurements::new(RowScope::all(op));
            if let Err(error) = data.add_text(name, bytes) {
                assert!(error.to_string().starts_with(name));
            }
            for row in data.rows() {
                assert_eq!(data.problems()[row.problem as usize].op(), op);
                assert_eq!(data.kernels()[row.kernel as usize].op(), op);
                assert!(!row.is_valid || (row.tflops > 0.0 && row.latency_ms > 0.0));
            }
        }
    }
});
