//! What `CK_SELECT_LOG` makes the library say: mistakes and decisions.
//!
//! The library's process is this test program again: `child` does nothing unless the environment asks for it.

use std::ffi::{CStr, CString, c_void};
use std::path::Path;
use std::process::Command;
use std::ptr::{null, null_mut};

use ck_select::ffi::{
    CkConvProblem, CkForestBytes, CkKernelHooks, CkMode, CkOptions, CkRegistry, CkSelection, CkStatus,
    ck_conv_problem_init, ck_last_error, ck_registry_add_kernel, ck_registry_create, ck_registry_destroy,
    ck_registry_load_model, ck_registry_load_model_bytes, ck_registry_remove_models, ck_registry_select_conv,
    ck_registry_set_options,
};
use ck_select::pool::Pool;

const TASK: &str = "CK_SELECT_TEST_STORE";

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn ok(status: CkStatus) {
    // SAFETY: never NULL, and alive until the next failure of this thread.
    assert_eq!(status, CkStatus::Ok, "{:?}", unsafe { CStr::from_ptr(ck_last_error()) });
}

/// As C begins a struct: all bytes 0, and its size.
fn sized<T>(set: impl FnOnce(&mut T)) -> T {
    // SAFETY: used for structs of integers and addresses only.
    let mut value = unsafe { std::mem::MaybeUninit::<T>::zeroed().assume_init() };
    set(&mut value);
    value
}

fn options(set: impl FnOnce(&mut CkOptions)) -> CkOptions {
    sized(|options: &mut CkOptions| {
        options.struct_size = size_of::<CkOptions>();
        options.arch = c"gfx950".as_ptr();
        set(options);
    })
}

unsafe extern "C" fn no(_: *const CkConvProblem, _: *mut c_void) -> i32 {
    0
}

unsafe extern "C" fn takes_a_millisecond(_: *const CkConvProblem, _: *mut c_void, _: *mut c_void) -> f32 {
    1.0
}

fn asked(registry: *const CkRegistry, images: i64) -> (CkStatus, CkSelection) {
    let problem = sized(|problem: &mut CkConvProblem| {
        // SAFETY: the struct is this function's.
        ok(unsafe { ck_conv_problem_init(problem) });
        (problem.n, problem.c, problem.k) = (images, 256, 128);
        (problem.input, problem.filter) = ([1, 28, 28], [1, 3, 3]);
        (problem.pad_left, problem.pad_right) = ([0, 1, 1], [0, 1, 1]);
    });
    let mut selection = sized(|found: &mut CkSelection| found.struct_size = size_of::<CkSelection>());
    // SAFETY: the structs are this function's.
    (unsafe { ck_registry_select_conv(registry, &raw const problem, &raw mut selection) }, selection)
}

fn select(registry: *const CkRegistry, images: i64) {
    let (status, selection) = asked(registry, images);
    ok(status);
    // SAFETY: names live as long as the registry.
    println!("@@{}", unsafe { CStr::from_ptr(selection.name) }.to_str().unwrap());
}

#[test]
fn child() {
    let Ok(store) = std::env::var(TASK) else { return };
    let store = CString::new(store).unwrap();
    let model = CString::new(root().join("tests/golden/models/conv_small").to_str().unwrap()).unwrap();
    let mut registry = null_mut();
    let usual = options(|_| ());
    let embedded = options(|options| options.embedded_models = 1);
    let searching = options(|options| {
        options.mode = CkMode::Search as i32;
        options.host_timing = 1;
        options.repeats = 1;
        options.store = store.as_ptr();
    });
    // SAFETY: everything that is handed over lives until the end of this function.
    unsafe {
        let status = ck_registry_create(&raw const usual, &raw mut registry);
        if status == CkStatus::Io {
            return; // the override file cannot be read
        }
        ok(status);
        for kernel in &Pool::read(root().join("configs/forward_bf16.txt")).unwrap() {
            let hooks = sized(|hooks: &mut CkKernelHooks| {
                hooks.struct_size = size_of::<CkKernelHooks>();
                hooks.run_conv = Some(takes_a_millisecond);
                // The model likes these best, so that its choice is not the first of the ranking.
                hooks.supports_conv = if kernel.name.contains("compv5") { Some(no) } else { None };
            });
            let name = CString::new(kernel.name.as_str()).unwrap();
            ok(ck_registry_add_kernel(registry, name.as_ptr(), &raw const hooks));
        }
        select(registry, 1); // by the estimate
        ok(ck_registry_load_model(registry, model.as_ptr(), null()));
        select(registry, 2); // by the model of a directory
        select(registry, 2); // the same, remembered
        ok(ck_registry_remove_models(registry));
        ok(ck_registry_set_options(registry, &raw const embedded));
        select(registry, 3); // by an embedded one
        ok(ck_registry_set_options(registry, &raw const searching));
        select(registry, 4); // by search
        select(registry, 4); // by the store
        let file =
            |name: &str| std::fs::read(root().join("tests/golden/models/conv_small").join(name)).unwrap();
        let (spec, text) = (file("feature_spec.json"), file("model_tflops.lgbm.gz"));
        let forest = sized(|forest: &mut CkForestBytes| {
            forest.struct_size = size_of::<CkForestBytes>();
            (forest.bytes, forest.len) = (text.as_ptr(), text.len());
        });
        let (spec, len) = (spec.as_ptr(), spec.len());
        ok(ck_registry_set_options(registry, &raw const usual));
        ok(ck_registry_load_model_bytes(registry, c"mine".as_ptr(), spec, len, &raw const forest, 1, null()));
        select(registry, 5); // by a model from memory
        assert_eq!(asked(registry, 6).0, CkStatus::OverrideFailed);
        ck_registry_destroy(registry);
    }
}

/// A rule for the last problem that is asked for.
const RULE: &str = "N=6,C=256,K=128,Hi=28,Wi=28,Y=3,X=3,pad_h=1,pad_w=1 -> a_kernel_that_is_gone";

/// Runs the child with a log of this level and a rule; what it printed, and what it logged.
fn run(folder: &Path, level: &str, rule: &str) -> (String, String) {
    let (log, rules) = (folder.join("it's a log"), folder.join("rules"));
    std::fs::write(&rules, rule).unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["child", "--exact", "--nocapture", "--test-threads=1"])
        .env(TASK, folder.join("winners.db"))
        .env("XDG_CACHE_HOME", folder)
        .env("CK_SELECT_OVERRIDE", rules)
        .env("CK_SELECT_LOG", format!("{level}:{}", log.display()))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    (String::from_utf8(output.stdout).unwrap(), std::fs::read_to_string(log).unwrap())
}

#[test]
fn every_source_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let (chosen, log) = run(folder.path(), "debug", RULE);
    let chosen: Vec<&str> = chosen.lines().filter_map(|line| line.split("@@").nth(1)).collect();
    let said =
        log.lines().filter_map(|line| line.strip_prefix("debug select: ")?.rsplit_once(": ")).map(|it| it.1);
    let said: Vec<&str> = said.filter(|said| said.contains(" by ")).collect();
    let sources = ["estimate", "model", "model", "model", "search", "store", "model"];
    let expected: Vec<String> =
        chosen.iter().zip(sources).map(|(name, from)| format!("{name} by {from}")).collect();
    assert_eq!((chosen.len(), said), (7, expected.iter().map(String::as_str).collect()), "{log}");
    assert!(!log.contains("store: grouped_conv"), "before the search the store had nothing: {log}");
}

#[test]
fn a_rule_that_cannot_be_followed_is_an_error_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let (_, log) = run(folder.path(), "error", RULE);
    let lines: Vec<_> = log.lines().collect();
    assert_eq!(lines.len(), 1, "{log}");
    assert!(lines[0].starts_with("error select: direction=forward,ndim=2,N=6,"), "{log}");
    assert!(
        lines[0].ends_with(": the override names 'a_kernel_that_is_gone', which is not registered"),
        "{log}"
    );
    let (_, log) = run(tempfile::tempdir().unwrap().path(), "error", "\nno rule");
    assert!(
        log.starts_with("error override: ")
            && log.ends_with("rules: line 2: expected 'problem -> kernel name'\n")
    );
}

#[test]
fn nothing_is_said_unless_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(run(folder.path(), "off", RULE).1, "");
}
