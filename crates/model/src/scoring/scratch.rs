//! Working memory, kept from call to call.

use super::compile::lanes::LANES;
use crate::forest;

/// Working memory for one call at a time. It grows to what a scorer needs and is not freed in between, so
/// that calls after the first do not allocate. Any scratch works with any scorer.
#[derive(Debug, Default)]
pub struct Scratch {
    /// Narrow: the lanes that answer a question with yes. Wide: the number of that mask.
    pub(super) answers: Vec<u32>,
    /// One kernel: its answers.
    pub(super) yes: Vec<Answer>,
    pub(super) ends: Ends,
    /// The queue of nodes: places, and sets of lanes.
    pub(super) node_at: Vec<u32>,
    pub(super) node_set: Vec<u32>,
    pub(super) cell_of: Vec<u32>,
    pub(super) answer_of: Vec<u32>,
    /// The list of leaves that were reached.
    pub(super) leaf_at: Vec<u32>,
    pub(super) leaf_set: Vec<u32>,
    /// Narrow: the value of each lane, one row per tree.
    pub(super) rows: Vec<Row>,
    /// Small trees: the leaf of each lane, tree by tree.
    #[cfg(target_arch = "x86_64")]
    pub(super) leaf_of: Vec<Words>,
    #[cfg(target_arch = "x86_64")]
    pub(super) found: Vec<Bytes>,
    /// Small trees of a wide pool: positions of runs, what is known about each question, the steps of others, the
    /// leaves left for each run, the rounded sums of a few trees and of all, and whether a group's leaves are known.
    #[cfg(target_arch = "x86_64")]
    pub(super) places: Positions,
    #[cfg(target_arch = "x86_64")]
    pub(super) codes: Vec<u16>,
    #[cfg(target_arch = "x86_64")]
    pub(super) steps: Vec<Step>,
    #[cfg(target_arch = "x86_64")]
    pub(super) left: Vec<Words>,
    #[cfg(target_arch = "x86_64")]
    pub(super) parts: Vec<Words>,
    #[cfg(target_arch = "x86_64")]
    pub(super) most: Vec<i32>,
    #[cfg(target_arch = "x86_64")]
    pub(super) is_found: Vec<bool>,
    /// The sum of each lane.
    pub(super) sums: Vec<f64>,
    /// Wide: nodes that split their set.
    pub(super) split_at: Vec<u32>,
    pub(super) split_set: Vec<u32>,
    /// Wide: the lanes that answer yes, mask after mask.
    pub(super) masks: Vec<u64>,
    /// Wide: sets of lanes.
    pub(super) sets: Vec<u64>,
    /// Wide: leaves by tree.
    pub(super) order: Vec<u32>,
    /// Wide: pending additions: the word of lanes, the lanes in it, and the value.
    pub(super) add_to: Vec<u32>,
    pub(super) add_lanes: Vec<u64>,
    pub(super) add_value: Vec<f64>,
    /// Wide: classes by position.
    pub(super) positions: Vec<(u32, u32)>,
    /// The rows of some lanes, column by column, and pending branches, for a forest that is not compiled.
    pub(super) columns: Vec<forest::Values>,
    pub(super) waiting: Vec<(forest::Child, u32)>,
    /// Shortlists: the whole number of each lane, the best of them, the lanes with exact sums, and these
    /// sums.
    pub(super) whole: Vec<i32>,
    pub(super) best: Vec<i64>,
    pub(super) listed_lanes: Vec<u32>,
    pub(super) listed_sums: Vec<f64>,
    pub(super) listed: Vec<Listed>,
    pub(super) beyond: f64,
}

/// A number for each lane of a narrow pool, in whole cache lines, so that no vector spans two.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(64))]
pub(super) struct Row(pub(super) [f64; LANES]);

/// Two bytes for each lane of a narrow pool.
#[cfg(target_arch = "x86_64")]
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(64))]
pub(super) struct Words(pub(super) [u16; LANES]);

#[cfg(target_arch = "x86_64")]
impl Words {
    /// Up to 32 words, and zeros.
    pub(super) fn padded(words: &[u16]) -> Words {
        let mut all = Words::default();
        all.0[..words.len()].copy_from_slice(words);
        all
    }
}

/// A byte for each lane of a group.
#[cfg(target_arch = "x86_64")]
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(32))]
pub(super) struct Bytes(pub(super) [u8; LANES]);

/// The positions of some rows, stair after stair.
#[derive(Debug, Default)]
pub(super) struct Positions {
    pub(super) bytes: Vec<u8>,
    /// Room for the rows of a stair.
    pub(super) stride: usize,
    /// The least and the greatest position of each stair.
    pub(super) ranges: Vec<(u8, u8)>,
    /// The values of a column, and their keys.
    pub(super) values: Vec<f64>,
    pub(super) keys: Vec<u64>,
}

/// A question whose answers differ: its stair, and its index there.
pub(super) type Step = (u32, u8);

/// How far a question's answer lets a walk go at most, as a number without a sign.
pub(super) type Answer = i8;

/// Working memory: the cells where walks are, and the numbers of those that go on.
#[derive(Debug, Default)]
pub(super) struct Ends {
    pub(super) cells: Vec<u32>,
    pub(super) waiting: Vec<u32>,
}

/// A kernel of a shortlist.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Listed {
    /// The kernel's index in the pool.
    pub kernel: usize,
    /// The kernel's raw score, with the forest's own bits.
    pub score: f64,
}

/// Makes a buffer at least this long.
pub(super) fn grow<T: Copy + Default>(buffer: &mut Vec<T>, len: usize) {
    if buffer.len() < len {
        buffer.resize(len, T::default());
    }
}

/// Vectors write this many items beyond a list's end.
pub(super) const SLACK: usize = 16;

impl Scratch {
    /// An empty scratch.
    pub fn new() -> Scratch {
        Scratch::default()
    }

    /// Makes room for lists of all nodes and all leaves of a batch.
    pub(super) fn fit_lists(&mut self, nodes: usize, trees: usize) {
        for list in [
            &mut self.cell_of, &mut self.answer_of, &mut self.node_at, &mut self.node_set,
            &mut self.split_at, &mut self.split_set,
        ] {
            grow(list, nodes + trees + SLACK);
        }
        for list in [&mut self.leaf_at, &mut self.leaf_set, &mut self.order] {
            grow(list, nodes + trees + SLACK);
        }
    }
}
