//! `--simulate` from what was measured before.

use std::fs;

use crate::common::{Ran, root, wait_for_lines};
use crate::fakes::{Expected, Fakes, Rows, assert_same, succeeded};

/// A log of the library with failures of every kind, and the table that `convert` makes of it.
fn measured() -> Fakes {
    let fakes = Fakes::library(6, 5);
    let line = "--runner runner.json --output a.csv --params timeout=2s";
    succeeded(fakes.bench(line).env("FAKE_FAULTS", "300"));
    fakes.good("convert a.csv --output a.parquet --arch gfx950");
    fakes
}

fn simulated(fakes: &Fakes, from: &str) -> Rows {
    fakes.swept(&format!("--simulate {from} --output b.csv --overwrite"));
    fakes.rows("b.csv")
}

fn failures(rows: &Rows, class: &str) -> usize {
    rows.values().filter(|row| matches!(row, Expected::Class(found) if *found == class)).count()
}

#[test]
fn a_log_is_answered_from_with_its_failures_which_a_table_has_as_invalid() {
    let fakes = measured();
    assert_same(&simulated(&fakes, "a.csv"), &fakes.rows("a.csv"));
    let mut expected = fakes.rows("a.csv");
    for row in expected.values_mut() {
        if let Expected::Class(class) = row {
            *class = "invalid";
        }
    }
    let invalid = failures(&expected, "invalid");
    assert!(invalid > 0 && invalid < expected.len(), "{invalid} of {}", expected.len());
    assert_same(&simulated(&fakes, "a.parquet"), &expected);
    // Whatever the name, what is in the file decides.
    fs::rename(fakes.path("a.parquet"), fakes.path("table")).unwrap();
    assert_same(&simulated(&fakes, "table"), &expected);
    let mut packed = flate2::write::GzEncoder::new(
        fs::File::create(fakes.path("a.csv.gz")).unwrap(),
        flate2::Compression::fast(),
    );
    std::io::Write::write_all(&mut packed, &fs::read(fakes.path("a.csv")).unwrap()).unwrap();
    packed.finish().unwrap();
    assert_same(&simulated(&fakes, "a.csv.gz"), &fakes.rows("a.csv"));
}

#[test]
fn pairs_without_a_record_are_reported() {
    let fakes = measured();
    let recorded = fakes.rows("a.csv");
    let unknown = "grouped_conv_forward_bf16_2d_16x16x64_compv4_intrawave";
    fakes.write("pool.txt", format!("{}\n{unknown}\n", fakes.kernels.join("\n")));
    let problems = fakes.read("problems.csv");
    fakes.write("problems.csv", format!("{problems}99,4,64,64,14,14,3,3\n"));
    for from in ["a.csv", "a.parquet"] {
        let rows = simulated(&fakes, from);
        assert_eq!(rows.len(), 7 * 6);
        // The new kernel on all problems, the other kernels on the new problem.
        assert_eq!(failures(&rows, "not_recorded"), 6 + 6, "{from}");
        for ((idx, kernel), row) in &rows {
            assert_eq!(
                !recorded.contains_key(&(*idx, kernel.clone())),
                *row == Expected::Class("not_recorded"),
                "{from}: {kernel} on {idx}"
            );
        }
    }
    fakes.write("pool.txt", unknown);
    let said = fakes.fails("--simulate a.parquet --output c.csv", 1);
    assert!(said.contains("c.csv: nothing could be measured"), "{said}");
}

#[test]
fn times_of_two_architectures_are_not_mixed() {
    let fakes = Fakes::library(1, 1);
    let ([n, c, k], kernel) = (fakes.problems[0], &fakes.kernels[0]);
    let row = |arch: &str| format!("{kernel},{n},{c},{k},14,14,1,1,{arch},0.5,2.5\n");
    let header = "kernel,N,C,K,Hi,Wi,Y,X,arch,latency_ms,tflops\n";
    fakes.write("both", format!("{header}{}{}", row("gfx942"), row("gfx950")));
    let said = fakes.fails("--simulate both --output c.csv", 1);
    let expected = "both: the data mixes architectures: gfx942, gfx950; choose one with --arch; bench has no such option, `ckselect convert` has";
    assert!(said.contains(expected), "{said}");
    assert!(!fakes.path("c.csv").exists());
    fakes.good("convert both --output one.parquet --arch gfx942");
    assert_eq!(simulated(&fakes, "one.parquet")[&(10, kernel.clone())], Expected::Ms(0.5));
}

#[test]
fn a_benchmarks_json_is_answered_from() {
    let fakes = Fakes::executables(2, 2);
    let [m, n, k] = fakes.problems[1];
    let (known, problem) = (&fakes.kernels[1], format!("\"m\": {m}, \"n\": {n}, \"k\": {k}, \"split_k\": 1"));
    let figures = "\"latency(ms)\": 0.25, \"tflops(TFlops)\": 1.5, \"bandwidth(GB/s)\": 44.5";
    let text =
        format!("{{\"name\": \"{known}\", \"problem\": {{{problem}}}, \"perf_result\": {{{figures}}}}}\n");
    fakes.write("a.json", text);
    let rows = simulated(&fakes, "a.json");
    assert_eq!((rows.len(), failures(&rows, "not_recorded")), (4, 3));
    assert_eq!(rows[&(11, known.clone())], Expected::Ms(0.25));
    let log = fakes.read("b.csv");
    assert!(log.contains(",0.25,1.5,44.5,-1,\n"), "{log}");
}

#[test]
fn a_model_is_answered_from() {
    let fakes = Fakes::library(4, 3);
    let model = root().join("tests/golden/models/conv_small");
    fs::copy(root().join("configs/forward_bf16.txt"), fakes.path("pool.txt")).unwrap();
    fakes.swept(&format!("--output c.csv --simulate {}", model.display()));
    assert_eq!(fakes.rows("c.csv").len(), 90);
}

#[test]
fn a_log_whose_rows_are_of_other_problems_is_not_resumed() {
    let fakes = Fakes::library(4, 2);
    let line = "--runner runner.json --output a.csv";
    fakes.swept(line);
    let text = fakes.read("a.csv");
    let (header, rows) = text.split_once('\n').unwrap();
    let first: Vec<&str> = rows.lines().next().unwrap().split(',').collect();
    let place = header.split(',').position(|name| name == "N").unwrap();
    let mut other = first.clone();
    other[place] = "77";
    fakes.write("a.csv", text.replacen(&first.join(","), &other.join(","), 1));
    let error = fakes.fails(&format!("{line} --resume"), 1);
    assert!(
        error.contains("on problem 10: found N=77,") && error.contains("the plan's problem is N="),
        "{error}"
    );
    fakes.write("a.csv", format!("{text}{}\n", first.join(",")));
    let error = fakes.fails(&format!("{line} --resume"), 1);
    assert!(error.contains("found two rows, expected one"), "{error}");
}

#[test]
fn a_sweep_whose_log_is_removed_ends() {
    let fakes = Fakes::library(40, 25);
    let mut command = fakes.bench("--runner runner.json --output a.csv --params batch=6");
    command.env("FAKE_SLEEP_US", "2000");
    let mut sweep = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    let log = fakes.path("a.csv");
    wait_for_lines(&log, 3, &mut sweep);
    fs::remove_file(&log).unwrap();
    let error = Ran::from(sweep.wait_with_output().unwrap()).bad("", 1);
    assert!(error.contains("a.csv: was removed or replaced while it was written"), "{error}");
    fakes.fails("--runner runner.json --output -", 2);
    assert!(!fakes.path("-").exists());
}
