//! Upstream's features of grouped convolutions: the superset of 113, from which all its convolution schemas
//! pick.

mod engines;
mod inputs;
mod pair;
mod terms;
pub mod work;

pub use pair::ConvPair;
pub use terms::{ConvKernelTerms, ConvTerms, PipelineFlags};

use super::exact::{flag, float, log2, max1, product, ratio};
use super::hardware::{compute_units, lds_capacity};
use super::{Feature, hardware_features};

fn log_tiles_m(m: &ConvPair) -> f64 {
    m.axes[0].tiles.max(1.0).ln()
}

fn log_gemm_m(p: &ConvTerms) -> f64 {
    float(max1(p.gemm_m)).ln()
}

/// Every feature that this crate has for grouped convolutions: upstream's, then our own.
pub fn all() -> impl Iterator<Item = &'static Feature<ConvTerms, ConvKernelTerms>> + Clone {
    FEATURES.iter().chain(work::FEATURES)
}

/// Upstream's features of grouped convolutions, in the order of its superset.
pub static FEATURES: &[Feature<ConvTerms, ConvKernelTerms>] = hardware_features! { <ConvTerms, ConvKernelTerms> [
    Problem N = |p| p.problem.n as f64, "images";
    Problem C = |p| p.problem.c as f64, "input channels of all groups";
    Problem K = |p| p.problem.k as f64, "output channels of all groups";
    Problem G = |p| p.problem.g as f64, "groups";
    Problem Hi = |p| p.problem.input[1] as f64, "input height";
    Problem Wi = |p| p.problem.input[2] as f64, "input width";
    Problem Y = |p| p.problem.filter[1] as f64, "filter height";
    Problem X = |p| p.problem.filter[2] as f64, "filter width";
    Problem stride_h = |p| p.problem.stride[1] as f64, "vertical stride";
    Problem stride_w = |p| p.problem.stride[2] as f64, "horizontal stride";
    Problem pad_h = |p| p.problem.pad_left[1] as f64, "padding above";
    Problem pad_w = |p| p.problem.pad_left[2] as f64, "padding at the left";
    Problem Ho = |p| p.output[1] as f64, "output height";
    Problem Wo = |p| p.output[2] as f64, "output width";
    Problem log2_N = |p| log2(p.problem.n.into()), "log2 of N";
    Problem log2_C = |p| log2(p.problem.c.into()), "log2 of C";
    Problem log2_K = |p| log2(p.problem.k.into()), "log2 of K";
    Problem log2_G = |p| log2(p.problem.g.into()), "log2 of G";
    Problem log2_Hi = |p| log2(p.problem.input[1].into()), "log2 of Hi";
    Problem log2_Wi = |p| log2(p.problem.input[2].into()), "log2 of Wi";
    Problem log2_spatial = |p| log2(p.volume_in), "log2 of the input's volume";
    Problem log2_filter = |p| log2(p.volume_filter), "log2 of the filter's volume";
    Problem log2_output = |p| log2(p.volume_out), "log2 of the output's volume";
    Problem arithmetic_intensity = |p| p.flops / p.bytes.max(1.0), "operations for each byte moved once";
    Problem filter_area = |p| float(p.volume_filter), "volume of the filter";
    Problem is_1x1_conv = |p| flag(p.problem.filter == [1; 3]), "the filter is one tap (depth counts in 2D, too)";
    Problem is_3x3_conv = |p| flag(p.is_square_filter(3)), "the filter is 3 along every axis";
    Problem channels_per_group = |p| p.channels, "C / G";
    Problem aspect_ratio_hw = |p| ratio(p.problem.input[1].into(), p.problem.input[2].into()), "Hi / Wi";
    Problem aspect_ratio_filter = |p| ratio(p.problem.filter[1].into(), p.problem.filter[2].into()), "Y / X";
    Problem is_3d = |p| flag(p.is_3d), "depth, filter depth or depth padding says 3D";
    Problem Di = |p| p.problem.input[0] as f64, "input depth";
    Problem Z = |p| p.problem.filter[0] as f64, "filter depth";
    Problem Do = |p| p.output[0] as f64, "output depth, 1 in 2D";
    Problem stride_d = |p| p.problem.stride[0] as f64, "depth stride";
    Problem pad_d = |p| p.problem.pad_left[0] as f64, "padding in front";
    Problem dilation_h = |p| p.problem.dilation[1] as f64, "vertical dilation";
    Problem dilation_w = |p| p.problem.dilation[2] as f64, "horizontal dilation";
    Problem log2_channels_per_group = |p| p.channels.max(1.0).log2(), "log2 of C / G";
    Problem log2_output_channels_per_group = |p| p.out_channels.max(1.0).log2(), "log2 of K / G";
    Problem is_depthwise = |p| flag(p.problem.g == p.problem.c && p.problem.g == p.problem.k), "one channel a group";
    Problem group_density = |p| ratio(p.problem.g.into(), p.problem.c.into()), "G / C";
    Problem is_small_group = |p| flag(p.channels < 16.0 || p.out_channels < 16.0),
        "under 16 channels a group";
    Problem channels_product_per_group = |p| p.channels * p.out_channels, "C / G times K / G";
    Problem batch_group_product = |p| float(product([p.problem.n.into(), p.problem.g.into()])), "N times G";
    Problem is_small_batch_grouped = |p| flag(p.problem.n < 8 && p.problem.g > 1), "grouped, under 8 images";
    Problem K_per_C = |p| ratio(p.problem.k.into(), p.problem.c.into()), "K / C";
    Kernel block_size = |k| k.block_size as f64,
        "threads of a workgroup, or tile m by the name-order mapping";
    Kernel gemm_m_per_block = |k| k.gemm_m_per_block as f64, "tile m, or tile n by the name-order mapping";
    Kernel gemm_n_per_block = |k| k.gemm_n_per_block as f64, "tile n, or tile k by the name-order mapping";
    Kernel gemm_k_per_block = |k| k.gemm_k_per_block as f64, "tile k";
    Kernel pipeline = |k| k.pipeline_code, "number of the pipeline (categorical)";
    Kernel num_warps = |k| k.block_size as f64 / 4.0, "block_size / 4, frozen as upstream trained it";
    Kernel tile_volume = |k| float(product([k.tile_mn(), k.k_tile.into()])), "volume of the tile";
    Kernel tile_mn = |k| float(k.tile_mn()), "elements of the result tile";
    Pair lds_usage_estimate = |_, _, _, m| m.lds_usage, "bytes of shared memory for one step";
    Pair lds_usage_ratio = |_, k, h, m| m.lds_usage / lds_capacity(k.pipeline.half_lds, h).max(1) as f64,
        "share of the shared memory for one step";
    Kernel block_tile_ratio_m = |k| ratio(k.gemm_m_per_block.into(), k.block_size.into()),
        "tile rows for each thread";
    Kernel block_tile_ratio_n = |k| ratio(k.gemm_n_per_block.into(), k.block_size.into()),
        "tile columns for each thread";
    Kernel block_efficiency = ConvKernelTerms::block_efficiency, "short side of the tile / long side";
    Kernel is_compv3 = |k| flag(k.pipeline.compv3), "the pipeline is compv3";
    Kernel is_compv4 = |k| flag(k.pipeline.compv4), "the pipeline is compv4";
    Kernel is_compv5 = |k| flag(k.pipeline.compv5), "the pipeline is compv5";
    Kernel is_intrawave = |k| flag(k.intrawave), "the scheduler is intrawave";
    Kernel has_dsb = |k| k.has_dsb as f64, "two buffers in shared memory";
    Kernel has_si = |k| k.has_si as f64, "splits images";
    Kernel is_basic = |k| flag(k.pipeline.basic), "the pipeline is a basic_v one";
    Kernel is_compv6 = |k| flag(k.pipeline.compv6), "the pipeline is compv6";
    Kernel is_mem = |k| flag(k.pipeline.mem), "the pipeline is mem";
    Problem gemm_m_output = |p| float(p.gemm_m), "rows of the implicit GEMM: N times the output's volume";
    Problem gemm_n_output = |p| float(p.gemm_n), "columns of the implicit GEMM: K";
    Problem gemm_k_output = |p| float(p.gemm_k),
        "depth of the implicit GEMM: C / G times the filter's volume";
    Pair num_tiles_m = |_, _, _, m| m.axes[0].tiles, "tiles along m";
    Pair num_tiles_n = |_, _, _, m| m.axes[1].tiles, "tiles along n";
    Pair num_tiles_k = |_, _, _, m| m.axes[2].tiles, "steps along k";
    Pair total_output_tiles = |_, _, _, m| m.output_tiles, "tiles of the result";
    Pair tile_eff_m = |_, _, _, m| m.axes[0].efficiency, "share of the last tile along m that is used";
    Pair tile_eff_n = |_, _, _, m| m.axes[1].efficiency, "share of the last tile along n that is used";
    Pair tile_eff_k = |_, _, _, m| m.axes[2].efficiency, "share of the last step along k that is used";
    Pair overall_tile_efficiency = |_, _, _, m|
        m.axes[0].efficiency * m.axes[1].efficiency * m.axes[2].efficiency,
        "product of the three";
    Pair cu_utilization = |_, _, _, m| m.fill, "tiles for each compute unit, not clamped";
    Pair ratio_gemm_m_to_tile_m = |_, _, _, m| m.axes[0].quotient, "rows / tile rows";
    Pair ratio_gemm_n_to_tile_n = |_, _, _, m| m.axes[1].quotient, "columns / tile columns";
    Pair ratio_gemm_k_to_tile_k = |_, _, _, m| m.axes[2].quotient, "depth / tile depth";
    Pair problem_smaller_than_tile_m = |_, _, _, m| m.axes[0].smaller, "fewer rows than a tile";
    Pair problem_smaller_than_tile_n = |_, _, _, m| m.axes[1].smaller, "fewer columns than a tile";
    Pair problem_smaller_than_tile_k = |_, _, _, m| m.axes[2].smaller, "shallower than a step";
    Problem log_gemm_m_n_ratio = |p| (float(max1(p.gemm_m)) / float(max1(p.gemm_n))).ln(),
        "ln of rows / columns";
    Pair log_total_output_tiles = |_, _, _, m| m.output_tiles.max(1.0).ln(), "ln of the tiles of the result";
    Pair log_num_tiles_m = |_, _, _, m| log_tiles_m(m), "ln of the tiles along m";
    Pair is_mem_x_log_num_tiles_m = |_, k, _, m| flag(k.pipeline.mem) * log_tiles_m(m),
        "log_num_tiles_m for mem, else 0";
    Problem log_gemm_m_raw = log_gemm_m, "ln of the rows";
    Pair gemm_m_lt_num_cus = |p, _, h, _| flag(p.gemm_m < h.num_cus.into()), "fewer rows than compute units";
    Pair log_gemm_m_over_num_cus = |p, _, h, _| (float(max1(p.gemm_m)) / compute_units(h)).ln(),
        "ln of rows for each compute unit";
    Pair is_mem_x_log_gemm_m_raw = |p, k, _, _| flag(k.pipeline.mem) * log_gemm_m(p),
        "log_gemm_m_raw for mem, else 0";
    Pair log_cu_fill = |_, _, _, m| m.fill.max(1e-6).ln(), "ln of tiles for each compute unit";
    Pair k_tiles_over_mn_tiles = |_, _, _, m| m.axes[2].tiles / m.output_tiles.max(1.0),
        "steps for each tile";
    Pair waves_per_max_occ = |_, _, h, m| {
        m.output_tiles / float(max1(product([h.num_cus.into(), h.max_waves_per_cu.into()])))
    }, "tiles / waves that the device can hold";
    Pair wave_quant_efficiency = |_, _, h, m| m.output_tiles / (m.fill.ceil() * compute_units(h)).max(1.0),
        "share of the last round of workgroups that is used";
    Pair log_k_per_active_cu = |_, _, h, m| {
        (m.axes[2].tiles / m.output_tiles.min(compute_units(h)).max(1.0)).max(1e-6).ln()
    }, "ln of steps for each busy compute unit";
    Pair is_subwave = |_, _, h, m| flag(m.output_tiles < compute_units(h)),
        "not every compute unit gets a tile";
] };

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::exact::modulo;
    use crate::problem::ConvProblem;

    fn problem() -> ConvProblem {
        ConvProblem { c: 46, k: 10, g: 5, ..ConvProblem::new_2d([9, 9], [5, 5]) }
    }

    #[test]
    fn gemm_depth_is_truncated_from_the_float_product() {
        assert_eq!(ConvTerms::new(&problem(), 2.0).gemm_k, 229);
        assert_eq!(modulo(46 * 25, 5), 0, "although the integers divide");
    }

    #[test]
    fn depth_counts_only_in_3d() {
        let flat = ConvTerms::new(&ConvProblem { stride: [7, 1, 1], dilation: [3, 1, 1], ..problem() }, 2.0);
        assert_eq!((flat.is_3d, flat.output), (false, [1, 5, 5]));
        let deep =
            ConvTerms::new(&ConvProblem { pad_left: [1, 0, 0], pad_right: [1, 0, 0], ..problem() }, 2.0);
        assert_eq!((deep.is_3d, deep.output), (true, [3, 5, 5]));
    }
}
