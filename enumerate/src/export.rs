//! Enumerated kernels as JSON, for CK's tools and for [`Pool`](ck_select::pool::Pool).

use ck_select::kernel::{Kernel, KernelKind};
use ck_select::registry::kernel_json;
use serde::Serialize;

#[derive(Serialize)]
struct Document<'a, K> {
    metadata: Metadata<'a>,
    kernels: Vec<K>,
}

#[derive(Serialize)]
struct Metadata<'a> {
    config_file: &'a str,
    arch: &'a str,
    count: usize,
}

#[derive(Serialize)]
struct Conv<'a> {
    name: &'a str,
    signature: Signature<'a>,
    algorithm: Algorithm<'a>,
    arch: &'a str,
}

#[derive(Serialize)]
struct Signature<'a> {
    variant: &'a str,
    dtype: &'a str,
    ndim_spatial: u8,
    layout: &'a str,
}

#[derive(Serialize)]
struct Algorithm<'a> {
    tile_m: u32,
    tile_n: u32,
    tile_k: u32,
    wave: String,
    warp: String,
    pipeline: &'a str,
    epilogue: &'a str,
    scheduler: &'a str,
    vector_sizes: [u32; 3],
    block_per_cu: u32,
    num_wave_groups: u32,
    num_groups_to_merge: u32,
}

/// The export that upstream's builder writes, indented by two, with a line end.
///
/// Convolutions are written as upstream's Python configurations, which leave four flags to the name; GEMMs, for which
/// upstream has no such file, as the export of a CK registry.
pub fn to_json(kernels: &[Kernel], config_file: &str, arch: &str) -> serde_json::Result<String> {
    let conv = |kernel: &'_ Kernel| matches!(kernel.kind, KernelKind::Conv(_));
    let metadata = Metadata { config_file, arch, count: kernels.len() };
    let text = if kernels.iter().all(conv) {
        let kernels: Vec<_> = kernels.iter().filter_map(exported_conv).collect();
        serde_json::to_string_pretty(&Document { metadata, kernels })
    } else {
        let kernels: Vec<_> = kernels.iter().map(kernel_json).collect();
        serde_json::to_string_pretty(&Document { metadata, kernels })
    };
    text.map(|text| text + "\n")
}

/// The names, one a line.
pub fn to_text(kernels: &[Kernel]) -> String {
    kernels.iter().flat_map(|kernel| [kernel.name.as_str(), "\n"]).collect()
}

fn exported_conv(kernel: &Kernel) -> Option<Conv<'_>> {
    let (name, KernelKind::Conv(kernel)) = (&kernel.name, &kernel.kind) else { return None };
    Some(Conv {
        name,
        signature: Signature {
            variant: kernel.direction.as_str(),
            dtype: kernel.dtype_in.as_str(),
            ndim_spatial: kernel.ndim,
            layout: kernel.layout.as_str(),
        },
        algorithm: Algorithm {
            tile_m: kernel.tile.m,
            tile_n: kernel.tile.n,
            tile_k: kernel.tile.k,
            wave: kernel.wave.to_string(),
            warp: kernel.warp_tile.to_string(),
            pipeline: kernel.pipeline.as_str(),
            epilogue: kernel.epilogue.as_str(),
            scheduler: kernel.scheduler.as_str(),
            vector_sizes: kernel.vector,
            block_per_cu: kernel.block_per_cu,
            num_wave_groups: kernel.num_wave_groups,
            num_groups_to_merge: kernel.num_groups_to_merge,
        },
        arch: kernel.arch.as_ref().map_or("", |arch| arch.as_str()),
    })
}
