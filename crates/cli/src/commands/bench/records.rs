//! Answers from measurements in any format that the offline tools read.

use std::path::Path;

use ck_select::pool::Pool;
use ck_select_measure::runner::RecordedOutcomes;
use ck_select_measurements::outcome::{FailureClass, Measurement, Outcome};
use ck_select_measurements::{Measurements, Row, RowScope};

use crate::error::CliError;

/// Reads the records of the pool's kernels.
pub(super) fn read(path: &Path, pool: &Pool) -> Result<RecordedOutcomes, CliError> {
    let measurements = Measurements::read(&[path], RowScope::all(pool.op()))?;
    // A time on one GPU says nothing about another, and no option here selects one.
    if let Err(mixed) = measurements.common_arch() {
        let file = path.display();
        fail!("{file}: {mixed}; bench has no such option, `ckselect convert` has");
    }
    let mut recorded = RecordedOutcomes::new(path.display().to_string());
    for row in measurements.rows() {
        let kernel = &measurements.kernels()[row.kernel as usize].name;
        if pool.position(kernel).is_some() {
            recorded.insert(
                kernel,
                &measurements.problems()[row.problem as usize],
                outcome(&measurements, row),
            );
        }
    }
    Ok(recorded)
}

/// A row's time, or why it has none, as far as its file says.
fn outcome(measurements: &Measurements, row: &Row) -> Outcome {
    if !row.is_valid {
        let failure = usize::from(row.failure).checked_sub(1).map(|class| &measurements.failures()[class]);
        let class = failure.and_then(|failure| failure.class.parse().ok());
        return Outcome::failed(class.unwrap_or(FailureClass::Invalid), "");
    }
    Outcome::Measured(Measurement {
        tflops: row.tflops,
        bandwidth_gb_s: Some(row.bandwidth_gb_s).filter(|speed| speed.is_finite()),
        ..Measurement::new(row.latency_ms, 0.0)
    })
}
