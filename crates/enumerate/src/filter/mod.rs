//! Filters: Python expressions over a kernel's fields, read by our own parser and never run as code.
//!
//! ```text
//! c.tile_n >= 128 and c.pipeline == 'compv5'
//! c.tile_m * c.tile_n // 1024 in (4, 8) or not c.double_smem_buffer
//! 64 <= c.tile_k < 256 and c.name.endswith(('_dsb', '_si'))
//! ```
//!
//! The language has decimal numbers, texts in single or double quotes, `True`, `False`, `None`, lists and
//! tuples; `and`, `or`, `not`; `in`, `not in` and chained comparisons; `+ - * / // %` for numbers; and the
//! methods `startswith` and `endswith` of texts. What a filter of upstream's fields keeps, it keeps in
//! Python, too; numbers are doubles, and an unknown field is an error before anything is evaluated. Line ends
//! count as blanks, and `#` begins a comment.

mod expression;
mod fields;
mod parse;
mod token;

pub use expression::Value;
pub use fields::{FilterField, fields};
pub(crate) use fields::{MoreField, OperationFilter};

use std::fmt::Display;

use ck_select_types::files;
use ck_select_types::kernel::Kernel;
use ck_select_types::vocab::Op;
use expression::Expr;

/// A filter that cannot be read or evaluated: the position in a text, the word there and what is expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FilterError(String);

impl FilterError {
    /// A mistake in `text` at a byte.
    fn new(text: &str, at: usize, message: impl Display) -> Self {
        let before = &text[..at];
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        let line = if line > 1 { format!("line {line}, ") } else { String::new() };
        Self(format!("{line}column {column}: {message}"))
    }
}

/// An expression over named fields.
#[derive(Debug, Clone)]
pub struct Expression(Expr);

impl Expression {
    /// Reads an expression in which `c.<name>` refers to one of `fields`.
    pub fn parse(text: &str, fields: &[&str]) -> Result<Self, FilterError> {
        parse::parse(text, fields).map(Self)
    }

    /// The value of the expression; `field` returns the value of the field with an index.
    pub fn value(&self, field: &dyn Fn(usize) -> Value) -> Result<Value, FilterError> {
        self.0.value(field)
    }
}

/// A filter over the kernels of one operation.
///
/// ```
/// use ck_select_types::kernel::Kernel;
/// use ck_select_types::vocab::Op;
/// use ck_select_enumerate::filter::Filter;
///
/// let filter = Filter::parse(Op::Conv, "c.tile_n >= 128 and c.pipeline in ('compv3', 'compv5')")?;
/// assert!(filter.keeps(&Kernel::from_name("grouped_conv_forward_bf16_2d_64x128x64_compv5")?)?);
/// assert!(!filter.keeps(&Kernel::from_name("grouped_conv_forward_bf16_2d_64x64x64_compv5")?)?);
///
/// let error = Filter::parse(Op::Conv, "c.tile_x > 3").unwrap_err();
/// assert!(error.to_string().starts_with("column 3: kernels have no field 'tile_x'; did you mean 'tile_m'?"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Filter {
    op: Op,
    expression: Expression,
    fields: Vec<FilterField>,
}

impl Filter {
    /// Reads a filter for kernels of an operation.
    pub fn parse(op: Op, text: &str) -> Result<Self, FilterError> {
        let fields = fields(op);
        let names: Vec<&str> = fields.iter().map(|field| field.name).collect();
        Ok(Self { op, expression: Expression::parse(text, &names)?, fields })
    }

    /// Parses the contents of a file as `parse` does. Python code, which upstream would run, is recognized and
    /// rejected.
    pub fn parse_file(op: Op, text: &str) -> Result<Self, FilterError> {
        let text = files::text_without_bom(text);
        Self::parse(op, text).map_err(|error| python(text).unwrap_or(error))
    }

    /// The operation of the kernels.
    pub const fn op(&self) -> Op {
        self.op
    }

    /// Whether the filter is true for a kernel. A kernel of another operation lacks the fields and is not
    /// kept.
    pub fn keeps(&self, kernel: &Kernel) -> Result<bool, FilterError> {
        if kernel.op() != self.op {
            return Ok(false);
        }
        let values = kernel.kind.values();
        // The parser looked the index up.
        let field =
            |index: usize| self.fields.get(index).map_or(Value::None, |field| field.value(kernel, &values));
        self.expression.value(&field).map(|value| value.truthy())
    }
}

/// The error for a text with Python statements, at the first of them.
fn python(text: &str) -> Option<FilterError> {
    const WORDS: [&str; 7] = ["def", "import", "from", "return", "class", "async", "if"];
    let is_statement = |line: &str| {
        let word = line.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
        WORDS.contains(&word) || ["@", "\"\"\"", "'''"].iter().any(|start| line.starts_with(start))
    };
    let line = text.lines().position(|line| is_statement(line.trim_start()))? + 1;
    Some(FilterError(format!(
        "line {line}: this is Python code, which is never executed; the file must hold one expression, such \
         as what filter_config returns: c.tile_n >= 128 and c.pipeline == 'compv5'"
    )))
}

#[cfg(test)]
mod tests;
