//! Sureness: how much a choice is expected to lose against the best kernel of its pool.
//!
//! A ranking orders kernels and does not say how far to trust the order. What makes a choice doubtful can be seen
//! when it is made: the next kernels are close behind, or the time of the chosen one consists of what the estimate
//! knows badly. Choices that were judged by measurements teach what these signs are worth:
//!
//! ```text
//! judged choices:  signs ── forest (LightGBM, Poisson) ──> expected loss
//!                  expected loss, first k ── logistic curve a k ──> chance to be within 2 % of the best
//! a new choice:    signs ──> expected loss ──> chance of the first; least k with a chance of 90 and 99 %
//! ```
//!
//! The loss is 1 less the chosen kernel's share of the best speed. The forest has seen no choice by a forest that
//! knew its problem, and the curves no loss whose expectation knew its table: both are learned out of fold. So
//! what is stated is what was observed elsewhere, and `ckselect evaluate` prints both side by side.
//!
//! A model directory has its own in [`Sureness::FILE`]. A universal model on a GPU that it has never seen chooses
//! about as well as the estimate, so that the estimate's, which is part of the library, is valid for it there.
//!
//! None of them is valid on an architecture or for a type without judged choices: what signs are worth on CDNA and on
//! Hopper, in 16 bits and in 8, differs by a factor of two (`docs/what-did-not-work.md`). So whoever takes a [`Sureness`]
//! to judge by names the problem and the architecture, and gets none where nothing was judged.

mod file;
mod log_time;
mod loss_forest;
mod signs;

use std::sync::{Arc, LazyLock};

pub use file::{Chance, JudgedOn, SurenessFile, TimeFit};
pub use log_time::LogTime;
use loss_forest::LossForest;
pub use loss_forest::{MOST_LEAVES, MOST_TREES};
pub use signs::{Signs, column_names};

use crate::estimate::{EstimateScratch, EstimatedKernels, sureness_of};
use crate::problem::Problem;
use crate::vocab::{Arch, Dtype, Op};

/// A choice is as good as the best within this loss.
pub const WITHIN: f64 = 0.02;

/// How sure choices are, learned from judged ones.
#[derive(Debug, Clone)]
pub struct Sureness {
    /// The forest of expected losses, over the columns that [`column_names`] names.
    losses: LossForest,
    /// Chances, by ascending number of kernels.
    chances: Vec<Chance>,
    /// Logarithm of time per unit of the score, for scores that have no unit of their own.
    log_time: Option<f64>,
    times: Option<TimeFit>,
    choices: usize,
    /// Operation, type and architecture of judged choices; empty for all that the model answers for.
    judged_on: Box<[(Op, Dtype, Arch)]>,
}

/// How sure a choice is. Two digits of such figures mean something, so that single precision is enough, and the
/// decision cache keeps them in two words.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sure {
    /// The expected loss of the first kernel, as a share of the best one's speed.
    pub expected_loss: f32,
    /// The chance that the first kernel is within [`WITHIN`] of the best.
    pub chance: f32,
    /// How many of the first kernels have to be measured for the fastest of them to be within [`WITHIN`] of the
    /// best with a chance of 90 % and of 99 %.
    pub sure_within: [u32; 2],
}

impl Sure {
    /// The expected loss of a kernel that is so many times slower than the first, as a share of the best one's
    /// speed.
    pub fn loss(&self, slower: f64) -> f64 {
        1.0 - (1.0 - f64::from(self.expected_loss)) / slower
    }
}

/// Logarithms of [`WITHIN`] and of the least loss that is expected, one millionth.
const LOG_WITHIN: f64 = -3.912_023_005_428_146;
const LEAST_LOG_LOSS: f64 = -13.815_510_557_964_274;

/// Logarithms of the odds of a chance of 90 and of 99 %, those of [`Sure::sure_within`]: 9 and 99 to 1.
const LOG_ODDS: [f64; 2] = [2.197_224_577_336_219_6, 4.595_119_850_134_589];

/// How sure a place of the estimate's ranking is, among those from there on; `None` if there is no such place, or if no
/// choice of the estimate was judged for the problem's type on the architecture.
pub fn judge_estimated(
    problem: &Problem,
    arch: Option<Arch>,
    kernels: &EstimatedKernels,
    ranked: &EstimateScratch,
    rank: usize,
) -> Option<Sure> {
    let learned = Sureness::for_estimate(problem, arch)?;
    let places = ranked.ranking().get(rank..)?;
    let (first, next) = places.split_first()?;
    let behind = next.iter().map(|one| LogTime::OfTime.behind(first.score, one.score));
    let (load, shape) = (ranked.load(first.split_k)?, kernels.shape(first.index)?);
    let signs = Signs::new(places.len(), behind).with_estimate(kernels.estimator(), load, shape);
    Some(learned.judge(&signs))
}

impl Sureness {
    /// The name of the sureness file in a model directory.
    pub const FILE: &str = "sureness.json";

    /// Reads the text of a file for an operation.
    pub fn from_json(op: Op, text: &[u8]) -> Result<Self, String> {
        SurenessFile::parse(text)?.read(op)
    }

    /// The estimate's sureness for a problem, learned from choices on several GPUs (`docs/sureness.md`); `None` for
    /// types and architectures without such choices.
    pub fn for_estimate(problem: &Problem, arch: Option<Arch>) -> Option<&'static Arc<Self>> {
        Self::estimate_anywhere(problem.op()).filter(|learned| learned.is_valid_for(problem, arch))
    }

    /// How far the estimate's times for an operation are from measured ones.
    pub fn times_of_estimate(op: Op) -> Option<TimeFit> {
        Self::estimate_anywhere(op)?.times
    }

    /// Whether choices for problems of such an operation and type were judged on an architecture.
    pub(crate) fn is_valid_for(&self, problem: &Problem, arch: Option<Arch>) -> bool {
        let (op, dtype) = (problem.op(), problem.dtype());
        let is_it = |judged: &(Op, Dtype, Arch)| (judged.0, judged.1, Some(judged.2)) == (op, dtype, arch);
        self.judged_on.is_empty() || self.judged_on.iter().any(is_it)
    }

    /// The estimate's sureness for an operation, whatever the architecture.
    pub(crate) fn estimate_anywhere(op: Op) -> Option<&'static Arc<Self>> {
        static OWN: LazyLock<[Option<Arc<Sureness>>; Op::ALL.len()]> = LazyLock::new(|| {
            std::array::from_fn(|rank| {
                let op = Op::ALL[rank];
                let own = Sureness::from_json(op, sureness_of(op)?).ok()?;
                // The estimate's times are the sums of its terms.
                Some(Arc::new(Sureness { times: own.times.map(TimeFit::uncorrected), ..own }))
            })
        });
        OWN.get(op as usize)?.as_ref()
    }

    /// Logarithm of time per unit of the score of the model that it belongs to.
    pub const fn log_time(&self) -> Option<f64> {
        self.log_time
    }

    /// Number of judged choices that it was learned from.
    pub const fn choices(&self) -> usize {
        self.choices
    }

    /// How far expected times of chosen kernels are from measured ones; `None` if no judged choice had a measured
    /// time.
    pub const fn times(&self) -> Option<TimeFit> {
        self.times
    }

    /// How sure the choice with these signs is.
    #[inline]
    pub fn judge(&self, signs: &Signs) -> Sure {
        let log_loss = self.losses.raw_score(signs.columns()).clamp(LEAST_LOG_LOSS, 0.0);
        let expected_loss = log_loss.exp();
        let log_loss = log_loss - LOG_WITHIN;
        let kernels = signs.kernels();
        let mut curves = self.chances.as_slice();
        let sure_within = LOG_ODDS.map(|log_odds| {
            // Curves are fitted one by one, and more kernels do no harm: the first curve that is high enough counts.
            while let [curve, others @ ..] = curves
                && curve.log_odds(log_loss) < log_odds
            {
                curves = others;
            }
            curves.first().map_or(kernels, |curve| kernels.min(curve.first as u32))
        });
        let chance =
            self.chances.first().map_or(f64::NAN, |curve| 1.0 / (1.0 + (-curve.log_odds(log_loss)).exp()));
        Sure { expected_loss: expected_loss as f32, chance: chance as f32, sure_within }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::Model;
    use crate::estimate::Device;
    use crate::pool::Pool;
    use crate::problem::{ConvProblem, Problem, ProblemDefaults};
    use crate::ranking::{RankScratch, Ranker};
    use crate::vocab::Arch;

    fn file(chances: &str) -> Result<Sureness, String> {
        let names = column_names(Op::Conv).join(" ");
        let infos = vec!["[0:1]"; column_names(Op::Conv).len()].join(" ");
        let last = column_names(Op::Conv).len() - 1;
        let tree = "tree\\nversion=v4\\nnum_class=1\\nnum_tree_per_iteration=1\\nlabel_index=0\\nmax_feature_idx={last}\\n\
                    objective=poisson\\nfeature_names={names}\\nfeature_infos={infos}\\n\\nTree=0\\nnum_leaves=2\\nnum_cat=0\\n\
                    split_feature=0\\nsplit_gain=1\\nthreshold=0.1\\ndecision_type=2\\nleft_child=-1\\nright_child=-2\\n\
                    leaf_value=-3 -5\\ninternal_value=0\\nis_linear=0\\nshrinkage=1\\n\\nend of trees\\n";
        let tree =
            tree.replace("{names}", &names).replace("{infos}", &infos).replace("{last}", &last.to_string());
        let text = format!(
            r#"{{"version":1,"choices":100,"mean_loss":0.05,"chances":[{chances}],"loss":"{tree}"}}"#
        );
        Sureness::from_json(Op::Conv, text.as_bytes())
    }

    #[test]
    fn a_close_kernel_is_a_reason_to_measure() {
        let curve = |first: usize, at| format!(r#"{{"first":{first},"at_within":{at},"slope":-2.0}}"#);
        let sureness = file(&[curve(1, 0.0), curve(2, 3.0), curve(5, 2.0)].join(",")).unwrap();
        let [close, far] = [0.01, 0.5].map(|behind| sureness.judge(&Signs::new(4, std::iter::once(behind))));
        assert_eq!(
            (close.expected_loss, far.expected_loss),
            ((-3.0_f64).exp() as f32, (-5.0_f64).exp() as f32)
        );
        assert!(close.chance < 0.2 && far.chance > 0.8, "{close:?} {far:?}");
        // Five kernels are never worse than two; where no curve reaches a level, all have to be measured.
        assert_eq!((close.sure_within, far.sure_within), ([4, 4], [2, 2]));
    }

    #[test]
    fn a_wrong_file_is_refused() {
        assert_eq!(
            Sureness::from_json(
                Op::Conv,
                br#"{"version":2,"choices":1,"mean_loss":0,"chances":[],"loss":""}"#
            )
            .err(),
            Some("version 2, expected 1".to_owned())
        );
        let twice = r#"{"first":2,"at_within":0,"slope":0},{"first":2,"at_within":0,"slope":0}"#;
        assert_eq!(file(twice).err(), Some("chances: expected ascending numbers of kernels".to_owned()));
        let unknown = Sureness::from_json(Op::Conv, br#"{"version":1,"surely":1}"#).err().unwrap();
        assert!(unknown.contains("unknown field `surely`"), "{unknown}");
    }

    /// A problem of an operation and a type.
    fn problem(op: Op, dtype: Dtype) -> Problem {
        let text = match op {
            Op::Conv => "N=8,C=64,K=64,Hi=28,Wi=28,Y=3,X=3",
            Op::Gemm => "M=64,N=64,K=64",
            Op::Fmha => "batch=1,seqlen_q=128,seqlen_k=128,nhead_q=8,hdim_q=128",
            Op::Moe => "stage=1,tokens=64,experts=8,topk=2,n=512,k=256",
        };
        Problem::parse(op, text, &ProblemDefaults { dtype, ..ProblemDefaults::new(op) }).unwrap()
    }

    /// The estimate stated a loss on every GPU and for every type, which on a GPU of another kind than the judged ones, and
    /// for mixtures of experts in fp8, was twice the observed one.
    #[test]
    fn nothing_is_said_where_no_choice_was_judged() {
        let is_known =
            |op, dtype, arch: &str| Sureness::for_estimate(&problem(op, dtype), arch.parse().ok()).is_some();
        let on = |op, dtype| ["gfx942", "gfx950", "sm_80", "sm_90"].map(|arch| is_known(op, dtype, arch));
        assert_eq!(on(Op::Conv, Dtype::Bf16), [false, true, false, true]);
        for (op, dtype) in [(Op::Gemm, Dtype::Fp8), (Op::Fmha, Dtype::Fp16), (Op::Moe, Dtype::Bf16)] {
            assert_eq!(on(op, dtype), [false, false, false, true], "{op}");
            assert!(Sureness::for_estimate(&problem(op, dtype), None).is_none());
        }
        for (op, dtype) in [(Op::Conv, Dtype::Fp16), (Op::Fmha, Dtype::Bf16), (Op::Moe, Dtype::Fp8)] {
            assert_eq!(on(op, dtype), [false; 4], "{op}");
        }
        // Times have their own spread, and each file of an operation can be read.
        assert!(
            Op::ALL.iter().all(|&op| Sureness::times_of_estimate(op).is_some() == sureness_of(op).is_some())
        );
        // A model of one architecture and one type records neither, and answers for no other.
        assert!(file("").unwrap().is_valid_for(&problem(Op::Conv, Dtype::Fp16), None));
    }

    /// The estimate says of each operation how sure it is, of some problems more than of others.
    #[test]
    fn the_estimate_says_how_sure_it_is() {
        let configs = format!("{}/../../configs/forward_bf16.txt", env!("CARGO_MANIFEST_DIR"));
        let pool = Arc::new(Pool::read(configs).unwrap());
        let arch: Arch = "gfx950".parse().unwrap();
        let model = Model::from_estimate(Op::Conv, Device::for_arch(arch).unwrap()).unwrap().for_arch(arch);
        let ranker = Ranker::new(Arc::new(model), Arc::clone(&pool)).unwrap();
        let mut scratch = RankScratch::default();
        let mut losses = [1, 8, 64].map(|n| {
            let problem = ConvProblem { n, c: 512, k: 512, ..ConvProblem::new_2d([28, 28], [3, 3]) };
            let problem: Problem = problem.padded([1, 1]).into();
            let problem = problem.checked().unwrap();
            let ranking = ranker.ranking(problem, None, Ranker::LOOKED_AT, &mut scratch).unwrap();
            let Sure { expected_loss, chance, sure_within: [few, more] } = ranking.sure().unwrap();
            assert!((0.0..1.0).contains(&chance) && 1 <= few && few <= more && more as usize <= pool.len());
            expected_loss
        });
        losses.sort_by(f32::total_cmp);
        assert!(0.0 < losses[0] && losses[0] < losses[2] && losses[2] < 0.3, "{losses:?}");
    }
}
