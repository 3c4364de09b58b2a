//! `ckselect bench` on kernels that misbehave: real processes, no GPU.

mod chaos;
#[path = "../common/mod.rs"]
mod common;
mod fakes;
mod library;
mod records;
mod runs;
mod sweep;
