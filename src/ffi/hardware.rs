//! Hardware constants of a GPU.

use std::ffi::c_char;

use super::CkStatus;
use super::error::{Failure, boundary};
use super::input::{give, read_gpu};
use super::mirror::{AsC, FromC, Member, mirror};
use crate::hardware::Hardware;
use ck_select_types::hardware_constants;

hardware_constants! {
    mirror
    /// The hardware constants that features use. Cache sizes are in KiB, shared memory in bytes.
    CkHardware sized "ck_hardware",
    [struct_size: usize = size_of::<CkHardware>(), "`sizeof(ck_hardware)`.";] []
}

impl CkHardware {
    pub(super) fn hardware(&self) -> Result<Hardware, Failure> {
        // SAFETY: it holds only numbers.
        let mut hardware = unsafe { Hardware::from_c(*self, Member::whole(CkStatus::InvalidArgument)) }?;
        for name in Hardware::NAMES {
            let value = hardware.get(name).unwrap_or_default();
            hardware.set(name, value).map_err(Failure::of(CkStatus::InvalidArgument))?;
        }
        Ok(hardware)
    }
}

/// Fills in the profile of an architecture, such as "gfx950", or of a product, such as "MI300X": that of its
/// architecture with its compute units. NULL selects the constants that upstream's
/// models assume when they record none. Fails with `CK_STATUS_NOT_FOUND` if the architecture has no profile.
///
/// # Safety
/// `hardware` points to a `ck_hardware`; `arch` is NULL or a NUL-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_hardware_init(hardware: *mut CkHardware, arch: *const c_char) -> CkStatus {
    boundary(|| {
        // SAFETY: by contract, `arch` is NULL or NUL-terminated.
        let known = match unsafe { read_gpu(arch, "arch") }? {
            None => Hardware::default(),
            Some(gpu) => Hardware::for_gpu(gpu).ok_or_else(|| {
                let message =
                    format!("no profile of {}, only of {}", gpu.arch, Hardware::PROFILES.join(", "));
                Failure::new(CkStatus::NotFound, message)
            })?,
        };
        // SAFETY: by contract, `hardware` is NULL or valid for writing.
        unsafe { give(hardware, "hardware", known.to_c()) }
    })
}
