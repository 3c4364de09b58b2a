//! `ckselect bench` and `merge` on kernels that misbehave: real processes, no GPU.

mod care;
mod chaos;
mod fakes;
mod library;
mod records;
mod runs;
mod shards;
mod sweep;
