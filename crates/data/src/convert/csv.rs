//! Writes benchmark CSVs.

use std::io::{BufWriter, Write};
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use ck_select_types::files::Pending;
use ck_select_types::vocab::Op;

use super::chunk::Chunk;
use super::columns::{Column, Source};
use super::schema::{self, Extras};
use crate::measurements::DataError;

pub(super) struct Writer {
    name: String,
    file: BufWriter<Pending>,
    columns: Vec<Column>,
}

impl Writer {
    pub(super) fn create(path: &Path, op: Op, extras: &Extras) -> Result<Self, DataError> {
        let name = if super::is_standard_output(path) {
            "standard output".to_owned()
        } else {
            path.display().to_string()
        };
        let mut file = BufWriter::with_capacity(1 << 16, super::create(path)?);
        let columns = columns(op, extras);
        // Only GEMMs are named as in the table.
        let heading = |column: &Column| match column.name {
            "kernel_name" if op != Op::Gemm => "kernel",
            name => name,
        };
        let header = columns.iter().map(heading).collect::<Vec<_>>().join(",");
        writeln!(file, "{header}").map_err(|error| DataError::io(&name, error))?;
        Ok(Self { name, file, columns })
    }

    pub(super) fn write(&mut self, chunk: &Chunk) -> Result<(), DataError> {
        self.rows(chunk).map_err(|error| DataError::io(&self.name, error))
    }

    fn rows(&mut self, chunk: &Chunk) -> std::io::Result<()> {
        let values: Vec<ArrayRef> = self.columns.iter().map(|column| column.values(chunk)).collect();
        for row in 0..chunk.len() {
            for (place, (column, values)) in self.columns.iter().zip(&values).enumerate() {
                self.file.write_all(if place == 0 { b"" } else { b"," })?;
                write_cell(&mut self.file, column.name, values, row)?;
            }
            writeln!(self.file)?;
        }
        Ok(())
    }

    pub(super) fn commit(self) -> Result<(), DataError> {
        let written = self.file.into_inner().map_err(std::io::IntoInnerError::into_error);
        written.and_then(Pending::commit).map_err(|error| DataError::io(&self.name, error))
    }
}

fn columns(op: Op, extras: &Extras) -> Vec<Column> {
    let mut names = schema::of_benchmark(op);
    names.extend(schema::more(op, extras).iter().map(|column| column.name));
    let mut table = schema::columns(op, extras);
    let mut column = |name: &str| {
        let mut column = table.swap_remove(table.iter().position(|column| column.name == name)?);
        if op == Op::Conv {
            column.source = match name {
                "latency_ms" => Source::FigureOr(|figures| figures.latency_ms, f64::NAN),
                "tflops" => Source::FigureOr(|figures| figures.tflops, 0.0),
                _ => column.source,
            };
        }
        Some(column)
    };
    names.into_iter().filter_map(&mut column).collect()
}

fn write_cell(out: &mut impl Write, column: &str, values: &ArrayRef, row: usize) -> std::io::Result<()> {
    if values.is_null(row) {
        return out.write_all(if column == "latency_ms" { b"N/A" } else { b"" });
    }
    match values.data_type() {
        DataType::Int64 => write!(out, "{}", values.as_primitive::<Int64Type>().value(row)),
        // Debug prints the shortest digits that parse back to the same bits.
        DataType::Float64 => write!(out, "{:?}", values.as_primitive::<Float64Type>().value(row)),
        DataType::Boolean => write!(out, "{}", values.as_boolean().value(row)),
        _ => {
            let texts = values.as_dictionary::<Int32Type>();
            let text = texts.values().as_string::<i32>().value(texts.keys().value(row) as usize);
            out.write_all(text.as_bytes())
        }
    }
}
