//! The fields that filters can use, named as in upstream's configurations.

use ck_select_types::kernel::{ConvKernel, FmhaKernel, GemmKernel, Mnk};
use ck_select_types::vocab::Arch;

use super::Value;

/// A field: its name, and how to read it from a kernel or the kernel's name.
pub struct Field<K: 'static> {
    /// The name after `c.`.
    pub name: &'static str,
    /// What it means.
    pub doc: &'static str,
    read: fn(&str, &K) -> Value,
}

pub(super) fn value<K>(fields: &[Field<K>], index: usize, name: &str, kernel: &K) -> Value {
    // The parser looked the index up.
    fields.get(index).map_or(Value::None, |field| (field.read)(name, kernel))
}

fn int(value: u32) -> Value {
    Value::Number(value.into())
}

fn triple(mnk: Mnk) -> Value {
    Value::text(&mnk.to_string())
}

fn arch(arch: Option<Arch>) -> Value {
    arch.map_or(Value::None, |arch| Value::text(arch.as_str()))
}

macro_rules! fields {
    ($($name:ident, $doc:literal, $read:expr;)*) => {
        &[$(Field { name: stringify!($name), doc: $doc, read: $read }),*]
    };
}

/// Fields of a grouped convolution: those of `GroupedConvKernelConfig` and its properties.
pub const CONV_FIELDS: &[Field<ConvKernel>] = fields! {
    name, "the kernel's name", |name, _| Value::text(name);
    variant, "forward, bwd_data or bwd_weight", |_, k| Value::text(k.direction.as_str());
    ndim_spatial, "spatial dimensions", |_, k| int(k.ndim.into());
    dtype, "element type", |_, k| Value::text(k.dtype_in.as_str());
    layout, "memory order of the tensors", |_, k| Value::text(k.layout.as_str());
    arch, "architecture", |_, k| arch(k.arch);
    tile_m, "rows of the result tile", |_, k| int(k.tile.m);
    tile_n, "columns of the result tile", |_, k| int(k.tile.n);
    tile_k, "depth of one step", |_, k| int(k.tile.k);
    wave_m, "waves along m", |_, k| int(k.wave.m);
    wave_n, "waves along n", |_, k| int(k.wave.n);
    wave_k, "waves along k", |_, k| int(k.wave.k);
    warp_tile_m, "rows of one matrix instruction", |_, k| int(k.warp_tile.m);
    warp_tile_n, "columns of one matrix instruction", |_, k| int(k.warp_tile.n);
    warp_tile_k, "depth of one matrix instruction", |_, k| int(k.warp_tile.k);
    pipeline, "how loads overlap with arithmetic", |_, k| Value::text(k.pipeline.as_str());
    epilogue, "how results leave the registers", |_, k| Value::text(k.epilogue.as_str());
    scheduler, "intrawave or interwave", |_, k| Value::text(k.scheduler.as_str());
    vector_size_a, "elements of one access of A", |_, k| int(k.vector[0]);
    vector_size_b, "elements of one access of B", |_, k| int(k.vector[1]);
    vector_size_c, "elements of one access of C", |_, k| int(k.vector[2]);
    block_per_cu, "workgroups per compute unit", |_, k| int(k.block_per_cu);
    num_wave_groups, "groups of a workgroup's waves", |_, k| int(k.num_wave_groups);
    num_groups_to_merge, "convolution groups of one workgroup", |_, k| int(k.num_groups_to_merge);
    pad_m, "always True", |_, _| Value::flag(true);
    pad_n, "always True", |_, _| Value::flag(true);
    pad_k, "always True", |_, _| Value::flag(true);
    double_smem_buffer, "two buffers in shared memory (_dsb)", |_, k| Value::flag(k.double_smem_buffer);
    split_image, "splits images (_si)", |_, k| Value::flag(k.split_image);
    explicit_gemm, "runs as a plain GEMM", |_, k| Value::flag(k.explicit_gemm);
    two_stage, "converts in a second launch (_2stage)", |_, k| Value::flag(k.two_stage);
    tile_str, "the tile as MxNxK", |_, k| triple(k.tile);
    wave_str, "the waves as MxNxK", |_, k| triple(k.wave);
    warp_str, "the instruction's tile as MxNxK", |_, k| triple(k.warp_tile);
    vec_str, "the vector sizes as AxBxC", |_, k| { let [a, b, c] = k.vector; triple(Mnk::new(a, b, c)) };
};

/// Fields of a GEMM: the keys of the tile engine's configurations. There `warp_*` counts waves.
pub const GEMM_FIELDS: &[Field<GemmKernel>] = fields! {
    name, "the kernel's name", |name, _| Value::text(name);
    dtype, "element type of A and B", |_, k| Value::text(k.dtype_a.as_str());
    layout, "memory orders of A, B, C, such as rcr", |_, k| Value::text(&k.layout.to_string());
    arch, "architecture", |_, k| arch(k.arch);
    tile_m, "rows of the result tile", |_, k| int(k.tile.m);
    tile_n, "columns of the result tile", |_, k| int(k.tile.n);
    tile_k, "depth of one step", |_, k| int(k.tile.k);
    warp_m, "waves along m", |_, k| int(k.wave.m);
    warp_n, "waves along n", |_, k| int(k.wave.n);
    warp_k, "waves along k", |_, k| int(k.wave.k);
    warp_tile_m, "rows of one matrix instruction", |_, k| int(k.warp_tile.m);
    warp_tile_n, "columns of one matrix instruction", |_, k| int(k.warp_tile.n);
    warp_tile_k, "depth of one matrix instruction", |_, k| int(k.warp_tile.k);
    pipeline, "how loads overlap with arithmetic", |_, k| Value::text(k.pipeline.as_str());
    epilogue, "how results leave the registers", |_, k| Value::text(k.epilogue.as_str());
    scheduler, "intrawave or interwave", |_, k| Value::text(k.scheduler.as_str());
    pad_m, "handles an m that the tile does not divide", |_, k| Value::flag(k.pad[0]);
    pad_n, "handles an n that the tile does not divide", |_, k| Value::flag(k.pad[1]);
    pad_k, "handles a k that the tile does not divide", |_, k| Value::flag(k.pad[2]);
    persistent, "workgroups stay resident", |_, k| Value::flag(k.persistent);
    quant, "which operands have scales: aquant, bquant, abquant, rowcolquant, tensor_quant, mx or None",
        |_, k| k.variant.quant.map_or(Value::None, |quant| Value::text(quant.mode.as_str()));
    group_a, "elements of A with one scale as MxNxK, None without groups",
        |_, k| k.variant.quant.and_then(|quant| quant.group_a).map_or(Value::None, triple);
    group_b, "elements of B with one scale as MxNxK, None without groups",
        |_, k| k.variant.quant.and_then(|quant| quant.group_b).map_or(Value::None, triple);
    a_preshuffle_quant, "scales of A lie in the order in which they are read",
        |_, k| Value::flag(k.variant.shuffled_scales[0]);
    b_preshuffle_quant, "scales of B lie in the order in which they are read",
        |_, k| Value::flag(k.variant.shuffled_scales[1]);
};

/// Fields of attention: the columns of upstream's tables, and the waves.
pub const FMHA_FIELDS: &[Field<FmhaKernel>] = fields! {
    name, "the kernel's name", |name, _| Value::text(name);
    family, "what it does: fwd, fwd_splitkv and so on", |_, k| Value::text(k.family.as_str());
    dtype, "element types", |_, k| Value::text(k.dtype.as_str());
    mode, "batch or group", |_, k| Value::text(k.mode.as_str());
    arch, "architecture", |_, k| arch(k.arch);
    hdim_q, "elements of a query", |_, k| int(k.hdim_q.into());
    hdim_v, "elements of a value", |_, k| int(k.hdim_v.into());
    pipeline, "how keys and values are loaded", |_, k| Value::text(k.pipeline.as_str());
    tile_m0, "queries of a tile", |_, k| int(k.tile.m0.into());
    tile_n0, "keys of a tile", |_, k| int(k.tile.n0.into());
    tile_k0, "elements of queries in one step", |_, k| int(k.tile.k0.into());
    tile_n1, "elements of values of a tile", |_, k| int(k.tile.n1.into());
    tile_k1, "keys in one step of the second product", |_, k| int(k.tile.k1.into());
    tile_k0max, "elements of a query, padded", |_, k| int(k.tile.k0max.into());
    wave_m0, "waves along queries", |_, k| int(k.wave[0].into());
    warp_m0, "rows of one matrix instruction", |_, k| int(k.warp_tile[0].into());
    warp_n0, "columns of one matrix instruction", |_, k| int(k.warp_tile[1].into());
    warp_k0, "depth of one matrix instruction", |_, k| int(k.warp_tile[2].into());
    pad_s, "handles any number of queries", |_, k| Value::flag(k.pad[0]);
    pad_sk, "handles any number of keys", |_, k| Value::flag(k.pad[1]);
    pad_d, "handles smaller heads of queries", |_, k| Value::flag(k.pad[2]);
    pad_dv, "handles smaller heads of values", |_, k| Value::flag(k.pad[3]);
    mask, "no, top_left, bottom_right or generic", |_, k| Value::text(k.mask.as_str());
    bias, "no, bias or alibi", |_, k| Value::text(k.bias.as_str());
    qscale, "how 8-bit operands are scaled", |_, k| Value::text(k.qscale.as_str());
    lse, "stores logarithms of sums", |_, k| Value::flag(k.lse);
    dropout, "drops weights", |_, k| Value::flag(k.dropout);
    logits, "caps scores softly", |_, k| Value::flag(k.logits);
    sink, "the first keys are seen by all", |_, k| Value::flag(k.sink);
    skip, "skips short sequences", |_, k| Value::flag(k.skip);
    paged_kv, "keys and values lie in pages", |_, k| Value::flag(k.paged_kv);
    block_per_cu,
        "workgroups per compute unit, 255 when the pipeline decides", |_, k| int(k.block_per_cu.into());
};
