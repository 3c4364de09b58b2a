//! A model of the real LightGBM.

use std::ffi::{CStr, c_int};
use std::ptr;

use lightgbm3_sys as sys;

use super::dataset::{Dataset, Matrix};
use super::error::{LightGbmError, c_text, check, silence};

/// A model of the real LightGBM: trained here, or read from a text.
pub struct Booster {
    handle: sys::BoosterHandle,
    /// The data that the handle refers to, freed after it.
    data: Vec<Dataset>,
}

/// Which of LightGBM's outputs to compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// `predict()`
    Prediction,
    /// `predict(raw_score=True)`
    RawScore,
}

impl Booster {
    /// A model with so many trees at most, on top of those of `start`. LightGBM's own parameters are
    /// `key=value` separated by blanks.
    pub fn train(
        data: &Matrix<'_>,
        params: &str,
        trees: usize,
        start: Option<&Booster>,
    ) -> Result<Booster, LightGbmError> {
        let mut booster = Booster::begin(data, &format!("{params} verbosity=-1 num_threads=1"), start)?;
        for _ in 0..trees {
            if !booster.boost()? {
                break;
            }
        }
        Ok(booster)
    }

    /// A model without trees of its own, to be trained on the data, on top of the trees of `start`.
    pub fn begin(data: &Matrix<'_>, params: &str, start: Option<&Booster>) -> Result<Booster, LightGbmError> {
        let params = c_text(params)?;
        let raw = |start: &Booster| -> Result<Vec<f64>, LightGbmError> {
            let blocks = data.blocks.iter().map(|block| start.predict(block, Output::RawScore));
            blocks.collect::<Result<Vec<_>, _>>().map(|blocks| blocks.concat())
        };
        let scores = start.map(raw).transpose()?;
        let before = &data.start;
        let data = Dataset::new(data, &params, None)?;
        if let Some(mut scores) = scores {
            for (score, before) in scores.iter_mut().zip(before) {
                *score += before;
            }
            data.start_from(&scores)?;
        }
        let mut handle = ptr::null_mut();
        // SAFETY: the dataset is live and moves into the booster, which frees it after its own handle.
        check(unsafe { sys::LGBM_BoosterCreate(data.handle, params.as_ptr(), &raw mut handle) })?;
        let booster = Booster { handle, data: vec![data] };
        if let Some(start) = start {
            // SAFETY: both handles are live; the trees are copied.
            check(unsafe { sys::LGBM_BoosterMerge(handle, start.handle) })?;
        }
        Ok(booster)
    }

    /// Also scores these rows after every iteration. The parameters must be those that the training began
    /// with.
    pub fn watch(&mut self, rows: &Matrix<'_>, params: &str) -> Result<(), LightGbmError> {
        let rows = Dataset::new(rows, &c_text(params)?, self.data.first())?;
        // SAFETY: both handles are live, and the booster frees the data after its own handle.
        check(unsafe { sys::LGBM_BoosterAddValidData(self.handle, rows.handle) })?;
        self.data.push(rows);
        Ok(())
    }

    /// Trains one more tree by the objective of the parameters; false if there was nothing left to split.
    pub fn boost(&mut self) -> Result<bool, LightGbmError> {
        let mut finished = 0;
        // SAFETY: the handle is live and has training data.
        check(unsafe { sys::LGBM_BoosterUpdateOneIter(self.handle, &raw mut finished) })?;
        Ok(finished == 0)
    }

    /// Trains one more tree on first and second derivatives of a custom loss, one of each per row; the
    /// parameters must include `objective=none`.
    pub fn boost_by(&mut self, gradients: &[f32], hessians: &[f32]) -> Result<bool, LightGbmError> {
        let rows = self.rows(0)?;
        if gradients.len() != rows || hessians.len() != rows {
            let (first, second) = (gradients.len(), hessians.len());
            return Err(LightGbmError(format!("{first} and {second} derivatives for {rows} rows")));
        }
        let mut finished = 0;
        // SAFETY: the handle is live, and both slices have a value for each row of the training data.
        check(unsafe {
            sys::LGBM_BoosterUpdateOneIterCustom(
                self.handle,
                gradients.as_ptr(),
                hessians.as_ptr(),
                &raw mut finished,
            )
        })?;
        Ok(finished == 0)
    }

    /// The raw scores of the training rows (0) or of the first watched rows (1).
    pub fn scores(&self, which: usize) -> Result<Vec<f64>, LightGbmError> {
        let mut scores = vec![0.0; self.rows(which)?];
        let mut written = 0;
        // SAFETY: there is room for a score per row, which is the number that LightGBM reported.
        check(unsafe {
            sys::LGBM_BoosterGetPredict(self.handle, which as c_int, &raw mut written, scores.as_mut_ptr())
        })?;
        Ok(scores)
    }

    fn rows(&self, which: usize) -> Result<usize, LightGbmError> {
        let mut rows = 0;
        // SAFETY: the handle is live; LightGBM checks the index.
        check(unsafe { sys::LGBM_BoosterGetNumPredict(self.handle, which as c_int, &raw mut rows) })?;
        Ok(rows as usize)
    }

    /// Reads a model from its text.
    pub fn from_text(model: &str) -> Result<Booster, LightGbmError> {
        silence();
        let model = c_text(model)?;
        let (mut handle, mut iterations) = (ptr::null_mut(), 0);
        // SAFETY: a C string, which the call copies.
        check(unsafe {
            sys::LGBM_BoosterLoadModelFromString(model.as_ptr(), &raw mut iterations, &raw mut handle)
        })?;
        Ok(Booster { handle, data: Vec::new() })
    }

    /// Reads a model from a file.
    pub fn from_file(path: &str) -> Result<Booster, LightGbmError> {
        silence();
        let path = c_text(path)?;
        let (mut handle, mut iterations) = (ptr::null_mut(), 0);
        // SAFETY: a C string.
        check(unsafe {
            sys::LGBM_BoosterCreateFromModelfile(path.as_ptr(), &raw mut iterations, &raw mut handle)
        })?;
        Ok(Booster { handle, data: Vec::new() })
    }

    /// The model's text.
    pub fn to_text(&self) -> Result<String, LightGbmError> {
        let mut buffer: Vec<u8> = Vec::new();
        loop {
            let mut needed = 0;
            // SAFETY: LightGBM writes at most as many bytes as the buffer has, and reports how many it needs.
            check(unsafe {
                sys::LGBM_BoosterSaveModelToString(
                    self.handle,
                    0,
                    -1,
                    sys::C_API_FEATURE_IMPORTANCE_SPLIT as i32,
                    buffer.len() as i64,
                    &raw mut needed,
                    buffer.as_mut_ptr().cast(),
                )
            })?;
            if needed as usize <= buffer.len() {
                let model =
                    CStr::from_bytes_until_nul(&buffer).map_err(|error| LightGbmError(error.to_string()))?;
                return Ok(model.to_string_lossy().into_owned());
            }
            buffer.resize(needed as usize, 0);
        }
    }

    /// One output per row; the rows are contiguous in `values`.
    pub fn predict(&self, values: &[f64], output: Output) -> Result<Vec<f64>, LightGbmError> {
        silence();
        let width = self.width()?;
        let height = values.len() / width;
        if values.len() != height * width {
            return Err(LightGbmError(format!("{} values are not whole rows of {width}", values.len())));
        }
        let mut results = vec![0.0; height];
        let kind = match output {
            Output::Prediction => sys::C_API_PREDICT_NORMAL,
            Output::RawScore => sys::C_API_PREDICT_RAW_SCORE,
        };
        let mut written = 0;
        // SAFETY: the values are height x width doubles; models with one output write one double per row.
        check(unsafe {
            sys::LGBM_BoosterPredictForMat(
                self.handle,
                values.as_ptr().cast(),
                sys::C_API_DTYPE_FLOAT64 as i32,
                height as i32,
                width as i32,
                1,
                kind as i32,
                0,
                -1,
                c"verbosity=-1 num_threads=1".as_ptr(),
                &raw mut written,
                results.as_mut_ptr(),
            )
        })?;
        debug_assert_eq!(written as usize, height, "one result a row");
        Ok(results)
    }

    /// Number of values of a row.
    pub fn width(&self) -> Result<usize, LightGbmError> {
        let mut width = 0;
        // SAFETY: the handle is live.
        check(unsafe { sys::LGBM_BoosterGetNumFeature(self.handle, &raw mut width) })?;
        Ok(width as usize)
    }

    /// The metrics of the parameters on the first watched rows.
    pub fn losses(&self) -> Result<Vec<f64>, LightGbmError> {
        let mut count = 0;
        // SAFETY: the handle is live.
        check(unsafe { sys::LGBM_BoosterGetEvalCounts(self.handle, &raw mut count) })?;
        let mut losses = vec![f64::NAN; count as usize];
        // SAFETY: there is room for as many results as there are metrics; 1 is the first validation data.
        check(unsafe { sys::LGBM_BoosterGetEval(self.handle, 1, &raw mut count, losses.as_mut_ptr()) })?;
        Ok(losses)
    }
}

impl Drop for Booster {
    fn drop(&mut self) {
        // SAFETY: made by LightGBM and freed once, before the data that it refers to.
        unsafe { sys::LGBM_BoosterFree(self.handle) };
    }
}
