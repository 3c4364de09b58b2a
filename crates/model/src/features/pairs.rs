//! Pair features of one problem and a pool's kernels: computed for one block of kernels at a time.
//!
//! ```text
//! for each block of kernels:
//!     for each axis, for each extent of the block's tiles: an Axis   exact integers, one by one
//!     for each kernel: a Pair                                        a loop over the block
//!     for each feature: for each kernel: its value                   a loop over the block, formula inlined
//! ```
//!
//! The loops over blocks are also compiled for AVX2; a version for AVX-512 was not worth its code. Vector
//! operations follow IEEE, too, and nothing is contracted: the bits are the same as for a single pair.

use super::axis::{Axis, AxisBlock};
use super::block::{BLOCK, InBlocks};
use super::{OfPair, PairWith};
use crate::hardware::Hardware;
use crate::isa::Isa;

/// Pairs are computed in groups of this size, so that vectors leave no remainder.
const GROUP: usize = 8;

/// A formula as a type, around which loops are compiled.
pub(crate) trait Formula<P: PairWith<K>, K> {
    fn value(problem: &P, kernel: &K, hardware: &Hardware, pair: &P::Pair) -> f64;
}

/// A feature of pairs, for one and for many.
pub struct PairValue<P: PairWith<K> + 'static, K: 'static> {
    one: OfPair<P, K>,
    column: fn(&PairBlock<'_, P, K>, &mut [f64]),
}

impl<P: PairWith<K>, K> Clone for PairValue<P, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: PairWith<K>, K> Copy for PairValue<P, K> {}

impl<P: PairWith<K>, K> PairValue<P, K> {
    pub(crate) const fn new<F: Formula<P, K>>() -> Self {
        Self { one: F::value, column: column::<P, K, F> }
    }

    /// The value of one pair.
    pub fn one(&self, problem: &P, kernel: &K, hardware: &Hardware, pair: &P::Pair) -> f64 {
        (self.one)(problem, kernel, hardware, pair)
    }

    /// The values of a block's pairs.
    pub(crate) fn column(&self, block: &PairBlock<'_, P, K>, values: &mut [f64]) {
        (self.column)(block, values);
    }
}

/// The settings of pair features, which stay the same from problem to problem.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PairSetting {
    pub(crate) isa: Isa,
    pub(crate) hardware: Hardware,
    /// Whether our own features are needed.
    pub(crate) own: bool,
}

/// The kernel's parts of the pairs of at most [`BLOCK`] kernels.
pub(crate) struct Shapes<P: PairWith<K>, K> {
    shapes: <P::Shape as InBlocks>::Block,
    axes: [Tiles; 3],
}

impl<P: PairWith<K>, K> Shapes<P, K> {
    pub(crate) fn new(kernels: &[K], hardware: &Hardware) -> Self {
        let mut shapes = P::Shape::ZERO;
        for (at, kernel) in kernels.iter().enumerate().take(BLOCK) {
            P::shape(kernel, hardware).set(&mut shapes, at);
        }
        let along = |axis: usize| Tiles::new(kernels.iter().map(|kernel| P::tile(kernel)[axis]));
        Shapes { shapes, axes: [along(0), along(1), along(2)] }
    }
}

/// The tiles of a block's kernels along one axis. Kernels share extents, so that the exact but slow part,
/// 128-bit integers and their remainders, is computed once per extent.
#[derive(Debug)]
struct Tiles {
    extents: Vec<i64>,
    /// The index of each kernel's extent.
    places: [u8; BLOCK],
}

impl Tiles {
    fn new(tiles: impl Iterator<Item = i64>) -> Self {
        let (mut extents, mut places) = (Vec::new(), [0; BLOCK]);
        for (place, tile) in places.iter_mut().zip(tiles) {
            *place = extents.iter().position(|&extent| extent == tile).unwrap_or(extents.len()) as u8;
            if usize::from(*place) == extents.len() {
                extents.push(tile);
            }
        }
        Self { extents, places }
    }

    /// Cuts an extent of a problem.
    fn cut(&self, extent: i128, axes: &mut AxisBlock) {
        let mut cut = [Axis::default(); BLOCK];
        for (axis, &tile) in cut.iter_mut().zip(&self.extents) {
            *axis = Axis::new(extent, tile.into());
        }
        for (at, &place) in self.places.iter().enumerate() {
            cut[usize::from(place) % BLOCK].set(axes, at);
        }
    }
}

/// One problem and a block of kernels.
pub(crate) struct PairBlock<'a, P: PairWith<K>, K> {
    problem: &'a P,
    setting: &'a PairSetting,
    kernels: &'a [K],
    pairs: &'a mut BlockOf<P::Pair>,
}

impl<'a, P: PairWith<K>, K> PairBlock<'a, P, K> {
    /// A block without kernels yet. `pairs` is working memory.
    #[inline]
    pub(crate) fn new(problem: &'a P, setting: &'a PairSetting, pairs: &'a mut BlockOf<P::Pair>) -> Self {
        PairBlock { problem, setting, kernels: &[], pairs }
    }

    /// Switches to other kernels.
    pub(crate) fn pair_all(&mut self, kernels: &'a [K], shapes: &Shapes<P, K>) {
        let PairSetting { isa, hardware, own } = self.setting;
        self.kernels = kernels;
        let axes = P::axes(self.pairs);
        for ((tiles, extent), axis) in shapes.axes.iter().zip(self.problem.gemm()).zip(axes) {
            tiles.cut(extent, axis);
        }
        let load = self.problem.load(hardware);
        let groups = kernels.len().div_ceil(GROUP);
        let (shapes, own, pairs) = (&shapes.shapes, *own, &mut *self.pairs);
        match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512(_) | Isa::Avx2(_) => {
                // SAFETY: either token proves that the CPU has the features.
                unsafe { pair_avx2::<P, K>(&load, shapes, own, groups, pairs) }
            }
            Isa::Portable => pair_portable::<P, K>(&load, shapes, own, groups, pairs),
        }
    }
}

pub(crate) type BlockOf<T> = <T as InBlocks>::Block;

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn pair_avx2<P: PairWith<K>, K>(
    load: &P::Load,
    shapes: &BlockOf<P::Shape>,
    own: bool,
    groups: usize,
    pairs: &mut BlockOf<P::Pair>,
) {
    pair_portable::<P, K>(load, shapes, own, groups, pairs);
}

/// One loop with and one without our own features, so that neither has a branch.
#[inline(always)]
fn pair_portable<P: PairWith<K>, K>(
    load: &P::Load,
    shapes: &BlockOf<P::Shape>,
    own: bool,
    groups: usize,
    pairs: &mut BlockOf<P::Pair>,
) {
    if own {
        pair_lanes::<P, K>(*load, shapes, true, groups, pairs);
    } else {
        pair_lanes::<P, K>(*load, shapes, false, groups, pairs);
    }
}

#[inline(always)]
fn pair_lanes<P: PairWith<K>, K>(
    load: P::Load,
    shapes: &BlockOf<P::Shape>,
    own: bool,
    groups: usize,
    pairs: &mut BlockOf<P::Pair>,
) {
    for at in 0..groups.min(BLOCK / GROUP) * GROUP {
        let (shape, axes) = (P::Shape::get(shapes, at), <[Axis; 3]>::get(P::axes(pairs), at));
        P::pair(&load, &shape, axes, own).set(pairs, at);
    }
}

fn column<P: PairWith<K>, K, F: Formula<P, K>>(block: &PairBlock<'_, P, K>, values: &mut [f64]) {
    match block.setting.isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512(_) | Isa::Avx2(_) => {
            // SAFETY: either token proves that the CPU has the features.
            unsafe { column_avx2::<P, K, F>(block, values) }
        }
        Isa::Portable => column_lanes::<P, K, F>(block, values),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn column_avx2<P: PairWith<K>, K, F: Formula<P, K>>(block: &PairBlock<'_, P, K>, values: &mut [f64]) {
    column_lanes::<P, K, F>(block, values);
}

#[inline(always)]
fn column_lanes<P: PairWith<K>, K, F: Formula<P, K>>(block: &PairBlock<'_, P, K>, values: &mut [f64]) {
    for (at, (value, kernel)) in (0..BLOCK).zip(values.iter_mut().zip(block.kernels)) {
        *value = F::value(block.problem, kernel, &block.setting.hardware, &P::Pair::get(block.pairs, at));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::features::conv::{self, ConvKernelTerms, ConvTerms, PipelineFlags};
    use crate::features::gemm::vector::{VectorProblem, VectorWidths};
    use crate::features::gemm::{self, GemmKernelTerms, GemmTerms};
    use crate::features::{Engine, Extractor, Feature, OperationTerms as _, Value};
    use crate::problem::{ConvProblem, GemmProblem, Groups};
    use crate::vocab::{Direction, Dtype, Epilogue, GemmLayout};

    /// Extents of real problems, and of no real one.
    fn extent() -> impl Strategy<Value = i64> {
        let edges = vec![0, -1, 1 << 31, (1 << 52) - 1, (1 << 53) + 1, i64::MAX, i64::MIN];
        prop_oneof![6 => 1..600_i64, 2 => 1..100_000_i64, 1 => prop::sample::select(edges), 1 => any::<i64>()]
    }

    fn tile() -> impl Strategy<Value = i64> {
        prop_oneof![8 => prop::sample::select(vec![16, 32, 48, 64, 128, 256]), 1 => extent()]
    }

    fn hardware() -> impl Strategy<Value = Hardware> {
        let known = Hardware::default();
        let odd =
            (extent(), extent(), extent(), extent()).prop_map(move |(cus, waves, wave, lds)| Hardware {
                num_cus: cus,
                max_waves_per_cu: waves,
                wavefront_size: wave,
                lds_capacity: lds,
                ..known
            });
        prop_oneof![3 => Just(known), 1 => odd]
    }

    fn conv_problem() -> impl Strategy<Value = ConvTerms> {
        let directions = vec![Direction::Forward, Direction::BwdData, Direction::BwdWeight];
        let extents = || [extent(), extent(), extent()];
        let sizes = (extent(), extent(), extent(), prop_oneof![3 => Just(1), 1 => extent()]);
        (prop::sample::select(directions), sizes, extents(), prop::array::uniform3(1..8_i64)).prop_map(
            |(direction, (n, c, k, g), input, filter)| {
                let problem = ConvProblem { direction, n, c, k, g, input, filter, ..ConvProblem::USUAL };
                let pad = [0, 1, 1];
                ConvTerms::new(&ConvProblem { pad_left: pad, pad_right: pad, ..problem }, 2.0)
            },
        )
    }

    fn conv_kernel() -> impl Strategy<Value = ConvKernelTerms> {
        let words = vec!["compv3", "compv4", "mem"];
        (tile(), [tile(), tile(), tile()], prop::sample::select(words)).prop_map(
            |(block_size, [m, n, k], word)| ConvKernelTerms {
                block_size,
                gemm_m_per_block: m,
                gemm_n_per_block: n,
                gemm_k_per_block: k,
                k_tile: k,
                pipeline_code: 0.0,
                pipeline: PipelineFlags::new(word),
                intrawave: true,
                has_dsb: 0,
                has_si: 0,
                two_stage: false,
            },
        )
    }

    fn gemm_problem() -> impl Strategy<Value = GemmTerms> {
        let list = prop::sample::select(vec!["", "1x2x3*4", "100x7x300+128x512x1024*3+9x9x9"]);
        ([extent(), extent(), extent()], 0..3_u32, list).prop_map(|(extents, batch, list)| {
            let [m, n, k] = extents;
            let mut problem = GemmProblem::new(m, n, k).with_dtype(Dtype::Fp8);
            (problem.request.batch, problem.request.groups) = (batch, list.parse().unwrap_or(Groups::NONE));
            let mut terms = problem.terms(&Extractor::for_engine(Engine::Gemm72)).unwrap();
            terms.vector = VectorProblem::new(extents, GemmLayout::RCR, Dtype::Fp16, 64);
            terms
        })
    }

    fn gemm_kernel() -> impl Strategy<Value = GemmKernelTerms> {
        let widths = VectorWidths { widths: [0, 4, 0], epilogue: Epilogue::CShuffle };
        (tile(), tile(), tile(), any::<[bool; 4]>()).prop_map(move |(m, n, k, [half_lds, pad @ ..])| {
            GemmKernelTerms {
                tile: [m, n, k],
                wave: [2, 2, 1],
                warp_tile: [32, 32, 16],
                pipeline_code: 0.0,
                half_lds,
                scheduler_code: 0.0,
                epilogue_code: 0.0,
                pad,
                persistent: false,
                vector: Some(widths),
                build: gemm::GemmBuild::default(),
            }
        })
    }

    /// Blocks give the same values as single pairs, with any instruction set.
    fn check<P: PairWith<K> + 'static, K: 'static>(
        features: impl Iterator<Item = &'static Feature<P, K>>,
        problem: &P,
        kernels: &[K],
        hardware: Hardware,
    ) -> Result<(), TestCaseError> {
        let features: Vec<_> = features
            .filter_map(|feature| match feature.value {
                Value::Pair(value) => Some((feature.name, value)),
                _ => None,
            })
            .collect();
        let shapes = Shapes::new(kernels, &hardware);
        for isa in Isa::available() {
            let setting = PairSetting { isa, hardware, own: true };
            let mut pairs = P::Pair::ZERO;
            let mut block = PairBlock::new(problem, &setting, &mut pairs);
            block.pair_all(kernels, &shapes);
            for (name, value) in &features {
                let mut column = vec![f64::NAN; kernels.len()];
                value.column(&block, &mut column);
                for (kernel, cell) in kernels.iter().zip(column) {
                    let pair = problem.pair_with(kernel, &hardware, true);
                    let expected = value.one(problem, kernel, &hardware, &pair);
                    prop_assert_eq!(cell.to_bits(), expected.to_bits(), "{} {}", isa.name(), name);
                }
            }
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 256 }))]

        #[test]
        fn convolutions_in_blocks_are_pairs(
            problem in conv_problem(),
            kernels in prop::collection::vec(conv_kernel(), 1..=BLOCK),
            hardware in hardware(),
        ) {
            check(conv::all(), &problem, &kernels, hardware)?;
        }

        #[test]
        fn gemms_in_blocks_are_pairs(
            problem in gemm_problem(),
            kernels in prop::collection::vec(gemm_kernel(), 1..=BLOCK),
            hardware in hardware(),
        ) {
            check(gemm::all(), &problem, &kernels, hardware)?;
        }
    }
}
