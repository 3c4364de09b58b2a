//! Between tables and values: configurations and kernels, keys and problems.

use super::checkpoint::{Checkpoint, ExpertLayer, Parallelism};
use super::config::{ConfigKey, TritonConfig};
use super::device::EngineDevice;
use super::key::TableKey;
use super::models::KnownModel;
use super::words::{Engine, QuantTypes};
use crate::invalid::InvalidField;
use crate::moe::{MoeKernel, MoeProblem};
use crate::shape::Mnk;
use crate::vocab::{Dtype, MoeQuant, MoeStage};

/// The element types of rows and weights, with the word of tables. 16-bit floats of either kind have none.
const OPERANDS: [([Dtype; 2], Option<QuantTypes>); 8] = [
    ([Dtype::Bf16, Dtype::Bf16], None),
    ([Dtype::Fp16, Dtype::Fp16], None),
    ([Dtype::Fp32, Dtype::Fp32], Some(QuantTypes::Float32)),
    ([Dtype::Fp8, Dtype::Fp8], Some(QuantTypes::Fp8W8a8)),
    ([Dtype::Bf16, Dtype::Fp8], Some(QuantTypes::Fp8W8a16)),
    ([Dtype::Int8, Dtype::Int8], Some(QuantTypes::Int8W8a8)),
    ([Dtype::Bf16, Dtype::Int8], Some(QuantTypes::Int8W8a16)),
    ([Dtype::Bf16, Dtype::Int4], Some(QuantTypes::Int4W4a16)),
];

/// The types of rows and weights of a table's word.
pub(super) fn operands(types: Option<QuantTypes>) -> [Dtype; 2] {
    OPERANDS.iter().find(|(_, word)| *word == types).map_or([Dtype::Bf16; 2], |(operands, _)| *operands)
}

/// A problem with its types and what shares a scale.
fn stored(
    problem: MoeProblem,
    [dtype_a, dtype_b]: [Dtype; 2],
    (types, block, per_channel): (Option<QuantTypes>, Option<[u32; 2]>, bool),
) -> MoeProblem {
    let quant = match types {
        _ if block.is_some() => MoeQuant::Block,
        None | Some(QuantTypes::Float32) => MoeQuant::None,
        Some(QuantTypes::Fp8W8a8) if !per_channel => MoeQuant::Tensor,
        _ => MoeQuant::Token,
    };
    let [block_n, block_k] = block.unwrap_or_default().map(|side| side.try_into().unwrap_or(u16::MAX));
    MoeProblem { dtype_a, dtype_b, quant, block_n, block_k, ..problem }
}

impl ExpertLayer {
    /// The products of a stage, in 16-bit floats. A token has no more of a rank's experts than there are.
    fn problem(&self, stage: MoeStage, tokens: u32) -> MoeProblem {
        let Self { experts, topk, hidden, width } = *self;
        let topk = topk.min(experts);
        let extents = if stage == MoeStage::Two { [hidden, width] } else { [2 * width, hidden] };
        MoeProblem::new(stage, tokens.into(), [experts, topk].map(i64::from), extents.map(i64::from))
    }
}

impl Checkpoint {
    /// The problems of a GPU, of both stages and one token.
    pub fn problems(
        &self,
        engine: Engine,
        parallelism: Parallelism,
    ) -> Result<Vec<MoeProblem>, InvalidField> {
        let types = if self.types.is_none() { [self.dtype; 2] } else { operands(self.types) };
        let of = |layer: ExpertLayer| {
            stored(layer.problem(MoeStage::Both, 1), types, (self.types, self.block, self.per_channel))
        };
        Ok(self.layers(engine, parallelism)?.into_iter().map(of).collect())
    }
}

impl TableKey {
    /// The key of a problem's table, whatever its tokens; that of the second stage if it is of that alone.
    pub fn from_problem(
        problem: &MoeProblem,
        engine: Engine,
        device: &'static EngineDevice,
    ) -> Result<Self, InvalidField> {
        let MoeProblem { stage, n, k, dtype_a, dtype_b, quant, block_n, block_k, experts, .. } = *problem;
        let types = OPERANDS.iter().find(|(operands, _)| *operands == [dtype_a, dtype_b]);
        let (_, types) = *types.ok_or_else(|| {
            let known = OPERANDS.map(|([rows, weights], _)| format!("{rows} by {weights}")).join(", ");
            InvalidField::new("dtype", format_args!("{dtype_a} by {dtype_b}"), format!("one of {known}"))
        })?;
        let is_down = stage == MoeStage::Two;
        let whole = |field: &str, number: i64| {
            u32::try_from(number).map_err(|_| InvalidField::new(field, number, "at most 4294967295"))
        };
        if !is_down && n % 2 != 0 {
            return Err(InvalidField::new("n", n, "an even number: gate and up weights"));
        }
        let block = match quant {
            MoeQuant::Block if block_n > 0 => Some([block_n, block_k].map(u32::from)),
            MoeQuant::Block | MoeQuant::Mx => {
                let expected = "none, tensor, token, or block with block_n";
                return Err(InvalidField::new("quant", quant, expected));
            }
            _ => None,
        };
        Ok(Self {
            experts: whole("experts", experts)?,
            width: if is_down { whole("k", k)? } else { whole("n", n / 2)? },
            device,
            types,
            block,
            // vLLM has one table for scales of tensors and of channels.
            per_channel: engine == Engine::Sglang
                && quant == MoeQuant::Token
                && types == Some(QuantTypes::Fp8W8a8),
            is_down,
        })
    }

    /// The problem of an entry: of the second stage, or of the first, which is two thirds of the work of a table
    /// for both. Names do not say the hidden size and the experts of a token, which a known model has.
    pub fn problem(&self, model: &KnownModel, tokens: u32) -> MoeProblem {
        let stage = if self.is_down { MoeStage::Two } else { MoeStage::One };
        let layer =
            ExpertLayer { experts: self.experts, topk: model.topk, hidden: model.hidden, width: self.width };
        let problem = MoeProblem { arch: self.device.arch(), ..layer.problem(stage, tokens) };
        stored(problem, operands(self.types), (self.types, self.block, self.per_channel))
    }

    /// The kernel of an entry.
    pub fn kernel(&self, config: &TritonConfig) -> Result<MoeKernel, InvalidField> {
        let [dtype_a, dtype_b] = operands(self.types);
        let is_amd = self.device.arch().is_some_and(|arch| arch.is_amd());
        // Triton's own number of stages.
        let stages = if is_amd { 2 } else { 3 };
        let get = |key: ConfigKey, usual: u32| config.get(key).unwrap_or(usual);
        let small = |key: ConfigKey, usual: u32| {
            let value = get(key, usual);
            u8::try_from(value).map_err(|_| InvalidField::new(key.as_str(), value, "at most 255"))
        };
        if get(ConfigKey::Ctas, 1) > 1 {
            let key = ConfigKey::Ctas;
            return Err(InvalidField::new(key.as_str(), get(key, 1), "1: no clusters"));
        }
        let tile = [ConfigKey::BlockM, ConfigKey::BlockN, ConfigKey::BlockK].map(|key| get(key, 1));
        let group = get(ConfigKey::Group, 1);
        let kernel = MoeKernel {
            dtype_a,
            dtype_b,
            tile: Mnk::new(tile[0], tile[1], tile[2]),
            wave: [small(ConfigKey::Warps, 4)?, 1],
            group_m: group
                .try_into()
                .map_err(|_| InvalidField::new("GROUP_SIZE_M", group, "at most 65535"))?,
            stages: small(ConfigKey::Stages, stages)?,
            waves_per_eu: small(ConfigKey::WavesPerEu, 0)?,
            nonkdim: small(ConfigKey::NonKDim, 0)?,
            kpack: Some(small(ConfigKey::Kpack, 0)?).filter(|&kpack| kpack > 1).unwrap_or(0),
            split_k: small(ConfigKey::SplitK, 1)?,
            tma: get(ConfigKey::Tma, 0) == 1,
            ..MoeKernel::USUAL
        };
        kernel.validate().map(|()| kernel)
    }

    /// The entry of a kernel, if the engine takes it as it is.
    pub fn config(&self, engine: Engine, kernel: &MoeKernel) -> Option<TritonConfig> {
        let MoeKernel { tile, wave, group_m, stages, waves_per_eu, nonkdim, kpack, split_k, tma, .. } =
            *kernel;
        let is_amd = self.device.arch().is_some_and(|arch| arch.is_amd());
        let given = |value: u8| (value > 0).then_some(u32::from(value));
        let config = TritonConfig::default()
            .with(ConfigKey::BlockM, tile.m)
            .with(ConfigKey::BlockN, tile.n)
            .with(ConfigKey::BlockK, tile.k)
            .with(ConfigKey::Group, u32::from(group_m))
            .with(ConfigKey::SplitK, (split_k > 1).then_some(u32::from(split_k)))
            .with(ConfigKey::Warps, u32::from(wave[0]))
            .with(ConfigKey::Stages, u32::from(stages))
            .with(ConfigKey::WavesPerEu, is_amd.then_some(u32::from(waves_per_eu)))
            .with(ConfigKey::NonKDim, given(nonkdim))
            .with(ConfigKey::Kpack, given(kpack))
            .with(ConfigKey::Tma, tma.then_some(1));
        let is_kernel =
            self.kernel(&config).is_ok_and(|own| own == MoeKernel { arch: None, ..kernel.clone() });
        (is_kernel && self.check_config(engine, &config).is_ok()).then_some(config)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn key(name: &str) -> TableKey {
        TableKey::from_path(Path::new(name)).unwrap().1
    }

    #[test]
    fn entries_are_kernels_and_back() {
        let config = |warps: Option<u32>, stages: Option<u32>| {
            TritonConfig::default()
                .with(ConfigKey::BlockM, 16)
                .with(ConfigKey::BlockN, 64)
                .with(ConfigKey::BlockK, 128)
                .with(ConfigKey::Group, 8)
                .with(ConfigKey::Warps, warps)
                .with(ConfigKey::Stages, stages)
        };
        let nvidia = key("E=8,N=64,device_name=NVIDIA_H200.json");
        let kernel = nvidia.kernel(&config(Some(8), Some(4))).unwrap();
        assert_eq!(kernel.name(), "triton_moe_bf16_16x64x128_group8_8warps_4stages");
        assert_eq!(nvidia.config(Engine::Vllm, &kernel), Some(config(Some(8), Some(4))));
        // Where an entry says none, Triton has numbers of its own.
        let usual = nvidia.kernel(&config(None, None)).unwrap().name();
        assert_eq!(usual, "triton_moe_bf16_16x64x128_group8_4warps_3stages");
        let amd = key("E=8,N=64,device_name=AMD_Instinct_MI300X,dtype=int4_w4a16.json");
        let own = config(Some(4), Some(2))
            .with(ConfigKey::WavesPerEu, 0)
            .with(ConfigKey::NonKDim, 16)
            .with(ConfigKey::Kpack, 2);
        let kernel = amd.kernel(&own).unwrap();
        assert_eq!(kernel.name(), "triton_moe_bf16_wint4_16x64x128_group8_4warps_2stages_nonkdim16_kpack2");
        assert_eq!(amd.config(Engine::Vllm, &kernel), Some(own));
        // Another table's types, and keys that the engine's kernel lacks.
        assert_eq!(nvidia.config(Engine::Vllm, &kernel), None);
        let kernel = nvidia.kernel(&config(Some(4), Some(2)).with(ConfigKey::Tma, 1)).unwrap();
        assert!(
            nvidia.config(Engine::Vllm, &kernel).is_none()
                && nvidia.config(Engine::Sglang, &kernel).is_some()
        );
        assert!(nvidia.kernel(&config(Some(4), Some(2)).with(ConfigKey::Ctas, 2)).is_err());
    }

    #[test]
    fn keys_are_problems_and_back() {
        let model = KnownModel { name: "", experts: 8, topk: 2, hidden: 4096, width: 14336 };
        for (name, stage) in [
            ("E=8,N=7168,device_name=NVIDIA_H200.json", MoeStage::One),
            ("E=8,N=7168,device_name=NVIDIA_H200,dtype=fp8_w8a8.json", MoeStage::One),
            ("E=8,N=7168,device_name=NVIDIA_H200,dtype=fp8_w8a8,per_channel_quant=True.json", MoeStage::One),
            (
                "E=8,N=7168,device_name=NVIDIA_H200,dtype=fp8_w8a8,block_shape=[128, 128]_down.json",
                MoeStage::Two,
            ),
            ("E=8,N=3584,device_name=NVIDIA_H200,dtype=int4_w4a16_down.json", MoeStage::Two),
            ("E=8,N=7168,device_name=AMD_Instinct_MI300X,dtype=int8_w8a8.json", MoeStage::One),
        ] {
            let key = key(name);
            let problem = key.problem(&model, 32);
            assert_eq!((problem.stage, problem.validate()), (stage, Ok(())), "{name}");
            assert_eq!(TableKey::from_problem(&problem, Engine::Sglang, key.device), Ok(key));
            assert_eq!(key.width, 7168);
        }
        let first = key("E=8,N=64,device_name=NVIDIA_H200.json").problem(&model, 32);
        assert_eq!((first.stage, first.n, first.k), (MoeStage::One, 128, 4096));
        let of = |problem: MoeProblem| {
            TableKey::from_problem(&problem, Engine::Vllm, EngineDevice::named("NVIDIA_H200").unwrap())
                .unwrap_err()
                .to_string()
        };
        let error = of(MoeProblem { dtype_b: Dtype::PkFp4, ..first });
        assert!(error.starts_with("dtype: found bf16 by pk_fp4, expected one of bf16 by bf16, "), "{error}");
        let error = of(MoeProblem { quant: MoeQuant::Mx, block_k: 32, ..first });
        assert!(error.starts_with("quant: found mx, expected none, tensor, "), "{error}");
    }
}
