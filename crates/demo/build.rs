//! Packs the model of the live example as the library packs its own: only the forest that ranks.

#[allow(dead_code)] // one model, not all
#[path = "../../src/packed/embed.rs"]
mod embed;
#[allow(unreachable_pub)] // the library shows it, too
#[path = "../../src/packed/mod.rs"]
mod pack;

use std::path::Path;
use std::{env, fs, process};

const MODEL: &str = "../../models/grouped_conv_forward_bf16_gfx950";

fn main() {
    println!("cargo::rerun-if-changed=../../src/packed");
    println!("cargo::rerun-if-changed={MODEL}");
    if let Err(message) = embed_model() {
        println!("cargo::error={message}");
        process::exit(1);
    }
}

fn embed_model() -> Result<(), String> {
    let out = env::var("OUT_DIR").map_err(|error| format!("OUT_DIR: {error}"))?;
    let source = embed::model(Path::new(MODEL), &[("model_relative.lgbm", "Relative")], Path::new(&out))?;
    let expression = source.trim_end().trim_end_matches(',');
    fs::write(Path::new(&out).join("model.rs"), expression).map_err(|error| format!("{out}: {error}"))
}
