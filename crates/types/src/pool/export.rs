//! Kernels as the JSON that CK's registries and upstream's builder write, with the keys in their order.

mod fmha;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::kernel::{ConvKernel, GemmKernel, Kernel, KernelKind, Mnk};
use crate::vocab::{Major, Op};

/// A registry's document; kernels of other operations are left out.
#[derive(Serialize)]
struct Document<M, S, K> {
    metadata: M,
    #[serde(skip_serializing_if = "Option::is_none")]
    statistics: Option<S>,
    kernels: Vec<K>,
}

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

/// How many kernels have each word.
type Counts = BTreeMap<String, usize>;

#[derive(Serialize)]
#[allow(clippy::struct_field_names)] // CK's keys
struct ConvStatistics {
    by_datatype: Counts,
    by_pipeline: Counts,
    by_arch: Counts,
}

#[derive(Serialize)]
#[allow(clippy::struct_field_names)] // CK's keys
struct GemmStatistics {
    by_datatype: Counts,
    by_pipeline: Counts,
    by_scheduler: Counts,
    by_layout: Counts,
    by_gfx_arch: Counts,
}

#[derive(Serialize)]
struct Metadata<'a> {
    registry_name: &'a str,
    total_kernels: usize,
}

#[derive(Serialize)]
struct GemmMetadata<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<&'a str>,
    registry_name: &'a str,
    total_kernels: usize,
    export_version: &'a str,
}

/// A kernel of any registry.
#[derive(Serialize)]
#[serde(untagged)]
#[allow(clippy::large_enum_variant)] // lives only while it is written
enum Exported<'a> {
    Conv(RegistryConv<'a>),
    Config(Conv<'a, ConfigSignature<'a>, ConfigWords<'a>>),
    Gemm(Gemm<'a>),
    Fmha(fmha::Fmha<'a>),
}

/// A convolution as CK's registry exports it.
type RegistryConv<'a> = Conv<'a, ConvSignature<'a>, RegistryWords<'a>>;

#[derive(Serialize)]
struct Conv<'a, S, W> {
    name: &'a str,
    /// All fields, if the name does not tell them. CK's names do.
    #[serde(skip_serializing_if = "Option::is_none")]
    identifier: Option<String>,
    signature: S,
    algorithm: ConvAlgorithm<W>,
    arch: &'a str,
}

#[derive(Serialize)]
struct ConvSignature<'a> {
    dtype_in: &'a str,
    dtype_wei: &'a str,
    dtype_out: &'a str,
    layout: &'a str,
    ndim_spatial: u8,
    op: &'a str,
}

/// A convolution's signature in upstream's Python configurations, which leave four flags to the name.
#[derive(Serialize)]
struct ConfigSignature<'a> {
    variant: &'a str,
    dtype: &'a str,
    ndim_spatial: u8,
    layout: &'a str,
}

#[derive(Serialize)]
struct RegistryWords<'a> {
    pipeline: &'a str,
    scheduler: &'a str,
    epilogue: &'a str,
}

#[derive(Serialize)]
struct ConfigWords<'a> {
    pipeline: &'a str,
    epilogue: &'a str,
    scheduler: &'a str,
}

#[derive(Serialize)]
struct ConvAlgorithm<W> {
    tile_m: u32,
    tile_n: u32,
    tile_k: u32,
    wave: String,
    warp: String,
    #[serde(flatten)]
    words: W,
    vector_sizes: [u32; 3],
    block_per_cu: u32,
    num_wave_groups: u32,
    num_groups_to_merge: u32,
}

#[derive(Serialize)]
struct Gemm<'a> {
    name: &'a str,
    identifier: String,
    signature: GemmSignature<'a>,
    algorithm: GemmAlgorithm<'a>,
    gfx_arch: &'a str,
}

#[derive(Serialize)]
struct GemmSignature<'a> {
    dtype_a: &'a str,
    dtype_b: &'a str,
    dtype_c: &'a str,
    dtype_acc: &'a str,
    layout_a: &'a str,
    layout_b: &'a str,
    layout_c: &'a str,
    transpose_a: bool,
    transpose_b: bool,
    grouped: bool,
    split_k: u8,
    elementwise_op: &'a str,
    num_d_tensors: u8,
    structured_sparsity: bool,
}

#[derive(Serialize)]
struct GemmAlgorithm<'a> {
    tile_shape: Shape,
    wave_shape: Shape,
    warp_tile_shape: Shape,
    pipeline: &'a str,
    scheduler: &'a str,
    epilogue: &'a str,
    block_size: u32,
    double_buffer: bool,
    persistent: bool,
    preshuffle: bool,
    transpose_c: bool,
    num_wave_groups: u8,
    /// CK's keys do not have them.
    #[serde(skip_serializing_if = "Option::is_none")]
    vector_sizes: Option<[u32; 3]>,
}

#[derive(Serialize)]
struct Shape {
    m: u32,
    n: u32,
    k: u32,
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
    let &ExportOptions { registry_name, timestamp, statistics } = options;
    let text = match op {
        Op::GroupedConv => {
            let kernels: Vec<_> = kernels.filter_map(conv).collect();
            let metadata = Metadata { registry_name, total_kernels: kernels.len() };
            let statistics = (statistics && !kernels.is_empty()).then(|| conv_statistics(&kernels));
            serde_json::to_string_pretty(&Document { metadata, statistics, kernels })
        }
        Op::Gemm => {
            let kernels: Vec<_> = kernels.filter_map(gemm).collect();
            let total_kernels = kernels.len();
            let metadata = GemmMetadata { timestamp, registry_name, total_kernels, export_version: "1.0.0" };
            let statistics = (statistics && !kernels.is_empty()).then(|| gemm_statistics(&kernels));
            serde_json::to_string_pretty(&Document { metadata, statistics, kernels })
        }
        Op::Fmha => {
            let kernels: Vec<_> = kernels.filter_map(fmha::of).collect();
            let metadata = Metadata { registry_name, total_kernels: kernels.len() };
            let statistics = (statistics && !kernels.is_empty()).then(|| fmha::statistics(&kernels));
            serde_json::to_string_pretty(&Document { metadata, statistics, kernels })
        }
    };
    text.map(|text| text + "\n")
}

/// One kernel as CK's registry of its operation exports it: an element of [`export_json`].
pub fn kernel_json(kernel: &Kernel) -> impl Serialize + '_ {
    Exported::from(kernel)
}

impl<'a> From<&'a Kernel> for Exported<'a> {
    fn from(kernel: &'a Kernel) -> Self {
        match &kernel.kind {
            KernelKind::Conv(conv) => Self::Conv(registry_conv(&kernel.name, conv)),
            KernelKind::Gemm(gemm) => Self::Gemm(registry_gemm(&kernel.name, gemm)),
            KernelKind::Fmha(attention) => Self::Fmha(fmha::exported(&kernel.name, attention)),
        }
    }
}

/// One kernel as upstream's builder writes it: a convolution as a Python configuration; others, for which
/// upstream has no such file, as in a registry's export.
pub fn config_json(kernel: &Kernel) -> impl Serialize + '_ {
    let KernelKind::Conv(conv) = &kernel.kind else { return Exported::from(kernel) };
    let signature = ConfigSignature {
        variant: conv.direction.as_str(),
        dtype: conv.dtype_in.as_str(),
        ndim_spatial: conv.ndim,
        layout: conv.layout.as_str(),
    };
    let words = ConfigWords {
        pipeline: conv.pipeline.as_str(),
        epilogue: conv.epilogue.as_str(),
        scheduler: conv.scheduler.as_str(),
    };
    Exported::Config(exported_conv(&kernel.name, conv, signature, words))
}

fn conv(kernel: &Kernel) -> Option<RegistryConv<'_>> {
    match &kernel.kind {
        KernelKind::Conv(conv) => Some(registry_conv(&kernel.name, conv)),
        _ => None,
    }
}

fn gemm(kernel: &Kernel) -> Option<Gemm<'_>> {
    match &kernel.kind {
        KernelKind::Gemm(gemm) => Some(registry_gemm(&kernel.name, gemm)),
        _ => None,
    }
}

fn registry_conv<'a>(name: &'a str, kernel: &'a ConvKernel) -> RegistryConv<'a> {
    let signature = ConvSignature {
        dtype_in: kernel.dtype_in.as_str(),
        dtype_wei: kernel.dtype_wei.as_str(),
        dtype_out: kernel.dtype_out.as_str(),
        layout: kernel.layout.as_str(),
        ndim_spatial: kernel.ndim,
        op: kernel.direction.short(),
    };
    let words = RegistryWords {
        pipeline: kernel.pipeline.as_str(),
        scheduler: kernel.scheduler.as_str(),
        epilogue: kernel.epilogue.as_str(),
    };
    exported_conv(name, kernel, signature, words)
}

fn exported_conv<'a, S, W>(name: &'a str, kernel: &'a ConvKernel, signature: S, words: W) -> Conv<'a, S, W> {
    let told =
        Kernel::from_name(name).is_ok_and(|told| matches!(told.kind, KernelKind::Conv(k) if k == *kernel));
    Conv {
        name,
        identifier: (!told).then(|| kernel.long_name()),
        signature,
        algorithm: ConvAlgorithm {
            tile_m: kernel.tile.m,
            tile_n: kernel.tile.n,
            tile_k: kernel.tile.k,
            wave: kernel.wave.to_string(),
            warp: kernel.warp_tile.to_string(),
            words,
            vector_sizes: kernel.vector,
            block_per_cu: kernel.block_per_cu,
            num_wave_groups: kernel.num_wave_groups,
            num_groups_to_merge: kernel.num_groups_to_merge,
        },
        arch: kernel.arch.as_ref().map_or("", |arch| arch.as_str()),
    }
}

fn registry_gemm<'a>(name: &'a str, kernel: &'a GemmKernel) -> Gemm<'a> {
    let GemmKernel { layout, .. } = kernel;
    Gemm {
        name,
        identifier: kernel.identifier(),
        signature: GemmSignature {
            dtype_a: kernel.dtype_a.as_str(),
            dtype_b: kernel.dtype_b.as_str(),
            dtype_c: kernel.dtype_c.as_str(),
            dtype_acc: kernel.dtype_acc.as_str(),
            layout_a: major(layout.a),
            layout_b: major(layout.b),
            layout_c: major(layout.c),
            transpose_a: kernel.transpose_a,
            transpose_b: kernel.transpose_b,
            grouped: kernel.grouped,
            split_k: kernel.split_k,
            elementwise_op: kernel.elementwise.as_str(),
            num_d_tensors: kernel.num_d_tensors,
            structured_sparsity: kernel.structured_sparsity,
        },
        algorithm: GemmAlgorithm {
            tile_shape: shape(kernel.tile),
            wave_shape: shape(kernel.wave),
            warp_tile_shape: shape(kernel.warp_tile),
            pipeline: kernel.pipeline.as_str(),
            scheduler: kernel.scheduler.as_str(),
            epilogue: kernel.epilogue.as_str(),
            block_size: kernel.block_size,
            double_buffer: kernel.double_buffer,
            persistent: kernel.persistent,
            preshuffle: kernel.preshuffle,
            transpose_c: kernel.transpose_c,
            num_wave_groups: kernel.num_wave_groups,
            vector_sizes: Some(kernel.vector).filter(|widths| *widths != [0; 3]),
        },
        gfx_arch: kernel.arch.as_ref().map_or("", |arch| arch.as_str()),
    }
}

fn counts<K>(kernels: &[K], word: impl Fn(&K) -> String) -> Counts {
    let mut counts = Counts::new();
    for kernel in kernels {
        *counts.entry(word(kernel)).or_default() += 1;
    }
    counts
}

fn conv_statistics(kernels: &[RegistryConv<'_>]) -> ConvStatistics {
    ConvStatistics {
        by_datatype: counts(kernels, |kernel| {
            let signature = &kernel.signature;
            [signature.dtype_in, signature.dtype_wei, signature.dtype_out].join("_")
        }),
        by_pipeline: counts(kernels, |kernel| kernel.algorithm.words.pipeline.to_owned()),
        by_arch: counts(kernels, |kernel| kernel.arch.to_owned()),
    }
}

fn gemm_statistics(kernels: &[Gemm<'_>]) -> GemmStatistics {
    GemmStatistics {
        by_datatype: counts(kernels, |kernel| {
            let signature = &kernel.signature;
            [signature.dtype_a, signature.dtype_b, signature.dtype_c].join("_")
        }),
        by_pipeline: counts(kernels, |kernel| kernel.algorithm.pipeline.to_owned()),
        by_scheduler: counts(kernels, |kernel| kernel.algorithm.scheduler.to_owned()),
        by_layout: counts(kernels, |kernel| {
            let signature = &kernel.signature;
            [signature.layout_a, signature.layout_b, signature.layout_c].join("_")
        }),
        by_gfx_arch: counts(kernels, |kernel| kernel.gfx_arch.to_owned()),
    }
}

const fn shape(mnk: Mnk) -> Shape {
    Shape { m: mnk.m, n: mnk.n, k: mnk.k }
}

const fn major(major: Major) -> &'static str {
    match major {
        Major::Row => "row_major",
        Major::Col => "col_major",
        Major::Packed => "packed_external",
    }
}
