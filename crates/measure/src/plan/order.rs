//! Orders in which the kernels of a problem are measured, most promising first.

use std::sync::Arc;

use ck_select::directory::Model;
use ck_select::estimate::Estimator;
use ck_select::pool::Pool;
use ck_select::problem::Problem;
use ck_select::ranking::{RankError, RankScratch, Ranker, Ranking};
use ck_select_measurements::outcome::{FailureClass, Outcome};

use super::{Pair, Plan};
use crate::error::MeasureError;
use crate::runner::OutcomeSource;

/// How many kernels of a problem [`Plan::within`] keeps in any case, if there are four times as many.
const AT_LEAST: usize = 7;

impl Plan {
    /// This plan with the kernels of each problem ordered by the estimate, fastest first, so that the cut-off has a
    /// good time to compare with from the start; kernels without an estimate come last.
    #[must_use]
    pub fn by_estimate(&self, estimator: &Estimator) -> Self {
        self.within(estimator, f64::INFINITY)
    }

    /// This plan ordered by the estimate, without the kernels whose estimate is more than `factor` times the fastest
    /// one. Because the estimate errs, at least seven kernels of each problem stay, or a quarter of fewer than 28.
    #[must_use]
    pub fn within(&self, estimator: &Estimator, factor: f64) -> Self {
        let mut plan = self.clone();
        let shapes: Vec<_> = self.kernels.iter().map(|kernel| estimator.shape(&kernel.kind).ok()).collect();
        for (problem, planned) in (0..).zip(&mut plan.problems) {
            let time = |kernel: u32| -> f64 {
                let problem = self.problem(Pair { problem, kernel });
                let time = |shape| estimator.time(&estimator.load(&problem), shape);
                shapes[kernel as usize].as_ref().map_or(f64::INFINITY, time)
            };
            let mut times: Vec<(f64, u32)> =
                planned.kernels.iter().map(|&kernel| (time(kernel), kernel)).collect();
            // A stable sort: equal times keep the order of the pool.
            times.sort_by(|a, b| a.0.total_cmp(&b.0));
            let most = times.first().map_or(f64::INFINITY, |best| factor * best.0);
            let before = times.len();
            let at_least = AT_LEAST.min(before / 4);
            let mut position = 0;
            times.retain(|(time, _)| {
                position += 1;
                position <= at_least || *time <= most || time.is_infinite()
            });
            plan.left_out_by_order += before - times.len();
            planned.kernels = times.into_iter().map(|(_, kernel)| kernel).collect();
        }
        plan
    }

    /// This plan with the kernels of each problem in the order of a model, best first. Kernels that the model does
    /// not rank come last; a problem with no other kernels is an error.
    ///
    /// A problem that leaves something open, such as its type, is a different problem for some kernels, whose scores
    /// cannot be compared. Kernels of such rankings take turns, rank by rank.
    pub fn by_model(&self, model: Model) -> Result<Self, MeasureError> {
        self.by_model_up_to(model, |_| None)
    }

    /// The plan by a model, without the kernels of each ranking that are not expected to matter: it keeps as many
    /// as have to be measured to be within 2 % of the best with a chance of 90 %, and all where that is unknown.
    pub fn until_sure(&self, model: Model) -> Result<Self, MeasureError> {
        self.by_model_up_to(model, |ranking| Some(ranking.sure()?.sure_within[0] as usize))
    }

    /// The plan by a model with the first `count` kernels of each ranking, or with all of them.
    fn by_model_up_to(
        &self,
        model: Model,
        count: impl Fn(&Ranking<'_, '_>) -> Option<usize>,
    ) -> Result<Self, MeasureError> {
        let unusable = |error: &dyn std::fmt::Display| MeasureError::new(error.to_string());
        let pool = Pool::new(self.kernels.clone()).map_err(|error| unusable(&error))?;
        let ranker = Ranker::new(Arc::new(model), Arc::new(pool)).map_err(|error| unusable(&error))?;
        let (mut plan, mut scratch) = (self.clone(), RankScratch::default());
        // Each kernel's rank, and the ranking that it is in.
        let mut places = vec![usize::MAX; self.kernels.len()];
        let mut ranking_of = vec![0; self.kernels.len()];
        for (problem, planned) in (0..).zip(&mut plan.problems) {
            let problems = self.problems_of(problem, &planned.kernels, &mut ranking_of);
            places.fill(usize::MAX);
            let (mut refused, mut counts) = (None, vec![None; problems.len()]);
            for (number, problem) in problems.iter().enumerate() {
                let ranking = problem.checked().map_err(RankError::from);
                let ranking =
                    ranking.and_then(|problem| ranker.ranking(problem, None, usize::MAX, &mut scratch));
                let ranking = match ranking {
                    Ok(ranking) => ranking,
                    Err(error) => {
                        refused = Some(error.to_string());
                        continue;
                    }
                };
                counts[number] = count(&ranking);
                let ranked = ranking.places().iter().map(|ranked| ranked.index);
                let of_it = ranked.filter(|&kernel| ranking_of[kernel] == number);
                of_it.enumerate().for_each(|(rank, kernel)| places[kernel] = rank);
            }
            // A stable sort: equal ranks keep the order of the pool.
            planned.kernels.sort_by_key(|&kernel| places[kernel as usize]);
            if planned.kernels.first().is_some_and(|&kernel| places[kernel as usize] == usize::MAX) {
                let why = refused.unwrap_or_else(|| "the model ranks none of its kernels".to_owned());
                return Err(MeasureError::new(format!("{}: {why}", planned.requested.problem)));
            }
            let before = planned.kernels.len();
            planned.kernels.retain(|&kernel| {
                let kernel = kernel as usize;
                counts[ranking_of[kernel]].is_none_or(|count| places[kernel] < count)
            });
            plan.left_out_by_order += before - planned.kernels.len();
        }
        Ok(plan)
    }

    /// The problems that a planned one is for its kernels; `ranking_of` gets the index of each kernel's.
    fn problems_of(&self, problem: u32, kernels: &[u32], ranking_of: &mut [usize]) -> Vec<Problem> {
        let mut problems: Vec<Problem> = Vec::new();
        for &kernel in kernels {
            let problem = self.problem(Pair { problem, kernel });
            let known = problems.iter().position(|known| *known == problem);
            ranking_of[kernel as usize] = known.unwrap_or(problems.len());
            problems.extend(known.is_none().then_some(problem));
        }
        problems
    }

    /// This plan with only the first `count` kernels of each problem.
    #[must_use]
    pub fn first(mut self, count: usize) -> Self {
        for planned in &mut self.problems {
            self.left_out_by_order += planned.kernels.len().saturating_sub(count);
            planned.kernels.truncate(count);
        }
        self
    }

    /// The share of the speed of `whole` that this part of a plan keeps, by answers to both: the speed of the part's
    /// fastest kernel relative to the fastest of all, as the mean over problems, and the number of problems. The
    /// share is 0 where all kept kernels fail. Problems without a time, and those of which not everything is
    /// recorded, do not count.
    pub fn kept_speed(&self, whole: &Self, answers: &dyn OutcomeSource) -> Option<(f64, usize)> {
        let outcomes = |plan: &Self, rank: usize| -> Option<Vec<Outcome>> {
            let planned = plan.problems.get(rank)?;
            let outcome = |&kernel: &u32| {
                let kernel = &plan.kernels[kernel as usize];
                Some(answers.answer(kernel, &planned.requested.for_kernel(kernel)?))
            };
            planned.kernels.iter().map(outcome).collect()
        };
        let fastest =
            |outcomes: &[Outcome]| outcomes.iter().filter_map(Outcome::latency_ms).min_by(f64::total_cmp);
        let is_missing = |outcome: &Outcome| outcome.failure() == Some(FailureClass::NotRecorded);
        let share = |rank: usize| {
            let all = outcomes(whole, rank).filter(|all| !all.iter().any(is_missing))?;
            let best = fastest(&all)?;
            Some(fastest(&outcomes(self, rank)?).map_or(0.0, |kept| best / kept))
        };
        let shares: Vec<f64> = (0..whole.problems.len()).filter_map(share).collect();
        let mean = shares.iter().sum::<f64>() / shares.len() as f64;
        (!shares.is_empty()).then_some((mean, shares.len()))
    }
}

#[cfg(test)]
mod tests {
    use ck_select::directory::Target;
    use ck_select::estimate::Device;

    use super::super::Pair;
    use super::super::tests::plan;
    use super::*;
    use crate::runner::RecordedOutcomes;
    use ck_select_measurements::outcome::Measurement;

    #[test]
    fn the_estimate_orders_kernels_and_leaves_out_slow_ones() {
        let names = ["16x64x64_compv3", "128x128x64_compv4", "64x64x64_compv3"];
        let names = names.map(|rest| format!("grouped_conv_forward_bf16_2d_{rest}")).join("\n");
        let plan = plan(&names, "C,K,Hi,Wi,Y,X,N\n256,256,56,56,3,3,64\n64,64,7,7,1,1,1\n");
        let estimator = Estimator::new(Device::for_arch("gfx950".parse().unwrap()).unwrap());
        let time = |pair: Pair| {
            let shape = estimator.shape(&plan.kernel(pair).kind).unwrap();
            estimator.time(&estimator.load(&plan.problem(pair)), &shape)
        };
        let ordered = plan.by_estimate(&estimator);
        assert_eq!((ordered.len(), ordered.left_out_by_order()), (6, 0));
        let times: Vec<f64> = ordered.pairs().map(time).collect();
        assert!(times[..3].is_sorted() && times[3..].is_sorted(), "{times:?}");
        let factor = times[1] / times[0] * 1.001;
        let near = plan.within(&estimator, factor);
        let kept: Vec<Pair> = near.pairs().filter(|pair| pair.problem == 0).collect();
        assert_eq!(kept, ordered.pairs().take(2).collect::<Vec<_>>());
        assert_eq!(near.len() + near.left_out_by_order(), 6);
        // A quarter of three is none, and the fastest is always kept; of 40 kernels, seven are.
        let by_default = |plan: &Plan| plan.within(&estimator, 1.0).pairs().count();
        assert_eq!(by_default(&plan), 2);
        let many = |depths: &[u32]| {
            let mut names = Vec::new();
            for position in 0..20 * depths.len() {
                let (m, n, k) = (16 << (position % 4), 16 << (position / 4 % 5), depths[position / 20]);
                names.push(format!("grouped_conv_forward_bf16_2d_{m}x{n}x{k}_compv3"));
            }
            super::super::tests::plan(&names.join("\n"), "C,K,Hi,Wi,Y,X,N\n256,256,56,56,3,3,64\n")
        };
        assert_eq!(by_default(&many(&[32])), 5);
        assert_eq!(by_default(&many(&[32, 64])), 7);

        // By the pool's order the first kernel is the fastest, by the estimate's it is left out or not.
        let mut answers = RecordedOutcomes::new("records");
        for (index, pair) in plan.pairs().enumerate() {
            let outcome = Outcome::Measured(Measurement::new((index % 3 + 1) as f64, 1.0));
            answers.insert(&plan.kernel(pair).name, &plan.problem(pair), outcome);
        }
        let first = ordered.clone().first(1);
        let places: Vec<f64> = first
            .pairs()
            .map(|pair| names.split('\n').position(|name| name == plan.kernel(pair).name).unwrap() as f64)
            .collect();
        let expected = places.iter().map(|rank| 1.0 / (rank + 1.0)).sum::<f64>() / 2.0;
        assert_eq!(first.kept_speed(&plan, &answers), Some((expected, 2)));
        assert_eq!(ordered.kept_speed(&plan, &answers), Some((1.0, 2)));
        assert_eq!(first.kept_speed(&plan, &RecordedOutcomes::new("nothing")), None);
        let failed = plan.pairs().find(|pair| pair.problem == 1).unwrap();
        let outcome = Outcome::failed(FailureClass::NotRecorded, "");
        answers.insert(&plan.kernel(failed).name, &plan.problem(failed), outcome);
        assert_eq!(ordered.kept_speed(&plan, &answers), Some((1.0, 1)));
    }

    /// A universal model whose forest prefers tiles of 64 rows to what the estimate says.
    fn model(columns: &str) -> Model {
        let spec = format!(
            r#"{{"op_type":"grouped_conv","arch":"gfx950","feature_names":["est_over_least","est_tile_m"],
                 "ck_select":{{"prior":10,"rank_by":"relative"}}{columns}}}"#
        );
        let forest = "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\n\
            max_feature_idx=1\nobjective=none\nfeature_names=est_over_least est_tile_m\nfeature_infos=none \
            none\n\n\
            Tree=0\nnum_leaves=3\nnum_cat=0\nsplit_feature=1 1\nsplit_gain=1 1\nthreshold=63 65\n\
            decision_type=2 2\nleft_child=-1 -2\nright_child=1 -3\nleaf_value=0 100 0\n\
            leaf_weight=1 1 1\nleaf_count=1 1 1\ninternal_value=0 0\ninternal_weight=0 0\n\
            internal_count=3 2\nis_linear=0\nshrinkage=1\n\n\nend of trees\n";
        Model::from_bytes("mine", spec.as_bytes(), &[(Target::Relative, forest.as_bytes())]).unwrap()
    }

    fn tiles(plan: &Plan) -> Vec<&str> {
        let tile = |pair: Pair| {
            let name = &plan.kernel(pair).name;
            name.split("2d_").nth(1).and_then(|rest| rest.split('_').next()).unwrap_or(name)
        };
        plan.pairs().map(tile).collect()
    }

    #[test]
    fn a_model_orders_kernels_and_the_first_are_kept() {
        let names = ["bf16_2d_128x128x64_compv4", "bf16_2d_64x64x64_compv3", "bf16_2d_16x64x64_compv3"];
        let names = names.map(|rest| format!("grouped_conv_forward_{rest}")).join("\n");
        let problems = "C,K,Hi,Wi,Y,X,N\n256,256,56,56,3,3,64\n64,64,7,7,1,1,1\n";
        let whole = plan(&names, problems);
        let estimator = Estimator::new(Device::for_arch("gfx950".parse().unwrap()).unwrap());
        let by_estimate = whole.by_estimate(&estimator);
        let ordered = whole.by_model(model("")).unwrap();
        assert_eq!(by_estimate.by_model(model("")).unwrap(), ordered);
        // The forest's favourite first, then as the estimate has them.
        for problem in 0..2 {
            let others = tiles(&by_estimate)[3 * problem..][..3].to_vec();
            let expected =
                [vec!["64x64x64"], others.into_iter().filter(|tile| *tile != "64x64x64").collect()];
            assert_eq!(tiles(&ordered)[3 * problem..][..3], expected.concat());
        }
        let first = ordered.first(1);
        assert_eq!((tiles(&first), first.left_out_by_order()), (vec!["64x64x64"; 2], 4));

        // Kernels of another type are problems of another type; the rankings take turns.
        let both = format!("{names}\n{}", names.replace("bf16", "fp16"));
        let ordered = plan(&both, problems).by_model(model("")).unwrap();
        assert_eq!(tiles(&ordered)[..2], ["64x64x64"; 2]);
        // Of a model for one type, the other's kernels come last.
        let ordered = plan(&both, problems).by_model(model(r#","dtype":"fp16""#)).unwrap();
        let types: Vec<bool> =
            ordered.pairs().take(6).map(|pair| ordered.kernel(pair).name.contains("fp16")).collect();
        assert_eq!(types, [true, true, true, false, false, false]);
        let error = plan(&names, problems).by_model(model(r#","dtype":"fp16""#)).unwrap_err().to_string();
        assert!(error.contains("fp16"), "{error}");
    }
}
