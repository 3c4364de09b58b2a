//! The headers and the shared library as C and C++ programs see them: compiled with the system's compilers
//! and run.
//!
//! They run the programs that `make system-tools` installs; without one, a test fails.

#[path = "../hip_double/mod.rs"]
mod hip_double;

/// A module, so that `--skip native::` leaves them out.
#[path = "."]
mod native {
    pub(crate) mod tools;

    mod copies;
    mod dispatchers;
    mod examples;
    mod install;
    mod layouts;
    mod programs;
    mod readme;
}
