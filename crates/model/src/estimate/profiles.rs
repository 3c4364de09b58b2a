//! The numbers of known GPUs, with where they come from.
//!
//! Peak multiply-adds of a compute unit per cycle are the vendor's peak operations divided by two, by compute
//! units and by the clock stated with them. Bandwidths of the caches of AMD's devices are those of the L2
//! that its GEMM library Origami measured (`shared/origami/include/origami/hardware.hpp` of
//! ROCm/rocm-libraries, in TB/s: `mem1_perf_ratio`), though the size is that of the last cache before the
//! memory; MI300's last cache is as fast at its peak (17.2 TB/s, CDNA 3 white paper). Origami's table of
//! matrix instructions gives `full_rate_*`: cycles against multiply-adds of each instruction. Compute units,
//! caches, shared memory and registers: <https://rocm.docs.amd.com/en/latest/reference/gpu-specs.html>.
//! `docs/estimate.md` has the same as a table.
//!
//! The CUDA devices' cache bandwidths are assumed. Kernels get a share of them, which was fitted on an H200
//! with its 5.5 TB/s, so for this device only the product counts.

use serde_json::{Map, Value};

use super::device::{Device, DeviceError, Library, Rates};
use crate::hardware::Hardware;
use crate::problem::InvalidField;
use crate::vocab::Arch;

/// Constants of [`Hardware`] that the estimate needs.
const NEEDED: [&str; 6] =
    ["num_cus", "simds_per_cu", "max_clock_mhz", "max_waves_per_cu", "wavefront_size", "lds_capacity"];

/// Vector registers of a CDNA compute unit: 512 KiB (gpu-specs, "VGPR File").
const CDNA_REGISTERS: f64 = 131_072.0;

/// Bytes per cycle of shared memory, 32 banks of 4 bytes on both AMD's and NVIDIA's devices.
const BANKS: f64 = 128.0;

/// One die of an MI250X (an MI210 has 104 units): 1.6 TB/s; 383 TFLOPS on both dies of 110 units at 1.7 GHz;
/// no cache after L2.
const GFX90A: Rates = Rates {
    registers_per_cu: CDNA_REGISTERS,
    lds_bytes_per_cycle: BANKS,
    memory_gb_s: 1638.0,
    cache_gb_s: 5500.0,
    cache_kb: 8192.0,
    macs_fp64: 128.0,
    macs_fp32: 128.0,
    macs_16bit: 512.0,
    macs_8bit: 0.0,
    macs_int8: 512.0,
    macs_4bit: 0.0,
    full_rate_16bit: 256.0,
    full_rate_8bit: 256.0,
};

/// MI300A and MI300X: 5.3 TB/s; 1307 TFLOPS on 304 units at 2.1 GHz, twice that on 8 bits; 256 MiB after L2.
const GFX942: Rates = Rates {
    memory_gb_s: 5300.0,
    cache_gb_s: 17_000.0,
    cache_kb: 262_144.0,
    macs_16bit: 1024.0,
    macs_8bit: 2048.0,
    macs_int8: 2048.0,
    full_rate_8bit: 512.0,
    ..GFX90A
};

/// MI355X: 8 TB/s; 2.5 PFLOPS on 256 units at 2.4 GHz, twice that on 8 bits, four times on 4 bits; half of
/// MI300's fp64.
const GFX950: Rates = Rates {
    memory_gb_s: 8000.0,
    macs_fp64: 64.0,
    macs_16bit: 2048.0,
    macs_8bit: 4096.0,
    macs_int8: 4096.0,
    macs_4bit: 8192.0,
    full_rate_16bit: 512.0,
    full_rate_8bit: 2048.0,
    ..GFX942
};

/// RX 9070 XT: 256 bits at 20 Gbit/s; a 16x16x16 instruction takes 16 cycles, half of that on 8 bits
/// (Origami), on two SIMDs; fp32 on the vector unit, two instructions at once; 64 MiB behind L2; 384 KiB of
/// registers per unit.
const GFX1201: Rates = Rates {
    registers_per_cu: 98_304.0,
    lds_bytes_per_cycle: BANKS,
    memory_gb_s: 640.0,
    cache_gb_s: 5740.0,
    cache_kb: 65_536.0,
    macs_fp64: 2.0,
    macs_fp32: 128.0,
    macs_16bit: 512.0,
    macs_8bit: 1024.0,
    macs_int8: 1024.0,
    macs_4bit: 0.0,
    full_rate_16bit: 0.0,
    full_rate_8bit: 0.0,
};

/// Announced: 19.6 TB/s. Rates from Origami's instructions, which are marked preliminary; caches, compute
/// units and the clock are gfx950's, for lack of other figures.
const GFX1250: Rates = Rates {
    memory_gb_s: 19_600.0,
    macs_fp64: 256.0,
    macs_fp32: 256.0,
    macs_16bit: 4096.0,
    macs_8bit: 16_384.0,
    macs_int8: 8192.0,
    macs_4bit: 32_768.0,
    full_rate_16bit: 0.0,
    full_rate_8bit: 0.0,
    ..GFX950
};

/// A100 with 80 GB: 2.04 TB/s; 312 TFLOPS on 108 units at 1.41 GHz; L2 of 40 MiB with 5,120 bytes per cycle
/// (A100 white paper), of which 60 % are assumed: measured ones are 4.2 to 5.5 TB/s (RRZE-HPC/gpu-benches,
/// issue 13 and `gpu-l2-cache/a100_80.txt`).
const SM_80: Rates = Rates {
    registers_per_cu: 65_536.0,
    lds_bytes_per_cycle: BANKS,
    memory_gb_s: 2039.0,
    cache_gb_s: 4300.0,
    cache_kb: 40_960.0,
    macs_fp64: 64.0,
    macs_fp32: 64.0,
    macs_16bit: 1024.0,
    macs_8bit: 0.0,
    macs_int8: 2048.0,
    macs_4bit: 0.0,
    full_rate_16bit: 0.0,
    full_rate_8bit: 0.0,
};

/// H200: 4.8 TB/s; 989 TFLOPS on 132 units at 1.83 GHz; L2 of 60 MiB, of an H100 with SXM 50 MiB. 5.5 TB/s
/// are assumed; a benchmark that only reads gets 9.6 (RRZE-HPC/gpu-benches, `gpu-l2-cache/h200.txt`).
const SM_90: Rates = Rates {
    memory_gb_s: 4800.0,
    cache_gb_s: 5500.0,
    cache_kb: 61_440.0,
    macs_fp64: 128.0,
    macs_fp32: 128.0,
    macs_16bit: 2048.0,
    macs_8bit: 4096.0,
    macs_int8: 4096.0,
    ..SM_80
};

/// Whose kernels an architecture runs, unless they are another library's.
fn library_of(arch: Arch) -> Library {
    if arch.as_str().starts_with("sm_") { Library::Cuda } else { Library::ComposableKernel }
}

impl Device {
    /// The profile of an architecture.
    pub fn for_arch(arch: Arch) -> Result<Self, DeviceError> {
        let known = Hardware::for_arch(&arch).unwrap_or_default();
        let (rates, hardware) = match arch.as_str() {
            "gfx90a" => (GFX90A, known),
            "gfx942" => (GFX942, known),
            "gfx950" => (GFX950, known),
            "gfx1250" => (GFX1250, known),
            "sm_90" => (SM_90, known),
            // Features know only two of its constants; these are an RX 9070 XT's.
            "gfx1201" => {
                let hardware = Hardware {
                    num_cus: 64,
                    simds_per_cu: 2,
                    shader_engines: 4,
                    max_clock_mhz: 2970,
                    max_waves_per_cu: 32,
                    l2_cache_kb: 8192,
                    l3_cache_kb: 65_536,
                    num_xcd: 1,
                    ..known
                };
                (GFX1201, hardware)
            }
            // An A100; features have no profile of it.
            "sm_80" => {
                let hardware = Hardware {
                    num_cus: 108,
                    shader_engines: 7,
                    max_clock_mhz: 1410,
                    max_waves_per_cu: 64,
                    wavefront_size: 32,
                    lds_capacity: 166_912,
                    l1_cache_kb: 192,
                    l2_cache_kb: 40_960,
                    l3_cache_kb: 40_960,
                    num_xcd: 1,
                    ..Hardware::default()
                };
                (SM_80, hardware)
            }
            _ => return Err(DeviceError::NoProfile { arch }),
        };
        // PTX ISA 8.0: wgmma multiplies 64 rows.
        let wide_rows = if arch.as_str() == "sm_90" { 64 } else { 0 };
        Ok(Self { hardware, rates, library: library_of(arch), wide_rows })
    }

    /// Reads a JSON object of constants: those of [`Hardware`] and of [`Rates`], by name. They override the
    /// profile that `based_on` names, or else that of `base`; without a profile, every needed constant must
    /// be given.
    pub fn from_json(fields: &Map<String, Value>, base: Option<Arch>) -> Result<Self, DeviceError> {
        let based_on = match fields.get("based_on") {
            Some(Value::String(word)) => {
                let arch = word.parse().map_err(|_| field("based_on", word, Self::PROFILES.join(", ")))?;
                Some(arch)
            }
            Some(other) => return Err(field("based_on", other, "the name of a profile").into()),
            None => None,
        };
        let own = base.and_then(|own| Some((own, Self::for_arch(own).ok()?)));
        let mut all = NEEDED.into_iter().chain(Rates::names());
        let mut device = match (based_on, own, all.find(|name| !fields.contains_key(*name))) {
            // Another architecture's constants under its name would be a mistake, but a GPU without a profile
            // needs some.
            (Some(arch), Some((own, _)), _) if arch != own => {
                let expected = format!("{own} or nothing, because {own} has a profile of its own");
                return Err(field("based_on", &arch, expected).into());
            }
            (Some(arch), ..) => Self::for_arch(arch)?,
            (None, Some((_, profile)), _) => profile,
            // Every number is replaced.
            (None, None, None) => {
                let library = base.map_or(Library::ComposableKernel, library_of);
                Self { hardware: Hardware::default(), rates: GFX950, library, wide_rows: 0 }
            }
            (None, None, Some(missing)) => {
                let expected = match base {
                    Some(arch) => format!("a number, as {arch} has no profile, or one named as based_on"),
                    None => "a number, as the file is not based_on a profile".to_owned(),
                };
                return Err(field(missing, "nothing", expected).into());
            }
        };
        let mut constants = Map::new();
        for (name, value) in fields.iter().filter(|(name, _)| *name != "based_on") {
            match device.rates.slot(name) {
                Some(slot) => *slot = number(name, value)?,
                None if Hardware::NAMES.contains(&name.as_str()) => {
                    constants.insert(name.clone(), value.clone());
                }
                None => {
                    let known = Hardware::NAMES.into_iter().chain(Rates::names()).collect::<Vec<_>>();
                    let expected = format!("based_on or one of {}", known.join(", "));
                    return Err(field("hardware", name, expected).into());
                }
            }
        }
        device.hardware = device.hardware.overridden_by(&constants)?;
        for name in constants.keys() {
            Hardware::check_plausible(name, device.hardware.get(name).unwrap_or_default())?;
        }
        for arch in [base, based_on].into_iter().flatten() {
            let (found, expected) = (device.hardware.wavefront_size, arch.wave_size());
            if found != expected {
                return Err(field("wavefront_size", &found, format!("{expected}, which {arch} has")).into());
            }
        }
        Ok(device)
    }
}

/// A rate of a file. A value outside its range is in the wrong unit and would distort all estimated times; 0
/// means that the device lacks it.
fn number(name: &str, value: &Value) -> Result<f64, InvalidField> {
    let (may_be_zero, range) = match name {
        "registers_per_cu" => (false, 4096.0..=262_144.0),
        "lds_bytes_per_cycle" => (false, 1.0..=1e5),
        "memory_gb_s" => (false, Rates::PLAUSIBLE_MEMORY_GB_S),
        "cache_gb_s" => (false, 100.0..=1e6),
        "cache_kb" => (true, 512.0..=1e8),
        _ => (true, 1.0..=1e6),
    };
    let is_allowed = |number: &f64| range.contains(number) || may_be_zero && *number == 0.0;
    value.as_f64().filter(is_allowed).ok_or_else(|| {
        let zero = if may_be_zero { "0 or " } else { "" };
        field(name, value, format!("{zero}a number from {} to {}", range.start(), range.end()))
    })
}

fn field(name: &str, found: &(impl ToString + ?Sized), expected: impl Into<String>) -> InvalidField {
    InvalidField { field: name.to_owned(), found: found.to_string(), expected: expected.into() }
}
