//! Upstream's feature engines by themselves, without a model.

use serde_json::Value;

use super::entrance::Entrance;
use super::model::{describe, make_spec};
use super::{EngineChoice, RowModelError, RowModelOptions, RowsError, with_room};
use crate::cells::Fields;
use crate::features::Extractor;

/// A description of an engine, for programs that use it; see [`describe_spec`](super::describe_spec). Only some
/// options are used: the engine, the constants of the GPU, and what absent cells do.
pub fn describe_engine(options: &RowModelOptions) -> Result<Value, RowModelError> {
    Ok(describe(&make_spec("the engine".to_owned(), b"{}", options)?))
}

/// The features of rows, row after row. The outer error is about the options, the inner one about the rows.
pub fn engine_features(
    options: &RowModelOptions,
    rows: impl ExactSizeIterator<Item = impl Fields>,
) -> Result<Result<Vec<f64>, RowsError>, RowModelError> {
    let mut extractor = match options.engine {
        EngineChoice::Named(engine) => Extractor::for_engine(engine),
        _ => make_spec("the engine".to_owned(), b"{}", options)?.extractor,
    };
    extractor.rules.uncoded = options.uncoded.unwrap_or(extractor.rules.uncoded);
    extractor.hardware =
        extractor.hardware.overridden_by(&options.hardware).map_err(RowModelError::Hardware)?;
    let (width, entrance) = (extractor.schema.len(), Entrance::new(&extractor));
    let fill = || {
        let mut features = with_room(rows.len(), width)?;
        features.resize(rows.len() * width, 0.0);
        for ((row, cells), features) in rows.enumerate().zip(features.chunks_exact_mut(width.max(1))) {
            let filled = entrance.fill_for(&cells, &extractor.hardware, |_| Ok(()), features);
            filled.map_err(|source| RowsError::Row { row, source })?;
        }
        Ok(features)
    };
    Ok(fill())
}
