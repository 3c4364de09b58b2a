//! What the C interface costs besides ranking: the library as C programs load it, from its file.
//!
//! - *repeated problem*: one registry, one problem, as a layer of a network asks again and again;
//!   `make bench-threads` has it from many threads.
//! - *besides ranking*: problems that the registry has not met, each answered by a forest of one leaf; from
//!   that the same ranking through Rust is taken away. What is left is the C boundary, the state, the
//!   decision cache's miss and its entry, `is_eligible` and `supports`.
//! - *opening the library*: `dlopen` and the first symbol, in a process that has it in the page cache.

use std::ffi::{CString, c_char};
use std::path::PathBuf;
use std::ptr;
use std::sync::Arc;
use std::time::Instant;

use ck_select::directory::{Model, Target};
use ck_select::ffi::{
    AsC as _, CkConvProblem, CkForestBytes, CkKernelHooks, CkModelOptions, CkOptions, CkRegistry,
    CkSelection, CkStatus,
};
use ck_select::forest::text_head;
use ck_select::pool::Pool;
use ck_select::problem::Problem;
use ck_select::ranking::{RankScratch, Ranker};
use ck_select_testing::Random;
use libloading::{Library, Symbol};
use serde_json::json;

use crate::Options;
use crate::machine::{self, Setting};
use crate::models;
use crate::report::{Line, Report, median};

/// Problems that one after the other drive each other out of the decision cache.
const PROBLEMS: usize = 8192;

type Select = unsafe extern "C" fn(*const CkRegistry, *const CkConvProblem, *mut CkSelection) -> CkStatus;

/// A registry of the loaded library.
struct Registry<'l> {
    handle: *mut CkRegistry,
    select: Symbol<'l, Select>,
    destroy: Symbol<'l, unsafe extern "C" fn(*mut CkRegistry)>,
}

impl Drop for Registry<'_> {
    fn drop(&mut self) {
        // SAFETY: made by the library, and no thread uses it any more.
        unsafe { (self.destroy)(self.handle) }
    }
}

impl<'l> Registry<'l> {
    /// The pool's kernels, and a forest of one leaf.
    fn new(library: &'l Library, setting: &Setting) -> Registry<'l> {
        let spec = models::spec(setting);
        let forest = one_leaf(setting);
        let mut handle = ptr::null_mut();
        // SAFETY: the functions have these types in `include/ck_select.h`, from which the Rust ones are
        // generated; all arguments are as it asks.
        unsafe {
            type Create = unsafe extern "C" fn(*const CkOptions, *mut *mut CkRegistry) -> CkStatus;
            type Add = unsafe extern "C" fn(*mut CkRegistry, *const c_char, *const CkKernelHooks) -> CkStatus;
            type LoadModel = unsafe extern "C" fn(
                *mut CkRegistry,
                *const c_char,
                *const u8,
                usize,
                *const CkForestBytes,
                usize,
                *const CkModelOptions,
            ) -> CkStatus;
            let create: Symbol<'_, Create> = library.get(b"ck_registry_create").expect("a symbol");
            let add: Symbol<'_, Add> = library.get(b"ck_registry_add_kernel").expect("a symbol");
            let load: Symbol<'_, LoadModel> = library.get(b"ck_registry_load_model_bytes").expect("a symbol");
            check(create(ptr::null(), &raw mut handle));
            for kernel in &setting.pool {
                let name = CString::new(kernel.name.as_str()).expect("no NUL");
                check(add(handle, name.as_ptr(), ptr::null()));
            }
            let forest = CkForestBytes {
                struct_size: size_of::<CkForestBytes>(),
                target: 0,
                reserved: 0,
                bytes: forest.as_ptr(),
                len: forest.len(),
            };
            let (spec, options) = (spec.as_bytes(), ptr::null());
            check(load(
                handle,
                c"one leaf".as_ptr(),
                spec.as_ptr(),
                spec.len(),
                &raw const forest,
                1,
                options,
            ));
            Registry {
                handle,
                select: library.get(b"ck_registry_select_conv").expect("a symbol"),
                destroy: library.get(b"ck_registry_destroy").expect("a symbol"),
            }
        }
    }

    fn select(&self, problem: &CkConvProblem) -> CkSelection {
        // SAFETY: every field may be zero.
        let mut selection: CkSelection = unsafe { std::mem::zeroed() };
        selection.struct_size = size_of::<CkSelection>();
        // SAFETY: the registry lives, the problem is one, the selection has its size.
        check(unsafe { (self.select)(self.handle, problem, &raw mut selection) });
        selection
    }

    /// Microseconds of a repeated problem, and whether it always got the same answer.
    fn repeated(&self, problem: &Problem, calls: usize) -> (f64, bool) {
        let problem = in_c(problem);
        let expected = self.select(&problem).index;
        let start = Instant::now();
        let same = (0..calls).filter(|_| self.select(&problem).index == expected).count() == calls;
        (start.elapsed().as_secs_f64() * 1e6 / calls as f64, same)
    }
}

/// The problem as C has it.
fn in_c(problem: &Problem) -> CkConvProblem {
    let Problem::Conv(problem) = problem else { unreachable!("the cases are convolutions") };
    problem.to_c()
}

fn check(status: CkStatus) {
    assert!(matches!(status, CkStatus::Ok), "{status:?}");
}

fn one_leaf(setting: &Setting) -> Vec<u8> {
    let names = setting.extractor.schema.names();
    let tree = "Tree=0\nnum_leaves=1\nnum_cat=0\nleaf_value=1\nis_linear=0\nshrinkage=1\n\nend of trees\n";
    (text_head(&names) + tree).into_bytes()
}

/// The shared library that cargo built for this program.
fn library_file() -> PathBuf {
    let program = std::env::current_exe().expect("the program's own file");
    let name = libloading::library_filename("ck_select");
    program.parent().expect("a folder").join(name)
}

pub(crate) fn run(options: &Options, report: &mut Report) {
    let file = library_file();
    let setting = machine::conv_30();
    if options.wants("C interface: opening the library") {
        open(&file, options, report);
    }
    // SAFETY: the library's initializers are Rust's own.
    let library = unsafe { Library::new(&file) }.unwrap_or_else(|error| panic!("{error}"));
    let registry = Registry::new(&library, &setting);
    let mut random = Random(81);
    let mut problems = Vec::new();
    while problems.len() < PROBLEMS {
        problems.push((setting.problem)(&mut random));
    }
    let case = "C interface: repeated problem";
    if options.wants(case) {
        repeated(case, &registry, &problems, options, report);
    }
    let case = "C interface: ck_registry_select_conv besides ranking";
    if options.wants(case) {
        besides_ranking(case, &registry, &setting, &problems, options, report);
    }
}

fn repeated(
    case: &str,
    registry: &Registry<'_>,
    problems: &[Problem],
    options: &Options,
    report: &mut Report,
) {
    // 210 problems, seven a round.
    let (mut times, mut same) = (Vec::new(), true);
    for problem in &problems[..options.rounds() * 7] {
        let (us, right) = registry.repeated(problem, 40_000);
        times.push(us);
        same &= right;
    }
    report.add(&Line {
        case: case.to_owned(),
        ours_us: median(&mut times),
        rows: 30,
        more: vec![("same_answer", json!(same))],
        ..Line::default()
    });
}

fn besides_ranking(
    case: &str,
    registry: &Registry<'_>,
    setting: &Setting,
    problems: &[Problem],
    options: &Options,
    report: &mut Report,
) {
    let (spec, forest) = (models::spec(setting), one_leaf(setting));
    let model =
        Model::from_bytes("one leaf", spec.as_bytes(), &[(Target::Tflops, &forest)]).expect("a model");
    let pool = Arc::new(Pool::new(setting.pool.clone()).expect("a pool"));
    let ranker = Ranker::new(Arc::new(model), pool).expect("a pool that the model describes");
    let c_problems: Vec<CkConvProblem> = problems.iter().map(in_c).collect();
    let mut scratch = RankScratch::default();
    // A call is shorter than a look at the clock, so a round's calls are timed together.
    let (mut whole, mut ranking) = (Vec::new(), Vec::new());
    for _ in 0..options.rounds() {
        let start = Instant::now();
        for problem in &c_problems {
            std::hint::black_box(registry.select(problem));
        }
        whole.push(start.elapsed().as_secs_f64() * 1e6 / PROBLEMS as f64);
        let start = Instant::now();
        for problem in problems {
            let problem = problem.checked().expect("a valid problem");
            // As many places as a selection asks for at first.
            ranker.ranking(problem, None, 4, &mut scratch).expect("a ranking");
        }
        ranking.push(start.elapsed().as_secs_f64() * 1e6 / PROBLEMS as f64);
    }
    let (whole, ranking) = (median(&mut whole), median(&mut ranking));
    report.add(&Line {
        case: case.to_owned(),
        ours_us: whole - ranking,
        rows: 30,
        trees: 1,
        leaves: 1,
        more: vec![("whole_us", json!(whole)), ("ranking_us", json!(ranking))],
        ..Line::default()
    });
}

fn open(file: &std::path::Path, options: &Options, report: &mut Report) {
    let mut times = Vec::new();
    for _ in 0..options.rounds() {
        let start = Instant::now();
        // SAFETY: the library's initializers are Rust's own; nothing of it is used after it is closed.
        let library = unsafe { Library::new(file) }.unwrap_or_else(|error| panic!("{error}"));
        // SAFETY: only looked for.
        unsafe { library.get::<Select>(b"ck_registry_select_conv") }.expect("a symbol");
        times.push(start.elapsed().as_secs_f64() * 1e6);
    }
    let bytes = std::fs::metadata(file).map_or(0, |data| data.len());
    report.add(&Line {
        case: "C interface: opening the library".to_owned(),
        ours_us: median(&mut times),
        more: vec![("library_bytes", json!(bytes))],
        ..Line::default()
    });
}
