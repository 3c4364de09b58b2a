#![no_main]
//! What `ckselect bench` reads: any bytes give problems and records, or an error that names the file.

use std::collections::HashSet;
use std::path::Path;

use ck_select::kernel::Kernel;
use ck_select::problem::{Problem, ProblemDefaults};
use ck_select::vocab::Op;
use ck_select_measure::problems::ProblemSet;
use ck_select_measure::runner::{Answers, Recorded};
use ck_select_measure::template::Template;
use libfuzzer_sys::fuzz_target;

const CONV: &str = "grouped_conv_forward_bf16_2d_64x64x64_compv3";
const GEMM: &str =
    "gemm_universal_fp16_rcr_compv3_cshuffle_intrawave_False_False_False_False_64x64x64_2x2x1_32x32x16";

const FMHA: &str =
    "fmha_fwd_fp16_batch_h128_qr_async_t128x128x32x128x32x128_w32x32x16_pad1111_mask=no_bias=no_bpc=-1";

fuzz_target!(|bytes: &[u8]| {
    for (op, name) in [(Op::Conv, CONV), (Op::Gemm, GEMM), (Op::Fmha, FMHA)] {
        let kernel = Kernel::from_name(name).expect("a good name");
        let problems = match ProblemSet::from_bytes(Path::new("fuzz"), bytes, op) {
            Ok(set) => set.problems,
            Err(error) => {
                assert!(error.to_string().starts_with("fuzz: "), "{error}");
                Vec::new()
            }
        };
        let numbers: HashSet<u64> = problems.iter().map(|asked| asked.idx).collect();
        assert_eq!(numbers.len(), problems.len());
        for asked in &problems {
            asked.problem.validate().expect("a good problem");
            let text = asked.problem.to_string();
            assert_eq!(
                Problem::parse(op, &text, &ProblemDefaults::of(op)).as_ref(),
                Ok(&asked.problem),
                "{text}"
            );
        }
        match Recorded::from_reader(Path::new("fuzz"), bytes, op) {
            // Whatever is recorded, every question has an answer, and a time is one.
            Ok(records) => {
                for problem in problems.iter().filter_map(|asked| asked.for_kernel(&kernel)) {
                    let outcome = records.answer(&kernel, &problem);
                    assert!(outcome.latency_ms().is_none_or(|ms| ms > 0.0 && ms.is_finite()));
                }
            }
            Err(error) => assert!(error.to_string().starts_with("fuzz: "), "{error}"),
        }
    }
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(template) = Template::try_from(text.to_owned())
    {
        let filled = template.fill(|_| Some("x".to_owned()));
        assert!(filled.is_some());
    }
});
