//! Indices, a type for each order: an index of one order means nothing in another.

/// Declares a type of index.
macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(super) struct $name(u32);

        impl $name {
            /// There are fewer than 2^32 of anything that has indices.
            pub(super) const fn new(index: usize) -> Self {
                Self(index as u32)
            }

            pub(super) const fn get(self) -> usize {
                self.0 as usize
            }
        }
    };
}

index! {
    /// Of a kernel among those of a registry, in the order of registration.
    KernelIndex
}

index! {
    /// Of a model among those of a state.
    ModelIndex
}

index! {
    /// Of a name among all that a registry ever had.
    NameIndex
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
