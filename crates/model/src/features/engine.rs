//! Schemas by name, upstream's and our own: which features, in which order, under which rules.

use super::conv::ONLY_IN_SUPERSET;
use super::gemm::{BUILD, VECTOR};
use super::{FmhaEncoding, Rules, conv, conv_work, fmha, gemm};
use crate::hardware::Hardware;
use crate::vocab::Op;
use ck_select_types::vocabulary;

vocabulary! {
    /// A schema of upstream's tools, or our own.
    Engine, "feature engine" {
        /// The first GEMM engine.
        Gemm55 = "gemm55",
        /// The current GEMM engine.
        Gemm72 = "gemm72",
        /// The current GEMM engine with vector widths.
        Gemm78Vec = "gemm78vec",
        /// The first convolution engine.
        Conv74 = "conv74",
        /// With groups and compv5.
        Conv83 = "conv83",
        /// With depth and dilation.
        Conv91 = "conv91",
        /// With wave mode, buffers and the newer pipelines.
        Conv97 = "conv97",
        /// With `gemm_k_per_block` and the log and wave features: 113.
        ConvSuperset = "conv_superset",
        /// The superset's selection for gfx90a and gfx942: 104.
        ConvGfx942 = "conv_gfx942",
        /// The superset's selection for gfx950: 72.
        ConvGfx950 = "conv_gfx950",
        /// Our own, for choosing: upstream's best features about sizes, and those of [`super::conv_work`].
        ConvSelect = "conv_select",
        /// [`Self::ConvSelect`], with the direction's own GEMM and what distinguishes `mem` and two-stage
        /// kernels.
        ConvWork = "conv_work",
        /// Attention as upstream's C++ header encodes it.
        Fmha68 = "fmha68",
        /// The same as its Python twin encodes it, with which its forest was trained.
        Fmha68Python = "fmha68_python",
    }
}

/// An engine that a spec names, by its operation or by its class.
pub(crate) struct NamedEngine {
    pub(crate) op_type: &'static str,
    pub(crate) class: &'static str,
    pub(crate) engine: Engine,
    pub(crate) encoding_version: i64,
}

const fn named(op_type: &'static str, class: &'static str, engine: Engine, version: i64) -> NamedEngine {
    NamedEngine { op_type, class, engine, encoding_version: version }
}

/// Those of upstream; a spec that names none is for the first.
pub(crate) const NAMED: [NamedEngine; 4] = [
    named("gemm_universal", "GemmUniversalFeatureEngine", Engine::Gemm72, 0),
    named("gemm_universal_vec", "GemmUniversalVecFeatureEngine", Engine::Gemm78Vec, 1),
    named("grouped_conv", "GroupedConvFeatureEngine", Engine::Conv97, 0),
    named("fmha", "FmhaFwdFeatureEngine", Engine::Fmha68Python, 0),
];

const GEMM_ONLY_IN_72: &[&str] = &[
    "ratio_M_to_tile_m", "ratio_N_to_tile_n", "ratio_K_to_tile_k", "problem_smaller_than_tile_m",
    "problem_smaller_than_tile_n", "problem_smaller_than_tile_k", "any_dim_too_small", "needs_padding_m",
    "needs_padding_n", "needs_padding_k", "has_padding_when_needed_m", "has_padding_when_needed_n",
    "has_padding_when_needed_k", "missing_required_padding_m", "missing_required_padding_n",
    "missing_required_padding_k", "missing_any_required_padding",
];

const CONV_NEW_IN_97: &[&str] = &["is_intrawave", "has_dsb", "has_si", "is_basic", "is_compv6", "is_mem"];
const CONV_NEW_IN_91: &[&str] = &["is_3d", "Di", "Z", "Do", "stride_d", "pad_d", "dilation_h", "dilation_w"];
const CONV_NEW_IN_83: &[&str] = &[
    "log2_channels_per_group", "log2_output_channels_per_group", "is_depthwise", "group_density",
    "is_small_group", "channels_product_per_group", "batch_group_product", "is_small_batch_grouped",
    "is_compv5",
];
const CONV_NOT_ON_GFX942: &[&str] = &[
    "log_num_tiles_m", "log_gemm_m_raw", "gemm_m_lt_num_cus", "log_gemm_m_over_num_cus", "log_cu_fill",
    "k_tiles_over_mn_tiles", "wave_quant_efficiency", "log_k_per_active_cu", "is_subwave",
];
const CONV_NOT_ON_GFX950: &[&str] = &[
    "log2_filter", "aspect_ratio_filter", "block_size", "pipeline", "num_warps", "is_compv3", "is_compv4",
    "is_compv5", "problem_smaller_than_tile_m", "problem_smaller_than_tile_n", "problem_smaller_than_tile_k",
    "is_mem_x_log_num_tiles_m", "gemm_m_lt_num_cus", "is_mem_x_log_gemm_m_raw", "waves_per_max_occ",
];

/// Upstream's features in our own schema. The pipeline's number and the flag of `compv3` are left out, so
/// that a pipeline that was never measured looks like compv3. So are wave mode and suffixes: kernels that
/// differ only in them have equal features, and so equal scores. So are images and extents: what a GEMM's
/// rows consist of improved no choice.
const CONV_SELECT: &[&str] = &[
    "C", "K", "stride_h", "arithmetic_intensity", "filter_area", "block_size", "gemm_m_per_block",
    "gemm_n_per_block", "gemm_k_per_block", "tile_volume", "tile_mn", "lds_usage_estimate", "is_compv4",
    "is_compv5", "gemm_m_output", "gemm_k_output", "num_tiles_m", "num_tiles_n", "num_tiles_k",
    "total_output_tiles", "tile_eff_m", "tile_eff_n", "tile_eff_k", "overall_tile_efficiency",
    "ratio_gemm_m_to_tile_m", "ratio_gemm_n_to_tile_n", "ratio_gemm_k_to_tile_k", "log_gemm_m_n_ratio",
    "wave_quant_efficiency", "log_k_per_active_cu",
];

impl Engine {
    /// The operation.
    pub const fn op(self) -> Op {
        match self {
            Self::Gemm55 | Self::Gemm72 | Self::Gemm78Vec => Op::Gemm,
            Self::Fmha68 | Self::Fmha68Python => Op::Fmha,
            _ => Op::Conv,
        }
    }

    /// The engine for models of a user's own GPU, that of upstream's newest trainer, and the columns that
    /// upstream's trainers treat as categorical.
    const fn by_operation(op: Op) -> (Self, Self, &'static [&'static str]) {
        match op {
            Op::Conv => (Self::ConvWork, Self::Conv97, &["pipeline"]),
            Op::Gemm => (Self::Gemm72, Self::Gemm72, &["layout", "pipeline", "scheduler", "epilogue"]),
            Op::Fmha => {
                let categories = &["dtype", "pipeline", "mask", "bias", "qscale"];
                (Self::Fmha68Python, Self::Fmha68Python, categories)
            }
        }
    }

    /// The default for models of a user's own GPU: everything that distinguishes kernels.
    pub const fn of_op(op: Op) -> Self {
        Self::by_operation(op).0
    }

    /// The engine of upstream's newest trainer.
    pub const fn of_upstream(op: Op) -> Self {
        Self::by_operation(op).1
    }

    /// The columns that upstream's trainers treat as categorical.
    pub const fn categories(op: Op) -> &'static [&'static str] {
        Self::by_operation(op).2
    }

    /// Whether upstream has no such engine.
    pub const fn is_ours(self) -> bool {
        matches!(self, Self::ConvSelect | Self::ConvWork)
    }

    /// The rules of the upstream version that this schema comes from; our own schemas follow the newest.
    pub const fn rules(self) -> Rules {
        match self {
            Self::ConvSuperset | Self::ConvGfx942 | Self::ConvGfx950 | Self::ConvSelect | Self::ConvWork => {
                Rules::SUPERSET
            }
            Self::Fmha68 => Rules { fmha_encoding: FmhaEncoding::Header, ..Rules::CONV97 },
            Self::Gemm55 => Rules { pipeline_codes: super::PipelineCodes::PythonFirst, ..Rules::CONV97 },
            _ => Rules::CONV97,
        }
    }

    /// The constants of the GPU that upstream's tools assume with it: attention's tools do not know that an
    /// MI355X has 256 compute units.
    pub fn hardware(self) -> Hardware {
        let usual = Hardware::default();
        if self.op() == Op::Fmha { Hardware { num_cus: 304, ..usual } } else { usual }
    }

    /// The features, in upstream's order if the schema is upstream's.
    pub fn feature_names(self) -> Vec<&'static str> {
        let conv = |dropped: &[&[&str]]| -> Vec<&'static str> {
            let kept = |name: &&str| !dropped.iter().any(|list| list.contains(name));
            conv::FEATURES.iter().map(|f| f.name).filter(kept).collect()
        };
        let gemm = |dropped: &[&str]| -> Vec<&'static str> {
            let kept = |name: &&str| ![dropped, VECTOR, BUILD].iter().any(|list| list.contains(name));
            gemm::FEATURES.iter().map(|f| f.name).filter(kept).collect()
        };
        let own = |dropped: &'static [&str]| {
            let names = conv_work::FEATURES.iter().map(|f| f.name);
            CONV_SELECT.iter().copied().chain(names.filter(|name| !dropped.contains(name)))
        };
        let hardware = || conv::FEATURES.iter().map(|f| f.name).filter(|name| name.starts_with("hw_"));
        match self {
            Self::ConvSelect => own(conv_work::OF_DIRECTIONS).collect(),
            Self::ConvWork => own(&[]).chain(["is_mem"]).collect(),
            Self::Fmha68 | Self::Fmha68Python => fmha::FEATURES.iter().map(|f| f.name).collect(),
            Self::Gemm55 => gemm(GEMM_ONLY_IN_72),
            Self::Gemm72 => gemm(&[]),
            Self::Gemm78Vec => [gemm(&[]), VECTOR.to_vec()].concat(),
            Self::Conv74 => conv(&[ONLY_IN_SUPERSET, CONV_NEW_IN_97, CONV_NEW_IN_91, CONV_NEW_IN_83]),
            Self::Conv83 => conv(&[ONLY_IN_SUPERSET, CONV_NEW_IN_97, CONV_NEW_IN_91]),
            Self::Conv91 => conv(&[ONLY_IN_SUPERSET, CONV_NEW_IN_97]),
            Self::Conv97 => conv(&[ONLY_IN_SUPERSET]),
            Self::ConvSuperset => conv(&[]),
            Self::ConvGfx942 => conv(&[CONV_NOT_ON_GFX942]),
            Self::ConvGfx950 => {
                let hardware: Vec<_> = hardware().collect();
                conv(&[CONV_NOT_ON_GFX950, CONV_NEW_IN_97, CONV_NEW_IN_91, &hardware])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_have_the_sizes_that_their_models_have() {
        let sizes = Engine::ALL.iter().map(|engine| engine.feature_names().len()).collect::<Vec<_>>();
        assert_eq!(sizes, [55, 72, 78, 74, 83, 91, 97, 113, 104, 72, 62, 68, 68, 68]);
        for &engine in Engine::ALL {
            assert_eq!(engine.as_str().parse(), Ok(engine));
        }
    }

    #[test]
    fn rules_follow_from_names_as_from_engines() {
        // Names do not tell the two encodings of attention apart.
        for &engine in Engine::ALL.iter().filter(|engine| **engine != Engine::Fmha68) {
            assert_eq!(Rules::of_upstream(&engine.feature_names()), engine.rules(), "{}", engine.as_str());
        }
    }

    #[test]
    fn orders_are_upstreams() {
        assert_eq!(
            &Engine::Conv74.feature_names()[28..33],
            &["aspect_ratio_hw", "aspect_ratio_filter", "block_size", "gemm_m_per_block", "gemm_n_per_block"]
        );
        let gfx950 = Engine::ConvGfx950.feature_names();
        assert_eq!((gfx950[21], gfx950[36], gfx950[71]), ("log2_output", "K_per_C", "is_subwave"));
        assert_eq!(Engine::Gemm78Vec.feature_names()[72..].to_vec(), VECTOR);
    }
}
