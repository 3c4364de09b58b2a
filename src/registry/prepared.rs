//! What is prepared once per state, before its first selection: models compiled for its kernels, and the
//! measured winners of its pool.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use super::entry::{Entry, Priority};
use super::estimates::Estimates;
use super::index::{KernelIndex, ModelIndex};
use super::kernels::Kernels;
use super::model_name::ModelName;
use super::options::Options;
use crate::directory::Model;
use crate::directory::ModelKey;
use crate::estimate::GpuOverride;
use crate::log::{self, Level};
use crate::pool::Pool;
use crate::problem::Checked;
use crate::ranking::{LeftOutReason, RankError, Ranker};
use crate::tuning::device::DeviceFacts;
use crate::tuning::store::{Location, Mode, PoolHash, Scope, Store, Winners};

/// A model, and the problems that it is for.
#[derive(Clone)]
pub(super) struct LoadedModel {
    pub(super) key: ModelKey,
    pub(super) model: Arc<Model>,
    /// Part of the library, so that loaded models of its kind take precedence.
    pub(super) embedded: bool,
}

/// The inputs from which a state is prepared.
pub(super) struct Inputs<'s> {
    pub(super) kernels: &'s Arc<Kernels>,
    pub(super) models: &'s [LoadedModel],
    /// The GPU in the place of its architecture's profile.
    pub(super) gpu: Option<GpuOverride>,
    pub(super) options: &'s Options,
    /// Whether winners are measured: by selections, or between them.
    pub(super) measures: bool,
    /// The options have changed, so that earlier winners no longer fit.
    pub(super) reopens_winners: bool,
}

/// Data that are prepared once per state.
pub(super) struct Prepared {
    /// One for each model.
    models: Vec<Arc<PreparedModel>>,
    /// The estimates for problems that no model fits.
    pub(super) estimates: Arc<Estimates>,
    /// The winners, or why they are unavailable.
    pub(super) winners: Result<Arc<Winners>, String>,
    /// The winners' pool, so that another state with the same pool can reuse them.
    pool: Option<PoolHash>,
}

/// A model prepared for the kernels that it can describe.
pub(super) struct PreparedModel {
    model: Arc<Model>,
    pub(super) name: ModelName,
    key: ModelKey,
    /// The GPU that it was prepared for, if it is not a profile.
    gpu: Option<GpuOverride>,
    /// The kernels that the model was prepared for.
    kernels: Arc<Kernels>,
    /// Why there is none, if the model can rank none of the kernels. States share it while kernels are only
    /// removed.
    pub(super) ranker: Result<Arc<Ranker>, String>,
    /// The kernels of the ranker's pool, in their order; `None` for those that were removed since.
    pool_kernels: Vec<Option<KernelIndex>>,
}

/// One in this many kernels of a compiled pool may have been removed. A ranking still scores removed ones.
const MOST_REMOVED: usize = 16;

impl Prepared {
    /// Prepares a state, reusing what an earlier one has for the same kernels. `facts` is called only if
    /// winners need the device.
    pub(super) fn new(
        inputs: &Inputs<'_>,
        earlier: Option<&Self>,
        facts: impl FnOnce() -> Result<DeviceFacts, String>,
    ) -> Self {
        let &Inputs { kernels, gpu, .. } = inputs;
        let models = inputs.models.iter().map(|loaded| {
            let is_same_model = |known: &&Arc<PreparedModel>| {
                Arc::ptr_eq(&known.model, &loaded.model) && (known.key, known.gpu) == (loaded.key, gpu)
            };
            let earlier_one = earlier.and_then(|earlier| earlier.models.iter().find(is_same_model));
            if let Some(same) = earlier_one.filter(|known| Arc::ptr_eq(&known.kernels, kernels)) {
                return Arc::clone(same);
            }
            if let Some(changed) = earlier_one.and_then(|known| known.changed_to(kernels)) {
                return Arc::new(changed);
            }
            let model = PreparedModel::new(loaded, gpu, kernels);
            // A process that has just started may never ask twice; a running one should not wait within a
            // selection.
            if earlier.is_some() {
                model.prepare_like(earlier_one.map(AsRef::as_ref));
            }
            Arc::new(model)
        });
        let models = models.collect();
        let estimates = Estimates::new(kernels, gpu, earlier.map(|earlier| &earlier.estimates));
        let pool = asks_for_winners(inputs).then(|| {
            let names: Vec<Cow<'_, str>> = kernels.entries().iter().map(|entry| entry.identity()).collect();
            PoolHash::from_names(names.iter().map(AsRef::as_ref))
        });
        let before = earlier.and_then(|earlier| Some((earlier.pool, earlier.winners.as_ref().ok()?)));
        let winners = match (pool, before) {
            (None, _) => Err("nothing is measured, and no store is set".to_owned()),
            (Some(_), Some((known, winners))) if known == pool && !inputs.reopens_winners => {
                Ok(winners.clone())
            }
            (Some(pool), before) => winners(inputs, pool, before.map(|(_, winners)| winners.store()), facts),
        };
        Self { models, estimates, winners, pool }
    }

    pub(super) fn model(&self, index: ModelIndex) -> Option<&PreparedModel> {
        self.models.get(index.get()).map(AsRef::as_ref)
    }

    /// Compiles all forests.
    pub(super) fn compile(&self) {
        self.models.iter().filter_map(|model| model.ranker.as_deref().ok()).for_each(Ranker::prepare);
    }
}

/// The kernels that a model may rank.
fn ranked_by(key: ModelKey, kernels: &Kernels) -> impl Iterator<Item = (KernelIndex, &Arc<Entry>)> {
    kernels.by_name().filter(move |(_, entry)| entry.kernel().op() == key.op && entry.is_ranked())
}

impl PreparedModel {
    fn new(loaded: &LoadedModel, gpu: Option<GpuOverride>, kernels: &Arc<Kernels>) -> Self {
        let (model, key) = (loaded.model.clone(), loaded.key);
        let (mut pool, mut priorities, mut pool_kernels) = (Vec::new(), Vec::new(), Vec::new());
        for (index, entry) in ranked_by(key, kernels) {
            pool.push(Arc::clone(entry.shared_kernel()));
            priorities.push(entry.priority().0);
            pool_kernels.push(Some(index));
        }
        let pool = Pool::shared(pool).map_err(|error| error.to_string());
        let ranker = pool.and_then(|pool| {
            let priority = |index| priorities.get(index).copied().unwrap_or(Priority::NORMAL.0);
            let ranker = Ranker::deferred(model.clone(), key, gpu, Arc::new(pool), priority);
            ranker.map(Arc::new).map_err(|error| error.to_string())
        });
        let (name, kernels) = (ModelName::new(model.name()), Arc::clone(kernels));
        Self { model, name, key, gpu, kernels, ranker, pool_kernels }
    }

    /// This model for other kernels: what was compiled stays. Kernels that were removed since are passed
    /// over, and those that were added are compiled beside the others. `None` if so many have changed that
    /// all are better prepared anew.
    fn changed_to(&self, kernels: &Arc<Kernels>) -> Option<Self> {
        let ranker = self.ranker.as_ref().ok()?;
        let (mut pool_kernels, mut added) = (vec![None; self.pool_kernels.len()], Vec::new());
        let known = |at| Some((at, self.kernels.get(self.kernel(at)?)?));
        let mut known = ranker.pool().by_name().filter_map(known).peekable();
        for (index, entry) in ranked_by(self.key, kernels) {
            let mut same = known.next_if(|(_, known)| Arc::ptr_eq(known, entry));
            if same.is_none() {
                while known.next_if(|(_, known)| known.name() < entry.name()).is_some() {}
                same = known.next_if(|(_, known)| Arc::ptr_eq(known, entry));
            }
            match same {
                Some((at, _)) => pool_kernels[at] = Some(index),
                None => added.push((index, entry)),
            }
        }
        let removed = pool_kernels.iter().filter(|known| known.is_none()).count();
        if removed == pool_kernels.len() || removed * MOST_REMOVED > pool_kernels.len() {
            return None;
        }
        let mut ranker = Arc::clone(ranker);
        if !added.is_empty() {
            let mut pool = ranker.pool().kernels().to_vec();
            pool.extend(added.iter().map(|(_, entry)| Arc::clone(entry.shared_kernel())));
            pool_kernels.extend(added.iter().map(|&(index, _)| Some(index)));
            let priority = |at: usize| {
                let entry = pool_kernels.get(at).copied().flatten().and_then(|index| kernels.get(index));
                entry.map_or(Priority::NORMAL, |entry| entry.priority()).0
            };
            ranker = Arc::new(ranker.with_added(Arc::new(Pool::shared(pool).ok()?), priority)?);
        }
        let (model, kernels) = (Arc::clone(&self.model), Arc::clone(kernels));
        Some(Self { model, kernels, ranker: Ok(ranker), pool_kernels, ..*self })
    }

    /// Does what selections would do on first use, as far as the same model for other kernels was used.
    fn prepare_like(&self, earlier: Option<&Self>) {
        let Ok(ranker) = &self.ranker else { return };
        ranker.prepare();
        if let Some(earlier) = earlier.and_then(|earlier| earlier.ranker.as_deref().ok()) {
            ranker.prepare_gpus_of(earlier);
        }
    }

    /// The kernel at an index of the ranker's pool; `None` if it was removed.
    pub(super) fn kernel(&self, pool_index: usize) -> Option<KernelIndex> {
        self.pool_kernels.get(pool_index).copied().flatten()
    }

    /// The index of a kernel in the ranker's pool.
    pub(super) fn pool_index(&self, kernel: KernelIndex) -> Option<usize> {
        self.pool_kernels.iter().position(|&known| known == Some(kernel))
    }

    /// The error of a problem that none of the kernels that are left in the ranker's pool computes.
    pub(super) fn no_kernel(&self, ranker: &Ranker, problem: Checked<'_>) -> RankError {
        let left = ranker.pool().by_name().filter(|&at| self.kernel(at).is_some());
        Ranker::no_kernel_among(left.filter_map(|at| ranker.pool().get(at)), problem)
    }

    /// Whether the model ranks for any GPU, direction and type.
    pub(super) fn is_universal(&self) -> bool {
        self.model.is_universal()
    }

    /// Whether the model is for one architecture.
    pub(super) fn is_of_one_arch(&self) -> bool {
        self.model.spec().arch.is_some()
    }

    /// Indices of kernels that the model does not rank, with the reason.
    pub(super) fn left_out(&self) -> impl Iterator<Item = (KernelIndex, &LeftOutReason)> {
        let left_out = self.ranker.iter().flat_map(|ranker| ranker.left_out());
        left_out.filter_map(|one| Some((self.kernel(one.index)?, &one.reason)))
    }
}

fn driver(facts: &DeviceFacts) -> String {
    facts.driver_version.or(facts.runtime_version).map_or_else(String::new, |version| version.to_string())
}

/// A selection that measures does not wait long for other processes: what cannot be written now is written
/// later.
const WAIT: Duration = Duration::from_millis(250);

fn asks_for_winners(inputs: &Inputs<'_>) -> bool {
    inputs.measures || inputs.options.store.is_some()
}

/// Opens the winners of a pool. Without a device there are none, because winners are only valid for their
/// device. `before` is the previous store, which knows what is still to be written.
fn winners(
    inputs: &Inputs<'_>,
    pool: PoolHash,
    before: Option<&Store>,
    facts: impl FnOnce() -> Result<DeviceFacts, String>,
) -> Result<Arc<Winners>, String> {
    let options = inputs.options;
    if inputs.kernels.len() == 0 {
        return Err("no kernels".to_owned());
    }
    let (arch, device, driver) = match (&options.device_name, facts()) {
        // Even for the same device name, winners of another driver are not valid.
        (Some(name), Ok(facts)) => (options.arch.or(facts.arch()), name.clone(), driver(&facts)),
        (Some(name), Err(_)) => (options.arch, name.clone(), String::new()),
        (None, facts) => {
            let facts = facts?;
            (facts.arch().or(options.arch), facts.name.clone(), driver(&facts))
        }
    };
    let arch = arch.ok_or("no architecture is known")?;
    let mode = if inputs.measures { Mode::ReadWrite } else { Mode::ReadOnly };
    let store = match Location::from_environment(options.store.as_deref()) {
        Ok(Location::Off) => Store::disabled(),
        Ok(Location::File(path)) => match before.filter(|before| before.is_at(&path, mode)) {
            Some(before) => before.clone(),
            None => Store::at(&path, mode, WAIT),
        },
        Err(error) if inputs.measures => {
            log::line(Level::Warn, "store", format_args!("{error}; winners are kept in memory only"));
            Store::disabled()
        }
        Err(error) => return Err(error.to_string()),
    };
    let scope = Scope::new(arch, device, pool, driver);
    let winners = Winners::new(store, scope).map_err(|error| error.to_string())?;
    winners.load_late();
    Ok(Arc::new(winners))
}

#[cfg(test)]
mod tests {
    use super::super::entry::NewKernel;
    use super::super::options::Options;
    use super::super::ranking::RankedKernel;
    use super::super::shared::Registry;
    use super::*;
    use crate::kernel::Kernel;
    use crate::problem::{ConvProblem, GemmProblem, Problem};
    use crate::vocab::Op;

    fn add(registry: &Registry, tile: usize) {
        let kernel = Kernel::from_name(&format!("grouped_conv_forward_bf16_2d_{tile}x64x64_compv3")).unwrap();
        registry.add_all(vec![kernel.into()]).unwrap();
    }

    /// Whether the next selection finds a prepared state.
    fn is_ready(registry: &Registry) -> bool {
        let state = registry.state.load();
        state.generation() == registry.generation() && state.is_prepared()
    }

    /// A removed kernel is passed over by what was compiled with it; only many are worth compiling anew.
    #[test]
    fn compiled_pools_survive_the_removal_of_few_kernels() {
        let registry = Registry::new(Options { arch: "gfx950".parse().ok(), ..Options::default() }).unwrap();
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/models/conv_small");
        registry.set_model(Arc::new(Model::load(folder).unwrap()), None);
        (1..65).for_each(|tile| add(&registry, 16 * tile));
        let problem = ConvProblem { n: 16, c: 256, k: 128, ..ConvProblem::new_2d([28, 28], [3, 3]) }.into();
        let ranked = || -> Vec<(String, u64)> {
            let ranking = registry.rank(&problem).unwrap();
            ranking
                .places
                .iter()
                .map(|ranked| (ranked.entry.name().to_owned(), ranked.score.to_bits()))
                .collect()
        };
        let ranker = || {
            let state = registry.state();
            let models = &registry.prepared(&state).models;
            models.iter().find_map(|model| Some(Arc::as_ptr(model.ranker.as_ref().ok()?))).unwrap()
        };
        registry.select(&problem).unwrap();
        let (mut expected, compiled) = (ranked(), ranker());
        for removed in 0..4 {
            let (best, _) = expected.remove(removed % 2 * expected.len() / 2);
            assert!(registry.remove(&best));
            assert_eq!(registry.select(&problem).unwrap().entry.name(), expected[0].0);
            assert_eq!((ranked(), ranker()), (expected.clone(), compiled));
        }
        let error = registry.rank(&ConvProblem { ndim: 3, ..ConvProblem::new_2d([28, 28], [3, 3]) }.into());
        let error = error.unwrap_err().to_string();
        assert!(error.contains("none of the 60 kernels"), "{error}");
        registry.remove(&expected.remove(0).0);
        assert_ne!(ranker(), compiled, "more than one of sixteen is gone");
        assert_eq!(ranked(), expected);
        add(&registry, 16 * 65);
        assert_eq!(ranked().len(), expected.len() + 1);
    }

    /// A kernel of a tile, alike in all that the models see but for its name where `number` is odd.
    fn numbered(conv: bool, number: usize, priority: i32) -> NewKernel {
        let tile = number / 2;
        let (m, n, k) = (16 + tile % 8 * 16, 16 + tile / 8 % 8 * 16, 32 + tile / 64 * 32);
        let name = if conv {
            format!("grouped_conv_forward_bf16_2d_{m}x{n}x{k}_compv3")
        } else {
            format!(
                "gemm_universal_fp16_rcr_compv3_default_intrawave_True_True_True_False_{m}x{n}x{k}_2x2x1\
                 _16x16x16"
            )
        };
        let kernel = Kernel::from_name(&name).unwrap();
        let kernel = Kernel { name: format!("{}{name}", if number % 2 == 1 { "a" } else { "" }), ..kernel };
        NewKernel { priority: Priority(priority), ..kernel.into() }
    }

    /// Kernels that come and go beside many are ranked as by a registry that had them from the start: scores
    /// to the bit, and what decides between equal ones. What was compiled for the many stays.
    #[test]
    #[cfg_attr(miri, ignore = "reads files")]
    fn kernels_added_to_many_are_ranked_as_if_they_had_always_been_there() {
        let options = || Options { arch: "gfx950".parse().ok(), ..Options::default() };
        let fp16 = "fp16".parse().unwrap();
        let conv = ConvProblem { n: 16, c: 256, k: 128, ..ConvProblem::new_2d([28, 28], [3, 3]) };
        let gemm = |m, n, k| GemmProblem {
            dtype_a: fp16,
            dtype_b: fp16,
            dtype_c: fp16,
            ..GemmProblem::new(m, n, k)
        };
        for (is_conv, folder) in [(true, "tests/golden/models/conv_small"), (false, "models/universal")] {
            let problems: Vec<Problem> = if is_conv {
                vec![conv.into(), ConvProblem { n: 1, c: 64, ..conv }.into()]
            } else {
                let one: Problem = gemm(300, 5000, 704).into();
                vec![one, gemm(4096, 4096, 4096).into(), one.leaving_split()]
            };
            let model = Model::load(format!("{}/{folder}", env!("CARGO_MANIFEST_DIR"))).unwrap();
            let model = Arc::new(if is_conv { model } else { model.for_op(Op::Gemm).unwrap() });
            let with = |kernels: Vec<NewKernel>| {
                let registry = Registry::new(options()).unwrap();
                registry.add_all(kernels).unwrap();
                registry.set_model(Arc::clone(&model), None);
                registry.prepare();
                registry
            };
            let ranked = |registry: &Registry, problem: &Problem| -> Vec<(String, i32, u64)> {
                let places = registry.rank(problem).unwrap().places;
                let bits = |ranked: RankedKernel<'_>| {
                    (ranked.entry.name().to_owned(), ranked.split_k, ranked.score.to_bits())
                };
                places.into_iter().map(bits).collect()
            };
            let mut present: Vec<(usize, i32)> = (0..640).map(|number| (number, 0)).collect();
            let all = |present: &[(usize, i32)]| {
                present.iter().map(|&(number, priority)| numbered(is_conv, number, priority)).collect()
            };
            let grown = with(all(&present));
            let pool = || {
                let state = grown.state();
                let prepared = grown.prepared(&state);
                let ours = |one: &&Arc<PreparedModel>| Arc::ptr_eq(&one.model, &model);
                Arc::clone(prepared.models.iter().find(ours).unwrap().ranker.as_ref().unwrap().pool())
            };
            // What is compiled anew is in the order of names.
            let compiled = pool();
            let is_kept = || pool().kernels().starts_with(compiled.kernels());
            let changes = [(700, 0), (3, 2), (701, 1), (702, 0), (703, 0), (710, 2), (711, 2), (300, 1)];
            let more = (0..40).map(|number| (800 + number % 37 * 3, number as i32 % 3));
            for (step, (number, priority)) in changes.into_iter().chain(more).enumerate() {
                let new = numbered(is_conv, number, priority);
                if present.iter().any(|one| one.0 == number && one.1 >= priority) {
                    continue;
                }
                present.retain(|one| one.0 != number);
                present.push((number, priority));
                grown.select(&problems[0]).unwrap();
                grown.add_all(vec![new]).unwrap();
                if step % 5 == 4 {
                    let gone = present.remove(step * 7 % present.len());
                    assert!(grown.remove(&numbered(is_conv, gone.0, 0).kernel.name));
                }
                assert!(step >= 30 || is_kept(), "the many are compiled once");
                if step < 3 || step % 6 == 5 {
                    let fresh = with(all(&present));
                    for problem in &problems {
                        let (one, other) = (grown.select(problem).unwrap(), fresh.select(problem).unwrap());
                        assert_eq!((one.entry.name(), one.split_k), (other.entry.name(), other.split_k));
                        assert_eq!(ranked(&grown, problem), ranked(&fresh, problem), "{step} {problem}");
                        // The estimate's times are in it, too.
                        assert_eq!(grown.explain(problem).unwrap(), fresh.explain(problem).unwrap());
                    }
                }
            }
            assert!(!is_kept(), "in the end they are many");
        }
    }

    #[test]
    fn changes_are_prepared_while_selections_are_made_and_collected_while_a_pool_is_loaded() {
        let registry = Registry::new(Options { arch: "gfx942".parse().ok(), ..Options::default() }).unwrap();
        let problem = ConvProblem { n: 16, c: 256, k: 128, ..ConvProblem::new_2d([28, 28], [3, 3]) }.into();
        add(&registry, 16);
        add(&registry, 32);
        assert!(!is_ready(&registry), "nobody has selected yet");
        registry.select(&problem).unwrap();
        for tile in 3..12 {
            add(&registry, 16 * tile);
            assert!(is_ready(&registry));
        }
        assert!(registry.remove("grouped_conv_forward_bf16_2d_16x64x64_compv3") && is_ready(&registry));
        assert_eq!(registry.retain(|entry| !entry.name().contains("_32x")), 1);
        assert!(is_ready(&registry));
        // What selections needed of the earlier state is there, too.
        let state = registry.state.load();
        assert!(state.known().unwrap().estimates.is_prepared_for("gfx942".parse().unwrap()));
        (0..100).for_each(|tile| add(&registry, 1000 + tile));
        assert!(!is_ready(&registry), "a pool is loaded");
        registry.select(&problem).unwrap();
        add(&registry, 2000);
        assert!(is_ready(&registry));
        add(&registry, 2001);
        registry.prepare();
        assert!(is_ready(&registry));
    }
}
