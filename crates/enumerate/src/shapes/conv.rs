//! Synthetic convolutions: every regime that a model should have seen, small enough to be measured
//! exhaustively.
//!
//! Upstream describes its extended sets in a sentence each; these follow the description with our own
//! numbers. Comments say what each family varies.

use ck_select_types::problem::{ConvProblem, Problem};
use ck_select_types::vocab::{ConvLayout, Direction};

use super::{Choice, distinct};

/// A layer before batch, direction and type are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Layer {
    pub(super) n: i64,
    pub(super) c: i64,
    pub(super) k: i64,
    pub(super) g: i64,
    pub(super) input: [i64; 2],
    pub(super) filter: i64,
    pub(super) stride: i64,
    pub(super) dilation: i64,
    pub(super) pad: i64,
}

impl Layer {
    /// A square layer of stride 1 that keeps the extent.
    pub(super) const fn new(n: i64, c: i64, k: i64, extent: i64, filter: i64) -> Self {
        let pad = (filter - 1) / 2;
        Self { n, c, k, g: 1, input: [extent; 2], filter, stride: 1, dilation: 1, pad }
    }

    pub(super) const fn strided(self, stride: i64) -> Self {
        Self { stride, ..self }
    }

    pub(super) const fn grouped(self, g: i64) -> Self {
        Self { g, ..self }
    }

    /// The problem; a third dimension has the given depth, and filter, stride and padding like the others.
    pub(super) fn problem(self, choice: &Choice, depth: Option<i64>) -> Problem {
        let pad = self.pad;
        let axes = |value: i64, neutral: i64| [if depth.is_some() { value } else { neutral }, value, value];
        ConvProblem {
            direction: choice.direction,
            ndim: if depth.is_some() { 3 } else { 2 },
            n: self.n,
            c: self.c,
            k: self.k,
            g: self.g,
            input: [depth.unwrap_or(1), self.input[0], self.input[1]],
            filter: axes(self.filter, 1),
            stride: axes(self.stride, 1),
            dilation: axes(self.dilation, 1),
            pad_left: axes(pad, 0),
            pad_right: axes(pad, 0),
            split_k: 1,
            dtype_in: choice.dtype,
            dtype_wei: choice.dtype,
            dtype_out: choice.dtype,
            layout: ConvLayout::Nhwgc,
            arch: None,
        }
        .into()
    }
}

/// Channels from `least` to `most`, doubling.
fn channels(least: i64, most: i64) -> impl Iterator<Item = i64> + Clone {
    std::iter::successors(Some(least), |c| Some(c * 2)).take_while(move |&c| c <= most)
}

/// The synthetic set of a direction, each problem once.
pub(super) fn synthetic(choice: &Choice) -> Vec<Problem> {
    let layers = match choice.ndim {
        3 => three_dimensional(),
        _ => two_dimensional(choice.direction),
    };
    let problems = layers.into_iter().map(|(layer, depth)| layer.problem(choice, depth));
    distinct(problems).into_iter().filter(|problem| problem.validate().is_ok()).collect()
}

fn two_dimensional(direction: Direction) -> Vec<(Layer, Option<i64>)> {
    let mut layers = Vec::new();
    // Spatial size against channels: small maps are deep, large maps are shallow.
    for (extents, least, most) in [(&[7, 14][..], 64, 1024), (&[28, 32, 56], 32, 512), (&[112], 16, 256)] {
        for &extent in extents {
            for c in channels(least, most) {
                for filter in [1, 3] {
                    for n in [1, 16] {
                        layers.push(Layer::new(n, c, c, extent, filter));
                    }
                }
            }
        }
    }
    // More output channels than input channels, and fewer.
    for extent in [7, 14, 28, 56] {
        for (c, k) in
            [(64, 256), (256, 64), (128, 512), (512, 128), (64, 1024), (1024, 64), (96, 576), (192, 32)]
        {
            for filter in [1, 3] {
                layers.push(Layer::new(8, c, k, extent, filter));
            }
        }
    }
    // Batches.
    for n in channels(1, 128) {
        for (c, k, extent, filter) in
            [(64, 64, 56, 3), (256, 256, 14, 3), (512, 2048, 7, 1), (128, 128, 28, 1)]
        {
            layers.push(Layer::new(n, c, k, extent, filter));
        }
    }
    // Groups that share the channels.
    for g in [2, 4, 8] {
        for (c, k) in [(64, 64), (128, 256), (256, 256), (512, 512), (1024, 1024)] {
            for extent in [7, 14, 28, 56] {
                for filter in [1, 3] {
                    layers.push(Layer::new(8, c, k, extent, filter).grouped(g));
                }
            }
        }
    }
    // Depthwise: every channel by itself.
    for c in [32, 64, 96, 144, 192, 384, 576, 960] {
        for (extent, filter) in [(7, 3), (14, 3), (14, 5), (28, 3), (56, 3), (56, 7), (112, 3)] {
            for n in [1, 16] {
                layers.push(Layer::new(n, c, c, extent, filter).grouped(c));
                layers.push(Layer::new(n, c, c, extent, filter).grouped(c).strided(2));
            }
        }
    }
    // Downsampling.
    for (c, k) in [(64, 128), (128, 256), (256, 512), (512, 1024), (256, 256), (1024, 2048)] {
        for extent in [14, 28, 56, 112] {
            for filter in [1, 3] {
                for n in [1, 16] {
                    layers.push(Layer::new(n, c, k, extent, filter).strided(2));
                }
            }
        }
    }
    // Filters, including first layers with few channels.
    for filter in [1, 3, 5, 7] {
        for (c, k, extent) in [(3, 64, 224), (32, 64, 112), (64, 64, 56), (128, 192, 28), (256, 256, 14)] {
            layers.push(Layer::new(8, c, k, extent, filter));
            layers.push(Layer::new(8, c, k, extent, filter).strided(2));
        }
    }
    // Extents that no tile divides, and maps that are not square.
    for (height, width) in [(13, 13), (17, 31), (33, 65), (28, 56), (7, 224), (1, 128)] {
        for (c, k) in [(64, 64), (96, 160), (256, 128)] {
            for filter in [1, 3] {
                let layer = Layer::new(4, c, k, height, filter);
                layers.push(Layer { input: [height, width], ..layer });
            }
        }
    }
    // Dilated taps, padded so that the extent stays the same.
    for dilation in [2, 4] {
        for (c, k, extent) in [(64, 64, 56), (256, 256, 28), (512, 512, 14)] {
            layers.push(Layer { dilation, pad: dilation, ..Layer::new(4, c, k, extent, 3) });
        }
    }
    if direction == Direction::BwdWeight {
        // The reduction runs over batch and map: long ones over few channels, and short ones over many.
        for n in [32, 64, 128] {
            for (c, k, extent) in [(16, 16, 112), (32, 32, 56), (64, 64, 56), (1024, 1024, 7), (2048, 512, 7)]
            {
                layers.push(Layer::new(n, c, k, extent, 1));
                layers.push(Layer::new(n, c, k, extent, 3));
            }
        }
    }
    if direction == Direction::BwdData {
        // Strides leave holes in the gradient: larger ones than a forward pass usually has.
        for stride in [2, 3, 4] {
            for (c, k, extent, filter) in
                [(64, 128, 56, 3), (128, 256, 28, 4), (256, 256, 28, 1), (64, 64, 112, 7)]
            {
                layers.push(Layer::new(8, c, k, extent, filter).strided(stride));
            }
        }
    }
    layers.into_iter().map(|layer| (layer, None)).collect()
}

fn three_dimensional() -> Vec<(Layer, Option<i64>)> {
    let mut layers = Vec::new();
    for (depth, extent, least, most) in
        [(4, 7, 64, 512), (8, 14, 64, 512), (16, 28, 32, 256), (16, 56, 16, 128)]
    {
        for c in channels(least, most) {
            for filter in [1, 3] {
                for n in [1, 8] {
                    layers.push((Layer::new(n, c, c, extent, filter), Some(depth)));
                }
            }
        }
        for (c, k) in [(64, 256), (256, 64), (64, 128)] {
            layers.push((Layer::new(4, c, k, extent, 3), Some(depth)));
            layers.push((Layer::new(4, c, k, extent, 3).strided(2), Some(depth)));
        }
        for g in [2, 4, 8] {
            layers.push((Layer::new(4, 128, 128, extent, 3).grouped(g), Some(depth)));
        }
        for c in [32, 64] {
            layers.push((Layer::new(4, c, c, extent, 3).grouped(c), Some(depth)));
        }
        for filter in [5, 7] {
            layers.push((Layer::new(2, 32, 64, extent, filter), Some(depth)));
        }
    }
    layers
}

#[cfg(test)]
mod tests {
    use ck_select_types::vocab::Dtype;

    use super::*;

    fn conv(problem: &Problem) -> &ConvProblem {
        match problem {
            Problem::Conv(problem) => problem,
            _ => panic!(),
        }
    }

    #[test]
    fn every_direction_and_dimension_covers_what_is_promised() {
        for direction in [Direction::Forward, Direction::BwdData, Direction::BwdWeight] {
            for ndim in [2, 3] {
                let choice = Choice { direction, ndim, ..Choice::new(Dtype::Bf16) };
                let problems = synthetic(&choice);
                let any = |test: &dyn Fn(&ConvProblem) -> bool| problems.iter().any(|p| test(conv(p)));
                assert!(problems.iter().all(|p| conv(p).direction == direction && conv(p).ndim == ndim));
                for g in [1, 2, 4, 8] {
                    assert!(any(&|p| p.g == g), "groups {g}");
                }
                for filter in [1, 3, 5, 7] {
                    assert!(any(&|p| p.filter[1] == filter), "filter {filter}");
                }
                assert!(any(&|p| p.g == p.c && p.c == p.k && p.g > 8), "depthwise");
                assert!(any(&|p| p.stride[1] == 2) && any(&|p| p.c > p.k) && any(&|p| p.c < p.k));
                if ndim == 2 {
                    assert!(any(&|p| p.n == 128) && any(&|p| p.n == 1) && any(&|p| p.input[1] == 112));
                    assert!(any(&|p| p.dilation[1] == 4) && any(&|p| p.input[1] != p.input[2]));
                }
                assert_eq!(distinct(problems.iter().copied()).len(), problems.len());
            }
        }
    }
}
