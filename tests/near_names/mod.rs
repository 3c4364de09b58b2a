//! What holds for any text as a kernel's name: for a test and for fuzzing.

use ck_select::kernel::{ConvKernel, FmhaKernel, GemmKernel, Kernel, KernelKind};

/// A name that reads must read the same after printing, and an identifier must print back.
pub(crate) fn check(name: &str) {
    let kernel = match Kernel::from_name(name) {
        Ok(kernel) => kernel,
        Err(error) => return assert!(!error.reason.is_empty(), "{error}"),
    };
    match kernel.kind {
        KernelKind::Conv(conv) => {
            let _ = (conv.name(), conv.decl_name());
            assert_eq!(ConvKernel::parse_name(&conv.long_name()), Ok(conv));
        }
        KernelKind::Gemm(gemm) => {
            if !name.starts_with("gemm_") {
                assert_eq!(gemm.identifier(), name);
            }
            assert_eq!(GemmKernel::parse_name(&gemm.name()).map(|parsed| parsed.kernel), Ok(gemm));
        }
        KernelKind::Fmha(fmha) => {
            // No name says everything: what is printed must say what it says.
            let read = |name: &str| FmhaKernel::parse_name(name).unwrap();
            assert_eq!(read(&fmha.identifier()).identifier(), fmha.identifier());
            if name.contains("_mask=") {
                assert_eq!(read(&fmha.config_name()), fmha);
            }
        }
    }
}
