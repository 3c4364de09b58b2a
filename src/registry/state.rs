//! One state of a registry: immutable once it is published.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::{Entry, ModelKey, Options, OptionsError, Overrides, Priority};
use crate::model::Model;
use crate::pool::Pool;
use crate::problem::Problem;
use crate::select::Ranker;
use crate::vocab::Arch;

/// One state of a registry. Kernels are numbered by their place in the registry's arena (`id`), their order of
/// registration is their place in `ids`.
#[derive(Debug, Clone)]
pub(super) struct State {
    generation: u64,
    ids: Vec<usize>,
    places: HashMap<Arc<str>, usize>,
    /// Places by priority, the highest first, then by order of registration.
    by_priority: Vec<(Priority, usize)>,
    models: Vec<(ModelKey, Arc<Model>)>,
    /// One for each model, made on first use.
    prepared: OnceLock<Arc<[Prepared]>>,
    options: Options,
    overrides: Arc<Overrides>,
}

/// A model prepared for the kernels of a state that it can describe.
#[derive(Debug)]
pub(super) struct Prepared {
    /// `None` when the model can rank none of the kernels.
    pub(super) ranker: Option<Ranker>,
    /// The place of each of the ranker's kernels.
    pub(super) places: Vec<usize>,
    /// Places of kernels that the model's features cannot describe, with the reason.
    pub(super) left_out: Vec<(usize, String)>,
}

impl State {
    pub(super) fn new(options: Options) -> Result<Self, OptionsError> {
        let overrides = Arc::new(options.read_overrides()?);
        Ok(Self {
            generation: 0,
            ids: Vec::new(),
            places: HashMap::new(),
            by_priority: Vec::new(),
            models: Vec::new(),
            prepared: OnceLock::new(),
            options,
            overrides,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(super) const fn generation(&self) -> u64 {
        self.generation
    }

    pub(super) const fn next_generation(&mut self) {
        self.generation += 1;
    }

    pub(super) fn ids(&self) -> &[usize] {
        &self.ids
    }

    pub(super) const fn options(&self) -> &Options {
        &self.options
    }

    pub(super) fn overrides(&self) -> &Overrides {
        &self.overrides
    }

    pub(super) fn by_priority(&self) -> impl Iterator<Item = usize> + '_ {
        self.by_priority.iter().map(|&(_, place)| place)
    }

    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }

    /// Puts a kernel at the end, or in the place of the one with its name.
    pub(super) fn insert(&mut self, name: &str, priority: Priority, id: usize) {
        let place = if let Some(&place) = self.places.get(name) {
            self.ids[place] = id;
            self.by_priority.retain(|&(_, known)| known != place);
            place
        } else {
            self.places.insert(name.into(), self.ids.len());
            self.ids.push(id);
            self.ids.len() - 1
        };
        let at = self
            .by_priority
            .partition_point(|&(known, at)| known > priority || (known == priority && at < place));
        self.by_priority.insert(at, (priority, place));
        self.prepared = OnceLock::new();
    }

    /// Keeps the kernels that `keep` wants; `name` tells the name of one.
    pub(super) fn retain<'e>(
        &mut self,
        mut keep: impl FnMut(usize) -> bool,
        name: impl Fn(usize) -> &'e str,
    ) {
        let mut new_places = vec![None; self.ids.len()];
        let mut kept = Vec::with_capacity(self.ids.len());
        for (place, &id) in self.ids.iter().enumerate() {
            if keep(id) {
                new_places[place] = Some(kept.len());
                kept.push(id);
            }
        }
        self.ids = kept;
        self.places = self.ids.iter().enumerate().map(|(place, &id)| (name(id).into(), place)).collect();
        self.by_priority = self
            .by_priority
            .iter()
            .filter_map(|&(priority, place)| new_places[place].map(|place| (priority, place)))
            .collect();
        self.prepared = OnceLock::new();
    }

    pub(super) fn set_model(&mut self, key: ModelKey, model: Arc<Model>) {
        self.remove_model(&key);
        self.models.push((key, model));
    }

    pub(super) fn remove_model(&mut self, key: &ModelKey) -> bool {
        let before = self.models.len();
        self.models.retain(|(known, _)| known != key);
        self.prepared = OnceLock::new();
        self.models.len() < before
    }

    pub(super) fn model_keys(&self) -> Vec<ModelKey> {
        self.models.iter().map(|(key, _)| *key).collect()
    }

    pub(super) fn set_options(&mut self, options: Options, overrides: Overrides) {
        self.options = options;
        self.overrides = Arc::new(overrides);
    }

    /// The model that fits a problem best; of equals, the one that was loaded last.
    pub(super) fn model_for(&self, problem: &Problem, arch: Option<Arch>) -> Option<usize> {
        let fits =
            self.models.iter().enumerate().filter_map(|(at, (key, _))| Some((key.fit(problem, arch)?, at)));
        fits.max().map(|(_, at)| at)
    }

    pub(super) fn model(&self, at: usize) -> Option<&(ModelKey, Arc<Model>)> {
        self.models.get(at)
    }

    /// The models, prepared. Only the first call after a change works; others at the same time wait for it.
    pub(super) fn prepare(&self, entries: &boxcar::Vec<Entry>) -> &[Prepared] {
        self.prepared
            .get_or_init(|| self.models.iter().map(|(_, model)| self.prepared(model, entries)).collect())
    }

    fn prepared(&self, model: &Arc<Model>, entries: &boxcar::Vec<Entry>) -> Prepared {
        let (mut kernels, mut places, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
        for (place, &id) in self.ids.iter().enumerate() {
            let Some(entry) = entries.get(id) else { continue };
            if entry.kernel().op() != model.spec().op() {
                continue;
            }
            match model.extractor().kernel_side(&entry.kernel().kind) {
                Ok(_) => {
                    kernels.push(entry.kernel().clone());
                    places.push(place);
                }
                Err(reason) => left_out.push((place, reason.to_string())),
            }
        }
        let ranker = Pool::new(kernels).ok().and_then(|pool| Ranker::new(model.clone(), Arc::new(pool)).ok());
        Prepared { ranker, places, left_out }
    }
}
