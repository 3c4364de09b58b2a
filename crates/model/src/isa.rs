//! Which instructions to use: chosen once, when a pool is prepared.

use std::sync::OnceLock;

/// The instructions of a loop. Values other than the portable one exist only on a CPU that has the
/// instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isa {
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    Portable,
}

/// Proof that the CPU has AVX-512 F, VL, BW and DQ, and the bit instructions.
#[cfg(target_arch = "x86_64")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Avx512(());

/// Whether the CPU has AVX2 and the bit instructions. Miri knows neither.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn has_avx2() -> bool {
    !cfg!(miri)
        && is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("popcnt")
}

/// Whether the CPU also has AVX-512 F, VL, BW and DQ.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn has_avx512() -> bool {
    has_avx2()
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
}

/// Proof that the CPU has AVX2 and the bit instructions. Other architectures never make one: loops for all of
/// them take an `Option<Avx2>`.
#[cfg_attr(not(target_arch = "x86_64"), allow(unreachable_pub))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Avx2(());

impl Isa {
    /// All that this CPU supports, the best first.
    pub(crate) fn available() -> Vec<Isa> {
        let mut all = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            all.extend(has_avx512().then_some(Isa::Avx512(Avx512(()))));
            all.extend(has_avx2().then_some(Isa::Avx2(Avx2(()))));
        }
        all.push(Isa::Portable);
        all
    }

    /// The best that this CPU supports.
    pub(crate) fn best() -> Isa {
        static BEST: OnceLock<Isa> = OnceLock::new();
        *BEST.get_or_init(|| Isa::available().first().copied().unwrap_or(Isa::Portable))
    }

    /// AVX2, which every CPU with AVX-512 has.
    pub(crate) fn avx2(self) -> Option<Avx2> {
        (self != Isa::Portable).then_some(Avx2(()))
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512(_) => "avx512",
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2(_) => "avx2",
            Isa::Portable => "portable",
        }
    }
}
