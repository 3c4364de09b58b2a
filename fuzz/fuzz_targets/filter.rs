#![no_main]
//! Filters and configurations: any text gives an answer or an error that names its place.

use ck_select::kernel::Kernel;
use ck_select::vocab::Op;
use ck_select_enumerate::config::Config;
use ck_select_enumerate::filter::Filter;
use libfuzzer_sys::fuzz_target;

const KERNEL: &str = "grouped_conv_forward_bf16_2d_64x128x64_compv3_intrawave_gm2_dsb";

fuzz_target!(|text: &str| {
    let kernel = Kernel::from_name(KERNEL).expect("a good name");
    let result = Filter::parse_file(Op::Conv, text).and_then(|filter| filter.keeps(&kernel));
    if let Err(error) = result {
        assert!(!error.to_string().is_empty());
    }
    for op in [None, Some(Op::Gemm), Some(Op::Fmha)] {
        if let Err(error) = Config::from_json("fuzz", text.as_bytes(), op) {
            assert!(error.to_string().starts_with("fuzz"));
        }
    }
});
