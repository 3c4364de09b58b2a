//! Columns of a table: where their values come from.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int32Array, Int64Array, StringArray,
};
use arrow::datatypes::{DataType, Field, Int32Type};
use ck_select::hardware::Hardware;
use ck_select::kernel::{ConvKernel, GemmKernel, Kernel, KernelKind};
use ck_select::problem::{ConvProblem, GemmProblem, Problem};

use super::chunk::Chunk;

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
    Arch,
    /// A hardware constant: what the file records, else what was found out, else the architecture's profile.
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

/// A column while its table is written.
pub(super) struct Column {
    pub(super) name: &'static str,
    source: Source,
    words: Words,
}

/// The distinct texts of a column so far.
#[derive(Default)]
struct Words {
    index: HashMap<String, i32>,
    texts: Vec<String>,
    /// The texts as an array, as far as they had come when it was last asked for.
    array: Option<ArrayRef>,
    /// Of the kernels, their texts.
    of_kernel: Vec<i32>,
}

impl Words {
    fn get(&mut self, text: &str) -> i32 {
        if let Some(&code) = self.index.get(text) {
            return code;
        }
        let code = self.texts.len() as i32;
        self.texts.push(text.to_owned());
        self.index.insert(text.to_owned(), code);
        code
    }

    fn array(&mut self, keys: Int32Array) -> ArrayRef {
        let values = match &self.array {
            Some(array) if array.len() == self.texts.len() => Arc::clone(array),
            _ => Arc::new(StringArray::from_iter_values(&self.texts)),
        };
        self.array = Some(Arc::clone(&values));
        Arc::new(DictionaryArray::<Int32Type>::new(keys, values))
    }
}

impl Column {
    pub(super) fn new(name: &'static str, source: Source) -> Self {
        Self { name, source, words: Words::default() }
    }

    pub(super) fn field(&self) -> Field {
        let text = || DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        let kind = match self.source {
            Source::Text(_)
            | Source::KernelName
            | Source::ConvText(_)
            | Source::GemmText(_)
            | Source::Arch
            | Source::RunText => text(),
            Source::Tflops | Source::Latency | Source::Bandwidth => DataType::Float64,
            Source::GemmFlag(_) | Source::IsValid => DataType::Boolean,
            _ => DataType::Int64,
        };
        Field::new(self.name, kind, true)
    }

    /// The column's values in the rows of a chunk.
    pub(super) fn array(&mut self, chunk: &Chunk, kernels: &[Kernel]) -> ArrayRef {
        let rows = &chunk.rows;
        let ints = |value: &dyn Fn(&Kernel) -> i64| -> ArrayRef {
            let of_kernel: Vec<i64> = kernels.iter().map(value).collect();
            Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| of_kernel[row.kernel as usize])))
        };
        let extents = |value: &dyn Fn(&Problem) -> i64| -> ArrayRef {
            let of_problem: Vec<i64> = chunk.problems.iter().map(value).collect();
            Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| of_problem[row.problem as usize])))
        };
        match &self.source {
            Source::Text(text) => {
                let code = self.words.get(text);
                self.words.array(Int32Array::from_value(code, rows.len()))
            }
            Source::Int(value) => Arc::new(Int64Array::from_value(*value, rows.len())),
            Source::KernelName => {
                let text = |kernel: &Kernel| kernel.name.clone();
                self.words.of_kernels(chunk, kernels, text)
            }
            Source::ConvText(text) => {
                let text = |kernel: &Kernel| conv(kernel, text).unwrap_or_default();
                self.words.of_kernels(chunk, kernels, text)
            }
            Source::GemmText(text) => {
                let text = |kernel: &Kernel| gemm(kernel, text).unwrap_or_default();
                self.words.of_kernels(chunk, kernels, text)
            }
            Source::ConvInt(value) => ints(&|kernel| conv(kernel, value).unwrap_or_default()),
            Source::GemmInt(value) => ints(&|kernel| gemm(kernel, value).unwrap_or_default()),
            Source::GemmFlag(value) => {
                let flag = |kernel: &Kernel| gemm(kernel, value).unwrap_or_default();
                let of_kernel: Vec<bool> = kernels.iter().map(flag).collect();
                Arc::new(
                    rows.iter().map(|row| Some(of_kernel[row.kernel as usize])).collect::<BooleanArray>(),
                )
            }
            Source::ConvProblem(value) => extents(&|problem| match problem {
                Problem::Conv(problem) => value(problem),
                Problem::Gemm(_) => 0,
            }),
            Source::GemmProblem(value) => extents(&|problem| match problem {
                Problem::Gemm(problem) => value(problem),
                Problem::Conv(_) => 0,
            }),
            Source::Arch => {
                let mut code = |problem: &Problem| problem.arch().map(|arch| self.words.get(arch.as_str()));
                let of_problem: Vec<Option<i32>> = chunk.problems.iter().map(&mut code).collect();
                let keys = rows.iter().map(|row| of_problem[row.problem as usize]).collect();
                self.words.array(keys)
            }
            Source::Hardware(name, captured) => {
                let recorded =
                    chunk.hardware.iter().find(|(known, _)| known == name).map(|&(_, value)| value);
                let profile = |problem: &Problem| Hardware::for_arch(&problem.arch()?)?.get(name);
                let value = |problem: &Problem| recorded.or(*captured).or_else(|| profile(problem));
                let of_problem: Vec<Option<i64>> = chunk.problems.iter().map(value).collect();
                Arc::new(rows.iter().map(|row| of_problem[row.problem as usize]).collect::<Int64Array>())
            }
            Source::Tflops => figures(chunk, |row| row.tflops),
            Source::Latency => figures(chunk, |row| row.latency_ms),
            Source::Bandwidth => figures(chunk, |row| row.bandwidth_gb_s),
            Source::IsValid => {
                Arc::new(rows.iter().map(|row| Some(row.figures.is_valid)).collect::<BooleanArray>())
            }
            Source::NonZero => Arc::new(rows.iter().map(|row| row.non_zero).collect::<Int64Array>()),
            Source::ProblemIdx => Arc::new(rows.iter().map(|row| row.problem_idx).collect::<Int64Array>()),
            Source::RunText => {
                let codes: Vec<i32> = chunk.runs.iter().map(|run| self.words.get(run)).collect();
                let keys = Int32Array::from_iter_values(rows.iter().map(|row| codes[row.run as usize]));
                self.words.array(keys)
            }
            Source::RunInt => {
                let runs: Vec<i64> = chunk.runs.iter().map(|run| run.parse().unwrap_or(0)).collect();
                Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| runs[row.run as usize])))
            }
        }
    }
}

impl Words {
    fn of_kernels(
        &mut self,
        chunk: &Chunk,
        kernels: &[Kernel],
        text: impl Fn(&Kernel) -> String,
    ) -> ArrayRef {
        for kernel in &kernels[self.of_kernel.len()..] {
            let code = self.get(&text(kernel));
            self.of_kernel.push(code);
        }
        let codes = &self.of_kernel;
        let keys = Int32Array::from_iter_values(chunk.rows.iter().map(|row| codes[row.kernel as usize]));
        self.array(keys)
    }
}

/// Figures that were not measured are null, as pandas writes them.
fn figures(chunk: &Chunk, value: impl Fn(&crate::measurements::Figures) -> f64) -> ArrayRef {
    let values = chunk.rows.iter().map(|row| Some(value(&row.figures)).filter(|value| !value.is_nan()));
    Arc::new(values.collect::<Float64Array>())
}

fn conv<T>(kernel: &Kernel, value: impl Fn(&ConvKernel) -> T) -> Option<T> {
    match &kernel.kind {
        KernelKind::Conv(kernel) => Some(value(kernel)),
        KernelKind::Gemm(_) => None,
    }
}

fn gemm<T>(kernel: &Kernel, value: impl Fn(&GemmKernel) -> T) -> Option<T> {
    match &kernel.kind {
        KernelKind::Gemm(kernel) => Some(value(kernel)),
        KernelKind::Conv(_) => None,
    }
}
