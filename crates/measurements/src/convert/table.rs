//! Writes parquet, with a row group per chunk.

use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Schema};
use ck_select_types::files::Pending;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use super::columns::Column;
use super::rows::Chunk;
use crate::read::DataError;

pub(super) struct Writer {
    name: String,
    file: ArrowWriter<Pending>,
    columns: Vec<Column>,
    schema: Arc<Schema>,
}

impl Writer {
    pub(super) fn create(path: &Path, columns: Vec<Column>) -> Result<Self, DataError> {
        let name = path.display().to_string();
        let schema = Arc::new(Schema::new(columns.iter().map(Column::field).collect::<Vec<_>>()));
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_statistics_enabled(EnabledStatistics::Chunk);
        // Figures rarely repeat.
        for figure in schema.fields().iter().filter(|field| *field.data_type() == DataType::Float64) {
            let path = ColumnPath::from(figure.name().as_str());
            properties = properties.set_column_dictionary_enabled(path, false);
        }
        // Arrow's own schema is omitted: with it, data frames would have categories instead of texts.
        let options =
            ArrowWriterOptions::new().with_properties(properties.build()).with_skip_arrow_metadata(true);
        let target = super::create(path)?;
        let file = ArrowWriter::try_new_with_options(target, Arc::clone(&schema), options)
            .map_err(|error| DataError::format(&name, error))?;
        Ok(Self { name, file, columns, schema })
    }
}

impl super::Writer for Writer {
    fn write(&mut self, chunk: &Chunk) -> Result<(), DataError> {
        let values = self.columns.iter().map(|column| column.values(chunk)).collect();
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), values).map_err(ParquetError::from);
        let written = batch.and_then(|batch| self.file.write(&batch)).and_then(|()| self.file.flush());
        written.map_err(|error| DataError::format(&self.name, error))
    }

    fn commit(self: Box<Self>) -> Result<(), DataError> {
        let Self { name, file, .. } = *self;
        let written = file.into_inner().map_err(|error| DataError::format(&name, error))?;
        written.commit().map_err(|error| DataError::io(&name, error))
    }
}
