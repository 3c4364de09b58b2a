//! Libraries of kernels in worker processes.

use std::fs;
use std::process::Command;

use crate::common::{Ran, cc, fake};
use crate::fakes::{Expected, Fakes, OF_WORKERS, assert_same, succeeded};

#[test]
fn a_crash_or_a_hang_costs_one_kernel() {
    let fakes = Fakes::library(60, 20);
    let mut command =
        fakes.bench("--runner runner.json --output sweep.csv --params timeout=1s batch=7 --gpus 0,1");
    succeeded(command.env("FAKE_FAULTS", "50"));
    let expected = fakes.expected(50, &OF_WORKERS);
    let crashes = expected.values().filter(|value| **value == Expected::Class("crash")).count();
    assert!(crashes > 5 && expected.values().any(|value| *value == Expected::Class("timeout")));
    assert_same(&fakes.rows("sweep.csv"), &expected);
    assert_eq!(fakes.orphans(), Vec::<String>::new());
    // What the library counted.
    let log = fakes.read("sweep.csv");
    assert!(
        log.lines().any(|line| line.contains(",12,3,") && line.ends_with(",3,")),
        "non_zero is the library's"
    );
}

#[test]
fn attention_is_measured_and_what_was_measured_is_a_model() {
    let fakes = Fakes::attention(12, 10);
    let bench = "--runner runner.json --output sweep.csv --params timeout=1s";
    succeeded(fakes.bench(bench).env("FAKE_FAULTS", "50"));
    assert_same(&fakes.rows("sweep.csv"), &fakes.expected(50, &OF_WORKERS));
    let log = fakes.read("sweep.csv");
    assert!(log.lines().any(|line| line.contains(",12,3,80,") && line.ends_with(",3,")), "{log}");
    // A sweep that is simulated by this one is the same.
    let again = "--simulate sweep.csv --output again.csv";
    fakes.swept(again);
    let times = |log: &str| -> Vec<(u64, String)> {
        let rows = fakes.rows(log).into_iter();
        rows.filter(|(_, answer)| matches!(answer, Expected::Ms(_))).map(|(pair, _)| pair).collect()
    };
    assert_eq!(times("again.csv"), times("sweep.csv"));
    // Two problems of each size, one for each mask, of six kernels.
    let judge = "evaluate --model estimate --where op=fmha --arch gfx942 --data sweep.csv --format csv";
    let judged = fakes.good(judge);
    assert!(judged.contains("\nefficiency,20,"), "{judged}");
}

#[test]
fn a_cut_off_is_recorded_as_such_and_survives_a_resume() {
    cut_off(9);
}

#[test]
fn problems_that_share_a_worker_have_a_best_time_each() {
    cut_off(1000);
}

/// Batches of less than a problem, or of several.
fn cut_off(batch: usize) {
    let fakes = Fakes::library(40, 3);
    let sweep = format!("--runner runner.json --output sweep.csv --cutoff 2x --params batch={batch}");
    fakes.swept(&sweep);
    let rows = fakes.rows("sweep.csv");
    let exact = fakes.expected(0, &OF_WORKERS);
    let mut cut = 0;
    for idx in 10..13 {
        // In the order of the pool, as they were measured.
        let mut best = f64::INFINITY;
        for kernel in &fakes.kernels {
            let key = (idx, kernel.clone());
            let Expected::Ms(ms) = exact[&key] else { panic!() };
            if ms > 2.0 * best {
                assert_eq!(rows[&key], Expected::Class("cut_off"), "{key:?}: {ms} ms, best {best} ms");
                cut += 1;
            } else {
                assert_eq!(rows[&key], exact[&key]);
                best = best.min(ms);
            }
        }
    }
    assert!(cut > 10);
    // The rows of the second half are measured again, and the best of the first half still cuts off.
    let log = fakes.read("sweep.csv");
    let half: String = log.split_inclusive('\n').take(log.lines().count() / 2).collect();
    fakes.write("sweep.csv", half);
    fakes.swept(&format!("{sweep} --resume"));
    assert_same(&fakes.rows("sweep.csv"), &rows);
}

#[test]
fn there_may_be_a_library_for_each_kernel() {
    let mut fakes = Fakes::library(3, 2);
    fakes.kernels.sort();
    for kernel in &fakes.kernels[..2] {
        let define = format!("-DKERNEL={kernel}");
        cc(&fake("one_kernel.c"), &["-shared", "-fPIC", &define], &fakes.path(&format!("{kernel}.so")));
    }
    let config = r#"{"runner": "library", "device": "host", "library": "{kernel}.so"}"#;
    fakes.write("runner.json", config);
    let (_, said) = Ran::run(&mut fakes.bench("--runner runner.json --output a.csv")).good("");
    // That there is none is said once, not for each problem.
    assert_eq!(said.matches(": load: ").count(), 1, "{said}");
    for ((idx, kernel), value) in fakes.rows("a.csv") {
        let is_there = kernel != fakes.kernels[2];
        let expected = if is_there { Expected::Ms(0.25 * (idx - 9) as f64) } else { Expected::Class("load") };
        assert_eq!(value, expected);
    }
}

#[test]
fn a_worker_without_a_device_is_an_error_and_no_row() {
    let fakes = Fakes::library(2, 1);
    let mut command = fakes.bench("--runner fakes.so --output a.csv");
    let said = Ran::run(command.env("CK_SELECT_HIP_LIBRARY", "/nowhere/libamdhip64.so")).bad("", 1);
    assert!(said.contains("the worker cannot measure: ") && said.contains("/nowhere/"), "{said}");
    assert!(!fakes.path("a.csv").exists());
}

#[test]
fn kernels_on_a_device_are_timed_by_its_events() {
    // The double of the HIP runtime stands in for a GPU; kernels that answer 0 are timed by its events.
    let fakes = Fakes::library(2, 1);
    let double = fakes.path("libamdhip64.so");
    cc(&fake("../hip_double/hip_double.c"), &["-shared", "-fPIC"], &double);
    let kernel = r#"#include "ck_select_bench.h"
        void hip_double_launch(double ms);
        float KERNEL(const ck_conv_problem *p, void *s, void *u) { (void)s; (void)u; hip_double_launch(0.5 * (double)p->n); return 0; }"#;
    fakes.write("kernel.c", kernel);
    let place = fakes.path("");
    for name in &fakes.kernels {
        let library = fakes.path(&format!("{name}.so"));
        let define = format!("-DKERNEL={name}");
        let linked = [define.as_str(), "-shared", "-fPIC", "-L", place.to_str().unwrap()];
        cc(&fakes.path("kernel.c"), &linked, &library);
    }
    fakes.write("gpu.json", r#"{"runner": "library", "library": "{kernel}.so"}"#);
    let mut command = fakes.bench("--runner gpu.json --output a.csv");
    command.env("CK_SELECT_HIP_LIBRARY", &double).env("LD_PRELOAD", &double);
    succeeded(&mut command);
    let rows = fakes.rows("a.csv");
    assert_eq!(rows.len(), 2);
    assert!(rows.values().all(|value| *value == Expected::Ms(0.5)), "{rows:?}");
    assert_eq!(fakes.meta("a.csv")["sessions"][0]["gpus"]["0"]["target"], "gfx942:sramecc+:xnack-");
}

/// A worker of somebody else's making runs in its configuration's folder, may say that it prepares, and is
/// asked for what a library's worker is asked for.
#[test]
fn other_programs_are_workers_too() {
    let fakes = Fakes::library(1, 2);
    let worker = r#"tr ',' '\n' > request
        echo '{"preparing":{"done":0,"total":1}}'
        echo '{"ready":{"name":"Fake","target":"sm_90"}}'
        echo '{"preparing":{"done":1,"total":1}}'
        echo '{"begin":0}'
        echo "{\"end\":{\"item\":0,\"outcome\":{\"measured\":{\"latency_ms\":$MS,\"tflops\":1,\"samples\":1}}}}""#;
    fs::create_dir(fakes.path("other")).unwrap();
    fakes.write("other/worker.sh", worker);
    let config = r#"{"runner": "worker", "command": ["sh", "worker.sh"], "environment": {"MS": "0.5"}}"#;
    fakes.write("other/runner.json", config);
    // What leaves the worker's group does not outlive the sweep.
    fakes.write("other/worker.sh", format!("setsid sleep 1000 & (setsid sleep 1000 &)\n{worker}"));
    let bench = "--runner other/runner.json --params batch=100 --output";
    fakes.swept(&format!("{bench} a.csv"));
    let rows = fakes.rows("a.csv");
    assert!(rows.len() == 2 && rows.values().all(|value| *value == Expected::Ms(0.5)), "{rows:?}");
    assert_eq!(fakes.processes(), Vec::<String>::new());
    let request = fakes.read("other/request");
    assert!(request.contains("\"version\":3\n") && request.contains("\"library\":\"\""), "{request}");
    // Names are looked at before a program is started, which may compile for minutes.
    fakes.write("other/foreign.json", config.replace("{\"runner", "{\"names\": \"triton_gemm_\", \"runner"));
    let said = fakes.fails("--runner other/foreign.json --output b.csv", 1);
    let none =
        "none of the kernels is the program's, whose names begin with 'triton_gemm_': found 'grouped_conv";
    assert!(said.contains(none) && !fakes.path("b.csv").exists(), "{said}");
    fakes.write("other/worker.sh", r#"echo '{"refused":"no GPU here"}'; exit 3"#);
    let said = fakes.fails(&format!("{bench} b.csv"), 1);
    assert!(
        said.contains("the worker cannot measure: no GPU here") && !fakes.path("b.csv").exists(),
        "{said}"
    );
}

/// The signal of the limit of a file's size ended the sweep in the middle of a row (`ulimit -f`).
#[test]
fn a_limit_of_a_files_size_is_a_full_disk() {
    let fakes = Fakes::library(30, 5);
    let bench = fakes.bench("--runner runner.json --output sweep.csv");
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -f 16; exec \"$0\" \"$@\""]).arg(bench.get_program()).args(bench.get_args());
    limited.current_dir(fakes.path(""));
    for (name, value) in bench.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    let said = Ran::run(&mut limited).bad("", 1);
    assert!(said.contains("File too large"), "{said}");
    fakes.swept("--runner runner.json --output sweep.csv --resume");
    assert_same(&fakes.rows("sweep.csv"), &fakes.expected(0, &OF_WORKERS));
}

/// A library may answer any number, also one that no status has.
#[test]
fn a_library_that_answers_an_unknown_status_is_refused_with_it() {
    let fakes = Fakes::library(2, 1);
    let code = "#include \"ck_select_bench.h\"\n\
                ck_status ck_bench_register(const ck_bench_sink *sink) \
                { (void)sink; return (ck_status)12345; }\n";
    fakes.write("odd.c", code);
    cc(&fakes.path("odd.c"), &["-shared", "-fPIC"], &fakes.path("fakes.so"));
    let said = fakes.fails("--runner runner.json --output sweep.csv", 1);
    let log = fakes.read("sweep.csv");
    assert_eq!(log.matches("ck_bench_register answers 12345").count(), 2, "{log}\n{said}");
    assert!(fakes.rows("sweep.csv").values().all(|value| *value == Expected::Class("load")));
}

/// Libraries of one kernel each, whose symbol does not tell what it takes. A positive code was taken for a
/// time, and a number of parts, which the function does not take, was silently dropped (89c84253).
#[test]
fn a_folder_of_libraries_is_a_pool_and_is_measured() {
    let mut fakes = Fakes::library(1, 1);
    let folder = fakes.path("kernels");
    fs::create_dir(&folder).unwrap();
    let text = "int dispatcher_initialize(void) { return 0; }\n\
        int dispatcher_run_gemm(const char *a, const char *b, char *c, long m, long n, long k, float *ms) {\n\
        c[m * n - 1] = a[m * k - 1] + b[k * n - 1]; *ms = MS; return k == 48 ? -2 : k == 80 ? 3 : 0; }\n";
    fakes.write("kernel.c", text);
    let name = |tile: &str| {
        format!("gemm_fp16_rcr_compv3_cshuffle_intrawave_False_False_False_False_{tile}x64_2x2x1_32x32x16")
    };
    let mut entries = Vec::new();
    for (tile, ms, signature) in
        [("128x128", "0.5f", "gemm"), ("64x64", "0.25f", "gemm"), ("256x128", "1", "mx_gemm")]
    {
        let file = format!("lib{}.so", name(tile));
        cc(&fakes.path("kernel.c"), &["-shared", "-fPIC", &format!("-DMS={ms}")], &folder.join(&file));
        entries.push(
            serde_json::json!({ "file": file, "symbol": "dispatcher_run_gemm", "signature": signature }),
        );
    }
    fakes.write("kernels/libforeign.so", "text");
    let manifest = serde_json::json!({ "kernels": entries });
    fakes.write("kernels/kernels.json", manifest.to_string());
    fakes.kernels = vec![name("128x128"), name("64x64")];

    let rank = "rank --model estimate --arch gfx950 --pool kernels --problem M=128,N=256,K=64 --format csv";
    let (ranked, said) = fakes.both(rank);
    assert!(said.contains("left out: libforeign.so: not in kernels.json"), "{said}");
    assert_eq!(ranked.lines().count(), 4);

    let config = serde_json::json!({ "runner": "library", "library": "kernels", "device": "host" });
    fakes.write("folder.json", config.to_string());
    let gemms = "M=64,N=64,K=64\nM=64,N=64,K=48\nM=64,N=64,K=80\nM=64,N=64,K=64,split_k=2\n";
    fakes.write("gemms.txt", gemms);
    fakes.good("bench --pool kernels --problems gemms.txt --runner folder.json --output sweep.csv");
    let log = fakes.read("sweep.csv");
    let count = |what: &str| log.lines().filter(|line| line.contains(what)).count();
    assert_eq!(
        [count(",0.5,"), count(",0.25,"), count("launch"), count("unsupported"), count("signature mx_gemm")],
        [1, 1, 4, 2, 4],
        "{log}"
    );
}
