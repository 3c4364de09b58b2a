//! Tables go both ways between this crate and pandas. The Python is that of
//! `ck_select_testing::python`.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use ck_select_measurements::{Measurements, RowScope};
use ck_select_types::problem::Problem;
use ck_select_types::vocab::Op;
use common::{HEADER, converted_whole};
use tempfile::TempDir;

/// Runs a script of tests/python.
fn python(script: &str, folder: &Path) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python").join(script);
    let output = Command::new(ck_select_testing::python()).arg(script).arg(folder).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}{text}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn pandas_reads_our_tables() {
    let folder = TempDir::new().unwrap();
    let conv = "grouped_conv_forward_bf16_2d_16x64x128_compv3_intrawave_gm2_dsb";
    let cells = "16,256,128,1,1,28,28,1,3,3,1,1,1,0,1,1,1,1,1";
    let text = format!("{HEADER}\n{conv},3,{cells},0.1,300.25,7\n{conv}_si,3,{cells},N/A,0,0\n");
    let csv = folder.path().join("a.csv");
    std::fs::write(&csv, text).unwrap();
    converted_whole(&csv, &folder.path().join("conv.parquet"));
    let gemm = "gemm_universal_fp8_rcr_mem_default_interwave_False_False_False_True_64x64x64_1x4x1_16x16x32";
    let log = folder.path().join("a.log");
    let problem = "\"problem\": {\"m\": 16, \"n\": 1536, \"k\": 7168, \"split_k\": 2}";
    let figures =
        "\"perf_result\": {\"latency(ms)\": 0.25, \"tflops(TFlops)\": 1.5, \"bandwidth(GB/s)\": 44.0}";
    std::fs::write(&log, format!("{{\"name\": \"{gemm}\", {problem}, {figures}}}\n")).unwrap();
    converted_whole(&log, &folder.path().join("gemm.parquet"));
    python("reads_ours.py", folder.path());
}

#[test]
fn tables_of_pandas_are_read() {
    let folder = TempDir::new().unwrap();
    python("writes_its_own.py", folder.path());
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let (mut conv, mut gemm) = (0, 0);
    for file in files {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let op = if name.starts_with("conv") { Op::Conv } else { Op::Gemm };
        let data = Measurements::read(&[&file], RowScope::all(op)).unwrap_or_else(|error| panic!("{error}"));
        let rows: Vec<(f64, bool)> = data.rows().iter().map(|row| (row.tflops, row.is_valid)).collect();
        assert_eq!(rows, [(300.25, true), (0.0, false), (12.5, true)], "{name}");
        assert_eq!(
            data.common_arch().unwrap().map(|arch| arch.to_string()),
            Some("gfx950".to_owned()),
            "{name}"
        );
        let Some(problem) = data.problems().first() else { panic!("{name}") };
        match problem {
            Problem::Conv(problem) => {
                assert_eq!((problem.n, problem.c, problem.input), (16, 256, [1, 28, 28]), "{name}");
                assert_eq!(data.hardware().unwrap().num_cus, 256, "{name}");
                conv += 1;
            }
            Problem::Gemm(problem) => {
                assert_eq!((problem.m, problem.n, problem.k, problem.split_k), (16, 1536, 7168, 1), "{name}");
                gemm += 1;
            }
            Problem::Fmha(_) | Problem::Moe(_) => panic!("{name}"),
        }
    }
    assert_eq!((conv, gemm), (9, 9));
}
