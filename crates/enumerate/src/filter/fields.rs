//! The fields that filters can use: those of the kernels' tables, under all their names, and what upstream's
//! configurations have beside them.

use ck_select_types::each_operation;
use ck_select_types::field::{self, Field, Kind, MOST_FIELDS};
use ck_select_types::kernel::{Kernel, KernelKind};
use ck_select_types::vocab::Op;

use super::Value;

/// A field of a filter.
#[derive(Debug, Clone, Copy)]
pub struct FilterField {
    /// The name after `c.`.
    pub name: &'static str,
    /// The field's meaning.
    pub doc: &'static str,
    source: ValueSource,
}

/// The source of a field's value.
#[derive(Debug, Clone, Copy)]
enum ValueSource {
    Name,
    Arch,
    /// The kernel's field with an index.
    Field(&'static Field, usize),
    /// Three of the kernel's fields from an index on, as `MxNxK`.
    Triple(usize),
    /// `True` for every kernel.
    Always,
}

/// Problems of an operation whose kernels are filtered.
pub(crate) trait OperationFilter {
    /// Fields of upstream's configurations beside those of its kernels: name, meaning and value.
    const MORE_FIELDS: &'static [(&'static str, &'static str, MoreField)] = &[];
}

/// The value of something that is no field.
#[derive(Debug, Clone, Copy)]
pub(crate) enum MoreField {
    /// `True` for every kernel.
    Always,
    /// Three fields from one of this name on, as `MxNxK`.
    Triple(&'static str),
}

/// The fields of an operation's kernels.
pub fn fields(op: Op) -> Vec<FilterField> {
    let table = KernelKind::fields(op);
    let beside = [
        ("name", "The kernel's name.", ValueSource::Name),
        ("arch", "The architecture that it was built for, None when not known.", ValueSource::Arch),
    ];
    let more = each_operation!(op, Own => <Own as OperationFilter>::MORE_FIELDS).iter();
    let more = more.map(|&(name, doc, more)| match more {
        MoreField::Always => (name, doc, ValueSource::Always),
        MoreField::Triple(first) => {
            (name, doc, ValueSource::Triple(field::position(table, first).unwrap_or_default()))
        }
    });
    let named = table.iter().enumerate().flat_map(|(index, field)| {
        field.names().map(move |name| (name, field.doc, ValueSource::Field(field, index)))
    });
    let all = beside.into_iter().chain(named).chain(more);
    all.map(|(name, doc, source)| FilterField { name, doc, source }).collect()
}

impl FilterField {
    /// The field's value for a kernel with these numbers.
    pub(super) fn value(&self, kernel: &Kernel, values: &[i64; MOST_FIELDS]) -> Value {
        match self.source {
            ValueSource::Name => Value::text(&kernel.name),
            ValueSource::Arch => kernel.kind.arch().map_or(Value::None, |arch| Value::text(arch.as_str())),
            ValueSource::Always => Value::flag(true),
            ValueSource::Triple(first) => Value::text(
                &values[first..first + 3].iter().map(i64::to_string).collect::<Vec<_>>().join("x"),
            ),
            ValueSource::Field(field, index) => match (field.kind, values[index]) {
                (Kind::Number | Kind::Flag, number) => Value::Number(number as f64),
                (_, ..0) => Value::None,
                (_, number) => Value::text(&field.text(number)),
            },
        }
    }
}
