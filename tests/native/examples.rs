//! The programs of `cpp_examples` print what is expected, apart from times.
//!
//! `UPDATE_EXPECTED=1 cargo test --test native` writes what they print now.

use std::path::Path;
use std::process::Command;

use ck_select::embedded;

use super::tools;

/// Puts `*` where the number before each ` us ` stands, in the same width.
fn without_times(printed: &str) -> String {
    let mut text = String::new();
    for line in printed.lines() {
        let mut line = line.to_owned();
        if let Some(end) = line.find(" us ") {
            let begin = line[..end].rfind(' ').map_or(0, |space| space + 1);
            if line[begin..end].parse::<f64>().is_ok_and(|time| time > 0.0) {
                line.replace_range(begin..end, &format!("{:>1$}", "*", end - begin));
            }
        }
        text += &line;
        text.push('\n');
    }
    text
}

pub(super) fn prints(program: &Path, arguments: &[&str], expected: &str) {
    let printed = tools::run(Command::new(program).args(arguments).current_dir(tools::ROOT));
    let found = without_times(&printed);
    let file = tools::source("cpp_examples/expected").join(expected);
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        std::fs::write(&file, &found).unwrap();
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(found, expected, "{}", file.display());
}

/// Without an argument: the embedded model, if this build has one of that kind.
fn takes_the_usual_model(program: &Path, kind: &str, other: &str) {
    let embedded = embedded::all().iter().find(|model| model.name().starts_with(kind));
    let other = || tools::source(other).display().to_string();
    let expected = embedded.map_or_else(other, |model| format!("embedded:{}", model.name()));
    // Nothing is looked for where the program happens to be run.
    let printed = tools::run(Command::new(program).current_dir(tools::scratch("elsewhere")));
    assert!(printed.contains(&format!("kernels, model {expected}\n")), "{printed}");
}

#[test]
fn c_minimal_prints_what_is_expected() {
    for compilers in tools::compilers() {
        let program = tools::build(compilers.c, "c11", &["cpp_examples/c_minimal.c"], &[], "c_minimal");
        prints(&program, &[], "c_minimal.txt");
        prints(&program, &["tests/golden/models/conv_small"], "c_minimal.txt");
    }
}

/// Builds a C++ example with each compiler, which is named to the check, too.
fn each_build(name: &str, check: impl Fn(&Path, &str)) {
    for compilers in tools::compilers() {
        let source = format!("cpp_examples/{name}.cpp");
        let program = tools::build(compilers.cpp, "c++17", &[&source], &["-Wconversion"], name);
        check(&program, compilers.cpp);
    }
}

fn fails(program: &Path, arguments: &[&str]) {
    let failed = tools::output(Command::new(program).args(arguments).current_dir(tools::ROOT));
    assert_eq!(failed.status.code(), Some(1), "{arguments:?}");
}

#[test]
fn conv_get_solution_prints_what_is_expected() {
    each_build("conv_get_solution", |program, _| {
        prints(program, &["tests/golden/models/conv_small"], "conv_get_solution.txt");
        takes_the_usual_model(program, "grouped_conv_forward", "tests/golden/models/conv_small");
        fails(program, &["/there/is/no/such/model"]);
    });
}

#[test]
fn gemm_09_prints_what_is_expected() {
    each_build("gemm_09_ml_heuristic", |program, _| {
        let model = "tests/golden/models/gemm_small";
        prints(program, &[model], "gemm_09_ml_heuristic.txt");
        takes_the_usual_model(program, "gemm", model);
        let pool = format!("{model}/pool.txt");
        prints(program, &[model, &pool, "128", "1536", "7168"], "gemm_09_ml_heuristic_one.txt");
        for wrong in [&[model, &pool, "0", "1", "1"][..], &[model, &pool, "5"], &[model, "/no/such/list"]] {
            fails(program, wrong);
        }
    });
}

#[test]
fn a_tuned_stream_gets_faster() {
    each_build("tuning_stream", |program, _| {
        let text = tools::run(&mut Command::new(program));
        let share = |line: &str| line.split_whitespace().nth(2).and_then(|word| word.parse::<f64>().ok());
        let shares: Vec<f64> = text.lines().filter_map(share).collect();
        let (Some(first), Some(last)) = (shares.first(), shares.last()) else { panic!("{text}") };
        assert!(shares.len() == 6 && shares.is_sorted() && last - first > 1.0, "{text}");
    });
}

#[test]
fn fallback_search_prints_what_is_expected() {
    each_build("fallback_search", |program, compiler| {
        prints(program, &[], "fallback_search.txt");
        // The winners of one process serve the next.
        let store = tools::scratch("fallback_search").join(format!("winners_{compiler}.db"));
        let _ = std::fs::remove_file(&store);
        let store = store.to_str().unwrap();
        prints(program, &[store], "fallback_search.txt");
        prints(program, &[store], "fallback_search_again.txt");
        let failed = tools::output(Command::new(program).arg("/there/is/no/such/folder/winners.db"));
        assert!(failed.status.success(), "what cannot be kept on disk is kept in memory");
    });
}
