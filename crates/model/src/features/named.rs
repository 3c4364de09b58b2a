//! Rows that name their kernel: the name describes it, and the other cells must agree.

use super::claims::{Claims, NameClaim};
use super::operation::OperationTerms;
use super::reader::Reader;
use super::sides::{KernelFeatures as _, NameCell};
use super::{Extractor, FieldError, KernelTerms, ProblemTerms, SideError, Uncoded, asked_problem};
use crate::cells::{Cell, Fields};
use crate::inputs;
use crate::kernel::{Kernel, KernelKind};
use crate::problem::InvalidField;
use crate::vocab::{ConvLayout, Direction, Op};
use ck_select_types::each_operation;
use ck_select_types::operation::OperationProblem as _;

/// The cells that may hold a kernel's name: our tables and upstream's have the first, benchmark CSVs the
/// second.
pub const NAME_COLUMNS: [&str; 2] = ["kernel_name", "kernel"];

impl NameClaim {
    /// Whether a cell of this name agrees, or is absent.
    fn agrees(&self, field: &str, reader: &Reader<'_>) -> Result<bool, FieldError> {
        Ok(match self {
            Self::Number(said) => reader.opt_int(field)?.is_none_or(|found| found == *said),
            Self::Flag(said) => reader.opt_flag(field)?.is_none_or(|found| found == *said),
            Self::Word(_) => reader.text(field)?.is_none_or(|found| {
                self.word() == Some(found)
                    // `fwd` and `forward` are the same direction.
                    || found.parse().is_ok_and(|found: Direction| Some(found.as_str()) == self.word())
                    || (field == "layout" && same_layout(found, self.word()))
            }),
        })
    }
}

/// The kernel that a row names.
#[derive(Debug, Clone)]
pub(crate) struct Named {
    kernel: KernelKind,
    problem: NamedProblem,
}

/// What a kernel's name says about the problems that it computes: cells that may be left out, but must not
/// differ.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct NamedProblem(Claims);

/// Cells, with absent ones taken from others.
pub(crate) struct Overlay<'a> {
    pub(crate) first: &'a dyn Fields,
    pub(crate) then: &'a dyn Fields,
}

impl Fields for Overlay<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        self.first.get(name).or_else(|| self.then.get(name))
    }

    fn cell(&self, name: &str) -> Option<Cell<'_>> {
        self.first.cell(name).or_else(|| self.then.cell(name))
    }
}

impl Fields for NamedProblem {
    fn cell(&self, name: &str) -> Option<Cell<'_>> {
        self.0.iter().find(|(field, _)| *field == name).map(|(_, said)| said.cell())
    }
}

impl NamedProblem {
    /// Looks at a problem's cells, with absent ones taken from the name.
    pub(crate) fn over<T>(&self, fields: &dyn Fields, look: impl FnOnce(&dyn Fields) -> T) -> T {
        look(&Overlay { first: fields, then: self })
    }
}

impl Named {
    /// The kernel that a row names; `None` if it names none. Cells that contradict the name are errors.
    ///
    /// A name that follows no grammar is a label, because upstream's tools accept any text. One that begins
    /// like a kernel's name is most likely a mistake: it is an error if absent cells are, or if nothing else
    /// describes the kernel.
    pub(crate) fn read(extractor: &Extractor, row: &dyn Fields) -> Result<Option<Self>, FieldError> {
        let mut found: Option<(&'static str, &str, KernelKind)> = None;
        let reader = Reader::new(extractor, row);
        for column in NAME_COLUMNS {
            let Some(Cell::Word(name)) = reader.cell(column) else { continue };
            if !Kernel::begins_a_name(name) {
                continue;
            }
            match Kernel::from_name(name) {
                Ok(Kernel { kind, .. }) => match &found {
                    Some((first, other, known)) if *known != kind => {
                        let expected = format!("'{other}', as {first} says");
                        return Err(InvalidField::new(column, format_args!("'{name}'"), expected));
                    }
                    Some(_) => {}
                    None => found = Some((column, name, kind)),
                },
                Err(error) if begins_like_a_kernel(name) => {
                    let inputs = inputs::of_kernel(extractor.schema.op());
                    if !reader.is_lenient() || inputs.iter().all(|input| row.cell(input).is_none()) {
                        let expected = format!("a kernel's name: {}", error.reason);
                        return Err(InvalidField::new(column, format_args!("'{name}'"), expected));
                    }
                }
                Err(_) => {}
            }
        }
        let Some((column, name, kernel)) = found else { return Ok(None) };
        if kernel.op() != extractor.schema.op() {
            let expected = format!("a {} kernel", extractor.schema.op());
            return Err(InvalidField::new(column, format_args!("'{name}'"), expected));
        }
        let mut problem = NamedProblem::new(&kernel);
        let cell = NameCell(column, name);
        if !reader.is_lenient() {
            problem.0.extend(each_operation!(&kernel, KernelKind(own) => own.problem_claims(1)));
        }
        agree(&reader, &claims_on_kernel(&kernel), || cell.says())?;
        agree(&reader, &problem.0, || cell.says())?;
        each_operation!(&kernel, KernelKind(own) => own.agree(extractor, row, cell))?;
        Ok(Some(Self { kernel, problem }))
    }

    /// What an extractor's features know about the kernel.
    pub(crate) fn side(&self, extractor: &Extractor) -> Result<KernelTerms, FieldError> {
        extractor.kernel_side(&self.kernel).map_err(|error| match error {
            SideError::Field(error) => error,
            SideError::Op { model, found, .. } => InvalidField::new(NAME_COLUMNS[0], found, model.as_str()),
            SideError::Universal => InvalidField::new("features", "those of a universal model", "a pool"),
        })
    }

    /// The kernel.
    pub(crate) const fn kernel(&self) -> &KernelKind {
        &self.kernel
    }

    /// Refuses a kernel of another variant than the row's problem, if absent cells are errors.
    pub(crate) fn check_variant(&self, extractor: &Extractor, row: &dyn Fields) -> Result<(), FieldError> {
        let columns = each_operation!(self.kernel.op(), Own => <Own as OperationTerms>::VARIANT);
        if let (Some(columns), Uncoded::Error) = (columns, extractor.rules.uncoded)
            && !self.kernel.matches_request(&self.problem.over(row, |all| asked_problem(extractor, all))?)
        {
            let expected = format!("one for the row's {columns}");
            return Err(InvalidField::new(NAME_COLUMNS[0], "a kernel of another variant", expected));
        }
        Ok(())
    }

    /// What the name says about problems.
    pub(crate) const fn problem(&self) -> &NamedProblem {
        &self.problem
    }

    /// What the name says about problems, alone.
    pub(crate) fn into_problem(self) -> NamedProblem {
        self.problem
    }
}

/// Whether two words are the same convolution layout; CK's tools use `nhwgc` and `ndhwgc` for 3D.
fn same_layout(one: &str, other: Option<&str>) -> bool {
    let order = |word: &str| word.parse().ok().map(ConvLayout::order);
    order(one).is_some() && order(one) == other.and_then(order)
}

impl NamedProblem {
    fn new(kernel: &KernelKind) -> Self {
        let mut claims = each_operation!(kernel, KernelKind(own) => own.problem_claims(0));
        let absent = each_operation!(kernel, KernelKind(own) => own.absent_axes());
        claims.extend(absent.iter().map(|&(cell, neutral)| (cell, NameClaim::Number(neutral))));
        Self(claims)
    }

    /// Reads the problem of a row that names the kernel; its cells were checked against the name.
    pub(crate) fn complete(
        &self,
        extractor: &Extractor,
        row: &dyn Fields,
    ) -> Result<ProblemTerms, FieldError> {
        self.over(row, |all| ProblemTerms::read(extractor, all))
    }

    /// Refuses a problem that contradicts the names of the kernels in question.
    pub(crate) fn check(&self, extractor: &Extractor, problem: &dyn Fields) -> Result<(), FieldError> {
        agree(&Reader::new(extractor, problem), &self.0, || "the kernels' names say".to_owned())
    }
}

/// What a kernel's name says, as the cells that upstream's converters derive from it: the numbers of a
/// convolution's tile in the order of the name. Names of GEMMs give more cells than upstream reads.
pub fn cells_of_name(kernel: &KernelKind) -> Vec<(&'static str, NameClaim)> {
    let mut cells = vec![("op_type", NameClaim::Word(kernel.op().as_str()))];
    cells.extend(claims_on_kernel(kernel));
    cells.extend(each_operation!(kernel, KernelKind(kernel) => kernel.converted()));
    cells
}

/// What a name says about the kernel alone, apart from values with more than one reading.
fn claims_on_kernel(kernel: &KernelKind) -> Claims {
    let several_readings = ["pad_m", "pad_n", "pad_k", "qscale"];
    let cells = inputs::of_kernel(kernel.op()).iter().filter(|cell| !several_readings.contains(cell));
    each_operation!(kernel, KernelKind(own) => own.kernel_claims(cells))
}

/// Whether a text can hardly be anything but a kernel's name.
fn begins_like_a_kernel(name: &str) -> bool {
    Op::ALL.iter().any(|op| each_operation!(op, Own => Own::hardly_else_than_a_name(name)))
}

pub(super) fn agree(
    reader: &Reader<'_>,
    said: &[(&'static str, NameClaim)],
    by: impl Fn() -> String,
) -> Result<(), FieldError> {
    for (field, said) in said {
        if !said.agrees(field, reader)? {
            let found = reader.found(field);
            return Err(InvalidField::new(*field, found, format!("{said}, as {}", by())));
        }
    }
    Ok(())
}
