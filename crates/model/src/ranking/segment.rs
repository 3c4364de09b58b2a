//! A segment of a ranker: consecutive kernels of its pool, compiled together. A ranker has one, and others
//! for kernels that were added later, so that what was compiled before stays.

use std::ops::Range;
use std::sync::Arc;

use super::RankError;
use super::gpu::PerGpu;
use super::universal::{self, Universal};
use crate::directory::Model;
use crate::estimate::{Device, EstimatedKernels, GpuOverride, Place};
use crate::features::KernelTerms;
use crate::forest::Forest;
use crate::kernel::{Kernel, Limits};
use crate::problem::Problem;
use crate::scoring::{CallValues, PoolError, PoolFeatures, PoolScorer, PoolTable};
use crate::vocab::Arch;

/// Consecutive kernels of a ranker.
#[derive(Debug)]
pub(super) struct Segment {
    /// The kernels' indices in the pool.
    pub(super) indices: Range<usize>,
    /// The index in the pool of each kernel that is ranked, ascending. A kernel's index in this list is its place in
    /// the segment.
    pub(super) ranked: Vec<usize>,
    /// The ranked kernels, by place.
    pub(super) kernels: Arc<[Arc<Kernel>]>,
    /// The limits of each ranked kernel on extents and splits, by place.
    pub(super) limits: Vec<Limits>,
    pub(super) compiled: CompiledModel,
    /// The kernels on each GPU, for their times. A universal model has them already.
    estimated: PerGpu<EstimatedKernels>,
}

/// A model compiled for the kernels of a segment.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // a ranker has few
pub(super) enum CompiledModel {
    /// A model of columns that are the same on every GPU.
    Trained {
        terms: Vec<KernelTerms>,
        features: PoolFeatures,
        scorer: PoolScorer,
    },
    Universal(Universal),
}

/// The values of a problem for a segment.
#[derive(Debug, Default)]
pub(super) struct Values {
    pub(super) own: CallValues,
    pub(super) universal: universal::Values,
}

/// Kernels of a segment of added ones: so many are walked for together, faster than a forest is compiled.
pub(super) const ADDED: usize = 32;

impl Segment {
    /// Compiles the kernels at these indices. Beside a first segment, it is for that one's GPUs.
    pub(super) fn new(
        model: &Model,
        described: Option<GpuOverride>,
        (indices, ranked): (Range<usize>, Vec<usize>),
        kernels: Arc<[Arc<Kernel>]>,
        terms: Vec<KernelTerms>,
        first: Option<&Self>,
    ) -> Result<Self, RankError> {
        let estimated = match first {
            Some(first) => first.estimated.emptied(),
            None => PerGpu::new(model, described, kernels.iter().map(|kernel| kernel.kind.arch())),
        };
        let compiled = match first.map(|first| &first.compiled) {
            Some(CompiledModel::Universal(first)) => CompiledModel::Universal(first.beside(&kernels, terms)),
            _ if model.extractor().schema.universal_columns().is_some() => {
                CompiledModel::Universal(Universal::new(model, described, &kernels, terms)?)
            }
            None => compile(model, terms, PoolScorer::deferred)?,
            // Few kernels have their forest walked as it was read.
            Some(_) => compile(model, terms, PoolScorer::as_read)?,
        };
        let limits = kernels.iter().map(|kernel| kernel.kind.limits()).collect();
        let segment = Self { indices, ranked, kernels, limits, compiled, estimated };
        if let Some(first) = first {
            segment.prepare_gpus_of(first);
        }
        Ok(segment)
    }

    /// The place in the segment of a kernel of the pool, if it is ranked here.
    pub(super) fn place(&self, index: usize) -> Option<Place> {
        let offset = index.checked_sub(self.indices.start)?;
        // Mostly all kernels are ranked.
        let is_same = self.ranked.get(offset) == Some(&index);
        let offset = if is_same { offset } else { self.ranked.binary_search(&index).ok()? };
        Some(Place::new(offset))
    }

    /// Prepares for the GPUs that another one was used on.
    pub(super) fn prepare_gpus_of(&self, other: &Self) {
        if let (CompiledModel::Universal(own), CompiledModel::Universal(other)) =
            (&self.compiled, &other.compiled)
        {
            own.prepare_gpus_of(other);
        }
        self.estimated.make_those_of(&other.estimated, |device, _| self.estimated_on(device));
    }

    /// Compiles what was postponed.
    pub(super) fn prepare(&self) {
        match &self.compiled {
            CompiledModel::Trained { scorer, .. } => {
                self.estimated.each(|device, _| self.estimated_on(device), |_| ());
                scorer.prepare();
            }
            CompiledModel::Universal(universal) => universal.prepare(),
        }
    }

    /// The kernels on a problem's GPU; `None` for a GPU that the estimate does not know.
    pub(super) fn estimated(&self, problem: &Problem, arch: Option<Arch>) -> Option<&EstimatedKernels> {
        self.estimated.get(problem, arch, |device, _| self.estimated_on(device)).ok()
    }

    fn estimated_on(&self, device: Device) -> EstimatedKernels {
        EstimatedKernels::new(device, self.kernels.iter().map(|kernel| &kernel.kind))
    }

    /// Whether adding these kernels changes nothing for the segment's own: all name the same GPU or none, and a
    /// universal model trusts its forest as far as it has seen the kernels' libraries.
    pub(super) fn is_indifferent_to(&self, added: &[Arc<Kernel>]) -> bool {
        let arch = self.kernels.first().map(|kernel| kernel.kind.arch());
        let knows = |one: &Arc<Kernel>| match &self.compiled {
            CompiledModel::Universal(universal) => universal.has_library_of(&one.kind),
            CompiledModel::Trained { .. } => true,
        };
        added.iter().all(|one| Some(one.kind.arch()) == arch && knows(one))
    }
}

/// Compiles a model for kernels.
fn compile(
    model: &Model,
    terms: Vec<KernelTerms>,
    scorer: fn(&Arc<Forest>, &PoolTable<'_>) -> Result<PoolScorer, PoolError>,
) -> Result<CompiledModel, RankError> {
    let forest = model.ranking_forest().ok_or(RankError::NoForest)?;
    let features = PoolFeatures::new(model.extractor(), &terms)?;
    let scorer = scorer(forest, &features.table())?;
    Ok(CompiledModel::Trained { terms, features, scorer })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::Pool;
    use crate::scoring::MixedPool;

    /// The error is the actual cause.
    #[test]
    fn kernels_that_a_model_cannot_be_compiled_for_are_named() {
        let golden = |name: &str| format!("{}/../../tests/golden/models/{name}", env!("CARGO_MANIFEST_DIR"));
        let [conv, gemm] = ["conv_small", "gemm_small"].map(|name| Model::load(golden(name)).unwrap());
        let pool = Pool::read(golden("gemm_small/pool.txt")).unwrap();
        let of = |kernel: &Kernel| gemm.extractor().kernel_terms(&kernel.kind).unwrap();
        let terms: Vec<KernelTerms> = pool.iter().map(of).collect();
        assert!(compile(&gemm, terms.clone(), PoolScorer::deferred).is_ok());
        let error = compile(&conv, terms, PoolScorer::deferred).err().unwrap();
        assert_eq!(error, RankError::MixedPool(MixedPool { kernel: 0 }));
        assert_eq!(error.to_string(), "kernel 0 is for another operation than the features");
    }
}
