//! Indices, a type for each order: an index of one order means nothing in another.

use ck_select_types::index;

index! {
    /// The index of a kernel among those of a registry, in the order of registration.
    pub(super) KernelIndex
}

index! {
    /// The index of a model among those of a state.
    pub(super) ModelIndex
}

index! {
    /// The index of a name among all that a registry ever had.
    pub(super) NameIndex
}

/// A kernel, and the parts into which it splits a problem's reduction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Choice {
    pub(super) kernel: KernelIndex,
    pub(super) split_k: i32,
}

impl KernelIndex {
    /// The index once the kernel at `gone`, another one, is removed.
    pub(super) const fn without(self, gone: Self) -> Self {
        Self(self.0 - (self.0 > gone.0) as u32)
    }
}
