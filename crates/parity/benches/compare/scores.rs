//! Scores and rankings of whole pools.
//!
//! A round goes through the problems with each way in turn, so that all meet the same disturbances. LightGBM
//! gets a ready matrix in one call, on one thread; *one call a candidate* is a call for each kernel, as
//! upstream's header does. Ours: *scores* begins with feature values of the problem, *ranking* and *best
//! kernel* with the problem itself: features, scores, order.
//!
//! Where a call of LightGBM takes long, a round gives it only a share of the problems, another one each time:
//! after all rounds it has seen every problem, the long cases each once. Calls a candidate are timed on the
//! first problem of a round's share. Medians are over all timings of a way.

use std::sync::Arc;

use ck_select::features::{KernelTerms, ProblemTerms};
use ck_select::forest::Forest;
use ck_select::kernel::Kernel;
use ck_select::pool::Pool;
use ck_select::problem::Problem;
use ck_select::ranking::{RankScratch, Ranker};
use ck_select::scoring::{CallValues, PoolFeatures, PoolScorer, Scratch};
use ck_select_parity::{Booster, Output};
use ck_select_testing::Random;
use serde_json::json;

use crate::Options;
use crate::machine::Setting;
use crate::models::{CONV_30, CONV_310, CONV_SMALL, FMHA, GEMM, GEMM_500, GFX950, ModelSource, SM90};
use crate::report::{Line, Report, median, time};

/// Different problems of each case.
const PROBLEMS: usize = 210;

struct Case {
    name: &'static str,
    source: ModelSource,
    kernels: usize,
    /// Problems of a round for LightGBM.
    share: usize,
}

const CASES: [Case; 10] = [
    Case { name: "conv, 1 kernel", source: ModelSource::Trained(&CONV_30), kernels: 1, share: PROBLEMS },
    Case { name: "conv, 30 kernels", source: ModelSource::Trained(&CONV_30), kernels: 30, share: 70 },
    Case {
        name: "conv, 30 kernels, small forest",
        source: ModelSource::Trained(&CONV_SMALL),
        kernels: 30,
        share: PROBLEMS,
    },
    Case {
        name: "shipped model, gfx950",
        source: ModelSource::Shipped(&GFX950),
        kernels: 30,
        share: PROBLEMS,
    },
    Case { name: "shipped model, sm_90", source: ModelSource::Shipped(&SM90), kernels: 30, share: PROBLEMS },
    Case { name: "conv, 310 kernels", source: ModelSource::Trained(&CONV_310), kernels: 310, share: 14 },
    Case { name: "gemm, 30 kernels", source: ModelSource::Trained(&GEMM), kernels: 30, share: 70 },
    Case { name: "gemm, 4608 kernels", source: ModelSource::Trained(&GEMM), kernels: 4608, share: 7 },
    Case {
        name: "gemm, 4608 kernels, smaller forest",
        source: ModelSource::Trained(&GEMM_500),
        kernels: 4608,
        share: 7,
    },
    Case { name: "attention, 30 kernels", source: ModelSource::Trained(&FMHA), kernels: 30, share: PROBLEMS },
];

pub(crate) fn run(options: &Options, report: &mut Report) {
    for case in CASES {
        if options.wants(case.name) {
            Inputs::new(&case).compare(&case, options, report);
        }
    }
}

/// All that a case's ways need, made before anything is timed.
struct Inputs {
    setting: Setting,
    booster: Booster,
    forest: Arc<Forest>,
    terms: Vec<KernelTerms>,
    features: PoolFeatures,
    scorer: PoolScorer,
    ranker: Ranker,
    problems: Vec<Problem>,
}

/// Microseconds of each way.
#[derive(Default)]
struct Times {
    scores: Vec<f64>,
    ranking: Vec<f64>,
    best: Vec<f64>,
    batched: Vec<f64>,
    single: Vec<f64>,
}

impl Inputs {
    fn new(case: &Case) -> Inputs {
        let (setting, model, text) = case.source.load();
        let booster = Booster::from_text(&text).expect("LightGBM reads its own model");
        let forest = Arc::clone(model.ranking_forest().expect("a forest"));
        let pool: Vec<Kernel> = setting.pool[..case.kernels].to_vec();
        let of = |kernel: &Kernel| setting.extractor.kernel_terms(&kernel.kind).expect("a described kernel");
        let terms: Vec<KernelTerms> = pool.iter().map(of).collect();
        let features = PoolFeatures::new(&setting.extractor, &terms).expect("kernels of one operation");
        let scorer = PoolScorer::compile(&forest, &features.table()).expect("a pool that fits");
        let pool = Arc::new(Pool::new(pool).expect("a pool"));
        let ranker = Ranker::new(model, pool).expect("a pool that the model describes");
        let mut random = Random(77);
        let problems = (0..PROBLEMS).map(|_| (setting.problem)(&mut random)).collect();
        Inputs { setting, booster, forest, terms, features, scorer, ranker, problems }
    }

    fn terms(&self, problem: &Problem) -> ProblemTerms {
        self.setting.extractor.problem_terms(problem).expect("a described problem")
    }

    fn values(&self, problem: &Problem) -> CallValues {
        let mut values = CallValues::default();
        self.features.fill(&self.terms(problem), &mut values);
        values
    }

    fn matrix(&self, problem: &Problem) -> Vec<f64> {
        let width = self.forest.num_features();
        let terms = self.terms(problem);
        let mut rows = vec![0.0; self.terms.len() * width];
        for (row, kernel) in rows.chunks_exact_mut(width).zip(&self.terms) {
            self.setting.extractor.fill(&terms, kernel, row);
        }
        rows
    }

    fn compare(&self, case: &Case, options: &Options, report: &mut Report) {
        let values: Vec<CallValues> = self.problems.iter().map(|problem| self.values(problem)).collect();
        let (mut scratch, mut rank_scratch) = (Scratch::new(), RankScratch::default());
        let mut rank = |problem: &Problem, count| {
            self.ranker.ranking(problem.checked()?, None, count, &mut rank_scratch).map(drop)
        };
        let mut scores = vec![0.0; self.terms.len()];
        let mut times = Times::default();
        let mut exact = true;
        let mut next = 0;
        for _ in 0..options.rounds() {
            for values in &values {
                time(&mut times.scores, || {
                    self.scorer.score(&values.uniform, &values.pair, &mut scratch, &mut scores)
                })
                .expect("values that fit");
            }
            for problem in &self.problems {
                time(&mut times.ranking, || rank(problem, usize::MAX)).expect("a ranking");
            }
            for problem in &self.problems {
                time(&mut times.best, || rank(problem, 1)).expect("a best kernel");
            }
            for number in 0..case.share {
                exact &= self.lightgbm(next, number == 0, &values[next], &mut times);
                next = (next + 1) % self.problems.len();
            }
        }
        self.add(case, &mut times, exact, report);
    }

    /// Asks LightGBM about one problem, and compares: scores, ranking and best kernel.
    fn lightgbm(&self, number: usize, single: bool, values: &CallValues, times: &mut Times) -> bool {
        let rows = self.matrix(&self.problems[number]);
        let theirs =
            time(&mut times.batched, || self.booster.predict(&rows, Output::RawScore)).expect("scores");
        if single {
            let width = self.forest.num_features();
            time(&mut times.single, || {
                for row in rows.chunks_exact(width) {
                    std::hint::black_box(self.booster.predict(row, Output::RawScore).expect("a score"));
                }
            });
        }
        let mut ours = vec![0.0; theirs.len()];
        self.scorer
            .score(&values.uniform, &values.pair, &mut Scratch::new(), &mut ours)
            .expect("values that fit");
        let equal = theirs.iter().zip(&ours).all(|(a, b)| a.to_bits() == b.to_bits());
        let ranking = self.ranker.rank(&self.problems[number]).expect("a ranking");
        let (checked, mut scratch) = (self.problems[number].checked(), RankScratch::default());
        let best = self.ranker.ranking(checked.expect("a valid problem"), None, 1, &mut scratch);
        let best = best.expect("a best kernel").places()[0];
        let model = self.ranker.model();
        let of_theirs = |index: usize| model.score(model.spec().rank_by, theirs[index]).to_bits();
        let ranked = ranking.iter().all(|place| place.score.to_bits() == of_theirs(place.index));
        equal
            && ranked
            && (best.index, best.score.to_bits()) == (ranking[0].index, ranking[0].score.to_bits())
    }

    fn add(&self, case: &Case, times: &mut Times, exact: bool, report: &mut Report) {
        let trees = self.forest.trees().len();
        let leaves = self.forest.trees().iter().map(|tree| tree.leaf_counts().len()).max().unwrap_or(0);
        let [batched, single] = [&mut times.batched, &mut times.single].map(|times| median(times));
        let mut add = |way: &str, ours: &mut [f64], theirs: f64| {
            let mut line = Line {
                case: format!("{}: {way}", case.name),
                ours_us: median(ours),
                lightgbm_us: Some(theirs),
                exact: Some(exact),
                rows: case.kernels,
                trees,
                leaves,
                more: Vec::new(),
            };
            if way == "scores" {
                line.more = vec![
                    ("distinct_rows", json!(self.scorer.distinct_kernels())),
                    ("walk", json!(self.scorer.describe())),
                ];
            }
            report.add(&line);
        };
        add("scores", &mut times.scores, batched);
        add("ranking", &mut times.ranking, batched);
        add("best kernel", &mut times.best, batched);
        add("ranking, LightGBM one call a candidate", &mut times.ranking, single);
    }
}
