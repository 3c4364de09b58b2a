//! The walk of narrow pools with AVX-512.

#[allow(clippy::wildcard_imports)] // forty intrinsics
use std::arch::x86_64::*;

use crate::isa::Avx512;
use crate::scoring::compile::cells::{
    Batch, CELL, Cells, FAR_LEAF, FAR_MAX, FAR_SHIFT, NEAR_LEAF, TREE_SHIFT, fetch_line, leaf_value,
};
use crate::scoring::compile::lanes::LANES;
use crate::scoring::scratch::Scratch;
use crate::scoring::vectors::{List, WIDTH, look_up};

/// Adds all trees to the sums of a pool of at most 32 lanes.
pub(in crate::scoring) fn sum(_: Avx512, cells: &Cells, all: u32, scratch: &mut Scratch) {
    // SAFETY: the token proves that the CPU has the features.
    unsafe { narrow_batches(cells, all, scratch) }
}

#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi1,bmi2,lzcnt,popcnt")]
fn narrow_batches(cells: &Cells, all: u32, scratch: &mut Scratch) {
    let mut sums = [_mm512_setzero_pd(); LANES / 8];
    for (number, batch) in cells.batches.iter().enumerate() {
        cells.fetch(number + 1);
        let cells = &cells.cells[batch.start..];
        let leaves = narrow_walk(cells, batch, all, scratch);
        let rows = &mut scratch.rows[..batch.trees];
        for leaf in 0..leaves {
            let (position, lanes) = (scratch.leaf_at[leaf], scratch.leaf_set[leaf]);
            // Beyond the list's end, places are arbitrary.
            let ahead = (scratch.leaf_at[leaf + LEAVES_AHEAD] & CELL) as usize;
            fetch_line(cells.as_ptr().wrapping_add(ahead));
            // SAFETY: the walk has reached this leaf.
            let value = _mm512_set1_pd(unsafe { leaf_value(cells, position) });
            let tree = (position >> TREE_SHIFT) as usize;
            debug_assert!(tree < rows.len());
            // SAFETY: the tree is one of the batch's.
            let row = unsafe { rows.get_unchecked_mut(tree) };
            for (group, row) in row.0.chunks_exact_mut(8).enumerate() {
                // SAFETY: eight values.
                unsafe { _mm512_mask_store_pd(row.as_mut_ptr(), (lanes >> (8 * group)) as u8, value) };
            }
        }
        for row in rows {
            for (sum, values) in sums.iter_mut().zip(row.0.chunks_exact(8)) {
                // SAFETY: eight values.
                let values = unsafe { _mm512_load_pd(values.as_ptr()) };
                *sum = _mm512_add_pd(*sum, values);
            }
        }
    }
    for (sum, out) in sums.into_iter().zip(scratch.sums[..LANES].chunks_exact_mut(8)) {
        // SAFETY: eight values.
        unsafe { _mm512_storeu_pd(out.as_mut_ptr(), sum) };
    }
}

/// How far ahead in the leaf list values are prefetched.
const LEAVES_AHEAD: usize = 12;

/// Fills the leaf list of a batch, and returns its length.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi1,bmi2,lzcnt,popcnt")]
fn narrow_walk(cells: &[u32], batch: &Batch, all: u32, scratch: &mut Scratch) -> usize {
    let Scratch { answers, node_at, node_set, leaf_at, leaf_set, cell_of, answer_of, .. } = scratch;
    let mut nodes = List { at: node_at, set: node_set, len: 0 };
    let mut leaves = List { at: leaf_at, set: leaf_set, len: 0 };
    nodes.start(&batch.roots, all);
    leaves.start(&batch.lone_leaves, all);
    let (mut head, mut end) = (0, 0);
    loop {
        if head == end {
            if end == nodes.len {
                break;
            }
            end = nodes.len;
            // SAFETY: see below.
            unsafe { look_up(cells, answers, nodes.at, head..end, cell_of, answer_of) };
        }
        let count = (end - head).min(WIDTH);
        let live = _bzhi_u32(0xffff, count as u32) as __mmask16;
        // SAFETY: lists have room for a vector beyond their end, and only live items are followed: places
        // lead to cells, and cells hold questions of this forest, of which there are as many as answers
        // (`Cells::new`, `narrow::fit`). Every node and every leaf of the batch is reached at most once, so
        // no list outgrows its room.
        unsafe {
            let node = _mm512_loadu_si512(nodes.at.as_ptr().add(head).cast());
            let lanes = _mm512_maskz_loadu_epi32(live, nodes.set.as_ptr().add(head).cast());
            let cell = _mm512_loadu_si512(cell_of.as_ptr().add(head).cast());
            let yes = _mm512_loadu_si512(answer_of.as_ptr().add(head).cast());
            head += count;
            let yes = _mm512_xor_si512(yes, _mm512_srai_epi32::<31>(cell));

            let near_lanes = _mm512_and_si512(lanes, yes);
            let far_lanes = _mm512_andnot_si512(yes, lanes);
            let near = _mm512_add_epi32(node, _mm512_set1_epi32(1));
            let distance = _mm512_srli_epi32::<FAR_SHIFT>(cell);
            let distance = _mm512_and_si512(distance, _mm512_set1_epi32(FAR_MAX as i32));
            let far = _mm512_add_epi32(node, distance);
            let any_near = _mm512_test_epi32_mask(near_lanes, near_lanes);
            let any_far = _mm512_test_epi32_mask(far_lanes, far_lanes);
            let near_leaf = _mm512_test_epi32_mask(cell, _mm512_set1_epi32(NEAR_LEAF as i32));
            let far_leaf = _mm512_test_epi32_mask(cell, _mm512_set1_epi32(FAR_LEAF as i32));
            nodes.append(any_near & !near_leaf, near, near_lanes);
            nodes.append(any_far & !far_leaf, far, far_lanes);
            leaves.append(any_near & near_leaf, near, near_lanes);
            leaves.append(any_far & far_leaf, far, far_lanes);
        }
    }
    leaves.len
}
