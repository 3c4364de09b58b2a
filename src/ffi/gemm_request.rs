//! What a GEMM problem asks for beside one plain GEMM, and what its kernels are.

use std::mem::offset_of;
use std::ptr;

use super::error::Failure;
use super::input::read_array;
use super::problems::CkGemmProblem;
use super::{CkStatus, words};
use crate::kernel::{Mnk, Quant};
use crate::problem::{GemmRequest, Group, Groups};
use crate::vocab::{QuantMode, StreamKReduction};

/// How workgroups that share tiles (stream-K) add their partial results.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CkStreamK {
    /// No stream-K.
    None = 0,
    /// By a tree of additions, in a workspace.
    Tree = 1,
    /// One after the other, in a workspace.
    Linear = 2,
    /// By atomic additions to the result.
    Atomic = 3,
}

/// Which operands of a GEMM have scales.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CkQuant {
    /// None.
    None = 0,
    /// A, per group of elements.
    A = 1,
    /// B, per group of elements.
    B = 2,
    /// A and B, per group of elements.
    Ab = 3,
    /// A per row, B per column.
    RowCol = 4,
    /// A and B, one each.
    Tensor = 5,
    /// A and B in blocks of 32 (microscaling).
    Mx = 6,
}

/// GEMMs of equal extents in a list.
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

/// Where a list lies; NULL if it is empty.
pub(super) fn address(groups: &Groups) -> *const CkGemmGroup {
    if groups.is_empty() { ptr::null() } else { groups.as_slice().as_ptr().cast() }
}

/// The request of a problem, and its extents: a list's are those of its largest GEMM.
///
/// # Safety
/// `problem.groups` is NULL or points to `problem.num_groups` groups.
pub(super) unsafe fn read(problem: &CkGemmProblem) -> Result<(GemmRequest, [i64; 3]), Failure> {
    let extents = [problem.m, problem.n, problem.k];
    let CkGemmProblem { batch, num_groups, stream_k, num_d, preshuffle, quant, .. } = *problem;
    let (group_a, group_b) = (problem.quant_group_a, problem.quant_group_b);
    let is_plain = (batch, num_groups) == (0, 0)
        && [stream_k, num_d, preshuffle, quant] == [0; 4]
        && (group_a, group_b) == ([0; 3], [0; 3]);
    if is_plain {
        return Ok((GemmRequest::NONE, extents));
    }
    // SAFETY: by contract, `groups` is NULL or has so many elements.
    let groups = unsafe { read_array(problem.groups, num_groups, "groups") }?;
    let groups = groups.iter().map(|&CkGemmGroup { m, n, k, count }| Group { extents: [m, n, k], count });
    let groups = Groups::new(groups).map_err(Failure::of(CkStatus::InvalidProblem))?;
    let reduction = words::word("stream_k", stream_k, StreamKReduction::ALL, StreamKReduction::WORDS)?;
    let plain = GemmRequest {
        batch: u32::try_from(batch).map_err(|_| refused("batch", batch, "0 to 2147483647"))?,
        groups,
        stream_k: Some(reduction).filter(|reduction| *reduction != StreamKReduction::None),
        num_d: u8::try_from(num_d).map_err(|_| refused("num_d", num_d.into(), "0 to 255"))?,
        preshuffle: preshuffle != 0,
        ..GemmRequest::NONE
    };
    let request = scales(quant, group_a, group_b)?.map_or(plain, |scales| plain.scaled(scales));
    // As it was initialised, a list's problem has no extents of its own.
    let extents = match groups.largest() {
        Some(largest) if extents == [1; 3] => largest.extents.map(i64::from),
        _ => extents,
    };
    Ok((request, extents))
}

/// The scales of a `ck_quant` with its groups, of which three zeros are the usual ones.
fn scales(quant: i32, a: [i32; 3], b: [i32; 3]) -> Result<Option<Quant>, Failure> {
    let mode = |place: i32| QuantMode::ALL.get(usize::try_from(place).ok()?).copied();
    let scales = match quant {
        0 => None,
        _ => Some(Quant::usual(quant.checked_sub(1).and_then(mode).ok_or_else(|| {
            let (count, words) = (QuantMode::ALL.len(), QuantMode::WORDS.join(", "));
            let message = format!("quant is {quant}, expected 0 to {count} (none, {words})");
            Failure::new(CkStatus::InvalidArgument, message)
        })?)),
    };
    groups_of(scales, a, b)
}

/// The same with other groups than the usual ones.
pub(super) fn groups_of(
    mut quant: Option<Quant>,
    a: [i32; 3],
    b: [i32; 3],
) -> Result<Option<Quant>, Failure> {
    for (what, group, is_b) in [("quant_group_a", a, false), ("quant_group_b", b, true)] {
        if group == [0; 3] {
            continue;
        }
        let place = quant.as_mut().and_then(|quant| {
            let place = if is_b { &mut quant.group_b } else { &mut quant.group_a };
            place.as_mut()
        });
        let shape = group.map(u32::try_from);
        let ([Ok(m), Ok(n), Ok(k)], Some(place)) = (shape, place) else {
            let message = format!(
                "{what} is {group:?}, expected zeros, or three extents where `quant` scales groups of that \
                 operand"
            );
            return Err(Failure::new(CkStatus::InvalidArgument, message));
        };
        *place = Mnk::new(m, n, k);
    }
    Ok(quant)
}

fn refused(what: &str, found: i64, expected: &str) -> Failure {
    Failure::new(CkStatus::InvalidProblem, format!("{what} is {found}, expected {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_the_vocabularies() {
        let stream_k = [CkStreamK::None, CkStreamK::Tree, CkStreamK::Linear, CkStreamK::Atomic];
        assert_eq!(stream_k.map(|one| format!("{one:?}").to_lowercase()).to_vec(), StreamKReduction::WORDS);
        let quants = [CkQuant::A, CkQuant::B, CkQuant::Ab, CkQuant::RowCol, CkQuant::Tensor, CkQuant::Mx];
        for (quant, mode) in quants.into_iter().zip(QuantMode::ALL) {
            let scales = scales(quant as i32, [0; 3], [0; 3]).unwrap();
            assert_eq!(scales, Some(Quant::usual(*mode)));
            assert_eq!(format!("{quant:?}").to_lowercase(), format!("{mode:?}").to_lowercase());
        }
        assert_eq!(quants.len(), QuantMode::ALL.len());
    }

    #[test]
    fn groups_belong_to_operands_with_groups() {
        let quant = scales(CkQuant::B as i32, [0; 3], [1, 1, 64]).unwrap().unwrap();
        assert_eq!((quant.group_a, quant.group_b), (None, Some(Mnk::new(1, 1, 64))));
        for (quant, a, b) in [
            (CkQuant::B as i32, [1, 1, 128], [0; 3]),
            (CkQuant::Tensor as i32, [0; 3], [1, 1, 128]),
            (0, [1, 1, 128], [0; 3]),
            (CkQuant::A as i32, [1, -1, 128], [0; 3]),
            (7, [0; 3], [0; 3]),
            (-1, [0; 3], [0; 3]),
            (i32::MIN, [0; 3], [0; 3]),
        ] {
            scales(quant, a, b).unwrap_err();
        }
        let message = scales(-1, [0; 3], [0; 3]).unwrap_err().message;
        assert!(message.starts_with("quant is -1, expected 0 to 6 (none, aquant, bquant, "), "{message}");
    }
}
