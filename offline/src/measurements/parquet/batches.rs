//! Tables decoded on several threads.
//!
//! Decoding is most of the time that a table takes. Every thread decodes some of the columns, a batch ahead of the thread
//! that takes the rows, so that the order stays and only a few batches are in memory, however large row groups are.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, Schema};
use arrow::error::ArrowError;
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::statistics::Statistics;

/// Rows of a batch: few enough that a batch of all columns stays in a cache. Row groups of our own are whole batches.
const BATCH: usize = 1 << 14;
/// More threads would wait for the one that takes the rows.
const MOST_THREADS: usize = 4;

/// A table whose columns are known.
pub(super) struct Table {
    file: Arc<File>,
    metadata: ArrowReaderMetadata,
}

impl Table {
    pub(super) fn open(file: File) -> Result<Self, ParquetError> {
        let file = Arc::new(file);
        let reader = At(Arc::clone(&file));
        let stored = ArrowReaderMetadata::load(&reader, ArrowReaderOptions::new())?;
        let options = ArrowReaderOptions::new().with_schema(with_dictionaries(stored.schema()));
        let metadata = ArrowReaderMetadata::try_new(Arc::clone(stored.metadata()), options)?;
        Ok(Self { file, metadata })
    }

    /// The names of all columns.
    pub(super) fn columns(&self) -> impl Iterator<Item = &str> {
        self.metadata.schema().fields().iter().map(|field| field.name().as_str())
    }

    /// How many rows there are.
    pub(super) fn rows(&self) -> i64 {
        self.metadata.metadata().file_metadata().num_rows()
    }

    /// The value that a column of whole numbers has in every row, as the row groups' least and greatest values say: such a
    /// column need not be read. Tables repeat the hardware's constants, and whatever their sweep did not vary, in every row.
    pub(super) fn constant(&self, column: &str) -> Option<i64> {
        if *self.metadata.schema().field_with_name(column).ok()?.data_type() != DataType::Int64 {
            return None;
        }
        let leaves = self.metadata.parquet_schema().columns();
        let leaf = leaves.iter().position(|leaf| matches!(leaf.path().parts(), [name] if name == column))?;
        let of_group = |group: &RowGroupMetaData| match group.column(leaf).statistics()? {
            Statistics::Int64(values) if values.null_count_opt() == Some(0) => {
                values.min_opt().filter(|least| values.max_opt() == Some(least)).copied()
            }
            _ => None,
        };
        let mut groups = self.metadata.metadata().row_groups().iter().map(of_group);
        let first = groups.next()??;
        groups.all(|value| value == Some(first)).then_some(first)
    }

    /// Calls `take` with the columns that are used, batch by batch: each batch in parts, which the decoding threads have
    /// made of some columns with `prepare`.
    pub(super) fn read<P: Send, E: From<ParquetError>>(
        &self,
        is_used: impl Fn(&str) -> bool,
        prepare: impl Fn(&RecordBatch) -> P + Sync,
        mut take: impl FnMut(Vec<P>) -> Result<(), E>,
    ) -> Result<(), E> {
        let used: Vec<usize> =
            self.columns().enumerate().filter(|(_, name)| is_used(name)).map(|(column, _)| column).collect();
        // One core is for the thread that takes the rows.
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let threads = cores.saturating_sub(1).clamp(1, MOST_THREADS);
        let readers = (0..threads.min(used.len()))
            // Columns that are alike stand side by side, so each thread gets some of every kind.
            .map(|thread| self.reader(used.iter().copied().skip(thread).step_by(threads)))
            .collect::<Result<Vec<_>, _>>()?;
        let prepare = &prepare;
        thread::scope(|scope| {
            let parts: Vec<Receiver<_>> = readers
                .into_iter()
                .map(|reader| {
                    let (sender, receiver) = sync_channel(1);
                    scope.spawn(move || {
                        for batch in reader {
                            // The receiver goes when the rows are not wanted any more.
                            if sender.send(batch.map(|batch| prepare(&batch))).is_err() {
                                break;
                            }
                        }
                    });
                    receiver
                })
                .collect();
            while let Some(batch) = joined(&parts)? {
                take(batch)?;
            }
            Ok(())
        })
    }

    fn reader(
        &self,
        columns: impl IntoIterator<Item = usize>,
    ) -> Result<ParquetRecordBatchReader, ParquetError> {
        let reader = At(Arc::clone(&self.file));
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(reader, self.metadata.clone());
        let mask = ProjectionMask::roots(builder.parquet_schema(), columns);
        builder.with_projection(mask).with_batch_size(BATCH).build()
    }
}

/// The next batch's parts; `None` at the end.
fn joined<P>(parts: &[Receiver<Result<P, ArrowError>>]) -> Result<Option<Vec<P>>, ParquetError> {
    let mut batch = Vec::with_capacity(parts.len());
    for part in parts {
        let Ok(part) = part.recv() else { return Ok(None) };
        batch.push(part?);
    }
    Ok((!batch.is_empty()).then_some(batch))
}

/// The same schema with texts as dictionaries, so that each distinct text is looked at once a batch.
fn with_dictionaries(schema: &Schema) -> Arc<Schema> {
    let fields = schema.fields().iter().map(|field| {
        let text = match field.data_type() {
            DataType::Dictionary(_, value) => value.as_ref(),
            other => other,
        };
        match text {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
                let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
                Arc::new(Field::new(field.name(), dictionary, field.is_nullable()))
            }
            _ => Arc::clone(field),
        }
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// A file that is read at places: threads that shared a handle's own position would move it for each other.
struct At(Arc<File>);

impl Length for At {
    fn len(&self) -> u64 {
        self.0.metadata().map_or(0, |metadata| metadata.len())
    }
}

impl ChunkReader for At {
    type T = Onwards;

    fn get_read(&self, start: u64) -> Result<Onwards, ParquetError> {
        Ok(Onwards { file: Arc::clone(&self.0), offset: start })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let mut bytes = vec![0; length];
        Onwards { file: Arc::clone(&self.0), offset: start }.read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}

/// A file from some place on.
struct Onwards {
    file: Arc<File>,
    offset: u64,
}

impl Read for Onwards {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        #[cfg(unix)]
        let read = std::os::unix::fs::FileExt::read_at(&*self.file, buffer, self.offset)?;
        #[cfg(windows)]
        let read = std::os::windows::fs::FileExt::seek_read(&*self.file, buffer, self.offset)?;
        self.offset += read as u64;
        Ok(read)
    }
}
