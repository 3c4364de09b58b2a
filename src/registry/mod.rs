//! The registry: kernels with what their owner can do with them, models, and the choice among sources.
//!
//! Writers take turns; each builds a new state and publishes it whole. Readers never wait for a writer, and a call
//! sees one state from beginning to end: all of a change or nothing of it.

mod atomic;
mod cache;
mod chain;
mod entry;
mod explain;
mod export;
mod generation;
mod measure;
mod options;
mod overrides;
mod prepared;
mod reproduce;
mod slot;
mod state;

pub use chain::{Place, Ranking, SelectError, Selection, Source};
pub use entry::{Entry, Hooks, Priority, UserData};
pub use export::{ExportOptions, kernel_json};
pub use options::{Mode, Options, OptionsError};
pub use overrides::{OverrideError, Overrides};

pub use crate::model::ModelKey;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use crossbeam_queue::ArrayQueue;

use crate::kernel::Kernel;
use crate::model::Model;
use crate::problem::InvalidField;
use crate::select::RankScratch;
use crate::tuning::device::Device;
use crate::tuning::store::{StoreError, StoreStatus};
use crate::vocab::{Arch, Op};
use cache::Cache;
use generation::Generation;
use measure::Labs;
use prepared::Prepared;
use state::State;

/// Calls at the same time whose working memory is kept for the next calls; more than that allocate.
const SCRATCHES: usize = 64;

/// Kernels, models and options, shared by any number of threads.
///
/// ```
/// use ck_select::kernel::Kernel;
/// use ck_select::problem::ConvProblem;
/// use ck_select::registry::{Options, Priority, Registry, Source};
///
/// let registry = Registry::new(Options::default())?;
/// for tile in ["64x64x64", "64x128x64"] {
///     let kernel = Kernel::from_name(&format!("grouped_conv_forward_bf16_2d_{tile}_compv3"))?;
///     registry.add(kernel, Priority::NORMAL, Default::default(), None)?;
/// }
/// let problem = ConvProblem { n: 16, c: 256, k: 128, ..ConvProblem::new_2d([28, 28], [3, 3]) }.padded([1, 1]);
/// let selection = registry.select(&problem.into())?;
/// // Without a model the first kernel of the highest priority is taken.
/// assert_eq!((selection.index, selection.source), (0, Source::Priority));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Registry {
    /// Every kernel that was ever added, in order. Entries stay where they are until the registry is dropped, so that
    /// names and user data that were handed out stay good after a removal.
    entries: boxcar::Vec<Entry>,
    state: ArcSwap<State>,
    writer: Mutex<()>,
    scratches: ArrayQueue<Box<RankScratch>>,
    labs: Labs,
    cache: Cache,
    /// The generation of the present state.
    current: Generation,
    /// What was said once already.
    said: explain::Said,
}

/// A kernel that cannot be added.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddError {
    /// A kernel of that name is there, with the same or a higher priority.
    #[error("kernel '{0}' is registered already, with at least this priority")]
    AlreadyThere(String),
    /// A descriptor that is none.
    #[error("kernel '{name}': {source}")]
    Invalid {
        /// The kernel's name.
        name: String,
        /// The field, what it holds, what it may hold.
        source: InvalidField,
    },
}

/// A kernel to be added by [`Registry::add_all`].
pub struct NewKernel {
    /// What it is and what it is called.
    pub kernel: Kernel,
    /// How it ranks among kernels when nothing better is known.
    pub priority: Priority,
    /// Whatever its owner wants to get back with a selection.
    pub user: UserData,
    /// What its owner can tell and do.
    pub hooks: Option<Box<dyn Hooks>>,
}

impl Registry {
    /// An empty registry. An override file that the options name is read now.
    ///
    /// When it has to measure, or to know the device whose winners a store holds, it takes the HIP runtime's current
    /// device of the moment.
    pub fn new(options: Options) -> Result<Self, OptionsError> {
        Self::with_labs(options, Labs::default())
    }

    /// The same, measuring on a device of the caller's.
    pub fn with_device(options: Options, device: Box<dyn Device + Send>) -> Result<Self, OptionsError> {
        Self::with_labs(options, Labs::new(device))
    }

    fn with_labs(options: Options, labs: Labs) -> Result<Self, OptionsError> {
        let state = State::new(options)?;
        Ok(Self {
            entries: boxcar::Vec::new(),
            state: ArcSwap::from_pointee(state),
            writer: Mutex::new(()),
            scratches: ArrayQueue::new(SCRATCHES),
            labs,
            cache: Cache::new(),
            current: Generation::new(),
            said: explain::Said::default(),
        })
    }

    /// Adds a kernel. One of the same name is replaced if this one's priority is higher, and else it is an error.
    pub fn add(
        &self,
        kernel: Kernel,
        priority: Priority,
        user: UserData,
        hooks: Option<Box<dyn Hooks>>,
    ) -> Result<(), AddError> {
        self.add_all(vec![NewKernel { kernel, priority, user, hooks }])
    }

    /// Adds kernels together: all of them or, on the first that cannot be added, none.
    pub fn add_all(&self, kernels: Vec<NewKernel>) -> Result<(), AddError> {
        let turn = self.turn();
        let mut state = State::clone(&self.state.load());
        let mut entries = Vec::with_capacity(kernels.len());
        for new in kernels {
            let name = new.kernel.name.clone();
            new.kernel.validate().map_err(|source| AddError::Invalid { name: name.clone(), source })?;
            // A kernel of this very call may be the one that is replaced.
            let pending = entries.iter().rposition(|entry: &Entry| entry.name() == name);
            let known = pending.map(|at| entries[at].priority()).or_else(|| {
                state.position(&name).and_then(|at| self.entry_at(&state, at)).map(Entry::priority)
            });
            if known.is_some_and(|known| known >= new.priority) {
                return Err(AddError::AlreadyThere(name));
            }
            let entry = Entry::new(new);
            match pending {
                Some(at) => entries[at] = entry,
                None => entries.push(entry),
            }
        }
        for entry in entries {
            let (name, priority) = (entry.name().to_owned(), entry.priority());
            let id = self.entries.push(entry);
            state.insert(&name, priority, id);
        }
        self.publish(state, turn);
        Ok(())
    }

    /// Keeps the kernels for which `keep` says so; returns how many were removed.
    ///
    /// `keep` may call the registry's reading functions, but not its changing ones.
    pub fn retain(&self, mut keep: impl FnMut(&Entry) -> bool) -> usize {
        let turn = self.turn();
        let mut state = State::clone(&self.state.load());
        let before = state.len();
        state.retain(
            |id| self.entries.get(id).is_some_and(&mut keep),
            |id| self.entries.get(id).map_or("", Entry::name),
        );
        let removed = before - state.len();
        if removed > 0 {
            self.publish(state, turn);
        }
        removed
    }

    /// Removes the kernel with this name; false when there is none.
    pub fn remove(&self, name: &str) -> bool {
        self.retain(|entry| entry.name() != name) > 0
    }

    /// Removes the kernels that are for another architecture, as the CK registry's `filter_by_arch` does; those that do
    /// not say stay. Returns how many were removed.
    pub fn retain_arch(&self, arch: Arch) -> usize {
        self.retain(|entry| entry.arch().is_none_or(|own| own == arch))
    }

    /// Loads a model for the problems that it is for ([`Model::key`]), or for those of `key`. A model with the same key is
    /// replaced. The model is prepared for the present kernels before readers see it.
    pub fn set_model(&self, model: Arc<Model>, key: Option<ModelKey>) {
        let key = key.unwrap_or_else(|| model.key());
        let turn = self.turn();
        let mut state = State::clone(&self.state.load());
        state.set_model(key, model);
        self.prepared(&state);
        self.publish(state, turn);
    }

    /// Removes the model with this key; false when there is none.
    pub fn remove_model(&self, key: &ModelKey) -> bool {
        let turn = self.turn();
        let mut state = State::clone(&self.state.load());
        let removed = state.remove_model(key);
        if removed {
            self.publish(state, turn);
        }
        removed
    }

    /// The keys of the loaded models.
    pub fn model_keys(&self) -> Vec<ModelKey> {
        self.state.load().model_keys()
    }

    /// Replaces the options; an override file that they name is read now.
    pub fn set_options(&self, options: Options) -> Result<(), OptionsError> {
        let overrides = options.read_overrides()?;
        let capture = options.open_capture()?;
        let turn = self.turn();
        let mut state = State::clone(&self.state.load());
        if let Some(Ok(winners)) = state.known().map(|prepared| &prepared.winners) {
            // The new options may name another store. What this fails to write, the store tries to when it is dropped.
            let _ = winners.store().flush();
        }
        state.set_options(options, overrides, capture)?;
        self.publish(state, turn);
        Ok(())
    }

    /// Prepares the models for the present kernels now. Without it, the first selection after a change does.
    pub fn prepare(&self) {
        self.prepared(&self.state.load());
    }

    /// Takes in the winners that other processes have stored since they were last read; true when there were any. Reads a
    /// file: call it now and then, not before each selection.
    pub fn refresh_store(&self) -> Result<bool, StoreError> {
        let state = self.state.load();
        let Ok(winners) = &self.prepared(&state).winners else { return Ok(false) };
        let is_new = winners.refresh()?;
        if is_new {
            // Decisions that are remembered do not know of them.
            let turn = self.turn();
            self.publish(State::clone(&self.state.load()), turn);
        }
        Ok(is_new)
    }

    /// How many measured winners wait to be written, and why the store could not be used the last time. Waits while
    /// another thread uses the file. A registry that has not needed its store yet has not opened it either.
    pub fn store_status(&self) -> StoreStatus {
        let state = self.state.load();
        let winners = state.known().and_then(|prepared| prepared.winners.as_ref().ok());
        winners.map(|winners| winners.store().status()).unwrap_or_default()
    }

    fn prepared<'s>(&self, state: &'s State) -> &'s Prepared {
        let facts = || self.labs.facts(state.options());
        state.prepared(|earlier| Prepared::new(state, &self.entries, earlier, facts))
    }

    /// Number of kernels.
    pub fn len(&self) -> usize {
        self.state.load().len()
    }

    /// Whether there is no kernel.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Counts the changes: as long as it stays the same, so do the answers of a registry that does not measure.
    pub fn generation(&self) -> u64 {
        self.state.load().generation()
    }

    /// The kernel at a place, in the order of registration.
    pub fn get(&self, index: usize) -> Option<&Entry> {
        self.entry_at(&self.state.load(), index)
    }

    /// The place of the kernel with this name.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.state.load().position(name)
    }

    /// All kernels of one moment, in the order of registration.
    pub fn kernels(&self) -> Vec<&Entry> {
        let state = self.state.load();
        state.ids().iter().filter_map(|&id| self.entries.get(id)).collect()
    }

    /// The operations that have a kernel.
    pub fn ops(&self) -> Vec<Op> {
        let kernels = self.kernels();
        [Op::Gemm, Op::GroupedConv]
            .into_iter()
            .filter(|&op| kernels.iter().any(|entry| entry.kernel().op() == op))
            .collect()
    }

    fn entry_at(&self, state: &State, index: usize) -> Option<&Entry> {
        self.entries.get(*state.ids().get(index)?)
    }

    /// Waits for the other writers. A writer that panicked has published nothing, so its turn can be taken over.
    fn turn(&self) -> MutexGuard<'_, ()> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&self, mut state: State, _turn: MutexGuard<'_, ()>) {
        state.next_generation();
        self.current.publish(state.generation(), || self.state.store(Arc::new(state)));
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registry")
            .field("kernels", &self.len())
            .field("models", &self.model_keys())
            .finish_non_exhaustive()
    }
}
