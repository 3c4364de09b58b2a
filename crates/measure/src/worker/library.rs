//! A library of kernels, used through the functions of `include/ck_select_bench.h`.

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use ck_select::ffi::{Callbacks, CkKernelHooks, CkStatus, OperationCallbacks};
use ck_select::files;
use ck_select::pool::FolderKernel;
use ck_select::problem::Problem;
use ck_select::vocab::Op;
use ck_select_types::each_operation;
use libloading::Library;

use super::gemm;

/// `ck_bench_sink`: how a library registers its kernels.
#[repr(C)]
struct Sink {
    struct_size: usize,
    context: *mut c_void,
    add_kernel: unsafe extern "C" fn(*mut c_void, *const c_char, *const CkKernelHooks) -> CkStatus,
}

/// `ck_bench_register`: returns a `ck_status`, read as a number because a library may return any value.
type Register = unsafe extern "C" fn(*const Sink) -> i32;
type CountNonZero = unsafe extern "C" fn() -> i64;

/// Callbacks by kernel name. They live as long as their library, which is forever.
type Kernels = HashMap<String, &'static Callbacks>;

/// A loaded library.
pub(super) struct KernelLibrary {
    library: &'static Library,
    registers: bool,
    kernels: Kernels,
    prepared: Option<Problem>,
}

impl KernelLibrary {
    /// Loads a library and asks for its kernels, unless a manifest says which one it has.
    pub(super) fn open(path: &str, listed: Option<&FolderKernel>) -> Result<Self, String> {
        // For a pipe, the loader would wait for a writer.
        files::check(path).map_err(|error| format!("{path}: {error}"))?;
        // SAFETY: whoever names a library wants its code to run; this process exists so that the code may do
        // anything.
        let library = unsafe { Library::new(path) }.map_err(|error| format!("{path}: {error}"))?;
        // Never unloaded: GPU runtimes register a library's code for the life of the process.
        let library: &'static Library = Box::leak(Box::new(library));
        let mut kernels = Kernels::new();
        if let Some(kernel) = listed.filter(|kernel| kernel.signature != "ck_bench") {
            let hooks = gemm::hooks(library, kernel).map_err(|error| format!("{path}: {error}"))?;
            // SAFETY: the library is never unloaded, and its manifest says what its function takes.
            kernels.insert(
                kernel.name.clone(),
                Box::leak(Box::new(unsafe { Callbacks::new(hooks, &kernel.name) })),
            );
            return Ok(Self { library, registers: true, kernels, prepared: None });
        }
        // SAFETY: the header declares the function with this type.
        let register = unsafe { library.get::<Register>(b"ck_bench_register") }.ok().map(|symbol| *symbol);
        if let Some(register) = register {
            let context = (&raw mut kernels).cast();
            let sink = Sink { struct_size: size_of::<Sink>(), context, add_kernel };
            // SAFETY: the sink and its map outlive the call.
            let status = unsafe { register(&raw const sink) };
            if status != CkStatus::Ok as i32 {
                return Err(format!("{path}: ck_bench_register answers {status}"));
            }
        }
        Ok(Self { library, registers: register.is_some(), kernels, prepared: None })
    }

    /// The callbacks of a kernel: those that it registered, or else the function with its name.
    pub(super) fn kernel(&mut self, name: &str, op: Op) -> Option<&'static Callbacks> {
        if !self.registers && !self.kernels.contains_key(name) {
            let hooks = self.function(name, op)?;
            // SAFETY: as for registered kernels, below.
            let callbacks = unsafe { Callbacks::new(hooks, name) };
            self.kernels.insert(name.to_owned(), Box::leak(Box::new(callbacks)));
        }
        self.kernels.get(name).copied()
    }

    fn function(&self, name: &str, op: Op) -> Option<CkKernelHooks> {
        each_operation!(op, Own => {
            // SAFETY: the header declares functions named after a kernel with the type of its operation's
            // hook.
            Some(Own::hooks(*unsafe { self.library.get(name.as_bytes()) }.ok()?))
        })
    }

    /// Lets the library prepare for a problem, once; the error is the library's code.
    pub(super) fn prepare(&mut self, problem: &Problem) -> Result<(), i32> {
        if self.prepared.as_ref() == Some(problem) {
            return Ok(());
        }
        self.prepared = None;
        let code = each_operation!(problem, Problem(problem) => self.prepare_for(problem));
        if code != 0 {
            return Err(code);
        }
        self.prepared = Some(*problem);
        Ok(())
    }

    fn prepare_for<P: OperationCallbacks>(&self, problem: &P) -> i32 {
        let name = P::PREPARE.as_bytes();
        // SAFETY: the header declares the functions with this type.
        let prepare = unsafe { self.library.get::<unsafe extern "C" fn(*const P::C) -> i32>(name) };
        let problem = problem.to_c();
        // SAFETY: the problem outlives the call.
        prepare.map_or(0, |prepare| unsafe { prepare(&raw const problem) })
    }

    /// How many elements of the last result are not zero, if the library counts them.
    pub(super) fn count_non_zero(&self) -> Option<u64> {
        // SAFETY: the header declares the function with this type.
        let count = unsafe { self.library.get::<CountNonZero>(b"ck_bench_count_non_zero") }.ok()?;
        // SAFETY: the function takes no arguments.
        u64::try_from(unsafe { count() }).ok()
    }
}

/// The function that a library calls for each of its kernels.
///
/// # Safety
/// `context` is the map of [`KernelLibrary::open`]; `name` is NUL-terminated; `hooks` points to hooks of the
/// size that their first field states.
unsafe extern "C" fn add_kernel(
    context: *mut c_void,
    name: *const c_char,
    hooks: *const CkKernelHooks,
) -> CkStatus {
    if context.is_null() || name.is_null() || hooks.is_null() {
        return CkStatus::NullPointer;
    }
    // SAFETY: by contract, `hooks` points to hooks, whose first field is their size.
    let size = unsafe { (&raw const (*hooks).struct_size).read() };
    if size != size_of::<CkKernelHooks>() {
        return CkStatus::InvalidStruct;
    }
    // SAFETY: by contract, `name` is NUL-terminated, `hooks` has the size that was just checked, and
    // `context` is the map of `KernelLibrary::open`.
    let (name, hooks, kernels) = unsafe { (CStr::from_ptr(name), *hooks, &mut *context.cast::<Kernels>()) };
    let Ok(name) = name.to_str() else { return CkStatus::NotUtf8 };
    let add = AssertUnwindSafe(|| {
        if kernels.contains_key(name) {
            return CkStatus::AlreadyRegistered;
        }
        // SAFETY: the library keeps the promises of the header, and is never unloaded.
        let callbacks = unsafe { Callbacks::new(hooks, name) };
        kernels.insert(name.to_owned(), Box::leak(Box::new(callbacks)));
        CkStatus::Ok
    });
    catch_unwind(add).unwrap_or(CkStatus::Panic)
}
