//! A model's `config.json` of Hugging Face: the mixtures of experts that its layers compute.
//!
//! Families call one thing by several names; a table has them in the order in which they count. Models with
//! images keep the language model's fields in an object of their own.

use std::path::Path;

use serde_json::{Map, Value};

use super::table::{TableError, read_object};
use super::words::{Engine, QuantTypes};
use crate::invalid::InvalidField;
use crate::vocab::Dtype;

/// How a layer's experts are divided among GPUs, by the numbers that are given to the engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parallelism {
    /// GPUs of a layer (`--tp`).
    pub tensor: u32,
    /// Parts into which the experts are divided, each with whole experts (`--ep`).
    pub expert: u32,
}

/// A layer of experts as a model's file describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Experts among which a token's are chosen.
    pub experts: u32,
    /// Experts of a token.
    pub topk: u32,
    /// Elements of a token.
    pub hidden: u32,
    /// Width of an expert.
    pub width: u32,
    /// Experts that every token has.
    pub shared: u32,
    /// Whether SGLang computes the shared expert as one more of the others.
    pub fuses_shared: bool,
    /// The type of activations.
    pub dtype: Dtype,
    /// The types, if they are not 16-bit floats.
    pub types: Option<QuantTypes>,
    /// Rows and columns of weights that share a scale; 0 for rows means each row.
    pub block: Option<[u32; 2]>,
    /// Whether each channel of the weights has a scale.
    pub per_channel: bool,
    /// The assumption of the tables about the weights, if they differ from the file.
    pub note: Option<&'static str>,
}

/// A layer of experts on one GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpertLayer {
    /// Experts of the GPU.
    pub experts: u32,
    /// Experts of a token.
    pub topk: u32,
    /// Elements of a token.
    pub hidden: u32,
    /// Width of the GPU's part of an expert.
    pub width: u32,
}

const EXPERTS: [&str; 5] =
    ["num_local_experts", "n_routed_experts", "num_experts", "moe_num_experts", "num_routed_experts"];
const TOPK: [&str; 7] = [
    "num_experts_per_tok", "num_experts_per_token", "experts_per_token", "moe_topk", "moe_top_k", "moe_k",
    "top_k_experts",
];
const HIDDEN: [&str; 2] = ["hidden_size", "d_model"];
const WIDTH: [&str; 6] = [
    "moe_intermediate_size", "expert_ffn_hidden_size", "expert_hidden_dim", "moe_ffn_hidden_size",
    "ffn_hidden_size", "intermediate_size",
];
const SHARED: [&str; 4] =
    ["n_shared_experts", "num_shared_experts", "num_shared_expert", "moe_num_shared_experts"];

/// Objects that hold the language model's fields.
const INNER: [&str; 5] = ["text_config", "language_config", "llm_config", "thinker_config", "ffn_config"];

/// Architectures whose shared expert SGLang computes with the others.
const FUSED: [&str; 6] = [
    "DeepseekV3ForCausalLM", "DeepseekV32ForCausalLM", "Glm4MoeForCausalLM", "GlmMoeDsaForCausalLM",
    "MistralLarge3ForCausalLM", "KimiK2ForCausalLM",
];

impl Checkpoint {
    /// Whether a file is such a `config.json`, by its first object's keys.
    pub fn is_of(path: &Path) -> bool {
        let has_keys = |object: &Map<String, Value>| {
            Ok(object.contains_key("architectures") || object.contains_key("model_type"))
        };
        read_object(path, has_keys).is_ok_and(|is_model| is_model)
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, TableError> {
        read_object(path, Self::from_json)
    }

    /// Reads the object of a file.
    pub fn from_json(object: &Map<String, Value>) -> Result<Self, InvalidField> {
        let fields = Fields(object);
        let weights = Weights::new(
            fields.find(&["quantization_config"]).or_else(|| fields.find(&["compression_config"])),
        )?;
        let shared = fields.find(&SHARED).map_or(Ok(0), |(name, value)| count(name, value))?;
        let architecture = object.get("architectures").and_then(|all| all.get(0)).and_then(Value::as_str);
        Ok(Self {
            experts: fields.count(&EXPERTS)?,
            topk: fields.count(&TOPK)?,
            hidden: fields.count(&HIDDEN)?,
            width: fields.count(&WIDTH)?,
            shared,
            fuses_shared: shared == 1 && architecture.is_some_and(|name| FUSED.contains(&name)),
            dtype: fields.dtype()?,
            types: weights.types,
            block: weights.block,
            per_channel: weights.per_channel,
            note: weights.note,
        })
    }

    /// The layers that an engine computes on a GPU.
    pub fn layers(&self, engine: Engine, parallelism: Parallelism) -> Result<Vec<ExpertLayer>, InvalidField> {
        let parts = parallelism.parts_of_width()?;
        let experts = divide("ep", self.experts, parallelism.expert, "experts")?;
        let width = divide("tp", self.width, parts, "elements of an expert")?;
        if let Some([rows, columns]) = self.block
            && (rows > 1 && !width.is_multiple_of(rows) || !width.is_multiple_of(columns))
        {
            let expected = format!("parts of an expert that hold whole blocks of {rows} x {columns}");
            return Err(InvalidField::new(
                "tp",
                format_args!("{} ({width} elements)", parallelism.tensor),
                expected,
            ));
        }
        let routed = ExpertLayer { experts, topk: self.topk, hidden: self.hidden, width };
        let fused = ExpertLayer { experts: experts + 1, topk: self.topk + 1, ..routed };
        let is_fused = self.fuses_shared && engine == Engine::Sglang && parallelism.expert == 1;
        Ok(std::iter::once(routed).chain(is_fused.then_some(fused)).collect())
    }
}

impl Parallelism {
    /// The parts into which each expert's width is divided: the GPUs that share an expert.
    fn parts_of_width(self) -> Result<u32, InvalidField> {
        let Self { tensor, expert } = self;
        if tensor.is_multiple_of(expert) {
            return Ok(tensor / expert);
        }
        // Data-parallel replicas share the experts.
        if expert.is_multiple_of(tensor) {
            return Ok(1);
        }
        Err(InvalidField::new("ep", expert, format!("a divisor or a multiple of tp, which is {tensor}")))
    }
}

fn divide(field: &str, all: u32, parts: u32, what: &str) -> Result<u32, InvalidField> {
    let is_whole = parts > 0 && all.is_multiple_of(parts);
    if is_whole {
        Ok(all / parts)
    } else {
        Err(InvalidField::new(field, parts, format!("a divisor of {all} {what}")))
    }
}

/// A whole number above 0; of a list, whose numbers are the layers', the last: the first layers may be dense.
fn count(name: &str, value: &Value) -> Result<u32, InvalidField> {
    let number = value.as_array().and_then(|all| all.last()).unwrap_or(value).as_u64();
    let number = number.and_then(|number| u32::try_from(number).ok());
    number.ok_or_else(|| InvalidField::new(name, value, "a number"))
}

/// The fields of a model.
struct Fields<'a>(&'a Map<String, Value>);

impl<'a> Fields<'a> {
    /// The objects that may hold a field: those inside count more.
    fn objects(&self) -> Vec<&'a Map<String, Value>> {
        let mut all = vec![self.0];
        let mut next = 0;
        while let Some(object) = all.get(next).copied() {
            all.extend(INNER.iter().filter_map(|name| object.get(*name)?.as_object()));
            next += 1;
        }
        all.reverse();
        all
    }

    /// The first field of some names that has a value.
    fn find(&self, names: &[&'static str]) -> Option<(&'static str, &'a Value)> {
        let objects = self.objects();
        let of_name = |name: &&'static str| {
            let value =
                objects.iter().find_map(|object| object.get(*name).filter(|value| !value.is_null()))?;
            Some((*name, value))
        };
        names.iter().find_map(of_name)
    }

    /// A number that has to be there.
    fn count(&self, names: &[&'static str]) -> Result<u32, InvalidField> {
        let (name, value) = self.find(names).ok_or_else(|| {
            InvalidField::new(
                names[0],
                "nothing",
                format!("one of {}: the file of a model with experts", names.join(", ")),
            )
        })?;
        let number = count(name, value)?;
        if number == 0 { Err(InvalidField::new(name, 0, "a number above 0")) } else { Ok(number) }
    }

    /// The type of activations.
    fn dtype(&self) -> Result<Dtype, InvalidField> {
        let Some((name, value)) = self.find(&["dtype", "torch_dtype"]) else { return Ok(Dtype::Bf16) };
        match value.as_str() {
            Some("bfloat16" | "auto") => Ok(Dtype::Bf16),
            Some("float16") => Ok(Dtype::Fp16),
            Some("float32") => Ok(Dtype::Fp32),
            _ => Err(InvalidField::new(name, value, "bfloat16, float16 or float32")),
        }
    }
}

/// How weights are stored.
#[derive(Default)]
struct Weights {
    types: Option<QuantTypes>,
    block: Option<[u32; 2]>,
    per_channel: bool,
    note: Option<&'static str>,
}

/// Methods whose tables are read: the others' kernels are not looked up.
const METHODS: &str =
    "fp8, fbgemm_fp8, compressed-tensors, awq, gptq, auto-round, modelopt with FP8, mxfp4, or none";

impl Weights {
    fn new(config: Option<(&str, &Value)>) -> Result<Self, InvalidField> {
        let Some((_, config)) = config else { return Ok(Self::default()) };
        let word = |name: &str| config.get(name).and_then(Value::as_str).unwrap_or_default().to_lowercase();
        let method = word("quant_method");
        let fp8 = Self { types: Some(QuantTypes::Fp8W8a8), ..Self::default() };
        match method.as_str() {
            "fp8" => Ok(Self { block: block(config.get("weight_block_size"))?, ..fp8 }),
            "fbgemm_fp8" => Ok(Self { per_channel: true, ..fp8 }),
            "modelopt" if word("quant_algo") == "fp8" => Ok(fp8),
            "awq" | "gptq" | "auto-round" => {
                let bits = config.get("bits").or_else(|| config.get("w_bit"));
                Ok(Self { types: Some(weights_alone(bits)?), ..Self::default() })
            }
            "compressed-tensors" => Self::from_groups(config),
            "mxfp4" => {
                Ok(Self { note: Some("weights in mxfp4 are computed from 16-bit copies"), ..Self::default() })
            }
            _ => Err(InvalidField::new(
                "quantization_config.quant_method",
                format_args!("'{method}'"),
                METHODS,
            )),
        }
    }

    /// The first group of a configuration of compressed-tensors.
    fn from_groups(config: &Value) -> Result<Self, InvalidField> {
        let groups = config.get("config_groups").and_then(Value::as_object);
        let group = groups.and_then(|groups| groups.values().next());
        let weights = group.and_then(|group| group.get("weights")).ok_or_else(|| {
            InvalidField::new("quantization_config.config_groups", "nothing", "a group with weights")
        })?;
        let word = |name: &str| weights.get(name).and_then(Value::as_str).unwrap_or_default();
        let has_activations =
            group.and_then(|group| group.get("input_activations")).is_some_and(|value| !value.is_null());
        let bits = weights.get("num_bits");
        let types = match (word("type"), bits.and_then(Value::as_u64), has_activations) {
            ("float", Some(8), true) => QuantTypes::Fp8W8a8,
            ("float", Some(8), false) => QuantTypes::Fp8W8a16,
            ("int", Some(8), true) => QuantTypes::Int8W8a8,
            ("int", _, false) => weights_alone(bits)?,
            (kind, bits, _) => {
                let found = format!("{kind} of {} bits", bits.unwrap_or_default());
                let field = "quantization_config.config_groups.weights";
                return Err(InvalidField::new(
                    field,
                    found,
                    "float or int of 8 bits, or int of 4 with activations of 16",
                ));
            }
        };
        let is_wide = matches!(types, QuantTypes::Fp8W8a8 | QuantTypes::Int8W8a8);
        let block = if word("strategy") == "block" { block(weights.get("block_structure"))? } else { None };
        Ok(Self {
            types: Some(types),
            block,
            per_channel: is_wide && word("strategy") == "channel",
            note: None,
        })
    }
}

/// The types of weights of so many bits beside activations of 16.
fn weights_alone(bits: Option<&Value>) -> Result<QuantTypes, InvalidField> {
    match bits.and_then(Value::as_u64) {
        Some(4) => Ok(QuantTypes::Int4W4a16),
        Some(8) => Ok(QuantTypes::Int8W8a16),
        _ => Err(InvalidField::new("quantization_config.bits", bits.unwrap_or(&Value::Null), "4 or 8")),
    }
}

/// Rows and columns of weights with one scale.
fn block(value: Option<&Value>) -> Result<Option<[u32; 2]>, InvalidField> {
    let Some(value) = value.filter(|value| !value.is_null()) else { return Ok(None) };
    let numbers: Option<Vec<u32>> =
        value.as_array().and_then(|all| all.iter().map(|one| one.as_u64()?.try_into().ok()).collect());
    match numbers.as_deref() {
        Some(&[rows, columns]) if rows > 0 && columns > 0 => Ok(Some([rows, columns])),
        _ => Err(InvalidField::new(
            "quantization_config.weight_block_size", value, "two numbers such as [128, 128]",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    fn parse(text: &str) -> Result<Checkpoint, String> {
        Checkpoint::from_json(&json::object(text.as_bytes()).unwrap()).map_err(|error| error.to_string())
    }

    /// The fields of published models, as they stand in their files.
    const FILES: [(&str, &str, [u32; 5]); 11] = [
        (
            "Mixtral-8x7B",
            r#"{"architectures": ["MixtralForCausalLM"], "hidden_size": 4096, "intermediate_size": 14336,
            "num_experts_per_tok": 2, "num_local_experts": 8, "torch_dtype": "bfloat16"}"#,
            [8, 2, 4096, 14336, 0],
        ),
        (
            "DeepSeek-V2-Lite",
            r#"{"architectures": ["DeepseekV2ForCausalLM"], "hidden_size": 2048, "intermediate_size": 10944,
            "moe_intermediate_size": 1408, "n_routed_experts": 64, "n_shared_experts": 2, "num_experts_per_tok": 6,
            "torch_dtype": "bfloat16"}"#,
            [64, 6, 2048, 1408, 2],
        ),
        (
            "DeepSeek-V3",
            r#"{"architectures": ["DeepseekV3ForCausalLM"], "hidden_size": 7168, "intermediate_size": 18432,
            "moe_intermediate_size": 2048, "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8,
            "quantization_config": {"activation_scheme": "dynamic", "fmt": "e4m3", "quant_method": "fp8",
            "weight_block_size": [128, 128]}, "torch_dtype": "bfloat16"}"#,
            [256, 8, 7168, 2048, 1],
        ),
        (
            "Qwen2-57B-A14B",
            r#"{"architectures": ["Qwen2MoeForCausalLM"], "hidden_size": 3584, "intermediate_size": 18944,
            "moe_intermediate_size": 2560, "num_experts": 64, "num_experts_per_tok": 8,
            "shared_expert_intermediate_size": 20480, "torch_dtype": "bfloat16"}"#,
            [64, 8, 3584, 2560, 0],
        ),
        (
            "Qwen3-30B-A3B",
            r#"{"architectures": ["Qwen3MoeForCausalLM"], "hidden_size": 2048, "intermediate_size": 6144,
            "moe_intermediate_size": 768, "num_experts": 128, "num_experts_per_tok": 8, "torch_dtype": "bfloat16"}"#,
            [128, 8, 2048, 768, 0],
        ),
        (
            "gpt-oss-120b",
            r#"{"architectures": ["GptOssForCausalLM"], "experts_per_token": 4, "hidden_size": 2880,
            "intermediate_size": 2880, "num_experts_per_tok": 4, "num_local_experts": 128,
            "quantization_config": {"modules_to_not_convert": ["lm_head"], "quant_method": "mxfp4"}}"#,
            [128, 4, 2880, 2880, 0],
        ),
        (
            "Llama-4-Scout",
            r#"{"architectures": ["Llama4ForConditionalGeneration"], "text_config": {"hidden_size": 5120,
            "intermediate_size": 8192, "intermediate_size_mlp": 16384, "num_experts_per_tok": 1, "num_local_experts": 16,
            "torch_dtype": "bfloat16"}, "torch_dtype": "bfloat16", "vision_config": {"hidden_size": 1408,
            "intermediate_size": 5632}}"#,
            [16, 1, 5120, 8192, 0],
        ),
        (
            "GLM-4.5-Air",
            r#"{"architectures": ["Glm4MoeForCausalLM"], "hidden_size": 4096, "intermediate_size": 10944,
            "moe_intermediate_size": 1408, "n_routed_experts": 128, "n_shared_experts": 1, "num_experts_per_tok": 8,
            "torch_dtype": "bfloat16"}"#,
            [128, 8, 4096, 1408, 1],
        ),
        (
            "Kimi-K2-Thinking",
            r#"{"architectures": ["DeepseekV3ForCausalLM"], "hidden_size": 7168, "intermediate_size": 18432,
            "moe_intermediate_size": 2048, "n_routed_experts": 384, "n_shared_experts": 1, "num_experts_per_tok": 8,
            "quantization_config": {"quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups":
            {"group_0": {"input_activations": null, "weights": {"group_size": 32, "num_bits": 4, "strategy": "group",
            "type": "int"}}}}, "torch_dtype": "bfloat16"}"#,
            [384, 8, 7168, 2048, 1],
        ),
        (
            "ERNIE-4.5-21B-A3B",
            r#"{"architectures": ["Ernie4_5_MoeForCausalLM"], "hidden_size": 2560,
            "intermediate_size": 12288, "moe_intermediate_size": 1536, "moe_k": 6, "moe_num_experts": 64,
            "moe_num_shared_experts": 2, "torch_dtype": "bfloat16"}"#,
            [64, 6, 2560, 1536, 2],
        ),
        (
            "dbrx",
            r#"{"architectures": ["DbrxForCausalLM"], "d_model": 6144, "ffn_config": {"ffn_hidden_size": 10752,
            "moe_num_experts": 16, "moe_top_k": 4}, "torch_dtype": "bfloat16"}"#,
            [16, 4, 6144, 10752, 0],
        ),
    ];

    #[test]
    fn families_are_read_by_their_own_names() {
        for (model, text, expected) in FILES {
            let read = parse(text).unwrap();
            assert_eq!([read.experts, read.topk, read.hidden, read.width, read.shared], expected, "{model}");
            assert_eq!(read.dtype, Dtype::Bf16, "{model}");
        }
        let weights = |model: &str| {
            let read = parse(FILES.iter().find(|(name, ..)| *name == model).unwrap().1).unwrap();
            (read.types.map(QuantTypes::as_str), read.block, read.note.is_some())
        };
        assert_eq!(weights("Mixtral-8x7B"), (None, None, false));
        assert_eq!(weights("DeepSeek-V3"), (Some("fp8_w8a8"), Some([128, 128]), false));
        assert_eq!(weights("Kimi-K2-Thinking"), (Some("int4_w4a16"), None, false));
        assert_eq!(weights("gpt-oss-120b"), (None, None, true));
    }

    #[test]
    fn gpus_have_whole_experts_or_parts_of_each() {
        let [_, _, (_, deepseek, _), ..] = FILES;
        let layers = |engine, tensor, expert| {
            let layers = parse(deepseek).unwrap().layers(engine, Parallelism { tensor, expert });
            let of = |layer: ExpertLayer| (layer.experts, layer.topk, layer.width);
            layers.map(|all| all.into_iter().map(of).collect::<Vec<_>>()).map_err(|error| error.to_string())
        };
        assert_eq!(layers(Engine::Vllm, 8, 1).unwrap(), [(256, 8, 256)]);
        assert_eq!(layers(Engine::Sglang, 8, 1).unwrap(), [(256, 8, 256), (257, 9, 256)]);
        assert_eq!(layers(Engine::Sglang, 8, 8).unwrap(), [(32, 8, 2048)]);
        assert_eq!(layers(Engine::Sglang, 8, 2).unwrap(), [(128, 8, 512)]);
        assert_eq!(layers(Engine::Vllm, 1, 16).unwrap(), [(16, 8, 2048)]);
        assert_eq!(
            layers(Engine::Vllm, 3, 2).unwrap_err(),
            "ep: found 2, expected a divisor or a multiple of tp, which is 3"
        );
        assert_eq!(
            layers(Engine::Vllm, 3, 1).unwrap_err(),
            "tp: found 3, expected a divisor of 2048 elements of an expert"
        );
        let error = layers(Engine::Vllm, 32, 1).unwrap_err();
        assert!(
            error.starts_with(
                "tp: found 32 (64 elements), expected parts of an expert that hold whole blocks"
            ),
            "{error}"
        );
    }

    #[test]
    fn other_files_say_what_is_missing() {
        for (text, expected) in [
            (
                r#"{"hidden_size": 64, "intermediate_size": 64}"#,
                "num_local_experts: found nothing, expected one of num_local_experts, n_routed_experts, ",
            ),
            (r#"{"num_experts": "many"}"#, "num_experts: found \"many\", expected a number"),
            (r#"{"num_experts": 0}"#, "num_experts: found 0, expected a number above 0"),
            (
                r#"{"num_experts": 8, "quantization_config": {"quant_method": "bitsandbytes"}}"#,
                "quantization_config.quant_method: found 'bitsandbytes', expected fp8, ",
            ),
            (
                r#"{"quantization_config": {"quant_method": "fp8", "weight_block_size": [128]}}"#,
                "quantization_config.weight_block_size: found [128], expected two numbers",
            ),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
