#![no_main]
//! A name never panics; one that reads must read the same after printing, and an identifier must print back.

use ck_select::kernel::{ConvKernel, FmhaKernel, GemmKernel, Kernel, KernelKind};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|name: &str| {
    match Kernel::from_name(name) {
        Ok(Kernel { kind: KernelKind::Conv(conv), .. }) => {
            let _ = (conv.name(), conv.decl_name());
            assert_eq!(ConvKernel::parse_name(&conv.long_name()), Ok(conv));
        }
        Ok(Kernel { kind: KernelKind::Gemm(gemm), .. }) => {
            if !name.starts_with("gemm_") {
                assert_eq!(gemm.identifier(), name);
            }
            assert_eq!(GemmKernel::parse_name(&gemm.name()).map(|parsed| parsed.kernel), Ok(gemm));
        }
        Ok(Kernel { kind: KernelKind::Fmha(fmha), .. }) => {
            // No name says everything: what is printed must say what it says.
            let read = |name: &str| FmhaKernel::parse_name(name).unwrap();
            assert_eq!(read(&fmha.identifier()).identifier(), fmha.identifier());
            if name.contains("_mask=") {
                assert_eq!(read(&fmha.config_name()), fmha);
            }
        }
        Ok(Kernel { kind: KernelKind::Moe(moe), .. }) => assert_eq!(moe.name(), name),
        Err(error) => assert!(!error.reason.is_empty()),
    }
});
