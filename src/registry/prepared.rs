//! What is prepared once per state, before its first selection: models compiled for its kernels, and the
//! measured winners of its pool.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::estimate::Estimates;
use super::model_name::ModelName;
use super::state::{LoadedModel, State};
use super::{Entry, ModelKey, Priority, reproduce};
use crate::estimate::Described;
use crate::log::{self, Level};
use crate::model::Model;
use crate::pool::Pool;
use crate::select::{LeftOutReason, Ranker};
use crate::tuning::device::DeviceFacts;
use crate::tuning::store::{Location, Mode, PoolHash, Scope, Store, Winners};

/// What is prepared once per state.
pub(super) struct Prepared {
    /// One for each model.
    pub(super) models: Vec<Arc<PreparedModel>>,
    /// For problems that no model fits.
    pub(super) estimates: Arc<Estimates>,
    /// The winners, or why they are unavailable.
    pub(super) winners: Result<Arc<Winners>, String>,
    /// Their pool, so that another state with the same pool can reuse them.
    pub(super) pool: PoolHash,
}

/// A model prepared for the kernels that it can describe.
pub(super) struct PreparedModel {
    model: Arc<Model>,
    pub(super) name: ModelName,
    key: ModelKey,
    /// The GPU that it was prepared for, if it is not a profile.
    described: Option<Described>,
    /// The kernels that it was prepared for.
    entries: Arc<[Arc<Entry>]>,
    /// `None` if the model can rank none of the kernels.
    pub(super) ranker: Option<Ranker>,
    /// Why there is no ranker.
    pub(super) fault: Option<String>,
    /// The registry's index of each kernel of the ranker's pool.
    pub(super) places: Vec<usize>,
    /// The file with its kernels, once it was needed.
    pool_file: OnceLock<Result<PathBuf, String>>,
}

impl Prepared {
    /// Prepares a state, reusing what an earlier one has for the same kernels. `facts` is called only if
    /// winners need the device.
    pub(super) fn new(
        state: &State,
        earlier: Option<&Self>,
        facts: impl FnOnce() -> Result<DeviceFacts, String>,
    ) -> Self {
        let entries = state.entries();
        let models = state.models().iter().map(|loaded| {
            let known = earlier.and_then(|earlier| {
                earlier.models.iter().find(|known| {
                    Arc::ptr_eq(&known.model, &loaded.model)
                        && (known.key, known.described) == (loaded.key, state.described())
                        && are_same(&known.entries, entries)
                })
            });
            known.cloned().unwrap_or_else(|| {
                let model = PreparedModel::new(loaded, state.described(), entries);
                // A process that has just started may never ask twice; a running one should not wait within a
                // selection.
                if earlier.is_some() {
                    model.compile();
                }
                Arc::new(model)
            })
        });
        let models = models.collect();
        let estimates = Estimates::of(entries, state.described(), earlier.map(|earlier| &earlier.estimates));
        // Only winners need more than names.
        let all = entries.iter();
        let names: Vec<Cow<'_, str>> = if asks_for_winners(state) {
            all.map(|entry| entry.identity()).collect()
        } else {
            all.map(|entry| entry.name().into()).collect()
        };
        let pool = PoolHash::of_names(names.iter().map(AsRef::as_ref));
        let before = earlier.and_then(|earlier| Some((earlier.pool, earlier.winners.as_ref().ok()?)));
        let winners = match before {
            Some((known, winners)) if known == pool && !state.reopens_winners() => Ok(winners.clone()),
            _ => winners(state, pool, before.map(|(_, winners)| winners.store()), facts),
        };
        Self { models, estimates, winners, pool }
    }
}

/// Whether these are the same kernels, not only equal ones.
pub(super) fn are_same(these: &[Arc<Entry>], those: &[Arc<Entry>]) -> bool {
    these.len() == those.len() && these.iter().zip(those).all(|(this, that)| Arc::ptr_eq(this, that))
}

impl PreparedModel {
    fn new(loaded: &LoadedModel, described: Option<Described>, entries: &Arc<[Arc<Entry>]>) -> Self {
        let (model, key) = (loaded.model.clone(), loaded.key);
        let (mut kernels, mut priorities, mut places) = (Vec::new(), Vec::new(), Vec::new());
        for (place, entry) in by_name(entries) {
            if entry.kernel().op() == key.op {
                kernels.push(entry.kernel().clone());
                priorities.push(entry.priority().0);
                places.push(place);
            }
        }
        let pool = Pool::new(kernels).map_err(|error| error.to_string());
        let ranker = pool.and_then(|pool| {
            let priority = |index| priorities.get(index).copied().unwrap_or(Priority::NORMAL.0);
            Ranker::deferred(model.clone(), key, described, Arc::new(pool), priority)
                .map_err(|error| error.to_string())
        });
        let (ranker, fault) = match ranker {
            Ok(ranker) => (Some(ranker), None),
            Err(reason) => (None, Some(reason)),
        };
        let (name, entries) = (ModelName::of(model.name()), entries.clone());
        Self { model, name, key, described, entries, ranker, fault, places, pool_file: OnceLock::new() }
    }

    /// Compiles the forest for the kernels, if that is not done yet.
    pub(super) fn compile(&self) {
        self.ranker.iter().for_each(Ranker::prepare);
    }

    /// Whether it ranks for any GPU, direction and type.
    pub(super) fn is_generic(&self) -> bool {
        self.model.is_generic()
    }

    /// Whether it is for one architecture.
    pub(super) fn is_of_one_arch(&self) -> bool {
        self.model.spec().arch.is_some()
    }

    /// Indices of kernels that the model does not rank, with the reason.
    pub(super) fn left_out(&self) -> impl Iterator<Item = (usize, &LeftOutReason)> {
        let left_out = self.ranker.iter().flat_map(Ranker::left_out);
        left_out.filter_map(|one| Some((*self.places.get(one.index)?, &one.reason)))
    }

    /// A file with the kernels that the model ranks, for `ckselect`.
    pub(super) fn pool_file(&self) -> Result<&Path, String> {
        let file = self.pool_file.get_or_init(|| {
            let ranker = self.ranker.as_ref().ok_or("the model can rank no kernel")?;
            reproduce::write_pool(ranker.pool().op(), &ranker.kernels().collect::<Vec<_>>())
        });
        file.as_deref().map_err(Clone::clone)
    }
}

/// The kernels of a state with their indices in it, in the order of their names: pools in this order do not depend
/// on that of registration.
pub(super) fn by_name(entries: &[Arc<Entry>]) -> Vec<(usize, &Entry)> {
    let mut kernels: Vec<_> = entries.iter().map(AsRef::as_ref).enumerate().collect();
    kernels.sort_unstable_by_key(|(_, entry)| entry.name());
    kernels
}

fn driver(facts: &DeviceFacts) -> String {
    facts.driver_version.or(facts.runtime_version).map_or_else(String::new, |version| version.to_string())
}

/// A selection that measures does not wait long for other processes: what cannot be written now is written
/// later.
const WAIT: Duration = Duration::from_millis(250);

fn asks_for_winners(state: &State) -> bool {
    state.measures() || state.options().store.is_some()
}

/// Opens the winners of a pool. Without a device there are none, because winners are only valid for their
/// device. `before` is the previous store, which knows what is still to be written.
fn winners(
    state: &State,
    pool: PoolHash,
    before: Option<&Store>,
    facts: impl FnOnce() -> Result<DeviceFacts, String>,
) -> Result<Arc<Winners>, String> {
    let options = state.options();
    if state.entries().is_empty() {
        return Err("no kernels".to_owned());
    }
    if !asks_for_winners(state) {
        return Err("not asked for".to_owned());
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
    let mode = if state.measures() { Mode::ReadWrite } else { Mode::ReadOnly };
    let store = match Location::from_environment(options.store.as_deref()) {
        Ok(Location::Off) => Store::disabled(),
        Ok(Location::File(path)) => match before.filter(|before| before.is_at(&path, mode)) {
            Some(before) => before.clone(),
            None => Store::at(&path, mode, WAIT),
        },
        Err(error) if state.measures() => {
            log::line(Level::Warn, "store", format_args!("{error}; winners are kept in memory only"));
            Store::disabled()
        }
        Err(error) => return Err(error.to_string()),
    };
    let scope = Scope::new(arch, device, pool, driver);
    store.winners_or_none(scope).map(Arc::new).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::{NewKernel, Options, Registry, UserData};
    use super::*;
    use crate::kernel::Kernel;

    fn add(registry: &Registry, tile: usize) {
        let kernel = Kernel::from_name(&format!("grouped_conv_forward_bf16_2d_{tile}x64x64_compv3")).unwrap();
        let (priority, user) = (Priority::NORMAL, UserData::default());
        registry.add_all(vec![NewKernel { kernel, priority, user, hooks: None }]).unwrap();
    }

    /// Whether the state for the next selection exists, and is prepared for the current kernels.
    fn is_ready(registry: &Registry) -> bool {
        let state = registry.state.load();
        let names = registry.kernels();
        let pool = PoolHash::of_names(names.iter().map(|entry| entry.name()));
        state.generation() == registry.generation() && state.known().is_some_and(|known| known.pool == pool)
    }

    #[test]
    fn the_first_change_after_prepare_is_prepared_and_the_others_are_collected() {
        let registry = Registry::new(Options::default()).unwrap();
        add(&registry, 16);
        assert!(!is_ready(&registry));
        registry.prepare();
        assert!(is_ready(&registry));
        add(&registry, 32);
        assert!(is_ready(&registry));
        add(&registry, 64);
        assert!(!is_ready(&registry));
        registry.prepare();
        assert!(registry.remove("grouped_conv_forward_bf16_2d_16x64x64_compv3"));
        assert!(is_ready(&registry));
        assert_eq!(registry.retain(|entry| entry.name().contains("_32x")), 1);
        assert!(!is_ready(&registry));
    }
}
