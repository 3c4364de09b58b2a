#![no_main]
//! Any text as an override file and as a captured list of problems: rules that are found by their problems,
//! problems that print as they read, or an error that names file and line.

use std::io::Cursor;

use ck_select::listing::ProblemReader;
use ck_select::problem::{Problem, ProblemDefaults};
use ck_select::registry::Overrides;
use ck_select::vocab::Op;
use libfuzzer_sys::fuzz_target;

fn as_problems(text: &str, op: Op) {
    let source = Box::new(Cursor::new(text.as_bytes()));
    let mut reader = match ProblemReader::new("fuzz", source, op, ProblemDefaults::new(op)) {
        Ok(reader) => reader,
        Err(error) => return assert!(error.to_string().starts_with("fuzz"), "{error}"),
    };
    loop {
        match reader.next() {
            Ok(None) => return,
            Ok(Some(listed)) => {
                let problem = listed.problem;
                problem.validate().expect("a good problem");
                let text = problem.to_string();
                assert_eq!(
                    Problem::parse(op, &text, &ProblemDefaults::new(op)).as_ref(),
                    Ok(&problem),
                    "{text}"
                );
            }
            Err(error) => return assert!(error.to_string().starts_with("fuzz"), "{error}"),
        }
    }
}

fuzz_target!(|text: &str| {
    match Overrides::parse("fuzz", text) {
        Ok(_) => {}
        Err(error) => assert!(error.to_string().contains("fuzz"), "{error}"),
    }
    for &op in Op::ALL {
        as_problems(text, op);
    }
});
