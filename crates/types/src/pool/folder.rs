//! Folders of shared libraries with a kernel each, and the manifest that says how to call them.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::{Builder, Pool, PoolError, named};
use crate::files;
use crate::json::Strict;

/// The file that lists a folder's kernels. No library that it does not list is loaded: many export the same
/// symbol with other arguments.
const MANIFEST: &str = "kernels.json";

/// Families of functions that kernels' libraries export, as CK's tile engine builds them, and `ck_bench` for
/// those of `include/ck_select_bench.h`.
const SIGNATURES: [&str; 13] = [
    "ck_bench", "gemm", "grouped_gemm", "multi_d_gemm", "multi_abd", "batched_gemm", "batched_contraction",
    "mx_gemm", "abquant_gemm", "aquant_gemm", "bquant_gemm", "rowcolquant_gemm", "tensorquant_gemm",
];

/// A kernel's library, and how to call it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderKernel {
    /// The kernel's name.
    pub name: String,
    /// The shared library.
    pub file: PathBuf,
    /// The function that runs it.
    pub symbol: String,
    /// The family of the function's arguments.
    pub signature: &'static str,
}

/// A folder of kernels.
#[derive(Debug)]
pub struct Folder {
    /// The kernels, in the manifest's order.
    pub pool: Pool,
    /// How to call them, in the same order.
    pub kernels: Vec<FolderKernel>,
    /// Files and entries that are none of them, each with the reason.
    pub left_out: Vec<String>,
}

impl Folder {
    /// Whether there is a manifest.
    pub fn is_at(path: &Path) -> bool {
        path.join(MANIFEST).exists()
    }

    /// Reads a folder's manifest and looks at its libraries; none is loaded. Entries are objects with `file`,
    /// `symbol` and `signature`; `name` is the kernel's, by default the file's without `lib` and `.so`.
    pub fn read(path: &Path) -> Result<Self, PoolError> {
        let manifest = path.join(MANIFEST);
        let label = manifest.display().to_string();
        let unreadable = |error| PoolError::unreadable(&error).file(&label);
        let text = files::read(&manifest).map_err(unreadable)?;
        let syntax = |error: serde_json::Error| PoolError::new(error).file(&label);
        let Strict(document) = serde_json::from_slice(&text).map_err(syntax)?;
        let Some(entries) = document.get("kernels").and_then(Value::as_array) else {
            return Err(PoolError::value("none", "a list").within("kernels").file(&label));
        };
        let (mut builder, mut kernels, mut left_out, mut listed) =
            (Builder::default(), Vec::new(), Vec::new(), Vec::new());
        for (number, entry) in entries.iter().enumerate() {
            let none = Map::new();
            let file = entry.get("file").and_then(Value::as_str).unwrap_or_default();
            listed.push(file);
            let read = entry_of(path, entry.as_object().unwrap_or(&none)).and_then(|kernel| {
                let described = named(&kernel.name).map_err(|error| error.to_string())?;
                builder.push(described).map_err(|error| error.to_string())?;
                Ok(kernel)
            });
            match read {
                Ok(kernel) => kernels.push(kernel),
                Err(reason) => left_out.push(format!("kernels[{number}] ('{file}'): {reason}")),
            }
        }
        let mut others: Vec<String> = fs::read_dir(path)
            .map_err(unreadable)?
            .filter_map(|file| file.ok()?.file_name().into_string().ok())
            .filter(|name| Path::new(name).extension().is_some_and(|ending| ending == "so"))
            .filter(|name| !listed.contains(&name.as_str()))
            .map(|name| format!("{name}: not in {MANIFEST}"))
            .collect();
        others.sort();
        left_out.extend(others);
        let pool = builder.finish().map_err(|error| error.file(&label))?;
        Ok(Self { pool, kernels, left_out })
    }
}

fn entry_of(folder: &Path, entry: &Map<String, Value>) -> Result<FolderKernel, String> {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    if let Some(other) =
        entry.keys().find(|key| !["file", "name", "symbol", "signature"].contains(&key.as_str()))
    {
        return Err(format!("unknown key '{other}'"));
    }
    let file = text("file")
        .filter(|file| !file.contains('/'))
        .ok_or("file: expected the name of a file in the folder")?;
    let symbol = text("symbol").ok_or("symbol: expected the name of a function")?;
    let signature = SIGNATURES.into_iter().find(|known| Some(*known) == text("signature"));
    let signature =
        signature.ok_or_else(|| format!("signature: expected one of {}", SIGNATURES.join(", ")))?;
    let stem = file.strip_suffix(".so").unwrap_or(file);
    let name = text("name").unwrap_or(stem.strip_prefix("lib").unwrap_or(stem));
    let path = folder.join(file);
    let mut start = [0; 4];
    files::open(&path).and_then(|mut file| file.read_exact(&mut start)).map_err(|error| error.to_string())?;
    if start != *b"\x7fELF" {
        return Err("not a shared library".to_owned());
    }
    Ok(FolderKernel { name: name.to_owned(), file: path, symbol: symbol.to_owned(), signature })
}
