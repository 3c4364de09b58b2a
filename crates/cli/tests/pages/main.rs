//! Pages, opened in a browser and used as a person would.

use std::fs;

use common::{Folder, root};

mod browser;
#[path = "../common/mod.rs"]
mod common;
mod evaluate;
mod explain;
mod running;
mod sweep;
#[cfg(feature = "train")]
mod training;

/// The names of thirty kernels.
fn kernels() -> Vec<String> {
    let names = fs::read_to_string(root().join("configs/forward_bf16.txt")).unwrap();
    names.lines().filter(|line| line.starts_with("grouped_conv")).map(str::to_owned).collect()
}

/// A folder whose pages were made on a day of their own.
fn leap_day() -> Folder {
    Folder::inside().with("SOURCE_DATE_EPOCH", "951782400")
}

/// A file of the repository, wherever a command runs.
fn absolute(path: &str) -> String {
    root().join(path).canonicalize().unwrap().display().to_string()
}
