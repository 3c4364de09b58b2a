//! Decodes tables on several threads.
//!
//! Decoding is most of the time that a table takes. Every thread decodes some of the columns, a batch ahead
//! of the thread that takes the rows, so that the order is kept and only a few batches are in memory,
//! regardless of the size of row groups.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema};
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::statistics::Statistics;

use super::guard::guarded;

/// Rows of a batch: few enough that a batch of all columns fits in a cache. Our own row groups consist of
/// whole batches.
const BATCH: usize = 1 << 14;
/// Maximum number of threads; more would wait for the one that takes the rows.
const MOST_THREADS: usize = 4;

/// A table whose columns are known.
pub(super) struct Table {
    file: At,
    metadata: ArrowReaderMetadata,
}

impl Table {
    pub(super) fn open(file: File) -> Result<Self, ParquetError> {
        let length = file.metadata().map_err(|error| ParquetError::External(Box::new(error)))?.len();
        let file = At { file: Arc::new(file), length };
        let metadata = guarded(|| {
            let stored = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new())?;
            let options = ArrowReaderOptions::new().with_schema(with_dictionaries(stored.schema()));
            ArrowReaderMetadata::try_new(Arc::clone(stored.metadata()), options)
        })??;
        let groups = metadata.metadata().row_groups().iter().map(RowGroupMetaData::num_rows);
        let rows = groups.map(|rows| i128::from(rows.max(0))).sum::<i128>();
        let said = metadata.metadata().file_metadata().num_rows();
        if rows != i128::from(said) {
            let message = format!("damaged: the row groups have {rows} rows, the file says {said}");
            return Err(ParquetError::General(message));
        }
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

    /// The value that a column of whole numbers has in every row, according to the minimum and maximum of the
    /// row groups: such a column need not be read. Tables repeat the hardware's constants, and everything
    /// that their sweep did not vary, in every row.
    pub(super) fn constant(&self, column: &str) -> Option<i64> {
        guarded(|| self.constant_of(column)).ok()?
    }

    fn constant_of(&self, column: &str) -> Option<i64> {
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

    /// Calls `take` with the columns that are used, batch by batch: each batch in parts, which the decoding
    /// threads have made of some columns with `prepare`.
    pub(super) fn read<P: Send, E: From<ParquetError>>(
        &self,
        is_used: impl Fn(&str) -> bool,
        prepare: impl Fn(&RecordBatch) -> Result<P, String> + Sync,
        mut take: impl FnMut(Vec<P>) -> Result<(), E>,
    ) -> Result<(), E> {
        let used: Vec<usize> =
            self.columns().enumerate().filter(|(_, name)| is_used(name)).map(|(column, _)| column).collect();
        // One core is for the thread that takes the rows.
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let threads = cores.saturating_sub(1).clamp(1, MOST_THREADS);
        let readers = (0..threads.min(used.len()))
            // Similar columns are adjacent, so each thread gets some of every kind.
            .map(|thread| guarded(|| self.reader(used.iter().copied().skip(thread).step_by(threads)))?)
            .collect::<Result<Vec<_>, _>>()?;
        let prepare = &prepare;
        thread::scope(|scope| {
            let parts: Vec<Receiver<_>> = readers
                .into_iter()
                .map(|mut reader| {
                    let (sender, receiver) = sync_channel(1);
                    scope.spawn(move || {
                        let mut read = 0;
                        let mut next = || {
                            let batch = guarded(|| {
                                let batch = reader.next()?;
                                Some(batch.map(|batch| (batch.num_rows(), prepare(&batch))))
                            });
                            let batch = match batch {
                                Ok(batch) => match batch? {
                                    Ok((rows, Ok(part))) => Ok((rows, part)),
                                    Ok((_, Err(reason))) => Err(ParquetError::General(reason)),
                                    Err(error) => Err(error.into()),
                                },
                                Err(panic) => Err(panic),
                            };
                            let batch = batch.map_err(|error| self.in_groups(read, &error));
                            read += batch.as_ref().map_or(0, |(rows, _)| *rows as u64);
                            Some(batch)
                        };
                        while let Some(batch) = next() {
                            let failed = batch.is_err();
                            // The receiver is gone if the rows are no longer needed.
                            if sender.send(batch).is_err() || failed {
                                break;
                            }
                        }
                    });
                    receiver
                })
                .collect();
            let mut read = 0;
            while let Some((rows, batch)) = self.joined(read, &parts)? {
                take(batch)?;
                read += rows;
            }
            if i128::from(read) == i128::from(self.rows()) || parts.is_empty() {
                return Ok(());
            }
            let message = format!("damaged: {read} rows are left of {}", self.rows());
            Err(self.in_groups(read, &ParquetError::General(message)).into())
        })
    }

    /// The next batch's rows and parts; `None` at the end.
    fn joined<P>(
        &self,
        read: u64,
        parts: &[Receiver<Result<(usize, P), ParquetError>>],
    ) -> Result<Option<(u64, Vec<P>)>, ParquetError> {
        let received: Vec<_> = parts.iter().map(|part| part.recv().ok()).collect();
        let mut batch = Vec::with_capacity(parts.len());
        let mut lengths = Vec::with_capacity(parts.len());
        for part in received {
            let (rows, part) = part.transpose()?.unzip();
            lengths.push(rows.unwrap_or_default());
            batch.extend(part);
        }
        if lengths.windows(2).any(|pair| pair[0] != pair[1]) {
            let message = format!("damaged: columns of {lengths:?} rows in one batch");
            return Err(self.in_groups(read, &ParquetError::General(message)));
        }
        Ok((!batch.is_empty()).then(|| (lengths[0] as u64, batch)))
    }

    /// Adds to an error of the batch at a row the row groups that contain it.
    fn in_groups(&self, row: u64, error: &ParquetError) -> ParquetError {
        let groups = self.metadata.metadata().row_groups();
        let mut end = 0;
        let mut held = Vec::new();
        for (place, group) in (1..).zip(groups) {
            let begin = end;
            end += group.num_rows().max(0) as u64;
            if begin < row + BATCH as u64 && end > row {
                held.push(place);
            }
        }
        let place = match (held.first(), held.last()) {
            (Some(first), Some(last)) if first == last => format!("row group {first} of {}", groups.len()),
            (Some(first), Some(last)) => format!("row groups {first} to {last} of {}", groups.len()),
            _ => "behind the last row group".to_owned(),
        };
        ParquetError::General(format!("{place}: {error}"))
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

/// The same schema with texts as dictionaries, so that each distinct text is handled once per batch.
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

/// A file with positioned reads: threads that shared a handle's own position would move it for each other.
#[derive(Clone)]
struct At {
    file: Arc<File>,
    length: u64,
}

impl Length for At {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for At {
    type T = Onwards;

    fn get_read(&self, start: u64) -> Result<Onwards, ParquetError> {
        Ok(Onwards { file: Arc::clone(&self.file), offset: start })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        // The sizes in a damaged file must not determine how much memory is allocated.
        if start.checked_add(length as u64).is_none_or(|end| end > self.length) {
            let message = format!("{length} bytes at {start} of a file of {}", self.length);
            return Err(ParquetError::EOF(message));
        }
        let mut bytes = vec![0; length];
        Onwards { file: Arc::clone(&self.file), offset: start }.read_exact(&mut bytes)?;
        Ok(bytes.into())
    }
}

/// A file, from an offset on.
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
