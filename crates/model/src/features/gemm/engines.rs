//! The engines of GEMMs.

use super::{FEATURES, GemmKernelTerms, GemmTerms, VECTOR};
use crate::features::engine::{Engines, NamedEngine, OperationEngines};
use crate::features::{Engine, Feature, PipelineCodes, Rules};
use crate::hardware::Hardware;
use crate::problem::GemmProblem;

impl OperationEngines for GemmProblem {
    const ENGINES: Engines = Engines {
        own: Engine::Gemm72,
        upstream: Engine::Gemm72,
        categories: &["layout", "pipeline", "scheduler", "epilogue"],
        hardware: Hardware::USUAL,
        named: &[
            NamedEngine::new("gemm_universal", "GemmUniversalFeatureEngine", Engine::Gemm72, 0),
            NamedEngine::new("gemm_universal_vec", "GemmUniversalVecFeatureEngine", Engine::Gemm78Vec, 1),
        ],
        all: &[
            (Engine::Gemm55, Rules { pipeline_codes: PipelineCodes::PythonFirst, ..Rules::CONV97 }, || {
                names(FEATURES).filter(|name| !ONLY_IN_72.contains(name)).collect()
            }),
            (Engine::Gemm72, Rules::CONV97, || names(FEATURES).collect()),
            (Engine::Gemm78Vec, Rules::CONV97, || names(FEATURES).chain(names(VECTOR)).collect()),
        ],
    };
}

const ONLY_IN_72: &[&str] = &[
    "ratio_M_to_tile_m", "ratio_N_to_tile_n", "ratio_K_to_tile_k", "problem_smaller_than_tile_m",
    "problem_smaller_than_tile_n", "problem_smaller_than_tile_k", "any_dim_too_small", "needs_padding_m",
    "needs_padding_n", "needs_padding_k", "has_padding_when_needed_m", "has_padding_when_needed_n",
    "has_padding_when_needed_k", "missing_required_padding_m", "missing_required_padding_n",
    "missing_required_padding_k", "missing_any_required_padding",
];

fn names(features: &'static [Feature<GemmTerms, GemmKernelTerms>]) -> impl Iterator<Item = &'static str> {
    features.iter().map(|feature| feature.name)
}
