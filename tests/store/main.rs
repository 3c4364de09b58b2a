//! The store of winners.

#[path = "../common/mod.rs"]
mod common;
#[path = "../faulty_calls/mod.rs"]
mod faulty_calls;

mod exchange;
mod hostile;
mod locked;
mod processes;
mod single;
