//! Registering kernels.

use std::ffi::{c_char, c_void};
use std::mem::{forget, offset_of, transmute};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use super::error::{Failure, boundary};
use super::input::{
    Versioned, check_reserved, give, give_optional, out_struct, read_arch, read_array, read_handle,
    read_optional_struct, read_structs, read_text,
};
use super::mirror::AsC;
use super::{CkConvProblem, CkFmhaProblem, CkGemmProblem, CkMoeProblem, CkRegistry, CkStatus};
use crate::kernel::Kernel;
use crate::log::{self, Level};
use crate::pool::Folder;
use crate::problem::Problem;
use crate::registry::{AddError, Hooks, NewKernel, Priority, Registry, UserData};
use crate::tuning::device::Stream;
use crate::tuning::search::RunOutcome;
use crate::vocab::Op;
use ck_select_types::each_operation;

/// Callbacks, user data and priority of a kernel. Every callback may be NULL. Callbacks run on the selecting
/// thread. They must not change the registry that calls them, but may select: a problem without an answer yet
/// is then not measured but answered by the next source, and that answer is not cached. `supports` returns
/// not 0 for yes; NULL means always, for attention what CK's rules say.
///
/// A run callback that leaves by `longjmp` leaks the memory of its search, but holds no lock: its problem is
/// not measured again until the registry changes, its thread can measure again after `run_timeout_ms` plus
/// one second, and other threads wait for it no longer than that.
///
/// Begin with all bytes 0; CK's low, normal and high `priority` are 0, 1 and 2.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CkKernelHooks {
    /// `sizeof(ck_kernel_hooks)`.
    pub struct_size: usize,
    /// Returned with each selection, and passed to the callbacks unless there is a `context`. Never
    /// dereferenced.
    pub user: *mut c_void,
    /// Higher wins among equal scores, and if no better source answers.
    pub priority: i32,
    /// Must be 0.
    pub reserved: i32,
    /// Whether the kernel can run a convolution.
    pub supports_conv: Option<unsafe extern "C" fn(problem: *const CkConvProblem, user: *mut c_void) -> i32>,
    /// Whether the kernel can run a GEMM.
    pub supports_gemm: Option<unsafe extern "C" fn(problem: *const CkGemmProblem, user: *mut c_void) -> i32>,
    /// Runs a convolution once, with all its work on the stream. Returns the milliseconds that it took by its
    /// own timing; 0 if it was only launched, so that events time it; a negative error code if it could not
    /// be run. NULL: the kernel is never measured.
    pub run_conv: Option<
        unsafe extern "C" fn(problem: *const CkConvProblem, stream: *mut c_void, user: *mut c_void) -> f32,
    >,
    /// Runs a GEMM once; see `run_conv`.
    pub run_gemm: Option<
        unsafe extern "C" fn(problem: *const CkGemmProblem, stream: *mut c_void, user: *mut c_void) -> f32,
    >,
    /// Whether the kernel can run an attention problem.
    pub supports_fmha: Option<unsafe extern "C" fn(problem: *const CkFmhaProblem, user: *mut c_void) -> i32>,
    /// Runs a stage of attention once; see `run_conv`.
    pub run_fmha: Option<
        unsafe extern "C" fn(problem: *const CkFmhaProblem, stream: *mut c_void, user: *mut c_void) -> f32,
    >,
    /// Passed to the callbacks instead of `user`, unless it is NULL.
    pub context: *mut c_void,
    /// Called once with what the callbacks receive, if the kernel was added, when none of them will be called
    /// any more: the kernel was removed or replaced and no call that may use it still runs, or the registry
    /// is destroyed. It may free that, and what `user` points to: the library no longer has either address, but
    /// a `ck_selection` that the caller kept still does. Runs on any thread, even within a selection; it must
    /// not use the registry.
    pub release: Option<unsafe extern "C" fn(context: *mut c_void)>,
    /// Whether the kernel can run a mixture of experts.
    pub supports_moe: Option<unsafe extern "C" fn(problem: *const CkMoeProblem, user: *mut c_void) -> i32>,
    /// Runs a stage of a mixture of experts once; see `run_conv`.
    pub run_moe: Option<
        unsafe extern "C" fn(problem: *const CkMoeProblem, stream: *mut c_void, user: *mut c_void) -> f32,
    >,
}

// SAFETY: `repr(C)`, begins with its size, holds integers, pointers and optional function pointers; NULL is
// `None`.
unsafe impl Versioned for CkKernelHooks {
    const NAME: &'static str = "ck_kernel_hooks";
    const LEAST: usize = offset_of!(Self, supports_conv);
}

impl CkKernelHooks {
    /// Hooks of a kernel of normal priority that do nothing, to be filled in.
    pub const NONE: Self = Self {
        struct_size: size_of::<Self>(),
        user: std::ptr::null_mut(),
        priority: Priority::NORMAL.0,
        reserved: 0,
        supports_conv: None,
        supports_gemm: None,
        run_conv: None,
        run_gemm: None,
        supports_fmha: None,
        run_fmha: None,
        context: std::ptr::null_mut(),
        release: None,
        supports_moe: None,
        run_moe: None,
    };
}

/// The callbacks of a kernel.
pub struct Callbacks {
    hooks: CkKernelHooks,
    /// The kernel that the callbacks are of.
    kernel: Box<str>,
    /// Whether a registry has them, which releases them in the end.
    is_added: AtomicBool,
}

impl Callbacks {
    /// Callbacks to be called from Rust.
    ///
    /// # Safety
    /// The callbacks do what `CkKernelHooks` says, on any thread, for as long as this value is used.
    pub unsafe fn new(hooks: CkKernelHooks, kernel: &str) -> Self {
        Self::from_hooks(hooks, kernel.into())
    }

    const fn from_hooks(hooks: CkKernelHooks, kernel: Box<str>) -> Self {
        Self { hooks, kernel, is_added: AtomicBool::new(false) }
    }

    /// The context that the callbacks receive.
    const fn context(&self) -> *mut c_void {
        if self.hooks.context.is_null() { self.hooks.user } else { self.hooks.context }
    }
}

impl Drop for Callbacks {
    fn drop(&mut self) {
        if let Some(release) = self.hooks.release
            && *self.is_added.get_mut()
        {
            let thrown = Thrown { callback: "release", kernel: &self.kernel };
            // SAFETY: types of functions that differ in whether they unwind are compatible.
            let release = unsafe { transmute::<CRelease, UnwindingRelease>(release) };
            // SAFETY: `ck_kernel_hooks` requires a callback that can be called from any thread, once; nothing
            // calls the others any more.
            unsafe { release(self.context()) };
            forget(thrown);
        }
    }
}

// SAFETY: `ck_kernel_hooks` documents that callbacks run on any thread; the pointers are only passed back.
unsafe impl Send for Callbacks {}
// SAFETY: as above, and by several threads at a time.
unsafe impl Sync for Callbacks {}

/// Whether a kernel can run a problem.
pub type Supports<P> = unsafe extern "C" fn(problem: *const <P as AsC>::C, user: *mut c_void) -> i32;

/// Runs a problem once.
pub type Run<P> =
    unsafe extern "C" fn(problem: *const <P as AsC>::C, stream: *mut c_void, user: *mut c_void) -> f32;

type CRelease = unsafe extern "C" fn(context: *mut c_void);
type UnwindingRelease = unsafe extern "C-unwind" fn(context: *mut c_void);
type UnwindingSupports<P> =
    unsafe extern "C-unwind" fn(problem: *const <P as AsC>::C, user: *mut c_void) -> i32;
type UnwindingRun<P> =
    unsafe extern "C-unwind" fn(problem: *const <P as AsC>::C, stream: *mut c_void, user: *mut c_void) -> f32;

/// Lives while a callback runs, and is dropped only by an exception that leaves the callback. The process ends then,
/// as nothing here can catch the exception; whoever looks for the cause gets the kernel's name.
struct Thrown<'c> {
    callback: &'static str,
    kernel: &'c str,
}

impl Drop for Thrown<'_> {
    #[cold]
    fn drop(&mut self) {
        let Self { callback, kernel } = self;
        let text =
            format!("the callback '{callback}' of kernel '{kernel}' threw an exception, which it must not");
        log::external_line(Level::Error, "kernels", &text);
        std::process::abort();
    }
}

/// Problems of an operation, whose kernels have callbacks of their own.
pub trait OperationCallbacks: AsC + 'static {
    /// The function of `ck_select_bench.h` by which a library of kernels prepares for a problem.
    const PREPARE: &'static str;

    /// The operation's callbacks among a kernel's.
    fn callbacks(hooks: &CkKernelHooks) -> (Option<Supports<Self>>, Option<Run<Self>>);

    /// The hooks of a kernel that only runs.
    fn hooks(run: Run<Self>) -> CkKernelHooks;
}

/// Says which fields of the hooks are an operation's.
macro_rules! operation_callbacks {
    ($problem:ty: $supports:ident, $run:ident, $prepare:literal) => {
        const _: () = {
            use $crate::ffi::kernels::{CkKernelHooks, OperationCallbacks, Run, Supports};

            impl OperationCallbacks for $problem {
                const PREPARE: &'static str = $prepare;

                fn callbacks(hooks: &CkKernelHooks) -> (Option<Supports<Self>>, Option<Run<Self>>) {
                    (hooks.$supports, hooks.$run)
                }

                fn hooks(run: Run<Self>) -> CkKernelHooks {
                    CkKernelHooks { $run: Some(run), ..CkKernelHooks::NONE }
                }
            }
        };
    };
}
pub(super) use operation_callbacks;

impl Callbacks {
    fn supports_own<P: OperationCallbacks>(&self, problem: &P) -> bool {
        P::callbacks(&self.hooks).0.is_none_or(|supports| {
            let problem = problem.to_c();
            let thrown = Thrown { callback: "supports", kernel: &self.kernel };
            // SAFETY: types of functions that differ in whether they unwind are compatible.
            let supports = unsafe { transmute::<Supports<P>, UnwindingSupports<P>>(supports) };
            // SAFETY: `ck_kernel_hooks` requires a callback that may be called from any thread with a problem
            // of its kind and with what its owner gave it.
            let answer = unsafe { supports(&raw const problem, self.context()) };
            forget(thrown);
            answer != 0
        })
    }

    fn run_own<P: OperationCallbacks>(&self, problem: &P, stream: Stream) -> RunOutcome {
        P::callbacks(&self.hooks).1.map_or(RunOutcome::Failed(0), |run| {
            let problem = problem.to_c();
            let thrown = Thrown { callback: "run", kernel: &self.kernel };
            // SAFETY: as above.
            let run = unsafe { transmute::<Run<P>, UnwindingRun<P>>(run) };
            // SAFETY: as above, and with the stream of the options.
            let answer = unsafe { run(&raw const problem, stream.as_raw(), self.context()) };
            forget(thrown);
            outcome(answer)
        })
    }
}

impl Hooks for Callbacks {
    fn supports(&self, problem: &Problem) -> bool {
        each_operation!(problem, Problem(problem) => self.supports_own(problem))
    }

    fn may_refuse(&self) -> bool {
        Op::ALL.iter().any(|op| each_operation!(op, Own => Own::callbacks(&self.hooks).0.is_some()))
    }

    fn added(&self) {
        self.is_added.store(true, Ordering::Relaxed);
    }

    fn can_run(&self) -> bool {
        Op::ALL.iter().any(|op| each_operation!(op, Own => Own::callbacks(&self.hooks).1.is_some()))
    }

    fn run(&self, problem: &Problem, stream: Stream) -> RunOutcome {
        each_operation!(problem, Problem(problem) => self.run_own(problem, stream))
    }
}

/// Adds a kernel by its name: a grouped-convolution name, a tile-engine GEMM name, or a CK identifier.
/// Without hooks, it has priority 1 and supports every problem that it matches. A kernel of the same name is
/// replaced if the new priority is higher; otherwise the call fails with `CK_STATUS_ALREADY_REGISTERED`. Name
/// and hooks are copied; callbacks stay callable until `release`, or until the registry is destroyed.
///
/// # Safety
/// `registry` is from `ck_registry_create`; `name` is a NUL-terminated string; `hooks` is NULL or points to a
/// `ck_kernel_hooks` whose callbacks stay callable until `release`, or until the registry is destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_add_kernel(
    registry: *mut CkRegistry,
    name: *const c_char,
    hooks: *const CkKernelHooks,
) -> CkStatus {
    boundary(|| {
        // SAFETY: by contract, `registry` is NULL or from `ck_registry_create`; `name` is NULL or
        // NUL-terminated.
        let (registry, name) = unsafe { (read_handle(registry)?, read_text(name, "name")?) };
        // SAFETY: by contract, `hooks` is NULL or a struct with its size set.
        let hooks = unsafe { read_optional_struct(hooks) }?;
        add(registry, vec![with_hooks(named(name)?, hooks)?])
    })
}

/// Adds several kernels: all of them or, if one cannot be added, none. `hooks` is NULL, or has one element
/// per name.
///
/// # Safety
/// As for `ck_registry_add_kernel`, for `count` names and hooks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_add_kernels(
    registry: *mut CkRegistry,
    names: *const *const c_char,
    hooks: *const CkKernelHooks,
    count: usize,
) -> CkStatus {
    boundary(|| {
        // SAFETY: by contract, `registry` is NULL or from `ck_registry_create`; `names` has `count`
        // elements.
        let (registry, names) = unsafe { (read_handle(registry)?, read_array(names, count, "names")?) };
        let kernel = |index: usize| {
            let name = names.get(index).copied().unwrap_or(std::ptr::null());
            // SAFETY: by contract, `name` is NULL or NUL-terminated.
            named(unsafe { read_text(name, "a name") }?)
        };
        // SAFETY: by contract, `hooks` is NULL or has `count` structs, each with its size set.
        unsafe { add_each(registry, hooks, count, kernel) }
    })
}

/// Adds the kernels of a folder of shared libraries with a `kernels.json`, all or, if one cannot be added,
/// none. No library is loaded: kernels get no callbacks, and whoever runs them finds library and function in
/// the manifest. Files and entries that are not of a kernel are left out, and named in the log as warnings.
/// `added` may be NULL.
///
/// # Safety
/// `registry` is from `ck_registry_create`; `folder` is a NUL-terminated string; `added` is NULL or points to
/// a `size_t`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_add_folder(
    registry: *mut CkRegistry,
    folder: *const c_char,
    added: *mut usize,
) -> CkStatus {
    boundary(|| {
        // SAFETY: by contract, `registry` is NULL or from `ck_registry_create`; `folder` is NULL or
        // NUL-terminated.
        let (registry, folder) = unsafe { (read_handle(registry)?, read_text(folder, "folder")?) };
        let pools = Folder::read(Path::new(folder)).map_err(|error| {
            let status = if error.is_unreadable { CkStatus::Io } else { CkStatus::InvalidKernel };
            Failure::new(status, error)
        })?;
        for left_out in &pools.left_out {
            log::line(Level::Warn, "kernels", format_args!("{folder}: left out: {left_out}"));
        }
        let kernels: Vec<_> = pools.pool.iter().cloned().map(NewKernel::from).collect();
        let count = kernels.len();
        add(registry, kernels)?;
        // SAFETY: the caller gives NULL or room for one `size_t`.
        unsafe { give_optional(added, count) };
        Ok(())
    })
}

fn outcome(answer: f32) -> RunOutcome {
    match answer {
        0.0 => RunOutcome::Launched,
        // The cast saturates: a code that is not a whole number was not a code.
        code if code < 0.0 => RunOutcome::Failed(-code as i32),
        ms => RunOutcome::Milliseconds(ms.into()),
    }
}

fn named(name: &str) -> Result<NewKernel, Failure> {
    Kernel::from_name(name).map(NewKernel::from).map_err(Failure::of(CkStatus::InvalidKernel))
}

/// A kernel to be added; without hooks, one of normal priority without callbacks.
pub(super) fn with_hooks(new: NewKernel, hooks: Option<CkKernelHooks>) -> Result<NewKernel, Failure> {
    let Some(hooks) = hooks else { return Ok(new) };
    check_reserved("ck_kernel_hooks.", hooks.reserved)?;
    let callbacks = Callbacks::from_hooks(hooks, new.kernel.name.as_str().into());
    Ok(NewKernel {
        priority: Priority(hooks.priority),
        user: UserData(hooks.user),
        hooks: Some(Box::new(callbacks)),
        ..new
    })
}

/// Adds as many kernels as are counted, all or none, each with its hooks.
///
/// # Safety
/// `hooks` is NULL for none, or has `count` structs, each with its size set, and what `ck_kernel_hooks` says.
pub(super) unsafe fn add_each(
    registry: &Registry,
    hooks: *const CkKernelHooks,
    count: usize,
    kernel: impl Fn(usize) -> Result<NewKernel, Failure>,
) -> Result<(), Failure> {
    // SAFETY: by contract.
    let hooks = (!hooks.is_null()).then(|| unsafe { read_structs(hooks, count, "hooks") }).transpose()?;
    let new = |index| {
        // SAFETY: `index` is in the array, which by contract lives for the call.
        let own = hooks.as_ref().map(|hooks| unsafe { hooks.read(index) }).transpose()?;
        with_hooks(kernel(index)?, own)
    };
    add(registry, (0..count).map(new).collect::<Result<_, _>>()?)
}

pub(super) fn add(registry: &Registry, kernels: Vec<NewKernel>) -> Result<(), Failure> {
    registry.add_all(kernels).map_err(|error| {
        let status = match error {
            AddError::AlreadyRegistered(_) => CkStatus::AlreadyRegistered,
            AddError::Invalid { .. } => CkStatus::InvalidKernel,
        };
        Failure::new(status, error)
    })
}

/// A registered kernel.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CkKernelInfo {
    /// `sizeof(ck_kernel_info)`, set by the caller.
    pub struct_size: usize,
    /// The kernel's name.
    pub name: *const c_char,
    /// The `user` pointer of its hooks.
    pub user: *mut c_void,
    /// The kernel's index in the order of registration, not counting removed kernels.
    pub index: usize,
    /// The priority of the kernel's hooks.
    pub priority: i32,
    /// 0.
    pub reserved: i32,
}

// SAFETY: `repr(C)`, begins with its size, and holds only integers and addresses.
unsafe impl Versioned for CkKernelInfo {
    const NAME: &'static str = "ck_kernel_info";
    const LEAST: usize = offset_of!(Self, user);
}

/// Writes the number of kernels.
///
/// # Safety
/// `registry` is from `ck_registry_create`; `size` points to a `size_t`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_size(registry: *const CkRegistry, size: *mut usize) -> CkStatus {
    boundary(|| {
        // SAFETY: by contract, `registry` is NULL or from `ck_registry_create`.
        let registry = unsafe { read_handle(registry) }?;
        // SAFETY: by contract, `size` is NULL or valid for writing.
        unsafe { give(size, "size", registry.len()) }
    })
}

/// Describes the kernel at an index.
///
/// # Safety
/// `registry` is from `ck_registry_create`; `info` points to a `ck_kernel_info` with its `struct_size` set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_kernel_at(
    registry: *const CkRegistry,
    index: usize,
    info: *mut CkKernelInfo,
) -> CkStatus {
    boundary(|| {
        // SAFETY: by contract, `registry` is NULL or from `ck_registry_create`.
        let registry = unsafe { read_handle(registry) }?;
        // SAFETY: by contract, `info` is NULL or a struct with its size set.
        unsafe { write_info(registry, Some(index), &format!("a kernel at {index}"), info) }
    })
}

/// Describes the kernel with a name.
///
/// # Safety
/// `registry` is from `ck_registry_create`; `name` is a NUL-terminated string; `info` points to a
/// `ck_kernel_info` with its `struct_size` set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_find(
    registry: *const CkRegistry,
    name: *const c_char,
    info: *mut CkKernelInfo,
) -> CkStatus {
    boundary(|| {
        // SAFETY: by contract, `registry` is NULL or from `ck_registry_create`; `name` is NULL or
        // NUL-terminated.
        let (registry, name) = unsafe { (read_handle(registry)?, read_text(name, "name")?) };
        // SAFETY: by contract, `info` is NULL or a struct with its size set.
        unsafe { write_info(registry, registry.position(name), &format!("a kernel '{name}'"), info) }
    })
}

/// # Safety
/// As for [`out_struct`].
unsafe fn write_info(
    registry: &Registry,
    index: Option<usize>,
    asked: &str,
    info: *mut CkKernelInfo,
) -> Result<(), Failure> {
    // SAFETY: by contract, `info` is NULL or a struct with its size set.
    let info = unsafe { out_struct(info) }?;
    let kernel = index.and_then(|index| Some((index, registry.get(index)?)));
    let (index, entry) = kernel.ok_or_else(|| {
        let message = format!("the registry has {} kernels, but not {asked}", registry.len());
        Failure::new(CkStatus::NotFound, message)
    })?;
    let value = CkKernelInfo {
        struct_size: size_of::<CkKernelInfo>(),
        name: registry.registered(&entry).c_name().as_ptr(),
        user: entry.user().0,
        index,
        priority: entry.priority().0,
        reserved: 0,
    };
    // SAFETY: by contract, `info` still has the room that was checked.
    unsafe { info.write(value) };
    Ok(())
}

/// Removes the kernels that were built for other architectures; kernels without an architecture stay.
/// `removed` receives their number; it may be NULL.
///
/// # Safety
/// `registry` is from `ck_registry_create`; `arch` is a NUL-terminated string; `removed` is NULL or points to
/// a `size_t`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_retain_arch(
    registry: *mut CkRegistry,
    arch: *const c_char,
    removed: *mut usize,
) -> CkStatus {
    boundary(|| {
        // SAFETY: by contract, `registry` is NULL or from `ck_registry_create`; `arch` is NULL or
        // NUL-terminated.
        let (registry, arch) = unsafe { (read_handle(registry)?, read_arch(arch, "arch")?) };
        let arch = arch.ok_or_else(|| Failure::null("arch"))?;
        let count = registry.retain_arch(arch);
        // SAFETY: by contract, `removed` is NULL or valid for writing.
        unsafe { give_optional(removed, count) };
        Ok(())
    })
}

/// Removes the kernel with a name; `CK_STATUS_NOT_FOUND` if there is none. The indices of later kernels
/// decrease by one. Its memory, except for the name, is freed when no call uses it any more; a concurrent
/// selection may still return it.
///
/// # Safety
/// `registry` is from `ck_registry_create`; `name` is a NUL-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_remove_kernel(
    registry: *mut CkRegistry,
    name: *const c_char,
) -> CkStatus {
    boundary(|| {
        // SAFETY: by contract, `registry` is NULL or from `ck_registry_create`; `name` is NULL or
        // NUL-terminated.
        let (registry, name) = unsafe { (read_handle(registry)?, read_text(name, "name")?) };
        if registry.remove(name) {
            return Ok(());
        }
        Err(Failure::new(CkStatus::NotFound, format_args!("the registry has no kernel '{name}'")))
    })
}

/// Removes all kernels.
///
/// # Safety
/// `registry` is from `ck_registry_create`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ck_registry_clear(registry: *mut CkRegistry) -> CkStatus {
    boundary(|| {
        // SAFETY: by contract, `registry` is NULL or from `ck_registry_create`.
        unsafe { read_handle(registry) }?.retain(|_| false);
        Ok(())
    })
}
