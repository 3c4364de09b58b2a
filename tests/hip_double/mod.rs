//! The test double of libamdhip64; loaded as HIP, it follows a script.

#![allow(dead_code, reason = "of several programs")]

use std::ffi::{CString, c_char};
use std::path::{Path, PathBuf};

use ck_select::tuning::hip::Hip;
use ck_select_testing::c_library;

/// Builds the double for a version, with more arguments for the compiler, as a library of its own.
pub(crate) fn build(name: &str, major: u32, arguments: &[&str]) -> PathBuf {
    let version = format!("-DHIP_MAJOR={major}");
    c_library::build("hip_double/hip_double.c", name, &[&[version.as_str()], arguments].concat())
}

/// A loaded double, whose state is that of the thread.
pub(crate) struct Double {
    library: libloading::Library,
    pub(crate) hip: Hip,
}

impl Double {
    pub(crate) fn new(library: &Path) -> Self {
        // SAFETY: the double's initializers do nothing, and it has HIP's functions with HIP's types.
        unsafe {
            Self { library: libloading::Library::new(library).unwrap(), hip: Hip::open(library).unwrap() }
        }
    }

    /// A function of the double's script.
    fn script<F: Copy>(&self, name: &str) -> F {
        // SAFETY: the functions below give each name the type that it has in hip_double.c.
        unsafe { *self.library.get::<F>(name.as_bytes()).unwrap() }
    }

    fn set(&self, name: &str, value: i32) {
        self.script::<extern "C" fn(i32)>(name)(value);
    }

    pub(crate) fn launch(&self, milliseconds: f64) {
        self.script::<extern "C" fn(f64)>("hip_double_launch")(milliseconds);
    }

    pub(crate) fn fail_next(&self, function: &str, code: i32) {
        let function = CString::new(function).unwrap();
        self.script::<extern "C" fn(*const c_char, i32)>("hip_double_fail_next")(function.as_ptr(), code);
    }

    pub(crate) fn set_last_error(&self, code: i32) {
        self.set("hip_double_set_last_error", code);
    }

    /// Less than none is the runtime's way to have no device at all.
    pub(crate) fn set_count(&self, count: i32) {
        self.set("hip_double_set_count", count);
    }

    pub(crate) fn set_current(&self, index: i32) {
        self.set("hip_double_set_current", index);
    }

    pub(crate) fn set_capturing(&self, capturing: bool) {
        self.set("hip_double_set_capturing", i32::from(capturing));
    }

    pub(crate) fn last_error(&self) -> i32 {
        self.script::<extern "C" fn() -> i32>("hip_double_last_error")()
    }

    pub(crate) fn live_events(&self) -> i32 {
        self.script::<extern "C" fn() -> i32>("hip_double_live_events")()
    }
}
