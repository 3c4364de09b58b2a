//! Gives the shared library its soname and its embedded models.

#[path = "src/packed/embed.rs"]
mod embed;
#[path = "src/packed/mod.rs"]
#[allow(unreachable_pub)] // the library shows it, too
mod pack;

use std::path::Path;
use std::{env, fs, process};

fn main() {
    println!("cargo::rerun-if-changed=src/packed");
    println!("cargo::rerun-if-changed=models");
    if let Err(message) = embed_models() {
        println!("cargo::error={message}");
        process::exit(1);
    }
    let os = env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if os == "linux" {
        // The number is CK_SELECT_ABI_VERSION's; a test compares them. Not `rustc-link-arg-cdylib`, which
        // cargo also passes to shared libraries that depend on this one; executables take no notice of a
        // soname.
        println!("cargo::rustc-link-arg=-Wl,-soname,libck_select.so.1");
        // Threads may be inside the library when a program closes it, and destructors of threads come later.
        println!("cargo::rustc-link-arg=-Wl,-z,nodelete");
        link_to_library();
    }
}

/// Programs look the library up by its soname, of which cargo makes no file: a link beside the library, so that they start without
/// `make install`. Where it cannot be made, `make install` remains.
fn link_to_library() {
    // OUT_DIR is PROFILE/build/PACKAGE/out.
    let out = env::var_os("OUT_DIR").map(std::path::PathBuf::from);
    if let Some(folder) = out.as_deref().and_then(|out| out.ancestors().nth(3)) {
        #[cfg(unix)]
        let _ = std::os::unix::fs::symlink("libck_select.so", folder.join("libck_select.so.1"));
        #[cfg(not(unix))]
        let _ = folder;
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
