//! The library as its users have it, in one program. What forks, catches signals or is watched by another tool
//! has a program of its own.

#[path = "../common/mod.rs"]
mod common;
#[allow(dead_code, reason = "of several programs")]
#[path = "../counting/mod.rs"]
mod counting;
#[path = "../random_forests/mod.rs"]
mod random_forests;

mod agreement;
mod capture;
mod embedding;
mod estimate;
mod features;
mod fmha;
mod forest;
mod forest_mutations;
mod log;
mod model_files;
mod names;
mod pools;
#[cfg(target_os = "linux")]
mod privileged;
mod rank;
mod rows;
mod scoring_allocations;
mod splits;
mod ties;
mod tune;
