//! Random convolutions.

use ck_select_types::problem::ConvProblem;

use crate::shapes::Choice;
use crate::shapes::drawn::{Draw, OperationShapes, Random, any, stepped};

impl OperationShapes for ConvProblem {
    fn draw(draw: &Draw, choice: &Choice, number: usize, random: &mut Random) -> Self {
        let three_d = choice.ndim == 3 && number % 6 == 5;
        let filter = [1, 1, 3, 3, 3, 5, 7][random.below(7)];
        let stride = [1, 1, 1, 2][random.below(4)];
        let groups = random.below(4) == 0;
        let g = if groups { 1 << (1 + random.below(5)) } else { 1 };
        let channels = if draw.any_channels { any } else { stepped };
        let (least, most) = if groups { (2, 6) } else { (4, 10) };
        let c = g * channels(random, least, most);
        let k = g * channels(random, least, most);
        let extent = any(random, 3, if three_d { 6 } else { 8 });
        let pad = if random.below(5) == 0 { 0 } else { (filter - 1) / 2 };
        let axes = |value: i64, neutral: i64| [if three_d { value } else { neutral }, value, value];
        let width = if random.below(4) == 0 { any(random, 3, if three_d { 6 } else { 8 }) } else { extent };
        let depth = if three_d { any(random, 2, 5) } else { 1 };
        Self {
            direction: choice.direction,
            ndim: if three_d { 3 } else { 2 },
            n: stepped(random, 0, if three_d { 3 } else { 6 }),
            c,
            k,
            g,
            input: [depth, extent, width],
            filter: axes(filter, 1),
            stride: axes(stride, 1),
            pad_left: axes(pad, 0),
            pad_right: axes(pad, 0),
            dtype_in: choice.dtype,
            dtype_wei: choice.dtype,
            dtype_out: choice.dtype,
            ..Self::USUAL
        }
    }

    /// Kernels without 64-bit offsets need operands of fewer elements than 2^31.
    fn is_small(&self) -> bool {
        let volume = |axes: [i64; 3]| axes.into_iter().product::<i64>();
        let filter = self.k * (self.c / self.g) * volume(self.filter);
        let images = [self.n * self.c * volume(self.input), self.n * self.k * volume(self.output())];
        filter < 1 << 31 && images.into_iter().all(|elements| elements < 1 << 31)
    }
}
