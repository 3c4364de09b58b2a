//! Small trees for many lanes, 32 at a time, with AVX2.
//!
//! The idea is that of [the narrow sieve](crate::scoring::narrow::sieve). Here most questions have one answer
//! for the whole pool, so that a tree is cut down first; and questions about problem and kernel have one
//! answer for a *run*, the lanes of one class, so that runs come before lanes:
//!
//! ```text
//! for each tree:
//!     reach = all leaves; for each node with one answer: without those behind the other answer
//!     kept = the nodes with several answers that some leaf in reach is behind
//!     for each group of runs:
//!         left[tree][run] = start[tree][run] & reach, without those behind the other answer to each kept node
//!         most[run] += rounded value[tree][the best leaf left]
//! for each group of lanes, for a shortlist only those with a run that the best lanes so far are not beyond:
//!     for each tree:
//!         leaf[tree][lane] = the one in left[tree][run of the lane] & own[tree][lane]
//!         about[lane] += rounded value[tree][leaf]
//! for each lane: sum += value[tree][leaf[tree][lane]], in the order of the trees      all, or the shortlist's
//! ```
//!
//! Leaves are the bits of a word in the order of their values, the highest first, so that the lowest bit is
//! the best leaf. `own` has the leaves that a lane's kernel can reach, and `start` those that one of a run's
//! can; so `most` is no less than `about` of any of its lanes. Where runs have few lanes, each lane is a run,
//! which leaves one leaf.
//!
//! Rounded values are half words, the eight largest of which do not overflow one. Trees of different sizes of
//! values have different units, `2^shift / factor`.

#[allow(clippy::wildcard_imports)] // some intrinsics
use std::arch::x86_64::*;
use std::ops::Range;

use crate::isa::Avx2;
use crate::scoring::compile::answers::KernelAnswers;
use crate::scoring::compile::cells::Cells;
use crate::scoring::compile::ladder::Ladders;
use crate::scoring::compile::lanes::{Column, LANES, Lanes};
use crate::scoring::compile::stair::Stair;
use crate::scoring::narrow::SMALL;
use crate::scoring::narrow::sieve::{Draft, Halves, Split, TWICE, halved, load, lowest, place_of, store};
use crate::scoring::rows::{EVERYBODY, NOBODY, SOME};
use crate::scoring::scratch::{Bytes, Scratch, Words, grow};
use crate::scoring::shortlist::Scale;
use crate::scoring::unchecked::{get, set};
use crate::scoring::values::Values;

/// Lanes whose leaves' values are added together.
const TOGETHER: usize = 8;
/// Trees whose rounded values are added before their sums become words.
const BATCH: usize = 8;
/// The largest rounded value: so many do not overflow a half word.
const LARGEST: f64 = (i16::MAX as usize / BATCH) as f64;
/// Runs that the lanes of a group can have: the words of half a vector.
const RUNS: usize = 8;
/// Lanes of a run in the mean from which on runs come before lanes.
const FEW: usize = 2;

#[derive(Debug)]
pub(in crate::scoring) struct Sieve {
    /// The lanes of each run.
    runs: Vec<Range<usize>>,
    /// The classes that each group of 32 runs answers for; the last class fills up.
    classes: Vec<u32>,
    stairs: Vec<Stair>,
    /// The trees, in the order of their shifts.
    trees: Vec<Tree>,
    nodes: Vec<Node>,
    /// The leaves that each run begins with: tree after tree, group after group.
    starts: Vec<Words>,
    /// None if each lane is a run.
    groups: Vec<Group>,
    /// The leaves that each lane can reach: group after group, tree after tree.
    own: Vec<Words>,
    /// The values of the leaves of each tree, in the order of the trees.
    values: Vec<[f64; SMALL]>,
    /// How values are rounded.
    pub(in crate::scoring) scale: Scale,
    /// Proof that the CPU has the instructions.
    isa: Avx2,
}

#[derive(Debug)]
struct Tree {
    number: usize,
    /// How many nodes are about the problem, and how many about problem and kernel, which come next.
    nodes: [usize; 2],
    shift: u32,
    /// The rounded values' bytes.
    low: [u8; SMALL],
    high: [u8; SMALL],
}

/// Up to 32 consecutive lanes.
#[derive(Debug)]
struct Group {
    lanes: Range<usize>,
    /// The run of the first one.
    run: usize,
    /// The bytes of each lane's run among the words of [`RUNS`].
    shuffle: [Bytes; 2],
}

#[derive(Debug)]
struct Node {
    question: u32,
    /// The leaves that remain after a no, after a yes and after several answers, twice.
    rest: [u32; 3],
}

/// A node with several answers.
#[derive(Clone, Copy, Default)]
struct Kept {
    /// The index of the node's first answer for the groups of runs.
    answers: u32,
    after_no: u32,
    after_yes: u32,
}

impl Node {
    fn new(split: Split) -> Node {
        let after = |gone: u16| u32::from(!gone) * TWICE;
        Node { question: split.question.into(), rest: [after(split.yes), after(split.no), u32::MAX] }
    }
}

impl Sieve {
    /// `None` if a tree has more leaves, or there are too many trees.
    pub(in crate::scoring) fn new(
        isa: Avx2,
        cells: &Cells,
        ladders: &Ladders,
        answers: &KernelAnswers,
        lanes: &Lanes,
        scale: Scale,
    ) -> Option<Sieve> {
        u16::try_from(ladders.questions + usize::from(SOME)).ok()?;
        let mut drafts = Draft::all(cells)?;
        drafts.iter_mut().for_each(Draft::sort_leaves);
        let values: Vec<_> = drafts.iter().map(Draft::values).collect();
        let mut trees: Vec<_> = values.iter().zip(drafts).enumerate().collect();
        let shift = |values: &[f64; SMALL]| {
            let largest = values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
            (0..31).find(|&shift| largest * scale.factor <= LARGEST * f64::from(1 << shift))
        };
        trees.sort_by_cached_key(|(_, (values, _))| shift(values));
        let runs = runs(&lanes.classes);
        let groups = if runs.len() < lanes.len() { Group::all(&runs) } else { Vec::new() };
        let row = |row| {
            let run = runs.get(row / LANES * LANES + halved(row % LANES)).or(runs.last());
            run.map_or(0, |run| lanes.classes[run.start])
        };
        let mut sieve = Sieve {
            classes: (0..runs.len().next_multiple_of(LANES)).map(row).collect(),
            stairs: ladders.in_scope(Column::Pair).cloned().flat_map(Stair::from_ladder).collect(),
            trees: Vec::new(),
            nodes: Vec::new(),
            starts: Vec::new(),
            own: vec![Words::default(); groups.len() * trees.len()],
            values: Vec::new(),
            scale: Scale { error: 0, ..scale },
            runs,
            groups,
            isa,
        };
        let count = trees.len();
        for (at_tree, (number, (values, mut draft))) in trees.into_iter().enumerate() {
            let shift = shift(values)?;
            let rounded = values.map(|value| (value * scale.factor / f64::from(1 << shift)).round() as i16);
            let own = draft.start(lanes.len(), answers);
            let pair = ladders.range(Column::Pair);
            draft.splits.sort_by_key(|split| pair.contains(&split.question.into()));
            let uniform = draft.splits.partition_point(|split| !pair.contains(&split.question.into()));
            let any = |run: &Range<usize>| own[run.clone()].iter().fold(0, |any, leaves| any | leaves);
            let starts: Vec<u16> = sieve.runs.iter().map(any).collect();
            sieve.starts.extend(starts.chunks(LANES).map(Words::padded));
            for (at, group) in sieve.groups.iter().enumerate() {
                sieve.own[at * count + at_tree] = Words::padded(&own[group.lanes.clone()]);
            }
            let (low, high) = (rounded.map(|value| value as u8), rounded.map(|value| (value >> 8) as u8));
            let nodes = [uniform, draft.splits.len() - uniform];
            sieve.trees.push(Tree { number, nodes, shift, low, high });
            sieve.nodes.extend(draft.splits.iter().copied().map(Node::new));
            sieve.scale.error += 1 << shift;
        }
        sieve.scale.error = sieve.scale.error / 2 + 2;
        sieve.values = values;
        Some(sieve)
    }

    /// Groups of runs.
    fn parts(&self) -> usize {
        self.classes.len() / LANES
    }

    /// The number of groups whose leaves the sieve finds.
    fn width(&self) -> usize {
        if self.groups.is_empty() { self.parts() } else { self.groups.len() }
    }

    /// Grows a scratch to the needed size.
    pub(in crate::scoring) fn fit(&self, questions: usize, scratch: &mut Scratch) {
        let words = self.classes.len().div_ceil(64);
        let steps: usize = self.stairs.iter().map(|stair| stair.questions.len()).sum();
        grow(&mut scratch.codes, questions);
        scratch.steps.clear();
        scratch.steps.reserve(steps);
        grow(&mut scratch.masks, (usize::from(SOME) + steps) * words);
        grow(&mut scratch.parts, self.parts());
        grow(&mut scratch.most, self.classes.len());
        if !self.groups.is_empty() {
            // Groups read whole vectors from their first run on.
            grow(&mut scratch.left, self.starts.len() + 1);
        }
        grow(&mut scratch.found, self.trees.len() * self.width());
        scratch.is_found.clear();
        scratch.is_found.resize(self.groups.len(), false);
    }

    /// Sets `scratch.whole` to the most that the sum of each lane can be in whole numbers.
    pub(in crate::scoring) fn bound(&self, ladders: &Ladders, values: &Values<'_>, scratch: &mut Scratch) {
        scratch.most[..self.classes.len()].fill(0);
        // SAFETY: the token proves that the CPU has the features.
        unsafe { find_runs::<true>(self, ladders, values, scratch) }
        for (run, &most) in self.runs.iter().zip(&scratch.most) {
            scratch.whole[run.clone()].fill(most);
        }
    }

    /// Sets `scratch.whole` to the sums of lanes of groups in which one can be at least the cutoff. False if
    /// there are none but those of which they are known.
    pub(in crate::scoring) fn refine(&self, cutoff: i64, scratch: &mut Scratch) -> bool {
        let mut any = false;
        for (number, group) in self.groups.iter().enumerate() {
            let mut lanes = scratch.whole[group.lanes.clone()].iter();
            if scratch.is_found[number] || lanes.all(|&most| i64::from(most) < cutoff) {
                continue;
            }
            // SAFETY: the token proves that the CPU has the features.
            let sums = unsafe { find_lanes::<true>(self, number, scratch) };
            scratch.whole[group.lanes.clone()].copy_from_slice(&sums[..group.lanes.len()]);
            (scratch.is_found[number], any) = (true, true);
        }
        any
    }

    /// Finds the leaves of all lanes.
    pub(in crate::scoring) fn find(&self, ladders: &Ladders, values: &Values<'_>, scratch: &mut Scratch) {
        // SAFETY: the token proves that the CPU has the features.
        unsafe {
            find_runs::<false>(self, ladders, values, scratch);
            (0..self.groups.len()).for_each(|group| _ = find_lanes::<false>(self, group, scratch));
        }
    }

    /// The sums of some lanes, whose leaves were found.
    pub(in crate::scoring) fn sum(
        &self,
        lanes: impl Iterator<Item = usize>,
        leaves: &[Bytes],
        sums: &mut [f64],
    ) {
        let width = self.width();
        let mut places = lanes.map(|lane| self.place(lane));
        for sums in sums.chunks_mut(TOGETHER) {
            let places: [_; TOGETHER] = std::array::from_fn(|_| places.next().unwrap_or_default());
            let mut all = [0.0; TOGETHER];
            for (values, leaves) in self.values.iter().zip(leaves.chunks_exact(width)) {
                for (sum, (group, byte)) in all.iter_mut().zip(places) {
                    let leaf = leaves.get(group).map_or(0, |bytes| bytes.0[byte % LANES]);
                    *sum += values[usize::from(leaf) % SMALL];
                }
            }
            sums.copy_from_slice(&all[..sums.len()]);
        }
    }

    /// The group of a lane, and its byte there.
    fn place(&self, lane: usize) -> (usize, usize) {
        let group = self.groups.partition_point(|group| group.lanes.end <= lane);
        match self.groups.get(group) {
            Some(Group { lanes, .. }) => (group, byte(lane - lanes.start)),
            None => (lane / LANES, byte(lane % LANES)),
        }
    }

    /// Cuts a tree down to the leaves that its lanes can reach, and the nodes that decide among them.
    #[inline(always)]
    fn cut(
        [uniform, pair]: [&[Node]; 2],
        codes: &[u16],
        halves: u32,
        kept: &mut [Kept; SMALL],
    ) -> (u32, usize) {
        let (mut reach, mut count) = (u32::MAX, 0);
        // SAFETY: questions are of this forest; all have codes (`find_runs`), of which those about the
        // problem are at most 1. A tree has fewer than 16 nodes.
        unsafe {
            for node in uniform {
                reach &= get(&node.rest, get(codes, node.question as usize).into());
            }
            for node in pair {
                let code = get(codes, node.question as usize);
                let [after_no, after_yes, _] = node.rest;
                reach &= get(&node.rest, code.min(SOME).into());
                set(kept, count, Kept { answers: u32::from(code).wrapping_mul(halves), after_no, after_yes });
                count += usize::from((code >= SOME) & (reach & !after_no != 0));
            }
        }
        (reach, count)
    }
}

const _: () = assert!(NOBODY == 0 && EVERYBODY == 1 && SOME == 2);

/// Consecutive lanes of one class; lanes alone, if these are few.
fn runs(classes: &[u32]) -> Vec<Range<usize>> {
    let alone = |lane| lane..lane + 1;
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (lane, &class) in classes.iter().enumerate() {
        match runs.last_mut() {
            Some(run) if classes[run.start] == class => run.end += 1,
            _ => runs.push(alone(lane)),
        }
    }
    if runs.len() * FEW > classes.len() { (0..classes.len()).map(alone).collect() } else { runs }
}

impl Group {
    /// The groups of all lanes.
    fn all(runs: &[Range<usize>]) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for (run, lane) in
            runs.iter().enumerate().flat_map(|(run, lanes)| lanes.clone().map(move |lane| (run, lane)))
        {
            let has_room = |group: &Group| group.lanes.len() < LANES && run - group.run < RUNS;
            if !groups.last().is_some_and(has_room) {
                groups.push(Group { lanes: lane..lane, run, shuffle: [Bytes::default(); 2] });
            }
            if let Some(Group { lanes, run: first, shuffle }) = groups.last_mut() {
                let (at, word) = (lanes.len(), 2 * (run - *first) as u8);
                let bytes = &mut shuffle[at * 2 / LANES].0[at * 2 % LANES..][..2];
                bytes.copy_from_slice(&[word, word + 1]);
                lanes.end += 1;
            }
        }
        groups
    }
}

/// The byte of an element's leaf, as vectors are packed.
const fn byte(element: usize) -> usize {
    let (vector, element) = (element / 16, element % 16);
    element / 8 * 16 + vector * 8 + element % 8
}

/// Finds the leaves that are left for each run, and the best of them.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn find_runs<const ROUNDED: bool>(
    sieve: &Sieve,
    ladders: &Ladders,
    values: &Values<'_>,
    scratch: &mut Scratch,
) {
    let Scratch { codes, steps, places, masks, left, found, parts, most, .. } = scratch;
    for ladder in ladders.in_scope(Column::Uniform) {
        let position = ladder.position(values.uniform[ladder.column]);
        let (no, yes) = codes[ladder.questions.clone()].split_at_mut(position);
        no.fill(NOBODY);
        yes.fill(EVERYBODY);
    }
    places.find(&sieve.stairs, sieve.classes.len(), |column, cells| {
        let values = values.pair(column);
        cells.iter_mut().zip(&sieve.classes).for_each(|(cell, &class)| *cell = values[class as usize]);
    });
    places.codes(&sieve.stairs, sieve.classes.len(), codes, steps);
    let words = sieve.classes.len().div_ceil(64);
    places.masks(steps, 0, words, &mut masks[usize::from(SOME) * words..], Some(sieve.isa));
    // SAFETY: every half of a word is a word, on a little-endian CPU the lower one first.
    let (_, masks, _) = unsafe { masks.align_to::<u32>() };
    let (count, halves) = (sieve.parts(), Halves::new());
    let alone = sieve.groups.is_empty();
    let (mut nodes, mut kept) = (&sieve.nodes[..], [Kept::default(); SMALL]);
    let (mut shift, mut together) = (0, 0);
    for (at, (tree, starts)) in sieve.trees.iter().zip(sieve.starts.chunks_exact(count)).enumerate() {
        let (uniform, others) = nodes.split_at(tree.nodes[0]);
        let (pair, others) = others.split_at(tree.nodes[1]);
        nodes = others;
        let (reach, kept_count) = Sieve::cut([uniform, pair], codes, words as u32 * 2, &mut kept);
        if ROUNDED {
            if together == BATCH || tree.shift != shift {
                flush(&mut parts[..count], most, shift);
                (shift, together) = (tree.shift, 0);
            }
            together += 1;
        }
        // Where each lane is a run, these are the leaves that are found.
        let (leaves, kept_left) = if alone {
            (&mut found[tree.number * count..][..count], &mut [][..])
        } else {
            (&mut [][..], &mut left[at * count..][..count])
        };
        let tables = tree.tables();
        let reach = _mm256_set1_epi32(reach as i32);
        for (group, (start, part)) in starts.iter().zip(&mut *parts).enumerate() {
            let mut left = load(start).map(|start| _mm256_and_si256(start, reach));
            for kept in &kept[..kept_count] {
                // SAFETY: the node has a mask in the scratch, of two halves for each word.
                let answer = unsafe { get(masks, kept.answers as usize + group) };
                halves.choose(&mut left, answer, kept.after_no, kept.after_yes);
            }
            let places = _mm256_packus_epi16(lowest(left[0]), lowest(left[1]));
            match leaves.get_mut(group) {
                Some(leaves) => store_bytes(leaves, places),
                None => store(&mut kept_left[group], left),
            }
            if ROUNDED {
                add(part, places, tables);
            }
        }
    }
    if ROUNDED {
        flush(&mut parts[..count], most, shift);
    }
}

/// Finds the leaves of a group's lanes, and their sums in whole numbers.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn find_lanes<const ROUNDED: bool>(sieve: &Sieve, number: usize, scratch: &mut Scratch) -> [i32; LANES] {
    let Scratch { left, found, .. } = scratch;
    let (group, count) = (&sieve.groups[number], sieve.trees.len());
    // SAFETY: both have 32 bytes.
    let shuffle = unsafe { [0, 1].map(|half| _mm256_load_si256(group.shuffle[half].0.as_ptr().cast())) };
    let own = &sieve.own[number * count..][..count];
    let (mut part, mut sums) = ([Words::default()], [0; LANES]);
    let (mut shift, mut together) = (0, 0);
    for (at, (tree, own)) in sieve.trees.iter().zip(own).enumerate() {
        if ROUNDED {
            if together == BATCH || tree.shift != shift {
                flush(&mut part, &mut sums, shift);
                (shift, together) = (tree.shift, 0);
            }
            together += 1;
        }
        // SAFETY: runs have words of the tree, and there are eight of others behind the last one's.
        let runs = unsafe {
            let first = at * sieve.classes.len() + group.run;
            debug_assert!(first + RUNS <= left.len() * LANES);
            _mm_loadu_si128(left.as_ptr().cast::<u16>().add(first).cast())
        };
        let runs = _mm256_broadcastsi128_si256(runs);
        let own = load(own);
        let leaf = [0, 1]
            .map(|half| place_of(_mm256_and_si256(_mm256_shuffle_epi8(runs, shuffle[half]), own[half])));
        let places = _mm256_packus_epi16(leaf[0], leaf[1]);
        store_bytes(&mut found[tree.number * sieve.groups.len() + number], places);
        if ROUNDED {
            add(&mut part[0], places, tree.tables());
        }
    }
    flush(&mut part, &mut sums, shift);
    sums
}

impl Tree {
    /// The rounded values' bytes for both halves of a vector.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn tables(&self) -> [__m256i; 2] {
        // SAFETY: both have sixteen bytes.
        unsafe {
            [&self.low, &self.high]
                .map(|bytes| _mm256_broadcastsi128_si256(_mm_loadu_si128(bytes.as_ptr().cast())))
        }
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store_bytes(leaves: &mut Bytes, places: __m256i) {
    // SAFETY: 32 bytes, aligned to a vector.
    unsafe { _mm256_store_si256(leaves.0.as_mut_ptr().cast(), places) }
}

/// Adds the rounded values at these places.
#[inline]
#[target_feature(enable = "avx2")]
fn add(part: &mut Words, places: __m256i, [low, high]: [__m256i; 2]) {
    let (low, high) = (_mm256_shuffle_epi8(low, places), _mm256_shuffle_epi8(high, places));
    let values = [_mm256_unpacklo_epi8(low, high), _mm256_unpackhi_epi8(low, high)];
    let totals = load(part);
    store(part, [_mm256_add_epi16(totals[0], values[0]), _mm256_add_epi16(totals[1], values[1])]);
}

/// Adds the sums of a few trees to those of all, and clears them.
#[inline]
#[target_feature(enable = "avx2")]
fn flush(parts: &mut [Words], sums: &mut [i32], shift: u32) {
    let shift = _mm_cvtsi32_si128(shift as i32);
    for (part, sums) in parts.iter_mut().zip(sums.chunks_exact_mut(LANES)) {
        for (part, sums) in part.0.chunks_exact(8).zip(sums.chunks_exact_mut(8)) {
            // SAFETY: eight half words, and eight words.
            unsafe {
                let values = _mm256_cvtepi16_epi32(_mm_loadu_si128(part.as_ptr().cast()));
                let sum = _mm256_loadu_si256(sums.as_ptr().cast());
                let sum = _mm256_add_epi32(sum, _mm256_sll_epi32(values, shift));
                _mm256_storeu_si256(sums.as_mut_ptr().cast(), sum);
            }
        }
        *part = Words::default();
    }
}
