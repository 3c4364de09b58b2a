//! Kernels as the JSON that CK's registries and upstream's builder write, with the keys in their order.

use std::collections::BTreeMap;

use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};

use self::Form::{Array, Joined, Own, Shape};
use crate::field::{self, Kind};
use crate::kernel::{Kernel, KernelKind};
use crate::vocab::{Major, Op};

/// What an export holds besides the kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportOptions<'a> {
    /// The registry's name in the export.
    pub registry_name: &'a str,
    /// The time of a GEMM export, as CK writes it: `YYYY-MM-DDThh:mm:ss`. Without one, the same kernels
    /// always give the same text. Convolution exports have none.
    pub timestamp: Option<&'a str>,
    /// Whether kernels are counted by type, pipeline, architecture and so on.
    pub statistics: bool,
}

impl Default for ExportOptions<'_> {
    /// The registry "default", without time and statistics.
    fn default() -> Self {
        Self { registry_name: "default", timestamp: None, statistics: false }
    }
}

/// What a key of a kernel holds.
#[derive(Clone, Copy)]
pub(super) enum Form {
    /// The field of that name, or its word of CK's (see [`word`]).
    Own(&'static str),
    /// Three fields, this one first, as `MxNxK`.
    Joined(&'static str),
    /// The same as an object.
    Shape(&'static str),
    /// As many fields as an array. CK's keys do not have one of zeros.
    Array(&'static str, usize),
}

/// Keys, with blanks between them.
type Keys = &'static str;

/// The form of a key, if it is not the field of that name.
fn other_form(op: Op, key: &str) -> Option<Form> {
    Some(match (op, key) {
        (Op::Conv, "op") => Own("direction"),
        (Op::Conv, "wave") => Joined("wave_m"),
        (Op::Conv, "warp") => Joined("warp_tile_m"),
        (Op::Gemm, "tile_shape") => Shape("tile_m"),
        (Op::Gemm, "wave_shape") => Shape("wave_m"),
        (Op::Gemm, "warp_tile_shape") => Shape("warp_tile_m"),
        (Op::Conv | Op::Gemm, "vector_sizes") => Array("vector_a", 3),
        (Op::Fmha, "data_type") => Own("dtype"),
        (Op::Fmha, "skip_min_seqlen_q") => Own("skip"),
        (Op::Fmha, "use_trload") => Own("trload"),
        (Op::Fmha, "kv_memory_layout") => Own("kv_layout"),
        (Op::Fmha, "kv_lookup_table") => Own("kv_lookup"),
        (Op::Fmha, "tile") => Array("tile_m0", 6),
        (Op::Fmha, "wave") => Array("wave_m0", 9),
        (Op::Fmha, "warp") => Array("warp_m0", 9),
        (Op::Fmha, "padding") => Array("pad_s", 4),
        _ => return None,
    })
}

/// The form of a key; `None` if no field has it.
pub(super) fn form(op: Op, key: &str) -> Option<Form> {
    let own =
        || field::place(KernelKind::fields(op), key).map(|place| Own(KernelKind::fields(op)[place].name));
    other_form(op, key).or_else(own)
}

/// A kernel's signature, its algorithm, and its last key: the architecture.
type KernelKeys = (Keys, Keys, &'static str);

const CONV: KernelKeys = (
    "dtype_in dtype_wei dtype_out layout ndim_spatial op",
    "tile_m tile_n tile_k wave warp pipeline scheduler epilogue vector_sizes block_per_cu \
     num_wave_groups num_groups_to_merge",
    "arch",
);

/// A convolution in upstream's Python configurations, which leave four flags to the name.
const CONV_CONFIG: KernelKeys = (
    "variant dtype ndim_spatial layout",
    "tile_m tile_n tile_k wave warp pipeline epilogue scheduler vector_sizes block_per_cu \
     num_wave_groups num_groups_to_merge",
    "arch",
);

const GEMM: KernelKeys = (
    "dtype_a dtype_b dtype_c dtype_acc layout_a layout_b layout_c transpose_a transpose_b grouped \
     split_k elementwise_op num_d_tensors structured_sparsity",
    "tile_shape wave_shape warp_tile_shape pipeline scheduler epilogue block_size double_buffer \
     persistent preshuffle transpose_c num_wave_groups vector_sizes",
    "gfx_arch",
);

/// Attention has everything else in its identifier, and no parts.
const FMHA: Keys = "family dtype pipeline gfx_arch";

/// By which words a registry's kernels are counted.
const fn statistics(op: Op) -> &'static [(&'static str, Keys)] {
    match op {
        Op::Conv => &[
            ("by_datatype", "dtype_in dtype_wei dtype_out"),
            ("by_pipeline", "pipeline"),
            ("by_arch", "arch"),
        ],
        Op::Gemm => &[
            ("by_datatype", "dtype_a dtype_b dtype_c"),
            ("by_pipeline", "pipeline"),
            ("by_scheduler", "scheduler"),
            ("by_layout", "layout_a layout_b layout_c"),
            ("by_gfx_arch", "gfx_arch"),
        ],
        Op::Fmha => &[("by_family", "family"), ("by_dtype", "dtype"), ("by_pipeline", "pipeline")],
    }
}

/// The kernels of the operation, as the JSON that CK's registry of that operation exports.
///
/// Words are written out where CK's exporter writes `unknown`. [`Pool::from_bytes`](super::Pool::from_bytes)
/// reads it.
pub fn export_json<'k>(
    op: Op,
    kernels: impl Iterator<Item = &'k Kernel>,
    options: &ExportOptions<'_>,
) -> serde_json::Result<String> {
    let kernels: Vec<_> = kernels.filter(|kernel| kernel.op() == op).collect();
    let is_gemm = op == Op::Gemm;
    let document = Document {
        metadata: Metadata {
            timestamp: options.timestamp.filter(|_| is_gemm),
            registry_name: options.registry_name,
            total_kernels: kernels.len(),
            export_version: is_gemm.then_some("1.0.0"),
        },
        statistics: (options.statistics && !kernels.is_empty()).then(|| Statistics::count(op, &kernels)),
        kernels: kernels.iter().map(|kernel| Exported { kernel, is_config: false }).collect(),
    };
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}

/// One kernel as CK's registry of its operation exports it: an element of [`export_json`].
pub fn kernel_json(kernel: &Kernel) -> impl Serialize + '_ {
    Exported { kernel, is_config: false }
}

/// One kernel as upstream's builder writes it: a convolution as a Python configuration; others, for which
/// upstream has no such file, as in a registry's export.
pub fn config_json(kernel: &Kernel) -> impl Serialize + '_ {
    Exported { kernel, is_config: true }
}

/// A registry's document.
#[derive(Serialize)]
struct Document<'k> {
    metadata: Metadata<'k>,
    #[serde(skip_serializing_if = "Option::is_none")]
    statistics: Option<Statistics>,
    kernels: Vec<Exported<'k>>,
}

#[derive(Serialize)]
struct Metadata<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<&'a str>,
    registry_name: &'a str,
    total_kernels: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    export_version: Option<&'a str>,
}

/// How many kernels have each word.
struct Statistics(Vec<(&'static str, BTreeMap<String, usize>)>);

impl Statistics {
    fn count(op: Op, kernels: &[&Kernel]) -> Self {
        let count = |keys: Keys| {
            let mut counts = BTreeMap::new();
            for kernel in kernels {
                let words: Vec<_> = keys.split(' ').map(|key| word(&kernel.kind, key)).collect();
                *counts.entry(words.join("_")).or_default() += 1;
            }
            counts
        };
        Self(statistics(op).iter().map(|(name, keys)| (*name, count(keys))).collect())
    }
}

impl Serialize for Statistics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, counts)| (name, counts)))
    }
}

/// A kernel as its registry exports it, or as a configuration.
struct Exported<'k> {
    kernel: &'k Kernel,
    is_config: bool,
}

impl Exported<'_> {
    /// All fields in a name, if the kernel's own does not tell them. CK's names of convolutions do.
    fn identifier(&self) -> Option<String> {
        let Kernel { name, kind } = self.kernel;
        match kind {
            KernelKind::Conv(conv) => {
                let told = Kernel::from_name(name).is_ok_and(|told| told.kind == *kind);
                (!told).then(|| conv.long_name())
            }
            KernelKind::Gemm(gemm) => Some(gemm.identifier()),
            KernelKind::Fmha(fmha) => Some(fmha.identifier()),
        }
    }
}

impl Serialize for Exported<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let kind = &self.kernel.kind;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &self.kernel.name)?;
        if let Some(identifier) = self.identifier() {
            map.serialize_entry("identifier", &identifier)?;
        }
        let (signature, algorithm, arch) = match kind {
            KernelKind::Conv(_) if self.is_config => CONV_CONFIG,
            KernelKind::Conv(_) => CONV,
            KernelKind::Gemm(_) => GEMM,
            KernelKind::Fmha(_) => {
                Part { kind, keys: FMHA }.entries(&mut map)?;
                return map.end();
            }
        };
        map.serialize_entry("signature", &Part { kind, keys: signature })?;
        map.serialize_entry("algorithm", &Part { kind, keys: algorithm })?;
        map.serialize_entry(arch, &word(kind, arch))?;
        map.end()
    }
}

/// Some keys of a kernel.
struct Part<'k> {
    kind: &'k KernelKind,
    keys: Keys,
}

impl Part<'_> {
    fn entries<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let (fields, values) = (KernelKind::fields(self.kind.op()), self.kind.values());
        let at = |name: &str| field::place(fields, name).unwrap_or_default();
        for key in self.keys.split(' ') {
            match form(self.kind.op(), key) {
                Some(Joined(first)) => {
                    let [m, n, k] = [0, 1, 2].map(|axis| values[at(first) + axis]);
                    map.serialize_entry(key, &format!("{m}x{n}x{k}"))?;
                }
                Some(Shape(first)) => {
                    let [m, n, k] = [0, 1, 2].map(|axis| values[at(first) + axis]);
                    map.serialize_entry(key, &Extents { m, n, k })?;
                }
                Some(Array(first, count)) => {
                    let values = &values[at(first)..at(first) + count];
                    if values.iter().any(|value| *value != 0) {
                        map.serialize_entry(key, values)?;
                    }
                }
                Some(Own(name)) if matches!(fields[at(name)].kind, Kind::Number) => {
                    map.serialize_entry(key, &values[at(name)])?;
                }
                Some(Own(name)) if matches!(fields[at(name)].kind, Kind::Flag) => {
                    map.serialize_entry(key, &(values[at(name)] != 0))?;
                }
                Some(Own(_)) | None => map.serialize_entry(key, &word(self.kind, key))?,
            }
        }
        Ok(())
    }
}

impl Serialize for Part<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.entries(&mut map)?;
        map.end()
    }
}

/// Three numbers as an object.
#[derive(Serialize, Deserialize)]
pub(super) struct Extents {
    pub(super) m: i64,
    pub(super) n: i64,
    pub(super) k: i64,
}

/// The word of a key: a few are CK's own, the others those of the field.
fn word(kind: &KernelKind, key: &str) -> String {
    match (kind, key) {
        (_, "arch" | "gfx_arch") => kind.arch().map_or_else(String::new, |arch| arch.to_string()),
        (KernelKind::Conv(conv), "op") => conv.direction.short().to_owned(),
        (KernelKind::Gemm(gemm), "layout_a") => major(gemm.layout.a).to_owned(),
        (KernelKind::Gemm(gemm), "layout_b") => major(gemm.layout.b).to_owned(),
        (KernelKind::Gemm(gemm), "layout_c") => major(gemm.layout.c).to_owned(),
        _ => {
            let fields = KernelKind::fields(kind.op());
            let text = |place: usize| fields[place].text(kind.values()[place]);
            field::place(fields, key).map_or_else(String::new, text)
        }
    }
}

const fn major(major: Major) -> &'static str {
    match major {
        Major::Row => "row_major",
        Major::Col => "col_major",
        Major::Packed => "packed_external",
    }
}
