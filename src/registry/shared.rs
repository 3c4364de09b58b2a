//! The registry: its kernels, and the state that readers share.
//!
//! Selections must not wait, and a program may add kernels while others select. So a change does not edit
//! what readers use: the writer makes the next [`State`] from the current one, prepares what selections have
//! needed so far, and publishes it with one atomic store. A reader loads one state and has a registry that
//! does not change for the length of its call.
//!
//! ```text
//! change:     take the turn; kernels' = kernels with the change; generation + 1
//!             nobody selected yet, or 32 changes without a selection: leave the rest to the next selection
//!             else: state' = prepared for kernels'; publish
//! selection:  state = load; answer from state
//! ```
//!
//! Until the first selection nothing is prepared, so that loading a pool kernel by kernel takes linear time.
//! Names live as long as the registry, since callers may keep them; a removed kernel itself lives as long as
//! the last state that has it.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use arc_swap::{ArcSwap, Guard};
use crossbeam_queue::ArrayQueue;

use super::bench::MeasuringSlots;
use super::cache::Cache;
use super::demand::Demand;
use super::entry::{AddError, Entry, Hooks, Name, NewKernel, Priority, Registered, UserData};
use super::generation::Generation;
use super::index::NameIndex;
use super::kernels::Kernels;
use super::options::{Options, OptionsError};
use super::prepared::Prepared;
use super::state::{Files, State};
use crate::directory::{Model, ModelKey};
use crate::estimate::EstimateScratch;
use crate::kernel::Kernel;
use crate::pool::{ExportOptions, export_json};
use crate::ranking::RankScratch;
use crate::tuning::device::Device;
use crate::tuning::store::{StoreError, StoreStatus};
use crate::vocab::{Arch, Op};

/// Number of simultaneous calls whose working memory is kept for later calls; more allocate.
const SCRATCHES: usize = 64;
/// Changes in a row, without a selection between them, that are prepared one by one. More count as the
/// loading of a pool.
const MOST_UNSEEN: usize = 32;

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
    /// Every name that was ever registered: callers keep them. A removed kernel itself is dropped with the
    /// last state that has it.
    pub(super) names: boxcar::Vec<Name>,
    pub(super) state: ArcSwap<State>,
    /// The kernels after the latest change, which may be ahead of the state. Never held while a callback of
    /// the library's user runs, except for that of [`Registry::retain`].
    writer: Mutex<Latest>,
    pub(super) scratches: ArrayQueue<Box<RankScratch>>,
    pub(super) estimate_scratches: ArrayQueue<Box<EstimateScratch>>,
    pub(super) slots: MeasuringSlots,
    pub(super) cache: Cache,
    /// How often each problem was requested, for a registry that tunes.
    pub(super) demand: OnceLock<Box<Demand>>,
    /// The generation of the latest change.
    pub(super) current: Generation,
    pub(super) warned: WarnedOnce,
}

/// Which warnings of a registry were given: each is given once.
#[derive(Default)]
pub(super) struct WarnedOnce {
    pub(super) no_model: AtomicBool,
    pub(super) arch_unknown: AtomicBool,
    pub(super) word_unknown: AtomicBool,
}

/// The kernels after the latest change.
#[derive(Default)]
pub(super) struct Latest {
    kernels: Arc<Kernels>,
    /// All names that were ever registered.
    pub(super) names: HashMap<Arc<str>, NameIndex>,
    /// How many changes in a row no selection has seen; `None` before the first selection.
    unseen: Option<usize>,
}

impl Registry {
    /// An empty registry. The options' override file is read now.
    ///
    /// When the registry measures, or needs the name of the device for the store, it uses the HIP runtime's current
    /// device at that moment.
    pub fn new(options: Options) -> Result<Self, OptionsError> {
        Self::with_slots(options, MeasuringSlots::default())
    }

    /// An empty registry that measures on a device of the caller.
    pub fn with_device(options: Options, device: Box<dyn Device + Send>) -> Result<Self, OptionsError> {
        Self::with_slots(options, MeasuringSlots::new(device))
    }

    fn with_slots(options: Options, slots: MeasuringSlots) -> Result<Self, OptionsError> {
        let files = Files::read(&options)?;
        let state = State::new(options, files)?;
        Ok(Self {
            names: boxcar::Vec::new(),
            state: ArcSwap::from_pointee(state),
            writer: Mutex::default(),
            scratches: ArrayQueue::new(SCRATCHES),
            estimate_scratches: ArrayQueue::new(SCRATCHES),
            slots,
            cache: Cache::new(),
            demand: OnceLock::new(),
            current: Generation::new(),
            warned: WarnedOnce::default(),
        })
    }

    /// Adds a kernel. A kernel with the same name is replaced if this one's priority is higher; otherwise
    /// this is an error.
    pub fn add(
        &self,
        kernel: Kernel,
        priority: Priority,
        user: UserData,
        hooks: Option<Box<dyn Hooks>>,
    ) -> Result<(), AddError> {
        self.add_all(vec![NewKernel { priority, user, hooks, ..kernel.into() }])
    }

    /// Adds several kernels: all of them or, if one cannot be added, none.
    pub fn add_all(&self, kernels: Vec<NewKernel>) -> Result<(), AddError> {
        let mut latest = self.turn();
        let mut added: Vec<NewKernel> = Vec::with_capacity(kernels.len());
        let mut replaced = Vec::new();
        // The replaced kernel may be one of this call.
        let mut places: HashMap<Arc<str>, usize> = HashMap::with_capacity(kernels.len());
        for new in kernels {
            let name = new.kernel.name.as_str();
            new.kernel.validate().map_err(|source| AddError::Invalid { name: name.to_owned(), source })?;
            let earlier = places.get(name).copied();
            let known = match earlier {
                Some(at) => Some(added[at].priority),
                None => latest.kernels.named(name).map(|(_, known)| known.priority()),
            };
            if known.is_some_and(|known| known >= new.priority) {
                return Err(AddError::AlreadyRegistered(name.to_owned()));
            }
            if let Some(at) = earlier {
                replaced.push(std::mem::replace(&mut added[at], new));
            } else {
                places.insert(name.into(), added.len());
                added.push(new);
            }
        }
        if added.is_empty() {
            return Ok(());
        }
        let unknown = added.iter().find_map(|new| Some((new.kernel.name.clone(), new.unknown.clone()?)));
        let entries: Vec<Arc<Entry>> = added
            .into_iter()
            .map(|new| {
                let name = self.number(&mut latest.names, &new.kernel.name);
                Arc::new(Entry::new(new, name))
            })
            .collect();
        Arc::make_mut(&mut latest.kernels).insert(entries);
        replaced.iter().filter_map(|new| new.hooks.as_ref()).for_each(|hooks| hooks.added());
        self.announce(latest);
        if let Some((name, words)) = unknown {
            self.warn_of_unknown(&name, &words);
        }
        Ok(())
    }

    /// The number of a name. Only the thread that has the turn adds names.
    fn number(&self, known: &mut HashMap<Arc<str>, NameIndex>, name: &str) -> NameIndex {
        if let Some(&number) = known.get(name) {
            return number;
        }
        let number = NameIndex::new(self.names.count());
        self.names.push(Name::new(number, name));
        known.insert(name.into(), number);
        number
    }

    /// Keeps only the kernels for which `keep` returns true; returns the number of removed kernels.
    ///
    /// `keep` may call functions that read the registry, but none that change it.
    pub fn retain(&self, mut keep: impl FnMut(&Entry) -> bool) -> usize {
        let mut latest = self.turn();
        // Readers, including `keep`, continue with the current kernels, without waiting for this turn.
        self.bring_up_to_date(&latest);
        let keeps: Vec<bool> = latest.kernels.entries().iter().map(|entry| keep(entry)).collect();
        if keeps.iter().all(|&keeps| keeps) {
            return 0;
        }
        let removed = Arc::make_mut(&mut latest.kernels).retain(|index| keeps[index.get()]);
        self.announce(latest);
        removed
    }

    /// Removes the kernel with this name; false if there is none.
    pub fn remove(&self, name: &str) -> bool {
        let mut latest = self.turn();
        let is_known = latest.kernels.named(name).is_some();
        if is_known {
            Arc::make_mut(&mut latest.kernels).remove(name);
            self.announce(latest);
        }
        is_known
    }

    /// Removes the kernels for other architectures, like the CK registry's `filter_by_arch`; kernels without
    /// an architecture stay. Returns the number of removed kernels.
    pub fn retain_arch(&self, arch: Arch) -> usize {
        self.retain(|entry| entry.arch().is_none_or(|own| own == arch))
    }

    /// Loads a model for its own problems ([`Model::key`]), or for those of `key`. A model with the same key
    /// is replaced. The model is prepared for the current kernels before readers see it.
    pub fn set_model(&self, model: Arc<Model>, key: Option<ModelKey>) {
        let key = key.unwrap_or_else(|| model.key());
        let latest = self.turn();
        let mut state = self.successor(&latest);
        state.set_model(key, model);
        state.prepared(|earlier| self.prepare_for(&state, earlier));
        self.publish(state);
    }

    /// Removes the model with this key; false if there is none.
    pub fn remove_model(&self, key: &ModelKey) -> bool {
        let latest = self.turn();
        let mut state = self.successor(&latest);
        let removed = state.remove_model(key);
        if removed {
            self.publish(state);
        }
        removed
    }

    /// The keys of the loaded models.
    pub fn model_keys(&self) -> Vec<ModelKey> {
        // Pending changes of kernels do not affect models.
        self.state.load().model_keys()
    }

    /// Replaces the options; the files that they name are read now.
    pub fn set_options(&self, options: Options) -> Result<(), OptionsError> {
        let files = Files::read(&options)?;
        let latest = self.turn();
        let mut state = self.successor(&latest);
        if let Some(Ok(winners)) = state.known().map(|prepared| &prepared.winners) {
            // The new options may name another store. If this fails, the store tries again when it is
            // dropped.
            let _ = winners.store().flush();
        }
        state.set_options(options, files)?;
        self.publish(state);
        Ok(())
    }

    /// Prepares the models for the current kernels. Otherwise the first two selections of a new registry do.
    ///
    /// From then on a call that changes kernels prepares them before selections see the change, so that
    /// selections do not wait. After many changes in a row without a selection, as when a pool is loaded, the
    /// next selection prepares them, or this function.
    pub fn prepare(&self) {
        let state = self.state();
        self.prepared(&state).compile();
    }

    /// Reads the winners that other processes have stored since the last time; true if there were any. Those
    /// of this registry that still wait are written; it is an error if they cannot be. It reads a file: call
    /// it now and then, not before each selection.
    pub fn refresh_store(&self) -> Result<bool, StoreError> {
        let state = self.state();
        let Ok(winners) = &self.prepared(&state).winners else { return Ok(false) };
        let known = Arc::clone(&winners.snapshot());
        let is_new = winners.refresh();
        // Winners may have been read despite an error.
        if !Arc::ptr_eq(&known, &winners.snapshot()) {
            // Remembered decisions do not include winners that were read since.
            self.forget_decisions();
        }
        is_new
    }

    /// The number of measured winners that wait to be written, and why the last use of the store failed.
    /// Waits while another thread uses the file. A registry that has not needed its store yet has not opened
    /// it.
    pub fn store_status(&self) -> StoreStatus {
        let state = self.state.load();
        let winners = state.known().and_then(|prepared| prepared.winners.as_ref().ok());
        winners.map(|winners| winners.store().status()).unwrap_or_default()
    }

    /// The data that are prepared for a state that a reader uses.
    pub(super) fn prepared<'s>(&self, state: &'s State) -> &'s Prepared {
        state.put_to_use();
        state.prepared(|earlier| self.prepare_for(state, earlier))
    }

    fn prepare_for(&self, state: &State, earlier: Option<&Prepared>) -> Prepared {
        Prepared::new(&state.inputs(), earlier, || self.slots.facts(state.options()))
    }

    /// Number of kernels.
    pub fn len(&self) -> usize {
        self.read(Kernels::len)
    }

    /// Whether there are no kernels.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Counts the changes: while it stays the same, so do the selections of a registry that does not measure.
    pub fn generation(&self) -> u64 {
        self.current.get()
    }

    /// The kernel at an index, in the order of registration.
    pub fn get(&self, index: usize) -> Option<Arc<Entry>> {
        self.read(|kernels| kernels.entries().get(index).cloned())
    }

    /// The index of the kernel with this name.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.read(|kernels| kernels.named(name).map(|(index, _)| index.get()))
    }

    /// A snapshot of all kernels, in the order of registration.
    pub fn kernels(&self) -> Vec<Arc<Entry>> {
        self.read(|kernels| kernels.entries().to_vec())
    }

    /// The part of an entry of this registry that callers keep.
    pub(crate) fn registered(&self, entry: &Entry) -> Registered<'_> {
        entry.registered(&self.names)
    }

    /// The registry's kernels of one operation as the JSON that CK's registry of that operation exports; see
    /// [`crate::pool::export_json`].
    pub fn export_json(&self, op: Op, options: &ExportOptions<'_>) -> serde_json::Result<String> {
        export_json(op, self.kernels().iter().map(|entry| entry.kernel()), options)
    }

    /// The state after the latest change. It may be newer, but not older, than the generation that is looked
    /// at first.
    pub(super) fn state(&self) -> Guard<Arc<State>> {
        let least = self.current.least();
        let state = self.state.load();
        if state.generation() >= least { state } else { self.bring_up_to_date(&self.turn()) }
    }

    /// Reads the kernels of the state, or the latest ones if the state is outdated, so that reading between
    /// changes does not build states.
    fn read<T>(&self, read: impl FnOnce(&Kernels) -> T) -> T {
        let least = self.current.least();
        let known = self.state.load();
        if known.generation() >= least { read(known.kernels()) } else { read(&self.turn().kernels) }
    }

    /// Builds a state from pending changes. Only the thread that has the turn does this.
    fn bring_up_to_date(&self, latest: &Latest) -> Guard<Arc<State>> {
        let state = self.state.load();
        let generation = self.current.get();
        if state.generation() == generation {
            return state;
        }
        let mut next = state.with_kernels(&latest.kernels);
        next.set_generation(generation);
        self.state.store(Arc::new(next));
        self.state.load()
    }

    /// A state to be changed and published. Until then readers continue with the current one.
    pub(super) fn successor(&self, latest: &Latest) -> State {
        State::clone(&self.bring_up_to_date(latest))
    }

    /// Waits for the other writers. A writer that panicked has changed nothing, so its turn can be taken
    /// over.
    pub(super) fn turn(&self) -> MutexGuard<'_, Latest> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends a turn that has changed kernels. Where selections are made, they are prepared here, while readers
    /// continue with the previous state; until the first selection, and while a pool is loaded, changes are
    /// only collected.
    fn announce(&self, mut latest: MutexGuard<'_, Latest>) {
        let state = self.state.load();
        latest.unseen = if state.is_in_use() { Some(0) } else { latest.unseen.map(|unseen| unseen + 1) };
        if latest.unseen.is_none_or(|unseen| unseen >= MOST_UNSEEN) {
            self.current.announce(self.current.get() + 1);
            return;
        }
        let next = state.with_kernels(&latest.kernels);
        next.prepared(|earlier| self.prepare_for(&next, earlier));
        self.publish(next);
    }

    /// Remembered decisions are made again.
    pub(super) fn forget_decisions(&self) {
        let latest = self.turn();
        self.publish(self.successor(&latest));
    }

    /// Publishes a turn's changes of anything but kernels; the turn continues.
    pub(super) fn publish(&self, mut state: State) {
        let generation = self.current.get() + 1;
        state.set_generation(generation);
        let state = Arc::new(state);
        // The old one is dropped later: that may take longer, and until then nothing is remembered.
        let replaced = self.current.publish(generation, || self.state.swap(state));
        drop(replaced);
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
