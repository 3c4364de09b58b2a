//! Writing parquet, a row group a chunk.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow::datatypes::Schema;
use ck_select::kernel::Kernel;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, ArrowWriterOptions, compute_leaves,
};
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use rayon::prelude::*;

use super::atomic::Pending;
use super::chunk::Chunk;
use super::columns::Column;
use crate::measurements::DataError;

pub(super) struct Writer {
    pending: Pending,
    name: String,
    file: SerializedFileWriter<File>,
    factory: ArrowRowGroupWriterFactory,
    columns: Vec<Column>,
    kernels: Vec<Kernel>,
    groups: usize,
}

impl Writer {
    pub(super) fn create(path: &Path, columns: Vec<Column>) -> Result<Self, DataError> {
        let pending = Pending::create(path)?;
        let name = pending.name();
        let schema = Arc::new(Schema::new(columns.iter().map(Column::field).collect::<Vec<_>>()));
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        // Without arrow's own schema a data frame has plain columns of text, where with it would have categories.
        let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
        let (writer, factory) = ArrowWriter::try_new_with_options(pending.file()?, schema, options)
            .and_then(ArrowWriter::into_serialized_writer)
            .map_err(|error| DataError::format(&name, error))?;
        Ok(Self { pending, name, file: writer, factory, columns, kernels: Vec::new(), groups: 0 })
    }

    pub(super) fn write(&mut self, mut chunk: Chunk) -> Result<(), DataError> {
        self.kernels.append(&mut chunk.new_kernels);
        if chunk.rows.is_empty() {
            return Ok(());
        }
        self.group(&chunk).map_err(|error| DataError::format(&self.name, error))
    }

    fn group(&mut self, chunk: &Chunk) -> Result<(), ParquetError> {
        let writers = self.factory.create_column_writers(self.groups)?;
        self.groups += 1;
        let kernels = &self.kernels;
        let encoded: Vec<ArrowColumnChunk> = self
            .columns
            .par_iter_mut()
            .zip(writers)
            .map(|(column, writer)| encode(column, writer, chunk, kernels))
            .collect::<Result<_, _>>()?;
        let mut group = self.file.next_row_group()?;
        for column in encoded {
            column.append_to_row_group(&mut group)?;
        }
        group.close()?;
        Ok(())
    }

    pub(super) fn commit(self) -> Result<(), DataError> {
        let Self { pending, name, file: writer, .. } = self;
        writer.close().map_err(|error| DataError::format(&name, error))?;
        pending.commit()
    }
}

fn encode(
    column: &mut Column,
    mut writer: ArrowColumnWriter,
    chunk: &Chunk,
    kernels: &[Kernel],
) -> Result<ArrowColumnChunk, ParquetError> {
    let field = column.field();
    for leaf in compute_leaves(&field, &column.array(chunk, kernels))? {
        writer.write(&leaf)?;
    }
    writer.close()
}
