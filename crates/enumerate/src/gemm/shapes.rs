//! Random GEMMs.

use ck_select_types::problem::GemmProblem;

use crate::shapes::Choice;
use crate::shapes::drawn::{Draw, OperationShapes, Random, any, stepped};

impl OperationShapes for GemmProblem {
    fn draw(_draw: &Draw, choice: &Choice, _number: usize, random: &mut Random) -> Self {
        let m = if random.below(4) == 0 { any(random, 0, 12) } else { stepped(random, 0, 13) };
        let n = 8 * any(random, 1, 11);
        let k = 8 * any(random, 1, 11);
        Self::new(m, n, k).with_dtype(choice.dtype)
    }
}
