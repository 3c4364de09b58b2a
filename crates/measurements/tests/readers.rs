//! Readers of measurements: every format, what is kept, what is refused, and where it stood.

mod common;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray as _;
use ck_select_measurements::convert::{Options, Reject};
use ck_select_measurements::{Measurements, RowScope, SourceFile};
use ck_select_types::kernel::KernelKind;
use ck_select_types::problem::Problem;
use ck_select_types::vocab::{Direction, Dtype, Op};
use common::{HEADER, converted_whole, options, said, tried};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use tempfile::TempDir;

const CONV: &str = "grouped_conv_forward_bf16_2d_16x64x64_compv3_intrawave";
const CELLS: &str = "16,256,128,1,1,28,28,1,3,3,1,1,1,0,1,1,1,1,1";
const GEMM: &str =
    "gemm_universal_fp8_rcr_compv3_cshuffle_intrawave_False_False_False_False_128x128x128_1x4x1_16x16x128";
const MEM: &str =
    "gemm_universal_fp8_rcr_mem_default_intrawave_False_False_False_True_64x64x64_1x4x1_16x16x32";

fn file(folder: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    path
}

fn converted(inputs: &[PathBuf], output: &Path, options: &Options) -> (Vec<SourceFile>, Vec<Reject>) {
    let (reports, rejects) = tried(inputs, output, options);
    (reports.unwrap(), rejects)
}

/// Why a file of this name and text is not converted, and its rejected places.
fn refused(name: &str, text: &str, options: &Options) -> (String, Vec<Reject>) {
    let folder = TempDir::new().unwrap();
    let output = folder.path().join("out.parquet");
    let (reports, rejects) = tried(&[file(&folder, name, text)], &output, options);
    assert!(!output.exists());
    (reports.unwrap_err(), rejects)
}

/// What becomes of a file of this name and text: its report with its rejected places, and the table.
struct Table {
    report: SourceFile,
    rejects: Vec<Reject>,
    data: Measurements,
    folder: TempDir,
}

impl Table {
    fn converted(name: &str, text: &str, options: &Options, op: Op) -> Self {
        let folder = TempDir::new().unwrap();
        let (mut reports, rejects) = converted(&[file(&folder, name, text)], &Self::path(&folder), options);
        let data = measured(&Self::path(&folder), op);
        Self { report: reports.remove(0), rejects, data, folder }
    }

    fn path(folder: &TempDir) -> PathBuf {
        folder.path().join("deep/er/table.parquet")
    }

    /// Rows, those of them that are not valid, and rejected places.
    fn counts(&self) -> [usize; 3] {
        [self.report.rows, self.report.invalid, self.report.rejected]
    }

    fn reasons(&self) -> Vec<&str> {
        self.rejects.iter().map(|reject| reject.reason.as_str()).collect()
    }

    fn places(&self) -> Vec<&str> {
        self.rejects.iter().map(|reject| reject.position.as_str()).collect()
    }
}

fn measured(path: &Path, op: Op) -> Measurements {
    Measurements::read(&[path], RowScope::all(op)).unwrap()
}

/// What is read of a file of this name and text.
fn read(name: &str, text: &str, wanted: RowScope) -> Result<Measurements, String> {
    let folder = TempDir::new().unwrap();
    Measurements::read(&[file(&folder, name, text)], wanted).map_err(|error| error.to_string())
}

/// Measurements of convolutions: lines below the header.
fn conv(rows: &str) -> Measurements {
    read("a.csv", &format!("{HEADER}\n{rows}"), RowScope::all(Op::Conv)).unwrap()
}

fn gemm(name: &str, text: &str) -> Measurements {
    read(name, text, RowScope::all(Op::Gemm)).unwrap()
}

/// Why a file of this name and text is refused.
fn refusal(name: &str, text: &str, op: Op) -> String {
    read(name, text, RowScope::all(op)).map(|_| ()).unwrap_err()
}

/// What a table's columns say of the padding of a kernel, in its first row.
fn pad_columns(table: &Table, kernel: &str) -> [bool; 3] {
    let file = fs::File::open(Table::path(&table.folder)).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
    let batch = reader.map(Result::unwrap).find(|batch| batch.num_rows() > 0).unwrap();
    let names = batch.column_by_name("kernel_name").unwrap().as_string::<i32>();
    let row = names.iter().position(|name| name == Some(kernel)).unwrap();
    ["pad_m", "pad_n", "pad_k"].map(|name| batch.column_by_name(name).unwrap().as_boolean().value(row))
}

fn fails(path: &Path, op: Op) -> String {
    Measurements::read(&[path], RowScope::all(op)).unwrap_err().to_string()
}

fn log_object(name: &str, tflops: f64) -> String {
    format!(
        "{{\n  \"name\": \"{name}\",\n  \"problem\": {{\n    \
         \"split_k\": 1, \"m\": 16, \"n\": 1536, \"k\": 7168,\n    \
         \"dtype_a\": \"fp8\", \"layout_a\": \"RowMajor\", \"layout_b\": \"ColumnMajor\", \"layout_c\": \
         \"RowMajor\"\n  }},\n  \"perf_result\": {{ \"latency(ms)\": 0.04, \"tflops(TFlops)\": {tflops}, \
         \"bandwidth(GB/s)\": 512.5 }}\n}}\n"
    )
}

#[test]
fn failed_rows_are_kept_and_not_valid() {
    let data = conv(&format!(
        "{CONV},0,{CELLS},0.02,300.5,100\n{CONV}_dsb,0,{CELLS},N/A,0,0\n{CONV}_si,0,{CELLS},,,\n\
         {CONV}_gm2,0,{CELLS},0.01,900,0\n{CONV}_dsb_si,0,{CELLS},-1.0,-1.0,5\n"
    ));
    let valid: Vec<bool> = data.rows().iter().map(|row| row.is_valid).collect();
    // The fourth wrote nothing but zeros: fast at nothing.
    assert_eq!(valid, [true, false, false, false, false]);
    assert_eq!((data.problems().len(), data.kernels().len()), (1, 5));
    assert!(data.rows()[1].latency_ms.is_nan() && data.rows()[2].tflops == 0.0);
}

/// Words of absence once counted for figures alone (09608678).
#[test]
fn a_word_of_absence_is_no_value_in_any_column() {
    let header = "kernel,C,K,Hi,Wi,Y,X,stride_h,arch,run_id,is_valid,error_msg,latency_ms,tflops,non_zero";
    let cells = "256,128,28,28,3,3";
    let rows = |word: &str| {
        let words = format!("{word},{word},{word},{word},{word}");
        let text = format!(
            "{header}\n{CONV},{cells},{words},0.02,300.5,{word}\n{CONV},{cells},{words},{word},{word},{word}\n"
        );
        said(&read("a.csv", &text, RowScope::all(Op::Conv)).unwrap())
    };
    for word in ["N/A", "nan", "NaN", "null", "None", "NULL"] {
        assert_eq!(rows(word), rows(""), "{word}");
    }
    let wanted = RowScope::all(Op::Conv);
    let mut text = format!("{HEADER}\n{CONV},0,{CELLS},0.02,300.5,1\n{CONV},0,{CELLS},0.02,").into_bytes();
    text.extend(b"\xff,1\n");
    let error = Measurements::new(wanted).add_text("a.csv", &text).unwrap_err().to_string();
    assert_eq!(error, "a.csv: line 3: tflops: not UTF-8");
}

#[test]
fn a_csv_may_leave_out_what_2d_does_not_need() {
    let text = format!(
        "# a comment\n\nkernel_name,N,C,K,G,Hi,Wi,Y,X,stride_h,stride_w,pad_h,pad_w,latency_ms,tflops\r\n\
         {CONV}, 16 ,256,128,1,28,28,3,3,1,1,1,1,0.02,300.5\r\n"
    );
    let short = read("short.csv", &text, RowScope::all(Op::Conv)).unwrap();
    let long = conv(&format!("\"{CONV}\",0,{CELLS},0.02,300.5,1\n"));
    assert_eq!(said(&short), said(&long));
    assert_eq!(short.problems()[0].to_string().split(',').next(), Some("direction=forward"));
}

#[test]
fn the_name_says_direction_type_and_dimensions() {
    let three = "grouped_conv_bwd_weight_fp16_3d_16x64x64_wavelet_intrawave_2stage";
    let data = conv(&format!("{three},0,{CELLS},0.02,300.5,1\n"));
    let Problem::Conv(problem) = data.problems()[0] else { panic!() };
    assert_eq!((problem.direction, problem.ndim, problem.dtype_in), (Direction::BwdWeight, 3, Dtype::Fp16));
    assert_eq!(data.common_direction().unwrap(), Some(Direction::BwdWeight));
    let deep = CELLS.replacen("1,28,28", "4,28,28", 1);
    let error = refusal("b.csv", &format!("{HEADER}\n{CONV},0,{deep},0.02,300.5,1\n"), Op::Conv);
    assert!(error.ends_with("b.csv: line 2: Di: found 4, expected 1 in a 2D problem"), "{error}");
}

#[test]
fn bad_rows_are_located() {
    let good = format!("{CONV},0,{CELLS},0.02,300.5,1");
    for (row, message) in [
        (format!("{CONV},0,16,256"), "line 3: found 4 cells, expected 24 as in the header"),
        (format!("{CONV},0,{CELLS},fast,1,1"), "line 3: latency_ms: found 'fast', expected a number or N/A"),
        (format!("conv_1,0,{CELLS},1,1,1"), "line 3: kernel name 'conv_1': begins neither"),
        (format!("{CONV},0,{},1,1,1", CELLS.replacen("256", "257x", 1)), "line 3: C: found '257x'"),
        (format!(",0,{CELLS},1,1,1"), "line 3: kernel name: found nothing"),
    ] {
        let error = refusal("a.csv", &format!("{HEADER}\n{good}\n{row}\n"), Op::Conv);
        assert!(error.contains(message), "{error}");
    }
    for (name, text, message) in [
        ("b.csv", "kernel,tflops\n", "no column 'latency_ms'; the columns are kernel, tflops"),
        ("c.csv", "kernel,tflops,tflops,latency_ms\n", "column 'tflops' appears twice"),
        ("d.csv", "", "the file is empty"),
        ("d.parquet", "text", "does not begin with PAR1"),
    ] {
        let error = refusal(name, text, Op::Conv);
        assert!(error.contains(message), "{error}");
    }
    assert!(fails(Path::new("none.csv"), Op::Gemm).contains("none.csv: No such file"));
}

#[test]
fn conversion_takes_what_is_good_and_reports_the_rest() {
    let text =
        format!("{HEADER}\n{CONV},0,{CELLS},0.02,300.5,7\n{CONV},0,16\n{CONV}_dsb,0,{CELLS},N/A,0,0\n");
    let table = Table::converted("a.csv", &text, &options(), Op::Conv);
    assert_eq!((table.counts(), table.places()), ([2, 1, 1], vec!["line 3"]));
    let data = table.data;
    assert_eq!(data.rows().len(), 2);
    assert_eq!(data.common_arch().unwrap().unwrap().as_str(), "gfx950");
    let hardware = data.hardware().unwrap();
    assert_eq!((hardware.num_cus, hardware.num_xcd), (256, 8));
}

#[test]
fn a_log_gives_a_row_an_object() {
    let line = "========================================";
    let one = log_object(GEMM, 100.0);
    let flat: String = log_object(MEM, 0.0).lines().map(str::trim).collect();
    let cut = log_object(GEMM, 1.0);
    let cut = &cut[..cut.len() / 2];
    let text = format!(
        "Banner\nGPU ID: 0\n\n{line}\nShape 1: M=16 N=1536 K=7168 dtype=fp8 layout=rcr\n{line}\n\
         Found 2 kernels\n{one}{flat}\n\
         {{\"broken\": \n}}\n{cut}\n{line}\nShape 2: M=20480 N=7168 K=256 dtype=fp8 layout=rcr\n{line}\n\
         {{\"name\": \"{GEMM}\", \"problem\": {{}}, \"perf_result\": {{\"latency(ms)\": 0.1, \
         \"tflops(TFlops)\": 7}}}}\n"
    );
    let table = Table::converted("wide_coverage_batch_001.log", &text, &options(), Op::Gemm);
    assert_eq!((table.counts(), table.places()), ([3, 1, 2], vec!["line 17", "line 19"]));
    let data = &table.data;
    let shapes: Vec<[i64; 3]> = data
        .rows()
        .iter()
        .map(|row| match data.problems()[row.problem as usize] {
            Problem::Gemm(problem) => [problem.m, problem.n, problem.k],
            _ => panic!(),
        })
        .collect();
    assert_eq!(shapes, [[16, 1536, 7168], [16, 1536, 7168], [20480, 7168, 256]]);
    assert_eq!(data.rows()[0].bandwidth_gb_s, 512.5);
    assert!(!data.rows()[1].is_valid);
    // The columns of `mem` are corrected in this path, too; the descriptor stays as it is named.
    let KernelKind::Gemm(mem) = &data.kernels()[1].kind else { panic!() };
    assert_eq!((data.kernels()[1].name.as_str(), mem.pad), (MEM, [false; 3]));
    assert_eq!(pad_columns(&table, MEM), [true; 3]);
    // Whoever trains is told; whoever converts has seen the report.
    assert!(refusal("a.log", &text, Op::Gemm).contains("line 17: no JSON object"));
}

#[test]
fn a_log_says_batch_and_architecture() {
    let with =
        |more: &str| log_object(GEMM, 100.0).replace("\"split_k\": 1", &format!("\"split_k\": 1, {more}"));
    let error = refusal("a.log", &with("\"batch\": 4"), Op::Gemm);
    assert!(error.contains("needs no batch"), "a plain kernel computes no batch: {error}");
    let text = with("\"arch\": \"gfx942\"");
    assert_eq!(gemm("a.log", &text).problems()[0].arch(), "gfx942".parse().ok());
    let wanted = RowScope { arch: "gfx950".parse().ok(), ..RowScope::all(Op::Gemm) };
    assert!(read("a.log", &text, wanted).unwrap().rows().is_empty());
}

#[test]
fn a_log_of_noise_is_no_table() {
    let (error, _) = refused("a.log", "nothing\nat all }{\n", &options());
    assert!(error.starts_with("no row to convert: ") && error.ends_with("a.log: found no measurement"));
}

#[test]
fn benchmark_json_has_its_bandwidth_and_pads_corrected() {
    let benchmark = |name: &str, ms: f64, valid: bool| {
        format!(
            "{{\"kernel_name\": \"{name}\", \"m\": 1000, \"n\": 2000, \"k\": 3000, \"avg_time_ms\": {ms}, \
             \"tflops\": 9.5, \"is_valid\": {valid}, \"error\": null}}"
        )
    };
    let results = format!(
        "[{{\"kernel_config\": {{\"name\": \"{GEMM}\"}}, \"benchmarks\": [{}, {}]}}, {{\"kernel_config\": \
         {{}}, \"benchmarks\": [{}, {}]}}]",
        benchmark(GEMM, 0.5, true),
        benchmark(GEMM, 0.5, false),
        benchmark(MEM, 0.5, true),
        benchmark("mystery", 0.5, true),
    );
    let whole =
        format!("{{\"metadata\": {{\"dtype\": \"fp8\"}}, \"problem_sizes\": [], \"results\": {results}}}");
    for (name, text) in [("benchmark_results_fp8_rcr.json", &whole), ("partial.json", &results)] {
        let table = Table::converted(name, text, &options(), Op::Gemm);
        assert_eq!((table.counts(), table.places()), ([3, 1, 1], vec!["results[1].benchmarks[1]"]));
        let data = &table.data;
        // One byte for an element of A and B, two for one of C.
        assert_eq!(data.rows()[0].bandwidth_gb_s, (3e6 + 6e6 + 2.0 * 2e6) / 1e9 / 0.0005);
        assert_eq!((data.rows()[1].tflops, data.rows()[1].latency_ms), (0.0, 0.0));
        assert_eq!(pad_columns(&table, MEM), [true; 3]);
        assert_eq!(pad_columns(&table, GEMM), [false; 3]);
    }
    // A misspelt key would leave the usual value in its place.
    for (key, expected) in [("splitk", "split_k, splitK"), ("avg_time_m", "avg_time_ms")] {
        let text = whole.replacen("\"tflops\"", &format!("\"{key}\": 4, \"tflops\""), 1);
        let text = if key == "avg_time_m" { text.replacen("\"avg_time_ms\": 0.5, ", "", 1) } else { text };
        let table = Table::converted("misspelt.json", &text, &options(), Op::Gemm);
        assert_eq!((table.report.rows, table.report.rejected), (2, 2));
        assert_eq!(table.places()[0], "results[0].benchmarks[0]");
        assert_eq!(table.reasons()[0], format!("unknown column '{key}', expected {expected}"));
    }
    let cut = &whole[..whole.len() - 20];
    let table = Table::converted("cut.json", cut, &options(), Op::Gemm);
    assert_eq!((table.report.rows, table.report.rejected), (2, 1));
    assert!(table.reasons()[0].contains("the rest of the file is not read"), "{:?}", table.reasons());
}

#[test]
fn a_csv_that_says_something_twice_says_the_same() {
    let csv = |header: &str, rows: &[&str]| format!("{header}\n{}\n", rows.join("\n"));
    let body = "M,N,K,tflops";
    let header = format!("kernel,kernel_name,{body},latency_ms");
    let row = |again: &str| format!("{GEMM},{again},64,64,64,9.5,0.5");
    let good = [row(GEMM), row("")];
    let data = gemm("a.csv", &csv(&header, &[&good[0], &good[1]]));
    assert_eq!(data.rows().len(), 2);
    let error = refusal("a.csv", &csv(&header, &[&good[0], &row(MEM)]), Op::Gemm);
    let message = format!("line 3: kernel_name: found '{MEM}', expected '{GEMM}' as in kernel");
    assert!(error.ends_with(&message), "{error}");
    for (one, other) in [("latency_ms", "latency_us"), ("tflops", "measured_tflops")] {
        let more = if one == "tflops" { "latency_ms,measured_tflops" } else { "latency_ms,latency_us" };
        let text = csv(&format!("kernel,{body},{more}"), &[&format!("{GEMM},64,64,64,9.5,0.5,9.5")]);
        let expected =
            format!("header: columns '{one}' and '{other}' are the same figure, expected one of them");
        let error = refusal("a.csv", &text, Op::Gemm);
        assert!(error.ends_with(&expected), "{error}");
    }
}

#[test]
fn a_csv_records_the_gpu_and_what_failed() {
    let folder = TempDir::new().unwrap();
    let read = |header: &str, rows: &[&str]| {
        let rows: Vec<_> = rows.iter().map(|row| format!("{GEMM},64,64,64,9.5,0.5,{row}")).collect();
        let header = format!("kernel,M,N,K,tflops,latency_ms,{header}");
        Measurements::read(
            &[file(&folder, "a.csv", &format!("{header}\n{}\n", rows.join("\n")))],
            RowScope { arch: "gfx942".parse().ok(), ..RowScope::all(Op::Gemm) },
        )
    };
    let data = read("hw_num_cus", &["208", "208", ""]).unwrap();
    assert_eq!(data.rows().len(), 3);
    assert_eq!(data.hardware().unwrap().num_cus, 208);
    assert_eq!(data.device("gfx942".parse().unwrap()).unwrap().hardware.num_cus, 208);
    let error = read("hw_num_cus", &["208", "304"]).unwrap_err();
    assert!(error.to_string().contains("a.csv: hw_num_cus is 304, 208 before"), "{error}");
    let error = read("hw_num_cus", &["many"]).unwrap_err().to_string();
    assert!(error.ends_with("line 2: hw_num_cus: found 'many', expected a whole number"), "{error}");
    let data = read("is_valid,error_msg", &["true,", "true,wrong result", ","]).unwrap();
    let valid: Vec<bool> = data.rows().iter().map(|row| row.is_valid).collect();
    assert_eq!(valid, [true, false, true]);
    assert_eq!(data.rows()[1].failure, 1);
}

/// A file of `generate_benchmark_data` with benchmarks of 64x64x64, each with these further fields.
fn benchmarks(metadata: &str, rows: &[(&str, &str)]) -> String {
    let benchmark = |&(name, fields): &(&str, &str)| {
        format!("{{\"kernel_name\": \"{name}\", \"m\": 64, \"n\": 64, \"k\": 64, {fields}}}")
    };
    let rows: Vec<String> = rows.iter().map(benchmark).collect();
    let results = format!("[{{\"kernel_config\": {{}}, \"benchmarks\": [{}]}}]", rows.join(", "));
    format!("{{\"metadata\": {{{metadata}}}, \"results\": {results}}}")
}

const FIGURES: &str = "\"avg_time_ms\": 0.5, \"tflops\": 9.5";

#[test]
fn a_key_that_a_benchmark_has_twice_is_an_error() {
    let text = benchmarks("", &[(GEMM, "\"tflops\": 1.0, \"tflops\": 9.5, \"avg_time_ms\": 0.5")]);
    let error = refusal("b.json", &text, Op::Gemm);
    assert!(error.contains("the key 'tflops' appears twice in one object"), "{error}");
}

#[test]
fn benchmark_json_says_valid_as_a_csv_does() {
    for (value, valid) in [
        ("1", true),
        ("1.0", true),
        ("\"True\"", true),
        ("null", true),
        ("0", false),
        ("0.0", false),
        ("false", false),
        ("\"false\"", false),
        ("\"False\"", false),
        ("true, \"error\": \"wrong result\"", false),
        ("true, \"error\": \"\"", true),
    ] {
        let fields = format!("{FIGURES}, \"is_valid\": {value}");
        let data = gemm("b.json", &benchmarks("", &[(GEMM, &fields)]));
        assert_eq!(data.rows()[0].is_valid, valid, "{value}");
    }
    let fields = format!("{FIGURES}, \"is_valid\": \"x\"");
    let error = refusal("b.json", &benchmarks("", &[(GEMM, &fields)]), Op::Gemm);
    assert!(error.ends_with("benchmarks[0]: is_valid: found 'x', expected 0, 1, true or false"), "{error}");
}

#[test]
fn benchmark_json_has_the_fields_of_a_gemm() {
    let body = "fp8_rcr_compv3_cshuffle_intrawave_False_False_False";
    let shapes = "128x128x128_1x4x1_16x16x128";
    let batched = format!("batched_gemm_{body}_{shapes}");
    let grouped = format!("grouped_gemm_{body}_False_{shapes}");
    let with = |fields: &str| format!("{fields}, {FIGURES}");
    let [batch, groups] = [with("\"batch\": 4"), with("\"groups\": \"64x64x64*4\"")];
    let data = gemm("b.json", &benchmarks("", &[(&batched, &batch), (&grouped, &groups)]));
    let said: Vec<String> = data.problems().iter().map(ToString::to_string).collect();
    assert!(said[0].ends_with("layout=rcr,batch=4"), "{said:?}");
    assert!(said[1].ends_with("layout=rcr,groups=64x64x64*4"), "{said:?}");
    // Four GEMMs, either way, of one byte for an element of A and B and two for one of C.
    let bandwidth = 4.0 * (2.0 + 2.0) * 64.0 * 64.0 / 1e9 / 0.0005;
    assert!(data.rows().iter().all(|row| row.bandwidth_gb_s == bandwidth), "{:?}", data.rows());
    for (name, fields, message) in [
        (GEMM, batch.as_str(), "needs no batch and no list of GEMMs"),
        (GEMM, &groups, "needs no batch and no list of GEMMs"),
        (GEMM, &with("\"M\": 128"), "columns 'M' and 'm' are the same field, expected one of them"),
        (GEMM, "\"tflops\": 9.5, \"time(us)\": 500", "latency_ms: found nothing, expected a number"),
        (GEMM, "\"tflops\": 9.5, \"latency(us)\": 500", "unknown column 'latency(us)', expected latency_us"),
        (GEMM, "\"avg_time_ms\": 0.5", "tflops: found nothing, expected a number"),
        (
            GEMM,
            &with("\"latency_us\": 500"),
            "columns 'latency_us' and 'avg_time_ms' are the same figure, expected one of them",
        ),
    ] {
        let error = refusal("b.json", &benchmarks("", &[(name, fields)]), Op::Gemm);
        assert!(error.contains("results[0].benchmarks[0]: ") && error.ends_with(message), "{error}");
    }
    let data = gemm("b.json", &benchmarks("", &[(GEMM, &with("\"M\": 64"))]));
    assert_eq!(data.rows().len(), 1);
    let micro = "\"tflops\": 9.5, \"latency_us\": 500";
    let data = gemm("b.json", &benchmarks("", &[(GEMM, micro)]));
    assert_eq!((data.rows()[0].latency_ms, data.rows()[0].is_valid), (0.5, true));
    // A kernel that failed has no figures.
    let data = gemm("b.json", &benchmarks("", &[(GEMM, "\"is_valid\": false")]));
    assert!(!data.rows()[0].is_valid);
}

/// JSON was read without the numbers that few problems have, and a table from it had no columns for them, so
/// that it could not be read back (7c9d45d5).
#[test]
fn a_table_of_json_has_all_numbers_of_its_problems() {
    let kernel =
        "batched_gemm_fp8_rcr_compv3_cshuffle_intrawave_False_False_False_128x128x128_1x4x1_16x16x128";
    let rows = [1, 4].map(|batch| format!("\"batch\": {batch}, {FIGURES}"));
    let text = benchmarks("", &[(kernel, rows[0].as_str()), (kernel, rows[1].as_str())]);
    let table = Table::converted("b.json", &text, &options(), Op::Gemm);
    assert_eq!((table.counts(), table.data.problems().len()), ([2, 0, 0], 2));
    let plain = Table::converted("b.json", &benchmarks("", &[(GEMM, FIGURES)]), &options(), Op::Gemm);
    assert!(!fs::read(Table::path(&plain.folder)).unwrap().windows(5).any(|word| word == b"batch"));
    // Two D tensors, which a kernel of none does not have.
    let error = refusal("d.json", &benchmarks("", &[(GEMM, &format!("\"num_d\": 2, {FIGURES}"))]), Op::Gemm);
    assert!(error.contains("num_d"), "{error}");
    let kernel =
        "fmha_fwd_fp16_group_h128_qr_t128x128x32x128x32x128_w16x16x32_pad1111_mask=no_bias=no_bpc=-1";
    let [_, object] = attention(kernel, 64, 0.5, None, "PASS");
    let object = object.replace("\"hdim_v\"", "\"is_gappy\": 1, \"hdim_v\"");
    let data = read("f.json", &format!("[{object}]"), RowScope::all(Op::Fmha)).unwrap();
    assert_eq!(data.problems()[0].cell("is_gappy"), "1");
}

/// Any object with a problem was read as attention, so that a GEMM lacked its sizes (5371e05c).
#[test]
fn benchmark_json_may_have_the_problem_of_a_gemm_in_an_object() {
    let printed = log_object(GEMM, 9.5);
    let flat = format!(r#"{{"kernel_name": "{GEMM}", "problem": {{"M": 64, "N": 64, "K": 64}}, {FIGURES}}}"#);
    let data = |text: &str| gemm("a.json", text);
    let listed = data(&format!("[{printed}, {flat}]"));
    let logged = data(&printed);
    assert_eq!(listed.rows()[0].latency_ms, logged.rows()[0].latency_ms);
    assert_eq!((listed.problems()[0], listed.rows()[0].tflops), (logged.problems()[0], 9.5));
    assert_eq!((listed.rows().len(), listed.rows()[1].tflops), (2, 9.5));
    assert_eq!(data(&format!(r#"{{"results": [{printed}]}}"#)).rows().len(), 1);
    for (from, to, message) in [
        ("kernel_name", "kernelname", "unknown column 'kernelname', expected kernel_name, kernelName"),
        ("\"K\"", "\"Kk\"", "unknown column 'Kk', expected K, k"),
        ("\"problem\"", "\"M\": 65, \"problem\"", "M: found two values, in the result and in its problem"),
    ] {
        let error = refusal("b.json", &format!("[{}]", flat.replace(from, to)), Op::Gemm);
        assert!(error.contains(&format!("results[0]: {message}")), "{error}");
    }
}

/// Kernels of other operations were asked for the columns of a GEMM.
#[test]
fn benchmark_json_is_read_of_every_operation() {
    let error = refusal("b.json", &benchmarks("", &[(CONV, FIGURES)]), Op::Conv);
    assert!(error.ends_with("C, K, Hi, Wi, Y, X: found nothing, expected a value for each"), "{error}");
    let sizes = r#""N": 16, "C": 256, "K": 128, "Hi": 28, "Wi": 28, "Y": 3, "X": 3"#;
    let object = format!(r#"[{{"kernel": "{CONV}", "problem": {{{sizes}}}, {FIGURES}}}]"#);
    let data = read("b.json", &object, RowScope::all(Op::Conv)).unwrap();
    assert_eq!((data.problems()[0].cell("C"), data.rows()[0].tflops), ("256".to_owned(), 9.5));
}

#[test]
fn the_architecture_in_benchmark_json_counts() {
    let arch = |word: &str| format!("{FIGURES}, \"arch\": \"{word}\"");
    let wanted = RowScope { arch: "gfx950".parse().ok(), ..RowScope::all(Op::Gemm) };
    let text = benchmarks("", &[(GEMM, &arch("gfx942")), (MEM, &arch("gfx950")), (GEMM, FIGURES)]);
    let data = read("b.json", &text, wanted).unwrap();
    assert_eq!((data.rows().len(), data.sources()[0].other), (2, 1));
    assert_eq!(data.sources()[0].other_arches, [("gfx942".parse().unwrap(), 1)].into());
    assert_eq!(data.common_arch().unwrap(), wanted.arch);
    let whole = "\"arch\": \"gfx942\"";
    let data = read("b.json", &benchmarks(whole, &[(GEMM, FIGURES)]), wanted).unwrap();
    assert_eq!((data.rows().len(), data.sources()[0].other), (0, 1));
    let data = gemm("b.json", &benchmarks(whole, &[(GEMM, FIGURES)]));
    assert_eq!(data.common_arch().unwrap(), "gfx942".parse().ok());
    let error = refusal("b.json", &benchmarks(whole, &[(GEMM, &arch("gfx950"))]), Op::Gemm);
    assert!(
        error.contains("arch: found 'gfx950', expected 'gfx942' as for the results around it"),
        "{error}"
    );
    let text = benchmarks(whole, &[(GEMM, FIGURES)]);
    let results = &text[text.find("\"results\"").unwrap()..text.len() - 1];
    let error = refusal("late.json", &format!("{{{results}, \"metadata\": {{{whole}}}}}"), Op::Gemm);
    assert!(error.ends_with("found after the results, expected before them: it has their arch"), "{error}");
}

/// A result of `fmha_benchmark`: as a line of its CSV, and as an object of its JSON.
fn attention(kernel: &str, keys: i64, ms: f64, splits: Option<i64>, status: &str) -> [String; 2] {
    let line = format!(
        "{kernel},fp16,qr,batch,no,no,128,128,{},2,32,8,1,{keys},{ms},9.5,0,0,0,0,100,{status}\n",
        splits.map_or(String::new(), |splits| splits.to_string())
    );
    let splits = splits.map_or("null".to_owned(), |splits| splits.to_string());
    let object = format!(
        "{{\"kernel\": \"{kernel}\", \"dtype\": \"fp16\", \"hdim_q\": 128, \"num_splits\": {splits}, \
         \"problem\": {{\"batch\": 2, \"nhead_q\": 32, \"nhead_k\": 8, \"seqlen_q\": 1, \"seqlen_k\": \
         {keys}, \"hdim_q\": 128, \"hdim_v\": 128}}, \"latency_ms\": {ms}, \"tflops\": 9.5, \"max_err\": \
         0.0, \"status\": \"{status}\"}}"
    );
    [line, object]
}

#[test]
fn attention_is_the_same_in_csv_and_json_and_wrong_results_are_not_valid() {
    let name = |family: &str, m0: u32, rest: &str| {
        format!(
            "{family}_fp16_batch_h128_qr_t{m0}x128x32x128x32x128_w16x16x32_pad1111_mask=no_bias=no{rest}\
             _bpc=-1"
        )
    };
    let (tall, flat) = (name("fmha_fwd", 128, ""), name("fmha_fwd", 16, ""));
    let split = name("fmha_fwd_splitkv", 64, "_lse=1");
    let rows = [
        attention(&tall, 1024, 0.5, None, "PASS"),
        attention(&flat, 1024, 0.25, None, "OK"),
        attention(&tall, 4096, 0.001, None, "FAIL"),
        attention(&flat, 4096, 0.001, None, "ZERO"),
        attention(&split, 4096, 0.4, Some(8), "PASS"),
        attention(&split, 4096, 0.4, Some(4), "passed"),
        attention("fmha_fwd_nobody", 4096, 0.4, None, "PASS"),
    ];
    let header = "kernel,dtype,pipeline,mode,mask,bias,hdim_q,hdim_v,num_splits,batch,nhead_q,nhead_k,\
                  seqlen_q,seqlen_k,latency_ms,tflops,max_err,mean_err,rms_err,p99_err,within_tol_pct,\
                  status\n";
    let csv = rows.iter().fold(header.to_owned(), |text, [line, _]| text + line);
    let objects: Vec<&str> = rows.iter().map(|[_, object]| object.as_str()).collect();
    let json = |metadata: &str| format!("{{{metadata}\"results\": [{}]}}", objects.join(", "));
    let metadata = "\"metadata\": {\"arch\": \"gfx950\", \"num_kernels\": 4}, ";
    let mut all = Vec::new();
    for (name, text, place) in [
        ("results.csv", csv, "line 7"),
        ("named.json", json(metadata), "results[5]"),
        ("bare.json", json(""), "results[5]"),
    ] {
        let table = Table::converted(name, &text, &options(), Op::Fmha);
        assert_eq!((table.counts(), table.places()[0]), ([5, 2, 2], place), "{name}");
        assert_eq!(table.reasons()[0], "status: found 'passed', expected OK, PASS, FAIL, NAN or ZERO");
        // Three: the lengths, and of the longer one the split keys.
        assert_eq!((table.data.problems().len(), table.data.kernels().len()), (3, 3));
        all.push(said(&table.data));
    }
    assert_eq!(all[0], all[1]);
    assert_eq!(all[0], all[2]);
    assert!(all[0][4].contains("num_splits=8") && all[0][4].contains("arch=gfx950"), "{}", all[0][4]);
    // What the file says of the GPU counts.
    let other = Options { arch: "gfx942".parse().ok(), ..Options::default() };
    let (error, _) = refused("other.json", &json(metadata), &other);
    assert!(error.contains("6 rows of another operation, direction, type or architecture"), "{error}");
    let text = json(metadata).replace("seqlen_k", "seqlen_kk");
    let (error, rejects) = refused("misspelt.json", &text, &options());
    assert!(error.contains("misspelt.json: found ") && error.contains(" rejected places"), "{error}");
    assert!(rejects[0].reason.starts_with("unknown column 'seqlen_kk', expected seqlen_k"), "{rejects:?}");
}

#[test]
fn gzip_reads_as_its_content() {
    let folder = TempDir::new().unwrap();
    let text = format!("{HEADER}\n{CONV},0,{CELLS},0.02,300.5,1\n");
    let path = folder.path().join("a.csv.gz");
    let mut encoder =
        flate2::write::GzEncoder::new(fs::File::create(&path).unwrap(), flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap();
    let plain = read("a.csv", &text, RowScope::all(Op::Conv)).unwrap();
    assert_eq!(said(&measured(&path, Op::Conv)), said(&plain));
}

#[test]
fn folders_are_their_parquet_files_in_order() {
    let folder = TempDir::new().unwrap();
    let data = TempDir::new().unwrap();
    for (name, tflops) in [("b", 2.0), ("a", 1.0)] {
        let input = file(&folder, "x.csv", &format!("{HEADER}\n{CONV},0,{CELLS},0.02,{tflops},1\n"));
        converted(&[input], &data.path().join(format!("{name}.parquet")), &options());
    }
    file(&data, "notes.txt", "no table");
    let read = Measurements::read(&[data.path()], RowScope::all(Op::Conv)).unwrap();
    assert_eq!(read.rows().iter().map(|row| row.tflops).collect::<Vec<_>>(), [1.0, 2.0]);
    assert_eq!(read.sources().len(), 2);
    let empty = TempDir::new().unwrap();
    assert!(fails(empty.path(), Op::Gemm).ends_with(": no file *.parquet directly in this folder"));
}

#[test]
fn mixtures_are_refused_and_filters_count_what_they_leave_out() {
    let folder = TempDir::new().unwrap();
    let other = CONV.replace("forward", "bwd_data").replace("bf16", "fp16");
    let path =
        file(&folder, "a.csv", &format!("{HEADER}\n{CONV},0,{CELLS},1,1,1\n{other},0,{CELLS},1,1,1\n"));
    let data = measured(&path, Op::Conv);
    let error = data.common_direction().unwrap_err().to_string();
    assert!(error.starts_with("the data mixes directions: forward, bwd_data; choose one"), "{error}");
    assert!(data.common_dtype().unwrap_err().to_string().contains("element types: fp16, bf16"));
    assert_eq!(data.common_arch().unwrap(), None);
    let wanted = RowScope { direction: Some(Direction::BwdData), ..RowScope::all(Op::Conv) };
    let data = Measurements::read(&[&path], wanted).unwrap();
    assert_eq!((data.rows().len(), data.sources()[0].other), (1, 1));
    assert_eq!(data.common_dtype().unwrap(), Some(Dtype::Fp16));

    let parquet = |name: &str, arch: &str| {
        let output = folder.path().join(name);
        converted(
            std::slice::from_ref(&path),
            &output,
            &Options { arch: arch.parse().ok(), ..Options::default() },
        );
        output
    };
    let (old, new) = (parquet("old.parquet", "gfx942"), parquet("new.parquet", "gfx950"));
    // Each architecture keeps its own constants.
    let data = Measurements::read(&[&old, &new], RowScope::all(Op::Conv)).unwrap();
    for (arch, cus) in [("gfx942", 228), ("gfx950", 256)] {
        assert_eq!(data.device(arch.parse().unwrap()).unwrap().hardware.num_cus, cus);
    }
    let wanted = RowScope { arch: "gfx950".parse().ok(), ..RowScope::all(Op::Conv) };
    let data = Measurements::read(&[&old, &new], wanted).unwrap();
    assert_eq!((data.rows().len(), data.sources()[0].other), (2, 2));
}

#[test]
fn tables_convert_to_tables_and_back_to_csv() {
    let folder = TempDir::new().unwrap();
    let text = format!(
        "{HEADER}\n{CONV},0,{CELLS},0.0123456789,300.5,7\n{CONV}_dsb,4,{CELLS},N/A,0.0,0\n\
         {CONV}_2stage,9,{CELLS},1e-5,2.5,0\n"
    );
    let input = file(&folder, "a.csv", &text);
    let [one, two, back] = ["one.parquet", "two.parquet", "back.csv"].map(|name| folder.path().join(name));
    converted(std::slice::from_ref(&input), &one, &options());
    converted(std::slice::from_ref(&one), &two, &Options::default());
    converted(std::slice::from_ref(&two), &back, &Options::default());
    assert_eq!(fs::read_to_string(&back).unwrap(), text);
    assert_eq!(fs::read(&one).unwrap(), fs::read(&two).unwrap());
    let before =
        Measurements::read(&[&input], RowScope { arch: "gfx950".parse().ok(), ..RowScope::all(Op::Conv) });
    assert_eq!(said(&before.unwrap()), said(&measured(&two, Op::Conv)));
    // Two inputs make one table, in their order.
    let both = folder.path().join("both.parquet");
    let (reports, _) = converted(&[one, input], &both, &options());
    assert_eq!(reports.iter().map(|report| report.rows).collect::<Vec<_>>(), [3, 3]);
    assert_eq!(measured(&both, Op::Conv).rows().len(), 6);
}

#[test]
fn conversion_needs_the_architecture_and_one_operation() {
    let folder = TempDir::new().unwrap();
    let conv = file(&folder, "a.csv", &format!("{HEADER}\n{CONV},0,{CELLS},0.02,300.5,1\n"));
    let log = file(&folder, "a.log", &log_object(GEMM, 1.0));
    let output = folder.path().join("a.parquet");
    let run = |inputs: &[PathBuf], options: &Options| {
        let reports = tried(inputs, &output, options).0;
        reports.map(|reports| reports.iter().map(|report| report.rows).collect::<Vec<_>>())
    };
    let error = run(std::slice::from_ref(&conv), &Options::default()).unwrap_err();
    assert!(error.contains("give it with --arch"), "{error}");
    let both = [conv, log];
    let error = run(&both, &options()).unwrap_err();
    assert!(error.contains("the data mixes operations: gemm_universal, grouped_conv"), "{error}");
    assert!(!output.exists(), "a failed conversion leaves nothing");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "no temporary file stays");
    assert_eq!(run(&both, &Options { op: Some(Op::Gemm), ..options() }), Ok(vec![0, 1]));
}

/// CK DSL's sweeps say the tile and the pipeline of a kernel, microseconds, and no type.
#[test]
fn sweeps_of_the_dsl_have_kernels_by_their_tiles() {
    let text = "N,G,C,K,Hi,Wi,Y,X,stride_h,stride_w,pad_h,pad_w,tile_m,tile_n,tile_k,pipeline,tflops,\
                latency_us\n\
                16,1,256,128,28,28,3,3,1,1,1,1,64,128,64,compv3,100.0,73.98752256\n\
                N,G,C,K,Hi,Wi,Y,X,stride_h,stride_w,pad_h,pad_w,tile_m,tile_n,tile_k,pipeline,tflops,\
                latency_us\n\
                16,1,256,128,28,28,3,3,1,1,1,1,64,128,64,compv9,100.0,73.98\n";
    let options = Options { dtype: Some(Dtype::Fp16), ..options() };
    let table = Table::converted("sweep.csv", text, &options, Op::Conv);
    // The header of a second shard is no row; a pipeline that there is not makes a bad one.
    assert_eq!((table.counts(), table.places()), ([1, 0, 1], vec!["line 4"]));
    assert!(table.reasons()[0].contains("unknown pipeline 'compv9'"), "{:?}", table.reasons());
    let data = table.data;
    let row = &data.rows()[0];
    let kernel = &data.kernels()[row.kernel as usize];
    assert_eq!(kernel.name, "grouped_conv_fwd_fp16_nhwgc_2d_compv3_intrawave_64x128x64");
    assert_eq!((row.tflops, row.latency_ms), (100.0, 0.073_987_522_56));
    let unsaid = Options { dtype: None, ..options };
    let (error, _) = refused("sweep.csv", text, &unsaid);
    assert!(error.contains("give --where dtype=fp16 or dtype=bf16"), "{error}");
}

/// Shards are joined with `cat`, whatever their columns.
#[test]
fn a_header_in_the_middle_is_no_row() {
    let header = "\u{feff}kernel,N,C,K,Hi,Wi,Y,X,tflops,latency_ms";
    let row = |n: u32| {
        format!(
            "grouped_conv_forward_bf16_2d_64x64x64_compv3,{n},64,64,28,28,1,1,1,{}",
            f64::from(n) * 0.006_422_528
        )
    };
    let again = header.trim_start_matches('\u{feff}');
    for end in ["\n", "\r\n"] {
        let text = [header, &row(1), again, &row(2), again].map(|line| format!("{line}{end}")).concat();
        let data = read("joined.csv", &text, RowScope::all(Op::Conv)).unwrap();
        assert_eq!(data.rows().len(), 2);
    }
    let other = format!("{header}\n{}\n{again},more\n", row(1));
    let error = refusal("other.csv", &other, Op::Conv);
    assert!(error.contains("line 3: found 11 cells, expected 10 as in the header"), "{error}");
}

/// What a variant's kernel computes is the problem's, too; what only the cells can say has to be there.
#[test]
fn rows_of_variants_are_problems_of_variants() {
    let body = "fp8_rcr_compv3_cshuffle_intrawave_False_False_False";
    let shapes = "128x128x128_1x4x1_16x16x128";
    let text = format!(
        "kernel,M,N,K,batch_count,groups,tflops,latency_ms\n\
         gemm_{body}_False_{shapes}_streamk_tree,64,64,64,,,1,1\n\
         batched_gemm_{body}_{shapes},64,64,64,4,,1,1\n\
         grouped_gemm_{body}_False_{shapes},64,64,64,,64x64x64*4,1,1\n\
         gemm_bquant_fp8_rcr_compv3_cshuffle_intrawave_{shapes}_qg1x1x64,64,64,64,,,1,1\n\
         batched_gemm_{body}_{shapes},64,64,64,,,1,1\n\
         gemm_{body}_False_{shapes},64,64,64,4,,1,1\n"
    );
    let table = Table::converted("variants.csv", &text, &options(), Op::Gemm);
    let reasons = table.reasons();
    assert_eq!(reasons.len(), 2, "{reasons:?}");
    assert!(reasons[0].ends_with("needs 'batch' of 1 or more and no list of GEMMs"), "{}", reasons[0]);
    assert!(reasons[1].ends_with("needs no batch and no list of GEMMs"), "{}", reasons[1]);
    let good: Vec<&str> = text.lines().take(5).collect();
    let good = gemm("good.csv", &(good.join("\n") + "\n"));
    for (data, arch) in [(&good, ""), (&table.data, ",arch=gfx950")] {
        let request = |problem: &Problem| problem.to_string().split_once("layout=rcr").unwrap().1.to_owned();
        let requests: Vec<String> = data.problems().iter().map(request).collect();
        let expected = [",stream_k=tree", ",batch=4", ",groups=64x64x64*4", ",quant=bquant,group_b=1x1x64"];
        assert_eq!(requests, expected.map(|text| format!("{text}{arch}")));
    }
}

/// Triton's kernels of mixtures of experts have no stage: a table that took theirs had none.
#[test]
fn a_table_of_mixtures_keeps_their_stages() {
    let folder = TempDir::new().unwrap();
    let [csv, parquet] = ["a.csv", "a.parquet"].map(|name| folder.path().join(name));
    let kernel = "triton_moe_bf16_64x128x64_group16_4warps_3stages";
    let text = format!(
        "kernel,stage,tokens,experts,topk,n,k,histogram,latency_ms\n\
         {kernel},1,4,8,2,64,32,4 4,0.5\n{kernel},2,4,8,2,32,32,3 3 2,0.25\n"
    );
    fs::write(&csv, text).unwrap();
    converted_whole(&csv, &parquet);
    let wanted = RowScope { arch: options().arch, ..RowScope::all(Op::Moe) };
    let [before, after] = [&csv, &parquet].map(|file| Measurements::read(&[file], wanted).unwrap());
    assert_eq!(before.rows().len(), 2);
    assert_eq!(said(&before), said(&after));
}
