//! The work of an attention problem: bytes, and how tiles cut the keys that its mask leaves.

use crate::problem::FmhaProblem;
use crate::vocab::{FmhaFamily, FmhaMask};

/// The problem's side of the estimate, computed once per problem.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FmhaLoad {
    pub(in crate::estimate) problem: FmhaProblem,
    /// Queries and keys of a sequence.
    lengths: [f64; 2],
    /// Sequences times heads of queries, and sequences times heads of keys.
    heads: [f64; 2],
    /// Bytes of an element.
    element: f64,
    /// Elements of the result.
    pub(in crate::estimate) results: f64,
    /// Keys that a query sees before and after its own position, which is its number plus `shift`.
    window: [f64; 2],
    shift: f64,
}

/// Steps of the workgroups of a kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::estimate) struct Steps {
    /// Mean over the workgroups.
    pub(in crate::estimate) mean: f64,
    /// Steps of the longest workgroup.
    pub(in crate::estimate) most: f64,
    /// Share of the steps that a mask cuts.
    pub(in crate::estimate) cut: f64,
}

/// A problem in tiles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::estimate) struct Cut {
    pub(in crate::estimate) workgroups: f64,
    pub(in crate::estimate) steps: Steps,
    /// Parts of the keys.
    pub(in crate::estimate) parts: f64,
}

/// Tiles of queries whose steps are counted; between them the count is nearly linear.
const LOOKED_AT: u32 = 16;

impl FmhaLoad {
    pub(in crate::estimate) fn new(problem: &FmhaProblem) -> Self {
        let p = problem;
        let lengths = [p.longest_q(), p.longest_k()].map(|length| length.max(1) as f64);
        let heads = [p.nhead_q, p.nhead_k].map(|heads| p.batch as f64 * heads as f64);
        let side = |keys: i64| if keys < 0 { f64::INFINITY } else { keys as f64 };
        // A mask from a corner may be a sliding window, too; a window of 0 then means that none was given.
        let before = side(if p.window_left == 0 { -1 } else { p.window_left });
        let corner = [before, p.window_right.max(0) as f64];
        let (window, shift) = match p.mask {
            FmhaMask::No => ([f64::INFINITY; 2], 0.0),
            FmhaMask::TopLeft => (corner, 0.0),
            FmhaMask::BottomRight => (corner, lengths[1] - lengths[0]),
            FmhaMask::Generic => ([side(p.window_left), side(p.window_right)], 0.0),
        };
        Self {
            problem: *problem,
            lengths,
            heads,
            element: f64::from(p.dtype.bits()) / 8.0,
            results: heads[0] * lengths[0] * p.hdim_v as f64,
            window,
            shift,
        }
    }

    /// Bytes that a kernel of a family reads and writes, each once.
    pub(in crate::estimate) fn bytes_of(&self, family: FmhaFamily) -> f64 {
        let p = &self.problem;
        let ([sq, sk], [rows, shared]) = (self.lengths, self.heads);
        let (dq, dv) = (p.hdim_q as f64, p.hdim_v as f64);
        let queries = rows * sq * dq * self.element;
        let keys = shared * sk * (dq + dv) * self.element;
        match family {
            FmhaFamily::Fwd | FmhaFamily::FwdPagedkv | FmhaFamily::FwdSplitkv | FmhaFamily::BatchPrefill => {
                queries + keys + self.results * self.element
            }
            // Parts in 32 bits with one sum each.
            FmhaFamily::FwdSplitkvCombine => {
                p.num_splits as f64 * (self.results + rows * sq) * 4.0 + self.results * self.element
            }
            FmhaFamily::FwdAppendkv => 2.0 * (queries + keys),
            FmhaFamily::BwdDotDoO => 2.0 * self.results * self.element + rows * sq * 4.0,
            FmhaFamily::BwdDqDkDv => 2.0 * (queries + keys) + self.results * self.element,
            FmhaFamily::BwdConvertDq => rows * sq * dq * (4.0 + self.element),
        }
    }

    /// Filled shares of the tiles' queries and keys.
    pub(in crate::estimate) fn filled(&self, tile: [f64; 3]) -> [f64; 2] {
        std::array::from_fn(|axis| {
            let tiles = self.lengths[axis] / tile[axis];
            tiles / tiles.ceil()
        })
    }

    /// Heads of queries per head of keys.
    pub(in crate::estimate) fn shared(&self) -> f64 {
        self.heads[0] / self.heads[1].max(1.0)
    }

    /// Cuts the problem into tiles of queries, keys and elements of values.
    pub(in crate::estimate) fn cut(&self, family: FmhaFamily, [m0, n0, values]: [f64; 3]) -> Cut {
        let [sq, sk] = self.lengths;
        let columns = (self.problem.hdim_v as f64 / values.max(1.0)).ceil().max(1.0);
        match family {
            FmhaFamily::BwdDqDkDv => {
                // Keys are the rows; a mask leaves the same part of the rectangle either way.
                let steps = self.steps(m0, n0);
                let by_keys = steps.mean * (sq / m0).ceil() / (sk / n0).ceil();
                let most = (sq / m0).ceil();
                let steps = Steps { mean: by_keys.max(1.0), most, cut: steps.cut };
                Cut { workgroups: (sk / n0).ceil() * self.heads[0], steps, parts: 1.0 }
            }
            family if family.is_forward() => {
                let all = self.steps(m0, n0);
                let asked =
                    if family == FmhaFamily::FwdSplitkv { self.problem.num_splits as f64 } else { 1.0 };
                let parts = asked.clamp(1.0, all.most);
                let steps =
                    Steps { mean: (all.mean / parts).ceil(), most: (all.most / parts).ceil(), cut: all.cut };
                let workgroups = (sq / m0).ceil() * self.heads[0] * columns * parts;
                // A single part is everything, and its kernel writes the result itself.
                Cut { workgroups, steps, parts }
            }
            _ => {
                let steps = Steps { mean: 1.0, most: 1.0, cut: 0.0 };
                Cut { workgroups: (sq / m0).ceil() * self.heads[0] * columns, steps, parts: 1.0 }
            }
        }
    }

    /// Tiles of keys that the mask leaves.
    fn steps(&self, m0: f64, n0: f64) -> Steps {
        let [sq, sk] = self.lengths;
        let all = (sk / n0).ceil();
        let [before, behind] = self.window;
        if before.is_infinite() && behind.is_infinite() {
            return Steps { mean: all, most: all, cut: 0.0 };
        }
        let tiles = (sq / m0).ceil();
        let looks = tiles.min(f64::from(LOOKED_AT));
        let (mut sum, mut most, mut cut) = (0.0, 0.0_f64, 0.0);
        for look in 0..looks as u32 {
            let tile = ((f64::from(look) + 0.5) / looks * tiles).floor();
            let (first, last) = (tile * m0, (tile * m0 + m0).min(sq) - 1.0);
            let end = (last + self.shift + behind + 1.0).clamp(0.0, sk);
            let begin = (first + self.shift - before).clamp(0.0, sk);
            let steps = ((end / n0).ceil() - (begin / n0).floor()).clamp(0.0, all);
            sum += steps;
            most = most.max(steps);
            cut += steps.min((m0 / n0).ceil() + 1.0);
        }
        // A workgroup without keys still starts and ends.
        Steps { mean: (sum / looks).max(1.0), most: most.max(1.0), cut: cut / sum.max(1.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_leave_tiles_out() {
        let whole = FmhaProblem::new([1024, 1024], 1, 64);
        let steps = |problem: FmhaProblem| FmhaLoad::new(&problem).steps(128.0, 64.0);
        assert_eq!(steps(whole), Steps { mean: 16.0, most: 16.0, cut: 0.0 });
        let causal = steps(FmhaProblem { mask: FmhaMask::TopLeft, ..whole });
        assert_eq!((causal.mean, causal.most), (9.0, 16.0), "2, 4, … 16 tiles");
        let long = FmhaProblem { seqlen_k: 4096, ..whole };
        let right = steps(FmhaProblem { mask: FmhaMask::BottomRight, ..long });
        assert_eq!((right.mean, right.most), (57.0, 64.0), "50, 52, … 64");
        let window = FmhaProblem { mask: FmhaMask::Generic, window_left: 63, window_right: 0, ..long };
        assert_eq!(steps(window).most, 3.0);
        let all = FmhaProblem { window_left: -1, window_right: -1, ..window };
        assert_eq!(steps(all).mean, 64.0);
        // A sliding window from a corner is the same window.
        let sliding = FmhaProblem { window_left: 63, ..long };
        let corner = |mask| steps(FmhaProblem { mask, ..sliding });
        assert_eq!(corner(FmhaMask::TopLeft), steps(window));
        assert_eq!(corner(FmhaMask::BottomRight).most, 3.0);
    }

    #[test]
    fn keys_are_split_on_request_only() {
        let decode = FmhaProblem { num_splits: 8, nhead_k: 8, ..FmhaProblem::new([1, 4096], 32, 128) };
        let cut = |family| FmhaLoad::new(&decode).cut(family, [16.0, 64.0, 128.0]);
        let split = cut(FmhaFamily::FwdSplitkv);
        assert_eq!((split.workgroups, split.steps.mean, split.parts), (256.0, 8.0, 8.0));
        assert_eq!((cut(FmhaFamily::Fwd).workgroups, cut(FmhaFamily::Fwd).steps.mean), (32.0, 64.0));
    }
}
