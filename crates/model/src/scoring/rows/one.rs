//! One row down several trees at once, so that a step of one tree does not wait for the other trees'.

use std::hint::select_unpredictable;
use std::ops::Range;

use super::compile::{LEAVES, Parts};
use crate::scoring::unchecked::get;

/// Trees at once.
const TREES: usize = 8;

/// The sum of the values of the leaves that a row reaches. `answers` has the place of the child that each
/// question leads to.
#[inline(always)]
pub(super) fn sum(parts: &Parts, range: Range<usize>, answers: &[u8]) -> f64 {
    let (mut sum, mut part) = (0.0, range.start);
    while part + TREES <= range.end {
        sum = add::<TREES>(parts, part, answers, sum);
        part += TREES;
    }
    while part < range.end {
        sum = add::<1>(parts, part, answers, sum);
        part += 1;
    }
    sum
}

/// Adds the values of `N` parts.
#[inline(always)]
fn add<const N: usize>(parts: &Parts, first: usize, answers: &[u8], mut sum: f64) -> f64 {
    let (mut slots, mut starts) = ([0; N], [0; N]);
    for at in 0..N {
        let part = parts.part(first + at);
        starts[at] = part.nodes as usize;
        slots[at] = if part.nodes == parts.part(first + at + 1).nodes { 0 } else { LEAVES };
    }
    loop {
        let mut any = 0;
        for at in 0..N {
            let slot = slots[at];
            // SAFETY: slots are of a part's nodes and leaves. What has ended at a leaf looks at the part's
            // first node or, if it has none, at the next part's, or at the one after all. All questions have
            // answers.
            let next = unsafe {
                let node = get(&parts.nodes, starts[at] + slot.saturating_sub(LEAVES));
                node.child(get(answers, node.question()))
            };
            slots[at] = select_unpredictable(slot >= LEAVES, next.into(), slot);
            any |= slots[at];
        }
        if any < LEAVES {
            break;
        }
    }
    for at in 0..N {
        // SAFETY: a walk ends at a leaf of its part.
        sum += unsafe { get(&parts.values, parts.part(first + at).values as usize + slots[at]) };
    }
    sum
}
