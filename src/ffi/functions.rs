//! The functions that an operation has as convolutions have them.

/// Functions whose contract is that of what they run, and of the named one.
macro_rules! declare {
    ($($as:literal: $name:ident($($argument:ident: $type:ty),+) = $run:expr;)+) => {$(
        #[doc = concat!("As `", $as, "`.\n\n# Safety\nAs for `", $as, "`.")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),+) -> CkStatus {
            // SAFETY: by contract.
            boundary(|| unsafe { $run($($argument),+) })
        }
    )+};
}

/// Declares them. cbindgen does not see through macros: `tests/header/main.rs` shows it the convolutions'
/// declarations under these names.
macro_rules! functions_of_operation {
    (
        $problem:ident, $desc:ident of $kernel:ident,
        $init:ident $add:ident $select:ident $rank:ident $predict:ident $extract:ident $explain:ident
    ) => {
        mod functions {
            use std::ffi::c_char;

            use super::{$desc, $problem};
            use $crate::ffi::descriptors::{add_described, give_usual};
            use $crate::ffi::error::boundary;
            use $crate::ffi::kernels::CkKernelHooks;
            use $crate::ffi::select::{
                CkPredictions, CkRanked, CkSelection, explain, extract, predict, rank, select,
            };
            use $crate::ffi::{CkRegistry, CkStatus};

            $crate::ffi::functions::declare! {
                "ck_conv_kernel_desc_init": $init(desc: *mut $desc) = give_usual::<$crate::kernel::$kernel>;
                "ck_registry_add_conv_kernels": $add(
                    registry: *mut CkRegistry, descs: *const $desc, hooks: *const CkKernelHooks, count: usize
                ) = add_described;
                "ck_registry_select_conv": $select(
                    registry: *const CkRegistry, problem: *const $problem, selection: *mut CkSelection
                ) = select;
                "ck_registry_rank_conv": $rank(
                    registry: *const CkRegistry, problem: *const $problem, capacity: usize,
                    ranked: *mut CkRanked, count: *mut usize, left_out: *mut usize
                ) = rank;
                "ck_registry_predict_conv": $predict(
                    registry: *const CkRegistry, problem: *const $problem, index: usize,
                    predictions: *mut CkPredictions
                ) = predict;
                "ck_registry_extract_conv": $extract(
                    registry: *const CkRegistry, problem: *const $problem, index: usize, capacity: usize,
                    features: *mut f64, count: *mut usize
                ) = extract;
                "ck_registry_explain_conv": $explain(
                    registry: *const CkRegistry, problem: *const $problem, text: *mut *mut c_char
                ) = explain;
            }
        }

        pub use functions::*;
    };
}

pub(super) use {declare, functions_of_operation};
