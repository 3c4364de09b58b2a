//! Enumerated kernels as JSON, for CK's tools and for [`Pool`](ck_select_types::pool::Pool).

use ck_select_types::kernel::Kernel;
use ck_select_types::pool::config_json;
use serde::Serialize;

#[derive(Serialize)]
struct Document<'a, K> {
    metadata: Metadata<'a>,
    kernels: Vec<K>,
}

#[derive(Serialize)]
struct Metadata<'a> {
    config_file: &'a str,
    arch: &'a str,
    count: usize,
}

/// The export that upstream's builder writes, indented by two blanks, with a final line end.
///
/// Convolutions are written as upstream's Python configurations, which leave four flags to the name. Upstream
/// has no such file for GEMMs, which are written as the export of a CK registry.
pub fn to_json(kernels: &[Kernel], config_file: &str, arch: &str) -> serde_json::Result<String> {
    let metadata = Metadata { config_file, arch, count: kernels.len() };
    let kernels: Vec<_> = kernels.iter().map(config_json).collect();
    Ok(serde_json::to_string_pretty(&Document { metadata, kernels })? + "\n")
}

/// The names, one per line.
pub fn to_text(kernels: &[Kernel]) -> String {
    kernels.iter().flat_map(|kernel| [kernel.name.as_str(), "\n"]).collect()
}
