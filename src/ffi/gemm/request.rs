//! What a GEMM problem asks for besides one plain GEMM, and what its kernels are.

use std::ffi::c_char;
use std::mem::offset_of;
use std::ptr;

use crate::ffi::CkStatus;
use crate::ffi::error::Failure;
use crate::ffi::input::{check_reserved, read_array, wrong_size};
use crate::ffi::mirror::{AsC, FromC, Member};
use crate::kernel::{Mnk, Quant};
use crate::problem::{Group, Groups};
use crate::vocab::QuantMode;

/// GEMMs of equal extents in a list. Later versions append fields, of which 0 is the default.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CkGemmGroup {
    /// Rows of A and C.
    pub m: u32,
    /// Columns of B and C.
    pub n: u32,
    /// Columns of A, rows of B.
    pub k: u32,
    /// How many there are; at least 1.
    pub count: u32,
}

// A list of ours is one of C's.
const _: () = {
    assert!(size_of::<Group>() == size_of::<CkGemmGroup>());
    assert!(align_of::<Group>() == align_of::<CkGemmGroup>());
    assert!(offset_of!(Group, extents) == offset_of!(CkGemmGroup, m));
    assert!(offset_of!(Group, count) == offset_of!(CkGemmGroup, count));
};

/// A list of GEMMs of one launch that differ in their extents, in any order; at most 8 different ones. The
/// problem's own extents are then those of the one with the most work, or 1 as initialised.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CkGemmGroups {
    /// The GEMMs; NULL if it is no list.
    pub items: *const CkGemmGroup,
    /// The number of GEMMs.
    pub count: usize,
    /// `sizeof(ck_gemm_group)`; 0 if it is no list.
    pub item_size: usize,
}

impl AsC for Groups {
    type C = CkGemmGroups;

    fn to_c(&self) -> CkGemmGroups {
        let groups = self.as_slice();
        let items = if groups.is_empty() { ptr::null() } else { groups.as_ptr().cast() };
        CkGemmGroups { items, count: groups.len(), item_size: size_of::<CkGemmGroup>() }
    }
}

impl FromC for Groups {
    unsafe fn from_c(value: CkGemmGroups, member: Member<'_>) -> Result<Self, Failure> {
        let (size, align) = (size_of::<CkGemmGroup>(), align_of::<CkGemmGroup>());
        if value.count > 0 && value.item_size != size {
            return Err(wrong_size("request.groups.item_size", value.item_size, size, align));
        }
        // SAFETY: by contract, `items` is NULL or has so many elements.
        let groups = unsafe { read_array(value.items, value.count, member.name) }?;
        let groups = groups.iter().map(|&CkGemmGroup { m, n, k, count }| Group { extents: [m, n, k], count });
        Self::new(groups).map_err(Failure::of(member.status))
    }
}

/// Scales of a GEMM kernel's operands.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CkQuant {
    /// Which operands have scales: "aquant", "bquant", "abquant", "rowcolquant", `tensor_quant` or "mx"; NULL
    /// for none.
    pub mode: *const c_char,
    /// Elements of A that share a scale: m, n, k. Zeros: 1, 1, 128, and 1, 1, 32 for "mx".
    pub group_a: [i32; 3],
    /// Elements of B that share a scale: m, n, k, with zeros as for A.
    pub group_b: [i32; 3],
    /// Must be 0.
    pub reserved: [i32; 8],
}

impl AsC for Option<Quant> {
    type C = CkQuant;

    fn to_c(&self) -> CkQuant {
        CkQuant {
            mode: self.map(|quant| quant.mode).to_c(),
            group_a: self.and_then(|quant| quant.group_a).to_c(),
            group_b: self.and_then(|quant| quant.group_b).to_c(),
            reserved: [0; 8],
        }
    }
}

impl FromC for Option<Quant> {
    unsafe fn from_c(value: CkQuant, member: Member<'_>) -> Result<Self, Failure> {
        value.reserved.iter().try_for_each(|&value| check_reserved("variant.quant.", value))?;
        // SAFETY: by contract.
        let (mode, groups) = unsafe {
            let group_a = FromC::from_c(value.group_a, Member { name: "group_a", ..member })?;
            let group_b = FromC::from_c(value.group_b, Member { name: "group_b", ..member })?;
            (FromC::from_c(value.mode, member)?, [group_a, group_b])
        };
        completed(mode, groups)
    }
}

/// The scales of a mode; groups that are not given are the usual ones.
pub(super) fn completed(mode: Option<QuantMode>, groups: [Option<Mnk>; 2]) -> Result<Option<Quant>, Failure> {
    let mut quant = mode.map(Quant::usual);
    for (operand, given) in ["group_a", "group_b"].into_iter().zip(groups) {
        let Some(group) = given else { continue };
        let own = quant.as_mut().and_then(|quant| {
            let group = if operand == "group_b" { &mut quant.group_b } else { &mut quant.group_a };
            group.as_mut()
        });
        let Some(own) = own else {
            let message = format!(
                "{operand} is {group}, expected zeros, or three extents where `quant` scales groups of that \
                 operand"
            );
            return Err(Failure::new(CkStatus::InvalidArgument, message));
        };
        *own = group;
    }
    Ok(quant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_belong_to_operands_with_groups() {
        let group = |k| Some(Mnk::new(1, 1, k));
        let quant = completed(Some(QuantMode::B), [None, group(64)]).unwrap().unwrap();
        assert_eq!((quant.group_a, quant.group_b), (None, group(64)));
        assert_eq!(completed(Some(QuantMode::Mx), [None; 2]).unwrap(), Some(Quant::usual(QuantMode::Mx)));
        for (mode, groups) in [
            (Some(QuantMode::B), [group(128), None]),
            (Some(QuantMode::Tensor), [None, group(128)]),
            (None, [group(128), None]),
        ] {
            completed(mode, groups).unwrap_err();
        }
    }
}
