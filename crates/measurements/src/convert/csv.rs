//! Writes benchmark CSVs.

use std::borrow::Cow;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use ck_select_types::files::Pending;
use ck_select_types::vocab::Op;

use super::columns::{Column, ColumnSource};
use super::rows::Chunk;
use super::schema::{self, InputColumns};
use crate::read::DataError;

pub(super) struct Writer {
    name: String,
    file: csv::Writer<Pending>,
    columns: Vec<Column>,
}

impl Writer {
    pub(super) fn create(path: &Path, op: Op, inputs: &InputColumns) -> Result<Self, DataError> {
        let name = if super::is_standard_output(path) {
            "standard output".to_owned()
        } else {
            path.display().to_string()
        };
        let file = csv::Writer::from_writer(super::create(path)?);
        let mut writer = Self { name, file, columns: columns(op, inputs) };
        let header: Vec<&str> = writer.columns.iter().map(|column| column.name).collect();
        writer.file.write_record(header).map_err(|error| DataError::io(&writer.name, error.into()))?;
        Ok(writer)
    }
}

impl super::Writer for Writer {
    fn write(&mut self, chunk: &Chunk) -> Result<(), DataError> {
        let values: Vec<ArrayRef> = self.columns.iter().map(|column| column.values(chunk)).collect();
        for row in 0..chunk.len() {
            let cells =
                self.columns.iter().zip(&values).map(|(column, values)| cell(column.name, values, row));
            let written = self.file.write_record(cells);
            written.map_err(|error| DataError::io(&self.name, error.into()))?;
        }
        Ok(())
    }

    fn commit(self: Box<Self>) -> Result<(), DataError> {
        let written = self.file.into_inner().map_err(csv::IntoInnerError::into_error);
        written.and_then(Pending::commit).map_err(|error| DataError::io(&self.name, error))
    }
}

fn columns(op: Op, inputs: &InputColumns) -> Vec<Column> {
    let mut columns = schema::of_benchmark(op);
    // Without a column for it, figures say that a row is invalid.
    if !columns.iter().any(|column| column.name == "is_valid") {
        for column in &mut columns {
            column.source = match column.name {
                "latency_ms" => ColumnSource::FigureOr(|figures| figures.latency_ms, f64::NAN),
                "tflops" => ColumnSource::FigureOr(|figures| figures.tflops, 0.0),
                _ => column.source,
            };
        }
    }
    columns.extend(schema::more(op, inputs));
    columns
}

fn cell<'a>(column: &str, values: &'a ArrayRef, row: usize) -> Cow<'a, [u8]> {
    if values.is_null(row) {
        return Cow::Borrowed(if column == "latency_ms" { b"N/A" } else { b"" });
    }
    let text = match values.data_type() {
        DataType::Int64 => values.as_primitive::<Int64Type>().value(row).to_string(),
        // Debug prints the shortest digits that parse back to the same bits.
        DataType::Float64 => format!("{:?}", values.as_primitive::<Float64Type>().value(row)),
        DataType::Boolean => values.as_boolean().value(row).to_string(),
        _ => {
            let texts = values.as_dictionary::<Int32Type>();
            let text = texts.values().as_string::<i32>().value(texts.keys().value(row) as usize);
            return Cow::Borrowed(text.as_bytes());
        }
    };
    Cow::Owned(text.into_bytes())
}
