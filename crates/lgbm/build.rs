//! Names the shared library as programs look for it, and keeps what its dependencies export out of it.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        let major = env!("CARGO_PKG_VERSION_MAJOR");
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libck_select_lgbm.so.{major}");
        // `ck_select` is for C as well. Its own functions belong in its own library, or a program that links
        // both would find each of them twice.
        println!("cargo:rustc-cdylib-link-arg=-Wl,--exclude-libs,ALL");
    }
}
