//! Hardware constants of a GPU.

use std::ffi::c_char;

use super::CkStatus;
use super::error::{Failure, boundary};
use super::input::{Versioned, output, read_arch, write_output};
use crate::hardware::Hardware;

/// The hardware constants that features use. Cache sizes are in KiB, shared memory in bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CkHardware {
    /// `sizeof(ck_hardware)`.
    pub struct_size: usize,
    /// Compute units.
    pub num_cus: i64,
    /// SIMD units per compute unit.
    pub simds_per_cu: i64,
    /// Shader engines.
    pub shader_engines: i64,
    /// Maximum clock in MHz.
    pub max_clock_mhz: i64,
    /// Maximum number of waves per compute unit.
    pub max_waves_per_cu: i64,
    /// Lanes per wave.
    pub wavefront_size: i64,
    /// Shared memory per compute unit in bytes.
    pub lds_capacity: i64,
    /// First-level cache in KiB.
    pub l1_cache_kb: i64,
    /// Second-level cache in KiB.
    pub l2_cache_kb: i64,
    /// Last-level cache in KiB.
    pub l3_cache_kb: i64,
    /// Number of dies (XCDs) that share the work.
    pub num_xcd: i64,
}

// SAFETY: `repr(C)`, begins with its size, and holds only integers.
unsafe impl Versioned for CkHardware {
    const NAME: &'static str = "ck_hardware";
    const LEAST: usize = size_of::<Self>();
}

impl CkHardware {
    /// The values in the order of [`Hardware::NAMES`].
    pub(super) const fn values(&self) -> [i64; Hardware::NAMES.len()] {
        [
            self.num_cus,
            self.simds_per_cu,
            self.shader_engines,
            self.max_clock_mhz,
            self.max_waves_per_cu,
            self.wavefront_size,
            self.lds_capacity,
            self.l1_cache_kb,
            self.l2_cache_kb,
            self.l3_cache_kb,
            self.num_xcd,
        ]
    }

    pub(super) fn hardware(&self) -> Result<Hardware, Failure> {
        let mut hardware = Hardware::default();
        for (name, value) in Hardware::NAMES.into_iter().zip(self.values()) {
            hardware.set(name, value).map_err(Failure::of(CkStatus::InvalidArgument))?;
        }
        Ok(hardware)
    }
}

/// Fills in the profile of an architecture, such as "gfx950". NULL selects the constants that upstream's
/// models assume when they record none. Fails with `CK_STATUS_NOT_FOUND` if the architecture has no profile.
///
/// # Safety
/// `hardware` points to a `ck_hardware`; `arch` is NULL or a NUL-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_hardware_init(hardware: *mut CkHardware, arch: *const c_char) -> CkStatus {
    boundary(|| {
        let hardware = output(hardware, "hardware")?;
        // SAFETY: by contract, `arch` is NULL or NUL-terminated.
        let known = match unsafe { read_arch(arch, "arch") }? {
            None => Hardware::default(),
            Some(arch) => Hardware::for_arch(&arch).ok_or_else(|| {
                let message = format!("no profile of {arch}, only of {}", Hardware::PROFILES.join(", "));
                Failure::new(CkStatus::NotFound, message)
            })?,
        };
        let Hardware {
            num_cus,
            simds_per_cu,
            shader_engines,
            max_clock_mhz,
            max_waves_per_cu,
            wavefront_size,
            lds_capacity,
            l1_cache_kb,
            l2_cache_kb,
            l3_cache_kb,
            num_xcd,
        } = known;
        let value = CkHardware {
            struct_size: size_of::<CkHardware>(),
            num_cus,
            simds_per_cu,
            shader_engines,
            max_clock_mhz,
            max_waves_per_cu,
            wavefront_size,
            lds_capacity,
            l1_cache_kb,
            l2_cache_kb,
            l3_cache_kb,
            num_xcd,
        };
        // SAFETY: by contract, `hardware` is valid for writing.
        unsafe { write_output(hardware, value) };
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_come_back_as_they_are() {
        let mut raw = std::mem::MaybeUninit::<CkHardware>::uninit();
        // SAFETY: `raw` has room, the texts are constants.
        let status = unsafe { ck_hardware_init(raw.as_mut_ptr(), c"gfx942".as_ptr()) };
        assert_eq!(status, CkStatus::Ok);
        // SAFETY: written by the call.
        let raw = unsafe { raw.assume_init() };
        assert_eq!(raw.hardware().unwrap(), Hardware::for_arch(&"gfx942".parse().unwrap()).unwrap());
        assert_eq!(
            CkHardware { num_xcd: 0, ..raw }.hardware().unwrap_err().status,
            CkStatus::InvalidArgument
        );
    }
}
