//! Layers of published networks, computed from their architectures.

use ck_select_types::problem::Problem;

use super::conv::Layer;
use super::{Choice, distinct};

/// A network's layers for one image.
pub(super) type Network = fn() -> Vec<Layer>;

/// The layers of networks with every batch, each problem once.
pub(super) fn problems(networks: &[Network], choice: &Choice) -> Vec<Problem> {
    let mut problems = Vec::new();
    for network in networks {
        for layer in network() {
            problems.extend(choice.batches.iter().map(|&n| Layer { n, ..layer }.problem(choice, None)));
        }
    }
    distinct(problems)
}

/// Residual bottlenecks; the stride is at the 3x3 layer, as in current implementations.
pub(super) fn resnet50() -> Vec<Layer> {
    let mut layers = vec![Layer::new(1, 3, 64, 224, 7).strided(2)];
    let (mut c, mut extent) = (64, 56);
    for (width, blocks, first_stride) in [(64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)] {
        for block in 0..blocks {
            let stride = if block == 0 { first_stride } else { 1 };
            layers.push(Layer::new(1, c, width, extent, 1));
            layers.push(Layer::new(1, width, width, extent, 3).strided(stride));
            layers.push(Layer::new(1, width, width * 4, extent / stride, 1));
            if block == 0 {
                layers.push(Layer::new(1, c, width * 4, extent, 1).strided(stride));
            }
            (c, extent) = (width * 4, extent / stride);
        }
    }
    layers
}

/// Inverted residuals: expand, filter each channel by itself, project.
pub(super) fn mobilenetv2() -> Vec<Layer> {
    let mut layers = vec![Layer::new(1, 3, 32, 224, 3).strided(2)];
    let (mut c, mut extent) = (32, 112);
    for (expand, out, repeats, first_stride) in [
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    ] {
        for repeat in 0..repeats {
            let stride = if repeat == 0 { first_stride } else { 1 };
            let inner = c * expand;
            if expand > 1 {
                layers.push(Layer::new(1, c, inner, extent, 1));
            }
            layers.push(Layer::new(1, inner, inner, extent, 3).grouped(inner).strided(stride));
            layers.push(Layer::new(1, inner, out, extent / stride, 1));
            (c, extent) = (out, extent / stride);
        }
    }
    layers.push(Layer::new(1, 320, 1280, 7, 1));
    layers
}

/// The original segmentation network: no padding, and halves that are cropped and joined on the way up.
pub(super) fn unet() -> Vec<Layer> {
    let bare = |c, k, extent| Layer { pad: 0, ..Layer::new(1, c, k, extent, 3) };
    let mut layers = Vec::new();
    let (mut c, mut extent) = (1, 572);
    for width in [64, 128, 256, 512, 1024] {
        layers.push(bare(c, width, extent));
        layers.push(bare(width, width, extent - 2));
        (c, extent) = (width, (extent - 4) / 2);
    }
    // There is no pooling at the bottom.
    extent *= 2;
    for width in [512, 256, 128, 64] {
        extent *= 2;
        layers.push(bare(width * 2, width, extent));
        layers.push(bare(width, width, extent - 2));
        extent -= 4;
    }
    layers.push(Layer::new(1, 64, 2, extent, 1));
    layers
}

/// Tiny: patches of four, depthwise 7x7 and two pointwise layers per block, downsampling by 2x2 between
/// stages.
pub(super) fn convnext() -> Vec<Layer> {
    let mut layers = vec![Layer { pad: 0, ..Layer::new(1, 3, 96, 224, 4).strided(4) }];
    let (mut extent, mut c) = (56, 96);
    for width in [96, 192, 384, 768] {
        if width != c {
            layers.push(Layer { pad: 0, ..Layer::new(1, c, width, extent, 2).strided(2) });
            (c, extent) = (width, extent / 2);
        }
        layers.push(Layer::new(1, c, c, extent, 7).grouped(c));
        layers.push(Layer::new(1, c, c * 4, extent, 1));
        layers.push(Layer::new(1, c * 4, c, extent, 1));
    }
    layers
}

/// One layer each: patches of 14, 16 or 32 pixels to the width of the transformer.
pub(super) fn vit_patch() -> Vec<Layer> {
    let mut layers = Vec::new();
    for (width, patch, extents) in [
        (768, 16, &[224, 384][..]),
        (768, 32, &[224, 384]),
        (1024, 16, &[224, 384]),
        (1024, 14, &[224]),
        (1280, 14, &[224]),
    ] {
        for &extent in extents {
            layers.push(Layer { pad: 0, ..Layer::new(1, 3, width, extent, patch).strided(patch) });
        }
    }
    layers
}

#[cfg(test)]
mod tests {
    use ck_select_types::problem::ConvProblem;
    use ck_select_types::vocab::Dtype;

    use super::*;

    fn one_image(network: Network) -> Vec<ConvProblem> {
        let choice = Choice { batches: vec![1], ..Choice::new(Dtype::Bf16) };
        let layers = network().into_iter().map(|layer| layer.problem(&choice, None));
        layers
            .map(|problem| match problem {
                Problem::Conv(problem) => problem,
                _ => panic!(),
            })
            .collect()
    }

    fn billions(network: Network) -> f64 {
        let problems = one_image(network);
        // A layer feeds the next: extents and channels are those of the previous layer's output, or of a
        // branch.
        for problem in &problems {
            problem.validate().unwrap();
        }
        problems.iter().map(ConvProblem::flops).sum::<f64>() / 2e9
    }

    // Multiplications and additions of the convolutions, as published or counted by the architecture's
    // tables.
    #[test]
    fn layers_add_up_to_the_published_work() {
        let resnet = billions(resnet50);
        assert!((4.0..4.15).contains(&resnet), "{resnet}");
        assert_eq!(one_image(resnet50).len(), 53);
        let mobilenet = billions(mobilenetv2);
        assert!((0.29..0.31).contains(&mobilenet), "{mobilenet}");
        assert_eq!(one_image(mobilenetv2).len(), 52);
        assert_eq!(one_image(unet).len(), 19);
        assert_eq!(one_image(unet)[18].output(), [1, 388, 388]);
        assert_eq!(one_image(unet)[9].output(), [1, 28, 28]);
        assert_eq!(one_image(convnext)[15].input, [1, 7, 7]);
        assert_eq!(one_image(vit_patch)[0].output(), [1, 14, 14]);
    }
}
