//! Pages, opened in a browser and used as a person would.

use common::{Folder, root};

mod browser;
#[path = "../common/mod.rs"]
mod common;
mod evaluate;
mod explain;
mod sweep;
#[cfg(feature = "train")]
mod training;

/// A folder whose pages were made on a day of their own.
fn leap_day() -> Folder {
    Folder::inside().with("SOURCE_DATE_EPOCH", "951782400")
}

/// A page needs no network, and only its own style and script run.
fn check_alone(page: &str) {
    let (_, policy) = page.split_once("content=\"default-src 'none'; style-src 'sha256-").unwrap();
    let (policy, _) = policy.split_once('"').unwrap();
    assert!(policy.contains("'; script-src 'sha256-") && !policy.contains("unsafe"), "{policy}");
    for outside in ["http://", "https://", "src=", "<link", "@import", "url(", " style=", " onclick="] {
        assert!(!page.contains(outside), "{outside}");
    }
}

/// A file of the repository, wherever a command runs.
fn absolute(path: &str) -> String {
    root().join(path).canonicalize().unwrap().display().to_string()
}
