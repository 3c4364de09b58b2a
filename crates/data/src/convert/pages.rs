//! Encodes a column's content as bytes of a file: pages with headers, compressed, and their metadata.

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, PageType};
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, PageEncodingStats};
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

use super::content::{Content, Encoded};

/// How all pages are compressed.
const COMPRESSION: Compression = Compression::SNAPPY;

/// A column's bytes in a row group, and their metadata.
pub(super) struct ColumnChunk {
    pub(super) bytes: Bytes,
    pub(super) close: ColumnCloseResult,
}

/// Encodes a column.
pub(super) fn encode(content: &Content<'_>, column: ColumnDescPtr) -> Result<ColumnChunk, ParquetError> {
    let Encoded { dictionary, data, rows, statistics } = content.encode();
    let mut pages = Vec::new();
    if let Some((values, distinct)) = dictionary {
        let (buf, uncompressed) = compressed(&values)?;
        let page = Page::DictionaryPage {
            buf,
            num_values: distinct as u32,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        pages.push(CompressedPage::new(page, uncompressed));
    }
    let encoding = if pages.is_empty() { Encoding::PLAIN } else { Encoding::RLE_DICTIONARY };
    let (buf, uncompressed) = compressed(&data)?;
    let page = Page::DataPage {
        buf,
        num_values: rows as u32,
        encoding,
        def_level_encoding: Encoding::RLE,
        rep_level_encoding: Encoding::RLE,
        statistics: None,
    };
    pages.push(CompressedPage::new(page, uncompressed));

    let mut written = TrackedWrite::new(Vec::new());
    let mut writer = SerializedPageWriter::new(&mut written);
    let (mut compressed, mut uncompressed, mut stats) = (0, 0, Vec::new());
    let (mut dictionary_at, mut data_at) = (None, 0);
    for page in pages {
        let (page_type, encoding) = (page.page_type(), page.encoding());
        let spec = writer.write_page(page)?;
        compressed += spec.compressed_size as i64;
        uncompressed += spec.uncompressed_size as i64;
        stats.push(PageEncodingStats { page_type, encoding, count: 1 });
        if page_type == PageType::DICTIONARY_PAGE {
            dictionary_at = Some(spec.offset as i64);
        } else {
            data_at = spec.offset as i64;
        }
    }
    writer.close()?;
    let metadata = ColumnChunkMetaData::builder(column)
        .set_compression(COMPRESSION)
        .set_encodings(vec![Encoding::PLAIN, Encoding::RLE, encoding])
        .set_page_encoding_stats(stats)
        .set_total_compressed_size(compressed)
        .set_total_uncompressed_size(uncompressed)
        .set_num_values(rows as i64)
        .set_dictionary_page_offset(dictionary_at)
        .set_data_page_offset(data_at)
        .set_statistics(statistics)
        .build()?;
    let close = ColumnCloseResult {
        bytes_written: compressed as u64,
        rows_written: rows as u64,
        metadata,
        bloom_filter: None,
        column_index: None,
        offset_index: None,
    };
    Ok(ColumnChunk { bytes: Bytes::from(written.into_inner()?), close })
}

fn compressed(bytes: &[u8]) -> Result<(Bytes, usize), ParquetError> {
    Ok((Bytes::from(snap::raw::Encoder::new().compress_vec(bytes)?), bytes.len()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, Int64Type};
    use arrow_schema::{DataType, Field, Schema};
    use parquet::arrow::ArrowSchemaConverter;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::file::writer::SerializedFileWriter;
    use proptest::prelude::*;

    use super::super::content::Places;
    use super::*;

    /// A file of one row group and one column.
    fn file(content: &Content<'_>) -> Bytes {
        let kind = match content {
            Content::Ints(..) => DataType::Int64,
            Content::Texts(..) => DataType::Utf8,
            Content::Figures(_) => DataType::Float64,
            Content::Flags(_) => DataType::Boolean,
        };
        let schema = Schema::new(vec![Field::new("column", kind, true)]);
        let schema = ArrowSchemaConverter::new().convert(&schema).unwrap();
        let mut bytes = Vec::new();
        let mut writer =
            SerializedFileWriter::new(&mut bytes, schema.root_schema_ptr(), Arc::default()).unwrap();
        let ColumnChunk { bytes: column, close } = encode(content, schema.column(0)).unwrap();
        let mut group = writer.next_row_group().unwrap();
        group.append_column(&column, close).unwrap();
        group.close().unwrap();
        writer.close().unwrap();
        bytes.into()
    }

    /// Nulls, least and greatest.
    type Ends = (u64, Option<String>, Option<String>);

    /// Every row as arrow's reader prints it, and the column's statistics.
    fn read(bytes: Bytes) -> (Vec<Option<String>>, Ends) {
        let mut rows = Vec::new();
        let show = |value: &dyn std::fmt::Debug| Some(format!("{value:?}"));
        for batch in ParquetRecordBatchReaderBuilder::try_new(bytes.clone()).unwrap().build().unwrap() {
            let batch = batch.unwrap();
            let column = batch.column(0);
            for row in 0..column.len() {
                rows.push(match column.data_type() {
                    _ if column.is_null(row) => None,
                    DataType::Int64 => show(&column.as_primitive::<Int64Type>().value(row)),
                    DataType::Float64 => show(&column.as_primitive::<Float64Type>().value(row)),
                    DataType::Boolean => show(&column.as_boolean().value(row)),
                    _ => show(&column.as_string::<i32>().value(row)),
                });
            }
        }
        let file = SerializedFileReader::new(bytes).unwrap();
        let statistics = file.metadata().row_group(0).column(0).statistics().unwrap();
        let shown = match statistics {
            parquet::file::statistics::Statistics::Int64(s) => {
                (s.min_opt().and_then(|v| show(v)), s.max_opt().and_then(|v| show(v)))
            }
            parquet::file::statistics::Statistics::Double(s) => {
                (s.min_opt().and_then(|v| show(v)), s.max_opt().and_then(|v| show(v)))
            }
            parquet::file::statistics::Statistics::Boolean(s) => {
                (s.min_opt().and_then(|v| show(v)), s.max_opt().and_then(|v| show(v)))
            }
            parquet::file::statistics::Statistics::ByteArray(s) => {
                let text = |v: &parquet::data_type::ByteArray| show(&v.as_utf8().unwrap());
                (s.min_opt().and_then(text), s.max_opt().and_then(text))
            }
            _ => unreachable!("no other type is written"),
        };
        (rows, (statistics.null_count_opt().unwrap(), shown.0, shown.1))
    }

    /// The expected result of [`read`] for these values.
    fn expected<T: Clone + std::fmt::Debug>(
        rows: &[Option<T>],
        order: impl Fn(&T, &T) -> std::cmp::Ordering,
    ) -> (Vec<Option<String>>, Ends) {
        let show = |value: &T| format!("{value:?}");
        let there = || rows.iter().flatten();
        let ends = (there().min_by(|a, b| order(a, b)), there().max_by(|a, b| order(a, b)));
        let nulls = rows.iter().filter(|row| row.is_none()).count() as u64;
        let shown = rows.iter().map(|row| row.as_ref().map(show)).collect();
        (shown, (nulls, ends.0.map(show), ends.1.map(show)))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn what_is_written_is_read(
            values in prop::collection::vec(prop::option::weighted(0.9, -3..300i64), 1..400),
            runs in prop::collection::vec((any::<prop::sample::Index>(), 1..30u32), 1..300),
        ) {
            let stretches: Vec<(u32, u32)> =
                runs.iter().map(|(index, rows)| (index.index(values.len()) as u32, *rows)).collect();
            let rows: Vec<u32> = stretches
                .iter()
                .flat_map(|&(place, rows)| std::iter::repeat_n(place, rows as usize))
                .collect();
            // Unused places also have values, which statistics may count, but rows may not.
            let values: Vec<Option<i64>> = (0..values.len() as u32)
                .map(|place| values[place as usize].filter(|_| rows.contains(&place)))
                .collect();
            let of_rows: Vec<Option<i64>> = rows.iter().map(|&place| values[place as usize]).collect();
            let of_ints = expected(&of_rows, i64::cmp);
            let ints = |places| Content::Ints(values.clone(), places);
            prop_assert_eq!(read(file(&ints(Places::Stretches(&stretches)))), of_ints.clone());
            prop_assert_eq!(read(file(&ints(Places::Rows(&rows)))), of_ints.clone());
            let own = Content::Ints(
                stretches.iter().map(|&(place, _)| values[place as usize]).collect(),
                Places::Own(stretches.iter().map(|&(_, rows)| rows).collect()),
            );
            prop_assert_eq!(read(file(&own)), of_ints);
            let text = |value: &Option<i64>| value.map(|value| format!("t{value}"));
            let texts = Content::Texts(values.iter().map(text).collect(), Places::Rows(&rows));
            let of_rows: Vec<Option<String>> = of_rows.iter().map(text).collect();
            prop_assert_eq!(read(file(&texts)), expected(&of_rows, String::cmp));
        }

        #[test]
        fn figures_and_flags_are_read(
            figures in prop::collection::vec(
                prop_oneof![Just(f64::NAN), Just(0.5), -1e300..1e300f64], 1..300
            ),
        ) {
            let rows: Vec<Option<f64>> =
                figures.iter().map(|&value| Some(value).filter(|v| !v.is_nan())).collect();
            prop_assert_eq!(read(file(&Content::Figures(&figures))), expected(&rows, f64::total_cmp));
            let flags: Vec<bool> = figures.iter().map(|value| value.is_nan()).collect();
            let rows: Vec<Option<bool>> = flags.iter().copied().map(Some).collect();
            prop_assert_eq!(read(file(&Content::Flags(flags))), expected(&rows, bool::cmp));
        }
    }

    #[test]
    fn one_value_for_all_rows_and_zeros_of_both_signs() {
        let (rows, (nulls, min, max)) = read(file(&Content::Ints(vec![Some(7)], Places::First(70_000))));
        assert_eq!((rows.len(), nulls, min.as_deref(), max.as_deref()), (70_000, 0, Some("7"), Some("7")));
        let (rows, (nulls, min, _)) = read(file(&Content::Ints(vec![None], Places::First(3))));
        assert_eq!((rows, nulls, min), (vec![None; 3], 3, None));
        let (rows, statistics) = read(file(&Content::Figures(&[0.0, -0.0, 0.0])));
        assert_eq!(rows.iter().flatten().collect::<Vec<_>>(), ["0.0", "-0.0", "0.0"]);
        assert_eq!(statistics, (0, Some("-0.0".to_owned()), Some("0.0".to_owned())));
    }
}
