//! Features by name: a feature is a named function of (problem, kernel, hardware).
//!
//! Each operation declares its features once, in tables ([`conv::FEATURES`], [`conv_work::FEATURES`],
//! [`gemm::FEATURES`], [`gemm::VECTOR`], [`gemm::BUILD`], [`fmha::FEATURES`], [`moe::FEATURES`]): name, meaning, what the value
//! depends on, and the function. A model picks and orders them by name; nothing is ever addressed by
//! upstream's indices. Schemas with upstream's names are [`Engine`]s.
//!
//! Number rules: integers are exact (`i128`) until they meet a float and are rounded once; `a / b` is the f64
//! quotient of the rounded operands; remainders and floors go toward minus infinity.

// Loops are compiled once for each instruction set that calls them, so they must be inlined into the callers.
#![allow(clippy::inline_always)]

mod axis;
mod block;
pub mod conv;
mod engine;
mod exact;
pub mod fmha;
pub mod gemm;
mod hardware;
pub mod moe;
mod operation;
mod pairs;
mod rules;
mod schema;
mod terms;

pub(crate) use block::BLOCK;
pub(crate) use block::InBlocks;
pub use conv::ConvPair;
pub use conv::work as conv_work;
pub use engine::Engine;
pub(crate) use engine::{NamedEngine, named as named_engines};
pub use gemm::GemmPair;
pub(crate) use gemm::vector::ACCESS_DTYPES;
pub(crate) use hardware::halves_lds;
pub use operation::{FeatureOf, KernelTerms, OperationTerms, ProblemTerms};
pub(crate) use operation::{KernelTermsOf, TermsOf};
pub use pairs::PairValue;
pub(crate) use pairs::{BlockOf, Formula, PairBlock, PairSetting, Shapes};
pub use rules::{ElementBytes, FmhaEncoding, KTile, KernelMapping, MemPads, PipelineCodes, Rules, Uncoded};
pub use schema::{Extractor, Schema, SchemaError, TermsError};
pub use terms::KernelFeatures;

use crate::hardware::Hardware;
use axis::{Axis, AxisBlock};

/// The fields of a kernel that pair features read, as numbers; zeros behind the last one.
pub type PairInputs = [i64; 17];

/// A problem as features see it, which they combine with a kernel, `K`.
pub trait PairWith<K> {
    /// Values of problem, kernel and hardware together that several pair features start from.
    type Pair: InBlocks;
    /// The part of a pair that depends on kernel and hardware.
    type Shape: InBlocks;
    /// The part of a pair that depends on problem and hardware.
    type Load: Copy;

    /// The extents that tiles divide: rows, columns, depth.
    fn gemm(&self) -> [i128; 3];

    /// A kernel's tile, along the same axes.
    fn tile(kernel: &K) -> [i64; 3];

    /// Everything that pair features read of a kernel, `own` ones or upstream's alone: kernels with equal
    /// inputs have equal pair values for every problem, which the tests check.
    fn pair_inputs(kernel: &K, own: bool) -> PairInputs;

    /// The part of a block of pairs that holds the division of the three extents by tiles.
    fn axes(block: &mut <Self::Pair as InBlocks>::Block) -> &mut [AxisBlock; 3];

    /// Computes the part that is the same for all problems.
    fn shape(kernel: &K, hardware: &Hardware) -> Self::Shape;

    /// Computes the part that is the same for all kernels.
    fn load(&self, hardware: &Hardware) -> Self::Load;

    /// Computes a pair; `own` says whether our own features are needed, which start from more values.
    fn pair(load: &Self::Load, shape: &Self::Shape, axes: [Axis; 3], own: bool) -> Self::Pair;

    /// Computes a pair from scratch, once for all its features.
    #[inline]
    fn pair_with(&self, kernel: &K, hardware: &Hardware, own: bool) -> Self::Pair {
        let ([m, n, k], [tile_m, tile_n, tile_k]) = (self.gemm(), Self::tile(kernel));
        let axes = [Axis::new(m, tile_m.into()), Axis::new(n, tile_n.into()), Axis::new(k, tile_k.into())];
        Self::pair(&self.load(hardware), &Self::shape(kernel, hardware), axes, own)
    }
}

/// Computes a feature of a pair from problem, kernel, hardware and their pair.
pub type OfPair<P, K> = fn(&P, &K, &Hardware, &<P as PairWith<K>>::Pair) -> f64;

/// The inputs on which a feature's value depends, with the function that computes it.
///
/// Kernel values are computed once per pool, problem values once per call, and only [`Value::Pair`] once per
/// candidate.
pub enum Value<P: PairWith<K> + 'static, K: 'static> {
    /// The problem alone.
    Problem(fn(&P) -> f64),
    /// The kernel alone.
    Kernel(fn(&K) -> f64),
    /// The hardware alone.
    Hardware(fn(&Hardware) -> f64),
    /// Problem and kernel together, possibly with the hardware.
    Pair(PairValue<P, K>),
}

// Not derived: a derive would ask `P: Copy` and `K: Copy`, but only function pointers are copied.
impl<P: PairWith<K>, K> Clone for Value<P, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: PairWith<K>, K> Copy for Value<P, K> {}

impl<P: PairWith<K>, K> Value<P, K> {
    /// `problem`, `kernel`, `hardware` or `pair`.
    pub const fn scope(&self) -> &'static str {
        match self {
            Self::Problem(_) => "problem",
            Self::Kernel(_) => "kernel",
            Self::Hardware(_) => "hardware",
            Self::Pair(_) => "pair",
        }
    }
}

/// A named function of (problem, kernel, hardware).
pub struct Feature<P: PairWith<K> + 'static, K: 'static> {
    /// The name that models use.
    pub name: &'static str,
    /// The feature's meaning and unit.
    pub doc: &'static str,
    /// How to compute it.
    pub value: Value<P, K>,
}

/// Declares a table of features, one entry each: scope, name, function, meaning.
macro_rules! features {
    (<$problem:ty, $kernel:ty> $($scope:ident $name:ident = $function:expr, $doc:literal;)+) => {
        &[$($crate::features::Feature::<$problem, $kernel> {
            name: stringify!($name),
            doc: $doc,
            value: $crate::features::value!(<$problem, $kernel> $scope $function),
        }),+]
    };
}
pub(crate) use features;

/// A feature's function with its scope. That of a pair becomes a type, so that loops can be specialised for
/// it.
macro_rules! value {
    (<$problem:ty, $kernel:ty> Pair $function:expr) => {{
        struct Pair;

        impl $crate::features::Formula<$problem, $kernel> for Pair {
            #[inline(always)]
            fn value(
                problem: &$problem,
                kernel: &$kernel,
                hardware: &$crate::hardware::Hardware,
                pair: &<$problem as $crate::features::PairWith<$kernel>>::Pair,
            ) -> f64 {
                const VALUE: $crate::features::OfPair<$problem, $kernel> = $function;
                VALUE(problem, kernel, hardware, pair)
            }
        }

        $crate::features::Value::<$problem, $kernel>::Pair($crate::features::PairValue::new::<Pair>())
    }};
    (<$problem:ty, $kernel:ty> $scope:ident $function:expr) => {
        $crate::features::Value::<$problem, $kernel>::$scope($function)
    };
}
pub(crate) use value;

/// The twelve hardware features, which come last in every engine.
macro_rules! hardware_features {
    (<$problem:ty, $kernel:ty> [$($head:tt)*]) => {
        $crate::features::features! { <$problem, $kernel>
            $($head)*
            Hardware hw_num_cus = |h| h.num_cus as f64, "compute units";
            Hardware hw_simds_per_cu = |h| h.simds_per_cu as f64, "SIMD units of a compute unit";
            Hardware hw_total_simds = |h| h.total_simds() as f64, "SIMD units of the device";
            Hardware hw_shader_engines = |h| h.shader_engines as f64, "shader engines";
            Hardware hw_max_clock_mhz = |h| h.max_clock_mhz as f64, "highest clock in MHz";
            Hardware hw_max_waves_per_cu = |h| h.max_waves_per_cu as f64,
                "waves that a compute unit can hold";
            Hardware hw_wavefront_size = |h| h.wavefront_size as f64, "threads of a wave";
            Hardware hw_lds_capacity = |h| h.lds_capacity as f64, "shared memory of a compute unit in bytes";
            Hardware hw_l1_cache_kb = |h| h.l1_cache_kb as f64, "first-level cache in KiB";
            Hardware hw_l2_cache_kb = |h| h.l2_cache_kb as f64, "second-level cache in KiB";
            Hardware hw_l3_cache_kb = |h| h.l3_cache_kb as f64, "last-level cache in KiB";
            Hardware hw_num_xcd = |h| h.num_xcd as f64, "dies that share the work";
        }
    };
}
pub(crate) use hardware_features;
