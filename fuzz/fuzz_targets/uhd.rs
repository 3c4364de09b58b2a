//! Any bytes as an artifact and as a descriptor: reading returns, what it lets through is a file again, and
//! what becomes LightGBM's text is read.
#![no_main]

use ck_select::forest::Forest;
use ck_select_uhd::{Descriptor, Hgbm};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = Descriptor::parse(bytes);
    let Ok(model) = Hgbm::read(bytes) else { return };
    if model.num_features > 64 || model.groups > 0 {
        return;
    }
    let written = model.write().expect("what was read is valid");
    assert!(Hgbm::read(&written).is_ok_and(|again| again.trees.len() == model.trees.len()));
    let names: Vec<String> = (0..model.num_features).map(|name| format!("f{name}")).collect();
    if let Ok(text) = model.to_text("regression", &names) {
        Forest::parse(text.as_bytes()).expect("LightGBM's text");
    }
});
