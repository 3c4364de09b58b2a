//! Makes the C header from the sources and holds the committed one to it; gives the shared library its soname and its
//! embedded models.

#[path = "build/embed.rs"]
mod embed;
#[path = "build/pack.rs"]
mod pack;

use std::path::Path;
use std::{env, fs, process};

const HEADER: &str = "include/ck_select.h";

fn main() {
    println!("cargo::rerun-if-changed=src/ffi");
    println!("cargo::rerun-if-changed=cbindgen.toml");
    println!("cargo::rerun-if-changed={HEADER}");
    println!("cargo::rerun-if-env-changed=CK_SELECT_UPDATE_HEADER");
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=models");
    if let Err(message) = check_header().and_then(|()| embed_models()) {
        println!("cargo::error={message}");
        process::exit(1);
    }
    let os = env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if os == "linux" {
        // The number is CK_SELECT_ABI_VERSION's; a test compares them. Not `rustc-link-arg-cdylib`, which cargo also passes to
        // shared libraries that depend on this one; executables take no notice of a soname.
        println!("cargo::rustc-link-arg=-Wl,-soname,libck_select.so.1");
    }
}

fn embed_models() -> Result<(), String> {
    let variable = |name: &str| env::var(name).map_err(|error| format!("{name}: {error}"));
    let out = variable("OUT_DIR")?;
    let out = Path::new(&out);
    let table = if env::var_os("CARGO_FEATURE_EMBEDDED_MODELS").is_some() {
        embed::table(&Path::new(&variable("CARGO_MANIFEST_DIR")?).join("models"), out)?
    } else {
        "&[]".to_owned()
    };
    let path = out.join("embedded_models.rs");
    fs::write(&path, table).map_err(|error| format!("{}: {error}", path.display()))
}

fn check_header() -> Result<(), String> {
    let root = env::var("CARGO_MANIFEST_DIR").map_err(|error| error.to_string())?;
    let root = Path::new(&root);
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml"))?;
    let mut builder = cbindgen::Builder::new().with_config(config);
    for file in [
        "status",
        "words",
        "error",
        "log",
        "memory",
        "problems",
        "registry",
        "kernels",
        "descriptors",
        "desc_names",
        "exchange",
        "hardware",
        "models",
        "select",
        "rows",
    ] {
        builder = builder.with_src(root.join(format!("src/ffi/{file}.rs")));
    }
    let bindings = builder.generate().map_err(|error| format!("cbindgen: {error}"))?;
    let mut made = Vec::new();
    bindings.write(&mut made);
    let path = root.join(HEADER);
    if fs::read(&path).is_ok_and(|committed| committed == made) {
        return Ok(());
    }
    if env::var_os("CK_SELECT_UPDATE_HEADER").is_some() {
        return fs::write(&path, made).map_err(|error| format!("{HEADER}: {error}"));
    }
    Err(format!("{HEADER} is stale: run `CK_SELECT_UPDATE_HEADER=1 cargo build` and commit it"))
}
