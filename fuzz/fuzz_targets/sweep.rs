#![no_main]
//! What `ckselect bench` reads: any bytes give problems, or an error that names the file.

use std::collections::HashSet;
use std::path::Path;

use ck_select::problem::{Problem, ProblemDefaults};
use ck_select::vocab::Op;
use ck_select_measure::problems::ProblemSet;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for &op in Op::ALL {
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
                Problem::parse(op, &text, &ProblemDefaults::new(op)).as_ref(),
                Ok(&asked.problem),
                "{text}"
            );
        }
    }
});
