//! The features of every row of some measurements, as upstream's engine of 97 has them.
//!
//! `feature_rows TABLE` takes them a part at a time, `feature_rows TABLE --matrix` holds all of them at once.
//! Both print the sum of each column, and how long reading and computing with adding took.

use std::sync::Mutex;
use std::time::Instant;

use ck_select_data::features;
use ck_select_data::measurements::{Measurements, Wanted};
use ck_select_model::features::{Engine, Extractor};
use ck_select_types::vocab::Op;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("which table?")?;
    let whole = std::env::args().nth(2).as_deref() == Some("--matrix");
    let begun = Instant::now();
    let measurements = Measurements::read_pairs(&[path], Wanted::all(Op::Conv))?;
    let read = begun.elapsed();
    let extractor = Extractor {
        hardware: measurements.hardware().unwrap_or_default(),
        ..Extractor::of_engine(Engine::Conv97)
    };
    let begun = Instant::now();
    let all: Vec<u32> = (0..measurements.rows().len() as u32).collect();
    let width = extractor.schema.len();
    let sums = Mutex::new(vec![0.0; width]);
    let add = |values: &[f64]| {
        let mut part = vec![0.0; width];
        // Four rows at a time, so that the adding is not what is measured.
        let fours = values.chunks_exact(4 * width);
        for row in fours.remainder().chunks_exact(width) {
            part.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
        }
        for four in fours {
            let (first, second) = four.split_at(2 * width);
            let ((a, b), (c, d)) = (first.split_at(width), second.split_at(width));
            for ((((sum, a), b), c), d) in part.iter_mut().zip(a).zip(b).zip(c).zip(d) {
                *sum += (a + b) + (c + d);
            }
        }
        if let Ok(mut sums) = sums.lock() {
            sums.iter_mut().zip(part).for_each(|(sum, value)| *sum += value);
        }
    };
    if whole {
        add(&features::rows(&measurements, &extractor, &all)?);
    } else {
        features::parts(&measurements, &extractor, &all, |_, values| add(values))?;
    }
    let computed = begun.elapsed();
    let sums = sums.into_inner()?;
    let columns: serde_json::Map<String, serde_json::Value> = extractor
        .schema
        .names()
        .into_iter()
        .map(str::to_owned)
        .zip(sums.into_iter().map(Into::into))
        .collect();
    let seconds = serde_json::json!({ "read": read.as_secs_f64(), "features": computed.as_secs_f64() });
    println!("{}", serde_json::json!({ "rows": all.len(), "sums": columns, "seconds": seconds }));
    Ok(())
}
