//! What a call can answer.

use std::ffi::{CStr, c_char};

use super::boundary_value;

/// What a call answers. Numbers are never changed or used again.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CkStatus {
    /// Done; outputs are written.
    Ok = 0,
    /// An address that must not be NULL is.
    NullPointer = 1,
    /// An argument has a value that it may not have.
    InvalidArgument = 2,
    /// A struct's size is none that this library knows: `struct_size` was not set, or the struct is from another version.
    InvalidStruct = 3,
    /// Text is not UTF-8.
    NotUtf8 = 4,
    /// The problem is not one.
    InvalidProblem = 5,
    /// A kernel's name or descriptor is not one.
    InvalidKernel = 6,
    /// A kernel of that name is registered already, with at least that priority.
    AlreadyRegistered = 7,
    /// Nothing of that name or at that place.
    NotFound = 8,
    /// No registered kernel fits the problem and is supported.
    NoKernel = 9,
    /// An override names a kernel for this problem that cannot be taken.
    OverrideFailed = 10,
    /// A model that cannot be loaded.
    InvalidModel = 11,
    /// No model fits the problem.
    NoModel = 12,
    /// A file that cannot be read or written.
    Io = 13,
    /// The room that the caller gave is too small; the needed size is written.
    BufferTooSmall = 14,
    /// A mistake inside the library; the registry stays usable.
    Panic = 15,
}

/// All of them, in the order of their numbers. No constant of the enum: the header would show it.
pub(super) const STATUSES: [CkStatus; 16] = [
    CkStatus::Ok,
    CkStatus::NullPointer,
    CkStatus::InvalidArgument,
    CkStatus::InvalidStruct,
    CkStatus::NotUtf8,
    CkStatus::InvalidProblem,
    CkStatus::InvalidKernel,
    CkStatus::AlreadyRegistered,
    CkStatus::NotFound,
    CkStatus::NoKernel,
    CkStatus::OverrideFailed,
    CkStatus::InvalidModel,
    CkStatus::NoModel,
    CkStatus::Io,
    CkStatus::BufferTooSmall,
    CkStatus::Panic,
];

impl CkStatus {
    const fn words(self) -> &'static CStr {
        match self {
            Self::Ok => c"done",
            Self::NullPointer => c"an address is NULL",
            Self::InvalidArgument => c"an argument is out of range",
            Self::InvalidStruct => c"a struct has an unknown size",
            Self::NotUtf8 => c"a text is not UTF-8",
            Self::InvalidProblem => c"the problem is not valid",
            Self::InvalidKernel => c"the kernel is not valid",
            Self::AlreadyRegistered => c"the kernel is registered already",
            Self::NotFound => c"nothing of that name or place",
            Self::NoKernel => c"no kernel fits",
            Self::OverrideFailed => c"an override cannot be applied",
            Self::InvalidModel => c"the model is not valid",
            Self::NoModel => c"no model fits",
            Self::Io => c"a file cannot be read or written",
            Self::BufferTooSmall => c"the buffer is too small",
            Self::Panic => c"a mistake inside the library",
        }
    }
}

/// Says what a status means, in a few words. Never NULL; the text is constant. A number that is no status has a text,
/// too.
#[unsafe(no_mangle)]
pub extern "C" fn ck_status_text(status: i32) -> *const c_char {
    boundary_value(c"unknown status".as_ptr(), || {
        let known = STATUSES.into_iter().find(|known| *known as i32 == status);
        known.map_or(c"unknown status", CkStatus::words).as_ptr()
    })
}

/// The version of the library, such as "0.1.0". Never NULL; the text is constant.
#[unsafe(no_mangle)]
pub extern "C" fn ck_select_version() -> *const c_char {
    boundary_value(c"".as_ptr(), || VERSION.as_ptr().cast())
}

const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");

/// The number of the binary interface that the library has: it rises when a program that was compiled against an older
/// header could no longer run. Compare it with `CK_SELECT_ABI_VERSION` of the header.
#[unsafe(no_mangle)]
pub extern "C" fn ck_select_abi_version() -> u32 {
    boundary_value(0, || CK_SELECT_ABI_VERSION)
}

/// The number of the binary interface that this header describes.
pub const CK_SELECT_ABI_VERSION: u32 = 1;
