//! A forest at the end of a copy of this library, for hipDNN's `custom_library` (experimental).
//!
//! ```text
//! copy = library, packed forest, length of the packed forest in eight bytes, MAGIC
//! ```
//!
//! The loader ignores what follows a library, and the digest of a descriptor covers it. So one file is a
//! whole scorer, made without a compiler.

use std::ffi::{CStr, OsStr, c_void};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use ck_select_types::thread_scratch::ThreadScratch;

use crate::files;
use crate::forest::Forest;
use crate::packed;
use crate::scoring::{RowMajor, RowScorer};

/// The function that a descriptor names.
pub const SYMBOL: &str = "ck_uhd_score";
const MAGIC: &[u8; 16] = b"ck-select forest";

/// A copy of a library that carries a forest, given as LightGBM's text.
pub fn carrying(library: &[u8], text: &str) -> Result<Vec<u8>, String> {
    let (forest, library) = (packed::pack(text)?, carried(library).map_or(library, |(library, _)| library));
    let length = (forest.len() as u64).to_le_bytes();
    Ok([library, &forest, &length, MAGIC].concat())
}

/// The type of [`SYMBOL`]: a row's score.
pub type Score = unsafe extern "C" fn(*const f64, usize) -> f64;

/// Whether a file is a shared library that scores forests of this version's packed form.
pub fn is_library(bytes: &[u8]) -> bool {
    let has = |part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    bytes.starts_with(b"\x7fELF") && has(SYMBOL.as_bytes()) && has(Forest::PACKED_MAGIC)
}

/// A library and the packed forest that it carries.
fn carried(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (bytes, length) = bytes.strip_suffix(MAGIC)?.split_last_chunk::<8>()?;
    bytes.split_at_checked(bytes.len().checked_sub(usize::try_from(u64::from_le_bytes(*length)).ok()?)?)
}

/// The score of a row by the forest that this library carries. NaN if it carries none, or the row is of
/// another length.
pub(crate) fn score(row: &[f64]) -> f64 {
    static CARRIED: OnceLock<Option<RowScorer>> = OnceLock::new();
    let load = || {
        let bytes = files::read(own_path()?).ok()?;
        Some(RowScorer::new(Arc::new(Forest::unpack(carried(&bytes)?.1).ok()?)))
    };
    let Some(scorer) = CARRIED.get_or_init(load) else { return f64::NAN };
    let forest = scorer.forest();
    if row.len() != forest.num_features() {
        return f64::NAN;
    }
    let score = |rows: &[f64], scores: &mut [f64]| {
        scorer.score(&RowMajor { values: rows, width: row.len() }, 0..forest.trees().len(), scores);
        for score in scores {
            *score = forest.finish(*score);
        }
    };
    ThreadScratch::with(&LAST, |last| last.score(row, score))
}

thread_local! {
    static LAST: ThreadScratch<Rows> = const { ThreadScratch::new() };
}

/// The rows that a thread requested last, with their scores: those of kernels for one problem. hipDNN asks for one
/// kernel after the other.
#[derive(Default)]
struct Rows {
    values: Vec<f64>,
    scores: Vec<f64>,
    /// A mask of the columns in which rows differ: those that tell kernels apart.
    differs: Vec<u64>,
    /// The row that hipDNN will probably request next.
    next: usize,
}

/// Rows that are kept.
const MAX_ROWS: usize = 256;

impl Rows {
    /// The score of a row. After one row of a new problem, `score` computes those of the other kernels, too,
    /// for which the caller will ask.
    fn score(&mut self, row: &[f64], score: impl Fn(&[f64], &mut [f64])) -> f64 {
        let (width, count) = (row.len(), self.scores.len());
        let places = (self.next..count).chain(0..self.next.min(count));
        let mut rows = places.map(|row_index| (row_index, self.difference(row_index, row)));
        let Some((row_index, (_, in_problem))) = rows.find(|(_, (in_kernel, _))| *in_kernel == 0) else {
            return self.keep(row, score);
        };
        if in_problem != 0 {
            if count == 1 {
                // Nothing tells yet which columns are the kernel's.
                return self.keep(row, score);
            }
            for known in self.values.chunks_exact_mut(width) {
                let columns = known.iter_mut().zip(row).zip(&self.differs);
                columns.filter(|(_, differs)| **differs == 0).for_each(|((known, value), _)| *known = *value);
            }
            score(&self.values, &mut self.scores);
        }
        self.next = row_index + 1;
        self.scores[row_index]
    }

    /// The bits in which a row differs from a known one: in the columns that tell kernels apart, and in
    /// others.
    fn difference(&self, index: usize, row: &[f64]) -> (u64, u64) {
        let columns = self.values[index * row.len()..].iter().zip(row).zip(&self.differs);
        columns.fold((0, 0), |(in_kernel, in_problem), ((known, value), mask)| {
            let bits = known.to_bits() ^ value.to_bits();
            (in_kernel | bits & mask, in_problem | bits & !mask)
        })
    }

    /// Adds a row to the problem's, or begins another problem with it.
    fn keep(&mut self, row: &[f64], score: impl Fn(&[f64], &mut [f64])) -> f64 {
        let is_new =
            |((known, value), mask): &((&f64, &f64), &u64)| **mask == 0 && known.to_bits() != value.to_bits();
        let new = self.values.iter().zip(row).zip(&self.differs).filter(is_new).count();
        // A kernel does not have so many features.
        if self.scores.len() == MAX_ROWS || 2 * new > row.len() {
            self.values.clear();
            self.scores.clear();
            self.differs.fill(0);
        }
        if self.differs.is_empty() {
            self.differs = vec![0; row.len()];
            self.values.reserve_exact(MAX_ROWS * row.len());
            self.scores.reserve_exact(MAX_ROWS);
        }
        for ((known, value), mask) in self.values.iter().zip(row).zip(&mut self.differs) {
            *mask |= if known.to_bits() == value.to_bits() { 0 } else { u64::MAX };
        }
        let index = self.scores.len();
        self.values.extend_from_slice(row);
        self.scores.push(0.0);
        score(row, &mut self.scores[index..]);
        self.next = index + 1;
        self.scores[index]
    }
}

/// The file of this library, or of the program that it is a part of.
fn own_path() -> Option<PathBuf> {
    let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: `dladdr` takes any address, and `found` outlives the call, which fills it in, or leaves zeros.
    let status = unsafe {
        libc::dladdr(own_path as *const c_void, info.as_mut_ptr());
        info.assume_init()
    };
    // SAFETY: a name that the loader keeps while the library is loaded.
    let name = (!status.dli_fname.is_null()).then(|| unsafe { CStr::from_ptr(status.dli_fname) })?;
    Some(PathBuf::from(OsStr::from_bytes(name.to_bytes())))
}
