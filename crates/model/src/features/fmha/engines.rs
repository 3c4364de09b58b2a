//! The engines of attention.

use super::FEATURES;
use crate::features::engine::{Engines, NamedEngine, OperationEngines};
use crate::features::{Engine, FmhaEncoding, Rules};
use crate::hardware::Hardware;
use crate::problem::FmhaProblem;

impl OperationEngines for FmhaProblem {
    const ENGINES: Engines = Engines {
        own: Engine::Fmha68Python,
        upstream: Engine::Fmha68Python,
        categories: &["dtype", "pipeline", "mask", "bias", "qscale"],
        // Attention's tools do not know that an MI355X has 256 compute units.
        hardware: Hardware { num_cus: 304, ..Hardware::USUAL },
        named: &[NamedEngine::new("fmha", "FmhaFwdFeatureEngine", Engine::Fmha68Python, 0)],
        all: &[
            (Engine::Fmha68, Rules { fmha_encoding: FmhaEncoding::Header, ..Rules::CONV97 }, names),
            (Engine::Fmha68Python, Rules::CONV97, names),
        ],
    };
}

fn names() -> Vec<&'static str> {
    FEATURES.iter().map(|feature| feature.name).collect()
}
