//! Scores of whole pools, ours against LightGBM's own C API, in one process and on the same inputs.
//!
//! `make bench`, or `cargo bench -p ck-select-parity --bench compare -- [--json FILE] [--rounds N] [--problems N]
//! [--case WORD]`. The models are trained on a made-up machine the first time, which takes some minutes, and kept in
//! the target directory.
//!
//! Each case scores many different problems with the pool's kernels: a round goes through them with each way in turn, so
//! that all meet the same disturbances; the figures are medians over rounds and problems. Scores are compared bit by bit.
//! LightGBM gets ready matrices, one call for the pool, one thread; `per_call` is one call for each kernel. Our
//! `score` gets ready feature values; `rank` starts from the problem: features, scores, sorting.

mod machine;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use ck_select::features::{KernelSide, ProblemSide};
use ck_select::forest::Forest;
use ck_select::scoring::{CallValues, PoolFeatures, PoolScorer, Scratch};
use ck_select_parity::synthetic::Random;
use ck_select_parity::{Booster, Matrix, Output, Training};
use machine::Setting;
use serde_json::json;

/// Raised when what the models are trained on changes, so that old ones are not used.
const MODELS: u32 = 1;

struct Model {
    name: &'static str,
    setting: fn() -> Setting,
    /// Problems to train on, and kernels of each, drawn from the pool.
    problems: usize,
    kernels: usize,
    trees: usize,
    leaves: usize,
}

const CONV_30: Model =
    Model { name: "conv97", setting: machine::conv_30, problems: 600, kernels: 30, trees: 2000, leaves: 255 };
const CONV_SMALL: Model = Model { name: "conv97 small", trees: 800, leaves: 15, ..CONV_30 };
const CONV_310: Model =
    Model { name: "conv113", setting: machine::conv_310, problems: 300, kernels: 310, ..CONV_30 };
const GEMM: Model =
    Model { name: "gemm72", setting: machine::gemm_4608, problems: 700, kernels: 150, ..CONV_30 };
const GEMM_500: Model = Model { name: "gemm72 500", trees: 500, leaves: 127, ..GEMM };

/// Cases: name, model, kernels (the pool's first, or the pool several times over), problems for LightGBM a round.
const CASES: [(&str, &Model, usize, usize); 8] = [
    ("conv, 1 kernel", &CONV_30, 1, usize::MAX),
    ("conv, 30 kernels", &CONV_30, 30, usize::MAX),
    ("conv, 30 kernels, small forest", &CONV_SMALL, 30, usize::MAX),
    ("conv, 310 kernels", &CONV_310, 310, 40),
    ("gemm, 4608 kernels", &GEMM, 4608, 1),
    ("gemm, 4608 kernels, 500x127", &GEMM_500, 4608, 4),
    ("gemm, 30 kernels", &GEMM, 30, usize::MAX),
    ("gemm, 100000 kernels (4608 distinct)", &GEMM, 100_000, 1),
];

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (mut json, mut rounds, mut problems, mut only) = (None, 30, 200, String::new());
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().expect("a value after the option");
        match argument.as_str() {
            "--json" => json = Some(value()),
            "--rounds" => rounds = value().parse().expect("a number of rounds"),
            "--problems" => problems = value().parse().expect("a number of problems"),
            "--case" => only = value(),
            // What cargo itself passes to benches.
            "--bench" => {}
            other => panic!("unknown option {other}"),
        }
    }
    let mut results = Vec::new();
    println!(
        "{:<38} {:>9} {:>9} {:>12} {:>12} {:>7} {:>9}  exact",
        "case", "score us", "rank us", "LightGBM us", "per call us", "ratio", "per call"
    );
    for (name, model, kernels, lightgbm_problems) in CASES {
        if name.contains(&only) {
            let result = run(name, model, kernels, lightgbm_problems, rounds, problems);
            results.extend(result);
        }
    }
    if let Some(file) = json {
        std::fs::write(file, serde_json::to_string_pretty(&results).expect("numbers and words"))
            .expect("a writable file");
    }
}

impl Model {
    /// The model's text, trained now or earlier.
    fn text(&self, setting: &Setting) -> String {
        let target = std::env::var_os("CARGO_TARGET_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target"), PathBuf::from);
        let name = self.name.replace(' ', "_");
        let file = target.join(format!("bench-models/{MODELS}_{name}_{}x{}.txt", self.trees, self.leaves));
        if let Ok(text) = std::fs::read_to_string(&file) {
            return text;
        }
        eprintln!("training {} ...", file.display());
        let data = self.data(setting);
        let names = setting.extractor.schema.names();
        let categorical = (0..names.len())
            .filter(|&column| ["pipeline", "scheduler", "epilogue", "layout"].contains(&names[column]))
            .map(|column| column.to_string());
        let (depth, rate) = if self.leaves > 100 { (15, 0.02) } else { (-1, 0.05) };
        let params = format!(
            "objective=regression num_leaves={} max_depth={depth} learning_rate={rate} min_child_samples=10 \
             feature_fraction=0.85 lambda_l1=0.05 lambda_l2=0.5 seed=42 deterministic=true \
             categorical_feature={}",
            self.leaves,
            categorical.collect::<Vec<_>>().join(",")
        );
        let text = Training::new(&data, &params, self.trees)
            .run()
            .and_then(|booster| booster.to_text())
            .expect("LightGBM trains");
        let _ = std::fs::create_dir_all(file.parent().expect("a folder"));
        std::fs::write(&file, &text).expect("a writable target directory");
        text
    }

    fn data(&self, setting: &Setting) -> Matrix {
        let mut random = Random::new(u64::from(MODELS));
        let mut data = Matrix { width: setting.extractor.schema.len(), ..Matrix::default() };
        for _ in 0..self.problems {
            let problem = (setting.problem)(&mut random);
            for number in 0..self.kernels {
                let all = self.kernels >= setting.pool.len();
                let kernel = &setting.pool[if all { number } else { random.below(setting.pool.len()) }];
                data.values.extend(setting.extractor.row(&problem, kernel).expect("a described kernel"));
                data.labels.push(machine::tflops(&problem, kernel, &mut random).ln_1p() as f32);
            }
        }
        data
    }
}

/// Microseconds that a call takes.
fn time<T>(times: &mut Vec<f64>, call: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = call();
    times.push(start.elapsed().as_secs_f64() * 1e6);
    result
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

#[allow(clippy::too_many_lines)] // one experiment, from top to bottom
fn run(
    name: &str,
    model: &Model,
    kernels: usize,
    lightgbm_problems: usize,
    rounds: usize,
    problems: usize,
) -> Vec<serde_json::Value> {
    let setting = (model.setting)();
    let extractor = &setting.extractor;
    let text = model.text(&setting);
    let booster = Booster::from_text(&text).expect("LightGBM reads its own model");
    let forest = Arc::new(Forest::parse(text.as_bytes()).expect("a model that LightGBM wrote"));
    let side = |kernel| extractor.kernel_side(kernel).expect("a described kernel");
    let sides: Vec<KernelSide> = setting.pool.iter().map(side).cycle().take(kernels).collect();
    let features = PoolFeatures::new(extractor, &sides).expect("kernels of one operation");
    let scorer = PoolScorer::compile(&forest, &features.table()).expect("a pool that fits");

    let mut random = Random::new(77);
    // A million scores a round are enough.
    let problems = problems.min(1_000_000 / kernels);
    let problems: Vec<ProblemSide> = (0..problems)
        .map(|_| extractor.problem_side(&(setting.problem)(&mut random)).expect("a described problem"))
        .collect();
    let values: Vec<CallValues> = problems
        .iter()
        .map(|problem| {
            let mut values = CallValues::default();
            features.fill(problem, &mut values);
            values
        })
        .collect();
    let width = forest.num_features();
    // Of a pool that repeats itself, LightGBM scores only the first time round, to compare.
    let distinct = kernels.min(setting.pool.len());
    let matrix = |problem: &ProblemSide| {
        let mut rows = vec![0.0; distinct * width];
        for (row, side) in rows.chunks_exact_mut(width).zip(&sides) {
            extractor.fill(problem, side, row);
        }
        rows
    };

    let mut scratch = Scratch::new();
    let mut call = CallValues::default();
    let mut scores = vec![0.0; kernels];
    let mut order: Vec<u32> = Vec::new();
    let (mut score, mut rank, mut batched, mut per_call) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut exact, mut compared) = (true, 0);
    // A round of LightGBM on a large pool takes seconds: each round takes other problems of the same list instead.
    for round in 0..rounds {
        for values in &values {
            time(&mut score, || scorer.score(&values.uniform, &values.pair, &mut scratch, &mut scores))
                .expect("values that fit");
        }
        for problem in &problems {
            time(&mut rank, || {
                features.fill(problem, &mut call);
                let scored = scorer.score(&call.uniform, &call.pair, &mut scratch, &mut scores);
                order.clear();
                order.extend(0..kernels as u32);
                order.sort_unstable_by(|&a, &b| {
                    scores[b as usize].total_cmp(&scores[a as usize]).then(a.cmp(&b))
                });
                scored
            })
            .expect("values that fit");
        }
        for number in 0..lightgbm_problems.min(problems.len()) {
            let number = (round * lightgbm_problems.min(problems.len()) + number) % problems.len();
            let rows = matrix(&problems[number]);
            let mut untimed = Vec::new();
            let times = if distinct == kernels { &mut batched } else { &mut untimed };
            let theirs = time(times, || booster.predict(&rows, Output::RawScore)).expect("scores");
            if round == 0 && distinct == kernels {
                time(&mut per_call, || {
                    for row in rows.chunks_exact(width) {
                        std::hint::black_box(booster.predict(row, Output::RawScore).expect("a score"));
                    }
                });
            }
            let values = &values[number];
            scorer.score(&values.uniform, &values.pair, &mut scratch, &mut scores).expect("values that fit");
            exact &= theirs.iter().cycle().zip(&scores).all(|(a, b)| a.to_bits() == b.to_bits());
            compared += kernels;
        }
    }
    let work: Vec<_> = values
        .iter()
        .map(|values| scorer.work(&values.uniform, &values.pair, &mut scratch).expect("values that fit"))
        .collect();
    let mean = |count: fn(&ck_select::scoring::Work) -> usize| {
        work.iter().map(|work| count(work) as f64).sum::<f64>() / work.len() as f64 / model.trees as f64
    };
    let [score, rank, batched, per_call] =
        [&mut score, &mut rank, &mut batched, &mut per_call].map(|t| median(t));
    println!(
        "{name:<38} {score:>9.1} {rank:>9.1} {batched:>12.0} {per_call:>12.0} {:>7.1} {:>9.1}  {}",
        batched / score,
        per_call / score,
        if compared > 0 { exact.to_string() } else { "-".to_owned() },
    );
    let object = |way: &str, ours: f64| {
        json!({
            "case": format!("{name}: {way}"),
            "ours_us": ours,
            "lightgbm_us": batched,
            "ratio": batched / ours,
            "exact": exact && compared > 0,
            "rows": kernels,
            "distinct_rows": scorer.distinct_kernels(),
            "trees": model.trees,
            "leaves": model.leaves,
            "per_call_us": per_call,
            "per_call_ratio": per_call / ours,
            "scores_compared": compared,
            "nodes_per_tree": mean(|work| work.nodes),
            "leaves_per_tree": mean(|work| work.leaves),
            "lines_per_tree": mean(|work| work.lines),
            "walk": scorer.describe(),
        })
    };
    vec![object("score", score), object("rank", rank)]
}
