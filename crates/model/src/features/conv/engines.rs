//! The engines of grouped convolutions.

use super::{FEATURES, work};
use crate::features::engine::{Engines, NamedEngine, Needs, OperationEngines, Telltale};
use crate::features::{Engine, Rules};
use crate::hardware::Hardware;
use crate::problem::ConvProblem;

impl OperationEngines for ConvProblem {
    const ENGINES: Engines = Engines {
        own: Engine::ConvWork,
        forward: Engine::ConvSelect,
        upstream: Engine::Conv97,
        categories: &["pipeline"],
        hardware: Hardware::USUAL,
        least_constant: 1,
        bare: None,
        telltales: &[Telltale { names: ONLY_IN_SUPERSET, columns: None, rules: Rules::SUPERSET }],
        named: &[NamedEngine::new("grouped_conv", "GroupedConvFeatureEngine", Engine::Conv97, 0)],
        all: &[
            (Engine::Conv74, Rules::CONV97, || without(&[ONLY_IN_SUPERSET, NEW_IN_97, NEW_IN_91, NEW_IN_83])),
            (Engine::Conv83, Rules::CONV97, || without(&[ONLY_IN_SUPERSET, NEW_IN_97, NEW_IN_91])),
            (Engine::Conv91, Rules::CONV97, || without(&[ONLY_IN_SUPERSET, NEW_IN_97])),
            (Engine::Conv97, Rules::CONV97, || without(&[ONLY_IN_SUPERSET])),
            (Engine::ConvSuperset, Rules::SUPERSET, || without(&[])),
            (Engine::ConvGfx942, Rules::SUPERSET, || without(&[NOT_ON_GFX942])),
            (Engine::ConvGfx950, Rules::SUPERSET, || {
                without(&[NOT_ON_GFX950, NEW_IN_97, NEW_IN_91, &hardware()])
            }),
            (Engine::ConvSelect, Rules::SUPERSET, || own(work::OF_DIRECTIONS).collect()),
            (Engine::ConvWork, Rules::SUPERSET, || own(&[]).chain(["is_mem"]).collect()),
        ],
    };

    fn needs(has: impl Fn(&str) -> bool) -> Needs {
        Needs { own: work::FEATURES.iter().any(|feature| has(feature.name)), ..Needs::default() }
    }
}

/// Names that only the 113 line of upstream's engines has.
const ONLY_IN_SUPERSET: &[&str] = &[
    "K_per_C", "gemm_k_per_block", "log_gemm_m_n_ratio", "log_total_output_tiles", "log_num_tiles_m",
    "is_mem_x_log_num_tiles_m", "log_gemm_m_raw", "gemm_m_lt_num_cus", "log_gemm_m_over_num_cus",
    "is_mem_x_log_gemm_m_raw", "log_cu_fill", "k_tiles_over_mn_tiles", "waves_per_max_occ",
    "wave_quant_efficiency", "log_k_per_active_cu", "is_subwave",
];
const NEW_IN_97: &[&str] = &["is_intrawave", "has_dsb", "has_si", "is_basic", "is_compv6", "is_mem"];
const NEW_IN_91: &[&str] = &["is_3d", "Di", "Z", "Do", "stride_d", "pad_d", "dilation_h", "dilation_w"];
const NEW_IN_83: &[&str] = &[
    "log2_channels_per_group", "log2_output_channels_per_group", "is_depthwise", "group_density",
    "is_small_group", "channels_product_per_group", "batch_group_product", "is_small_batch_grouped",
    "is_compv5",
];
const NOT_ON_GFX942: &[&str] = &[
    "log_num_tiles_m", "log_gemm_m_raw", "gemm_m_lt_num_cus", "log_gemm_m_over_num_cus", "log_cu_fill",
    "k_tiles_over_mn_tiles", "wave_quant_efficiency", "log_k_per_active_cu", "is_subwave",
];
const NOT_ON_GFX950: &[&str] = &[
    "log2_filter", "aspect_ratio_filter", "block_size", "pipeline", "num_warps", "is_compv3", "is_compv4",
    "is_compv5", "problem_smaller_than_tile_m", "problem_smaller_than_tile_n", "problem_smaller_than_tile_k",
    "is_mem_x_log_num_tiles_m", "gemm_m_lt_num_cus", "is_mem_x_log_gemm_m_raw", "waves_per_max_occ",
];

/// Upstream's features in our own schema. The pipeline's number and the flag of `compv3` are left out, so
/// that a pipeline that was never measured looks like compv3. So are wave mode and suffixes: kernels that
/// differ only in them have equal features, and so equal scores. So are images and extents: what a GEMM's
/// rows consist of improved no choice.
const SELECT: &[&str] = &[
    "C", "K", "stride_h", "arithmetic_intensity", "filter_area", "block_size", "gemm_m_per_block",
    "gemm_n_per_block", "gemm_k_per_block", "tile_volume", "tile_mn", "lds_usage_estimate", "is_compv4",
    "is_compv5", "gemm_m_output", "gemm_k_output", "num_tiles_m", "num_tiles_n", "num_tiles_k",
    "total_output_tiles", "tile_eff_m", "tile_eff_n", "tile_eff_k", "overall_tile_efficiency",
    "ratio_gemm_m_to_tile_m", "ratio_gemm_n_to_tile_n", "ratio_gemm_k_to_tile_k", "log_gemm_m_n_ratio",
    "wave_quant_efficiency", "log_k_per_active_cu",
];

/// Upstream's features but those of these lists.
fn without(dropped: &[&[&str]]) -> Vec<&'static str> {
    let kept = |name: &&str| !dropped.iter().any(|list| list.contains(name));
    FEATURES.iter().map(|feature| feature.name).filter(kept).collect()
}

/// Upstream's best features, and our own but these.
fn own(dropped: &'static [&str]) -> impl Iterator<Item = &'static str> {
    let names = work::FEATURES.iter().map(|feature| feature.name);
    SELECT.iter().copied().chain(names.filter(|name| !dropped.contains(name)))
}

fn hardware() -> Vec<&'static str> {
    FEATURES.iter().map(|feature| feature.name).filter(|name| name.starts_with("hw_")).collect()
}
