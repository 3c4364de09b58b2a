//! Which instructions to use: chosen once, when a pool meets its features and its forest.

use std::sync::OnceLock;

/// The instructions of a loop. A value that names more than the portable ones exists only on a CPU that has
/// them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Isa {
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    Portable,
}

/// Proof that the CPU has AVX-512 F, VL, BW and DQ, and the bit instructions.
#[cfg(target_arch = "x86_64")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Avx512 {
    /// Whether gathers are faster than loads one by one.
    gathers: bool,
}

#[cfg(target_arch = "x86_64")]
impl Avx512 {
    /// Whether gathers are faster than loads one by one.
    pub(crate) const fn gathers(self) -> bool {
        self.gathers
    }
}

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

/// Whether it also has AVX-512 F, VL, BW and DQ.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn has_avx512() -> bool {
    has_avx2()
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
}

/// On Intel's CPUs from Sapphire Rapids on, which half-precision numbers tell from older ones; of those the
/// microcode slowed gathers down. AMD's take a step for every element.
#[cfg(target_arch = "x86_64")]
fn gathers_are_fast() -> bool {
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    const FP16: u32 = 1 << 23;
    let about = __cpuid(0);
    let vendor = [about.ebx, about.edx, about.ecx].map(u32::to_le_bytes);
    about.eax >= 7 && vendor.as_flattened() == b"GenuineIntel" && __cpuid_count(7, 0).edx & FP16 != 0
}

/// Proof that the CPU has AVX2 and the bit instructions.
#[cfg(target_arch = "x86_64")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Avx2(());

impl Isa {
    /// All that this CPU has, the best first.
    pub(crate) fn available() -> Vec<Isa> {
        let mut all = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if has_avx512() {
                let gathers = gathers_are_fast();
                all.extend([gathers, !gathers].map(|gathers| Isa::Avx512(Avx512 { gathers })));
            }
            all.extend(has_avx2().then_some(Isa::Avx2(Avx2(()))));
        }
        all.push(Isa::Portable);
        all
    }

    /// The best that this CPU has.
    pub(crate) fn best() -> Isa {
        static BEST: OnceLock<Isa> = OnceLock::new();
        *BEST.get_or_init(|| Isa::available().first().copied().unwrap_or(Isa::Portable))
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512(Avx512 { gathers: true }) => "avx512 with gathers",
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512(_) => "avx512",
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2(_) => "avx2",
            Isa::Portable => "portable",
        }
    }
}
