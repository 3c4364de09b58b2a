//! Features of attention: the 68 of upstream's engine, in its two encodings.
//!
//! Upstream's C++ header converts every number to a float first and computes in floats; its Python twin, with
//! which the shipped forest was trained, keeps integers exact. Both are computed here by the same formulas:
//! for the header, integers are rounded to floats first (`FmhaTerms::new`), and products of them are
//! formed in floats (`FmhaTerms::product`).

mod codes;

use super::axis::{Axis, AxisBlock};
use super::block::blocks;
use super::engine::{Engines, NamedEngine, OperationEngines};
use super::exact::{flag, float, log2, max1, product, ratio};
use super::{Engine, Feature, FmhaEncoding, PairInputs, PairWith, Rules, features};
use crate::hardware::Hardware;
use crate::problem::FmhaProblem;

/// A problem as features see it, with everything that depends on it alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FmhaTerms {
    batch: i128,
    sq: i128,
    sk: i128,
    hq: i128,
    /// Heads of keys, at least 1 in the header's encoding.
    hk: i128,
    dq: i128,
    dv: i128,
    dtype_code: f64,
    element_bytes: f64,
    exact: bool,
    ops: f64,
    intensity: f64,
}

impl FmhaTerms {
    /// Computes everything that depends on the problem alone, whose element type has this number and size.
    fn new(problem: &FmhaProblem, [dtype_code, element_bytes]: [f64; 2], encoding: FmhaEncoding) -> Self {
        let exact = encoding == FmhaEncoding::Python;
        let whole = |x: i64| if exact { i128::from(x) } else { x as f64 as i128 };
        let [sq, sk] = [problem.seqlen_q, problem.seqlen_k].map(whole);
        let [hq, hk] = [problem.nhead_q, problem.nhead_k].map(whole);
        let [dq, dv] = [problem.hdim_q, problem.hdim_v].map(whole);
        let mut terms = Self {
            batch: whole(problem.batch),
            sq,
            sk,
            hq,
            hk: if exact { hk } else { max1(hk) },
            dq,
            dv,
            dtype_code,
            element_bytes,
            exact,
            ops: 0.0,
            intensity: 0.0,
        };
        let Self { batch, hk, .. } = terms;
        terms.ops = 2.0 * float(batch) * float(hq) * float(sq) * float(sk) * float(dq.saturating_add(dv));
        let tensors = [[batch, hq, sq, dq], [batch, hk, sk, dq], [batch, hk, sk, dv], [batch, hq, sq, dv]];
        let bytes = terms.sum(tensors) * element_bytes;
        terms.intensity = terms.ops / bytes.max(1.0);
        terms
    }

    /// A product of numbers in the encoding's arithmetic.
    fn product<const N: usize>(&self, factors: [i128; N]) -> f64 {
        if self.exact { float(product(factors)) } else { factors.into_iter().map(float).product() }
    }

    /// A sum of products, from left to right.
    fn sum<const N: usize, const M: usize>(&self, products: [[i128; N]; M]) -> f64 {
        if self.exact {
            float(products.into_iter().map(product).fold(0, i128::saturating_add))
        } else {
            products.into_iter().map(|factors| self.product(factors)).fold(0.0, |sum, part| sum + part)
        }
    }
}

/// A kernel as features see it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FmhaKernelTerms {
    /// Number of the pipeline.
    pub pipeline_code: f64,
    /// `m0`, `n0`, `k0`, `n1`, `k1`, `k0max`.
    pub tile: [i64; 6],
    /// Handles queries, keys, elements of queries, elements of values that the tile does not divide.
    pub pad: [bool; 4],
    /// Number of the mask.
    pub mask_code: f64,
    /// Number of the bias.
    pub bias_code: f64,
    /// Number of the scale.
    pub qscale_code: f64,
    /// Stores logarithms of sums.
    pub lse: bool,
    /// Drops weights.
    pub dropout: bool,
    /// Has a soft cap on scores.
    pub logits: bool,
    /// Every query sees the first keys.
    pub sink: bool,
    /// Skips short sequences.
    pub skip: bool,
    /// Keys and values are in pages.
    pub paged_kv: bool,
}

impl FmhaKernelTerms {
    fn tile_of<const N: usize>(&self, places: [usize; N]) -> f64 {
        float(product(places.map(|index| self.tile[index].into())))
    }

    fn feature_count(&self) -> f64 {
        let flags = [self.lse, self.dropout, self.logits, self.sink, self.skip, self.paged_kv];
        let flags: f64 = flags.into_iter().map(flag).sum();
        flags + flag(self.mask_code > 0.0) + flag(self.bias_code > 0.0)
    }
}

blocks! {
    /// Attention on a kernel.
    pub struct FmhaPair in FmhaPairs {
        /// Queries, keys and elements of a query.
        pub(super) axes: [Axis; 3],
        /// Bytes of shared memory for one step.
        pub(super) lds: f64,
        /// Tiles of queries times tiles of keys, of all heads.
        pub(super) tiles: f64,
    }
}

blocks! {
    /// The kernel's part of a pair.
    pub struct FmhaShape in FmhaShapes {
        /// Elements that a step loads.
        step_elements: f64,
    }
}

/// The problem's part of a pair.
#[derive(Debug, Clone, Copy)]
pub struct FmhaLoad {
    element_bytes: f64,
    /// Sequences times heads, as float, and exact if the encoding is.
    rows: f64,
    exact: Option<[i128; 2]>,
}

/// The limit up to which floats hold whole numbers exactly.
const EXACT: f64 = (1_u64 << 53) as f64;

/// Not inlined: real problems do not have that many tiles, and the loop should have no calls.
#[cold]
#[inline(never)]
fn exact_tiles([batch, heads]: [i128; 2], rows: f64, columns: f64) -> f64 {
    float(product([batch, heads, rows as i128, columns as i128]))
}

impl PairWith<FmhaKernelTerms> for FmhaTerms {
    type Pair = FmhaPair;
    type Shape = FmhaShape;
    type Load = FmhaLoad;

    fn gemm(&self) -> [i128; 3] {
        [self.sq, self.sk, self.dq]
    }

    fn tile(kernel: &FmhaKernelTerms) -> [i64; 3] {
        [kernel.tile[0], kernel.tile[1], kernel.tile[2]]
    }

    fn axes(block: &mut FmhaPairs) -> &mut [AxisBlock; 3] {
        &mut block.axes
    }

    fn pair_inputs(kernel: &FmhaKernelTerms, _own: bool) -> PairInputs {
        let mut inputs = PairInputs::default();
        inputs[..4].copy_from_slice(&kernel.tile[..4]);
        inputs
    }

    fn shape(kernel: &FmhaKernelTerms, _hardware: &Hardware) -> FmhaShape {
        FmhaShape { step_elements: kernel.tile_of([0, 2]) + kernel.tile_of([1, 2]) }
    }

    fn load(&self, _hardware: &Hardware) -> FmhaLoad {
        FmhaLoad {
            element_bytes: self.element_bytes,
            rows: float(self.batch) * float(self.hq),
            exact: self.exact.then_some([self.batch, self.hq]),
        }
    }

    #[inline(always)]
    fn pair(load: &FmhaLoad, shape: &FmhaShape, axes: [Axis; 3], _own: bool) -> FmhaPair {
        let mut tiles = load.rows * axes[0].tiles * axes[1].tiles;
        if let (Some(rows), false) = (load.exact, tiles.abs() < EXACT) {
            tiles = exact_tiles(rows, axes[0].tiles, axes[1].tiles);
        }
        FmhaPair { axes, lds: shape.step_elements * load.element_bytes, tiles }
    }
}

/// Every feature of attention, in upstream's order.
pub static FEATURES: &[Feature<FmhaTerms, FmhaKernelTerms>] = features! { <FmhaTerms, FmhaKernelTerms>
    Problem batch = |p| float(p.batch), "sequences";
    Problem seqlen_q = |p| float(p.sq), "queries of a sequence";
    Problem seqlen_k = |p| float(p.sk), "keys of a sequence";
    Problem nhead_q = |p| float(p.hq), "heads of queries";
    Problem nhead_k = |p| float(p.hk), "heads of keys and values";
    Problem hdim_q = |p| float(p.dq), "elements of a query";
    Problem hdim_v = |p| float(p.dv), "elements of a value";
    Problem dtype = |p| p.dtype_code, "number of the element type (categorical)";
    Problem log2_batch = |p| log2(p.batch), "log2 of batch";
    Problem log2_sq = |p| log2(p.sq), "log2 of seqlen_q";
    Problem log2_sk = |p| log2(p.sk), "log2 of seqlen_k";
    Problem log2_hq = |p| log2(p.hq), "log2 of nhead_q";
    Problem log2_hk = |p| log2(p.hk), "log2 of nhead_k";
    Problem log2_dq = |p| log2(p.dq), "log2 of hdim_q";
    Problem log2_dv = |p| log2(p.dv), "log2 of hdim_v";
    Problem gqa_ratio = |p| ratio(p.hq, p.hk), "heads of queries for each head of keys";
    Problem aspect_ratio_sq_sk = |p| ratio(p.sq, p.sk), "queries / keys";
    Problem num_ops_log2 = |p| p.ops.max(1.0).log2(), "log2 of the operations, masked or not";
    Problem arithmetic_intensity = |p| p.intensity, "operations for each byte moved once";
    Problem is_decode = |p| flag(p.sq <= 1), "one query at most";
    Kernel pipeline = |k| k.pipeline_code, "number of the pipeline (categorical)";
    Kernel tile_m0 = |k| k.tile[0] as f64, "queries of a tile";
    Kernel tile_n0 = |k| k.tile[1] as f64, "keys of a tile";
    Kernel tile_k0 = |k| k.tile[2] as f64, "elements of queries and keys in one step";
    Kernel tile_n1 = |k| k.tile[3] as f64, "elements of values of a tile";
    Kernel tile_k1 = |k| k.tile[4] as f64, "keys in one step of the second product";
    Kernel tile_k0max = |k| k.tile[5] as f64, "elements of a query, padded";
    Kernel pad_s = |k| flag(k.pad[0]), "handles queries that the tile does not divide";
    Kernel pad_sk = |k| flag(k.pad[1]), "handles keys that the tile does not divide";
    Kernel pad_d = |k| flag(k.pad[2]), "handles smaller heads of queries";
    Kernel pad_dv = |k| flag(k.pad[3]), "handles smaller heads of values";
    Kernel mask = |k| k.mask_code, "number of the kernel's mask (categorical)";
    Kernel bias = |k| k.bias_code, "number of the kernel's bias (categorical)";
    Kernel lse = |k| flag(k.lse), "stores logarithms of sums";
    Kernel dropout = |k| flag(k.dropout), "drops weights";
    Kernel logits = |k| flag(k.logits), "caps scores softly";
    Kernel sink = |k| flag(k.sink), "the first keys are seen by all";
    Kernel skip = |k| flag(k.skip), "skips short sequences";
    Kernel qscale = |k| k.qscale_code, "number of the scale (categorical)";
    Kernel paged_kv = |k| flag(k.paged_kv), "keys and values lie in pages";
    Pair num_tiles_sq = |_, _, _, m| m.axes[0].tiles, "tiles of queries";
    Pair num_tiles_sk = |_, _, _, m| m.axes[1].tiles, "tiles of keys";
    Pair total_output_tiles = |_, _, _, m| m.tiles, "tiles of scores, of all heads";
    Pair tile_eff_sq = |_, _, _, m| m.axes[0].efficiency, "share of the last tile of queries that is used";
    Pair tile_eff_sk = |_, _, _, m| m.axes[1].efficiency, "share of the last tile of keys that is used";
    Pair overall_tile_efficiency = |_, _, _, m| m.axes[0].efficiency * m.axes[1].efficiency,
        "product of the two";
    Pair cu_utilization = |_, _, h, m| m.tiles / h.num_cus.max(1) as f64,
        "tiles for each compute unit, not clamped";
    Kernel tile_volume = |k| k.tile_of([0, 1, 2]), "volume of the first product's tile";
    Kernel tile_area_m0_n0 = |k| k.tile_of([0, 1]), "scores of a tile";
    Pair lds_estimate = |_, _, _, m| m.lds, "bytes of shared memory for one step";
    Pair lds_ratio = |_, _, h, m| m.lds / h.lds_capacity.max(1) as f64,
        "share of the shared memory for one step";
    Pair ratio_dq_to_k0 = |_, _, _, m| m.axes[2].quotient, "elements of a query / those of a step";
    Pair ratio_dv_to_n1 = |p, k, _, _| if k.tile[3] > 0 { ratio(p.dv, k.tile[3].into()) } else { 0.0 },
        "elements of a value / those of a tile";
    Pair sq_fits_single_tile = |p, k, _, _| flag(p.sq <= k.tile[0].into()), "one tile has all queries";
    Pair sk_fits_single_tile = |p, k, _, _| flag(p.sk <= k.tile[1].into()), "one tile has all keys";
    Problem hdim_q_eq_hdim_v = |p| flag(p.dq == p.dv), "queries and values are of one size";
    Problem is_gqa = |p| flag(p.hq != p.hk), "heads of queries share keys";
    Problem total_q_elements = |p| p.product([p.batch, p.hq, p.sq, p.dq]), "elements of all queries";
    Problem total_kv_elements = |p| p.product([p.batch, p.hk, p.sk, p.dq.saturating_add(p.dv)]),
        "elements of all keys and values";
    Kernel feature_count = FmhaKernelTerms::feature_count,
        "how many of mask, bias and the flags the kernel has";
    Hardware hw_num_cus = |h| h.num_cus as f64, "compute units";
    Hardware hw_simds_per_cu = |h| h.simds_per_cu as f64, "SIMD units of a compute unit";
    Hardware hw_total_simds = |h| h.total_simds() as f64, "SIMD units of the device";
    Hardware hw_shader_engines = |h| h.shader_engines as f64, "shader engines";
    Hardware hw_max_clock_mhz = |h| h.max_clock_mhz as f64, "highest clock in MHz";
    Hardware hw_wavefront_size = |h| h.wavefront_size as f64, "threads of a wave";
    Hardware hw_lds_capacity = |h| h.lds_capacity as f64, "shared memory of a compute unit in bytes";
    Hardware hw_num_xcd = |h| h.num_xcd as f64, "dies that share the work";
};

impl OperationEngines for FmhaProblem {
    const ENGINES: Engines = Engines {
        own: Engine::Fmha68Python,
        forward: Engine::Fmha68Python,
        upstream: Engine::Fmha68Python,
        categories: &["dtype", "pipeline", "mask", "bias", "qscale"],
        // Attention's tools do not know that an MI355X has 256 compute units.
        hardware: Hardware { num_cus: 304, ..Hardware::USUAL },
        // The C++ header does.
        least_constant: 0,
        // A forest is evaluated as it was trained, unlike in upstream's header.
        bare: Some(["fmha_encoding", "python"]),
        telltales: &[],
        named: &[NamedEngine::new("fmha", "FmhaFwdFeatureEngine", Engine::Fmha68Python, 0)],
        all: &[
            (Engine::Fmha68, Rules { fmha_encoding: FmhaEncoding::Header, ..Rules::CONV97 }, names),
            (Engine::Fmha68Python, Rules::CONV97, names),
        ],
    };
}

fn names() -> Vec<&'static str> {
    FEATURES.iter().map(|feature| feature.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::Extractor;
    use crate::kernel::Kernel;
    use crate::problem::{Problem, ProblemDefaults};
    use crate::vocab::Op;

    #[test]
    fn encodings_differ_in_arithmetic_beyond_what_floats_hold() {
        let problem = FmhaProblem { nhead_k: 0, ..FmhaProblem::new([(1 << 53) + 1, 8], 3, 64) };
        let [python, header] = [FmhaEncoding::Python, FmhaEncoding::Header]
            .map(|encoding| FmhaTerms::new(&problem, [0.0, 2.0], encoding));
        assert_eq!((python.hk, header.hk), (0, 1));
        assert_eq!(python.product([python.sq, 3]), float(3 * ((1 << 53) + 1)));
        assert_eq!(header.product([header.sq, 3]), 3.0 * EXACT);
    }

    /// The values of kernels and problems differ between the two encodings.
    #[test]
    fn encodings_differ() {
        let problem = "seqlen_q=1024,nhead_q=40,nhead_k=1,hdim_q=128,dtype=fp8bf16,bias=bias";
        let problem = Problem::parse(Op::Fmha, problem, &ProblemDefaults::new(Op::Fmha)).unwrap();
        let kernel = "fmha_fwd_fp8bf16_batch_h128_qr_async_t128x128x32x128x32x128_w32x32x32_pad1111_mask=no\
                      _bias=bias_qs=pertensor_bpc=-1";
        let kernel = Kernel::from_name(kernel).unwrap();
        let value = |engine: Engine, name: &str| {
            let extractor = Extractor::for_engine(engine);
            let index = extractor.schema.names().iter().position(|known| *known == name).unwrap();
            extractor.row(&problem, &kernel.kind).unwrap()[index]
        };
        for (name, header, python) in [("bias", 1.0, 0.0), ("qscale", 0.0, 1.0), ("feature_count", 1.0, 0.0)]
        {
            assert_eq!(
                [Engine::Fmha68, Engine::Fmha68Python].map(|engine| value(engine, name)),
                [header, python]
            );
        }
        let intensity = |engine| value(engine, "arithmetic_intensity");
        assert_eq!(intensity(Engine::Fmha68), 2.0 * intensity(Engine::Fmha68Python));
    }
}
