//! From a column's content to its bytes in a file: pages with headers, compressed, and what the file says about them.

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

/// A column's bytes in a row group, and what the file says about them.
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
