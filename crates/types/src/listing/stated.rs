//! Which words of a problem a file specifies itself.

use crate::cells::Fields;
pub use crate::defaults::StatedFields;
use crate::each_operation;
use crate::field::position;
use crate::kernel::KernelKind;
use crate::operation::{Operation, OperationProblem as _};
use crate::problem::Problem;
use crate::vocab::Op;

impl StatedFields {
    /// The words that named cells specify.
    pub fn by(fields: &dyn Fields) -> Self {
        let has = |name: &str| fields.cell(name).is_some();
        let dtypes = Op::ALL.iter().filter_map(|&op| Operation::get(op).dtype_fields.split_first());
        // Of the first input, one type is all that most texts give, under any of its names.
        let firsts = Op::ALL.iter().filter_map(|&op| {
            let index = position(Operation::get(op).problem, Operation::get(op).dtype_fields.first()?)?;
            Some(Operation::get(op).problem[index].names())
        });
        Self {
            direction: ["direction", "variant"].into_iter().any(has),
            dtype: ["dtype", "data_type"].into_iter().chain(firsts.flatten()).any(has),
            other_types: dtypes.flat_map(|(_, others)| others).any(|name| has(name)),
            layout: has("layout"),
            signature: Op::ALL.iter().any(|op| each_operation!(op, Own => Own::states_signature(&has))),
        }
    }

    /// A problem of which these words are specified, as a kernel would run it: the other words are the
    /// kernel's. `None` if the kernel computes something else. Extents are not judged: a run tells.
    pub fn completed(self, problem: &Problem, kernel: &KernelKind) -> Option<Problem> {
        self.filled(problem, kernel)
            .filter(|problem| kernel.matches_request(problem) && kernel.matches_types(problem))
    }

    /// The problem with the kernel's words, whether the kernel computes it or not; `None` if it is of another
    /// operation.
    pub fn filled(self, problem: &Problem, kernel: &KernelKind) -> Option<Problem> {
        let pair = (problem, kernel);
        each_operation!(pair, (Problem(asked), KernelKind(own)) => Some(asked.filled(self, own).into()), None)
    }
}
