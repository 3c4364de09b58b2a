//! Upstream's feature engines by themselves, without a model.

use serde_json::Value;

use super::model::{describe, make_spec};
use super::{RowModelError, RowModelOptions, RowsError, Table, with_room};
use crate::features::sides;

/// What a program must know about an engine before using it; see [`describe_spec`](super::describe_spec).
/// Only some options are used: the engine, the constants of the GPU, and what absent cells do.
pub fn describe_engine(options: &RowModelOptions) -> Result<Value, RowModelError> {
    Ok(describe(&make_spec("the engine".to_owned(), b"{}".to_vec(), options)?))
}

/// The features of each row of a table, row after row. The outer error is about the options, the inner one
/// about the rows.
pub fn engine_features(
    options: &RowModelOptions,
    table: &Table<'_>,
) -> Result<Result<Vec<f64>, RowsError>, RowModelError> {
    let extractor = make_spec("the engine".to_owned(), b"{}".to_vec(), options)?.extractor;
    let width = extractor.schema.len();
    let fill = || {
        let mut features = with_room(table.len(), width)?;
        for row in 0..table.len() {
            features.resize(features.len() + width, 0.0);
            let cells = features.get_mut(row * width..).unwrap_or_default();
            let (problem, kernel) =
                sides(&extractor, &table.row(row)).map_err(|source| RowsError::Row { row, source })?;
            extractor.fill(&problem, &kernel, cells);
        }
        Ok(features)
    };
    Ok(fill())
}
