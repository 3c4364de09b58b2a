//! Whatever is measured comes back from a table as it went in.

mod common;

use std::fs;

use ck_select_measurements::{Measurements, RowScope};
use ck_select_types::vocab::Op;
use common::{HEADER, converted_whole, options, said};
use proptest::prelude::*;
use tempfile::TempDir;

fn name() -> impl Strategy<Value = String> {
    let tiles = ["16x64x64", "64x64x128", "128x128x64"];
    let pipelines = ["compv3", "mem", "basic_async_v1", "wavelet"];
    let suffixes = ["", "_intrawave", "_interwave_gm2", "_intrawave_dsb_si", "_intrawave_2stage"];
    (0..3usize, 0..3usize, 0..4usize, 0..5usize, any::<bool>()).prop_map(move |(d, t, p, s, three)| {
        let direction = ["forward", "bwd_data", "bwd_weight"][d];
        let (ndim, tile, pipeline) = (if three { 3 } else { 2 }, tiles[t], pipelines[p]);
        format!("grouped_conv_{direction}_bf16_{ndim}d_{tile}_{pipeline}{}", suffixes[s])
    })
}

prop_compose! {
    fn row()(
        name in name(),
        n in 1..64i64,
        c in 1..2048i64,
        extent in 7..300i64,
        filter in 1..8i64,
        index in 0..1000i64,
        latency in prop_oneof![Just(f64::NAN), 1.0..1e6f64],
        tflops in prop_oneof![Just(0.0), 1e-3..3e3f64],
        non_zero in 0..i64::from(u32::MAX),
    ) -> String {
        // No faster than a device can be: figures beyond that are refused.
        let least_ms = (2 * n * c * c * (extent + 2).pow(2) * filter.pow(2)) as f64 / 1e16 * 1e3;
        let latency = if latency.is_nan() { "N/A".to_owned() } else { format!("{:?}", latency * least_ms) };
        format!(
            "{name},{index},{n},{c},{c},1,1,{extent},{extent},1,{filter},{filter},1,2,1,0,1,0,1,1,1,\
             {latency},{tflops:?},{non_zero}"
        )
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn csv_and_parquet_say_the_same(rows in prop::collection::vec(row(), 1..200), quoted in any::<bool>()) {
        let folder = TempDir::new().unwrap();
        let mut text = format!("{HEADER}\n");
        for row in &rows {
            let (name, rest) = row.split_once(',').unwrap();
            let line = if quoted { format!("\"{name}\",{rest}\n") } else { format!("{row}\n") };
            text.push_str(&line);
        }
        let [csv, parquet] = ["a.csv", "a.parquet"].map(|name| folder.path().join(name));
        fs::write(&csv, text).unwrap();
        converted_whole(&csv, &parquet);
        let wanted = RowScope { arch: options().arch, ..RowScope::all(Op::Conv) };
        let before = Measurements::read(&[&csv], wanted).unwrap();
        let after = Measurements::read(&[&parquet], wanted).unwrap();
        prop_assert_eq!(before.rows().len(), rows.len());
        prop_assert_eq!(said(&before), said(&after));
    }

    #[test]
    fn no_text_makes_a_reader_panic(
        text in "\\PC{0,200}|(Shape|M=|N=|K=|[{}\",:0-9 \n]|name|results|kernel,tflops,latency_ms){0,40}"
    ) {
        for name in ["a.csv", "a.json", "a.log", "a"] {
            if let Err(error) = Measurements::new(RowScope::all(Op::Gemm)).add_text(name, text.as_bytes()) {
                prop_assert!(error.to_string().starts_with(name));
            }
        }
    }
}
