//! The store of winners.

#[path = "../common/mod.rs"]
mod common;

mod exchange;
mod hostile;
mod locked;
mod processes;
mod single;
