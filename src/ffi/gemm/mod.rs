//! GEMMs across the boundary.

mod kernels;
mod problem;
mod request;

pub use kernels::*;
pub use problem::*;
pub use request::*;

crate::ffi::functions::functions_of_operation! {
    CkGemmProblem, CkGemmKernelDesc of GemmKernel,
    ck_gemm_kernel_desc_init ck_registry_add_gemm_kernels ck_registry_select_gemm ck_registry_rank_gemm
    ck_registry_predict_gemm ck_registry_extract_gemm ck_registry_explain_gemm
}
