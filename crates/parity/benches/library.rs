//! The library's own steps, one by one, on the small models of the tests: `make bench`, or
//! `cargo bench -p ck-select-parity --bench library`. What users wait for, beside LightGBM, is in `compare`.

#![allow(missing_docs, reason = "criterion's macro makes a public function")]

use std::hint::black_box;
use std::path::PathBuf;
use std::sync::Arc;

use ck_select::estimate::{Device, EstimateScratch, Estimator, PoolEstimate};
use ck_select::forest::Forest;
use ck_select::kernel::Kernel;
use ck_select::model::Model;
use ck_select::pool::Pool;
use ck_select::problem::{ConvProblem, FmhaProblem, Problem, ProblemDefaults};
use ck_select::registry::{NewKernel, Options, Registry};
use ck_select::select::{RankScratch, Ranker};
use ck_select::vocab::Op;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

fn root(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn problem(number: i64) -> Problem {
    let problem = ConvProblem { n: 16, c: 64, k: 8 + number % 5000, ..ConvProblem::new_2d([28, 28], [3, 3]) };
    problem.padded([1, 1]).into()
}

fn conv() -> (Arc<Model>, Arc<Pool>) {
    let model = Model::load(root("tests/golden/models/conv_small")).expect("a model");
    let pool = Pool::read(root("configs/forward_bf16.txt")).expect("a pool");
    (Arc::new(model), Arc::new(pool))
}

fn reading(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("reading");
    let text = std::fs::read(root("tests/golden/forest/numbers.txt")).expect("a forest");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("a forest", |bencher| bencher.iter(|| Forest::parse(black_box(&text))));
    group.throughput(Throughput::Elements(1));
    let name = "grouped_conv_forward_bf16_2d_64x128x64_compv3";
    group.bench_function("a kernel's name", |bencher| bencher.iter(|| Kernel::from_name(black_box(name))));
    let text = problem(1).to_string();
    let defaults = ProblemDefaults::of(Op::Conv);
    group.bench_function("a problem", |bencher| {
        bencher.iter(|| Problem::parse(Op::Conv, black_box(&text), &defaults));
    });
    group.finish();
}

fn ranking(criterion: &mut Criterion) {
    let (model, pool) = conv();
    let mut group = criterion.benchmark_group("30 kernels, small forest");
    group.bench_function("preparing", |bencher| {
        bencher.iter(|| Ranker::new(Arc::clone(&model), Arc::clone(&pool)));
    });
    let ranker = Ranker::new(Arc::clone(&model), Arc::clone(&pool)).expect("a pool that the model describes");
    let (mut scratch, mut number) = (RankScratch::default(), 0);
    group.bench_function("ranking", |bencher| {
        bencher.iter(|| {
            number += 1;
            ranker.rank_with(&problem(number), &mut scratch)
        });
    });
    group.finish();
}

/// A model of one GPU, the universal one, and one that `CK_SELECT_BENCH_MODEL` names, such as a tuned one.
fn ranking_by_models(criterion: &mut Criterion) {
    let (_, pool) = conv();
    let mut group = criterion.benchmark_group("30 kernels");
    let shipped = ["grouped_conv_forward_bf16_gfx950", "universal"];
    let shipped = shipped.map(|name| (name.to_owned(), root("models").join(name)));
    // Under its path, because a directory's name alone may be that of a shipped model.
    let named = std::env::var_os("CK_SELECT_BENCH_MODEL").map(PathBuf::from);
    let named = named.map(|place| (place.display().to_string(), place));
    for (name, place) in shipped.into_iter().chain(named) {
        let mut model = Model::load(&place).expect("a model");
        if model.is_generic() {
            let arch = "sm_90".parse().expect("a word");
            model = model.on_device(Device::for_arch(arch).expect("a profile"), Some(arch));
        }
        let ranker =
            Ranker::new(Arc::new(model), Arc::clone(&pool)).expect("a pool that the model describes");
        let (mut scratch, mut number) = (RankScratch::default(), 0);
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                number += 1;
                ranker.rank_with(&problem(number), &mut scratch)
            });
        });
    }
    group.finish();
}

/// The estimate, of the pool as it is and of one as large as they come.
fn estimating(criterion: &mut Criterion) {
    let (_, pool) = conv();
    let device = Device::for_arch("gfx942".parse().expect("a word")).expect("a profile");
    let mut group = criterion.benchmark_group("estimating");
    for count in [30, 4608] {
        let many = pool.iter().cycle().take(count).enumerate();
        let many = many.map(|(at, kernel)| Kernel { name: format!("{}{at}", kernel.name), ..kernel.clone() });
        let pool = Arc::new(Pool::new(many.collect()).expect("different kernels"));
        let estimate = PoolEstimate::new(Estimator::new(device), pool);
        let (mut scratch, mut number) = (EstimateScratch::default(), 0);
        group.bench_function(format!("{count} kernels"), |bencher| {
            bencher.iter(|| {
                number += 1;
                estimate.rank_with(&problem(number), &mut scratch)
            });
        });
    }
    group.finish();
}

fn registry(model: Arc<Model>, pool: &Pool) -> Registry {
    let registry = Registry::new(Options::default()).expect("a registry");
    registry.add_all(pool.iter().cloned().map(NewKernel::from).collect()).expect("different kernels");
    registry.set_model(model, None);
    registry.prepare();
    registry
}

fn selecting(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("selecting");
    let attention = Model::load(root("tests/golden/models/fmha_small")).expect("a model");
    let kernels = Pool::read(root("tests/golden/models/fmha_small/pool.txt")).expect("a pool");
    let attention = registry(Arc::new(attention), &kernels);
    let asked: Problem = FmhaProblem::new([2048, 2048], 32, 128).into();
    attention.select(&asked).expect("a kernel");
    group.bench_function("the same problem of attention", |bencher| {
        bencher.iter(|| attention.select(black_box(&asked)).map(|selection| selection.index));
    });
    let (model, pool) = conv();
    let registry = registry(model, &pool);
    let again = problem(1);
    group.bench_function("the same problem", |bencher| {
        bencher.iter(|| registry.select(black_box(&again)).map(|selection| selection.index));
    });
    let mut number = 0;
    group.bench_function("a new problem", |bencher| {
        bencher.iter(|| {
            number += 1;
            registry.select(&problem(number)).map(|selection| selection.index)
        });
    });
    group.finish();
}

criterion_group! {
    name = steps;
    config = Criterion::default()
        .warm_up_time(std::time::Duration::from_millis(500))
        .measurement_time(std::time::Duration::from_secs(2));
    targets = reading, ranking, ranking_by_models, estimating, selecting
}
criterion_main!(steps);
