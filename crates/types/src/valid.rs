//! Checks of values that several operations have.

use crate::field::InvalidField;
use crate::shape::Mnk;
use crate::vocab::Dtype;

/// Largest tile extent, vector width or count of a kernel; the dispatcher's GEMM key stores extents in 16
/// bits.
pub(crate) const MAX_KERNEL_EXTENT: u32 = Mnk::MOST;
/// Largest wave count, instruction extent, split-K or number of D tensors: 8 bits in the dispatcher's GEMM
/// key.
pub(crate) const MAX_SMALL: u32 = u8::MAX as u32;

/// Refuses element types that only attention has.
pub(crate) fn element(field: &str, dtype: Dtype) -> Result<(), InvalidField> {
    if !dtype.is_element() {
        let expected = "a type that is not only for attention";
        return Err(InvalidField::new(field, format_args!("'{dtype}'"), expected));
    }
    Ok(())
}

pub(crate) fn shape(field: &str, shape: Mnk, most: u32) -> Result<(), InvalidField> {
    for (axis, extent) in [("m", shape.m), ("n", shape.n), ("k", shape.k)] {
        if !(1..=most).contains(&extent) {
            return Err(InvalidField::new(format!("{field}_{axis}"), extent, format!("1 to {most}")));
        }
    }
    Ok(())
}
