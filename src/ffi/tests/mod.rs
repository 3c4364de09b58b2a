//! The boundary from the inside: panics, and that no entry point is without its guard.

mod calls;

use std::ffi::CStr;
use std::path::Path;

use super::error::{Failure, boundary, boundary_value};
use super::*;

fn last_error() -> String {
    // SAFETY: never NULL, and alive until the next failure of this thread.
    unsafe { CStr::from_ptr(ck_last_error()) }.to_str().unwrap().to_owned()
}

#[test]
fn a_panic_becomes_a_status() {
    let status = boundary(|| panic!("on purpose, number {}", 7));
    assert_eq!((status, last_error().as_str()), (CkStatus::Panic, "panic: on purpose, number 7"));
    assert_eq!(boundary_value(3, || std::panic::panic_any(42)), 3);
    let status = boundary(|| Err(Failure::new(CkStatus::NotFound, "nul \0 inside")));
    assert_eq!((status, last_error().as_str()), (CkStatus::NotFound, "nul \\u0000 inside"));
    assert_eq!(boundary(|| Ok(())), CkStatus::Ok);
    assert_eq!(last_error(), "nul \\u0000 inside", "success leaves the message");
}

/// A kernel's name could clear the terminal of whoever printed the message.
#[test]
fn messages_are_safe_to_print() {
    boundary(|| Err(Failure::new(CkStatus::NotFound, "kernel 'a\x1b[2Jb\u{202e}c'\n\tof µ")));
    assert_eq!(last_error(), "kernel 'a\\u001b[2Jb\\u202ec'\n\tof µ");
}

/// What a panic carries, and panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        // Without a size, so that what is left behind is no leak.
        std::panic::panic_any(());
    }
}

#[test]
fn a_panic_that_panics_goes_no_further() {
    assert_eq!(boundary(|| std::panic::panic_any(Bomb)), CkStatus::Panic);
    assert_eq!(last_error(), "panic: no message");
    assert_eq!(boundary_value(3, || std::panic::panic_any(Bomb)), 3);
}

/// What C sees is made of names that the header declares.
#[test]
fn constants_of_the_header_are_numbers() {
    let header = include_str!("../../../include/ck_select.h");
    let values = header.lines().filter_map(|line| line.strip_prefix("#define ")?.split_once(' '));
    let values: Vec<_> = values.map(|(name, value)| (name, value.trim())).collect();
    assert!(values.contains(&("CK_ANY", "-1")));
    for (name, value) in values {
        assert!(value.parse::<i64>().is_ok(), "{name} is {value}");
    }
}

#[test]
fn errors_are_of_their_thread() {
    boundary(|| Err(Failure::new(CkStatus::Io, "mine")));
    std::thread::spawn(|| assert_eq!(last_error(), "")).join().unwrap();
    assert_eq!(last_error(), "mine");
}

/// Every entry point's body begins with the guard. cbindgen does not see through macros, so that only those
/// of `functions.rs` are declared by one that adds it; for the others this test does what it would.
#[test]
#[cfg_attr(miri, ignore = "reads files")]
fn every_entry_point_is_guarded() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src/ffi"));
    let paths = |folder: &Path| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, mut files): (Vec<_>, Vec<_>) = paths(folder).partition(|path| path.is_dir());
    files.extend(folders.iter().filter(|folder| !folder.ends_with("tests")).flat_map(|folder| paths(folder)));
    let (mut exported, mut all) = (0, String::new());
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        for (at, _) in text.match_indices("#[unsafe(no_mangle)]") {
            let function = &text[at..];
            let name = function.split("fn ").nth(1).unwrap().split('(').next().unwrap();
            let body = &function[function.find('{').unwrap() + 1..];
            let code =
                body.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with("//")).unwrap();
            assert!(
                code.starts_with("boundary(") || code.starts_with("boundary_value("),
                "{name} is not guarded: {code}"
            );
            exported += 1;
        }
        all += &text;
    }
    let listed = include_str!("../../../include/exports.txt").lines().filter(|line| !line.starts_with('#'));
    let spelled = listed.filter(|name| all.contains(&format!("fn {name}(")));
    assert_eq!(exported, spelled.count() + 1, "of the frozen list of what the library exports");
}

#[test]
fn statuses_and_the_version_have_their_numbers() {
    for (number, (status, _)) in super::status::STATUSES.into_iter().enumerate() {
        assert_eq!(status as usize, number);
    }
    // SAFETY: a constant text.
    let version = unsafe { CStr::from_ptr(ck_select_version()) };
    assert_eq!(version.to_str(), Ok(env!("CARGO_PKG_VERSION")));
}

#[test]
fn sources_keep_their_numbers() {
    use super::CkSource::{Estimate, Model, Override, Priority, Search, Store};
    let numbers = [Override, Store, Model, Search, Estimate, Priority].map(|source| source as i32);
    assert_eq!(
        numbers.as_slice(),
        crate::registry::Source::ALL.iter().map(|&source| source as i32).collect::<Vec<_>>()
    );
}

/// A folder's libraries are looked at, and never loaded: these cannot be.
#[test]
#[cfg_attr(miri, ignore = "reads files")]
fn a_folder_of_libraries_is_registered_by_its_manifest() {
    let folder = tempfile::tempdir().unwrap();
    let name = "grouped_conv_forward_bf16_2d_64x64x64_compv3";
    let files = [("liba.so", "\x7fELF"), ("libb.so", "text"), ("libc.so", "\x7fELF")];
    for (file, bytes) in files {
        std::fs::write(folder.path().join(file), bytes).unwrap();
    }
    let entry = |file: &str| serde_json::json!({ "file": file, "name": name, "symbol": "run", "signature": "ck_bench" });
    let manifest =
        serde_json::json!({ "kernels": [entry("liba.so"), entry("libb.so"), entry("../liba.so")] });
    std::fs::write(folder.path().join("kernels.json"), manifest.to_string()).unwrap();
    let left_out = crate::pool::Folder::read(folder.path()).unwrap().left_out;
    assert_eq!(
        left_out[..2],
        [
            "kernels[1] ('libb.so'): not a shared library".to_owned(),
            "kernels[2] ('../liba.so'): file: expected the name of a file in the folder".to_owned()
        ]
    );
    assert_eq!(left_out[2..], ["libc.so: not in kernels.json".to_owned()]);

    let path = std::ffi::CString::new(folder.path().to_str().unwrap()).unwrap();
    let (mut registry, mut added) = (std::ptr::null_mut(), 0);
    // SAFETY: a registry of this test, texts and numbers that outlive the calls.
    unsafe {
        assert_eq!(ck_registry_create(std::ptr::null(), &raw mut registry), CkStatus::Ok);
        assert_eq!(ck_registry_add_folder(registry, path.as_ptr(), &raw mut added), CkStatus::Ok);
        assert_eq!(added, 1);
        let status = ck_registry_add_folder(registry, path.as_ptr(), std::ptr::null_mut());
        assert_eq!(status, CkStatus::AlreadyRegistered);
        assert_eq!(ck_registry_add_folder(registry, c"nowhere".as_ptr(), &raw mut added), CkStatus::Io);
        assert_eq!(ck_registry_add_folder(registry, std::ptr::null(), &raw mut added), CkStatus::NullPointer);
        ck_registry_destroy(registry);
    }
    assert_eq!(added, 1, "outputs are written on success only");
}
