//! The command line as its users meet it. Sweeps of fake kernels, pages and faults are programs of their own.

#[path = "../common/mod.rs"]
mod common;

mod commands;
mod data;
mod doctor;
mod engine_tables;
mod enumerate;
mod estimate;
mod files;
mod hardware;
mod judging;
mod moe;
mod problem_lists;
mod report;
mod shell;
mod splits;
mod store;
mod train;
mod uhd;
#[cfg(feature = "train")]
mod universal;
mod winners;
