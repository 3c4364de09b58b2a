//! Tables of mixtures of experts that other programs load: vLLM, SGLang and AITER.

pub(super) mod engine;
pub(super) mod fmoe;
mod stages;
