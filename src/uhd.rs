//! A forest at the end of a copy of this library, for hipDNN's `custom_library` (experimental).
//!
//! ```text
//! copy = library, packed forest, length of the packed forest in eight bytes, MAGIC
//! ```
//!
//! The loader ignores what follows a library, and the digest of a descriptor covers it. So one file is a
//! whole scorer, made without a compiler.

use std::cell::RefCell;
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use libloading::Library;

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

/// Loads a copy as hipDNN does, and checks that it has the scores of the forest.
pub fn check(copy: &Path, forest: &Forest) -> Result<(), String> {
    // SAFETY: whoever names a library of ck-select wants its code to run.
    let library = unsafe { Library::new(copy) }.map_err(|error| error.to_string())?;
    // SAFETY: the function has this type in every library of ck-select.
    let function =
        unsafe { library.get::<unsafe extern "C" fn(*const f64, usize) -> f64>(SYMBOL.as_bytes()) };
    let function = function.map_err(|error| error.to_string())?;
    for value in [0.0, 1.0, 64.0, f64::NAN] {
        let row = vec![value; forest.num_features()];
        let expected = forest.raw_score(&row).unwrap_or(f64::NAN) / divisor(forest);
        // SAFETY: as many values as the count says.
        let found = unsafe { function(row.as_ptr(), row.len()) };
        if found.to_bits() != expected.to_bits() {
            return Err(format!("{SYMBOL} answers {found}, the forest {expected}"));
        }
    }
    Ok(())
}

/// By what sums are divided.
fn divisor(forest: &Forest) -> f64 {
    if forest.averaged() { forest.trees().len() as f64 } else { 1.0 }
}

/// A library and the packed forest that it carries.
fn carried(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (bytes, length) = bytes.strip_suffix(MAGIC)?.split_last_chunk::<8>()?;
    bytes.split_at_checked(bytes.len().checked_sub(usize::try_from(u64::from_le_bytes(*length)).ok()?)?)
}

/// The score of a row: the sum of the forest that this library carries, or its average. NaN if it carries
/// none, or the row is of another length.
pub(crate) fn score(row: &[f64]) -> f64 {
    static CARRIED: OnceLock<Option<(RowScorer, f64)>> = OnceLock::new();
    let load = || {
        let bytes = files::read(own_path()?).ok()?;
        let forest = Forest::unpack(carried(&bytes)?.1).ok()?;
        let divisor = divisor(&forest);
        Some((RowScorer::new(Arc::new(forest)), divisor))
    };
    let Some((scorer, divisor)) = CARRIED.get_or_init(load) else { return f64::NAN };
    if row.len() != scorer.forest().num_features() {
        return f64::NAN;
    }
    let score = |rows: &[f64], sums: &mut [f64]| {
        let trees = scorer.forest().trees().len();
        scorer.score(&RowMajor { values: rows, width: row.len() }, 0..trees, sums);
        for sum in sums {
            *sum /= divisor;
        }
    };
    let alone = || {
        let mut sum = [0.0];
        score(row, &mut sum);
        sum[0]
    };
    // There is no memory while the thread ends.
    ANSWERED.try_with(|answered| answered.borrow_mut().score(row, score)).unwrap_or_else(|_| alone())
}

thread_local! {
    static ANSWERED: RefCell<Answered> = RefCell::default();
}

/// Rows that a thread asked about, with their scores. Programs ask for the same problems again, and hipDNN
/// asks for one kernel after the other.
#[derive(Default)]
struct Answered {
    /// Of each slot: the digest of its row, the row and its score. A row is in one of the slots of its set.
    digests: Vec<u64>,
    rows: Vec<f64>,
    scores: Vec<f64>,
    /// Which slot of a set is written next.
    next: usize,
    /// The last problem's rows, and the columns in which they differ.
    problem: Vec<f64>,
    differs: Vec<bool>,
}

/// Sets of slots, and the slots of each.
const SETS: usize = 256;
const SLOTS: usize = 4;
/// Rows of a problem that are scored together.
const TOGETHER: usize = 64;

impl Answered {
    /// The score of a row. `score` computes those that are not known.
    fn score(&mut self, row: &[f64], score: impl Fn(&[f64], &mut [f64])) -> f64 {
        let width = row.len();
        if self.digests.is_empty() {
            // No row has this digest.
            self.digests = vec![0; SETS * SLOTS];
            self.rows = vec![0.0; SETS * SLOTS * width];
            self.scores = vec![0.0; SETS * SLOTS];
            self.problem.reserve_exact(TOGETHER * width);
            self.differs = vec![false; width];
        }
        let digest = digest(row);
        if let Some(known) = self.known(digest, row) {
            return known;
        }
        let mut sums = [0.0; TOGETHER];
        let Some(place) = self.expect(row) else {
            score(row, &mut sums[..1]);
            self.keep(digest, row, sums[0]);
            return sums[0];
        };
        let rows = std::mem::take(&mut self.problem);
        let sums = &mut sums[..rows.len() / width];
        score(&rows, sums);
        rows.chunks_exact(width).zip(&*sums).for_each(|(row, &sum)| self.keep(self::digest(row), row, sum));
        self.problem = rows;
        sums[place]
    }

    fn known(&self, digest: u64, row: &[f64]) -> Option<f64> {
        let is_row = |&slot: &usize| {
            let known = self.rows[slot * row.len()..].iter().zip(row);
            self.digests[slot] == digest && known.fold(0, |all, (a, b)| all | a.to_bits() ^ b.to_bits()) == 0
        };
        set_of(digest).find(is_row).map(|slot| self.scores[slot])
    }

    fn keep(&mut self, digest: u64, row: &[f64], score: f64) {
        let slot = set_of(digest).start + self.next % SLOTS;
        self.next += 1;
        self.digests[slot] = digest;
        self.rows[slot * row.len()..][..row.len()].copy_from_slice(row);
        self.scores[slot] = score;
    }

    /// Makes the last problem's rows those of a new one, if this row is that of one of its kernels for it: the
    /// caller will ask for the others, too. Gives the place of the row among them. Otherwise the row is one
    /// more of the last problem, or the first one of another.
    fn expect(&mut self, row: &[f64]) -> Option<usize> {
        let is_same = |a: f64, b: f64| a.to_bits() == b.to_bits();
        let Self { problem, differs, .. } = self;
        let mut rows = problem.chunks_exact(row.len());
        let is_kernels = |known: &[f64]| {
            (0..row.len()).all(|column| !differs[column] || is_same(known[column], row[column]))
        };
        if rows.len() > 1
            && let Some(place) = rows.position(is_kernels)
        {
            for known in problem.chunks_exact_mut(row.len()) {
                (0..row.len()).filter(|&column| !differs[column]).for_each(|at| known[at] = row[at]);
            }
            return Some(place);
        }
        let is_new = |column: &usize| !differs[*column] && !is_same(problem[*column], row[*column]);
        let more = if problem.is_empty() { 0 } else { (0..row.len()).filter(is_new).count() };
        if problem.len() == TOGETHER * row.len() || 2 * more > row.len() {
            // So much is not of the kernel.
            problem.clear();
            differs.fill(false);
        }
        if !problem.is_empty() {
            (0..row.len()).for_each(|at| differs[at] |= !is_same(problem[at], row[at]));
        }
        problem.extend_from_slice(row);
        None
    }
}

/// The slots of a set.
fn set_of(digest: u64) -> Range<usize> {
    let first = (digest >> 32) as usize % SETS * SLOTS;
    first..first + SLOTS
}

/// A number that other rows seldom have; not 0.
fn digest(row: &[f64]) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |all: u64, one: u64| (all ^ one).wrapping_mul(ODD).rotate_left(29);
    let (fours, rest) = row.as_chunks::<4>();
    // Each multiplication waits for the one before of its part alone.
    let mut parts = [1, 2, 3, 4];
    for four in fours {
        for at in 0..4 {
            parts[at] = mix(parts[at], four[at].to_bits());
        }
    }
    rest.iter().map(|value| value.to_bits()).chain(parts).fold(0, mix) | 1
}

/// The file of this library, or of the program that it is a part of.
fn own_path() -> Option<PathBuf> {
    /// `Dl_info`.
    #[repr(C)]
    struct Found {
        file: *const c_char,
        base: *mut c_void,
        symbol: *const c_char,
        address: *mut c_void,
    }
    unsafe extern "C" {
        fn dladdr(address: *const c_void, found: *mut Found) -> c_int;
    }
    let null: *mut c_void = std::ptr::null_mut();
    let mut found = Found { file: null.cast(), base: null, symbol: null.cast(), address: null };
    // SAFETY: any address may be asked for, and `found` outlives the call.
    if unsafe { dladdr(own_path as *const c_void, &raw mut found) } == 0 || found.file.is_null() {
        return None;
    }
    // SAFETY: a name that the loader keeps while the library is loaded.
    Some(PathBuf::from(OsStr::from_bytes(unsafe { CStr::from_ptr(found.file) }.to_bytes())))
}
