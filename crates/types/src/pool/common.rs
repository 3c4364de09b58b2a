//! What the kernels of a pool share, for problems that do not name it.

use super::Pool;
use crate::kernel::KernelKind;
use crate::problem::{GemmRequest, ProblemDefaults};
use crate::vocab::{Arch, GemmLibrary};

/// The value that all have.
fn common<T: PartialEq>(mut all: impl Iterator<Item = T>) -> Option<T> {
    let first = all.next()?;
    all.all(|other| other == first).then_some(first)
}

impl Pool {
    /// Sets the defaults to what all kernels share: the layout and, where nothing else says them, direction
    /// and type.
    pub fn set_defaults(&self, defaults: &mut ProblemDefaults, direction: bool, dtype: bool) {
        let own = || self.iter().map(|kernel| kernel.kind.defaults());
        if let Some(own_direction) = common(own().map(|own| own.direction)).filter(|_| direction) {
            defaults.direction = own_direction;
        }
        let own_dtype = common(own().map(|own| own.dtype));
        if let Some(own) = own_dtype.filter(|_| dtype) {
            defaults.dtype = own;
        }
        if let Some(layouts) = common(own().map(|own| (own.conv_layout, own.gemm_layout))) {
            (defaults.conv_layout, defaults.gemm_layout) = layouts;
        }
        // AITER's tables and its log give extents and types only. Some of its kernels read B in either order.
        let request = |kind: &KernelKind| match kind {
            KernelKind::Gemm(kernel) if kernel.variant.library == GemmLibrary::Aiter => {
                Some((GemmRequest { preshuffle: false, ..kernel.request() }, kernel.dtype_c))
            }
            _ => None,
        };
        if let Some((dtypes, dtype_c)) = common(self.iter().map(|kernel| request(&kernel.kind))).flatten() {
            let request = GemmRequest { preshuffle: self.is_shuffled(), ..dtypes };
            (defaults.gemm_request, defaults.dtype_c) = (request, Some(dtype_c));
            // One name is for fp8 and int8: a line without a type is fp8, whatever the model was trained on.
            defaults.dtype = own_dtype.unwrap_or(defaults.dtype);
        }
    }

    /// The architecture that all kernels name.
    pub fn arch(&self) -> Option<Arch> {
        common(self.iter().map(|kernel| kernel.kind.arch())).flatten()
    }
}
