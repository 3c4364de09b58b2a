//! Features of GEMMs: the 72 of the current engine, the six of vector widths, and those of a kernel's
//! description.

mod inputs;
mod pair;
mod terms;
pub(super) mod vector;

pub use pair::GemmPair;
pub use terms::{GemmBuild, GemmKernelTerms, GemmTerms};

use super::engine::{Engines, NamedEngine, Needs, OperationEngines, Telltale};
use super::exact::{flag, float, log2, product, ratio};
use super::hardware::{compute_units, lds_capacity};
use super::{Engine, Feature, MemPads, PipelineCodes, Rules, features, hardware_features};
use crate::hardware::Hardware;
use crate::problem::GemmProblem;
use vector::Operand;

fn any([m, n, k]: [f64; 3]) -> f64 {
    m.max(n).max(k)
}

fn misses_padding(k: &GemmKernelTerms, m: &GemmPair, axis: usize) -> f64 {
    m.axes[axis].uneven * flag(!k.pad[axis])
}

fn quotient(a: i64, b: i64) -> f64 {
    ratio(a.into(), b.into())
}

/// Fixed width as the kernel stores it; NaN cannot reach a model: its schema requires the widths, see
/// `Schema`.
fn stored(k: &GemmKernelTerms, operand: Operand) -> f64 {
    k.vector.map_or(f64::NAN, |widths| widths.fixed(operand) as f64)
}

fn fraction(p: &GemmTerms, k: &GemmKernelTerms, operand: Operand) -> f64 {
    match (p.vector, k.vector) {
        (Some(problem), Some(widths)) => {
            widths.effective(&problem, [k.tile, k.wave, k.warp_tile], operand) as f64
                / problem.legal(operand) as f64
        }
        _ => f64::NAN,
    }
}

fn repeats(k: &GemmKernelTerms, axis: usize) -> f64 {
    quotient(k.tile[axis], k.wave[axis].saturating_mul(k.warp_tile[axis]))
}

fn rounds(m: &GemmPair, hardware: &Hardware) -> f64 {
    (m.output_tiles / compute_units(hardware)).ceil()
}

/// The features of upstream's current engine, in its order.
pub static FEATURES: &[Feature<GemmTerms, GemmKernelTerms>] = hardware_features! { <GemmTerms, GemmKernelTerms> [
    Problem M = |p| p.m as f64, "rows";
    Problem N = |p| p.n as f64, "columns";
    Problem K = |p| p.k as f64, "depth";
    Problem split_k = |p| p.split_k as f64, "parts of the depth";
    Problem log2_M = |p| log2(p.m.into()), "log2 of M";
    Problem log2_N = |p| log2(p.n.into()), "log2 of N";
    Problem log2_K = |p| log2(p.k.into()), "log2 of K";
    Problem log2_MNK = |p| log2(product([p.m.into(), p.n.into(), p.k.into()])), "log2 of M times N times K";
    Problem arithmetic_intensity = |p| p.arithmetic_intensity, "operations for each byte moved once";
    Problem aspect_ratio_mn = |p| quotient(p.m, p.n), "M / N";
    Problem aspect_ratio_mk = |p| quotient(p.m, p.k), "M / K";
    Problem aspect_ratio_nk = |p| quotient(p.n, p.k), "N / K";
    Problem layout = |p| p.layout_code, "number of the layout (categorical)";
    Kernel tile_m = |k| k.tile[0] as f64, "tile rows";
    Kernel tile_n = |k| k.tile[1] as f64, "tile columns";
    Kernel tile_k = |k| k.tile[2] as f64, "depth of one step";
    Kernel warp_m = |k| k.wave[0] as f64, "waves along m";
    Kernel warp_n = |k| k.wave[1] as f64, "waves along n";
    Kernel warp_k = |k| k.wave[2] as f64, "waves along k";
    Kernel warp_tile_m = |k| k.warp_tile[0] as f64, "rows of one matrix instruction";
    Kernel warp_tile_n = |k| k.warp_tile[1] as f64, "columns of one matrix instruction";
    Kernel warp_tile_k = |k| k.warp_tile[2] as f64, "depth of one matrix instruction";
    Kernel pipeline = |k| k.pipeline_code, "number of the pipeline (categorical)";
    Kernel scheduler = |k| k.scheduler_code, "number of the scheduler (categorical)";
    Kernel epilogue = |k| k.epilogue_code, "number of the epilogue (categorical)";
    Kernel pad_m = |k| flag(k.pad[0]), "handles rows that the tile does not divide";
    Kernel pad_n = |k| flag(k.pad[1]), "handles columns that the tile does not divide";
    Kernel pad_k = |k| flag(k.pad[2]), "handles depths that the tile does not divide";
    Kernel persistent = |k| flag(k.persistent), "workgroups stay resident";
    Kernel num_warps = |k| float(k.num_warps()), "waves of a workgroup";
    Kernel tile_volume = |k| float(product(k.tile.map(i128::from))), "volume of the tile";
    Kernel tile_mn = |k| float(product([k.tile[0].into(), k.tile[1].into()])), "elements of the result tile";
    Pair lds_usage_estimate = |_, _, _, m| m.lds_usage, "bytes of shared memory for one step";
    Pair lds_usage_ratio = |_, k, h, m| m.lds_usage / lds_capacity(k.half_lds, h).max(1) as f64,
        "share of the shared memory for one step";
    Pair num_tiles_m = |_, _, _, m| m.axes[0].tiles, "tiles along m";
    Pair num_tiles_n = |_, _, _, m| m.axes[1].tiles, "tiles along n";
    Pair num_tiles_k = |_, _, _, m| m.axes[2].tiles, "steps along k";
    Pair total_output_tiles = |_, _, _, m| m.output_tiles, "tiles of the results of all GEMMs";
    Pair tile_eff_m = |_, _, _, m| m.axes[0].efficiency, "share of the last tile along m that is used";
    Pair tile_eff_n = |_, _, _, m| m.axes[1].efficiency, "share of the last tile along n that is used";
    Pair tile_eff_k = |_, _, _, m| m.axes[2].efficiency, "share of the last step along k that is used";
    Pair overall_tile_efficiency = |_, _, _, m|
        m.axes[0].efficiency * m.axes[1].efficiency * m.axes[2].efficiency,
        "product of the three";
    Pair cu_utilization = |_, _, h, m| m.output_tiles / compute_units(h),
        "tiles for each compute unit, not clamped";
    Pair ratio_M_to_tile_m = |_, _, _, m| m.axes[0].quotient, "rows / tile rows";
    Pair ratio_N_to_tile_n = |_, _, _, m| m.axes[1].quotient, "columns / tile columns";
    Pair ratio_K_to_tile_k = |_, _, _, m| m.axes[2].quotient, "depth / tile depth";
    Pair problem_smaller_than_tile_m = |_, _, _, m| m.axes[0].smaller, "fewer rows than a tile";
    Pair problem_smaller_than_tile_n = |_, _, _, m| m.axes[1].smaller, "fewer columns than a tile";
    Pair problem_smaller_than_tile_k = |_, _, _, m| m.axes[2].smaller, "shallower than a step";
    Pair any_dim_too_small = |_, _, _, m| any(m.axes.map(|axis| axis.smaller)), "any of the three";
    Pair needs_padding_m = |_, _, _, m| m.axes[0].uneven, "the tile does not divide the rows";
    Pair needs_padding_n = |_, _, _, m| m.axes[1].uneven, "the tile does not divide the columns";
    Pair needs_padding_k = |_, _, _, m| m.axes[2].uneven, "the tile does not divide the depth";
    Pair has_padding_when_needed_m = |_, k, _, m| m.axes[0].uneven * flag(k.pad[0]), "needed and there, rows";
    Pair has_padding_when_needed_n = |_, k, _, m| m.axes[1].uneven * flag(k.pad[1]),
        "needed and there, columns";
    Pair has_padding_when_needed_k = |_, k, _, m| m.axes[2].uneven * flag(k.pad[2]),
        "needed and there, depth";
    Pair missing_required_padding_m = |_, k, _, m| misses_padding(k, m, 0), "needed and not there, rows";
    Pair missing_required_padding_n = |_, k, _, m| misses_padding(k, m, 1), "needed and not there, columns";
    Pair missing_required_padding_k = |_, k, _, m| misses_padding(k, m, 2), "needed and not there, depth";
    Pair missing_any_required_padding = |_, k, _, m| any([0, 1, 2].map(|axis| misses_padding(k, m, axis))),
        "any of the three";
] };

/// The features of the widths of memory accesses.
pub static VECTOR: &[Feature<GemmTerms, GemmKernelTerms>] = features! { <GemmTerms, GemmKernelTerms>
    Kernel vec_a = |k| stored(k, Operand::A), "fixed vector width of A, 0 for the native one";
    Kernel vec_b = |k| stored(k, Operand::B), "fixed vector width of B, 0 for the native one";
    Kernel vec_c = |k| stored(k, Operand::C), "fixed vector width of C, 0 for the native one";
    Pair vec_frac_a = |p, k, _, _| fraction(p, k, Operand::A), "vector width in use / widest legal one, A";
    Pair vec_frac_b = |p, k, _, _| fraction(p, k, Operand::B), "vector width in use / widest legal one, B";
    Pair vec_frac_c = |p, k, _, _| fraction(p, k, Operand::C), "vector width in use / widest legal one, C";
};

/// Our own, most of which need [`GemmBuild`], which no cells have.
pub static BUILD: &[Feature<GemmTerms, GemmKernelTerms>] = features! { <GemmTerms, GemmKernelTerms>
    Problem integers = |p| flag(p.integers), "multiplies integers, not floats";
    Kernel pipeline_place = |k| k.build.pipeline, "place of the pipeline among all";
    Kernel scheduler_place = |k| k.build.scheduler, "place of the scheduler among all";
    Kernel epilogue_place = |k| k.build.epilogue, "place of the epilogue among all";
    Kernel quant_place = |k| k.build.quant, "place of the kind of scales among all, from 1; 0 for none";
    Kernel block_per_cu = |k| k.build.block_per_cu, "workgroups that should fit on one compute unit";
    Kernel store_threads = |k| k.build.store_threads,
        "threads along n that store the result; 0 when not known";
    Kernel preshuffled = |k| flag(k.build.flags[0]), "B is stored in the order in which it is read";
    Kernel batched = |k| flag(k.build.flags[1]), "multiplies a batch of equal GEMMs";
    Kernel row_scales = |k| flag(k.build.flags[2]), "reads scales of A row by row instead of by columns";
    Kernel repeat_m = |k| repeats(k, 0), "instructions of a wave along m";
    Kernel repeat_n = |k| repeats(k, 1), "instructions of a wave along n";
    Kernel shuffle_m = |k| k.build.shuffle[0], "results along m in a shuffle of a wave; 0 when not known";
    Kernel shuffle_n = |k| k.build.shuffle[1], "results along n in one; 0 when not known";
    Kernel load_threads_a = |k| k.build.load_threads[0], "threads along m that load A; 0 when not known";
    Kernel load_threads_b = |k| k.build.load_threads[1], "threads along n that load B; 0 when not known";
    Kernel store_width = |k| k.build.store_width, "elements that a thread stores at a time; 0 when not known";
    Pair rounds = |_, _, h, m| rounds(m, h), "rounds of tiles over the compute units";
    Pair wave_quant_efficiency = |_, _, h, m| m.output_tiles / (rounds(m, h) * compute_units(h)),
        "share of the compute units with a tile in each round";
    Pair cu_macs = |_, k, h, m| float(product(k.tile.map(i128::from))) * rounds(m, h) * m.axes[2].tiles,
        "multiply-adds of a compute unit with a tile in each round";
    Pair cu_bytes = |_, _, h, m| m.lds_usage * rounds(m, h) * m.axes[2].tiles, "bytes that it loads";
};

/// Every feature that this crate has for GEMMs: upstream's, then our own.
pub fn all() -> impl Iterator<Item = &'static Feature<GemmTerms, GemmKernelTerms>> + Clone {
    FEATURES.iter().chain(VECTOR).chain(BUILD)
}

impl OperationEngines for GemmProblem {
    const ENGINES: Engines = Engines {
        own: Engine::Gemm72,
        forward: Engine::Gemm72,
        upstream: Engine::Gemm72,
        categories: &["layout", "pipeline", "scheduler", "epilogue"],
        hardware: Hardware::USUAL,
        least_constant: 1,
        bare: None,
        telltales: &[Telltale { names: &["log2_MNK"], columns: Some(55), rules: RULES_55 }],
        named: &[
            NamedEngine::new("gemm_universal", "GemmUniversalFeatureEngine", Engine::Gemm72, 0),
            NamedEngine::new("gemm_universal_vec", "GemmUniversalVecFeatureEngine", Engine::Gemm78Vec, 1),
        ],
        all: &[
            (Engine::Gemm55, RULES_55, || {
                names(FEATURES).filter(|name| !ONLY_IN_72.contains(name)).collect()
            }),
            (Engine::Gemm72, Rules::CONV97, || names(FEATURES).collect()),
            (Engine::Gemm78Vec, Rules::CONV97, || names(FEATURES).chain(names(VECTOR)).collect()),
        ],
    };

    /// The features for winners: those that need no number of a word, because tables have kernels of pipelines
    /// that no trainer numbers, and not N and K, by which a forest would know its pairs by heart.
    const WINNERS: Option<&'static [&'static str]> = Some(&[
        "M", "integers", "tile_m", "tile_n", "tile_k", "warp_m", "warp_n", "warp_k", "warp_tile_m",
        "warp_tile_k", "pad_n", "pad_k", "num_warps", "tile_volume", "tile_mn", "lds_usage_estimate",
        "num_tiles_m", "num_tiles_n", "num_tiles_k", "total_output_tiles", "tile_eff_m", "tile_eff_n",
        "tile_eff_k", "overall_tile_efficiency", "cu_utilization", "needs_padding_m", "needs_padding_n",
        "needs_padding_k", "pipeline_place", "scheduler_place", "epilogue_place", "quant_place",
        "block_per_cu", "store_threads", "preshuffled", "batched", "row_scales", "repeat_m", "repeat_n",
        "shuffle_m", "shuffle_n", "load_threads_a", "load_threads_b", "store_width", "rounds",
        "wave_quant_efficiency", "cu_macs", "cu_bytes",
    ]);

    fn rules_for_training(rules: Rules) -> Rules {
        Rules { mem_pads: MemPads::All, ..rules }
    }

    fn needs(has: impl Fn(&str) -> bool) -> Needs {
        Needs { vector: names(VECTOR).any(&has), build: names(BUILD).any(&has), ..Needs::default() }
    }
}

const RULES_55: Rules = Rules { pipeline_codes: PipelineCodes::PythonFirst, ..Rules::CONV97 };

const ONLY_IN_72: &[&str] = &[
    "ratio_M_to_tile_m", "ratio_N_to_tile_n", "ratio_K_to_tile_k", "problem_smaller_than_tile_m",
    "problem_smaller_than_tile_n", "problem_smaller_than_tile_k", "any_dim_too_small", "needs_padding_m",
    "needs_padding_n", "needs_padding_k", "has_padding_when_needed_m", "has_padding_when_needed_n",
    "has_padding_when_needed_k", "missing_required_padding_m", "missing_required_padding_n",
    "missing_required_padding_k", "missing_any_required_padding",
];

fn names(features: &'static [Feature<GemmTerms, GemmKernelTerms>]) -> impl Iterator<Item = &'static str> {
    features.iter().map(|feature| feature.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::{Extractor, OperationTerms as _, Schema};
    use crate::kernel::Kernel;
    use crate::vocab::{Dtype, Op};

    /// Computed by hand: 24 tiles on 16 compute units are two rounds, of six steps of 32 KiB each.
    #[test]
    fn transfers_of_aiters_names_and_the_rounds_of_a_compute_unit() {
        let name = "a8w8_rowwise_256x128x128x128_32x32_2x2_8x32x1_8x32x1_1x32x1x8_8x8x1_2x1_intrawave_v3";
        let (names, values): (Vec<_>, Vec<_>) = [
            ("repeat_m", 2.0),
            ("repeat_n", 2.0),
            ("shuffle_m", 2.0),
            ("shuffle_n", 1.0),
            ("load_threads_a", 32.0),
            ("load_threads_b", 32.0),
            ("store_width", 8.0),
            ("rounds", 2.0),
            ("wave_quant_efficiency", 0.75),
            ("cu_macs", 128.0 * 128.0 * 128.0 * 12.0),
            ("cu_bytes", 32768.0 * 12.0),
        ]
        .into_iter()
        .unzip();
        let schema = Schema::by_names(Op::Gemm, &names).unwrap();
        let hardware = Hardware { num_cus: 16, ..Hardware::default() };
        let extractor = Extractor { schema, hardware, ..Extractor::for_engine(Engine::Gemm72) };
        let (dtype_a, dtype_b) = (Dtype::Fp8, Dtype::Fp8);
        let problem = GemmProblem { dtype_a, dtype_b, ..GemmProblem::new(300, 1000, 700) }.into();
        assert_eq!(extractor.row(&problem, &Kernel::from_name(name).unwrap().kind).unwrap(), values);
    }

    #[test]
    fn intensity_uses_exact_byte_counts() {
        let big = 3_037_000_499;
        let problem = GemmProblem::new(big, big, big).with_dtype(Dtype::Fp8);
        let terms = problem.terms(&Extractor::for_engine(Engine::Gemm72)).unwrap();
        let square = i128::from(big) * i128::from(big);
        assert_eq!(
            terms.arithmetic_intensity,
            2.0 * big as f64 * big as f64 * big as f64 / (3 * square) as f64
        );
    }
}
