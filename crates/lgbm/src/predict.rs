//! Predictions for the caller's rows.

use std::ffi::{c_char, c_int, c_void};
use std::ops::Range;
use std::slice;

use ck_select_model::forest::{Forest, ZERO_THRESHOLD};
use ck_select_model::scoring::Rows as _;
use ck_select_types::thread_scratch::ThreadScratch;

use crate::booster::text;
use crate::error::{Error, not_null};
use crate::handle;
use crate::matrix::{Matrix, fits};
use crate::parameters::Parameters;

entry! {
    /// Predicts for the rows of a matrix, and writes the results and how many they are.
    ///
    /// `predict_type` is 0 for predictions, 1 for raw scores, 2 for the leaf of each tree; `out_result` has
    /// room for one result a row, or with leaves for one a row and tree. `parameter` may be NULL. Unlike
    /// LightGBM's, the call stays on its thread.
    fn LGBM_BoosterPredictForMat(
        handle: *mut c_void,
        data: *const c_void,
        data_type: c_int,
        nrow: i32,
        ncol: i32,
        is_row_major: c_int,
        predict_type: c_int,
        start_iteration: c_int,
        num_iteration: c_int,
        parameter: *const c_char,
        out_len: *mut i64,
        out_result: *mut f64,
    ) {
        let matrix = Matrix::new(data, data_type, nrow, ncol, is_row_major)?;
        let what = What { predict_type, start_iteration, num_iteration, parameter };
        // SAFETY: LightGBM's contract: the data is as large as its sizes say, `parameter` is NULL or a C
        // string, and the outputs have room for the results; nobody frees the handle during the call.
        unsafe { predict(handle, &matrix, &what, out_len, out_result) }
    }
}

entry! {
    /// [`LGBM_BoosterPredictForMat`] for one row.
    fn LGBM_BoosterPredictForMatSingleRow(
        handle: *mut c_void,
        data: *const c_void,
        data_type: c_int,
        ncol: c_int,
        is_row_major: c_int,
        predict_type: c_int,
        start_iteration: c_int,
        num_iteration: c_int,
        parameter: *const c_char,
        out_len: *mut i64,
        out_result: *mut f64,
    ) {
        let matrix = Matrix::new(data, data_type, 1, ncol, is_row_major)?;
        let what = What { predict_type, start_iteration, num_iteration, parameter };
        // SAFETY: LightGBM's contract: the data is as large as its sizes say, `parameter` is NULL or a C
        // string, and the outputs have room for the results; nobody frees the handle during the call.
        unsafe { predict(handle, &matrix, &what, out_len, out_result) }
    }
}

/// The arguments that say what to predict.
struct What {
    predict_type: c_int,
    start_iteration: c_int,
    num_iteration: c_int,
    parameter: *const c_char,
}

/// The kind of the results.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Output {
    Prediction,
    RawScore,
    Leaves,
}

/// Rows whose results are in memory before they are written.
const BLOCK: usize = 1 << 13;

/// Working memory, kept from call to call.
#[derive(Default)]
struct Memory {
    sums: Vec<f64>,
    row: Vec<f64>,
}

thread_local! {
    static MEMORY: ThreadScratch<Memory> = const { ThreadScratch::new() };
}

/// # Safety
///
/// The handle is not freed during the call, the matrix has its values, the parameters are a C string or NULL,
/// there is room for the results.
unsafe fn predict(
    handle: *mut c_void,
    matrix: &Matrix,
    what: &What,
    out_len: *mut i64,
    out_result: *mut f64,
) -> Result<(), Error> {
    // SAFETY: the caller does not free the handle during the call.
    let scorer = unsafe { handle::get(handle) }?;
    let forest = &**scorer.forest();
    let output = output(what.predict_type)?;
    // SAFETY: a C string or NULL.
    unsafe { check_parameters(what.parameter, forest, matrix.columns) }?;
    let trees = trees_of(forest, what.start_iteration, what.num_iteration);

    let per_row = if output == Output::Leaves { trees.len() } else { 1 };
    fits("the result", matrix.rows, per_row)?;
    let results = matrix.rows * per_row;
    let out_len = not_null("out_len", out_len)?;
    if results > 0 {
        not_null("out_result", out_result)?;
    }

    // SAFETY: there is room for all results.
    let write = |index, result| unsafe { out_result.add(index).write_unaligned(result) };
    ThreadScratch::with(&MEMORY, |Memory { sums, row }| -> Result<(), Error> {
        if output == Output::Leaves {
            // SAFETY: the matrix has its values.
            let rows = unsafe { matrix.rows(0, matrix.rows) };
            row.resize(forest.num_features(), 0.0);
            for number in 0..matrix.rows {
                for (feature, value) in row.iter_mut().enumerate() {
                    rows.column(feature, number, slice::from_mut(value));
                    // Here, so that scoring need not copy the row once more.
                    *value = if value.abs() <= ZERO_THRESHOLD { 0.0 } else { *value };
                }
                let row = forest.row(row)?;
                for (index, leaf) in trees.clone().filter_map(|tree| row.leaf(tree)).enumerate() {
                    write(number * per_row + index, leaf as f64);
                }
            }
            return Ok(());
        }
        for first in (0..matrix.rows).step_by(BLOCK) {
            sums.resize(BLOCK.min(matrix.rows - first), 0.0);
            // SAFETY: the matrix has its values, as many rows from `first` on as there are sums.
            let rows = unsafe { matrix.rows(first, sums.len()) };
            scorer.score(&rows, trees.clone(), sums);
            for (index, &sum) in sums.iter().enumerate() {
                let is_raw = output == Output::RawScore;
                write(first + index, if is_raw { sum } else { prediction(forest, trees.len(), sum) });
            }
        }
        Ok(())
    })?;
    // SAFETY: not NULL, so a number to write.
    unsafe { out_len.write_unaligned(results as i64) };
    Ok(())
}

/// The trees that LightGBM takes for these arguments: `start` is moved into the forest, and a `count` that is
/// not positive or too large means all from there on.
fn trees_of(forest: &Forest, start: i32, count: i32) -> Range<usize> {
    let all = forest.trees().len();
    let start = usize::try_from(start).unwrap_or(0).min(all);
    let count = usize::try_from(count).ok().filter(|&count| count > 0).unwrap_or(all);
    start..all.min(start.saturating_add(count))
}

/// The prediction for a sum: an average is one of these trees only, as in LightGBM, and of no trees it is
/// NaN.
fn prediction(forest: &Forest, trees: usize, sum: f64) -> f64 {
    let sum = if forest.averaged() { sum / trees as f64 } else { sum };
    forest.objective().transform().apply(sum)
}

fn output(predict_type: c_int) -> Result<Output, Error> {
    match predict_type {
        0 => Ok(Output::Prediction),
        1 => Ok(Output::RawScore),
        2 => Ok(Output::Leaves),
        value => {
            let expected = "0 (normal), 1 (raw score) or 2 (leaf index); contributions (3) are not supported";
            Err(Error::Argument { name: "predict_type", value, expected })
        }
    }
}

/// # Safety
///
/// The parameters are a C string or NULL.
unsafe fn check_parameters(parameter: *const c_char, forest: &Forest, columns: usize) -> Result<(), Error> {
    let parameters = if parameter.is_null() {
        Parameters::default()
    } else {
        // SAFETY: a C string, not NULL.
        Parameters::parse(unsafe { text("parameter", parameter) }?.to_bytes())?
    };
    // Other objectives heed it in LightGBM as little as here.
    if parameters.early_stop && matches!(forest.objective().name(), "lambdarank" | "rank_xendcg") {
        let expected = "not supported for ranking, where it would change the scores";
        return Err(Error::Parameter { name: "pred_early_stop", value: "true".into(), expected });
    }
    if columns != forest.num_features() && !parameters.any_width {
        return Err(Error::Shape { found: columns, expected: forest.num_features() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREE: &str = "tree\nversion=v4\nnum_class=1\nmax_feature_idx=0\nobjective=regression\n\
        average_output\n\
        feature_names=x\nfeature_infos=none\n\n\
        Tree=0\nnum_leaves=1\nnum_cat=0\nleaf_value=1\n\nTree=1\nnum_leaves=1\nnum_cat=0\nleaf_value=2\n\n\
        Tree=2\nnum_leaves=1\nnum_cat=0\nleaf_value=6\n\nend of trees\n";

    #[test]
    fn iterations_are_counted_as_lightgbm_counts_them() {
        let forest = Forest::parse(THREE.as_bytes()).unwrap();
        let cases = [
            ((0, 0), 0..3),
            ((0, -1), 0..3),
            ((-5, i32::MIN), 0..3),
            ((0, 1), 0..1),
            ((1, 1), 1..2),
            ((1, 0), 1..3),
            ((2, 5), 2..3),
            ((3, 1), 3..3),
            ((i32::MAX, i32::MAX), 3..3),
        ];
        for ((start, count), range) in cases {
            assert_eq!(trees_of(&forest, start, count), range, "{start}, {count}");
        }
        assert_eq!([3, 2, 1].map(|trees| prediction(&forest, trees, 12.0)), [4.0, 6.0, 12.0]);
        assert!(prediction(&forest, 0, 0.0).is_nan());
    }
}
