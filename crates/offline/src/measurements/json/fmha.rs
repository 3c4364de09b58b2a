//! Results of `fmha_benchmark`: one object per kernel and problem, with the columns of its CSV.

use ck_select_types::problem::{FMHA_COLUMNS, HeaderError, Problem, check_names};
use ck_select_types::vocab::Op;
use serde_json::{Map, Value};

use super::super::names::Named;
use super::super::numbers;
use super::super::problems::{OwnedCells, problem_of};
use super::super::record::Figures;
use super::{Fault, Results, figure, unknown};

impl Results<'_> {
    /// One result, whose sizes are in an object of their own; false if it is for a kernel or an architecture
    /// that was not requested.
    pub(super) fn attention(&mut self, result: &Value, sizes: &Map<String, Value>) -> Result<bool, Fault> {
        let name = result.get("kernel").and_then(Value::as_str).unwrap_or_default();
        let (id, class) = match self.names.get(name.as_bytes())? {
            Named::Other => return Ok(false),
            Named::Taken { id, class } => (id, class),
        };
        let keys: Vec<&str> = sizes.keys().map(String::as_str).collect();
        if let Err(HeaderError::Unknown(wrong)) = check_names(Op::Fmha, &keys, &[]) {
            return Err(format!("problem: {}", unknown(&wrong)).into());
        }
        // Null is the number of splits of a kernel that does not split.
        let text = |value: &Value| if value.is_null() { String::new() } else { value.to_string() };
        let cell = |name| sizes.get(name).or(result.get(name).filter(|_| name == "num_splits")).map(text);
        let mut cells = OwnedCells::default();
        cells.0.extend(FMHA_COLUMNS.into_iter().filter_map(|name| Some((name, cell(name)?))));
        cells.0.extend(self.arch.clone().map(|arch| ("arch", arch)));
        let key = format!("{class} {:?}", cells.0);
        let filter = *self.names.filter();
        let read = || problem_of(self.names.kernel(id), &cells, filter.unrecorded());
        let &(ref problem, serial): &(Problem, u64) = self.problems.get(key.as_bytes(), read)?;
        if filter.arch.is_some() && problem.arch() != filter.arch {
            self.sink.other_arch(problem.arch());
            return Ok(false);
        }
        let status = result.get("status").and_then(Value::as_str).unwrap_or_default();
        let recorded = numbers::status(status.as_bytes())?;
        let (tflops, latency) = (figure(result, "tflops")?, figure(result, "latency_ms")?);
        let figures = Figures::judge(tflops, latency, f64::NAN, recorded, None, problem)?;
        let error = Some(status).filter(|_| recorded == Some(false));
        let problem = *problem;
        self.give(id, &problem, serial, figures, error)
    }
}
