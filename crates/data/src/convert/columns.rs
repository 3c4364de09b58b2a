//! Columns of a table, and where their values come from.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int32Array, Int64Array, StringArray,
};
use arrow_schema::{DataType, Field};
use ck_select_types::hardware::Hardware;
use ck_select_types::kernel::{ConvKernel, FmhaKernel, GemmKernel, Kernel, KernelKind};
use ck_select_types::problem::{ConvProblem, FmhaProblem, GemmProblem, Problem};

use super::chunk::Chunk;
use crate::measurements::Figures;

/// A value of a kernel or a problem, if it has one.
type Of<A, T> = Box<dyn Fn(&A) -> Option<T> + Send + Sync>;

/// Where a column's values come from.
pub(super) enum Source {
    /// The same text in every row.
    Text(String),
    /// The same number in every row.
    Int(i64),
    KernelText(Of<Kernel, String>),
    KernelInt(Of<Kernel, i64>),
    KernelFlag(Of<Kernel, bool>),
    ProblemText(Of<Problem, String>),
    ProblemInt(Of<Problem, i64>),
    /// A hardware constant: the file's, otherwise the captured one, otherwise that of the architecture's
    /// profile.
    Hardware(&'static str, Option<i64>),
    /// NaN is null.
    Figure(fn(&Figures) -> f64),
    /// The same, for a table without a column for rows that are invalid for a reason other than their figures:
    /// then those have this value.
    FigureOr(fn(&Figures) -> f64, f64),
    IsValid,
    NonZero,
    ProblemIdx,
    RunText,
    RunInt,
}

/// Makes the sources of an operation's fields.
macro_rules! of_kind {
    ($($name:ident, $source:ident, $of:ident, $kind:ident, $own:ty, $value:ty;)+) => {
        $(pub(super) fn $name(value: fn(&$own) -> $value) -> Source {
            Source::$source(Box::new(move |all| match of_kind!(@ $of all) {
                $of::$kind(own) => Some(value(own)),
                _ => None,
            }))
        })+
    };
    (@ KernelKind $all:ident) => { &$all.kind };
    (@ Problem $all:ident) => { $all };
}

of_kind! {
    conv_text, KernelText, KernelKind, Conv, ConvKernel, String;
    conv_int, KernelInt, KernelKind, Conv, ConvKernel, i64;
    conv_problem, ProblemInt, Problem, Conv, ConvProblem, i64;
    gemm_text, KernelText, KernelKind, Gemm, GemmKernel, String;
    gemm_int, KernelInt, KernelKind, Gemm, GemmKernel, i64;
    gemm_flag, KernelFlag, KernelKind, Gemm, GemmKernel, bool;
    gemm_problem, ProblemInt, Problem, Gemm, GemmProblem, i64;
    fmha_text, KernelText, KernelKind, Fmha, FmhaKernel, String;
    fmha_int, KernelInt, KernelKind, Fmha, FmhaKernel, i64;
}

/// A number of attention by its place in a list of them.
pub(super) fn fmha_number<const N: usize>(list: fn(&FmhaProblem) -> [i64; N], place: usize) -> Source {
    Source::ProblemInt(Box::new(move |problem| match problem {
        Problem::Fmha(problem) => list(problem).get(place).copied(),
        _ => None,
    }))
}

/// The kernel's name.
pub(super) fn kernel_name() -> Source {
    Source::KernelText(Box::new(|kernel| Some(kernel.name.clone())))
}

/// The architecture.
pub(super) fn arch() -> Source {
    Source::ProblemText(Box::new(|problem| problem.arch().map(|arch| arch.as_str().to_owned())))
}

/// A list of GEMMs, null if there is none.
pub(super) fn groups() -> Source {
    Source::ProblemText(Box::new(|problem| match problem {
        Problem::Gemm(gemm) if !gemm.request.groups.is_empty() => Some(gemm.request.groups.to_string()),
        _ => None,
    }))
}

/// A column of a table.
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) source: Source,
}

impl Column {
    pub(super) fn new(name: &'static str, source: Source) -> Self {
        Self { name, source }
    }

    pub(super) fn field(&self) -> Field {
        let kind = match self.source {
            Source::Text(_) | Source::KernelText(_) | Source::ProblemText(_) | Source::RunText => {
                DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
            }
            Source::Figure(_) | Source::FigureOr(..) => DataType::Float64,
            Source::KernelFlag(_) | Source::IsValid => DataType::Boolean,
            _ => DataType::Int64,
        };
        Field::new(self.name, kind, true)
    }

    /// The column's values in the rows of a chunk.
    pub(super) fn values(&self, chunk: &Chunk) -> ArrayRef {
        let figures = chunk.figures.iter();
        match &self.source {
            Source::Text(text) => texts(&[Some(text.clone())], std::iter::repeat_n(&0, chunk.len())),
            Source::Int(value) => Arc::new(Int64Array::from_value(*value, chunk.len())),
            Source::KernelText(of) => texts(&all(&chunk.kernels, of), &chunk.kernel),
            Source::KernelInt(of) => ints(&all(&chunk.kernels, of), &chunk.kernel),
            Source::KernelFlag(of) => {
                let flags = all(&chunk.kernels, of);
                Arc::new(chunk.kernel.iter().map(|&at| flags[at as usize]).collect::<BooleanArray>())
            }
            Source::ProblemText(of) => texts(&all(&chunk.problems, of), &chunk.problem),
            Source::ProblemInt(of) => ints(&all(&chunk.problems, of), &chunk.problem),
            Source::Hardware(name, captured) => {
                let recorded = chunk.hardware.iter().find(|(known, _)| known == name).map(|known| known.1);
                let profile = |problem: &Problem| Hardware::for_arch(&problem.arch()?)?.get(name);
                let of = |problem: &Problem| recorded.or(*captured).or_else(|| profile(problem));
                ints(&all(&chunk.problems, &of), &chunk.problem)
            }
            Source::Figure(of) => reals(figures.map(of)),
            Source::FigureOr(of, invalid) => {
                reals(figures.zip(&chunk.non_zero).map(|(figures, non_zero)| {
                    if figures.is_valid || *non_zero == Some(0) { of(figures) } else { *invalid }
                }))
            }
            Source::IsValid => {
                Arc::new(figures.map(|figures| Some(figures.is_valid)).collect::<BooleanArray>())
            }
            Source::NonZero => Arc::new(Int64Array::from(chunk.non_zero.clone())),
            Source::ProblemIdx => Arc::new(Int64Array::from(chunk.problem_idx.clone())),
            Source::RunText => texts(&all(&chunk.runs, &|run: &String| Some(run.clone())), &chunk.run),
            Source::RunInt => ints(&all(&chunk.runs, &|run: &String| run.parse().ok()), &chunk.run),
        }
    }
}

/// The values of all kernels, problems or runs.
fn all<A, T>(list: &[A], of: &(impl Fn(&A) -> Option<T> + ?Sized)) -> Vec<Option<T>> {
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

fn reals(values: impl Iterator<Item = f64>) -> ArrayRef {
    Arc::new(values.map(|value| (!value.is_nan()).then_some(value)).collect::<Float64Array>())
}
