//! The instructions of a scorer: chosen once, when a forest meets a pool.

#[cfg(target_arch = "x86_64")]
pub(super) use crate::isa::Avx512;
pub(super) use crate::isa::Isa;
