//! The library as its users have it, in one program. What forks, catches signals or is watched by another
//! tool has a program of its own.

#[path = "../common/mod.rs"]
mod common;
#[allow(dead_code, reason = "shared with other programs, each of which uses a part")]
#[path = "../counting/mod.rs"]
mod counting;
#[path = "../random_forests/mod.rs"]
mod random_forests;

mod agreement;
mod capture;
#[cfg(target_os = "linux")]
mod environment;
mod estimate;
mod features;
mod fmha;
mod forest;
mod layers;
mod model_files;
mod pools;
mod rank;
mod rows;
mod scoring_allocations;
mod splits;
mod tune;
