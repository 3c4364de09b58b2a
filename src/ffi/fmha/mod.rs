//! Attention across the boundary.

mod kernels;
mod problem;
mod splits;
mod words;

pub use kernels::*;
pub use problem::*;
pub use splits::*;

crate::ffi::functions::functions_of_operation! {
    CkFmhaProblem, CkFmhaKernelDesc of FmhaKernel,
    ck_fmha_kernel_desc_init ck_registry_add_fmha_kernels ck_registry_select_fmha ck_registry_rank_fmha
    ck_registry_predict_fmha ck_registry_extract_fmha ck_registry_explain_fmha
}
