//! What the tests of several crates share: numbers that are the same in every run, on every machine, random
//! forests, an allocator that counts, libraries built from C, and calls of the system that fail.

use std::path::PathBuf;

pub mod c_library;
pub mod counting;
pub mod faulty_calls;
pub mod forests;

/// The Python with pandas, pyarrow and lightgbm that `CK_SELECT_PYTHON` names, or `make offline-python` has installed.
///
/// # Panics
///
/// If there is no such Python: a test that does not run proves nothing.
pub fn python() -> PathBuf {
    let installed = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/tools/pandas/bin/python");
    let python = PathBuf::from(std::env::var_os("CK_SELECT_PYTHON").unwrap_or_else(|| installed.into()));
    assert!(
        python.exists(),
        "no {}: `make offline-python` installs one, or CK_SELECT_PYTHON names a Python with pandas, pyarrow and lightgbm",
        python.display()
    );
    python
}

/// A source of numbers: a generator, or the bytes of a fuzzer.
pub trait Numbers {
    /// A number below `end`, or 0.
    fn below(&mut self, end: usize) -> usize;

    /// One of these.
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// `SplitMix64`.
#[derive(Debug, Clone)]
pub struct Random(pub u64);

impl Random {
    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to 1, without 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }
}

impl Numbers for Random {
    fn below(&mut self, end: usize) -> usize {
        (self.bits() % end.max(1) as u64) as usize
    }
}
