//! Predictions for the caller's rows.

use std::ffi::{c_char, c_int, c_void};

use ck_select_model::forest::{Forest, Objective};

use crate::booster::text;
use crate::error::{Error, not_null};
use crate::handle;
use crate::matrix::{Matrix, fits};
use crate::parameters::Parameters;
use crate::trees::Trees;

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

/// Rows up to this width need no memory of their own: upstream's have 72 and 97 values.
const NARROW: usize = 128;

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
    let forest = unsafe { handle::get(handle) }?;
    let output = output(what.predict_type)?;
    // SAFETY: a C string or NULL.
    unsafe { check_parameters(what.parameter, forest, matrix.columns) }?;
    let trees = Trees::new(forest, what.start_iteration, what.num_iteration);

    let per_row = if output == Output::Leaves { trees.len() } else { 1 };
    fits("the result", matrix.rows, per_row)?;
    let results = matrix.rows * per_row;
    let out_len = not_null("out_len", out_len)?;
    if results > 0 {
        not_null("out_result", out_result)?;
    }

    let (mut narrow, mut wide);
    let values = if forest.num_features() <= NARROW {
        narrow = [0.0; NARROW];
        &mut narrow[..forest.num_features()]
    } else {
        wide = vec![0.0; forest.num_features()];
        &mut wide[..]
    };
    for row in 0..matrix.rows {
        // SAFETY: the matrix has its values, and this is one of its rows.
        unsafe { matrix.copy_row(row, values) };
        // SAFETY: there is room for all rows' results.
        let write = |index, result| unsafe { out_result.add(row * per_row + index).write_unaligned(result) };
        let checked = trees.row(values)?;
        match output {
            Output::Prediction => write(0, trees.prediction(&checked)),
            Output::RawScore => write(0, trees.raw_score(&checked)),
            Output::Leaves => {
                for (index, leaf) in trees.leaves(&checked).enumerate() {
                    write(index, leaf as f64);
                }
            }
        }
    }
    // SAFETY: not NULL, so a number to write.
    unsafe { out_len.write_unaligned(results as i64) };
    Ok(())
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
    if parameters.early_stop && matches!(forest.objective(), Objective::Lambdarank | Objective::RankXendcg) {
        let expected = "not supported for ranking, where it would change the scores";
        return Err(Error::Parameter { name: "pred_early_stop", value: "true".into(), expected });
    }
    if columns != forest.num_features() && !parameters.any_width {
        return Err(Error::Shape { found: columns, expected: forest.num_features() });
    }
    Ok(())
}
