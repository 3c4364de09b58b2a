//! Decodes tables batch by batch, so that only one is in memory, regardless of the size of row groups.

use std::fmt::Display;
use std::fs::File;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use bytes::Bytes;
use ck_select_types::panics;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{ChunkReader, Length};

use super::super::DataError;
use super::values::Column;

/// Rows of a batch. Our own row groups consist of whole batches.
const BATCH: usize = 1 << 14;

/// A table whose columns are known.
pub(super) struct Batches<'a> {
    /// The table's name in errors.
    name: &'a str,
    file: BoundedFile,
    metadata: ArrowReaderMetadata,
}

impl<'a> Batches<'a> {
    pub(super) fn open(name: &'a str, file: File) -> Result<Self, DataError> {
        let length = file.metadata().map_err(|error| DataError::io(name, error))?.len();
        let file = BoundedFile { file: Arc::new(file), length };
        let metadata = guarded(|| {
            let stored = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new())?;
            let options = ArrowReaderOptions::new().with_schema(with_dictionaries(stored.schema()));
            ArrowReaderMetadata::try_new(Arc::clone(stored.metadata()), options)
        });
        let metadata = metadata.map_err(|error| DataError::format(name, error))?;
        let groups = metadata.metadata().row_groups().iter().map(RowGroupMetaData::num_rows);
        let rows = groups.map(|rows| i128::from(rows.max(0))).sum::<i128>();
        let said = metadata.metadata().file_metadata().num_rows();
        if rows != i128::from(said) {
            let message = format!("damaged: the row groups have {rows} rows, the file says {said}");
            return Err(DataError::format(name, message));
        }
        Ok(Self { name, file, metadata })
    }

    /// The names of all columns.
    pub(super) fn columns(&self) -> Vec<String> {
        self.metadata.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// How many rows there are.
    pub(super) fn rows(&self) -> i64 {
        self.metadata.metadata().file_metadata().num_rows()
    }

    /// Calls `take` with some columns and their number of rows, batch by batch.
    pub(super) fn read(
        &self,
        columns: &[usize],
        mut take: impl FnMut(&[Column], usize) -> Result<(), DataError>,
    ) -> Result<(), DataError> {
        let reader = guarded(|| self.reader(columns.iter().copied()));
        let mut reader = reader.map_err(|error| DataError::format(self.name, error))?;
        let mut read = 0;
        loop {
            let batch =
                guarded(|| Ok(reader.next().transpose()?)).map_err(|error| self.in_groups(read, error))?;
            let Some(batch) = batch else { break };
            let columns = columns_of(&batch).map_err(|error| self.in_groups(read, error))?;
            take(&columns, batch.num_rows())?;
            read += batch.num_rows() as u64;
        }
        if i128::from(read) == i128::from(self.rows()) || columns.is_empty() {
            return Ok(());
        }
        Err(self.in_groups(read, format_args!("damaged: {read} rows are left of {}", self.rows())))
    }

    /// An error of the batch at a row, with the row groups that contain it.
    fn in_groups(&self, row: u64, error: impl Display) -> DataError {
        let groups = self.metadata.metadata().row_groups();
        let mut end = 0;
        let mut held = Vec::new();
        for (number, group) in (1..).zip(groups) {
            let begin = end;
            end += group.num_rows().max(0) as u64;
            if begin < row + BATCH as u64 && end > row {
                held.push(number);
            }
        }
        let position = match (held.first(), held.last()) {
            (Some(first), Some(last)) if first == last => format!("row group {first} of {}", groups.len()),
            (Some(first), Some(last)) => format!("row groups {first} to {last} of {}", groups.len()),
            _ => "behind the last row group".to_owned(),
        };
        DataError::format(self.name, format_args!("{position}: {error}"))
    }

    fn reader(
        &self,
        columns: impl IntoIterator<Item = usize>,
    ) -> Result<ParquetRecordBatchReader, ParquetError> {
        let builder =
            ParquetRecordBatchReaderBuilder::new_with_metadata(self.file.clone(), self.metadata.clone());
        let mask = ProjectionMask::roots(builder.parquet_schema(), columns);
        builder.with_projection(mask).with_batch_size(BATCH).build()
    }
}

/// The columns of a batch, in order.
fn columns_of(batch: &RecordBatch) -> Result<Vec<Column>, String> {
    let schema = batch.schema();
    let columns = batch.columns().iter().zip(schema.fields());
    let column = |(array, field): (&ArrayRef, &Arc<Field>)| {
        Column::new(array).map_err(|error| format!("{}: {error}", field.name()))
    };
    columns.map(column).collect()
}

/// The schema with all texts as dictionaries, so that each distinct text is handled once per batch, and with other
/// dictionaries as plain values.
fn with_dictionaries(schema: &Schema) -> Arc<Schema> {
    let fields = schema.fields().iter().map(|field| {
        let kind = match field.data_type() {
            DataType::Dictionary(_, value) => value.as_ref(),
            other => other,
        };
        let kind = match kind {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
                DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
            }
            other => other.clone(),
        };
        Arc::new(Field::new(field.name(), kind, field.is_nullable()))
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// A file that is never read beyond its end.
#[derive(Clone)]
struct BoundedFile {
    file: Arc<File>,
    length: u64,
}

impl Length for BoundedFile {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for BoundedFile {
    type T = <File as ChunkReader>::T;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        self.file.get_read(start)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        // The sizes in a damaged file must not determine how much memory is allocated.
        if start.checked_add(length as u64).is_none_or(|end| end > self.length) {
            let message = format!("{length} bytes at {start} of a file of {}", self.length);
            return Err(ParquetError::EOF(message));
        }
        self.file.get_bytes(start, length)
    }
}

/// Runs code of the parquet reader, which panics on some damaged files. A panic in it becomes an error; what
/// was being read must no longer be used.
fn guarded<T>(body: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, ParquetError> {
    panics::catch(body).unwrap_or_else(|panicked| {
        let message = panicked.message.as_deref().unwrap_or("the reader gave up");
        Err(ParquetError::General(format!("damaged: {message}")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_with_its_message() {
        assert_eq!(guarded(|| Ok(7)).unwrap(), 7);
        let missing: Option<u8> = None;
        let message = guarded(|| Ok([1, 2][missing.map_or(5, usize::from)])).unwrap_err().to_string();
        assert!(message.contains("damaged: index out of bounds"), "{message}");
    }
}
