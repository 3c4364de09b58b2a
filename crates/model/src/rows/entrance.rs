//! The one entrance of rows: what comes in as cells goes on as values.
//!
//! A row describes a problem, a kernel, or both. Its cells become a partial record of the problem, over which
//! another one can be laid (the problem for which a pool of rows is ranked, what the kernel's name says), and
//! the kernel: by its name, with which the other cells must agree, or by cells that describe it. Features see
//! neither names of columns nor absent cells.
//!
//! ```text
//! cells ──┬── given ── over(asked) ── over(by name) ── problem ── terms ──┐
//!         └── named? ── kernel ─────────────────────────────── terms ──┴── features
//! ```
//!
//! Strict rows ([`Uncoded::Error`]) are read as text is, say more than a problem in text needs to, and are
//! checked as problems are everywhere. Lenient ones have upstream's defaults; see [`upstream`](super::upstream).

use ck_select_types::each_operation;

use super::name;
use super::operation::{GivenProblem, KernelOf, OperationRows};
use super::upstream::Upstream;
use crate::cells::{Cell, Fields};
use crate::directory::ModelKey;
use crate::features::{
    Engine, Extractor, KernelFeatures as _, KernelTerms, ProblemTerms, TermsError, Uncoded,
};
use crate::given::{self, FieldName, Given};
use crate::hardware::Hardware;
use crate::inputs;
use crate::kernel::KernelKind;
use crate::operation::Operation;
use crate::problem::{InvalidField, Problem, ProblemDefaults};

/// Turns rows into values for the features of an extractor. The names under which cells are looked up are settled
/// once.
#[derive(Debug, Clone)]
pub struct Entrance {
    extractor: Extractor,
    /// All names of a problem's fields.
    problem_fields: Vec<FieldName>,
    /// The names of a problem's fields that rows have.
    row_fields: Vec<FieldName>,
    /// The names of the fields of a kernel without a name.
    kernel: Vec<FieldName>,
    /// The names of a problem's fields that say which kernel a row is, if rows are kernels alone.
    shared: Vec<FieldName>,
}

/// A row as values.
pub(super) struct RowValues {
    pub(super) problem: RowProblem,
    pub(super) kernel: Option<KernelKind>,
}

/// A problem as far as a row gives it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RowProblem {
    /// The fields that cells give.
    pub(super) given: GivenProblem,
    /// The fields that the name of the row's kernel gives.
    pub(super) by_name: GivenProblem,
}

impl Entrance {
    /// The entrance to an extractor's features.
    pub fn new(extractor: &Extractor) -> Self {
        let is_lenient = extractor.rules.uncoded == Uncoded::Upstream;
        each_operation!(extractor.schema.op(), Own => {
            let problem_fields: Vec<_> = if is_lenient {
                FieldName::of_columns::<Own>(<Own as Upstream>::PROBLEM).collect()
            } else {
                FieldName::all::<Own>().collect()
            };
            let words = if is_lenient { &[] } else { <Own as Upstream>::KERNEL_WORDS };
            let kernel = [<Own as Upstream>::KERNEL, words].into_iter();
            let kernel = kernel.flat_map(FieldName::of_columns::<KernelOf<Own>>).collect();
            let row_fields = problem_fields.clone();
            Self { extractor: extractor.clone(), problem_fields, row_fields, kernel, shared: Vec::new() }
        })
    }

    /// The entrance of a table that has some columns, whose rows are kernels for a problem from elsewhere.
    pub(super) fn of_kernels(&self, has: impl Fn(&str) -> bool) -> Self {
        let of_kernels = inputs::of_kernel(self.extractor.schema.op());
        let columns = self.problem_fields.iter().filter(|field| has(field.name));
        let (shared, row_fields) = columns.partition(|field| of_kernels.contains(&field.name));
        let kernel = self.kernel.iter().filter(|field| has(field.name)).copied().collect();
        let (extractor, problem_fields) = (self.extractor.clone(), self.problem_fields.clone());
        Self { extractor, problem_fields, row_fields, kernel, shared }
    }

    pub(super) fn is_lenient(&self) -> bool {
        self.extractor.rules.uncoded == Uncoded::Upstream
    }

    /// Fills the features of a row of named cells. The hardware is the extractor's, overridden by `hw_*`
    /// cells.
    pub fn fill(&self, cells: &dyn Fields, features: &mut [f64]) -> Result<(), InvalidField> {
        let hardware = self.hardware(cells)?;
        self.fill_for(cells, &hardware, |_| Ok(()), features)
    }

    /// Fills the features of a row for a GPU with these constants, whatever cells say, unless what the row says
    /// about its problem is refused.
    pub(super) fn fill_for(
        &self,
        cells: &dyn Fields,
        hardware: &Hardware,
        judge: impl FnOnce(&GivenProblem) -> Result<(), InvalidField>,
        features: &mut [f64],
    ) -> Result<(), InvalidField> {
        let row = self.row(cells)?;
        let given = self.over(&row.problem.given, &row.problem.by_name)?;
        judge(&given)?;
        let (problem, terms) = self.problem(&given)?;
        if let Some(kernel) = &row.kernel {
            self.check_variant(&problem, kernel)?;
        }
        let kernel = self.kernel(row.kernel.as_ref(), cells)?;
        self.extractor.schema.fill(&terms, &kernel, hardware, features);
        Ok(())
    }

    /// The kernel of a row as features see it.
    pub fn kernel_terms(&self, cells: &dyn Fields) -> Result<KernelTerms, InvalidField> {
        let row = self.row(cells)?;
        self.kernel(row.kernel.as_ref(), cells)
    }

    /// The problem as far as a row gives it, and the kernel that the row names. Cells that contradict the name are
    /// errors.
    pub(super) fn row(&self, cells: &dyn Fields) -> Result<RowValues, InvalidField> {
        let Some((name, kernel)) = name::read(&self.extractor, cells)? else {
            let given = self.read(cells, &self.row_fields)?;
            let by_name = each_operation!(given, GivenProblem(_) as Own => Given::<Own>::default().into());
            return Ok(RowValues { problem: RowProblem { given, by_name }, kernel: None });
        };
        name::check(&self.extractor, cells, name, &kernel)?;
        let by_name = self.by_name(&kernel);
        self.agree(&by_name, cells, || name.says())?;
        let given = self.read(cells, &self.row_fields)?;
        Ok(RowValues { problem: RowProblem { given, by_name }, kernel: Some(kernel) })
    }

    /// A problem from elsewhere, as far as cells give it.
    pub(super) fn given(&self, cells: &dyn Fields) -> Result<GivenProblem, InvalidField> {
        self.read(cells, &self.problem_fields)
    }

    /// The fields in which a problem has to agree with a row that names no kernel; `None` if there are none.
    pub(super) fn signature(&self, cells: &dyn Fields) -> Result<Option<GivenProblem>, InvalidField> {
        if self.shared.is_empty() { Ok(None) } else { self.read(cells, &self.shared).map(Some) }
    }

    fn read(&self, cells: &dyn Fields, names: &[FieldName]) -> Result<GivenProblem, InvalidField> {
        let (op, names) = (self.extractor.schema.op(), names.iter().copied());
        let Operation { extra_keys, shared_keys, .. } = *Operation::get(op);
        // Vector widths need the words even where others have defaults.
        let needs_words = !self.is_lenient() || self.extractor.schema.needs_vector();
        if !self.is_lenient() {
            check_op(op, cells)?;
        }
        each_operation!(op, Own => {
            let given = if self.is_lenient() {
                let unknown = <Own as Upstream>::UNKNOWN;
                Given::<Own>::lenient(cells, names, Some(&unknown).filter(|_| !needs_words))?
            } else {
                Given::<Own>::strict(cells, names)?
            };
            Ok(given.with_beside(cells, (extra_keys, shared_keys), needs_words)?.into())
        })
    }

    /// The fields of problems that a kernel's name gives: cells that may be left out, but must not differ.
    fn by_name(&self, kernel: &KernelKind) -> GivenProblem {
        each_operation!(kernel, KernelKind(kernel) as Own => {
            let mut given = Given::<Own>::default();
            let said = Own::IN_NAME.cells(self.is_lenient());
            let said = said.filter_map(|name| Some((name, name::value(kernel, name)?.1)));
            for (name, value) in said.chain(Own::absent_axes(kernel).iter().copied()) {
                if let Some(field) = self.problem_fields.iter().find(|field| field.name == name) {
                    given.add(*field, value);
                }
            }
            given.into()
        })
    }

    /// Refuses cells of a problem that contradict what names of kernels say.
    pub(super) fn agree(
        &self,
        by_name: &GivenProblem,
        cells: &dyn Fields,
        says: impl Fn() -> String,
    ) -> Result<(), InvalidField> {
        each_operation!(by_name, GivenProblem(by_name) as Own => {
            name::agree(by_name.said(&self.problem_fields), cells, self.is_lenient(), Own::is_same, says)
        })
    }

    /// The fields of problems that a model's key gives.
    pub(super) fn of_model(&self, key: &ModelKey) -> GivenProblem {
        each_operation!(self.extractor.schema.op(), Own => {
            let mut given = Given::<Own>::default();
            for (name, value) in [
                ("direction", key.direction.map(|direction| direction as i64)),
                ("dtype", key.dtype.map(|dtype| dtype as i64)),
            ] {
                if let Some(value) = value {
                    given.or(name, value);
                }
            }
            given.into()
        })
    }

    /// Refuses a problem that the model is not for. Whatever a row leaves out matches the model, and words
    /// outside of the vocabulary are left to the features.
    pub(super) fn refuse_others(&self, given: &GivenProblem, key: &ModelKey) -> Result<(), InvalidField> {
        let of_model = self.of_model(key);
        let differs = each_operation!((given, &of_model), (GivenProblem(own), GivenProblem(other)) => {
            let is_same = |field: &str, [own_value, other]: [i64; 2]| own_value == other || own.is_unknown(field);
            own.differs(other, &self.problem_fields, is_same)
                .map(|(name, field, [own, other])| (name, field.text(own), field.text(other)))
        }, None);
        let arch = each_operation!(given, GivenProblem(given) => given.arch());
        let other_arch = || match (arch, key.arch) {
            (Some(arch), Some(own)) if arch != own => Some(("arch", arch.to_string(), own.to_string())),
            _ => None,
        };
        let Some((name, found, own)) = differs.or_else(other_arch) else { return Ok(()) };
        let expected = format!("{own}, which the model is for, or a model that is forced");
        Err(InvalidField::new(name, format_args!("'{found}'"), expected))
    }

    /// Refuses constants of a GPU other than those with which the model predicts, where absent cells are errors.
    pub(super) fn refuse_hardware(&self, cells: &dyn Fields) -> Result<(), InvalidField> {
        if self.is_lenient() {
            return Ok(());
        }
        for (name, column) in Hardware::NAMES.into_iter().zip(Hardware::COLUMNS) {
            let Some(cell) = cells.cell(column) else { continue };
            let own = self.extractor.hardware.get(name).unwrap_or_default();
            if cell.number(column).ok() != Some(own as f64) {
                return Err(InvalidField::new(column, cell, format!("{own}, with which the model predicts")));
            }
        }
        Ok(())
    }

    /// The given fields and, for the rest, those given `below`.
    pub(super) fn over(
        &self,
        given: &GivenProblem,
        below: &GivenProblem,
    ) -> Result<GivenProblem, InvalidField> {
        each_operation!(
            (given, below),
            (GivenProblem(given), GivenProblem(below)) => Ok(given.over(below, self.is_lenient())?.into()),
            Ok(given.clone())
        )
    }

    /// The problem of which fields are given, and what features know about it. A strict one is read and validated
    /// as everywhere else.
    pub(super) fn problem(&self, given: &GivenProblem) -> Result<(Problem, ProblemTerms), InvalidField> {
        each_operation!(given, GivenProblem(given) as Own => {
            Own::check(&self.extractor, given)?;
            if self.is_lenient() {
                let problem = <Own as Upstream>::problem(&self.extractor, given);
                let terms = crate::features::OperationTerms::terms(&problem, &self.extractor)?;
                return Ok((problem.into(), terms.into()));
            }
            given.need(Own::needs(given))?;
            let direction = self.extractor.direction;
            let defaults = ProblemDefaults { direction, ..ProblemDefaults::new(self.extractor.schema.op()) };
            let problem: Problem = ck_select_types::operation::OperationProblem::from_given(*given, &defaults)
                .map(|problem: Own| problem.into())?;
            let terms = self.extractor.problem_terms(&problem).map_err(field_error)?;
            Ok((problem, terms))
        })
    }

    /// Refuses a kernel of another variant than the row's problem, if absent cells are errors.
    fn check_variant(&self, problem: &Problem, kernel: &KernelKind) -> Result<(), InvalidField> {
        let cells = each_operation!(kernel.op(), Own => <Own as OperationRows>::VARIANT);
        match cells {
            Some(cells) if !self.is_lenient() && !kernel.matches_request(problem) => {
                let expected = format!("one for the row's {cells}");
                Err(InvalidField::new(name::NAME_COLUMNS[0], "a kernel of another variant", expected))
            }
            _ => Ok(()),
        }
    }

    /// A row's kernel as features see it: the one that the row names, else the one that cells describe.
    pub(super) fn kernel(
        &self,
        named: Option<&KernelKind>,
        cells: &dyn Fields,
    ) -> Result<KernelTerms, InvalidField> {
        match named {
            Some(kernel) => self.extractor.kernel_terms(kernel).map_err(field_error),
            None => each_operation!(self.extractor.schema.op(), Own => {
                self.described::<Own>(cells).map(Into::into)
            }),
        }
    }

    fn described<P: OperationRows>(&self, cells: &dyn Fields) -> Result<P::KernelTerms, InvalidField> {
        let (extractor, names) = (&self.extractor, self.kernel.iter().copied());
        let given = if self.is_lenient() {
            Given::lenient(cells, names, Some(&P::unknown_kernel()))
        } else {
            Given::strict(cells, names)
        }?;
        let is_absent = |name: &&str| given.get(name).is_none() && cells.cell(name).is_none();
        let needed = P::needs_of_kernel(extractor)?.into_iter().filter(is_absent);
        given::absent(needed, given::expected::<KernelOf<P>>)?;
        P::check_kernel(extractor, &given, cells)?;
        if self.is_lenient() {
            return <P as Upstream>::kernel(extractor, &given, cells);
        }
        P::kernel_of_cells(extractor, &given, cells)?.terms(extractor)
    }

    /// The extractor's constants of the GPU, with those of cells.
    fn hardware(&self, cells: &dyn Fields) -> Result<Hardware, InvalidField> {
        let mut hardware = self.extractor.hardware;
        let least = if self.is_lenient() { Engine::least_constant(self.extractor.schema.op()) } else { 1 };
        for (name, column) in Hardware::NAMES.into_iter().zip(Hardware::COLUMNS) {
            let Some(cell) = cells.cell(column) else { continue };
            let value = if self.is_lenient() { cell.truncated(column) } else { cell.whole(column) }?;
            let set = hardware.set_from(name, value, least);
            set.map_err(|error| InvalidField { field: column.to_owned(), ..error })?;
        }
        Ok(hardware)
    }
}

/// Why features cannot describe a value, as a fault of the cell that has it.
fn field_error(error: TermsError) -> InvalidField {
    match error {
        TermsError::Field(error) => error,
        TermsError::Op { model, found, .. } => {
            InvalidField::new(name::NAME_COLUMNS[0], found, model.as_str())
        }
        TermsError::Universal => InvalidField::new("features", "those of a universal model", "a pool"),
    }
}

/// Refuses a row of another operation.
fn check_op(op: crate::vocab::Op, cells: &dyn Fields) -> Result<(), InvalidField> {
    for column in ["op_type", "op"] {
        if let Some(Cell::Word(word)) = cells.cell(column)
            && word.parse() != Ok(op)
            // Upstream's converters write this word where they could not read a kernel's name.
            && word != "grouped"
        {
            let expected = format!("{op}, as of the model");
            return Err(InvalidField::new(column, format_args!("'{word}'"), expected));
        }
    }
    Ok(())
}
