//! The C boundary and nothing else: handles, status codes, panics.
//!
//! Every function here follows these rules:
//! - It returns a [`ck_status`](status::CkStatus); outputs are written only when that is `CK_STATUS_OK`.
//! - Its body runs inside `boundary`, which turns a panic into `CK_STATUS_PANIC`. A test reads these files
//!   and fails on a function without it.
//! - Pointers are borrowed for the call, unless its documentation says otherwise; NULL is an error, never a
//!   crash.
//! - Structs that the caller fills begin with their own size, so that later versions can append fields.

#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable,
        clippy::indexing_slicing
    )
)]

mod conv;
mod descriptors;
mod engines;
mod error;
mod estimates;
mod exchange;
mod fmha;
mod forests;
mod functions;
mod gemm;
mod hardware;
mod input;
mod kernels;
mod log;
mod memory;
mod mirror;
mod models;
mod moe;
mod registry;
mod rows;
mod select;
mod status;
#[cfg(test)]
mod tests;
mod tune;

pub use conv::*;
pub use engines::*;
pub use error::*;
pub use estimates::*;
pub use exchange::*;
pub use fmha::*;
pub use forests::*;
pub use gemm::*;
pub use hardware::*;
pub use kernels::*;
pub use log::*;
pub use memory::*;
pub use mirror::{AsC, CField, CStruct};
pub use models::*;
pub use moe::*;
pub use registry::*;
pub use rows::*;
pub use select::*;
pub use status::*;
pub use tune::*;

/// The structs of C that tables declare, for the header.
#[doc(hidden)]
pub fn mirrored_structs() -> Vec<CStruct> {
    use crate::operation::OperationProblem as Problem;
    use mirror::Mirrored;

    let mut structs = vec![
        crate::problem::GemmRequest::describe(),
        crate::kernel::GemmVariant::describe(),
        crate::hardware::Hardware::describe(),
    ];
    for &op in crate::vocab::Op::ALL {
        ck_select_types::each_operation!(op, Own => {
            structs.extend([Own::describe(), <Own as Problem>::Kernel::describe()]);
        });
    }
    structs
}
