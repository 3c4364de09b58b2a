//! Training data, as values, and as LightGBM's binned copy.

use std::borrow::Cow;
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr;

use lightgbm3_sys as sys;

use super::error::{LightGbmError, c_text, check, silence};

/// Rows to train on, with their labels.
#[derive(Debug, Clone, Default)]
pub struct Matrix<'a> {
    /// Number of values of a row.
    pub width: usize,
    /// The rows: blocks of whole rows, one row after the other. Borrowed blocks are only copied by LightGBM's
    /// binning.
    pub blocks: Vec<Cow<'a, [f64]>>,
    /// One label per row.
    pub labels: Vec<f32>,
    /// The number of rows of each group, in order, for ranking. Empty otherwise.
    pub groups: Vec<i32>,
    /// Weight of each row. Empty: all equal.
    pub weights: Vec<f32>,
    /// Scores to train on top of, one per row. Empty: none.
    pub start: Vec<f64>,
    /// The columns' names. Empty: LightGBM's own.
    pub names: Vec<String>,
}

impl Matrix<'_> {
    /// Number of rows.
    pub fn height(&self) -> usize {
        self.labels.len()
    }
}

/// LightGBM's binned copy of a matrix.
pub(crate) struct Dataset {
    pub(crate) handle: sys::DatasetHandle,
}

impl Dataset {
    /// Bins the matrix; on the bins of `like`, if given, as validation data must be.
    pub(crate) fn new(
        data: &Matrix<'_>,
        params: &CString,
        like: Option<&Dataset>,
    ) -> Result<Dataset, LightGbmError> {
        silence();
        let cells: usize = data.blocks.iter().map(|block| block.len()).sum();
        let expected = data.width * data.height();
        if cells != expected || data.blocks.iter().any(|block| block.len() % data.width != 0) {
            return Err(LightGbmError(format!("{cells} values, expected {expected} in whole rows")));
        }
        let mut starts: Vec<*const c_void> = data.blocks.iter().map(|block| block.as_ptr().cast()).collect();
        let mut heights: Vec<i32> =
            data.blocks.iter().map(|block| (block.len() / data.width) as i32).collect();
        let mut by_row = vec![1; data.blocks.len()];
        let mut handle = ptr::null_mut();
        // SAFETY: each block has the given number of rows of doubles, which the call copies.
        check(unsafe {
            sys::LGBM_DatasetCreateFromMats(
                data.blocks.len() as i32,
                starts.as_mut_ptr(),
                sys::C_API_DTYPE_FLOAT64 as i32,
                heights.as_mut_ptr(),
                data.width as i32,
                by_row.as_mut_ptr(),
                params.as_ptr(),
                like.map_or(ptr::null_mut(), |like| like.handle),
                &raw mut handle,
            )
        })?;
        let dataset = Dataset { handle };
        dataset.set(c"label", &data.labels, sys::C_API_DTYPE_FLOAT32)?;
        if !data.groups.is_empty() {
            dataset.set(c"group", &data.groups, sys::C_API_DTYPE_INT32)?;
        }
        if !data.weights.is_empty() {
            dataset.set(c"weight", &data.weights, sys::C_API_DTYPE_FLOAT32)?;
        }
        if !data.start.is_empty() {
            dataset.start_from(&data.start)?;
        }
        dataset.name(&data.names)?;
        Ok(dataset)
    }

    fn name(&self, names: &[String]) -> Result<(), LightGbmError> {
        if names.is_empty() {
            return Ok(());
        }
        let texts = names.iter().map(|name| c_text(name)).collect::<Result<Vec<_>, _>>()?;
        let mut pointers: Vec<*const c_char> = texts.iter().map(|text| text.as_ptr()).collect();
        // SAFETY: the given number of C strings, which the call copies.
        check(unsafe {
            sys::LGBM_DatasetSetFeatureNames(self.handle, pointers.as_mut_ptr(), pointers.len() as i32)
        })
    }

    /// Scores to train on top of, one per row.
    pub(crate) fn start_from(&self, scores: &[f64]) -> Result<(), LightGbmError> {
        self.set(c"init_score", scores, sys::C_API_DTYPE_FLOAT64)
    }

    fn set<T>(&self, field: &CStr, values: &[T], kind: u32) -> Result<(), LightGbmError> {
        let data: *const c_void = values.as_ptr().cast();
        // SAFETY: the handle is live, and `kind` is the type of the values, which the call copies.
        check(unsafe {
            sys::LGBM_DatasetSetField(self.handle, field.as_ptr(), data, values.len() as i32, kind as i32)
        })
    }
}

impl Drop for Dataset {
    fn drop(&mut self) {
        // SAFETY: made by LightGBM and freed once; a booster that refers to it is dropped first.
        unsafe { sys::LGBM_DatasetFree(self.handle) };
    }
}
