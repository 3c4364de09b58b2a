//! What to measure: the kernels of a pool on the problems that they can run, problem by problem.

use std::collections::{HashMap, HashSet};

use ck_select::kernel::Kernel;
use ck_select::pool::Pool;
use ck_select::problem::Problem;
use sha2::{Digest, Sha256};

use crate::problems::{ProblemSet, RequestedProblem};

mod order;

/// A kernel on a problem, as indices into their plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair {
    /// Index of the problem.
    pub problem: u32,
    /// Index of the kernel.
    pub kernel: u32,
}

/// A problem and the kernels to be measured on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedProblem {
    /// The problem as it was requested.
    pub requested: RequestedProblem,
    /// Indices of the kernels that can run it, in pool order.
    pub kernels: Vec<u32>,
}

/// Problems, each with the kernels to measure in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    kernels: Vec<Kernel>,
    problems: Vec<PlannedProblem>,
    left_out: usize,
    left_out_by_order: usize,
}

impl Plan {
    /// Every kernel of the pool (repeated names once) on every problem that it computes.
    pub fn new(pool: &Pool, problems: &ProblemSet) -> Self {
        let mut names = HashSet::new();
        let kernels: Vec<Kernel> =
            pool.iter().filter(|kernel| names.insert(kernel.name.as_str())).cloned().collect();
        let mut left_out = 0;
        let problems = problems.problems.iter().map(|requested| {
            let fits = |&kernel: &u32| requested.for_kernel(&kernels[kernel as usize]).is_some();
            let fitting: Vec<u32> = (0..kernels.len() as u32).filter(fits).collect();
            left_out += kernels.len() - fitting.len();
            PlannedProblem { requested: requested.clone(), kernels: fitting }
        });
        let problems = problems.collect();
        Self { kernels, problems, left_out, left_out_by_order: 0 }
    }

    /// The kernels, in order.
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// The problems, in order.
    pub fn problems(&self) -> &[PlannedProblem] {
        &self.problems
    }

    /// How many problems have a kernel that is to be measured.
    pub fn used_problems(&self) -> usize {
        self.problems.iter().filter(|planned| !planned.kernels.is_empty()).count()
    }

    /// The kernels that are to be measured on at least one problem.
    pub fn used_kernels(&self) -> Vec<&Kernel> {
        let mut used = vec![false; self.kernels.len()];
        self.pairs().for_each(|pair| used[pair.kernel as usize] = true);
        self.kernels.iter().zip(used).filter(|(_, used)| *used).map(|(kernel, _)| kernel).collect()
    }

    /// How many pairs were left out because the kernel computes something else.
    pub const fn left_out(&self) -> usize {
        self.left_out
    }

    /// How many pairs there are.
    pub fn len(&self) -> usize {
        self.problems.iter().map(|problem| problem.kernels.len()).sum()
    }

    /// Whether there is nothing to measure.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The pairs, problem by problem.
    pub fn pairs(&self) -> impl Iterator<Item = Pair> + '_ {
        (0_u32..).zip(&self.problems).flat_map(|(problem, planned)| {
            planned.kernels.iter().map(move |&kernel| Pair { problem, kernel })
        })
    }

    /// The kernel of a pair of this plan.
    pub fn kernel(&self, pair: Pair) -> &Kernel {
        &self.kernels[pair.kernel as usize]
    }

    /// The problem of a pair of this plan, as it was requested.
    pub fn requested(&self, pair: Pair) -> &RequestedProblem {
        &self.problems[pair.problem as usize].requested
    }

    /// The problem of a pair of this plan as its kernel runs it.
    pub fn problem(&self, pair: Pair) -> Problem {
        let requested = self.requested(pair);
        requested.for_kernel(self.kernel(pair)).unwrap_or(requested.problem)
    }

    /// How many pairs were left out because of their ranks in an order.
    pub const fn left_out_by_order(&self) -> usize {
        self.left_out_by_order
    }

    /// This plan with only the pairs that `keep` accepts.
    #[must_use]
    pub fn filtered(&self, mut keep: impl FnMut(Pair) -> bool) -> Self {
        let mut plan = self.clone();
        for (problem, planned) in (0_u32..).zip(&mut plan.problems) {
            planned.kernels.retain(|&kernel| keep(Pair { problem, kernel }));
        }
        plan
    }

    /// Finds pairs by the kernel's name and the problem's number, as the log has them.
    pub fn index(&self) -> impl Fn(&str, u64) -> Option<Pair> {
        let kernels = (0_u32..).zip(&self.kernels).map(|(index, kernel)| (kernel.name.as_str(), index));
        let problems = (0_u32..).zip(&self.problems).map(|(index, planned)| (planned.requested.idx, index));
        let (kernels, problems): (HashMap<_, _>, HashMap<_, _>) = (kernels.collect(), problems.collect());
        move |kernel, idx| Some(Pair { problem: *problems.get(&idx)?, kernel: *kernels.get(kernel)? })
    }

    /// A hash of kernels, problems and pairs, in hexadecimal: equal for plans that measure the same.
    pub fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        let mut add = |text: &str| {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        };
        for kernel in &self.kernels {
            add(&kernel.name);
        }
        for planned in &self.problems {
            let RequestedProblem { idx, problem, stated } = &planned.requested;
            add(&format!("{idx} {problem} {stated:?}"));
            let places: Vec<String> = planned.kernels.iter().map(u32::to_string).collect();
            add(&places.join(","));
        }
        format!("{:x}", hash.finalize())[..32].to_owned()
    }
}

/// A rough estimate of how long pairs take, to balance shards. Only ratios matter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Runs of each kernel.
    pub runs: u32,
}

impl Cost {
    /// Seconds that a pair takes beyond its runs: process, buffers, protocol.
    const FIXED_S: f64 = 0.005;
    /// Operations per second of an average kernel on a large problem.
    const RATE: f64 = 1e14;
    /// Seconds of the shortest launch.
    const LAUNCH_S: f64 = 5e-6;

    /// Estimated seconds.
    pub fn seconds(&self, problem: &Problem) -> f64 {
        Self::FIXED_S + f64::from(self.runs) * (Self::LAUNCH_S + problem.flops() / Self::RATE)
    }
}

#[cfg(test)]
pub(crate) use tests::plan;

#[cfg(test)]
pub(crate) mod tests {
    use std::path::Path;

    use super::*;

    pub(crate) fn plan(pool: &str, problems: &str) -> Plan {
        let pool = Pool::from_bytes("pool", pool.as_bytes()).unwrap();
        let set = ProblemSet::from_bytes(Path::new("problems"), problems.as_bytes(), pool.op());
        Plan::new(&pool, &set.unwrap())
    }

    const POOL: &str = "grouped_conv_forward_bf16_2d_64x64x64_compv3\n\
                        grouped_conv_forward_bf16_3d_64x64x64_compv3\n\
                        grouped_conv_forward_bf16_2d_64x64x64_compv4\n\
                        grouped_conv_forward_bf16_2d_64x64x64_compv3\n";
    const PROBLEMS: &str = "C,K,Hi,Wi,Y,X,Di,Z,pad_d\n64,64,8,8,1,1,1,1,0\n64,64,8,8,1,1,4,3,1\n";

    #[test]
    fn kernels_meet_the_problems_that_they_compute() {
        let plan = plan(POOL, PROBLEMS);
        assert_eq!(plan.kernels().len(), 3, "a repeated name counts once");
        let pairs: Vec<(u32, u32)> = plan.pairs().map(|pair| (pair.problem, pair.kernel)).collect();
        assert_eq!(pairs, [(0, 0), (0, 2), (1, 1)]);
        assert_eq!((plan.len(), plan.left_out()), (3, 3));
        let index = plan.index();
        assert_eq!(index(&plan.kernels()[2].name, 0), Some(Pair { problem: 0, kernel: 2 }));
        assert_eq!(index("other", 0), None);
    }

    #[test]
    fn the_fingerprint_shows_every_difference() {
        let whole = plan(POOL, PROBLEMS);
        assert_eq!(whole.fingerprint(), plan(POOL, PROBLEMS).fingerprint());
        assert_eq!(whole.fingerprint().len(), 32);
        let others = [
            whole.filtered(|pair| pair.kernel != 2),
            plan(&POOL.replace("compv4", "compv5"), PROBLEMS),
            plan(POOL, &PROBLEMS.replace("64,64,8,8,1,1,1", "64,64,8,9,1,1,1")),
        ];
        for other in others {
            assert_ne!(other.fingerprint(), whole.fingerprint());
        }
    }
}
