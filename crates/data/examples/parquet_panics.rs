//! Where the parquet crate panics on a damaged file instead of returning an error: four places with version
//! 60.1.0, the first of which is apache/arrow-rs#6255. `measurements/parquet/guard.rs` catches these panics.
//! The example needs `arrow`, `parquet` and `bytes` alone, so that it can go with a report.
//!
//! ```console
//! $ cargo run -p ck-select-data --example parquet_panics
//! ```

use std::collections::BTreeMap;
use std::error::Error;
use std::panic::{catch_unwind, set_hook};
use std::sync::{Arc, Mutex};

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

/// A file of two row groups: numbers, texts in a dictionary, and nulls.
fn whole() -> Result<Vec<u8>, Box<dyn Error>> {
    let rows = 0..200_i64;
    let columns: [(&str, ArrayRef); 4] = [
        ("whole", Arc::new(rows.clone().collect::<Int64Array>())),
        (
            "real",
            Arc::new(rows.clone().map(|row| (row % 7 != 0).then_some(row as f64)).collect::<Float64Array>()),
        ),
        (
            "text",
            Arc::new(rows.clone().map(|row| Some(format!("text {}", row % 5))).collect::<StringArray>()),
        ),
        ("flag", Arc::new(rows.map(|row| Some(row % 3 == 0)).collect::<BooleanArray>())),
    ];
    let batch = RecordBatch::try_from_iter(columns)?;
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(100))
        .set_compression(Compression::SNAPPY)
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties))?;
    writer.write(&batch)?;
    writer.close()?;
    Ok(bytes)
}

fn read(bytes: Vec<u8>) -> Result<usize, Box<dyn Error>> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(bytes))?.with_batch_size(64).build()?;
    let mut rows = 0;
    for batch in reader {
        rows += batch?.num_rows();
    }
    Ok(rows)
}

fn main() -> Result<(), Box<dyn Error>> {
    let whole = whole()?;
    assert_eq!(read(whole.clone())?, 200);
    let last: &'static Mutex<String> = Box::leak(Box::default());
    set_hook(Box::new(move |panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let place =
            place.rsplit_once("/parquet-").map_or(place.clone(), |(_, place)| format!("parquet-{place}"));
        let message = panic.to_string().lines().skip(1).collect::<Vec<_>>().join(" ");
        if let Ok(mut last) = last.lock() {
            *last = format!("{place}: {message}");
        }
    }));
    // By place: how many mutants, and the first of them.
    let mut found: BTreeMap<String, (usize, String)> = BTreeMap::new();
    let mut mutants = 0;
    for (at, byte) in whole.iter().enumerate() {
        for new in [byte ^ 0x01, byte ^ 0x10, byte ^ 0x80, 0x00, 0xff] {
            if new == *byte {
                continue;
            }
            let mut bytes = whole.clone();
            bytes[at] = new;
            mutants += 1;
            if catch_unwind(|| read(bytes).is_ok()).is_err() {
                let place = last.lock().map(|last| last.clone()).unwrap_or_default();
                found.entry(place).or_insert((0, format!("byte {at}: {byte:#04x} -> {new:#04x}"))).0 += 1;
            }
        }
    }
    println!("{mutants} mutants of a file of {} bytes", whole.len());
    for (place, (count, first)) in found {
        println!("{count:5}  {first}  {place}");
    }
    Ok(())
}
