//! Which kernels can be built.

mod conv;
mod gemm;

pub use conv::{ConvRefusal, conv_refusal, instance_refusal};
pub use gemm::{GemmRefusal, GemmValidator};
