//! Answers from records of earlier measurements.

use std::collections::HashMap;

use ck_select::kernel::Kernel;
use ck_select::problem::Problem;
use serde_json::{Value, json};

use super::Answers;
use crate::outcome::{FailureClass, Outcome};

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
