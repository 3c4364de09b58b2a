//! What tests, fuzzing and the example hold an artifact against.

#![allow(dead_code, reason = "each uses a part")]

use ck_select_model::forest::Forest;
use ck_select_uhd::{Descriptor, Hgbm, Node, Split};

/// The walk as hipDNN's description has it; it shares nothing with the code that is tested.
pub(crate) fn walked(model: &Hgbm, row: &[f64]) -> f64 {
    let mut sum = 0.0;
    for tree in &model.trees {
        let mut node = 0;
        sum += loop {
            match tree[node] {
                Node::Leaf(value) => break value,
                Node::Split(Split { feature, threshold, less, default_left, children }) => {
                    let x = row.get(feature as usize).copied().unwrap_or(f64::NAN);
                    let goes_left = match (x.is_nan(), less) {
                        (true, _) => default_left,
                        (false, false) => x <= threshold,
                        (false, true) => x < threshold,
                    };
                    node = children[usize::from(!goes_left)] as usize;
                }
            }
        };
    }
    model.base_score + sum
}

/// Any bytes as a descriptor and as an artifact: reading returns, what it lets through can be walked and is a
/// file again, and what becomes LightGBM's text is read.
pub(crate) fn check_bytes(bytes: &[u8]) {
    let _ = Descriptor::parse(bytes);
    let Ok(model) = Hgbm::read(bytes) else { return };
    walked(&model, &[0.5, f64::NAN]);
    if model.num_features > 64 || model.groups > 0 {
        return;
    }
    let written = model.write().expect("what was read is valid");
    assert!(Hgbm::read(&written).is_ok_and(|again| again.trees.len() == model.trees.len()));
    let names: Vec<String> = (0..model.num_features).map(|name| format!("f{name}")).collect();
    if let Ok(text) = model.to_text(&names) {
        Forest::parse(text.as_bytes()).expect("LightGBM's text");
    }
}
