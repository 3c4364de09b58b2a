//! Any bytes as an artifact and as a descriptor.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/uhd/tests/common/mod.rs"]
mod common;

fuzz_target!(|bytes: &[u8]| common::check_bytes(bytes));
