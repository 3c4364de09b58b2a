#![no_main]
//! Any text as a kernel's name.

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/near_names/mod.rs"]
mod near_names;

fuzz_target!(|name: &str| near_names::check(name));
