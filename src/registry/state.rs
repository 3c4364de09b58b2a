//! One state of a registry: immutable once it is published.
//!
//! A state is kernels, models and options of one moment, and what is prepared from them ([`Prepared`]). It is
//! cheap to make from another one: everything large is shared, and `earlier` hands what was compiled to the
//! next state, which reuses what still fits. Preparing happens once, at the first call that needs it or
//! before the state is published; `in_use` remembers whether any reader came, so that states that nobody saw
//! are not prepared.

use std::sync::{Arc, OnceLock};

use super::entry::Entry;
use super::index::{KernelIndex, ModelIndex};
use super::kernels::Kernels;
use super::options::{Options, OptionsError};
use super::overrides::Overrides;
use super::prepared::{Inputs, LoadedModel, Prepared};
use crate::capture::Capture;
use crate::directory::ModelKey;
use crate::directory::{Model, ModelError};
use crate::embedded;
use crate::estimate::GpuOverride;
use crate::problem::{Checked, Problem};
use crate::vocab::{Arch, Op};

/// The contents of the files that options name.
#[derive(Clone)]
pub(super) struct Files {
    overrides: Arc<Overrides>,
    capture: Option<Arc<Capture>>,
    gpu: Option<GpuOverride>,
}

impl Files {
    /// Reads them.
    pub(super) fn read(options: &Options) -> Result<Self, OptionsError> {
        Ok(Self {
            overrides: Arc::new(options.read_overrides()?),
            capture: options.open_capture()?,
            gpu: options.read_gpu()?,
        })
    }
}

/// One state of a registry.
#[derive(Clone)]
pub(super) struct State {
    generation: u64,
    kernels: Arc<Kernels>,
    models: Vec<LoadedModel>,
    /// Made on first use.
    prepared: OnceLock<Arc<Prepared>>,
    /// A reader has needed that.
    in_use: OnceLock<()>,
    /// The data that an earlier state had prepared, for reuse where they still fit.
    earlier: Option<Arc<Prepared>>,
    /// The options have changed since `earlier`, so that its winners no longer fit.
    reopens_winners: bool,
    /// Winners are measured between selections, too.
    tunes: bool,
    options: Options,
    files: Files,
}

/// The options, whose architecture is that of the given GPU if they name none: it decides about kernels
/// and models, too.
fn on_gpu(options: Options, gpu: Option<GpuOverride>) -> Options {
    Options { arch: options.arch.or(gpu.map(|gpu| gpu.arch)), ..options }
}

impl State {
    pub(super) fn new(options: Options, files: Files) -> Result<Self, OptionsError> {
        let options = on_gpu(options, files.gpu);
        let models = if options.embedded_models { embedded()? } else { Vec::new() };
        Ok(Self {
            generation: 0,
            kernels: Arc::default(),
            models,
            prepared: OnceLock::new(),
            in_use: OnceLock::new(),
            earlier: None,
            reopens_winners: false,
            tunes: false,
            options,
            files,
        })
    }

    pub(super) const fn generation(&self) -> u64 {
        self.generation
    }

    pub(super) const fn set_generation(&mut self, generation: u64) {
        self.generation = generation;
    }

    pub(super) const fn kernels(&self) -> &Arc<Kernels> {
        &self.kernels
    }

    /// The kernel at an index.
    pub(super) fn entry(&self, index: KernelIndex) -> Option<&Entry> {
        self.kernels.get(index).map(AsRef::as_ref)
    }

    pub(super) const fn options(&self) -> &Options {
        &self.options
    }

    /// Whether winners are measured: by selections, or between them.
    pub(super) fn measures(&self) -> bool {
        self.tunes || self.options.measures()
    }

    pub(super) const fn tunes(&self) -> bool {
        self.tunes
    }

    pub(super) fn set_tunes(&mut self) {
        self.tunes = true;
        self.unprepare();
        self.reopens_winners = true;
    }

    /// Captures a problem, if the options ask for it. Remembered decisions were captured when they were made,
    /// with the same options.
    pub(super) fn note(&self, problem: Checked<'_>) {
        if let Some(capture) = &self.files.capture {
            capture.note(problem);
        }
    }

    /// The GPU in the place of its architecture's profile.
    pub(super) const fn gpu(&self) -> Option<GpuOverride> {
        self.files.gpu
    }

    pub(super) fn overrides(&self) -> &Overrides {
        &self.files.overrides
    }

    /// This state with other kernels.
    pub(super) fn with_kernels(&self, kernels: &Arc<Kernels>) -> Self {
        let mut next = self.clone();
        next.kernels = Arc::clone(kernels);
        next.unprepare();
        next
    }

    pub(super) fn set_model(&mut self, key: ModelKey, model: Arc<Model>) {
        self.remove_model(&key);
        self.models.push(LoadedModel { key, model, embedded: false });
    }

    /// Removes a loaded model; built-in ones depend on the options.
    pub(super) fn remove_model(&mut self, key: &ModelKey) -> bool {
        let before = self.models.len();
        // Whether it chooses the number of parts, and whose kernels it ranks, is the model's, not its key's.
        let ModelKey { chooses_split, library, .. } = *key;
        let own = |known: &LoadedModel| ModelKey { chooses_split, library, ..known.key };
        self.models.retain(|known| known.embedded || own(known) != *key);
        self.unprepare();
        self.models.len() < before
    }

    pub(super) fn model_keys(&self) -> Vec<ModelKey> {
        self.models.iter().map(|loaded| loaded.key).collect()
    }

    pub(super) fn set_options(&mut self, options: Options, files: Files) -> Result<(), OptionsError> {
        if options.embedded_models != self.options.embedded_models {
            let embedded = if options.embedded_models { embedded()? } else { Vec::new() };
            self.models.retain(|known| !known.embedded);
            self.models.extend(embedded);
        }
        self.options = on_gpu(options, files.gpu);
        self.files = files;
        self.unprepare();
        // Compiled models are reused; the winners may have to come from elsewhere.
        self.reopens_winners = true;
        Ok(())
    }

    fn unprepare(&mut self) {
        self.in_use.take();
        if let Some(prepared) = self.prepared.take() {
            self.earlier = Some(prepared);
            self.reopens_winners = false;
        }
    }

    pub(super) fn models(&self) -> &[LoadedModel] {
        &self.models
    }

    /// The model that fits a problem best: one that was trained for such problems before a universal one,
    /// then a loaded one before a built-in one; among equals, the last loaded one. One that ranks a
    /// library's kernels fits where one of them computes the problem.
    pub(super) fn model_for(&self, problem: &Problem, arch: Option<Arch>) -> Option<ModelIndex> {
        let fit = |loaded: &LoadedModel| {
            Some((!loaded.model.is_universal(), !loaded.embedded, loaded.key.fit(problem, arch)?))
        };
        let all = self.models.iter().enumerate();
        let fits = all.filter_map(|(at, loaded)| {
            let fit = fit(loaded)?;
            self.has_kernels_for(at, loaded, problem, arch).then_some((fit, at))
        });
        fits.max().map(|(_, at)| ModelIndex::new(at))
    }

    fn has_kernels_for(
        &self,
        at: usize,
        loaded: &LoadedModel,
        problem: &Problem,
        arch: Option<Arch>,
    ) -> bool {
        let is_ranked =
            |entry: &Arc<Entry>| loaded.key.fits_kernel(entry.kernel()) && entry.is_eligible(problem, arch);
        // Most registries have no kernel of the library, as preparing has established.
        let prepared = || self.prepared.get().and_then(|prepared| prepared.model(ModelIndex::new(at)));
        loaded.key.library.is_none()
            || prepared().is_none_or(|model| model.ranker.is_ok())
                && self.kernels.entries().iter().any(is_ranked)
    }

    pub(super) fn model(&self, at: ModelIndex) -> Option<&LoadedModel> {
        self.models.get(at.get())
    }

    /// Notes that a reader needs the state.
    pub(super) fn put_to_use(&self) {
        self.in_use.get_or_init(|| ());
    }

    pub(super) fn is_in_use(&self) -> bool {
        self.in_use.get().is_some()
    }

    /// The inputs from which the state is prepared.
    pub(super) fn inputs(&self) -> Inputs<'_> {
        Inputs {
            kernels: &self.kernels,
            models: &self.models,
            gpu: self.files.gpu,
            options: &self.options,
            measures: self.measures(),
            reopens_winners: self.reopens_winners,
        }
    }

    /// The data that are prepared so far, for this state or for the last prepared one before it.
    pub(super) fn known(&self) -> Option<&Prepared> {
        self.prepared.get().or(self.earlier.as_ref()).map(Arc::as_ref)
    }

    #[cfg(test)]
    pub(super) fn is_prepared(&self) -> bool {
        self.prepared.get().is_some()
    }

    /// The prepared parts of the state. Only the first call after a change does the work; concurrent calls
    /// wait for it.
    pub(super) fn prepared(&self, make: impl FnOnce(Option<&Prepared>) -> Prepared) -> &Prepared {
        self.prepared.get_or_init(|| Arc::new(make(self.earlier.as_deref())))
    }
}

/// The models of this build.
fn embedded() -> Result<Vec<LoadedModel>, ModelError> {
    let mut loaded = Vec::new();
    for embedded in embedded::all() {
        let model = embedded.load()?;
        // A universal model also serves other operations that the estimate sees alike.
        let others = Op::ALL.iter().filter(|&&op| op != model.spec().op());
        let others: Vec<Model> = others.filter_map(|&op| model.for_op(op)).collect();
        let all = std::iter::once(model).chain(others);
        loaded.extend(all.map(|model| LoadedModel {
            key: ModelKey::new(model.spec()),
            model: Arc::new(model),
            embedded: true,
        }));
    }
    Ok(loaded)
}
