//! Specs, problem texts and feature cells: whatever the bytes are, an answer or an error comes back, and a
//! problem that is accepted can be described and printed back.
#![no_main]

use ck_select::features::{Engine, Extractor};
use ck_select::directory::FeatureSpec;
use ck_select::problem::{Problem, ProblemDefaults};
use ck_select::vocab::Op;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(spec) = FeatureSpec::from_json("spec", bytes) {
        assert!(!spec.extractor.schema.is_empty());
        let _ = spec.problem_defaults();
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    for (op, engine) in
        [(Op::Conv, Engine::ConvSuperset), (Op::Gemm, Engine::Gemm78Vec), (Op::Fmha, Engine::Fmha68)]
    {
        let defaults = ProblemDefaults::new(op);
        if let Ok(problem) = Problem::parse(op, text, &defaults) {
            assert_eq!(Problem::parse(op, &problem.to_string(), &defaults), Ok(problem));
            let _ = Extractor::for_engine(engine).problem_terms(&problem);
        }
    }
});
