//! The problems in the cells of rows.

use std::collections::BTreeSet;

use ck_select_types::cells::Fields;
use ck_select_types::each_operation;
use ck_select_types::field::{Field, position};
use ck_select_types::kernel::{Kernel, KernelKind};
use ck_select_types::operation::Operation;
use ck_select_types::problem::{Problem, ProblemDefaults};
use ck_select_types::sheet::SheetError;
use ck_select_types::vocab::{Arch, Op};

use crate::operation::OperationData as _;

/// Columns that describe problems, under all their names. Direction, types and layout are words of the
/// kernel's name.
pub(crate) fn columns() -> impl Iterator<Item = &'static str> {
    let names: BTreeSet<&str> =
        Op::ALL.iter().flat_map(|&op| columns_of(op)).chain(["arch", GFX_NAME]).collect();
    names.into_iter()
}

/// Columns of an operation's problems: fields under all their names, and what is no field. The words that every
/// table of the operation has are those of the kernel's name, unless no problem is without them.
fn columns_of(op: Op) -> impl Iterator<Item = &'static str> {
    let Operation { problem, required, columns, optional_columns, extra_keys, .. } = Operation::get(op);
    let is_read = |name: &&&str| {
        let field = position(problem, name).map(|at| &problem[at]);
        required.contains(name) || field.is_none_or(Field::is_number)
    };
    let optional = optional_columns.iter().copied().flatten().chain(*extra_keys);
    columns.iter().filter(is_read).chain(optional).flat_map(|&name| {
        let field = position(problem, name).map(|at| &problem[at]);
        field.into_iter().flat_map(Field::names).chain(field.is_none().then_some(name))
    })
}

/// The architecture as upstream's converter records it, for rows that have no other, too.
const GFX_NAME: &str = "hw_gfx_name";

/// The operation whose columns a table has: of several the requested one, else that which lacks the fewest.
pub(super) fn op_of(columns: &[String], wanted: Option<Op>) -> Op {
    let has = |name: &&&str| columns.iter().any(|column| column.eq_ignore_ascii_case(name));
    let is_shown = |op: &Op| Operation::get(*op).identifying_keys.iter().any(|name| has(&name));
    let lacks = |op: &Op| Operation::get(*op).required.iter().filter(|name| !has(name)).count();
    let shown = || Op::ALL.iter().copied().filter(is_shown);
    wanted.filter(is_shown).or_else(|| shown().min_by_key(lacks)).or(wanted).unwrap_or(Op::ALL[0])
}

/// Refuses a table without the columns that every problem needs.
pub(crate) fn need_columns(file: &str, columns: &[String], wanted: Option<Op>) -> Result<(), SheetError> {
    // A kernel's name says how many dimensions there are.
    let has = |name: &str| name == "ndim" || columns.iter().any(|column| column == name);
    match Operation::missing_column(op_of(columns, wanted), &has) {
        Some(column) => Err(SheetError::no_column(file, column, columns)),
        None => Ok(()),
    }
}

/// The problem of a row: extents from its cells, direction, dimensions, types and layout from its kernel's
/// name.
pub fn problem_of(kernel: &Kernel, cells: &dyn Fields, arch: Option<Arch>) -> Result<Problem, String> {
    let recorded = cells.get(GFX_NAME);
    let recorded = recorded.map(|word| word.parse::<Arch>().map_err(|error| format!("{GFX_NAME}: {error}")));
    let recorded = recorded.transpose()?;
    // The reader parses the architecture that is assumed, because it can report where it is.
    let defaults = ProblemDefaults { arch: recorded.or(arch), ..ProblemDefaults::new(kernel.op()) };
    let problem = each_operation!(&kernel.kind, KernelKind(own) as Own => {
        Own::from_row((&kernel.name, own), cells, &defaults).map(Problem::from)?
    });
    match (recorded, problem.arch()) {
        (Some(found), Some(expected)) if found != expected => {
            Err(format!("{GFX_NAME}: found {found}, expected {expected} as in arch"))
        }
        _ => Ok(problem),
    }
}

#[cfg(test)]
mod tests {
    use ck_select_types::field::Kind;

    use super::*;

    /// A table that was neither of convolutions nor of attention was read as one of GEMMs.
    #[test]
    fn a_table_is_of_the_operation_whose_columns_it_has() {
        for &op in Op::ALL {
            let columns: Vec<_> = Operation::get(op).columns.iter().map(|&name| name.to_owned()).collect();
            assert_eq!(op_of(&columns, None), op);
        }
    }

    /// A number that no table had was lost when measurements were written or read, and two problems became
    /// one (5ff4fb0b).
    #[test]
    fn every_number_of_a_problem_is_a_column() {
        for &op in Op::ALL {
            let Operation { problem, columns, optional_columns, .. } = Operation::get(op);
            let written: Vec<_> = columns.iter().chain(optional_columns.iter().copied().flatten()).collect();
            for field in problem.iter().filter(|field| matches!(field.kind, Kind::Number)) {
                let is_written = field.names().any(|name| written.contains(&&name));
                assert!(is_written || field.name == "ndim", "{op}: {}: see optional_columns", field.name);
            }
        }
    }
}
