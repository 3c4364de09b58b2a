//! How the rows were measured: the sidecars of all files, which the table's own sidecar holds as parts, as that of
//! merged logs does.

use std::io;
use std::path::{Path, PathBuf};

use ck_select_types::files;
use ck_select_types::vocab::Arch;
use serde_json::{Value, json};

use super::FileReport;
use crate::measurements::DataError;
use crate::survey::{Sidecar, archs_of};

/// The value of `format` in the table's sidecar.
const FORMAT: &str = "ck-select-convert";

/// The sidecar of each file; null if it has none.
pub(super) struct Origins(Vec<Value>);

impl Origins {
    /// Reads them. Refuses a file that was measured on another architecture than the one that the table would
    /// record.
    pub(super) fn read(files: &[PathBuf], arch: Option<Arch>) -> Result<Self, DataError> {
        let mut origins = Vec::new();
        for file in files {
            let meta = Sidecar::meta_beside(file)?.unwrap_or_default();
            let archs = archs_of(&meta);
            if let Some(arch) = arch
                && !archs.is_empty()
                && !archs.contains(&arch)
            {
                let found = archs.iter().map(Arch::to_string).collect::<Vec<_>>().join(", ");
                return Err(DataError::Format {
                    file: file.display().to_string(),
                    message: format!("measured on {found}, according to its .meta.json, found --arch {arch}"),
                });
            }
            origins.push(meta);
        }
        Ok(Self(origins))
    }

    /// Writes them beside the table, also in the place of a sidecar that belonged to what the table replaces.
    /// Streams have none.
    pub(super) fn write(self, reports: &[FileReport], output: &Path) -> Result<(), DataError> {
        let path = Sidecar::meta_of(output);
        if !output.is_file() || (self.0.iter().all(Value::is_null) && !path.exists()) {
            return Ok(());
        }
        let rows: usize = reports.iter().map(|report| report.rows).sum();
        let part = |(report, meta): (&FileReport, Value)| {
            let name = report.path.file_name().unwrap_or(report.path.as_os_str());
            json!({ "file": name.to_string_lossy(), "rows": report.rows, "meta": meta })
        };
        let parts: Vec<Value> = reports.iter().zip(self.0).map(part).collect();
        let meta = json!({ "format": FORMAT, "version": 1, "rows": rows, "parts": parts });
        let failed = |error: io::Error| DataError::io(&path.display().to_string(), error);
        files::write(&path, format!("{meta:#}\n").as_bytes()).map_err(failed)
    }
}
