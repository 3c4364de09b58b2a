//! Tuned tables: which kernel won on a shape, and what else was timed there.
//!
//! A table has a row for each configuration that was kept: AITER's (`gfx`, `cu_num`, `M`, `N`, `K`,
//! `kernelName`, `splitK`, `us`), or the columns of a problem with `kernel` and perhaps `split_k` and a time.
//! Tables of fused mixtures of experts have a kernel of each stage (`moe::pairs`), tables of vLLM and SGLang are
//! files of configurations (`moe`). A kernel without a row was slower in that tuning, or did not exist yet.
//!
//! ```text
//! table, moe (rows) ── adding ── shapes (problems on GPUs, with their configurations) ── pools
//! ── learn (rows to train on)
//! ```

mod adding;
mod learn;
mod moe;
mod pools;
mod shapes;
mod table;
#[cfg(test)]
mod tests;

pub use learn::WinnerRows;
pub(crate) use moe::json_files;
pub use pools::anywhere;
pub use shapes::{LeftOutFiles, TunedConfig, TunedGpu, TunedShape, Winners};
