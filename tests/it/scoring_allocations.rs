//! Scoring does not allocate once its scratch has grown, for pools of every width.

use std::sync::Arc;

use ck_select::directory::Model;
use ck_select::forest::Forest;
use ck_select::kernel::Kernel;
use ck_select::pool::Pool;
use ck_select::problem::{GemmProblem, Problem};
use ck_select::ranking::{RankScratch, Ranker};
use ck_select::scoring::{BestKernels, Column, PoolScorer, PoolTable, Scratch};

use crate::common::root;
use ck_select_testing::Random;
use ck_select_testing::counting::ALLOCATIONS;
use ck_select_testing::forests::{Sizes, forest_text};

fn forest() -> Arc<Forest> {
    let sizes = Sizes { features: 3, trees: 150, leaves: 8, chains: false };
    Arc::new(Forest::parse(forest_text(&mut Random(1), &sizes).as_bytes()).unwrap())
}

#[test]
fn scoring_does_not_allocate_after_the_first_call() {
    let forest = forest();
    let columns = [Column::Uniform, Column::Kernel, Column::Pair];
    for kernels in [1, 30, 32, 33, 300, 10_000] {
        let kernel_values: Vec<f64> = (0..kernels).map(|kernel| kernel as f64 / kernels as f64).collect();
        let classes: Vec<u32> = (0..kernels).map(|kernel| kernel as u32 % 9 % kernels as u32).collect();
        let table = PoolTable { columns: &columns, classes: &classes, kernel_values: &kernel_values };
        let scorer = PoolScorer::compile(&forest, &table).unwrap();
        let mut scratch = Scratch::new();
        let mut scores = vec![0.0; kernels];
        let mut pair = vec![0.0; scorer.classes()];
        let mut score = |call: usize| {
            for (class, value) in pair.iter_mut().enumerate() {
                *value = ((class * 3 + call * 5) % 10) as f64 / 10.0;
            }
            scorer.score(&[(call % 8) as f64 / 8.0], &pair, &mut scratch, &mut scores).unwrap();
        };
        score(0);
        let before = ALLOCATIONS.get();
        for call in 1..50 {
            score(call);
        }
        assert_eq!(ALLOCATIONS.get() - before, 0, "{kernels} kernels");
    }
}

#[test]
fn shortlists_do_not_allocate_after_the_first() {
    let forest = forest();
    let columns = [Column::Uniform, Column::Kernel, Column::Kernel];
    let kernel_values: Vec<f64> = (0..600).map(|value| f64::from(value * 37 % 101) / 101.0).collect();
    let table = PoolTable { columns: &columns, classes: &[0; 300], kernel_values: &kernel_values };
    let scorer = PoolScorer::compile(&forest, &table).unwrap();
    let mut scratch = Scratch::new();
    let mut list = |call: usize| {
        let best = BestKernels { count: 1 + call % 4, highest: call.is_multiple_of(2) };
        let uniform = [(call % 8) as f64 / 8.0];
        scorer.shortlist(&uniform, &[], best, |kernel| !kernel.is_multiple_of(3), &mut scratch).unwrap()
    };
    list(0);
    let before = ALLOCATIONS.get();
    let found = (1..50).filter(|&call| list(call)).count();
    assert_eq!(ALLOCATIONS.get() - before, 0);
    assert!(found > 0);
}

#[test]
fn a_universal_model_does_not_allocate_once_it_has_chosen() {
    let tiles = [16, 32, 64, 128, 256];
    let shapes =
        tiles.iter().flat_map(|m| tiles.iter().flat_map(move |n| [16, 32, 64, 128].map(|k| (m, n, k))));
    let names = shapes.flat_map(|(m, n, k)| {
        ["compv3", "compv4"].map(|pipeline| {
            format!(
                "gemm_universal_fp16_rcr_{pipeline}_default_intrawave_False_False_False_False_{m}x{n}x{k}\
                 _2x2x1_16x16x16"
            )
        })
    });
    let kernels = names.map(|name| Kernel::from_name(&name).unwrap()).collect();
    let model = Arc::new(Model::load(root("models/universal")).unwrap());
    let ranker = Ranker::new(model, Arc::new(Pool::new(kernels).unwrap())).unwrap();
    let fp16 = "fp16".parse().unwrap();
    let problems: Vec<Problem> = (1..30)
        .map(|at| GemmProblem::new(37 * at, 64 * (1 + at % 19), 64 * (1 + at % 13)))
        .map(|sizes| GemmProblem { dtype_a: fp16, dtype_b: fp16, dtype_c: fp16, ..sizes }.into())
        .collect();
    let mut scratch = RankScratch::default();
    let arch = Some("gfx942".parse().unwrap());
    let mut choose = |problem: &Problem| {
        ranker.ranking(problem.checked().unwrap(), arch, 4, &mut scratch).unwrap().next().unwrap().unwrap();
    };
    problems.iter().for_each(&mut choose);
    let before = ALLOCATIONS.get();
    problems.iter().for_each(&mut choose);
    assert_eq!(ALLOCATIONS.get() - before, 0);
}
