//! Status codes.

use std::ffi::{CStr, c_char};

use super::boundary_value;

/// The result of a call. Numbers are never changed or reused.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CkStatus {
    /// Success; outputs are written.
    Ok = 0,
    /// A required pointer was NULL.
    NullPointer = 1,
    /// An argument is out of range.
    InvalidArgument = 2,
    /// Unknown `struct_size`: not set, or of a newer version.
    InvalidStruct = 3,
    /// A string is not UTF-8.
    NotUtf8 = 4,
    /// Invalid problem.
    InvalidProblem = 5,
    /// Invalid kernel name or descriptor.
    InvalidKernel = 6,
    /// A kernel of that name has the same or a higher priority.
    AlreadyRegistered = 7,
    /// There is nothing with that name or at that index.
    NotFound = 8,
    /// No registered kernel matches the problem and supports it.
    NoKernel = 9,
    /// An override names a kernel for this problem that cannot be used.
    OverrideFailed = 10,
    /// A model cannot be loaded.
    InvalidModel = 11,
    /// No model serves the problem.
    NoModel = 12,
    /// A file cannot be read or written.
    Io = 13,
    /// The caller's buffer is too small; the required size is written.
    BufferTooSmall = 14,
    /// An internal error (a caught panic); the registry stays usable.
    Panic = 15,
    /// No device, no architecture, or a failed device.
    CannotMeasure = 16,
}

/// All statuses in a few words, in numeric order. Not an associated constant of the enum, because the header
/// would show it.
pub(super) const STATUSES: [(CkStatus, &CStr); 17] = [
    (CkStatus::Ok, c"success"),
    (CkStatus::NullPointer, c"a required pointer is NULL"),
    (CkStatus::InvalidArgument, c"an argument is out of range"),
    (CkStatus::InvalidStruct, c"a struct has an unknown size"),
    (CkStatus::NotUtf8, c"a string is not UTF-8"),
    (CkStatus::InvalidProblem, c"the problem is not valid"),
    (CkStatus::InvalidKernel, c"the kernel is not valid"),
    (CkStatus::AlreadyRegistered, c"the kernel is already registered"),
    (CkStatus::NotFound, c"nothing with that name or index"),
    (CkStatus::NoKernel, c"no kernel fits"),
    (CkStatus::OverrideFailed, c"an override cannot be applied"),
    (CkStatus::InvalidModel, c"the model is not valid"),
    (CkStatus::NoModel, c"no model fits"),
    (CkStatus::Io, c"a file cannot be read or written"),
    (CkStatus::BufferTooSmall, c"the buffer is too small"),
    (CkStatus::Panic, c"an internal error"),
    (CkStatus::CannotMeasure, c"nothing can be measured"),
];

/// Describes a status in a few words. Never NULL; the string is constant.
#[unsafe(no_mangle)]
pub extern "C" fn ck_status_text(status: i32) -> *const c_char {
    boundary_value(c"unknown status".as_ptr(), || {
        let known = STATUSES.iter().find(|(known, _)| *known as i32 == status);
        known.map_or(c"unknown status", |(_, words)| words).as_ptr()
    })
}

/// The version of the library, such as "0.1.0". Never NULL; the string is constant.
#[unsafe(no_mangle)]
pub extern "C" fn ck_select_version() -> *const c_char {
    boundary_value(c"".as_ptr(), || VERSION.as_ptr().cast())
}

const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");

/// The ABI version of the library. It increases when programs compiled against an older header can no longer
/// run. Compare it with the header's `CK_SELECT_ABI_VERSION`.
#[unsafe(no_mangle)]
pub extern "C" fn ck_select_abi_version() -> u32 {
    boundary_value(0, || CK_SELECT_ABI_VERSION)
}

/// The ABI version that this header describes.
pub const CK_SELECT_ABI_VERSION: u32 = 1;
