//! How the rows were measured: the sidecars of all files, which the table's own sidecar holds as parts, as
//! that of merged logs does.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use ck_select_types::files::Pending;
use serde_json::{Value, json};

use super::is_standard_output;
use crate::read::{DataError, SourceFile};
use crate::sidecar::{Part, Sidecar};

/// The value of `format` in the table's sidecar.
const FORMAT: &str = "ck-select-convert";

/// The sidecar of each file; null if it has none.
pub(super) struct Origins(Vec<Value>);

impl Origins {
    /// Reads them.
    pub(super) fn read(files: &[PathBuf]) -> Result<Self, DataError> {
        let meta = |file: &PathBuf| Ok(Sidecar::meta_beside(file)?.unwrap_or_default());
        files.iter().map(meta).collect::<Result<_, _>>().map(Self)
    }

    /// Writes them beside the table, also in the place of a sidecar that belonged to what the table replaces,
    /// for the caller to commit. Streams have none.
    pub(super) fn write(&self, reports: &[SourceFile], output: &Path) -> Result<Option<Pending>, DataError> {
        let path = Sidecar::meta_of(output);
        let is_file = !is_standard_output(output) && (output.is_file() || !output.exists());
        if !is_file || (self.0.iter().all(Value::is_null) && !path.exists()) {
            return Ok(None);
        }
        let rows: usize = reports.iter().map(|report| report.rows).sum();
        let part = |(report, meta): (&SourceFile, &Value)| {
            let name = report.path.file_name().unwrap_or(report.path.as_os_str());
            Part { file: name.to_string_lossy().into_owned(), rows: Some(report.rows), meta: meta.clone() }
        };
        let parts: Vec<Part<Value>> = reports.iter().zip(&self.0).map(part).collect();
        let meta = json!({ "format": FORMAT, "version": 1, "rows": rows, "parts": parts });
        let failed = |error: io::Error| DataError::io(path.display(), error);
        let mut pending = Pending::create(&path).map_err(failed)?;
        pending.write_all(format!("{meta:#}\n").as_bytes()).map_err(failed)?;
        Ok(Some(pending))
    }
}
