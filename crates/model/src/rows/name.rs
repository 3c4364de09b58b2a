//! Rows that name their kernel: the name describes it, and the other cells must agree.

use serde_json::{Map, Value};

use super::operation::{NameCell, OperationRows};
use crate::cells::{Cell, Fields};
use crate::features::{Extractor, Uncoded};
use crate::inputs;
use crate::kernel::{Kernel, KernelKind, NameError};
use crate::problem::InvalidField;
use crate::vocab::Op;
use ck_select_types::each_operation;
use ck_select_types::field::{self, Field, Kind, Record};
use ck_select_types::operation::{KernelOf, OperationKernel as _};

/// The cells that may hold a kernel's name: our tables and upstream's have the first, benchmark CSVs the
/// second.
pub const NAME_COLUMNS: [&str; 2] = ["kernel_name", "kernel"];

/// The kernel that a row names; `None` if it names none.
///
/// A name that follows no grammar is a label, because upstream's tools accept any text. One that begins like a
/// kernel's name is most likely a mistake: it is an error if absent cells are, or if nothing else describes the
/// kernel.
pub(super) fn read<'c>(
    extractor: &Extractor,
    cells: &'c dyn Fields,
) -> Result<Option<(NameCell<'c>, KernelKind)>, InvalidField> {
    let mut named: Option<(NameCell<'c>, KernelKind)> = None;
    for column in NAME_COLUMNS {
        let Some(Cell::Word(name)) = cells.cell(column) else { continue };
        if !Kernel::begins_a_name(name) {
            continue;
        }
        let refused = |expected: String| Err(InvalidField::new(column, format_args!("'{name}'"), expected));
        match Kernel::from_name(name) {
            Ok(Kernel { kind, .. }) => match &named {
                Some((NameCell(first, other), known)) if *known != kind => {
                    return refused(format!("'{other}', as {first} says"));
                }
                Some(_) => {}
                None => named = Some((NameCell(column, name), kind)),
            },
            Err(error) if begins_like_a_kernel(name) && !may_be_a_label(extractor, cells) => {
                return refused(format!("a kernel's name: {}", error.reason));
            }
            Err(_) => {}
        }
    }
    if let Some((NameCell(column, name), kernel)) = &named
        && kernel.op() != extractor.schema.op()
    {
        let expected = format!("a {} kernel", extractor.schema.op());
        return Err(InvalidField::new(*column, format_args!("'{name}'"), expected));
    }
    Ok(named)
}

/// Whether a text can hardly be anything but a kernel's name.
fn begins_like_a_kernel(name: &str) -> bool {
    Op::ALL.iter().any(|op| each_operation!(op, Own => KernelOf::<Own>::hardly_else_than_a_name(name)))
}

/// Whether a row describes its kernel without a name, for upstream's tools.
fn may_be_a_label(extractor: &Extractor, cells: &dyn Fields) -> bool {
    let mut inputs = inputs::of_kernel(extractor.schema.op()).iter();
    extractor.rules.uncoded == Uncoded::Upstream && inputs.any(|input| cells.cell(input).is_some())
}

/// Refuses a row whose cells contradict its kernel's name.
pub(super) fn check(
    extractor: &Extractor,
    cells: &dyn Fields,
    name: NameCell<'_>,
    kernel: &KernelKind,
) -> Result<(), InvalidField> {
    each_operation!(kernel, KernelKind(kernel) as Own => {
        agree_with(extractor, kernel, of_kernel::<Own>(), cells, name)?;
        Own::agree(extractor, kernel, cells, name)
    })
}

/// The cells that a name says alone, apart from values with more than one reading.
fn of_kernel<P: OperationRows>() -> impl Iterator<Item = &'static str> {
    let cells = P::OPERATION.kernel_cells.iter().filter(|cell| !P::SEVERAL_READINGS.contains(cell));
    P::BESIDE.iter().chain(cells).copied()
}

/// Refuses cells of a row with another value than its kernel has; cells that are none of its fields are left
/// out.
pub(super) fn agree_with<K: Record>(
    extractor: &Extractor,
    kernel: &K,
    names: impl IntoIterator<Item = &'static str>,
    cells: &dyn Fields,
    name: NameCell<'_>,
) -> Result<(), InvalidField> {
    let values = field::values(kernel);
    let said = names.into_iter().filter_map(|name| {
        let index = field::position(K::FIELDS, name)?;
        Some((name, &K::FIELDS[index], values[index]))
    });
    let is_lenient = extractor.rules.uncoded == Uncoded::Upstream;
    agree(said, cells, is_lenient, |_, [cell, own]| cell == own, || name.says())
}

/// Refuses cells that hold another value than somebody says.
pub(super) fn agree(
    said: impl Iterator<Item = (&'static str, &'static Field, i64)>,
    cells: &dyn Fields,
    is_lenient: bool,
    is_same: impl Fn(&str, [i64; 2]) -> bool,
    says: impl Fn() -> String,
) -> Result<(), InvalidField> {
    for (column, field, value) in said {
        let Some(cell) = cells.cell(column) else { continue };
        let own = match field.kind {
            Kind::Word(_) => field.code(cell.text(column)?),
            Kind::Flag => Some(cell.flag(column)?.into()),
            Kind::Number | Kind::Shape if is_lenient => Some(cell.truncated(column)?),
            Kind::Number | Kind::Shape => Some(cell.whole(column)?),
        };
        if !own.is_some_and(|own| is_same(field.name, [own, value])) {
            let expected = format!("{}, as {}", field.shown(value), says());
            return Err(InvalidField::new(column, cell, expected));
        }
    }
    Ok(())
}

/// The contents of a kernel's name, as cells of a row: those that upstream's converters derive from it, and more
/// of a GEMM than upstream reads; with the name itself, because the other cells may have more than one reading.
pub fn describe_name(name: &str) -> Result<Value, NameError> {
    let kernel = Kernel::from_name(name)?.kind;
    let mut cells = Map::new();
    cells.insert("op_type".to_owned(), kernel.op().as_str().into());
    each_operation!(&kernel, KernelKind(kernel) as Own => {
        for column in of_kernel::<Own>().chain(Own::CONVERTED.iter().copied()) {
            if let Some((field, value)) = value(kernel, column) {
                cells.insert(column.to_owned(), match field.words() {
                    Some(_) => field.text(value).into(),
                    None => value.into(),
                });
            }
        }
        cells.extend(Own::converted(kernel).into_iter().map(|(column, number)| (column.to_owned(), number.into())));
    });
    cells.insert(NAME_COLUMNS[0].to_owned(), name.into());
    Ok(Value::Object(cells))
}

/// A kernel's field by any of its names, and its value.
pub(super) fn value<K: Record>(kernel: &K, name: &str) -> Option<(&'static Field, i64)> {
    field::position(K::FIELDS, name).map(|index| (&K::FIELDS[index], field::values(kernel)[index]))
}
