//! A selection as a dispatcher makes it, for counting its instructions: `make instructions`.
//!
//! ```console
//! $ select_path conv-new      problems that were not asked before, 30 convolution kernels
//! $ select_path conv-again    one problem over and over: the decision cache
//! $ select_path conv-counted  the same of a registry that tunes, and so counts what is asked
//! $ select_path c-again       the same through the C interface
//! $ select_path gemm-new      problems that were not asked before, 32 GEMM kernels
//! $ select_path sure-new      problems that were not asked before, 30 convolution kernels, a model that says how sure
//! $ select_path universal-new the same of the universal model
//! $ select_path estimate-new  problems that were not asked before, 30 convolution kernels, no model
//! $ select_path fmha-new      problems that were not asked before, 30 attention kernels
//! $ select_path fmha-again    one of them over and over
//! $ select_path register      one more kernel beside 20,000, which costs what it costs beside none
//! $ select_path change        one more kernel beside 10,000 convolution kernels among which selections are made
//! $ select_path remove        one kernel fewer of them
//! $ select_path after-change  the selection after that
//! ```
//!
//! Prints how many selections were made inside of `measured`, which is where valgrind counts.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use ck_select::directory::Model;
use ck_select::ffi::{AsC as _, CkConvProblem, CkSelection, CkStatus, ck_registry_select_conv};
use ck_select::kernel::Kernel;
use ck_select::pool::Pool;
use ck_select::problem::{ConvProblem, FmhaProblem, GemmProblem, Problem};
use ck_select::registry::{NewKernel, Options, Priority, Registry, TuneBudget, UserData};

const CALLS: i64 = 200;

/// What is counted.
#[inline(never)]
fn measured<T>(problems: &[T], select: impl Fn(&T) -> usize) -> usize {
    problems.iter().map(|problem| black_box(select(black_box(problem)))).sum()
}

/// The same through the C interface.
fn through_c(registry: &Registry, problems: &[Problem]) -> usize {
    let convolutions = problems.iter().filter_map(|problem| match problem {
        Problem::Conv(problem) => Some(problem.to_c()),
        _ => None,
    });
    let convolutions: Vec<CkConvProblem> = convolutions.collect();
    measured(&convolutions, |problem| {
        // SAFETY: numbers and addresses, for which zeros are values.
        let mut selection: CkSelection = unsafe { std::mem::zeroed() };
        selection.struct_size = size_of::<CkSelection>();
        // SAFETY: the addresses are those of values that live for the call, and a `CkRegistry` is a
        // `Registry`.
        let status = unsafe {
            ck_registry_select_conv(std::ptr::from_ref(registry).cast(), problem, &raw mut selection)
        };
        if status == CkStatus::Ok { selection.index } else { 0 }
    })
}

fn conv(number: i64) -> Problem {
    let (extent, filter) = (14 + number % 40, 1 + number % 3 * 2);
    let problem = ConvProblem {
        n: 1 + number % 16,
        c: 16 * (1 + number % 31),
        k: 16 * (1 + number % 29),
        ..ConvProblem::new_2d([extent, extent], [filter, filter])
    };
    problem.padded([filter / 2, filter / 2]).into()
}

fn gemm(number: i64) -> Problem {
    GemmProblem::new(1 + number * 37 % 4000, 64 * (1 + number % 61), 64 * (1 + number % 53)).into()
}

fn fmha(number: i64) -> Problem {
    let nhead_k = 1 + number % 8;
    let sizes =
        FmhaProblem::new([16 + number * 37 % 4000, 64 * (1 + number % 61)], nhead_k * (1 + number % 3), 128);
    FmhaProblem { batch: 1 + number % 16, nhead_k, ..sizes }.into()
}

/// Registers kernels one by one.
fn register(registry: &Registry, kernel: &Kernel) -> Result<usize, Box<dyn std::error::Error>> {
    let named = |at: i64| Kernel { name: format!("kernel {at}"), ..kernel.clone() };
    registry.add_all((0..20_000).map(named).map(NewKernel::from).collect())?;
    let more: Vec<Kernel> = (20_000..20_000 + CALLS).map(named).collect();
    Ok(measured(&more, |kernel| {
        usize::from(registry.add(kernel.clone(), Priority::NORMAL, UserData::default(), None).is_ok())
    }))
}

/// A convolution kernel for each number below 13,000.
fn numbered(number: usize) -> Result<NewKernel, Box<dyn std::error::Error>> {
    let (m, n, k) = (16 + number / 200 % 65 * 16, 16 + number % 20 * 16, 16 + number / 20 % 10 * 16);
    let kernel = Kernel::from_name(&format!("grouped_conv_forward_bf16_2d_{m}x{n}x{k}_compv3"))?;
    Ok(kernel.into())
}

/// Adds kernels while selections are made; counts the changes, or the selections after them.
fn changes(registry: &Registry, counts: &str) -> Result<usize, Box<dyn std::error::Error>> {
    const CHANGES: usize = 10;
    registry.add_all((0..10_000).map(numbered).collect::<Result<_, _>>()?)?;
    registry.prepare();
    let problem = conv(1);
    let select = |problem: &Problem| registry.select(problem).map_or(0, |selection| selection.index);
    if counts == "remove" {
        for entry in registry.kernels().iter().step_by(10_000 / CHANGES) {
            select(&problem);
            measured(&[entry.name()], |name| usize::from(registry.remove(name)));
        }
        return Ok(CHANGES);
    }
    for number in 10_000..10_000 + CHANGES {
        let cell = std::cell::Cell::new(Some(numbered(number)?));
        let add = |cell: &std::cell::Cell<Option<NewKernel>>| {
            usize::from(registry.add_all(cell.take().into_iter().collect()).is_ok())
        };
        if counts == "change" {
            measured(&[cell], add);
            select(&problem);
        } else {
            add(&cell);
            measured(&[problem], select);
        }
    }
    Ok(CHANGES)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (root, case) = (env!("CARGO_MANIFEST_DIR"), std::env::args().nth(1).unwrap_or_default());
    let case = case.as_str();
    let (model, pool, problem): (_, _, fn(i64) -> Problem) = match case {
        "gemm-new" => ("tests/golden/models/gemm_small", "tests/golden/models/gemm_small/pool.txt", gemm),
        "fmha-new" | "fmha-again" => {
            ("tests/golden/models/fmha_small", "tests/golden/models/fmha_small/pool.txt", fmha)
        }
        "sure-new" => ("models/grouped_conv_forward_bf16_gfx950", "configs/forward_bf16.txt", conv),
        "universal-new" => ("models/universal", "configs/forward_bf16.txt", conv),
        _ => ("tests/golden/models/conv_small", "configs/forward_bf16.txt", conv),
    };
    let arch = match case {
        // How sure the estimate is, is known there.
        "sure-new" | "universal-new" | "estimate-new" => Some("gfx950".parse()?),
        _ => None,
    };
    let registry = Registry::new(Options { arch, ..Options::default() })?;
    if let "change" | "remove" | "after-change" = case {
        registry.set_model(Arc::new(Model::load(format!("{root}/{model}"))?), None);
        println!("{}", changes(&registry, case)?);
        return Ok(());
    }
    let pool = Pool::read(format!("{root}/{pool}"))?;
    registry.add_all(pool.iter().cloned().map(NewKernel::from).collect())?;
    if let ("register", Some(kernel)) = (case, pool.get(0)) {
        println!("{}", register(&registry, kernel)?);
        return Ok(());
    }
    if case != "estimate-new" {
        registry.set_model(Arc::new(Model::load(format!("{root}/{model}"))?), None);
    }
    registry.prepare();
    if case == "conv-counted" {
        registry.tune(&TuneBudget::new(Duration::ZERO))?;
    }
    let problems: Vec<Problem> = match case {
        "conv-again" | "conv-counted" | "c-again" | "fmha-again" => vec![problem(1); CALLS as usize],
        "conv-new" | "sure-new" | "universal-new" | "gemm-new" | "fmha-new" | "estimate-new" => {
            (1000..1000 + CALLS).map(problem).collect()
        }
        other => {
            return Err(format!("no case is called '{other}': tests/timing/select_path.rs has them").into());
        }
    };
    // Warm: working memory has grown, and of repeated problems the first is decided.
    for number in 0..20 {
        registry.select(&problem(number))?;
    }
    registry.select(&problem(1))?;
    if case == "c-again" {
        through_c(&registry, &problems);
    } else {
        measured(&problems, |problem| registry.select(problem).map_or(0, |selection| selection.index));
    }
    println!("{}", problems.len());
    Ok(())
}
