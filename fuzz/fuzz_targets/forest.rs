//! Any bytes, a text or packed: parsing returns, and what it lets through is walked to finite scores that
//! their contributions add up to.
//!
//! On a stable compiler: `RUSTC_BOOTSTRAP=1 cargo fuzz run forest fuzz/corpus/forest tests/golden/forest`.
//! What fails goes into tests/golden/bad_forests.txt with the message it should have had.
#![no_main]

use ck_select::forest::Forest;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    let is_packed = text.starts_with(Forest::PACKED_MAGIC);
    let Ok(forest) = (if is_packed { Forest::unpack(text) } else { Forest::parse(text) }) else { return };
    let values = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.5, 1e-36, 1.0, 64.5, 1e300];
    for start in 0..values.len() {
        let row: Vec<f64> = values.iter().cycle().skip(start).take(forest.num_features()).copied().collect();
        let row = forest.row(&row).expect("a value for each feature");
        let raw = row.raw_score();
        assert!(raw.is_finite());
        assert_eq!(row.contributions().raw_score().to_bits(), raw.to_bits());
        let _ = row.predict();
    }
    assert_eq!(forest.feature_uses().len(), forest.num_features());
});
