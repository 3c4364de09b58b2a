//! Columns of a table, and where their values come from.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int32Array, Int64Array, StringArray,
};
use arrow_schema::{DataType, Field};
use ck_select_types::each_operation;
use ck_select_types::field::{self, Kind, position};
use ck_select_types::hardware::Hardware;
use ck_select_types::kernel::KernelKind;
use ck_select_types::problem::Problem;
use ck_select_types::vocab::Op;

use super::rows::Chunk;
use crate::operation::{OperationData as _, has_booleans};
use crate::read::Figures;

/// The source of a column's values.
#[derive(Clone, Copy)]
pub(super) enum ColumnSource {
    /// The operation.
    Op,
    KernelName,
    /// The field with this index in the kernel's table.
    Kernel(usize),
    /// The field with this index in the problem's table.
    Problem(usize),
    /// The problem's architecture.
    Arch,
    /// A list of GEMMs, null if there is none.
    Groups,
    /// A hardware constant: the file's, otherwise that of the architecture's profile.
    Hardware(&'static str),
    /// A figure; NaN is null.
    Figure(fn(&Figures) -> f64),
    /// A figure of a table without a column for validity: rows that are invalid for a reason that no other column
    /// shows have this value.
    FigureOr(fn(&Figures) -> f64, f64),
    IsValid,
    NonZero,
    ProblemIdx,
    RunText,
    RunInt,
}

/// A column of a table.
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) op: Op,
    pub(super) source: ColumnSource,
}

impl Column {
    /// The column of an operation's table that has a field of the problem.
    pub(super) fn of_problem(op: Op, name: &'static str) -> Option<Self> {
        Some(Self { name, op, source: ColumnSource::Problem(position(Problem::fields(op), name)?) })
    }

    pub(super) fn field(&self) -> Field {
        let of_fields = |fields: &[field::Field], position: usize| match fields[position].kind {
            Kind::Word(_) | Kind::Shape => text_type(),
            Kind::Flag if has_booleans(self.op) => DataType::Boolean,
            Kind::Flag | Kind::Number => DataType::Int64,
        };
        let kind = match self.source {
            ColumnSource::Kernel(field) => of_fields(KernelKind::fields(self.op), field),
            ColumnSource::Problem(field) => of_fields(Problem::fields(self.op), field),
            ColumnSource::Op
            | ColumnSource::KernelName
            | ColumnSource::Arch
            | ColumnSource::Groups
            | ColumnSource::RunText => text_type(),
            ColumnSource::Figure(_) | ColumnSource::FigureOr(..) => DataType::Float64,
            ColumnSource::IsValid => DataType::Boolean,
            ColumnSource::Hardware(_)
            | ColumnSource::NonZero
            | ColumnSource::ProblemIdx
            | ColumnSource::RunInt => DataType::Int64,
        };
        Field::new(self.name, kind, true)
    }

    /// The column's values in the rows of a chunk.
    pub(super) fn values(&self, chunk: &Chunk) -> ArrayRef {
        let figures = chunk.figures.iter();
        let Chunk { kernels, kernel, problems, problem, .. } = chunk;
        match self.source {
            ColumnSource::Op => texts(&[Some(self.op.to_string())], std::iter::repeat_n(&0, chunk.len())),
            ColumnSource::KernelName => texts(&all(kernels, |kernel| Some(kernel.name.clone())), kernel),
            ColumnSource::Kernel(field) => {
                let values = all(kernels, |kernel| Some(tabulated(&kernel.kind)[field]));
                self.of_field(&KernelKind::fields(self.op)[field], &values, kernel)
            }
            ColumnSource::Problem(field) => {
                let values = all(problems, |problem| Some(problem.values()[field]));
                self.of_field(&Problem::fields(self.op)[field], &values, problem)
            }
            ColumnSource::Arch => {
                texts(&all(problems, |problem| problem.arch().map(|arch| arch.to_string())), problem)
            }
            ColumnSource::Groups => {
                let groups = |problem: &Problem| Some(problem.cell("groups")).filter(|list| !list.is_empty());
                texts(&all(problems, groups), problem)
            }
            ColumnSource::Hardware(name) => {
                let recorded = chunk.hardware.iter().find(|(known, _)| *known == name).map(|known| known.1);
                let profile = |problem: &Problem| Hardware::for_arch(&problem.arch()?)?.get(name);
                ints(&all(problems, |problem| recorded.or_else(|| profile(problem))), problem)
            }
            ColumnSource::Figure(of) => reals(figures.map(of)),
            ColumnSource::FigureOr(of, invalid) => {
                reals(figures.zip(&chunk.non_zero).map(|(figures, non_zero)| {
                    if figures.is_valid || *non_zero == Some(0) { of(figures) } else { invalid }
                }))
            }
            ColumnSource::IsValid => {
                Arc::new(figures.map(|figures| Some(figures.is_valid)).collect::<BooleanArray>())
            }
            ColumnSource::NonZero => Arc::new(Int64Array::from(chunk.non_zero.clone())),
            ColumnSource::ProblemIdx => Arc::new(Int64Array::from(chunk.problem_idx.clone())),
            ColumnSource::RunText => texts(&all(&chunk.runs, |run| Some(run.clone())), &chunk.run),
            ColumnSource::RunInt => ints(&all(&chunk.runs, |run| run.parse().ok()), &chunk.run),
        }
    }

    /// The numbers of a field, as the column has them.
    fn of_field(&self, field: &field::Field, values: &[Option<i64>], rows: &[u32]) -> ArrayRef {
        match self.field().data_type() {
            DataType::Int64 => ints(values, rows),
            DataType::Boolean => flags(values, rows),
            _ => texts(&all(values, |value| value.map(|value| field.text(value))), rows),
        }
    }
}

fn text_type() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

/// The numbers of a kernel's fields, as the table has them.
fn tabulated(kind: &KernelKind) -> [i64; field::MOST_FIELDS] {
    each_operation!(kind, KernelKind(kernel) as Own => field::values(&Own::tabulated(kernel)))
}

/// The values of all kernels, problems or runs.
fn all<A, T>(list: &[A], of: impl Fn(&A) -> Option<T>) -> Vec<Option<T>> {
    list.iter().map(of).collect()
}

fn texts<'a>(values: &[Option<String>], rows: impl IntoIterator<Item = &'a u32>) -> ArrayRef {
    let key = |&at: &u32| values[at as usize].is_some().then_some(at as i32);
    let keys: Int32Array = rows.into_iter().map(key).collect();
    let values: StringArray = values.iter().map(|text| Some(text.as_deref().unwrap_or_default())).collect();
    Arc::new(DictionaryArray::<Int32Type>::new(keys, Arc::new(values)))
}

fn ints(values: &[Option<i64>], rows: &[u32]) -> ArrayRef {
    Arc::new(rows.iter().map(|&at| values[at as usize]).collect::<Int64Array>())
}

fn flags(values: &[Option<i64>], rows: &[u32]) -> ArrayRef {
    Arc::new(rows.iter().map(|&at| values[at as usize].map(|flag| flag != 0)).collect::<BooleanArray>())
}

fn reals(values: impl Iterator<Item = f64>) -> ArrayRef {
    Arc::new(values.map(|value| (!value.is_nan()).then_some(value)).collect::<Float64Array>())
}
