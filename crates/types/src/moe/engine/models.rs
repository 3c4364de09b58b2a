//! Models whose tables engines ship. A table's name says experts and width of a rank, but neither the hidden
//! size nor how many experts a token has: those are the known model's that has such ranks.

use std::cmp::Reverse;

use super::key::TableKey;
use super::words::QuantTypes;

/// A model with experts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownModel {
    /// The model's name.
    pub name: &'static str,
    /// Experts.
    pub experts: u32,
    /// Experts of a token.
    pub topk: u32,
    /// Elements of a token.
    pub hidden: u32,
    /// Width of an expert.
    pub width: u32,
}

const fn model(name: &'static str, [experts, topk, hidden, width]: [u32; 4]) -> KnownModel {
    KnownModel { name, experts, topk, hidden, width }
}

/// The models; the first counts that has a rank. Before others of as many experts stand those that are served
/// most.
pub const MODELS: [KnownModel; 38] = [
    model("Mixtral-8x7B", [8, 2, 4096, 14336]),
    model("Mixtral-8x22B", [8, 2, 6144, 16384]),
    model("Phi-3.5-MoE", [16, 2, 4096, 6400]),
    model("Jamba", [16, 2, 4096, 14336]),
    model("Jamba-1.5-Large", [16, 2, 8192, 24576]),
    model("DBRX", [16, 4, 6144, 10752]),
    model("Llama-4-Scout", [16, 1, 5120, 8192]),
    model("gpt-oss-20b", [32, 4, 2880, 2880]),
    model("LFM2-8B-A1B", [32, 4, 2048, 1792]),
    model("Granite-3.0-1B-A400M", [32, 8, 1024, 512]),
    model("Qwen1.5-MoE-A2.7B", [60, 4, 2048, 1408]),
    model("DeepSeek-V2-Lite", [64, 6, 2048, 1408]),
    model("Qwen2-57B-A14B", [64, 8, 3584, 2560]),
    model("OLMoE-1B-7B", [64, 8, 2048, 1024]),
    model("ERNIE-4.5-300B-A47B", [64, 8, 8192, 3584]),
    model("GLM-4.7-Flash", [64, 4, 2048, 1536]),
    model("ERNIE-4.5-21B-A3B", [64, 6, 2560, 1536]),
    model("Hunyuan-A13B", [64, 8, 4096, 3072]),
    model("Qwen3-30B-A3B", [128, 8, 2048, 768]),
    model("Qwen3-235B-A22B", [128, 8, 4096, 1536]),
    model("GLM-4.5-Air", [128, 8, 4096, 1408]),
    model("Llama-4-Maverick", [128, 1, 5120, 8192]),
    model("gpt-oss-120b", [128, 4, 2880, 2880]),
    model("Nemotron-3-Nano", [128, 6, 2688, 1856]),
    model("GLM-4.5", [160, 8, 5120, 1536]),
    model("Qwen3-Coder-480B-A35B", [160, 8, 6144, 2560]),
    model("Hunyuan-V3", [192, 8, 4096, 1536]),
    model("DeepSeek-V3", [256, 8, 7168, 2048]),
    model("Qwen3.5-35B-A3B", [256, 8, 2048, 512]),
    model("MiniMax-M2", [256, 8, 3072, 1536]),
    model("Qwen3.5-122B-A10B", [256, 8, 3072, 1024]),
    model("Step-3.5-Flash", [288, 8, 4096, 1280]),
    model("Kimi-K2", [384, 8, 7168, 2048]),
    model("DeepSeek-V4-Pro", [384, 6, 7168, 3072]),
    model("Qwen3-Next-80B-A3B", [512, 10, 2048, 512]),
    model("Qwen3.5-397B-A17B", [512, 10, 4096, 1024]),
    model("Nemotron-3-Super", [512, 22, 1024, 2688]),
    model("LongCat-Flash", [512, 12, 6144, 2048]),
];

/// How a rank comes to its experts, the surest first.
const RANKS: [fn(&KnownModel, u32, u32) -> bool; 4] = [has_parts, has_shared, has_spare, has_some_experts];

impl KnownModel {
    /// The model of a table, if one is known that has such ranks.
    pub fn from_table(key: &TableKey) -> Option<Self> {
        // Of models as wide, the larger ones come in 8 bits.
        let is_large =
            key.block.is_some() || matches!(key.types, Some(QuantTypes::Int4W4a16 | QuantTypes::Int8W8a8));
        let rank = |is: fn(&Self, u32, u32) -> bool| {
            let fits = MODELS.iter().filter(|model| is(model, key.experts, key.width));
            if is_large {
                fits.min_by_key(|model| Reverse(model.hidden))
            } else {
                fits.min_by_key(|model| model.width / key.width)
            }
        };
        let (model, is_shared) =
            RANKS.iter().enumerate().find_map(|(index, is)| Some((rank(*is)?, index == 1)))?;
        Some(Self { topk: model.topk + u32::from(is_shared), ..*model })
    }
}

/// Whether ranks of tensor parallelism have this width.
fn has_width(model: &KnownModel, width: u32) -> bool {
    model.width.is_multiple_of(width) && model.width / width <= 32
}

/// All experts, each in parts.
fn has_parts(model: &KnownModel, experts: u32, width: u32) -> bool {
    model.experts == experts && has_width(model, width)
}

/// The shared expert as one more.
fn has_shared(model: &KnownModel, experts: u32, width: u32) -> bool {
    model.experts + 1 == experts && has_width(model, width)
}

/// Some experts twice, so that ranks are equally busy.
fn has_spare(model: &KnownModel, experts: u32, width: u32) -> bool {
    let spare = experts.saturating_sub(model.experts);
    (1..=model.experts / 8).contains(&spare) && experts.is_multiple_of(4) && has_width(model, width)
}

/// A rank of expert parallelism, perhaps with spare experts.
fn has_some_experts(model: &KnownModel, experts: u32, width: u32) -> bool {
    let mut all = [0, model.experts / 8].into_iter().map(|spare| model.experts + spare);
    all.any(|all| all > experts && all.is_multiple_of(experts)) && has_width(model, width)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const H200: &str = "device_name=NVIDIA_H200";

    #[test]
    fn ranks_are_those_of_known_models() {
        let of = |name: &str| {
            let (_, key) = TableKey::from_path(Path::new(&format!("{name}.json"))).unwrap();
            KnownModel::from_table(&key).map(|model| (model.name, model.topk))
        };
        for (rank, expected) in [
            (format!("E=8,N=3584,{H200}"), Some(("Mixtral-8x7B", 2))),
            (format!("E=8,N=8192,{H200}"), Some(("Mixtral-8x22B", 2))),
            (format!("E=1,N=14336,{H200}"), Some(("Mixtral-8x7B", 2))),
            (format!("E=128,N=768,{H200}"), Some(("Qwen3-30B-A3B", 8))),
            (
                format!("E=128,N=384,{H200},dtype=fp8_w8a8,block_shape=[128,128]"),
                Some(("Qwen3-235B-A22B", 8)),
            ),
            (
                format!("E=257,N=256,{H200},dtype=fp8_w8a8,block_shape=[128, 128]_down"),
                Some(("DeepSeek-V3", 9)),
            ),
            (format!("E=264,N=256,{H200},dtype=fp8_w8a8,block_shape=[128, 128]"), Some(("DeepSeek-V3", 8))),
            (format!("E=72,N=2048,{H200},dtype=fp8_w8a8,block_shape=[128, 128]"), Some(("DeepSeek-V3", 8))),
            (format!("E=384,N=128,{H200},dtype=int4_w4a16_down"), Some(("Kimi-K2", 8))),
            (format!("E=161,N=192,{H200},dtype=fp8_w8a8"), Some(("GLM-4.5", 9))),
            (format!("E=256,N=512,{H200}"), Some(("Qwen3.5-35B-A3B", 8))),
            (format!("E=17,N=333,{H200}"), None),
        ] {
            assert_eq!(of(&rank), expected, "{rank}");
        }
    }
}
