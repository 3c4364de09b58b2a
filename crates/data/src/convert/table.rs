//! Writes parquet, with a row group per chunk.

use std::path::Path;
use std::sync::Arc;

use arrow_schema::Schema;
use ck_select_types::files::Pending;
use parquet::arrow::ArrowSchemaConverter;
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedFileWriter;
use rayon::prelude::*;

use super::chunk::Chunk;
use super::columns::Column;
use super::pages::{ColumnChunk, encode};
use crate::measurements::DataError;

pub(super) struct Writer {
    name: String,
    file: SerializedFileWriter<Pending>,
    columns: Vec<Column>,
}

impl Writer {
    pub(super) fn create(path: &Path, columns: Vec<Column>) -> Result<Self, DataError> {
        let name = path.display().to_string();
        let schema = Schema::new(columns.iter().map(Column::field).collect::<Vec<_>>());
        // Arrow's own schema is omitted: with it, data frames would have categories instead of texts.
        let target = super::create(path)?;
        let file = ArrowSchemaConverter::new()
            .convert(&schema)
            .and_then(|schema| SerializedFileWriter::new(target, schema.root_schema_ptr(), Arc::default()))
            .map_err(|error| DataError::format(&name, error))?;
        Ok(Self { name, file, columns })
    }

    pub(super) fn write(&mut self, chunk: &Chunk) -> Result<(), DataError> {
        if chunk.len() == 0 {
            return Ok(());
        }
        self.group(chunk).map_err(|error| DataError::format(&self.name, error))
    }

    fn group(&mut self, chunk: &Chunk) -> Result<(), ParquetError> {
        let schema = self.file.schema_descr();
        let encoded: Vec<ColumnChunk> = self
            .columns
            .par_iter()
            .zip(schema.columns())
            .map(|(column, description)| encode(&column.content(chunk), Arc::clone(description)))
            .collect::<Result<_, _>>()?;
        let mut group = self.file.next_row_group()?;
        for ColumnChunk { bytes, close } in encoded {
            group.append_column(&bytes, close)?;
        }
        group.close()?;
        Ok(())
    }

    pub(super) fn commit(self) -> Result<(), DataError> {
        let Self { name, file, .. } = self;
        let written = file.into_inner().map_err(|error| DataError::format(&name, error))?;
        written.commit().map_err(|error| DataError::io(&name, error))
    }
}
