//! Columns of a table, and where their values come from.

use arrow_schema::{DataType, Field};
use ck_select_types::hardware::Hardware;
use ck_select_types::kernel::{ConvKernel, FmhaKernel, GemmKernel, Kernel, KernelKind};
use ck_select_types::problem::{ConvProblem, GemmProblem, Problem};

use super::chunk::{Chunk, Stretches};
use super::content::{Content, Places};

/// Where a column's values come from.
pub(super) enum Source {
    /// The same text in every row.
    Text(String),
    /// The same number in every row.
    Int(i64),
    KernelName,
    ConvText(fn(&ConvKernel) -> String),
    ConvInt(fn(&ConvKernel) -> i64),
    GemmText(fn(&GemmKernel) -> String),
    GemmInt(fn(&GemmKernel) -> i64),
    GemmFlag(fn(&GemmKernel) -> bool),
    ConvProblem(fn(&ConvProblem) -> i64),
    GemmProblem(fn(&GemmProblem) -> i64),
    FmhaText(fn(&FmhaKernel) -> String),
    FmhaInt(fn(&FmhaKernel) -> i64),
    /// An index into [`FMHA_COLUMNS`](ck_select_types::problem::FMHA_COLUMNS).
    FmhaSize(usize),
    /// An index into [`FMHA_MORE_COLUMNS`](ck_select_types::problem::FMHA_MORE_COLUMNS).
    FmhaMore(usize),
    /// A list of GEMMs, null if there is none.
    Groups,
    Arch,
    /// A hardware constant: the file's, otherwise the captured one, otherwise that of the architecture's
    /// profile.
    Hardware(&'static str, Option<i64>),
    Tflops,
    Latency,
    Bandwidth,
    IsValid,
    NonZero,
    ProblemIdx,
    RunText,
    RunInt,
}

/// A column of a table.
pub(super) struct Column {
    pub(super) name: &'static str,
    source: Source,
}

impl Column {
    pub(super) fn new(name: &'static str, source: Source) -> Self {
        Self { name, source }
    }

    pub(super) fn field(&self) -> Field {
        let kind = match self.source {
            Source::Text(_)
            | Source::KernelName
            | Source::ConvText(_)
            | Source::GemmText(_)
            | Source::FmhaText(_)
            | Source::Groups
            | Source::Arch
            | Source::RunText => DataType::Utf8,
            Source::Tflops | Source::Latency | Source::Bandwidth => DataType::Float64,
            Source::GemmFlag(_) | Source::IsValid => DataType::Boolean,
            _ => DataType::Int64,
        };
        Field::new(self.name, kind, true)
    }

    /// The column's values in the rows of a chunk.
    pub(super) fn content<'a>(&self, chunk: &'a Chunk) -> Content<'a> {
        match &self.source {
            Source::Text(text) => Content::Texts(vec![Some(text.clone())], Places::First(chunk.len())),
            Source::Int(value) => Content::Ints(vec![Some(*value)], Places::First(chunk.len())),
            Source::KernelName => texts_of_kernels(chunk, |kernel| kernel.name.clone()),
            Source::ConvText(text) => texts_of_kernels(chunk, |k| conv(k, text).unwrap_or_default()),
            Source::GemmText(text) => texts_of_kernels(chunk, |k| gemm(k, text).unwrap_or_default()),
            Source::ConvInt(value) => ints_of_kernels(chunk, |k| conv(k, value).unwrap_or_default()),
            Source::GemmInt(value) => ints_of_kernels(chunk, |k| gemm(k, value).unwrap_or_default()),
            Source::GemmFlag(value) => {
                let flag = |kernel: &Kernel| gemm(kernel, value).unwrap_or_default();
                let of_kernel: Vec<bool> = chunk.kernels.iter().map(flag).collect();
                Content::Flags(chunk.kernel.iter().map(|&kernel| of_kernel[kernel as usize]).collect())
            }
            Source::ConvProblem(value) => ints_of_problems(chunk, |problem| match problem {
                Problem::Conv(problem) => Some(value(problem)),
                _ => Some(0),
            }),
            Source::GemmProblem(value) => ints_of_problems(chunk, |problem| match problem {
                Problem::Gemm(problem) => Some(value(problem)),
                _ => Some(0),
            }),
            Source::FmhaSize(place) => ints_of_problems(chunk, |problem| match problem {
                Problem::Fmha(problem) => problem.columns().get(*place).copied(),
                _ => Some(0),
            }),
            Source::FmhaMore(place) => ints_of_problems(chunk, |problem| match problem {
                Problem::Fmha(problem) => problem.more_columns().get(*place).copied(),
                _ => Some(0),
            }),
            Source::FmhaText(text) => texts_of_kernels(chunk, |k| fmha(k, text).unwrap_or_default()),
            Source::FmhaInt(value) => ints_of_kernels(chunk, |k| fmha(k, value).unwrap_or_default()),
            Source::Groups => {
                let groups = |problem: &Problem| match problem {
                    Problem::Gemm(problem) if !problem.request.groups.is_empty() => {
                        Some(problem.request.groups.to_string())
                    }
                    _ => None,
                };
                let of_problem = chunk.problems.iter().map(groups).collect();
                Content::Texts(of_problem, Places::Stretches(chunk.problem.as_slice()))
            }
            Source::Arch => {
                let arch = |problem: &Problem| problem.arch().map(|arch| arch.as_str().to_owned());
                let of_problem = chunk.problems.iter().map(arch).collect();
                Content::Texts(of_problem, Places::Stretches(chunk.problem.as_slice()))
            }
            Source::Hardware(name, captured) => {
                let recorded =
                    chunk.hardware.iter().find(|(known, _)| known == name).map(|&(_, value)| value);
                let profile = |problem: &Problem| Hardware::for_arch(&problem.arch()?)?.get(name);
                ints_of_problems(chunk, |problem| recorded.or(*captured).or_else(|| profile(problem)))
            }
            Source::Tflops => Content::Figures(&chunk.tflops),
            Source::Latency => Content::Figures(&chunk.latency_ms),
            Source::Bandwidth => Content::Figures(&chunk.bandwidth_gb_s),
            Source::IsValid => Content::Flags(chunk.is_valid.clone()),
            Source::NonZero => ints_of_rows(&chunk.non_zero),
            Source::ProblemIdx => ints_of_rows(&chunk.problem_idx),
            Source::RunText => {
                let runs = chunk.runs.iter().cloned().map(Some).collect();
                Content::Texts(runs, Places::Stretches(chunk.run.as_slice()))
            }
            Source::RunInt => {
                let runs = chunk.runs.iter().map(|run| run.parse().ok()).collect();
                Content::Ints(runs, Places::Stretches(chunk.run.as_slice()))
            }
        }
    }
}

fn texts_of_kernels(chunk: &Chunk, text: impl Fn(&Kernel) -> String) -> Content<'_> {
    let texts = chunk.kernels.iter().map(|kernel| Some(text(kernel))).collect();
    Content::Texts(texts, Places::Rows(&chunk.kernel))
}

fn ints_of_kernels(chunk: &Chunk, value: impl Fn(&Kernel) -> i64) -> Content<'_> {
    let values = chunk.kernels.iter().map(|kernel| Some(value(kernel))).collect();
    Content::Ints(values, Places::Rows(&chunk.kernel))
}

fn ints_of_problems(chunk: &Chunk, value: impl Fn(&Problem) -> Option<i64>) -> Content<'_> {
    let values = chunk.problems.iter().map(value).collect();
    Content::Ints(values, Places::Stretches(chunk.problem.as_slice()))
}

fn ints_of_rows<'a>(values: &Stretches<Option<i64>>) -> Content<'a> {
    let (values, rows) = values.as_slice().iter().copied().unzip();
    Content::Ints(values, Places::Own(rows))
}

fn conv<T>(kernel: &Kernel, value: impl Fn(&ConvKernel) -> T) -> Option<T> {
    match &kernel.kind {
        KernelKind::Conv(kernel) => Some(value(kernel)),
        _ => None,
    }
}

fn gemm<T>(kernel: &Kernel, value: impl Fn(&GemmKernel) -> T) -> Option<T> {
    match &kernel.kind {
        KernelKind::Gemm(kernel) => Some(value(kernel)),
        _ => None,
    }
}

fn fmha<T>(kernel: &Kernel, value: impl Fn(&FmhaKernel) -> T) -> Option<T> {
    match &kernel.kind {
        KernelKind::Fmha(kernel) => Some(value(kernel)),
        _ => None,
    }
}
