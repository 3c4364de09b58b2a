//! Convolutions on a grid, and edge cases.

use ck_select_types::problem::{ConvProblem, Problem};

use super::conv::Layer;
use super::{Choice, distinct};

/// The values of a grid.
pub(super) struct Grid {
    n: &'static [i64],
    channels: &'static [i64],
    extents: &'static [i64],
    filters: &'static [i64],
    strides: &'static [i64],
    groups: &'static [i64],
    /// Depths of problems in three dimensions.
    depths: &'static [i64],
}

/// Every regime, in few steps.
pub(super) const WIDE: Grid = Grid {
    n: &[1, 8, 64],
    channels: &[16, 64, 256, 1024],
    extents: &[7, 28, 112],
    filters: &[1, 3, 5, 7],
    strides: &[1, 2],
    groups: &[1, 4],
    depths: &[8],
};

/// The usual values of layers, in all steps.
pub(super) const DENSE: Grid = Grid {
    n: &[1, 2, 4, 8, 16, 32, 64, 128],
    channels: &[8, 16, 32, 64, 128, 256, 512, 1024, 2048],
    extents: &[4, 7, 14, 28, 56, 112, 224],
    filters: &[1, 3, 5, 7],
    strides: &[1, 2],
    groups: &[1, 2, 4, 8],
    depths: &[4, 16],
};

/// Kernels without 64-bit offsets need operands with fewer elements than this.
const OPERAND: i64 = 1 << 31;

impl Grid {
    /// The grid's problems with any channels and groups, and depthwise ones. In grouped ones, each group has
    /// a multiple of eight channels.
    pub(super) fn problems(&self, choice: &Choice) -> Vec<Problem> {
        let depths: Vec<Option<i64>> = match choice.ndim {
            3 => self.depths.iter().copied().map(Some).collect(),
            _ => vec![None],
        };
        let mut problems = Vec::new();
        let mut add = |layer: Layer| {
            let layers = depths.iter().map(|&depth| layer.problem(choice, depth));
            problems.extend(layers.filter(is_usual));
        };
        for &filter in self.filters {
            for &stride in self.strides {
                for &extent in self.extents {
                    for &c in self.channels {
                        for &n in self.n {
                            let layer = |k| Layer::new(n, c, k, extent, filter).strided(stride);
                            for &k in self.channels {
                                let in_eights = |g: &&i64| **g == 1 || (c % (*g * 8), k % (*g * 8)) == (0, 0);
                                self.groups.iter().filter(in_eights).for_each(|&g| add(layer(k).grouped(g)));
                            }
                            add(layer(c).grouped(c));
                        }
                    }
                }
            }
        }
        problems
    }
}

/// Whether a problem is valid, and all kernels can address its operands.
fn is_usual(problem: &Problem) -> bool {
    let Problem::Conv(conv) = problem else { return false };
    problem.validate().is_ok() && operands(conv).into_iter().all(|elements| elements < OPERAND)
}

fn operands(conv: &ConvProblem) -> [i64; 3] {
    let volume = |axes: [i64; 3]| axes.into_iter().product::<i64>();
    let input = conv.n * conv.c * volume(conv.input);
    [input, conv.k * (conv.c / conv.g) * volume(conv.filter), conv.n * conv.k * volume(conv.output())]
}

/// Problems with extents at and next to 1 and the sides of tiles, with filters as large as the map, without
/// pads, with several outputs per channel, and so on.
pub(super) fn edge(choice: &Choice) -> Vec<Problem> {
    const BESIDE: [i64; 16] = [1, 2, 3, 7, 8, 9, 15, 17, 31, 33, 63, 65, 127, 129, 255, 257];
    let mut layers = Vec::new();
    // One operand's channels, then the other's, then both.
    for channels in BESIDE {
        for filter in [1, 3] {
            layers.push(Layer::new(4, channels, 64, 14, filter));
            layers.push(Layer::new(4, 64, channels, 14, filter));
            layers.push(Layer::new(4, channels, channels, 14, filter));
        }
    }
    // Maps down to a single pixel, oblong ones, and batches that leave a tile nearly empty.
    for extent in [1, 2, 3, 5, 7, 9, 13, 17, 31, 33] {
        for filter in [1, 3, 5] {
            for n in [1, 3] {
                layers.push(Layer::new(n, 64, 64, extent, filter));
                layers.push(Layer { input: [1, extent], ..Layer::new(n, 64, 64, extent, filter) });
            }
        }
    }
    for extent in [3, 5, 7, 14] {
        // The filter is the map: one output.
        layers.push(Layer { pad: 0, ..Layer::new(2, 64, 128, extent, extent) });
        for stride in [2, 3, extent] {
            // Strides that skip inputs.
            layers.push(Layer { pad: 0, ..Layer::new(2, 64, 128, extent, 1).strided(stride) });
            layers.push(Layer { pad: 0, ..Layer::new(2, 64, 128, extent, 3).strided(stride) });
        }
        // Pads wider than the filter needs, and taps further apart than the map's width.
        layers.push(Layer { pad: 3, ..Layer::new(2, 64, 64, extent, 3) });
        layers.push(Layer { dilation: extent, pad: extent, ..Layer::new(2, 64, 64, extent, 3) });
    }
    // Groups of one, two and three channels; several outputs for each channel.
    for (g, c, k) in
        [(2, 2, 2), (3, 9, 9), (32, 32, 32), (32, 32, 64), (32, 64, 32), (64, 64, 192), (7, 49, 7)]
    {
        for filter in [1, 3] {
            layers.push(Layer::new(2, c, k, 14, filter).grouped(g));
        }
    }
    let depth = (choice.ndim == 3).then_some(3);
    distinct(layers.into_iter().map(|layer| layer.problem(choice, depth)).filter(is_usual))
}

#[cfg(test)]
mod tests {
    use ck_select_types::vocab::{Direction, Dtype};

    use super::*;

    #[test]
    fn grids_are_problems_each_once_in_any_direction_and_dimension() {
        for direction in [Direction::Forward, Direction::BwdData, Direction::BwdWeight] {
            for (ndim, counts) in [(2, [2088, 258]), (3, [2004, 255])] {
                let choice = Choice { direction, ndim, ..Choice::new(Dtype::Fp16) };
                let sets = [WIDE.problems(&choice), edge(&choice)];
                assert_eq!(sets.each_ref().map(Vec::len), counts, "{direction} {ndim}D");
                for set in sets {
                    assert_eq!(distinct(set.iter().copied()).len(), set.len());
                    assert!(set.iter().all(|problem| problem.validate().is_ok()));
                }
            }
        }
    }

    #[test]
    fn no_operand_of_the_dense_grid_is_too_large() {
        let problems = DENSE.problems(&Choice::new(Dtype::Bf16));
        let largest = problems.iter().filter_map(|problem| match problem {
            Problem::Conv(conv) => operands(conv).into_iter().max(),
            _ => None,
        });
        assert!(largest.max().unwrap() < OPERAND);
        let large = Layer::new(128, 2048, 2048, 224, 3).problem(&Choice::new(Dtype::Bf16), None);
        assert!(!is_usual(&large) && large.validate().is_ok());
    }
}
