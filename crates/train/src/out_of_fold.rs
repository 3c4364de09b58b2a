//! `oof_predictions.parquet`: predictions of rows by forests that had not seen them.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, UInt32Array};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use ck_select_measurements::convert::speed_column;
use ck_select_measurements::{Measurements, Row};

use super::error::TrainError;
use super::facts;
use super::trained::TrainedForest;

/// The valid rows with the fold that held each out, and each choosing target's prediction, in the space of
/// its training.
pub(super) fn parquet(measurements: &Measurements, trained: &[TrainedForest]) -> Result<Vec<u8>, TrainError> {
    let valid: Vec<u32> = (0u32..)
        .zip(measurements.rows())
        .filter(|(_, row)| row.is_valid && row.tflops > 0.0)
        .map(|(index, _)| index)
        .collect();
    let row = |index: &u32| &measurements.rows()[*index as usize];
    let mut columns: Vec<(String, ArrayRef)> = vec![(
        "kernel_name".to_owned(),
        Arc::new(StringArray::from_iter_values(
            valid.iter().map(|index| measurements.kernels()[row(index).kernel as usize].name.as_str()),
        )),
    )];
    // Rows of another operation have nulls.
    let problems: Vec<_> = measurements.problems().iter().map(facts::dimensions).collect();
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in problems.iter().flatten() {
        if !names.contains(name) {
            names.push(name);
        }
    }
    for name in names {
        let of = |problem: &Vec<(&str, i64)>| Some(problem.iter().find(|(known, _)| *known == name)?.1);
        let of: Vec<Option<i64>> = problems.iter().map(of).collect();
        let value = |row: &Row| {
            of[row.problem as usize].map(|value| match name {
                "split_k" => row.split_k.into(),
                _ => value,
            })
        };
        let values = valid.iter().map(|index| value(row(index)));
        columns.push((name.to_owned(), Arc::new(values.collect::<Int64Array>())));
    }
    let real = |value: fn(&Row) -> f64| -> ArrayRef {
        let values = valid.iter().map(|index| Some(value(row(index))).filter(|value| !value.is_nan()));
        Arc::new(values.collect::<Float64Array>())
    };
    columns.push((speed_column(measurements.scope().op).to_owned(), real(|row| row.tflops)));
    columns.push(("latency_ms".to_owned(), real(|row| row.latency_ms)));
    columns.push(("is_valid".to_owned(), Arc::new(BooleanArray::from(vec![true; valid.len()]))));
    for (number, one) in trained.iter().enumerate() {
        let positions: HashMap<u32, usize> =
            one.data.rows.iter().enumerate().map(|(position, &index)| (index, position)).collect();
        let at = |index: &u32| positions.get(index).copied();
        if number == 0 {
            let folds = valid.iter().map(|index| one.validation.fold_of_row[at(index)?]);
            columns.push(("fold".to_owned(), Arc::new(folds.collect::<UInt32Array>())));
        }
        let predictions = valid.iter().map(|index| one.validation.predictions[at(index)?]);
        let name = format!("oof_pred_{}", one.goal.target);
        columns.push((name, Arc::new(predictions.collect::<Float64Array>())));
    }
    write(columns).map_err(|error| TrainError::about("oof_predictions.parquet", error))
}

fn write(columns: Vec<(String, ArrayRef)>) -> Result<Vec<u8>, String> {
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, values)| (name, values, true)),
    )
    .map_err(|error| error.to_string())?;
    // The name of this tool without its version, so that the same table gives the same file.
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by("ckselect".to_owned())
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties))
        .map_err(|error| error.to_string())?;
    writer.write(&batch).and_then(|()| writer.close()).map_err(|error| error.to_string())?;
    Ok(bytes)
}
