//! Problems where a model chooses badly, according to its own out-of-fold predictions.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;

use ck_select_types::problem::Problem;
use ck_select_types::vocab::Op;

use ck_select_data::figures::mean;
use ck_select_data::measurements::{DataError, Measurements, Wanted, numbers_of};
use ck_select_enumerate::shapes::{Choice, Stratum, dense};

/// The prefix of a trainer's prediction columns, before the target.
const PREDICTED: &str = "oof_pred_";

/// Problems of bad strata.
#[derive(Debug, Clone, PartialEq)]
pub struct Targeted {
    /// The strata that are below the share, worst first, with the number of their problems and the mean
    /// efficiency.
    pub strata: Vec<(Stratum, usize, f64)>,
    /// Number of strata examined.
    pub looked_at: usize,
    /// The dense grids of the bad strata, without known problems.
    pub problems: Vec<Problem>,
}

/// Reads `oof_predictions.parquet` of a model of convolutions: for each problem, the speed of the kernel with
/// the best prediction, as a share of the fastest's. For a stratum whose mean is under `below`, all its
/// problems of the dense grid are returned that are neither in the file nor in `apart_from`. The ranking
/// target's predictions are used: the first column of predictions of `relative` or `tflops`.
pub fn targeted(path: &Path, below: f64, apart_from: &[Problem]) -> Result<Targeted, DataError> {
    let file = path.display().to_string();
    let wrong = |reason: String| DataError::format(&file, reason);
    let measurements = Measurements::read(&[path], Wanted::all(Op::GroupedConv))?;
    let open = || File::open(path).map_err(|error| DataError::io(&file, error));
    let column = ["relative", "tflops"].map(|target| format!("{PREDICTED}{target}"));
    let (column, predictions) = numbers_of(&file, open()?, &column)?.ok_or_else(|| {
        wrong(format!("no column '{}' or '{}', which ckselect train writes", column[0], column[1]))
    })?;
    if predictions.len() != measurements.rows().len() {
        let rows = measurements.rows().len();
        return Err(wrong(format!("{rows} of {} rows are convolutions; expected all", predictions.len())));
    }
    let dtype = measurements.common_dtype()?.ok_or_else(|| wrong("no rows".to_owned()))?;
    let direction = measurements.common_direction()?.unwrap_or(Choice::new(dtype).direction);
    let strata = efficiencies(&measurements, &predictions);
    if strata.is_empty() {
        return Err(wrong(format!("no problem has two rows with '{column}', so that nothing was chosen")));
    }
    let mut bad: Vec<(Stratum, usize, f64)> = strata
        .iter()
        .map(|(stratum, shares)| (*stratum, shares.len(), mean(shares.iter().copied())))
        .filter(|(.., share)| *share < below)
        .collect();
    bad.sort_by(|a, b| a.2.total_cmp(&b.2));
    let wanted: BTreeSet<Stratum> = bad.iter().map(|(stratum, ..)| *stratum).collect();
    let choice = Choice { direction, ..Choice::new(dtype) };
    let problems = dense(&wanted, &choice, measurements.problems().iter().chain(apart_from))
        .map_err(|error| wrong(error.to_string()))?;
    Ok(Targeted { strata: bad, looked_at: strata.len(), problems })
}

/// By stratum, for each sweep the speed of the kernel with the highest prediction as a share of the fastest.
fn efficiencies(measurements: &Measurements, predictions: &[f64]) -> BTreeMap<Stratum, Vec<f64>> {
    let mut strata: BTreeMap<Stratum, Vec<f64>> = BTreeMap::new();
    for run in measurements.runs() {
        let predicted =
            run.rows.iter().map(|&row| (predictions[row as usize], measurements.rows()[row as usize].tflops));
        let predicted: Vec<(f64, f64)> = predicted.filter(|(prediction, _)| !prediction.is_nan()).collect();
        let [first, rest @ ..] = predicted.as_slice() else { continue };
        let Problem::Conv(problem) = &measurements.problems()[run.problem as usize] else { continue };
        if rest.is_empty() {
            continue;
        }
        let chosen = rest.iter().fold(first, |best, other| if other.0 > best.0 { other } else { best });
        let fastest = predicted.iter().fold(0.0, |most: f64, (_, speed)| most.max(*speed));
        strata.entry(Stratum::of(problem)).or_default().push(chosen.1 / fastest);
    }
    strata
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
    use ck_select_types::vocab::Direction;
    use parquet::arrow::ArrowWriter;

    use super::*;

    /// Channels, groups, depth of the kernel's tile, speed, prediction.
    type Measured = (i64, i64, u32, f64, Option<f64>);

    /// Rows in the columns that the trainer writes.
    fn written(folder: &Path, rows: &[Measured], column: &str) -> std::path::PathBuf {
        let whole = |value: fn(&Measured) -> i64| -> ArrayRef {
            Arc::new(rows.iter().map(|row| Some(value(row))).collect::<Int64Array>())
        };
        let kernel = |depth| format!("grouped_conv_bwd_data_fp16_2d_16x64x{depth}_compv3");
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("kernel_name", Arc::new(rows.iter().map(|row| Some(kernel(row.2))).collect::<StringArray>())),
            ("N", whole(|_| 8)),
            ("C", whole(|row| row.0)),
            ("K", whole(|row| row.0)),
            ("G", whole(|row| row.1)),
            ("Hi", whole(|_| 28)),
            ("Wi", whole(|_| 28)),
            ("Y", whole(|_| 3)),
            ("X", whole(|_| 3)),
            ("pad_h", whole(|_| 1)),
            ("pad_w", whole(|_| 1)),
            ("tflops", Arc::new(rows.iter().map(|row| Some(row.3)).collect::<Float64Array>())),
            ("latency_ms", Arc::new(rows.iter().map(|_| Some(1.0)).collect::<Float64Array>())),
            ("is_valid", Arc::new(BooleanArray::from(vec![true; rows.len()]))),
            ("fold", whole(|_| 0)),
            (column, Arc::new(rows.iter().map(|row| row.4).collect::<Float64Array>())),
        ];
        let batch = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, v)| (n, v, true)));
        let batch = batch.unwrap();
        let path = folder.join("oof_predictions.parquet");
        let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        path
    }

    /// Two problems of one stratum, the second with a good choice, and depthwise ones with only good choices;
    /// a problem with one kernel, and one without predictions.
    const ROWS: [Measured; 10] = [
        (128, 1, 32, 1.0, Some(2.0)),
        (128, 1, 64, 2.0, Some(1.0)),
        (256, 1, 32, 2.0, Some(2.0)),
        (256, 1, 64, 1.0, Some(1.0)),
        (32, 32, 32, 2.0, Some(2.0)),
        (32, 32, 64, 1.0, Some(1.0)),
        (512, 1, 32, 1.0, Some(2.0)),
        (512, 1, 64, 2.0, None),
        (1024, 1, 32, 1.0, None),
        (1024, 1, 64, 2.0, None),
    ];

    #[test]
    fn bad_strata_get_their_part_of_the_grid() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = written(folder.path(), &ROWS, "oof_pred_tflops");
        let all = targeted(&path, 0.9, &[]).unwrap();
        assert_eq!(all.looked_at, 2);
        let [(stratum, 2, 0.75)] = all.strata[..] else { panic!("{:?}", all.strata) };
        assert_eq!(stratum.to_string(), "2D, filter 3, stride 1, dense, medium maps, medium channels");
        assert!(all.problems.len() > 100);
        for problem in &all.problems {
            let Problem::Conv(conv) = problem else { panic!() };
            assert_eq!((Stratum::of(conv), conv.direction), (stratum, Direction::BwdData));
            assert!((conv.n, conv.c, conv.k, conv.input[2]) != (8, 128, 128, 28), "it is trained on");
        }
        let apart = targeted(&path, 0.9, &all.problems[..3]).unwrap();
        assert_eq!(apart.problems, all.problems[3..]);
        assert!(targeted(&path, 0.75, &[]).unwrap().problems.is_empty());
    }

    #[test]
    fn what_is_no_such_table_is_refused() {
        let folder = tempfile::TempDir::new().unwrap();
        let error = |rows: &[_], column: &str| {
            targeted(&written(folder.path(), rows, column), 0.9, &[]).unwrap_err().to_string()
        };
        let text = error(&ROWS, "oof_pred_latency");
        assert!(
            text.ends_with("no column 'oof_pred_relative' or 'oof_pred_tflops', which ckselect train writes"),
            "{text}"
        );
        assert!(
            error(&ROWS[8..], "oof_pred_tflops").contains("no problem has two rows with 'oof_pred_tflops'")
        );
    }
}
