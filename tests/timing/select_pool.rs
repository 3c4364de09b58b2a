//! How long a choice among the kernels of a pool takes for a problem that was not asked before.
//!
//! ```console
//! $ ckselect convert data/h100/gemm_triton.parquet --output triton.csv
//! $ cargo run --release --example select_pool -- embedded:universal triton.csv sm_90
//! $ cargo run --release --example select_pool -- models/mine triton.csv sm_90 auto
//! $ ckselect enumerate a8w8_rowwise --arch gfx942 --output rowwise.txt
//! $ cargo run --release --example select_pool -- embedded:gemm_fp8_gfx942 rowwise.txt gfx942 1,2,4,8
//! $ cargo run --release --example select_pool -- models/moe_bf16_sm90 moe.txt sm_90
//! ```
//!
//! With `auto`, the number of parts is chosen, too, among the usual ones, or among those of a list. Prints the kernels and microseconds a problem: the least
//! and the median of 15 rounds of 200 problems on one thread. On a busy machine, count instructions instead:
//! `perf stat -e instructions:u`.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use ck_select::embedded;
use ck_select::estimate::Device;
use ck_select::kernel::{GemmKernel, KernelKind, MoeKernel};
use ck_select::moe::MoeProblem;
use ck_select::pool::Pool;
use ck_select::problem::{GemmProblem, Problem, Splits};
use ck_select::ranking::{RankScratch, Ranker};
use ck_select::vocab::{Arch, MoeStage};

const PROBLEMS: i64 = 200;
const ROUNDS: i64 = 15;

/// A problem of the kernel's types, layout and scales.
fn gemm(kernel: &GemmKernel, number: i64, auto: bool) -> Problem {
    let (m, n, k) = (1 + number * 37 % 4000, 64 * (1 + number % 61), 64 * (1 + number % 53));
    let &GemmKernel { dtype_a, dtype_b, dtype_c, layout, .. } = kernel;
    let request = kernel.request();
    let problem: Problem =
        GemmProblem { dtype_a, dtype_b, dtype_c, layout, request, ..GemmProblem::new(m, n, k) }.into();
    if auto { problem.leaving_split() } else { problem }
}

/// A stage of a mixture of the kernel's types, routed evenly.
fn moe(kernel: &MoeKernel, number: i64) -> Problem {
    let &MoeKernel { dtype_a, dtype_b, .. } = kernel;
    let sizes = [256 * (1 + number % 61), 128 * (1 + number % 53)];
    let problem =
        MoeProblem::new(MoeStage::One, 1 + number * 37 % 4000, [8 << (number % 5), 1 + number % 8], sizes);
    MoeProblem { dtype_a, dtype_b, ..problem }.into()
}

/// The seconds of some choices.
#[inline(never)]
fn round(ranker: &Ranker, problems: &[Problem], splits: &Splits, arch: Arch) -> Result<f64, Failure> {
    let mut scratch = RankScratch::default();
    let start = Instant::now();
    for problem in problems {
        let checked = problem.checked()?.among(splits);
        black_box(ranker.ranking(checked, Some(arch), 4, &mut scratch)?.next());
    }
    Ok(start.elapsed().as_secs_f64())
}

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, pool, arch, rest @ ..] = &arguments[..] else {
        return Err("expected a model, a pool, an architecture, and perhaps auto or a list".into());
    };
    let auto = !rest.is_empty();
    let splits =
        rest.first().filter(|word| *word != "auto").map_or(Ok(Splits::USUAL), |list| list.parse())?;
    let model = embedded::open(model)?;
    let pool = Arc::new(Pool::read(pool)?);
    let problem = |number: i64| match pool.get(0).map(|kernel| &kernel.kind) {
        Some(KernelKind::Gemm(kernel)) => Ok(gemm(kernel, number, auto)),
        Some(KernelKind::Moe(kernel)) => Ok(moe(kernel, number)),
        _ => Err("expected a pool of GEMMs, or of mixtures of experts"),
    };
    let arch = arch.parse()?;
    let model =
        if model.is_universal() { model.on_device(Device::for_arch(arch)?, Some(arch)) } else { model };
    let ranker = Ranker::new(Arc::new(model), Arc::clone(&pool))?;
    let mut rounds = Vec::new();
    for number in 0..ROUNDS {
        let problems: Vec<Problem> =
            (0..PROBLEMS).map(|at| problem(number * PROBLEMS + at)).collect::<Result<_, _>>()?;
        rounds.push(round(&ranker, &problems, &splits, arch)? * 1e6 / PROBLEMS as f64);
    }
    rounds.sort_by(f64::total_cmp);
    let (least, median) = (rounds[0], rounds[rounds.len() / 2]);
    println!("{} kernels: {least:.1} us at least, {median:.1} in the median", pool.len());
    Ok(())
}
