//! Which words of a problem a file specifies itself.

use crate::cells::Fields;
pub use crate::defaults::StatedFields;
use crate::fmha;
use crate::kernel::KernelKind;
use crate::operation::OperationProblem as _;
use crate::problem::Problem;

impl StatedFields {
    /// The words that named cells specify.
    pub fn by(fields: &dyn Fields) -> Self {
        let has = |name: &str| fields.cell(name).is_some();
        Self {
            direction: ["direction", "variant"].into_iter().any(has),
            dtype: ["dtype", "dtype_in", "dtype_a", "data_type"].into_iter().any(has),
            other_types: ["dtype_wei", "dtype_out", "dtype_b", "dtype_c"].into_iter().any(has),
            layout: has("layout"),
            signature: fmha::has_signature(has),
        }
    }

    /// A problem of which these words are specified, as a kernel would run it: the other words are the
    /// kernel's. `None` if the kernel computes something else.
    pub fn completed(self, problem: &Problem, kernel: &KernelKind) -> Option<Problem> {
        self.filled(problem, kernel).filter(|problem| kernel.matches(problem))
    }

    /// The same whether the kernel computes it or not; `None` if it is of another operation.
    pub fn filled(self, problem: &Problem, kernel: &KernelKind) -> Option<Problem> {
        let pair = (problem, kernel);
        crate::each_operation!(pair, (Problem(asked), KernelKind(own)) => Some(asked.filled(self, own).into()), None)
    }
}
