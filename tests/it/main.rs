//! The library as its users have it, in one program. What forks, catches signals or is watched by another
//! tool has a program of its own.

#[path = "../common/mod.rs"]
mod common;

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

use ck_select_testing::counting::Counting;

#[global_allocator]
static COUNTING: Counting = Counting;
