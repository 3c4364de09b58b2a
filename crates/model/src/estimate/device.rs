//! What the estimate knows about a GPU: the constants of [`Hardware`], and rates that are not among them.

use std::ops::RangeInclusive;

use crate::hardware::Hardware;
use crate::problem::InvalidField;
use crate::vocab::{Arch, Dtype};

/// Whose kernels a device runs: they differ in how they load and overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Library {
    /// AMD's `composable_kernel`.
    ComposableKernel,
    /// The CUDA kernels of this repository (`gpu/`).
    Cuda,
    /// GEMMs that Triton compiles.
    Triton,
    /// GEMMs of experts that Triton compiles.
    TritonExperts,
    /// Kernels of CK that AITER builds, with 8-bit and 4-bit types and scales.
    Aiter,
    /// Kernels of CK Tile that AITER builds.
    AiterTile,
}

/// Rates of a GPU that features do not use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rates {
    /// 32-bit vector registers of one compute unit.
    pub registers_per_cu: f64,
    /// Bytes per cycle from shared memory.
    pub lds_bytes_per_cycle: f64,
    /// Bandwidth of the memory in GB/s.
    pub memory_gb_s: f64,
    /// Bandwidth of the caches that all compute units share in GB/s.
    pub cache_gb_s: f64,
    /// Size of those caches in KiB: what stays in them from call to call.
    pub cache_kb: f64,
    /// Multiply-adds of one compute unit per cycle in fp64; 0 without such instructions.
    pub macs_fp64: f64,
    /// Multiply-adds of one compute unit per cycle in fp32.
    pub macs_fp32: f64,
    /// Multiply-adds of one compute unit per cycle in fp16 and bf16.
    pub macs_16bit: f64,
    /// Multiply-adds of one compute unit per cycle in fp8 and bf8.
    pub macs_8bit: f64,
    /// Multiply-adds of one compute unit per cycle in int8.
    pub macs_int8: f64,
    /// Multiply-adds of one compute unit per cycle in fp4.
    pub macs_4bit: f64,
    /// Least product of rows and depth of a 16-bit matrix instruction at full rate; smaller ones run at half
    /// rate.
    pub full_rate_16bit: f64,
    /// Least product of rows and depth of an 8-bit matrix instruction at full rate.
    pub full_rate_8bit: f64,
}

/// A GPU as the estimate sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Device {
    /// The constants that features use, too.
    pub hardware: Hardware,
    /// The rates that features do not use.
    pub rates: Rates,
    /// Whose kernels it runs, unless they are another library's.
    pub library: Library,
    /// Least rows of a tile that four waves multiply with one instruction (Hopper's wgmma); 0 without such
    /// instructions.
    pub wide_rows: u32,
}

/// Why nothing can be estimated for a GPU.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// The architecture has no profile.
    #[error(
        "the estimate has no profile of {arch}, only of {}; describe the GPU in a hardware file",
        Device::PROFILES.join(", ")
    )]
    NoProfile {
        /// The architecture.
        arch: Arch,
    },
    /// A constant that cannot be used.
    #[error(transparent)]
    Field(#[from] InvalidField),
}

impl Device {
    /// Architectures with a profile.
    pub const PROFILES: [&'static str; 7] =
        ["gfx90a", "gfx942", "gfx950", "gfx1201", "gfx1250", "sm_80", "sm_90"];

    /// Registers that a thread can have: with AMD's matrix cores vector and accumulation registers together.
    pub(super) const fn registers_of_thread(&self) -> f64 {
        match (self.library, self.hardware.wavefront_size) {
            (Library::ComposableKernel, 64) => 512.0,
            (Library::ComposableKernel, _) => 256.0,
            _ => 255.0,
        }
    }

    /// Multiply-adds of a compute unit per cycle; 0 without instructions for the type.
    pub(super) fn macs(&self, dtype: Dtype) -> f64 {
        match dtype {
            Dtype::Fp64 => self.rates.macs_fp64,
            Dtype::Fp32 => self.rates.macs_fp32,
            Dtype::Fp16 | Dtype::Bf16 => self.rates.macs_16bit,
            Dtype::Fp8 | Dtype::Bf8 | Dtype::Fp8Fp16 | Dtype::Fp8Bf16 | Dtype::Fp8Fp32 | Dtype::Mxfp8 => {
                self.rates.macs_8bit
            }
            Dtype::Int8 => self.rates.macs_int8,
            Dtype::PkFp4 | Dtype::Mxfp4 => self.rates.macs_4bit,
            Dtype::Int4 | Dtype::Int32 | Dtype::PkInt4 => 0.0,
        }
    }

    /// Peak rate for a type in TFLOPS; `None` without instructions for the type.
    pub fn peak_tflops(&self, dtype: Dtype) -> Option<f64> {
        let Hardware { num_cus, max_clock_mhz, .. } = self.hardware;
        let peak = self.macs(dtype) * 2.0 * num_cus as f64 * max_clock_mhz as f64 / 1e6;
        (peak > 0.0).then_some(peak)
    }

    /// Share of the full rate that an instruction with this product of rows and depth reaches, `narrow` if it
    /// is too small for that.
    pub(super) fn instruction_share(&self, dtype: Dtype, rows_by_depth: f64, narrow: f64) -> f64 {
        let full = match dtype {
            Dtype::Fp16 | Dtype::Bf16 => self.rates.full_rate_16bit,
            dtype if dtype.bits() == 8 => self.rates.full_rate_8bit,
            _ => 0.0,
        };
        if rows_by_depth < full { narrow } else { 1.0 }
    }
}

type Slot = fn(&mut Rates) -> &mut f64;

impl Rates {
    /// Bandwidths of memory that a GPU may have, in GB/s.
    pub const PLAUSIBLE_MEMORY_GB_S: RangeInclusive<f64> = 25.0..=1e5;

    const SLOTS: [(&'static str, Slot); 13] = [
        ("registers_per_cu", |rates| &mut rates.registers_per_cu),
        ("lds_bytes_per_cycle", |rates| &mut rates.lds_bytes_per_cycle),
        ("memory_gb_s", |rates| &mut rates.memory_gb_s),
        ("cache_gb_s", |rates| &mut rates.cache_gb_s),
        ("cache_kb", |rates| &mut rates.cache_kb),
        ("macs_fp64", |rates| &mut rates.macs_fp64),
        ("macs_fp32", |rates| &mut rates.macs_fp32),
        ("macs_16bit", |rates| &mut rates.macs_16bit),
        ("macs_8bit", |rates| &mut rates.macs_8bit),
        ("macs_int8", |rates| &mut rates.macs_int8),
        ("macs_4bit", |rates| &mut rates.macs_4bit),
        ("full_rate_16bit", |rates| &mut rates.full_rate_16bit),
        ("full_rate_8bit", |rates| &mut rates.full_rate_8bit),
    ];

    /// The names of the rates, in the order of the fields.
    pub fn names() -> impl Iterator<Item = &'static str> + Clone {
        Self::SLOTS.into_iter().map(|(name, _)| name)
    }

    pub(super) fn slot(&mut self, name: &str) -> Option<&mut f64> {
        let (_, slot) = Self::SLOTS.into_iter().find(|(known, _)| *known == name)?;
        Some(slot(self))
    }
}
