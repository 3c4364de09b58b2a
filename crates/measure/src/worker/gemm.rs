//! Libraries of one kernel each, as CK's tile engine builds them: operands are the host's, and the library
//! copies them to the GPU and times the kernel.

use std::cell::RefCell;
use std::ffi::c_void;

use ck_select::ffi::{CkGemmProblem, CkKernelHooks};
use ck_select::kernel::{Kernel, KernelKind};
use ck_select::pool::FolderKernel;
use libloading::Library;

/// `dispatcher_run_gemm`: operands, extents, and where the milliseconds go.
type RunGemm =
    unsafe extern "C" fn(*const c_void, *const c_void, *mut c_void, i64, i64, i64, *mut f32) -> i32;
type Initialize = unsafe extern "C" fn() -> i32;

/// A function and its operands, which grow with the problems.
struct Bridge {
    run: RunGemm,
    /// Bytes of an element of A, B and C.
    bytes: [f64; 3],
    operands: RefCell<[Vec<u8>; 3]>,
}

/// Hooks that call a library's function.
pub(super) fn hooks(library: &'static Library, kernel: &FolderKernel) -> Result<CkKernelHooks, String> {
    if kernel.signature != "gemm" {
        return Err(format!(
            "kernels of the signature {} cannot be run here, only gemm and ck_bench",
            kernel.signature
        ));
    }
    let described = Kernel::from_name(&kernel.name).map_err(|error| error.to_string())?;
    let KernelKind::Gemm(gemm) = &described.kind else {
        return Err(format!("the signature is gemm, the kernel is for {}", described.op()));
    };
    let bytes = [gemm.dtype_a, gemm.dtype_b, gemm.dtype_c].map(|dtype| f64::from(dtype.bits()) / 8.0);
    // SAFETY: the manifest says that the symbol is a function of this signature.
    let run =
        *unsafe { library.get::<RunGemm>(kernel.symbol.as_bytes()) }.map_err(|error| error.to_string())?;
    for name in ["dispatcher_initialize", "dispatcher_init"] {
        // SAFETY: all libraries of these families export one of the two with this type.
        if let Ok(initialize) = unsafe { library.get::<Initialize>(name.as_bytes()) } {
            // SAFETY: it takes nothing.
            let code = unsafe { initialize() };
            if code != 0 {
                return Err(format!("{name} answers {code}"));
            }
            break;
        }
    }
    let bridge = Box::leak(Box::new(Bridge { run, bytes, operands: RefCell::default() }));
    let user = std::ptr::from_mut(bridge).cast();
    Ok(CkKernelHooks {
        user,
        supports_gemm: Some(supports_gemm),
        run_gemm: Some(run_gemm),
        ..CkKernelHooks::NONE
    })
}

/// Runs a kernel once.
///
/// # Safety
/// `problem` lives for the call; `user` is the bridge of [`hooks`].
unsafe extern "C" fn run_gemm(problem: *const CkGemmProblem, _stream: *mut c_void, user: *mut c_void) -> f32 {
    // SAFETY: by contract; the bridge lives as long as the process, which has one thread for kernels.
    let (problem, bridge) = unsafe { (&*problem, &*user.cast::<Bridge>()) };
    let [m, n, k] = [problem.m, problem.n, problem.k];
    let Ok(mut operands) = bridge.operands.try_borrow_mut() else { return -1.0 };
    for (index, extents) in [[m, k], [k, n], [m, n]].into_iter().enumerate() {
        let bytes = (extents[0] as f64 * extents[1] as f64 * bridge.bytes[index]).ceil() as usize;
        // Small finite numbers in every type.
        operands[index].resize(bytes, 0x11);
    }
    let [a, b, c] = &mut *operands;
    let mut ms = 0.0;
    // SAFETY: the manifest says that it is such a function, and operands are as long as packed matrices are.
    let code = unsafe {
        (bridge.run)(a.as_ptr().cast(), b.as_ptr().cast(), c.as_mut_ptr().cast(), m, n, k, &raw mut ms)
    };
    // Codes of either sign are failures; a positive number would be a time.
    if code == 0 { ms } else { -(code.unsigned_abs() as f32) }
}

/// The function takes no number of parts and no batch.
///
/// # Safety
/// `problem` lives for the call.
unsafe extern "C" fn supports_gemm(problem: *const CkGemmProblem, _user: *mut c_void) -> i32 {
    // SAFETY: by contract.
    unsafe { (*problem).split_k <= 1 && (*problem).request.batch <= 1 }.into()
}
