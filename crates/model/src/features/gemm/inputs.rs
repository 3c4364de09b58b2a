//! What features know about a GEMM and its kernels.

use super::super::hardware::halves_lds;
use super::super::operation::OperationTerms;
use super::super::rules::{coded_element_bytes, coded_word};
use super::super::schema::SCHEDULERS;
use super::super::terms::KernelFeatures;
use super::super::{ElementBytes, Extractor, Feature, MemPads, Rules, Uncoded};
use super::vector::{ACCESS_DTYPES, VectorProblem, VectorWidths};
use super::{GemmBuild, GemmKernelTerms, GemmTerms};
use crate::kernel::{GemmKernel, Mnk};
use crate::problem::{GemmProblem, InvalidField};
use crate::vocab::{Dtype, Epilogue, GemmLayout, Pipeline};

/// Epilogues in the order of their numbers.
const EPILOGUES: &[&str] = &["default", "cshuffle"];

impl OperationTerms for GemmProblem {
    type Terms = GemmTerms;
    type KernelTerms = GemmKernelTerms;

    fn features() -> impl Iterator<Item = &'static Feature<GemmTerms, GemmKernelTerms>> {
        super::all()
    }

    fn terms(&self, extractor: &Extractor) -> Result<GemmTerms, InvalidField> {
        let letters = self.layout.letters();
        let layout = std::str::from_utf8(&letters).unwrap_or_default();
        let layout_code = || coded_word("layout", layout, GemmLayout::TRAINED, extractor.rules.uncoded);
        let terms = GemmTerms {
            m: self.m,
            n: self.n,
            k: self.k,
            split_k: self.split_k.into(),
            element_bytes: element_bytes(self.dtype_a.as_str(), extractor.rules)?,
            layout_code: extractor.schema.needs.layout.then(layout_code).unwrap_or(Ok(0.0))?,
            integers: self.dtype_a == Dtype::Int8,
            vector: extractor.schema.needs_vector().then(|| vector_problem(extractor, self)).transpose()?,
            batch: self.request.batch.max(1).into(),
            groups: self.request.groups,
            arithmetic_intensity: 0.0,
        };
        Ok(terms.with_intensity())
    }
}

impl KernelFeatures for GemmKernel {
    type Terms = GemmKernelTerms;

    fn terms(&self, extractor: &Extractor) -> Result<GemmKernelTerms, InvalidField> {
        let triple = |mnk: Mnk| [mnk.m, mnk.n, mnk.k].map(i64::from);
        let scheduler = self.scheduler.as_str();
        let scheduler_code = || coded_word("scheduler", scheduler, SCHEDULERS, extractor.rules.uncoded);
        let vector = extractor
            .schema
            .needs_vector()
            .then(|| VectorWidths { widths: self.vector.map(i64::from), epilogue: self.epilogue });
        Ok(GemmKernelTerms {
            tile: triple(self.tile),
            wave: triple(self.wave),
            warp_tile: triple(self.warp_tile),
            pipeline_code: extractor.pipeline_code(self.pipeline.as_str())?,
            half_lds: halves_lds(self.pipeline.as_str()),
            scheduler_code: extractor.schema.needs.scheduler.then(scheduler_code).unwrap_or(Ok(0.0))?,
            epilogue_code: epilogue_code(extractor, self.epilogue)?,
            pad: seen_pads(extractor.rules.mem_pads, self.pipeline.as_str(), self.pad),
            persistent: self.persistent,
            vector,
            build: GemmBuild::new(self),
        })
    }
}

fn element_bytes(word: &str, rules: Rules) -> Result<f64, InvalidField> {
    let other = if rules.element_bytes == ElementBytes::Python { 1.0 } else { 2.0 };
    coded_element_bytes(other, word, rules.uncoded)
}

/// The padding that features see of a kernel, whose name says `named`.
fn seen_pads(mem_pads: MemPads, pipeline: &str, named: [bool; 3]) -> [bool; 3] {
    if mem_pads == MemPads::All && pipeline == Pipeline::Mem.as_str() { [true; 3] } else { named }
}

fn vector_problem(extractor: &Extractor, problem: &GemmProblem) -> Result<VectorProblem, InvalidField> {
    let arch = problem.arch.or(extractor.arch).ok_or_else(|| {
        InvalidField::new("arch", "none", "an architecture such as gfx950, for the vector widths")
    })?;
    // Of a lenient row, only the extents are sure to be there.
    if extractor.rules.uncoded == Uncoded::Error {
        problem.validate()?;
    }
    let extents = [problem.m, problem.n, problem.k];
    VectorProblem::new(extents, problem.layout, problem.dtype_a, arch.wave_size()).ok_or_else(|| {
        InvalidField::new("dtype", problem.dtype_a, format!("one of {}", ACCESS_DTYPES.join(", ")))
    })
}

fn epilogue_code(extractor: &Extractor, epilogue: Epilogue) -> Result<f64, InvalidField> {
    // The engine with vector widths knows `tdm` and numbers it as `default`.
    if !extractor.schema.needs.epilogue || (extractor.schema.needs_vector() && epilogue == Epilogue::Tdm) {
        return Ok(0.0);
    }
    coded_word("epilogue", epilogue.as_str(), EPILOGUES, extractor.rules.uncoded)
}
