//! Answers from records of earlier measurements.

use std::collections::HashMap;
use std::path::Path;

use ck_select::cells::Fields;
use ck_select::kernel::Kernel;
use ck_select::listing::{StatedFields, check_columns};
use ck_select::problem::{Problem, ProblemDefaults};
use ck_select::vocab::Op;
use csv::StringRecord;
use serde_json::{Value, json};

use super::Answers;
use crate::error::{MeasureError, at};
use crate::outcome::{FailureClass, Measurement, Outcome};
use crate::problems::AskedProblem;
use crate::row::NamedRow;

/// Outcomes by kernel name and by the problem as that kernel ran it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Recorded {
    source: String,
    outcomes: HashMap<String, HashMap<Problem, Outcome>>,
}

impl Recorded {
    /// No records yet; the sidecar names their source.
    pub fn new(source: impl Into<String>) -> Self {
        Self { source: source.into(), outcomes: HashMap::new() }
    }

    /// Adds a record, which replaces an earlier one of the same kernel and problem. The architecture is
    /// ignored, since benchmark CSVs do not record it.
    pub fn insert(&mut self, kernel: &str, problem: &Problem, outcome: Outcome) {
        let problem = problem.on(None);
        if let Some(known) = self.outcomes.get_mut(kernel) {
            known.insert(problem, outcome);
        } else {
            self.outcomes.insert(kernel.to_owned(), HashMap::from([(problem, outcome)]));
        }
    }

    /// Reads a benchmark CSV of an operation from a file; see [`Recorded::from_reader`].
    pub fn read(path: &Path, op: Op) -> Result<Self, MeasureError> {
        Self::from_reader(path, ck_select::files::open(path).map_err(at(path))?, op)
    }

    /// Reads a benchmark CSV of an operation: the columns `kernel`, those of the problem, `latency_ms` and,
    /// if present, `tflops`, `non_zero` and `error_msg`. The last of repeated measurements counts. `label`
    /// names the text in errors.
    pub fn from_reader(label: &Path, text: impl std::io::Read, op: Op) -> Result<Self, MeasureError> {
        let malformed = |error: csv::Error| MeasureError::file(label, error);
        let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).trim(csv::Trim::All).from_reader(text);
        let header = reader.headers().map_err(malformed)?.clone();
        let name_column =
            ["kernel", "kernel_name"].into_iter().find(|name| header.iter().any(|c| c == *name));
        let Some(name_column) = name_column else {
            let found: Vec<&str> = header.iter().collect();
            let reason = format!("found columns {}, expected 'kernel' among them", found.join(","));
            return Err(MeasureError::file(label, reason));
        };
        // A misspelt column would turn rows into records of other problems.
        let names: Vec<&str> = header.iter().collect();
        check_columns(
            op,
            &names,
            &["kernel", "latency_ms", "tflops", "bandwidth_gb_s", "non_zero", "error_msg"],
        )
        .map_err(|error| MeasureError::file(label, format!("header: {error}")))?;
        let mut recorded = Self::new(label.display().to_string());
        let mut kernels: HashMap<String, Kernel> = HashMap::new();
        let mut record = StringRecord::new();
        while reader.read_record(&mut record).map_err(malformed)? {
            let line = record.position().map_or(0, csv::Position::line);
            let fault = |reason: String| MeasureError::file(label, format!("line {line}: {reason}"));
            let row = NamedRow { header: &header, record: &record };
            let name = row.get(name_column).unwrap_or_default();
            if !kernels.contains_key(name) {
                let kernel = Kernel::from_name(name).map_err(|error| fault(error.to_string()))?;
                kernels.insert(name.to_owned(), kernel);
            }
            let problem = Problem::from_fields(op, &row, &ProblemDefaults::of(op))
                .map_err(|error| fault(error.to_string()))?;
            let stated = StatedFields::by(&row);
            let asked = AskedProblem { idx: 0, problem, stated };
            if let Some(problem) = kernels.get(name).and_then(|kernel| asked.for_kernel(kernel)) {
                let outcome = outcome(&row, &problem).map_err(fault)?;
                recorded.insert(name, &problem, outcome);
            }
        }
        Ok(recorded)
    }
}

/// What a row says.
fn outcome(row: &NamedRow<'_>, problem: &Problem) -> Result<Outcome, String> {
    let number = |name: &str| -> Result<Option<f64>, String> {
        let Some(text) = row.get(name) else { return Ok(None) };
        text.parse().map(Some).map_err(|_| format!("{name}: found '{text}', expected a number"))
    };
    if matches!(row.get("latency_ms"), None | Some("N/A")) {
        let said = row.get("error_msg").unwrap_or_default();
        let (word, message) = said.split_once(": ").unwrap_or((said, ""));
        return Ok(match FailureClass::of(word) {
            Some(class) => Outcome::failed(class, message),
            None => Outcome::failed(FailureClass::Invalid, said),
        });
    }
    let latency_ms = number("latency_ms")?.unwrap_or_default();
    if !(latency_ms > 0.0 && latency_ms.is_finite()) {
        return Ok(Outcome::failed(FailureClass::NotATime, format!("recorded as {latency_ms} ms")));
    }
    let computed = Measurement::of(latency_ms, problem.flops());
    Ok(Outcome::Measured(Measurement {
        tflops: number("tflops")?.unwrap_or(computed.tflops),
        bandwidth_gb_s: number("bandwidth_gb_s")?,
        non_zero: row.get("non_zero").and_then(|text| text.parse().ok()),
        ..computed
    }))
}

impl Answers for Recorded {
    fn describe(&self) -> Value {
        json!({ "records": self.source })
    }

    fn answer(&self, kernel: &Kernel, problem: &Problem) -> Outcome {
        let found = self.outcomes.get(&kernel.name).and_then(|known| known.get(&problem.on(None)));
        found.cloned().unwrap_or_else(|| Outcome::failed(FailureClass::NotRecorded, ""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "grouped_conv_bwd_data_fp16_2d_64x64x64_compv3";

    fn recorded(rows: &str) -> Result<Recorded, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("r.csv");
        std::fs::write(&path, rows).unwrap();
        Recorded::read(&path, Op::Conv)
            .map_err(|error| error.to_string().replace(&path.display().to_string(), "r.csv"))
    }

    #[test]
    fn records_answer_for_the_kernels_own_problem() {
        let rows = format!(
            "kernel,N,C,K,Hi,Wi,Y,X,latency_ms,tflops,non_zero,error_msg\n{NAME},1,64,64,8,8,1,1,0.5,2.5,7,\n\
             {NAME},2,64,64,8,8,1,1,N/A,0,0,crash: signal 11\n{NAME},3,64,64,8,8,1,1,nan,0,0,\n"
        );
        let records = recorded(&rows).unwrap();
        let kernel = Kernel::from_name(NAME).unwrap();
        let ask = |n: u32| {
            let text = format!("N={n},C=64,K=64,Hi=8,Wi=8,Y=1,X=1,direction=bwd_data,dtype=fp16,arch=gfx950");
            let defaults = ProblemDefaults::of(Op::Conv);
            records.answer(&kernel, &Problem::parse(Op::Conv, &text, &defaults).unwrap())
        };
        let Outcome::Measured(first) = ask(1) else { panic!() };
        assert_eq!((first.latency_ms, first.tflops, first.non_zero), (0.5, 2.5, Some(7)));
        assert_eq!(ask(2), Outcome::failed(FailureClass::Crash, "signal 11"));
        assert!(matches!(ask(3), Outcome::Failed(failure) if failure.class == FailureClass::NotATime));
        assert!(matches!(ask(4), Outcome::Failed(failure) if failure.class == FailureClass::NotRecorded));
    }

    #[test]
    fn mistakes_name_the_line() {
        let error = recorded("name\na\n").unwrap_err();
        assert_eq!(error, "r.csv: found columns name, expected 'kernel' among them");
        let error =
            recorded(&format!("kernel,C,K,Hi,Wi,Y,X,latency_ms\n{NAME},64,64,8,8,1,1,fast\n")).unwrap_err();
        assert_eq!(error, "r.csv: line 2: latency_ms: found 'fast', expected a number");
    }
}
