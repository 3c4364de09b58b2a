//! A kernel in JSON before its values are read, and what an operation's folder says about its kernels there.

use serde::Deserialize;

use super::PoolError;
use crate::each_operation;
use crate::json::Strict;
use crate::kernel::Kernel;
use crate::operation::KernelOf;
use crate::vocab::{Arch, Op};

/// A kernel as exporters write it. Every key may be missing; unlisted ones are ignored.
#[derive(Default, Deserialize)]
pub(super) struct RawKernel {
    pub(super) name: Option<String>,
    pub(super) identifier: Option<String>,
    /// The kernel's signature and algorithm, whose keys depend on the operation.
    pub(super) signature: Option<Strict>,
    pub(super) algorithm: Option<Strict>,
    pub(super) arch: Option<String>,
    pub(super) gfx_arch: Option<String>,
    // Attention has these instead of parts.
    pub(super) family: Option<String>,
    pub(super) dtype: Option<String>,
    pub(super) pipeline: Option<String>,
}

/// Keys, with blanks between them.
pub(super) type Keys = &'static str;

/// Keys in the parts of a kernel's object: the name of each part, which is empty for the object itself.
type KeyGroups = &'static [(&'static str, Keys)];

/// The keys of an operation's kernels.
pub(super) struct KernelKeys {
    /// The form of the keys that are not the field of their name.
    pub(super) forms: &'static [(&'static str, KeyForm)],
    /// The keys that CK's registry exports.
    pub(super) export: KeyGroups,
    /// The keys that upstream's builder writes.
    pub(super) config: KeyGroups,
    /// The words by which a registry's kernels are counted.
    pub(super) statistics: &'static [(&'static str, Keys)],
    /// The version of a registry's export, if it has one; then it has a time, too.
    pub(super) export_version: Option<&'static str>,
    /// Whether flags may be numbers, which are true above 0.
    pub(super) has_counted_flags: bool,
    /// Whether the operation's exporter writes `unknown` for words of a key that it cannot spell.
    pub(super) may_be_unknown: fn(&str) -> bool,
}

/// The form of a key of a kernel.
#[derive(Clone, Copy)]
pub(super) enum KeyForm {
    /// The field of that name, or its word of CK's (see [`KernelJson::word`]).
    Own(&'static str),
    /// Three fields, this one first, as `MxNxK`.
    Joined(&'static str),
    /// Three fields, this one first, as an object with `m`, `n` and `k`.
    Shape(&'static str),
    /// This many fields, this one first, as an array. CK's keys do not have one of zeros.
    Array(&'static str, usize),
}

/// Kernels of an operation in JSON.
pub(super) trait KernelJson: Sized {
    /// The keys of a kernel's object.
    const KEYS: KernelKeys;

    /// A name that says all fields, if the kernel's own does not.
    fn complete_name(&self, name: &str) -> Option<String>;

    /// CK's own word for a key.
    fn word(&self, _key: &str) -> Option<&'static str> {
        None
    }

    /// Whether an object is such a kernel.
    fn describes(raw: &RawKernel) -> bool;

    /// Reads one.
    fn read_json(raw: RawKernel, arch: Option<Arch>) -> Result<Kernel, PoolError>;
}

impl KernelKeys {
    pub(super) fn get(op: Op) -> &'static Self {
        each_operation!(op, Own => &<KernelOf<Own> as KernelJson>::KEYS)
    }
}

/// The operation of a kernel's object. Names of GEMMs have no common beginning: they come last.
pub(super) fn op_of(raw: &RawKernel) -> Option<Op> {
    let is_of = |op: Op| each_operation!(op, Own => KernelOf::<Own>::describes(raw));
    Op::ALL.iter().rev().copied().find(|op| is_of(*op))
}

/// Reads a kernel of an operation.
pub(super) fn read(op: Op, raw: RawKernel, arch: Option<Arch>) -> Result<Kernel, PoolError> {
    each_operation!(op, Own => KernelOf::<Own>::read_json(raw, arch))
}
