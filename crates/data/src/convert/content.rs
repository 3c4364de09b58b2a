//! The contents of a parquet column, made from what rows share instead of from every row's value.
//!
//! Nearly all columns are functions of the kernel or of the problem. A writer of values looks up every one of
//! them in a dictionary; here a value is looked up once for each kernel or problem, and only its code is
//! written for the rows. Figures, which rarely repeat, are written directly.

use std::collections::HashMap;
use std::hash::Hash;

use parquet::data_type::ByteArray;
use parquet::file::statistics::Statistics;

use super::hybrid::Hybrid;

/// The values of a column in the rows of a chunk.
pub(super) enum Content<'a> {
    /// Whole numbers by index.
    Ints(Vec<Option<i64>>, Places<'a>),
    /// Texts by index.
    Texts(Vec<Option<String>>, Places<'a>),
    /// One figure per row; NaN is null.
    Figures(&'a [f64]),
    /// One flag per row.
    Flags(Vec<bool>),
}

/// The indices of the rows' values.
pub(super) enum Places<'a> {
    /// All of this many rows have the first value.
    First(usize),
    /// The index of each stretch, and its number of rows.
    Stretches(&'a [(u32, u32)]),
    /// A value of its own for each stretch, with these numbers of rows.
    Own(Vec<u32>),
    /// The index of each row.
    Rows(&'a [u32]),
}

impl Places<'_> {
    fn for_each(&self, mut take: impl FnMut(usize, u32)) {
        match self {
            Self::First(rows) => take(0, *rows as u32),
            Self::Stretches(stretches) => {
                stretches.iter().for_each(|&(place, rows)| take(place as usize, rows));
            }
            Self::Own(stretches) => {
                stretches.iter().enumerate().for_each(|(place, &rows)| take(place, rows));
            }
            Self::Rows(places) => places.iter().for_each(|&place| take(place as usize, 1)),
        }
    }

    fn rows(&self) -> usize {
        match self {
            Self::First(rows) => *rows,
            Self::Stretches(stretches) => stretches.iter().map(|&(_, rows)| rows as usize).sum(),
            Self::Own(stretches) => stretches.iter().map(|&rows| rows as usize).sum(),
            Self::Rows(places) => places.len(),
        }
    }
}

/// A column's pages before they are compressed.
pub(super) struct Encoded {
    /// The distinct values one after the other, and their number; `None` if the data contains the values.
    pub(super) dictionary: Option<(Vec<u8>, usize)>,
    /// Levels and values, or codes.
    pub(super) data: Vec<u8>,
    pub(super) rows: usize,
    pub(super) statistics: Statistics,
}

impl Content<'_> {
    pub(super) fn encode(&self) -> Encoded {
        match self {
            Self::Ints(values, places) => {
                let (distinct, codes) = codes_of(values);
                let bytes = distinct.iter().flat_map(|value| value.to_le_bytes()).collect();
                let (min, max) = (distinct.iter().min().copied(), distinct.iter().max().copied());
                let (data, nulls) = coded(&codes, places, distinct.len());
                Encoded {
                    dictionary: Some((bytes, distinct.len())),
                    data,
                    rows: places.rows(),
                    statistics: Statistics::int64(min, max, None, Some(nulls), false),
                }
            }
            Self::Texts(values, places) => {
                let (distinct, codes) = codes_of(values);
                let mut bytes = Vec::new();
                for text in &distinct {
                    bytes.extend_from_slice(&(text.len() as u32).to_le_bytes());
                    bytes.extend_from_slice(text.as_bytes());
                }
                let end = |text: &String| ByteArray::from(text.as_str());
                let (min, max) = (distinct.iter().min().map(end), distinct.iter().max().map(end));
                let (data, nulls) = coded(&codes, places, distinct.len());
                Encoded {
                    dictionary: Some((bytes, distinct.len())),
                    data,
                    rows: places.rows(),
                    statistics: Statistics::byte_array(min, max, None, Some(nulls), false),
                }
            }
            Self::Figures(figures) => of_figures(figures),
            Self::Flags(flags) => of_flags(flags),
        }
    }
}

/// The distinct values in order of appearance, and the code of each value.
fn codes_of<T: Clone + Eq + Hash>(values: &[Option<T>]) -> (Vec<T>, Vec<Option<u16>>) {
    let mut distinct = Vec::new();
    let mut known = HashMap::new();
    let mut last: Option<(&T, u16)> = None;
    let mut code = |value| match last {
        Some((known, code)) if known == value => code,
        _ => {
            let code = *known.entry(value).or_insert_with(|| {
                distinct.push(T::clone(value));
                (distinct.len() - 1) as u16
            });
            last = Some((value, code));
            code
        }
    };
    let codes = values.iter().map(|value| value.as_ref().map(&mut code)).collect();
    (distinct, codes)
}

/// A page of codes, and how many of its rows are null.
fn coded(codes: &[Option<u16>], places: &Places<'_>, distinct: usize) -> (Vec<u8>, u64) {
    // At least one: some readers do not support codes of zero bits.
    let bits = distinct.saturating_sub(1).checked_ilog2().unwrap_or(0) + 1;
    let mut data = Hybrid::behind(vec![bits as u8], bits);
    let mut levels = Levels::default();
    let mut nulls = 0;
    match codes.iter().copied().collect::<Option<Vec<u16>>>() {
        Some(_) if distinct == 1 => {
            levels.push(true, places.rows());
            data.push(0, places.rows() as u32);
        }
        Some(codes) => {
            levels.push(true, places.rows());
            places.for_each(|place, rows| data.push(codes[place], rows));
        }
        None => places.for_each(|place, rows| {
            levels.push(codes[place].is_some(), rows as usize);
            match codes[place] {
                Some(code) => data.push(code, rows),
                None => nulls += u64::from(rows),
            }
        }),
    }
    (levels.before(&data.finish()), nulls)
}

/// Which rows are not null.
struct Levels(Hybrid);

impl Default for Levels {
    fn default() -> Self {
        Self(Hybrid::behind(Vec::new(), 1))
    }
}

impl Levels {
    fn push(&mut self, is_there: bool, rows: usize) {
        self.0.push(is_there.into(), rows as u32);
    }

    /// A data page: the levels with their length, then the values.
    fn before(self, values: &[u8]) -> Vec<u8> {
        let levels = self.0.finish();
        let mut page = Vec::with_capacity(4 + levels.len() + values.len());
        page.extend_from_slice(&(levels.len() as u32).to_le_bytes());
        page.extend_from_slice(&levels);
        page.extend_from_slice(values);
        page
    }
}

fn of_figures(figures: &[f64]) -> Encoded {
    let mut levels = Levels::default();
    let mut values = vec![0; figures.len() * 8];
    let mut rest = values.chunks_exact_mut(8);
    let (mut min, mut max) = (f64::INFINITY, f64::NEG_INFINITY);
    let mut nulls = 0;
    for same in figures.chunk_by(|a, b| a.is_nan() == b.is_nan()) {
        let is_there = !same[0].is_nan();
        levels.push(is_there, same.len());
        if is_there {
            for (value, bytes) in same.iter().zip(&mut rest) {
                bytes.copy_from_slice(&value.to_le_bytes());
                (min, max) = (min.min(*value), max.max(*value));
            }
        } else {
            nulls += same.len();
        }
    }
    values.truncate((figures.len() - nulls) * 8);
    // In the format, a minimum or maximum of zero must include zeros of both signs.
    let ends = (nulls < figures.len())
        .then_some((if min == 0.0 { -0.0 } else { min }, if max == 0.0 { 0.0 } else { max }));
    let (min, max) = ends.unzip();
    Encoded {
        dictionary: None,
        data: levels.before(&values),
        rows: figures.len(),
        statistics: Statistics::double(min, max, None, Some(nulls as u64), false),
    }
}

fn of_flags(flags: &[bool]) -> Encoded {
    let mut levels = Levels::default();
    levels.push(true, flags.len());
    let byte = |eight: &[bool]| eight.iter().rev().fold(0, |byte, &flag| byte << 1 | u8::from(flag));
    let values: Vec<u8> = flags.chunks(8).map(byte).collect();
    let (min, max) = (flags.iter().min().copied(), flags.iter().max().copied());
    Encoded {
        dictionary: None,
        data: levels.before(&values),
        rows: flags.len(),
        statistics: Statistics::boolean(min, max, None, Some(0), false),
    }
}
