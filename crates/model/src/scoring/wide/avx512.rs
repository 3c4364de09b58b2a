//! The walk of wide pools with AVX-512.

#[allow(clippy::wildcard_imports)] // forty intrinsics
use std::arch::x86_64::*;

use super::{VECTOR, View};
use crate::isa::Avx512;
use crate::scoring::compile::cells::{
    Batch, CELL, FAR_LEAF, FAR_MAX, FAR_SHIFT, FLIPPED, NEAR_LEAF, QUESTION, leaf_value,
};
use crate::scoring::scratch::Scratch;
use crate::scoring::unchecked::set;
use crate::scoring::vectors::{List, WIDTH, look_up};

/// Adds all trees to the sums of a slab.
pub(in crate::scoring) fn sum(_: Avx512, view: View<'_>, scratch: &mut Scratch, sums: &mut [f64]) {
    // SAFETY: the token proves that the CPU has the features.
    unsafe { wide_exact(view, scratch, sums) }
}

/// Adds all trees to the sums of a slab, in whole numbers of a `factor`-th.
pub(in crate::scoring) fn sum_rounded(
    _: Avx512,
    view: View<'_>,
    scratch: &mut Scratch,
    sums: &mut [i32],
    factor: f64,
) {
    // SAFETY: the token proves that the CPU has the features.
    unsafe { wide_rounded(view, scratch, sums, factor) }
}

#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi1,bmi2,lzcnt,popcnt")]
fn wide_exact(view: View<'_>, scratch: &mut Scratch, sums: &mut [f64]) {
    assert_eq!(sums.len(), view.words * 64);
    for batch in &view.cells.batches {
        let count = additions(view, batch, scratch);
        for entry in 0..count {
            let (word, lanes) = (scratch.add_to[entry] as usize, scratch.add_lanes[entry]);
            let value = _mm512_set1_pd(scratch.add_value[entry]);
            let sums = &mut sums[word * 64..word * 64 + 64];
            for (group, sums) in sums.chunks_exact_mut(8).enumerate() {
                // SAFETY: eight sums.
                unsafe {
                    let old = _mm512_loadu_pd(sums.as_ptr());
                    let chosen = (lanes >> (8 * group)) as __mmask8;
                    _mm512_storeu_pd(sums.as_mut_ptr(), _mm512_mask_add_pd(old, chosen, old, value));
                }
            }
        }
    }
}

#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi1,bmi2,lzcnt,popcnt")]
fn wide_rounded(view: View<'_>, scratch: &mut Scratch, sums: &mut [i32], factor: f64) {
    assert_eq!(sums.len(), view.words * 64);
    for batch in &view.cells.batches {
        let count = additions(view, batch, scratch);
        for entry in 0..count {
            let (word, lanes) = (scratch.add_to[entry] as usize, scratch.add_lanes[entry]);
            // Rounds to nearest, ties to even.
            let value = _mm_cvtsd_i32(_mm_set_sd(scratch.add_value[entry] * factor));
            let value = _mm512_set1_epi32(value);
            let sums = &mut sums[word * 64..word * 64 + 64];
            for (group, sums) in sums.chunks_exact_mut(WIDTH).enumerate() {
                // SAFETY: sixteen sums.
                unsafe {
                    let old = _mm512_loadu_si512(sums.as_ptr().cast());
                    let chosen = (lanes >> (WIDTH * group)) as __mmask16;
                    let new = _mm512_mask_add_epi32(old, chosen, old, value);
                    _mm512_storeu_si512(sums.as_mut_ptr().cast(), new);
                }
            }
        }
    }
}

/// Walks a batch and lists what is to be added to which lanes, tree after tree. Returns the number of
/// entries.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi1,bmi2,lzcnt,popcnt")]
fn additions(view: View<'_>, batch: &Batch, scratch: &mut Scratch) -> usize {
    let leaves = wide_walk(view, batch, scratch);
    super::by_tree(batch, scratch, leaves);
    let cells = &view.cells.cells[batch.start..];
    let mut count = 0;
    for leaf in 0..leaves {
        let leaf = scratch.order[leaf] as usize;
        // SAFETY: the walk has reached this leaf.
        let value = unsafe { leaf_value(cells, scratch.leaf_at[leaf]) };
        let set = scratch.leaf_set[leaf] as usize * view.words;
        let Scratch { sets, add_to, add_lanes, add_value, .. } = scratch;
        for (vector, words) in sets[set..set + view.words].chunks_exact(VECTOR).enumerate() {
            debug_assert!(count + VECTOR <= add_to.len() && VECTOR == 8);
            // SAFETY: eight words; a tree adds to each word of lanes at most as often as the word has lanes
            // or the tree has leaves, and the lists have room for that plus a vector (`Wide::fit`).
            unsafe {
                let lanes = _mm512_loadu_si512(words.as_ptr().cast());
                let some = _mm512_test_epi64_mask(lanes, lanes);
                let lanes = _mm512_maskz_compress_epi64(some, lanes);
                _mm512_storeu_si512(add_lanes.as_mut_ptr().add(count).cast(), lanes);
                let numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
                let numbers = _mm256_add_epi32(numbers, _mm256_set1_epi32((vector * VECTOR) as i32));
                let numbers = _mm256_maskz_compress_epi32(some, numbers);
                _mm256_storeu_si256(add_to.as_mut_ptr().add(count).cast(), numbers);
                _mm512_storeu_pd(add_value.as_mut_ptr().add(count), _mm512_set1_pd(value));
                count += some.count_ones() as usize;
            }
        }
    }
    count
}

/// Fills the leaf list of a batch, and returns its length.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi1,bmi2,lzcnt,popcnt")]
fn wide_walk(view: View<'_>, batch: &Batch, scratch: &mut Scratch) -> usize {
    let (roots, lone) = super::start(view, batch, scratch);
    let Scratch {
        answers,
        node_at,
        node_set,
        leaf_at,
        leaf_set,
        split_at,
        split_set,
        masks,
        sets,
        cell_of,
        answer_of,
        ..
    } = scratch;
    let cells = &view.cells.cells[batch.start..];
    let mut nodes = List { at: node_at, set: node_set, len: roots };
    let mut leaves = List { at: leaf_at, set: leaf_set, len: lone };
    let mut splits = List { at: split_at, set: split_set, len: 0 };
    let mut used = batch.trees;
    let (mut head, mut end) = (0, 0);
    loop {
        if head == end {
            if end == nodes.len {
                break;
            }
            end = nodes.len;
            // SAFETY: as in `narrow_walk`.
            unsafe { look_up(cells, answers, nodes.at, head..end, cell_of, answer_of) };
        }
        let count = (end - head).min(WIDTH);
        let live = _bzhi_u32(0xffff, count as u32) as __mmask16;
        splits.len = 0;
        // SAFETY: as in `narrow_walk`; the split list has room for a vector, and holds no more.
        unsafe {
            let node = _mm512_loadu_si512(nodes.at.as_ptr().add(head).cast());
            let set = _mm512_loadu_si512(nodes.set.as_ptr().add(head).cast());
            let cell = _mm512_loadu_si512(cell_of.as_ptr().add(head).cast());
            let answer = _mm512_loadu_si512(answer_of.as_ptr().add(head).cast());
            head += count;
            let uniform = _mm512_mask_cmple_epu32_mask(live, answer, _mm512_set1_epi32(super::ALL as i32));
            let yes = _mm512_test_epi32_mask(answer, answer);
            let flipped = _mm512_movepi32_mask(cell);
            let go_near = yes ^ flipped;

            let distance = _mm512_srli_epi32::<FAR_SHIFT>(cell);
            let distance = _mm512_and_si512(distance, _mm512_set1_epi32(FAR_MAX as i32));
            let step = _mm512_mask_mov_epi32(distance, go_near, _mm512_set1_epi32(1));
            let next = _mm512_add_epi32(node, step);
            let near_leaf = _mm512_test_epi32_mask(cell, _mm512_set1_epi32(NEAR_LEAF as i32));
            let far_leaf = _mm512_test_epi32_mask(cell, _mm512_set1_epi32(FAR_LEAF as i32));
            let leaf = (go_near & near_leaf) | (!go_near & far_leaf);
            nodes.append(uniform & !leaf, next, set);
            leaves.append(uniform & leaf, next, set);
            splits.append(live & !uniform, node, set);
        }
        for split in 0..splits.len {
            let (node, set) = (splits.at[split], splits.set[split]);
            let cell = cells[(node & CELL) as usize];
            let mask = super::mask(view, masks, answers[(cell & QUESTION) as usize]);
            let (here, fresh) = sets.split_at_mut(used * view.words);
            let here = &mut here[set as usize * view.words..][..view.words];
            let (near, far) = cut(here, &mut fresh[..view.words], mask, cell & FLIPPED != 0);
            let far_place = node + ((cell >> FAR_SHIFT) & FAR_MAX as u32);
            // SAFETY: the lists have room for all nodes and leaves, and more.
            unsafe {
                offer(&mut nodes, &mut leaves, near, cell & NEAR_LEAF != 0, node + 1, set);
                offer(&mut nodes, &mut leaves, far, cell & FAR_LEAF != 0, far_place, used as u32);
            }
            used += usize::from(far);
        }
    }
    leaves.len
}

/// Appends an item to one of two lists if it has lanes, without a branch, which would be unpredictable.
///
/// # Safety
///
/// There is room for an item after the end of both.
#[inline(always)]
unsafe fn offer(nodes: &mut List<'_>, leaves: &mut List<'_>, some: bool, leaf: bool, node: u32, lanes: u32) {
    // SAFETY: by contract, both lists have room for an item after their end.
    unsafe {
        set(nodes.at, nodes.len, node);
        set(nodes.set, nodes.len, lanes);
        set(leaves.at, leaves.len, node);
        set(leaves.set, leaves.len, lanes);
    }
    nodes.len += usize::from(some & !leaf);
    leaves.len += usize::from(some & leaf);
}

/// Splits a set: the near part stays, the far part goes into `fresh`. Returns whether each is non-empty.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,bmi1,bmi2,lzcnt,popcnt")]
fn cut(here: &mut [u64], fresh: &mut [u64], mask: &[u64], flipped: bool) -> (bool, bool) {
    let flip = _mm512_set1_epi64(-i64::from(flipped));
    let (mut any_near, mut any_far) = (_mm512_setzero_si512(), _mm512_setzero_si512());
    let vectors = here.chunks_exact_mut(VECTOR).zip(fresh.chunks_exact_mut(VECTOR));
    for ((here, fresh), mask) in vectors.zip(mask.chunks_exact(VECTOR)) {
        // SAFETY: eight words each.
        unsafe {
            let yes = _mm512_xor_si512(_mm512_loadu_si512(mask.as_ptr().cast()), flip);
            let lanes = _mm512_loadu_si512(here.as_ptr().cast());
            let (near, far) = (_mm512_and_si512(lanes, yes), _mm512_andnot_si512(yes, lanes));
            any_near = _mm512_or_si512(any_near, near);
            any_far = _mm512_or_si512(any_far, far);
            _mm512_storeu_si512(here.as_mut_ptr().cast(), near);
            _mm512_storeu_si512(fresh.as_mut_ptr().cast(), far);
        }
    }
    (_mm512_test_epi64_mask(any_near, any_near) != 0, _mm512_test_epi64_mask(any_far, any_far) != 0)
}
